"""C headers on small cores: compiled for them, and run on emulated ones."""

import itertools
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chain, many_intervals, rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.c import size_report
from mbndt.emitters.c.numbers import NUMBERS, Format
from mbndt.emitters.c.run import structs
from mbndt.emitters.c.size_report import CORES, Core, measure
from mbndt.rules import (
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc"), reason="gcc isn't installed: apt-get install gcc"
)

WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wmissing-prototypes",
    "-Werror",
]
WAYS = {
    "arm-none-eabi-gcc": "apt-get install gcc-arm-none-eabi",
    "avr-gcc": "apt-get install gcc-avr",
    "zig": "pip install ziglang",
}
COMMANDS = [(name, command) for name, commands in CORES.items() for command in commands]
CROSS = pytest.mark.parametrize(
    "name, command", COMMANDS, ids=[f"{name} {command[0]}" for name, command in COMMANDS]
)


def core(name, command):
    """Return a core with the command that compiles for it, or skip."""
    found = size_report._located(command)
    if not found:
        pytest.skip(f"{command[0]} isn't installed: {WAYS[command[0]]}")
    return Core(name, found)


def small_rules():
    """Return rules of every type of feature that fit the narrowest numbers."""
    ends = itertools.count()

    def leaves(count):
        return tuple(Leaf(i, (i % 3 / 4, 1 - i % 3 / 4)) for i in itertools.islice(ends, count))

    def split(name, missing, *cuts):
        parts = tuple(Interval(t, i) for i, t in enumerate([*cuts, None]))
        return NumericSplit(name, parts, missing, leaves(len(parts) + (missing > len(cuts))))

    root = NumericSplit(
        "x",
        tuple(Interval(t, i) for i, t in enumerate([-9.5, -0.25, 0.0, 1.25, 7.0, None])),
        5,
        (
            split("n", 0, -3, 4),
            split("n", 2, -3, 4),
            split("n", 3, -3, 4),
            split("f", 1, 0.5),
            SetSplit("flag", (Group((False,), 0), Group((True,), 1)), 1, leaves(2)),
            SetSplit("kind", (Group(("a", "c"), 0), Group(("d",), 1)), 2, leaves(3), 0),
        ),
    )
    features = (
        Feature("flag", FeatureType.BOOLEAN),
        Feature("x", FeatureType.FLOAT64),
        Feature("kind", FeatureType.CATEGORY, ("a", "b", "c", "d")),
        Feature("n", FeatureType.INTEGER),
        Feature("f", FeatureType.FLOAT32),
    )
    return Rules("small", Target("y", TargetType.STRING, ("no", "yes")), features, root)


def numbers(leaf_count=20):
    """Return a regression with as many leaves."""
    parts = tuple(Interval(float(i), i - 1) for i in range(1, leaf_count))
    leaves = tuple(Leaf(i, i / 8 - 1) for i in range(leaf_count))
    root = NumericSplit("x", (*parts, Interval(None, leaf_count - 1)), 0, leaves)
    return Rules(
        "numbers", Target("y", TargetType.FLOAT64), (Feature("x", FeatureType.FLOAT64),), root
    )


def kinds_of(rules):
    """Return the functions that find answers."""
    return ["leaf", "value"] if rules.task == "regression" else ["leaf", "class", "proba"]


def caller(artifact, number, kind, name="called"):
    """Return a function that calls one of a header's functions."""
    type_, arguments, body = (
        text.format(artifact.name, NUMBERS[number].value, NUMBERS[number].proba)
        for text in size_report.CALLS[kind]
    )
    head = f"{type_} {name}({arguments})"
    return f"{head};\n{head}\n{{ {body}; }}\n"


@pytest.mark.parametrize("number", NUMBERS)
@CROSS
def test_headers_compile_for_small_cores_without_a_warning(name, command, number, tmp_path):
    found = core(name, command)
    if name == "AVR" and number == "double":
        pytest.skip("its double has 32 bits, which the header refuses")
    code = ""
    for i, rules in enumerate((small_rules(), numbers(), many_intervals(), chain(30))):
        artifact = emit(rules, "c", number=number)
        (tmp_path / f"rules{i}.h").write_text(artifact.text)
        code += f'#include "rules{i}.h"\n'
        for kind in kinds_of(rules):
            code += caller(artifact, number, kind, f"f{i}_{kind}")
    (tmp_path / "code.c").write_text(code)
    full = [*found.command, "-std=c99", "-Os", *WARNINGS, "-c", "code.c", "-o", "code.o"]
    full += ["-Wno-avr-rtlib-linking-quirks"] if command[0] == "zig" else []
    said = subprocess.run(full, cwd=tmp_path, capture_output=True, text=True)
    assert said.stdout + said.stderr == ""


@pytest.mark.parametrize("number", [number for number in NUMBERS if number != "double"])
@pytest.mark.parametrize("command", CORES["AVR"], ids=lambda command: command[0])
def test_nothing_but_the_texts_of_labels_takes_ram_on_avr(command, number):
    avr = core("AVR", command)
    for rules in (small_rules(), numbers(), chain(12), many_intervals()):
        artifact = emit(rules, "c", number=number)
        calls = [caller(artifact, number, kind, f"f_{kind}") for kind in kinds_of(rules)]
        size = measure(avr, "\n".join([artifact.text, *calls]))
        assert size.ram == 0
        assert size.flash > 100
        if rules.target.classes:
            texts = sum(len(str(label)) + 1 for label in rules.target.classes) + 1
            code = f"{artifact.text}\n{caller(artifact, number, 'label')}"
            assert 0 < measure(avr, code).ram <= texts


@pytest.mark.parametrize("command", CORES["AVR"], ids=lambda command: command[0])
def test_a_table_would_be_seen_in_ram(command):
    code = "int f(int i);\nint f(int i) { static const int t[] = {5, 3, 9, 1}; return t[i & 3]; }\n"
    avr = core("AVR", command)
    assert measure(avr, code).ram == 8
    assert measure(replace(avr, name="other"), code).ram == 0


@pytest.mark.parametrize("number", NUMBERS)
def test_a_header_holds_no_table_and_no_switch(number):
    for rules in (small_rules(), numbers(), many_intervals(), chain(30)):
        text = emit(rules, "c", number=number).text
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        assert not re.search(r"\bstatic const\b(?! char \*)|\bswitch\b|\[\] =", code)


@pytest.mark.parametrize(
    "tool, number",
    [*(("gcc", number) for number in NUMBERS), ("clang", "double"), ("clang", "int8")],
)
def test_sanitizers_find_nothing(tool, number, monkeypatch):
    command = [tool, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    if not shutil.which(tool):
        pytest.skip(f"{tool} isn't installed: apt-get install {tool}")
    probe = [*command, "-x", "c", "-", "-o", os.devnull]
    if subprocess.run(probe, input=b"int main(void){return 0;}", capture_output=True).returncode:
        pytest.skip("clang's sanitizers aren't installed: apt-get install libclang-rt-dev")
    monkeypatch.setenv("CC", " ".join(command))
    for rules in (small_rules(), many_intervals()):
        found = check(rules, "c", {"number": number}, [boundary_rows(rules, 300)])
        assert found.outcome == "agrees", (found.note, found.first)


@pytest.mark.parametrize("number", ["int16", "int8"])
@settings(max_examples=6)
@given(
    rule_trees(depth=3, kinds=(FeatureType.BOOLEAN, FeatureType.CATEGORY, FeatureType.INTEGER)),
    st.integers(0, 9),
)
def test_narrow_numbers_answer_as_the_interpreter_on_drawn_trees(number, rules, seed):
    found = check(shrunk(rules), "c", {"number": number}, [boundary_rows(shrunk(rules), 40, seed)])
    assert found.outcome == "agrees", (found.note, found.first)


def shrunk(rules):
    """Return rules whose thresholds are few and fit in 8 bits."""

    def node(old):
        if isinstance(old, Leaf):
            if old.stops:
                return old
            value = old.value if isinstance(old.value, tuple) else float(int(old.value) % 1000)
            return replace(old, value=value)
        children = tuple(map(node, old.children))
        if not isinstance(old, NumericSplit):
            return replace(old, children=children)
        ends = [*range(-3 * len(old.intervals), 120, 5)][: len(old.intervals) - 1]
        parts = (
            replace(part, below=t) for part, t in zip(old.intervals, [*ends, None], strict=True)
        )
        return replace(old, intervals=tuple(parts), children=children)

    return replace(rules, root=node(rules.root))


MAIN = """
#include "rules.h"
typedef char row_is_as_written[(sizeof({ident}_input) == {size}) ? 1 : -1];
static const uint8_t rows[] = {{ {rows} }};

static void put_bytes(const void *from, unsigned count)
{{
    const uint8_t *bytes = (const uint8_t *)from;
    for (unsigned i = 0; i < count; i++) {{
        put("0123456789abcdef"[bytes[i] >> 4]);
        put("0123456789abcdef"[bytes[i] & 15]);
    }}
}}

static void answer(void)
{{
    for (unsigned long r = 0; r < sizeof rows; r += {size}) {{
        {ident}_input x;
        {proba} out[2];
        int16_t found[2];
        for (unsigned i = 0; i < {size}; i++) {{
            ((volatile uint8_t *)&x)[i] = rows[r + i];
        }}
        found[0] = (int16_t){ident}_leaf(&x);
        found[1] = (int16_t){ident}_class(&x);
        {ident}_proba(&x, out);
        put_bytes(found, sizeof found);
        put_bytes(out, sizeof out);
        put('\\n');
    }}
}}
"""
ARM = """
#include <stdint.h>
static void call(uint32_t what, const void *with)
{
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
static void put(char c) { call(3, &c); }
"""
ARM_END = """
void reset(void);
void reset(void)
{
    answer();
    call(0x18, (const void *)0x20026);
    for (;;) {}
}
extern uint32_t stack_top;
__attribute__((section(".vectors"), used)) static const void *const vectors[] =
    {&stack_top, (const void *)reset};
"""
LINK = """
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 256K
         RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 16K }
stack_top = ORIGIN(RAM) + LENGTH(RAM);
ENTRY(reset)
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > FLASH
    .ARM.exidx : { *(.ARM.exidx*) } > FLASH
    .data : { *(.data*) *(.bss*) } > RAM
}
"""
AVR = """
#include <avr/io.h>
#include <avr/interrupt.h>
#include <avr/sleep.h>
static void put(char c) { while (!(UCSR0A & (1 << UDRE0))) {} UDR0 = (uint8_t)c; }
"""
AVR_END = """
int main(void)
{
    UCSR0B = 1 << TXEN0;
    answer();
    cli();
    sleep_mode();
    return 0;
}
"""


def main_of(tool, table, rules, *, packed):
    """Return the common part of a program that answers the rows of a table, which it holds."""
    form = Format(NUMBERS[tool.number], rules)
    rows = structs(form, table)
    if packed:
        types = [(name, rows.dtype[name]) for name in rows.dtype.names]
        rows = rows.astype(np.dtype(types))
    text = ",".join(map(str, rows.tobytes()))
    name = tool.emit(rules).name
    return MAIN.format(ident=name, size=rows.dtype.itemsize, rows=text, proba=form.number.proba)


def compare(tool, table, rules, lines):
    """Assert that lines of hexadecimal digits are the answers of the interpreter."""
    kind = {"double": "<f8", "float": "<f4"}.get(tool.number, "<u2")
    expected = tool.expected(rules, table)
    assert len(lines) == table.n_rows
    for i, line in enumerate(lines):
        data = bytes.fromhex(line)
        leaf, class_ = np.frombuffer(data[:4], "<i2").tolist()
        shares = np.frombuffer(data[4:], kind).astype(np.float64)
        assert leaf == expected.leaf[i]
        assert rules.target.classes[class_] == expected.prediction[i]
        assert (shares / (65535 if kind == "<u2" else 1)).tolist() == (
            expected.probabilities[i].tolist()
        )


@pytest.mark.skipif(
    not shutil.which("qemu-system-arm"),
    reason="qemu-system-arm isn't installed: apt-get install qemu-system-arm",
)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("command", CORES["Cortex-M0"], ids=lambda command: command[0])
def test_an_emulated_cortex_m0_answers_as_the_interpreter(command, number, tmp_path):
    found, rules, tool = core("Cortex-M0", command), small_rules(), emitter("c", number=number)
    table = boundary_rows(rules, 300)
    (tmp_path / "rules.h").write_text(tool.emit(rules).text)
    (tmp_path / "code.c").write_text(ARM + main_of(tool, table, rules, packed=False) + ARM_END)
    (tmp_path / "link.ld").write_text(LINK)
    build = [*found.command, "-Os", "-ffreestanding", "-Wl,-T,link.ld", "code.c"]
    # zig brings soft floats itself, unless it is to bring nothing.
    end = ["-nostdlib", "-lgcc"] if "gcc" in command[0] else []
    subprocess.run([*build, *end, "-o", "program.elf"], cwd=tmp_path, check=True)
    run = [
        "qemu-system-arm",
        "-M",
        "microbit",
        "-nographic",
        "-semihosting-config",
        "enable=on,target=native",
        "-kernel",
        "program.elf",
    ]
    said = subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    compare(tool, table, rules, (said.stdout + said.stderr).decode().split())


@pytest.mark.skipif(
    not shutil.which("simavr")
    or not shutil.which("avr-gcc")
    or not Path("/usr/lib/avr/include/avr/io.h").exists(),
    reason="simavr isn't installed: apt-get install simavr gcc-avr avr-libc",
)
@pytest.mark.parametrize("number", [number for number in NUMBERS if number != "double"])
def test_an_emulated_avr_answers_as_the_interpreter(number, tmp_path):
    rules, tool = small_rules(), emitter("c", number=number)
    table = boundary_rows(rules, 300)
    (tmp_path / "rules.h").write_text(tool.emit(rules).text)
    (tmp_path / "code.c").write_text(AVR + main_of(tool, table, rules, packed=True) + AVR_END)
    build = ["avr-gcc", "-mmcu=atmega1284p", "-std=gnu99", "-Os", "code.c", "-o", "program.elf"]
    subprocess.run(build, cwd=tmp_path, check=True)
    run = ["simavr", "-m", "atmega1284p", "-f", "8000000", "program.elf"]
    said = subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    lines = re.findall(r"([0-9a-f]{12,})\.", (said.stdout + said.stderr).decode())
    compare(tool, table, rules, lines)
