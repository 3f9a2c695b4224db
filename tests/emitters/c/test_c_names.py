"""Names in C headers, and headers that live together in one program."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from c_headers import COMMANDS, build, printed, values
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import chain, many_intervals, rule_trees, single_leaf

from mbndt.emitters import emit
from mbndt.emitters.c.numbers import NUMBERS
from mbndt.errors import OptionError, TargetError
from mbndt.rules import (
    Feature,
    FeatureType,
    Leaf,
    Rules,
    Target,
    TargetType,
)

TEXTS = [
    "caf\u00e9s",
    "\u00e99",
    "\x01" + "1",
    "??/",
    "??=",
    "a\nb",
    '"',
    "\\",
    "\\n",
    "*/",
    "/*",
    "//",
    "\U0001f600",
    "%s",
    "\u202e",
    "int",
    "INT",
    " ",
    "?" * 9,
    "x" * 5000,
    "\u00e9" * 600 + "f",
]


pytestmark = pytest.mark.skipif(
    not shutil.which("gcc"), reason="gcc isn't installed: apt-get install gcc"
)


@settings(max_examples=5)
@given(st.lists(rule_trees(hostile=True, depth=3), min_size=4, max_size=4), st.data())
def test_headers_together_compile_without_a_warning_in_both_languages(
    tmp_path_factory, drawn, data
):
    headers = []
    for i, rules in enumerate(drawn):
        number = data.draw(st.sampled_from([*NUMBERS]))
        try:
            headers.append(emit(replace(rules, name=f"{rules.name} n{i}"), "c", number=number))
        except TargetError:
            continue
    assume(headers)  # without one there is nothing to compile, of which compilers warn
    texts = [header.text for header in headers]
    folder = tmp_path_factory.mktemp("hostile")
    some = "".join(
        f"int f{i}(const {h.name}_input *x);\nint f{i}(const {h.name}_input *x)"
        f"{{ return {h.name}_leaf(x); }}\n"
        for i, h in enumerate(headers)
    )
    assert build(folder, texts) == ""
    assert build(folder, texts, some, "cpp") == ""


def test_hostile_names_and_texts_give_legal_unique_words_and_the_same_labels(tmp_path):
    names = [*TEXTS, "int8_t", "linux", "errno", "hostile_input", "x", "X", "x_2", "y" * 300]
    types = list(FeatureType)
    features = tuple(
        Feature(name, types[i % 5], tuple(TEXTS) if i % 5 == 4 else (), "*/", "??/")
        for i, name in enumerate(names)
    )
    target = Target("target", TargetType.STRING, tuple(TEXTS))
    even = tuple(1 / len(TEXTS) for _ in TEXTS)
    rules = Rules("hostile", target, features, Leaf(0, even))
    header = emit(rules, "c").text
    assert header.isascii()
    assert "??" not in header
    for language in COMMANDS:
        for flags in ([], ["-std=gnu++17" if language == "cpp" else "-std=gnu11", "-Wtrigraphs"]):
            assert build(tmp_path, [header], language=language, flags=flags) == ""
    code = 'for (int c = 0; c < 21; c++) {fputs(hostile_label(c), stdout); putchar(1); puts("");}'
    lines = "\n".join(printed(tmp_path, [header], code))
    assert lines.removesuffix("\x01").split("\x01\n") == TEXTS
    fields = re.findall(r"^    \w+ (\w+); /\*", header, re.MULTILINE)
    macros = re.findall(r"^#define (HOSTILE_\w+) \d+ /\*", header, re.MULTILINE)
    assert len(set(fields)) == len(fields) == len(names)
    assert len(set(macros)) == len(macros) == sum(len(f.categories) for f in features)
    assert max(map(len, fields)) <= 63


NAMES = ["class", "7 days", "\u732b", "stdint", "a", "a leaf", "a input", "a b", "int", "main"]


def test_headers_of_awkward_names_live_in_one_unit(tmp_path, example):
    headers = [emit(replace(example, name=name), "c", number="int16").text for name in NAMES]
    for language in COMMANDS:
        assert build(tmp_path, [*headers, headers[0]], language=language) == ""
    other = emit(replace(example, name="a"), "c").text
    assert "a_input" in build(tmp_path, [headers[4], other])


def test_what_would_make_answers_wrong_does_not_compile(tmp_path, example):
    header = emit(example, "c").text
    assert "-ffast-math" in build(tmp_path, [header], command=["gcc", "-std=c99", "-ffast-math"])
    if (
        "-mfpmath"
        in subprocess.run(["gcc", "--help=target"], capture_output=True, text=True).stdout
    ):
        x87 = ["gcc", "-std=c99", "-mfpmath=387"]
        assert "excess precision" in build(tmp_path, [header], command=x87)
        assert build(tmp_path, [emit(example, "c", number="int16").text], command=x87) == ""


def test_single_precision_constants_are_an_error_where_thresholds_are_doubles(example, tmp_path):
    headers = [emit(example, "c").text]
    command = ["gcc", "-std=c99"]
    assert build(tmp_path, headers, command=command) == ""
    said = build(tmp_path, headers, flags=["-fsingle-precision-constant"], command=command)
    assert "constants_are_double" in said


def test_two_models_of_one_name_go_into_one_program_under_names_of_their_own(example, tmp_path):
    other = replace(example, root=example.root.children[0], features=example.features)
    headers = [
        emit(rules, "c", name=name).text
        for rules, name in ((example, "First one"), (other, "second"))
    ]
    code = "int main(void) { return (sizeof(first_one_input) + sizeof(second_input)) == 0U; }"
    assert build(tmp_path, headers, code) == ""
    with pytest.raises(OptionError, match="name"):
        emit(example, "c", name=" ")


@pytest.mark.skipif(
    not shutil.which("cppcheck"), reason="cppcheck isn't installed: apt-get install cppcheck"
)
@pytest.mark.parametrize("number", ["double", "int16"])
def test_misra_is_kept_but_for_the_rules_that_the_header_lists(number, example, tmp_path):
    bare = (many_intervals(), chain(20), values(0.5, 2.0), single_leaf())
    headers = [emit(rules, "c", number=number).text for rules in (example, *bare)]
    assert build(tmp_path, headers) == ""
    command = ["cppcheck", "-q", "--enable=style", "--addon=misra", "--std=c99", "code.c"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr
    broken = set(re.findall(r"\[misra-c2012-([\d.]+)\]", said))
    assert broken
    assert broken <= set(re.findall(r"^ \*   ([\d.]+): ", headers[0], re.MULTILINE))
