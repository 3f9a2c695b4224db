"""C headers: compiled as C99 and C++11 and run, against answers worked out another way."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from c_headers import build, leaves_in_c, one_split, printed
from hypothesis import assume, given, settings
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.c.numbers import NUMBERS, Format
from mbndt.emitters.c.plan import Diagram
from mbndt.errors import EngineMissing, OptionError, TargetError
from mbndt.interpreter import leaf_of, predict
from mbndt.rules import (
    INT64_MAX,
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
            if leaf.stops:
                assert found.prediction[i] is None
                assert all(np.isnan(part[i]).all() for part in found.outputs.values())
            elif rules.task == "regression":
                assert found.prediction[i] == np.float32(leaf.value)
            else:
                assert found.prediction[i] == rules.label(leaf)
                for name, rows in rules.outputs.items():
                    told = np.float32(rows[leaf.leaf]).tolist()
                    assert found.outputs[name][i].tolist() == told


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
    "options, said",
    [
        ({"number": "duoble"}, "number: got 'duoble'; did you mean 'double'"),
        ({"scale": ["x=2"]}, "scale: needs `number` int32, int16, int8, got double"),
        ({"number": "int8", "scale": ["x"]}, "expected FEATURE=K"),
        ({"number": "int8", "scale": ["a=b=1", "a=b=2"]}, "'a=b' stands twice"),
        ({"number": "int8", "scale": ["flag=1"]}, "'flag' is not a numeric feature"),
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
