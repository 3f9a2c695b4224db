"""C headers: compiled as C99 and C++11 and run, against answers worked out another way."""

import math
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.verify import boundary_rows, check
from mbndt.emitters import emit, emitter
from mbndt.emitters.c.numbers import NUMBERS, Format
from mbndt.emitters.c.plan import Diagram
from mbndt.errors import EngineMissing, OptionError, TargetError
from mbndt.interpreter import leaf_of, predict
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
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
from mbndt.tables.table import Table

FLAGS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wfloat-equal",
    "-Werror",
]
COMMANDS = {
    "c": [["gcc", "-std=c99", "-Wmissing-prototypes"], ["clang", "-std=c99"]],
    "cpp": [["g++", "-std=c++11"], ["clang++", "-std=c++11"]],
}
FIXED = ["int32", "int16", "int8"]
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


def build(folder, headers, code="", language="c", flags=(), command=None):
    """Compile code that includes headers; return what the compiler says, "" for nothing."""
    for i, header in enumerate(headers):
        (folder / f"h{i}.h").write_text(header, "ascii")
    lines = [f'#include "h{i}.h"' for i in range(len(headers))]
    (folder / f"code.{language}").write_text("\n".join([*lines, code, ""]))
    end = ["-o", "program"] if "main(" in code else ["-fsyntax-only"]
    said = ""
    for start in [command] if command else COMMANDS[language]:
        if shutil.which(start[0]):
            full = [*start, *FLAGS, *flags, f"code.{language}", *end]
            said += subprocess.run(full, cwd=folder, capture_output=True, text=True).stderr
    return said


def printed(folder, headers, code):
    """Return the lines that a program prints."""
    main = "#include <stdio.h>\nint main(void)\n{\n" + code + "\nreturn 0;\n}"
    assert build(folder, headers, main) == ""
    found = subprocess.run([folder / "program"], capture_output=True, check=True).stdout
    return found.decode().split("\n")[:-1]


def one_split(intervals, type_=FeatureType.FLOAT64, missing=0, name="one split"):
    """Return rules of one split into as many leaves as there are intervals."""
    size = len(intervals) + 1
    parts = tuple(Interval(t, i) for i, t in enumerate([*intervals, None]))
    leaves = tuple(Leaf(i, (i / size, 1 - i / size)) for i in range(size))
    target = Target("y", TargetType.BOOLEAN, (True, False))
    return Rules(name, target, (Feature("x", type_),), NumericSplit("x", parts, missing, leaves))


def values(*numbers, type_=TargetType.FLOAT64):
    """Return a regression with the given leaves."""
    parts = tuple(Interval(float(i), i) for i in range(1, len(numbers)))
    leaves = tuple(Leaf(i, v) for i, v in enumerate(numbers))
    root = NumericSplit("x", (*parts, Interval(None, 0)), 0, leaves) if parts else leaves[0]
    return Rules("values", Target("y", type_), (Feature("x", FeatureType.FLOAT64),), root)


def leaves_in_c(rules, columns, **options):
    tool = emitter("c", **options)
    return tool.run(tool.emit(rules), Table.of(columns)).leaf.tolist()


@settings(max_examples=12)
@given(rule_trees())
def test_a_float_header_answers_as_the_interpreter_on_rounded_rows(rules):
    tool = emitter("c", number="float")
    table = boundary_rows(rules, 60)
    try:
        found = tool.run(tool.emit(rules), table)
    except TargetError:
        assume(False)
    with np.errstate(over="ignore"):
        for i, row in enumerate(table.records(rules.used)):
            for feature in rules.used:
                if feature.type.numeric and row[feature.name] is not None:
                    near = float(np.float32(row[feature.name]))
                    whole = feature.type == FeatureType.INTEGER
                    row[feature.name] = min(int(near), INT64_MAX) if whole else near
            leaf = rules.leaves[leaf_of(rules, row)]
            assert found.leaf[i] == leaf.leaf
            if rules.task == "regression":
                assert found.prediction[i] == np.float32(leaf.value)
            else:
                assert found.prediction[i] == rules.label(leaf)
                assert found.probabilities[i].tolist() == np.float32(leaf.value).tolist()


@settings(max_examples=8)
@given(st.sampled_from([1, 3, 7, 10, 100]), st.data(), st.sampled_from(list(FeatureType)[:2]))
def test_each_of_the_255_stored_integers_goes_where_its_number_goes(scale, data, type_):
    within = st.floats(-125 / scale, 125 / scale)
    exact = st.integers(-125, 126).map(lambda i: i / scale)
    cuts = data.draw(st.lists(within | exact, min_size=1, max_size=12, unique=True))
    rules = one_split(sorted(cuts), type_, missing=0)
    numbers = [i / scale for i in range(-127, 128)]
    found = leaves_in_c(rules, {"x": [*numbers, None]}, number="int8", scale=[f"x={scale}"])
    assert found == [leaf_of(rules, {"x": x}) for x in [*numbers, None]]


def test_a_threshold_is_the_least_integer_whose_double_is_not_below_it():
    form = Format(NUMBERS["int8"], one_split([0.07]), ["x=100"])
    assert form.cut(form.rules.features[0], 0.07) == 7  # while ceil(0.07 * 100) is 8
    assert form.cut(form.rules.features[0], math.nextafter(0.07, 1)) == 8
    assert form.cut(form.rules.features[0], math.nextafter(0.07, 0)) == 7


@pytest.mark.parametrize("number", FIXED)
def test_numbers_past_the_ends_and_missing_ones_are_stored_so_that_they_go_right(number):
    rules = one_split([-1.25, 1.25], missing=1)
    xs = [-math.inf, -1e300, -1.2500001, -1.25, 0.0, 1.2499999, 1.25, 1e300, math.inf, None]
    assert leaves_in_c(rules, {"x": xs}, number=number) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 1]
    whole = one_split([-3, 3], FeatureType.INTEGER, missing=1)
    xs = [-INT64_MAX, -4, -3, 2, 3, INT64_MAX, None]
    assert leaves_in_c(whole, {"x": xs}, number=number) == [0, 0, 1, 1, 2, 2, 1]
    assert leaves_in_c(whole, {"x": xs}, number=number, scale="x=9") == [0, 0, 1, 1, 2, 2, 1]


@pytest.mark.parametrize("number", NUMBERS)
def test_splits_of_many_intervals_answer_as_the_interpreter(number):
    for rules in [
        many_intervals(64),
        one_split(range(-60, 60, 3), FeatureType.INTEGER, missing=7),
        one_split([t / 4 for t in range(-20, 20)], FeatureType.FLOAT32, missing=40),
    ]:
        found = check(rules, "c", {"number": number}, [boundary_rows(rules, 10)])
        assert (found.engine, found.mismatches, found.note) == (found.engine, 0, "")
        # Halving: 6 questions for 64 intervals, and one for missing.
        form = Format(NUMBERS[number], rules)
        assert Diagram(form, form.answers()["leaf"]).comparisons() <= 7


@pytest.mark.parametrize("count", [1, 5, 20])
def test_thresholds_past_the_floats_leave_infinity_above(count, tmp_path):
    cuts = [-1e39, *(float(i) for i in range(count)), 3.4028234663852886e38, 1e39]
    rules = one_split(cuts)
    xs = [-math.inf, -3.4028234663852886e38, 0.0, 3.4028234663852886e38, 1e38, math.inf, None]
    expected = [leaf_of(rules, {"x": x}) for x in xs]
    assert leaves_in_c(rules, {"x": xs}, number="float") == expected
    assert build(tmp_path, [emit(rules, "c", number="float").text]) == ""
    assert leaves_in_c(rules, {"x": xs}) == expected


@pytest.mark.parametrize("rules", [chain(50), chain(500), single_leaf(), regression()])
def test_deep_and_bare_rules_answer_as_the_interpreter(rules):
    found = check(rules, "c", {}, [boundary_rows(rules, 100)])
    assert found.engine
    assert found.mismatches == 0


@pytest.mark.parametrize("number", ["double", "int16"])
def test_probabilities_of_many_classes_are_zero_where_nothing_else_is_said(number):
    shares = [tuple(float(c == i) for c in range(12)) for i in range(12)]
    leaves = tuple(Leaf(i, share) for i, share in enumerate(shares))
    parts = tuple(Interval(t, i) for i, t in enumerate([*map(float, range(1, 12)), None]))
    target = Target("y", TargetType.INTEGER, tuple(range(12)))
    root = NumericSplit("x", parts, 3, leaves)
    rules = Rules("many", target, (Feature("x", FeatureType.FLOAT64),), root)
    found = check(rules, "c", {"number": number}, [boundary_rows(rules, 100)])
    assert found.outcome == "agrees", (found.note, found.first)


def test_a_part_that_several_places_lead_to_stands_once():
    def node(level, first):
        if level == 0:
            return Leaf(first, (0.25, 0.75))
        leaves = tuple(Leaf(first + i, (i / 4, 1 - i / 4)) for i in (0, 1))
        parts = [(-10.0 * level, 2), (float(level), 0), (10.0 * level, 1), (None, 2)]
        rest = node(level - 1, first + 2)
        return NumericSplit(
            "pqr"[level % 3], tuple(Interval(*p) for p in parts), 2, (*leaves, rest)
        )

    features = tuple(Feature(name, FeatureType.FLOAT64) for name in "pqr")
    rules = Rules("parts", Target("y", TargetType.BOOLEAN, (True, False)), features, node(14, 0))
    assert len(emit(rules, "c").text.splitlines()) < 1000  # not 2 to the 14th
    assert check(rules, "c", {}, [boundary_rows(rules, 100)]).outcome == "agrees"


def test_blocks_stay_within_what_c99_grants():
    lines = emit(chain(500), "c").text.splitlines()
    assert max(len(line) - len(line.lstrip()) for line in lines) / 4 < 20


def test_codes_of_categories_and_booleans_mean_what_the_interface_says(example, tmp_path):
    rules = replace(
        example,
        root=SetSplit(
            "AVPU",
            (Group(("alert",), 0), Group(("pain", "voice"), 1)),
            3,
            (
                *(Leaf(i, (1.0, 0.0, 0.0)) for i in range(3)),
                SetSplit(
                    "on oxygen",
                    (Group((False,), 0), Group((True,), 1)),
                    2,
                    tuple(Leaf(i, (0.0, 1.0, 0.0)) for i in range(3, 6)),
                ),
            ),
            2,
        ),
    )
    codes = [-1, -2, 0, 1, 2, 3, 4, 99, 32767, -32768]
    code = "early_warning_input x = {0, 0.0, 1, 0};\n" + "".join(
        f'x.avpu = {code}; printf("%d\\n", early_warning_leaf(&x));\n' for code in codes
    )
    code += 'x.avpu = EARLY_WARNING_AVPU_PAIN; printf("%d\\n", early_warning_leaf(&x));\n'
    code += 'x.avpu = -1; x.on_oxygen = 0; printf("%d\\n", early_warning_leaf(&x));\n'
    code += 'x.on_oxygen = -1; printf("%d\\n", early_warning_leaf(&x));\n'
    found = printed(tmp_path, [emit(rules, "c").text], code)
    assert found == ["4", "2", "0", "1", "1", "2", "2", "2", "2", "2", "1", "3", "5"]


def test_the_fields_and_functions_are_those_of_the_interface(example, tmp_path):
    code = """
    early_warning_input x = {20, 2.15, 1, EARLY_WARNING_AVPU_PAIN};
    int (*leaf)(const early_warning_input *) = early_warning_leaf;
    int (*class_)(const early_warning_input *) = early_warning_class;
    const char *(*label)(int) = early_warning_label;
    void (*proba)(const early_warning_input *, double *) = early_warning_proba;
    double p[3];
    int64_t *a = &x.respiratory_rate; double *b = &x.lactate;
    int8_t *c = &x.on_oxygen; int16_t *d = &x.avpu;
    (void)a; (void)b; (void)c; (void)d;
    proba(&x, p);
    printf("%d %d %s %g %g %g\\n", leaf(&x), class_(&x), label(class_(&x)), p[0], p[1], p[2]);
    x.respiratory_rate = INT64_MIN;
    printf("%d\\n", leaf(&x));
    printf("[%s] [%s] [%s]\\n", label(-1), label(3), label(2));
    """
    lines = printed(tmp_path, [emit(example, "c").text], code)
    assert lines == ["0 0 home 0.75 0.25 0", "2", "[] [] [intensive care]"]
    code = """
    early_warning_input x = {EARLY_WARNING_MISSING, 214, -1, -1};
    void (*proba)(const early_warning_input *, uint16_t *) = early_warning_proba;
    uint16_t p[3];
    int8_t *a = &x.respiratory_rate; (void)a;
    proba(&x, p);
    printf("%d %u %u %u\\n", early_warning_leaf(&x), p[0], p[1], p[2]);
    """.replace("214", "21")
    header = emit(example, "c", number="int8", scale=["lactate=10"]).text
    assert printed(tmp_path, [header], code) == ["1 16384 32767 16384"]


def test_values_are_parts_of_their_scale_in_fixed_point(tmp_path):
    rules = values(0.5, -1.25, 1 / 3)
    code = """
    values_input x = {0};
    int32_t (*value)(const values_input *) = values_value;
    printf("%d of %d\\n", (int)value(&x), VALUES_VALUE_SCALE);
    """
    header = emit(rules, "c", number="int16")
    assert printed(tmp_path, [header.text], code) == ["-1250000000 of 1000000000"]
    assert any("too coarse for 1" in note for note in header.notes)
    assert emit(values(1e9, 0.25), "c", number="int8").text.count("VALUE_SCALE 1\n") == 1


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


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any), st.integers(1, 10**6))
def test_parts_sum_to_65535_and_are_the_nearest_below_or_above(weights, by):
    exact = [Fraction(w, sum(weights)) * 65535 for w in weights]
    row = tuple(w / sum(weights) for w in weights)
    target = Target("y", TargetType.INTEGER, tuple(range(by, by + len(row))))
    ((parts,), divisor) = Format(NUMBERS["int8"], Rules("r", target, (), Leaf(0, row))).results()
    assert (sum(parts), divisor) == (65535, 65535)
    up = [q % 1 for q, part in zip(exact, parts, strict=True) if part > q]
    down = [q % 1 for q, part in zip(exact, parts, strict=True) if part < q]
    assert all(abs(q - part) < 1 for q, part in zip(exact, parts, strict=True))
    assert not up or not down or min(up) >= max(down) - Fraction(1, 10**9)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_literal_is_the_shortest_that_reads_back(x):
    text = Format(NUMBERS["float"], single_leaf()).literal(x)
    assert text[-1] == "f"
    assert np.float32(text[:-1]) == np.float32(x)
    digits = len(re.sub(r"e.*|[-.]", "", np.format_float_scientific(np.float32(x), trim="-")))
    assert len(re.sub(r"[ef].*|[-.]", "", text).strip("0")) <= digits


@settings(max_examples=4)
@given(
    st.lists(
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        min_size=80,
        max_size=80,
        unique_by=lambda x: x + 0.0,
    )
)
def test_the_compiler_reads_float_literals_as_they_are_meant(xs):
    rules = one_split(sorted(xs))
    found = leaves_in_c(rules, {"x": sorted(xs)}, number="float")
    assert found == list(range(1, len(xs) + 1))


def test_integers_beyond_doubles_are_told_apart_and_the_reserved_one_is_refused():
    cuts = [-INT64_MAX + 1, 2**53 + 1, INT64_MAX]
    rules = one_split(cuts, FeatureType.INTEGER, missing=3)
    xs = [-INT64_MAX, -INT64_MAX + 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX, None]
    assert leaves_in_c(rules, {"x": xs}) == [0, 1, 1, 2, 2, 3, 3]
    with pytest.raises(TargetError, match=r"'x', row 2: -9223372036854775808 stands for a missing"):
        leaves_in_c(rules, {"x": [1, INT64_MIN]})


def test_an_interval_that_holds_the_reserved_integer_alone_is_left_out():
    rules = one_split([-INT64_MAX, 5], FeatureType.INTEGER, missing=1)
    form = Format(NUMBERS["double"], rules)
    assert Diagram(form, form.answers()["leaf"]).comparisons() == 1
    assert leaves_in_c(rules, {"x": [-INT64_MAX, 4, 5, None]}) == [1, 1, 2, 1]


def test_unused_features_may_lack_or_hold_anything(example):
    rules = replace(
        one_split([0.5]), features=(*example.features, Feature("x", FeatureType.FLOAT32))
    )
    assert leaves_in_c(rules, {"x": [0.25, 0.75], "AVPU": [1, 2]}) == [0, 1]


def test_a_wrong_label_comes_back_as_a_wrong_label(example):
    tool = emitter("c")
    artifact = tool.emit(example)
    table = boundary_rows(example, 50)
    broken = replace(artifact, content=artifact.text.replace('"ward"', '"wart"'))
    right, wrong = predict(example, table).prediction, tool.run(broken, table).prediction
    assert {w for r, w in zip(right, wrong, strict=True) if r != w} == {"b'wart'"}


@pytest.mark.parametrize(
    "number, cuts, dropped",
    [
        ("float", [0.1, math.nextafter(0.1, 1), 2.0], ["0.1 to below 0.10000000000000002"]),
        ("double", [0.1, math.nextafter(0.1, 1), 2.0], []),
        ("int8", [1.0, 100.004, 100.006], ["100.004 to below 100.006"]),
        ("int8", [float(i) / 100 + 100 for i in range(60)], ["more intervals are dropped"]),
    ],
)
def test_intervals_that_no_number_reaches_are_dropped_and_said_so(number, cuts, dropped):
    artifact = emit(one_split(cuts), "c", number=number)
    notes = [note for note in artifact.notes if "dropped" in note]
    assert len(notes) == len(dropped) or "more" in dropped[0]
    for text in dropped:
        assert any(text in note for note in notes)
    assert len(notes) < 25
    for note in artifact.notes:
        assert note in artifact.text


def test_whole_numbers_reach_no_interval_between_two_fractions():
    artifact = emit(one_split([2.2, 2.7, 10**19], FeatureType.INTEGER), "c")
    assert [note.split(" from ")[1][:14] for note in artifact.notes] == [
        "2.2 to below 2",
        "10000000000000",
    ]


def test_a_scale_is_chosen_from_the_thresholds_and_stands_in_the_header():
    artifact = emit(one_split([2.15, 30.0]), "c", number="int16")
    assert artifact.notes == ("scale 100 of 'x' is chosen from its thresholds",)
    assert "scale 100: 'x'" in artifact.text
    assert "x->x < 215" in artifact.text
    coarse = emit(one_split([2.15, 30.0]), "c", number="int8")
    assert "scale 1: 'x'" in coarse.text
    assert "2.15 becomes 3.0" in coarse.notes[1]
    given_scale = emit(one_split([2.15, 30.0]), "c", number="int16", scale=("x=20",))
    assert given_scale.notes == ()
    assert "x->x < 43" in given_scale.text


@pytest.mark.parametrize(
    "options, said",
    [
        ({"number": "duoble"}, "number: got 'duoble'; did you mean 'double'"),
        ({"scale": ["x=2"]}, "scale: needs `number` int32, int16, int8, got double"),
        ({"number": "int8", "scale": ["x"]}, "expected FEATURE=K"),
        ({"number": "int8", "scale": ["a=b=1", "a=b=2"]}, "'a=b' stands twice"),
        ({"number": "int8", "scale": ["flag=1"]}, "'flag' is not a number feature"),
        ({"number": "int8", "scale": ["a=c=1"]}, "did you mean 'a=b'"),
        *(
            ({"number": "int8", "scale": [f"a=b={k}"]}, "expected a whole number from 1")
            for k in ("0", "-1", "1.5", "", "\u0663", "2147483648", "1_0")
        ),
    ],
)
def test_a_wrong_option_is_named(options, said):
    features = (Feature("a=b", FeatureType.FLOAT64), Feature("flag", FeatureType.BOOLEAN))
    with pytest.raises(OptionError) as caught:
        emit(replace(single_leaf(), features=features), "c", **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "rules, number, said",
    [
        (one_split([127.5]), "int8", "threshold 127.5 of 'x': not in -126 to 127 of int8_t"),
        (one_split([-127.0]), "int8", "-127.0"),
        (one_split([1e300]), "int32", "1e+300"),
        (one_split([2**40], FeatureType.INTEGER), "int32", "1099511627776"),
        (one_split([10**30], FeatureType.INTEGER), "int32", "at scale 1"),
        (values(1e39, 0.5), "float", "leaf value 1e+39: out of the range of float"),
        (values(0.5, -2147483648.0), "int8", "out of the range of int32_t"),
    ],
)
def test_what_a_type_cannot_hold_is_refused(rules, number, said):
    with pytest.raises(TargetError, match=re.escape(said)):
        emit(rules, "c", number=number)


def test_the_ends_of_the_type_are_held():
    cuts = [-126.0, 127.0]
    xs = [-128.0, -127.0, -126.0, 126.9, 127.0]
    assert leaves_in_c(one_split(cuts), {"x": xs}, number="int8") == [0, 0, 1, 1, 2]
    assert "found = 2147483647;" in emit(values(2147483647.0, -1.0), "c", number="int8").text


def test_a_feature_may_have_as_many_categories_as_there_are_codes(tmp_path):
    feature = Feature("c", FeatureType.CATEGORY, tuple(map(str, range(2**15))))
    root = SetSplit(
        "c", (Group(("32767",), 0),), 2, tuple(Leaf(i, (0.5, 0.5)) for i in range(3)), 1
    )
    rules = replace(single_leaf(), features=(feature,), root=root)
    assert build(tmp_path, [emit(rules, "c").text]) == ""
    assert leaves_in_c(rules, {"c": ["32767", "32766", "0", "x", None]}) == [0, 1, 1, 1, 2]


def test_a_feature_of_too_many_categories_is_refused():
    feature = Feature("c", FeatureType.CATEGORY, tuple(map(str, range(2**15 + 1))))
    with pytest.raises(TargetError, match="'c': 32769 categories, expected at most 32768"):
        emit(replace(single_leaf(), features=(feature,)), "c")


@pytest.mark.parametrize("command", ["no-such-compiler", "/dev/null -m32"])
def test_a_lacking_compiler_is_named(monkeypatch, example, command):
    monkeypatch.setenv("CC", command)
    with pytest.raises(EngineMissing, match=command.split()[0]):
        emitter("c").engine()
    with pytest.raises(EngineMissing, match=command.split()[0]):
        emitter("c").run(emit(example, "c"), boundary_rows(example, 1))


def test_no_compiler_at_all_says_what_to_install(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EngineMissing, match="install gcc or clang"):
        emitter("c").engine()
