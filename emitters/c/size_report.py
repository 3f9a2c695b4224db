"""What a header costs: flash, RAM and stack, measured by compiling it for small cores."""

from __future__ import annotations

import importlib.util
import re
import shutil
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mbndt.emitters.base import Artifact
from mbndt.emitters.c.numbers import Format
from mbndt.emitters.c.plan import Diagram
from mbndt.emitters.c.run import call, compiler
from mbndt.errors import EngineFailed

FLAGS = (
    "-std=c99",
    "-Os",
    "-c",
    "-ffreestanding",
    "-fno-asynchronous-unwind-tables",
    "-fno-pic",
    "-fstack-usage",
)
ZIG = ("zig", "cc", "-Qunused-arguments", *("-Xclang", "-stack-usage-file", "-Xclang", "code.su"))
# The commands that compile for a core, the preferred one first.
CORES = {
    "Cortex-M0": (
        ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"),
        (*ZIG, "-target", "thumb-freestanding-eabi", "-mcpu=cortex_m0"),
    ),
    "AVR": (
        ("avr-gcc", "-mmcu=atmega328p"),
        (*ZIG, "-target", "avr-freestanding", "-mcpu=atmega328p"),
    ),
}
# How an application calls each function, so that it is compiled at all: arguments and the call.
CALLS = {
    "leaf": ("int", "const {0}_input *x", "return {0}_leaf(x)"),
    "class": ("int", "const {0}_input *x", "return {0}_class(x)"),
    "value": ("{1}", "const {0}_input *x", "return {0}_value(x)"),
    "proba": ("void", "const {0}_input *x, {2} out[]", "{0}_proba(x, out)"),
    "label": ("const char *", "int c", "return {0}_label(c)"),
}


@dataclass(frozen=True)
class Core:
    """A core and the command that compiles for it."""

    name: str
    command: tuple[str, ...]

    @property
    def compiler(self) -> tuple[str, ...]:
        """Return the command without options for a core."""
        end = self.command.index("cc") + 1 if "cc" in self.command else 1
        return self.command[:end]

    @property
    def version(self) -> str:
        """Return the line in which the compiler names itself."""
        line = call([*self.compiler, "--version"])[1].splitlines()[0]
        return f"zig cc, {line}" if "ziglang" in self.compiler else line


@dataclass(frozen=True)
class Size:
    """Bytes of flash and of RAM, and of stack by function, its own alone."""

    flash: int
    ram: int
    stack: dict[str, int]


def cores() -> list[Core]:
    """Return the small cores for which a compiler is found, or else the one that runs here.

    Raises `EngineMissing` where there is no compiler at all.
    """
    found = []
    for name, commands in CORES.items():
        usable = (full for command in commands if (full := _located(command)))
        found += [Core(name, command) for command in [next(usable, ())] if command]
    return found or [Core("this machine", tuple(compiler()))]


def _located(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command as it can be called, empty where it can't."""
    if shutil.which(command[0]):
        return command
    if command[0] == "zig" and importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", *command[1:])
    return ()


def measure(core: Core, code: str) -> Size:
    """Return what compiled code takes on a core; raises `EngineFailed` where it doesn't compile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "code.c").write_text(code, "ascii")
        status, said = call([*core.command, *FLAGS, "code.c", "-o", "code.o"], name)
        if status:
            errors = re.findall("error: (.*)", said) or said.splitlines()[:1]
            raise EngineFailed(f"{core.version}: {'; '.join(errors)}")
        parts = list(_sections((folder / "code.o").read_bytes()))
        usage = [path.read_text() for path in folder.glob("*.su")]
    constant, other = (sum(size for kind, size in parts if kind == k) for k in ("constant", "data"))
    code_size = sum(size for kind, size in parts if kind == "code")
    # AVR reads constants from RAM, to which they are copied from flash at the start.
    ram = other + (constant if core.name == "AVR" else 0)
    lines = re.findall(r"^[^\t]*?([\w.]+)\t(\d+)\t", "".join(usage), re.MULTILINE)
    return Size(code_size + constant, ram, {name.split(".")[0]: int(size) for name, size in lines})


def _sections(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield `(kind, bytes)` of the sections of an ELF file that are loaded into memory.

    Raises `EngineFailed` for another kind of file.
    """
    if data[:4] != b"\x7fELF":
        raise EngineFailed("the compiler writes no ELF files, whose sections could be measured")
    wide = data[4] == 2
    (start,) = struct.unpack_from("<Q" if wide else "<I", data, 40 if wide else 32)
    size, count = struct.unpack_from("<2H", data, 58 if wide else 46)
    for at in range(start, start + count * size, size):
        _, type_, flags, _, _, length = struct.unpack_from("<IIQQQQ" if wide else "<6I", data, at)
        if flags & 2 and type_ in (1, 8):  # loaded; with content, or zeros
            yield "code" if flags & 4 else "data" if flags & 1 else "constant", length


def size_report(artifact: Artifact, form: Format) -> list[str]:
    """Return lines on a header's cost.

    They give the comparisons, then by core the bytes of flash, RAM and stack of each function where
    an application calls that one alone. Raises `EngineMissing` where there is no compiler.
    """
    counts = {kind: Diagram(form, ends).comparisons() for kind, ends in form.answers().items()}
    said = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    found = [f"comparisons at most: {said}"]
    kinds = [*counts, *(["label"] if form.rules.target.classes else [])]
    for core in cores():
        try:
            costs = ", ".join(f"{kind} {_cost(core, artifact, form, kind)}" for kind in kinds)
        except EngineFailed as error:
            found.append(f"{core.name}: {error}")
        else:
            found.append(f"{core.name}, bytes of flash/RAM/stack at -Os: {costs} ({core.version})")
    return found


def _cost(core: Core, artifact: Artifact, form: Format, kind: str) -> str:
    type_, arguments, body = (
        text.format(artifact.name, form.number.value, form.number.proba) for text in CALLS[kind]
    )
    head = f"{type_} called({arguments})"
    size = measure(core, f"{artifact.text}\n{head};\n{head}\n{{ {body}; }}\n")
    stack = "?" if not size.stack else _stack(artifact, kind, size.stack)
    return f"{size.flash}/{size.ram}/{stack}"


def _stack(artifact: Artifact, kind: str, own: dict[str, int]) -> int:
    """Return the bytes of stack of the longest chain of calls, given those of each function.

    One that was built into its caller has none of its own.
    """
    deepest: dict[str, int] = {}
    for name, body in re.findall(
        rf"^static inline \w+ ({artifact.name}_{kind}\w*)\((.*?)^}}", artifact.text, re.M | re.S
    ):  # each after those that it calls
        called = re.findall(rf"\b({artifact.name}_{kind}_\d+)\(", body)
        deepest[name] = own.get(name, 0) + max((deepest[one] for one in called), default=0)
    return own.get("called", 0) + deepest.get(f"{artifact.name}_{kind}", 0)
