"""Boundary rows reach every branch at its ends, and mismatches are counted and shown."""

import json
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reaching import demands, visits
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.cli.report import checks_json, print_checks
from mbndt.conformance.boundary import boundary_rows, special_values
from mbndt.conformance.verify import check, differences, verify
from mbndt.emitters import TARGETS, emitter_class
from mbndt.emitters.python.emit import Python
from mbndt.errors import EngineMissing, OptionError, TargetError
from mbndt.interpreter import Predictions, leaf_ids, leaf_of
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
from mbndt.tables.table import Table


def test_rows_reach_every_leaf_and_every_end_of_the_example(example):
    table = boundary_rows(example, 1)
    assert set(leaf_ids(example, table)) == {leaf.leaf for leaf in example.leaves}
    lactate = table.column("lactate")
    assert {2.15, math.nextafter(2.15, 0), math.nextafter(2.15, 9), math.inf, None} <= set(lactate)
    assert {8, 9, 10, 20, 21, 22, 24, 25, 26, None} <= set(table.column("respiratory rate"))
    assert {"alert", "never seen", "ALERT", "", None} <= set(table.column("AVPU"))
    assert {False, True, None} == set(table.column("on oxygen"))


def test_rows_reach_the_bottom_of_a_deep_tree():
    rules = chain(50)
    assert set(leaf_ids(rules, boundary_rows(rules, 1))) == set(range(51))


def lacking(rules: Rules) -> tuple[set, set]:
    """Return which leaves, and which values at which split, boundary rows should meet and don't."""
    rows = list(boundary_rows(rules, 1).records(rules.features))
    leaves, met = demands(rules)
    found, seen = visits(rules, rows)
    assert found == {leaf_of(rules, row) for row in rows}
    assert found <= leaves
    return leaves - found, met - seen


ALONE = [rule_trees(depth=4, most=1, kinds=(kind,)) for kind in FeatureType]


@settings(max_examples=150)
@given(st.one_of(rule_trees(hostile=True, depth=5), rule_trees(depth=5, most=2), *ALONE))
def test_rows_meet_every_leaf_end_ulp_category_and_gap_that_a_row_can_meet(rules):
    assert lacking(rules) == (set(), set())


def test_rows_meet_leaves_that_lie_between_no_thresholds_of_their_own_split():
    kinds = tuple(f"c{i}" for i in range(30))
    leaves = iter([Leaf(i, float(i)) for i in range(61)])
    halves = (Interval(12.0, 0), Interval(None, 1))
    low = [NumericSplit("x", halves, 1, (next(leaves), next(leaves))) for _ in kinds]
    groups = tuple(Group((kind,), i) for i, kind in enumerate(kinds))
    inner = SetSplit("c", groups, 0, tuple(low), 0)
    ends = [(10.5, 1), (11.5, 0), (13.0, 1), *((float(t), 0) for t in range(14, 300)), (None, 0)]
    parts = tuple(Interval(t, to) for t, to in ends)
    root = NumericSplit("x", parts, 1, (inner, next(leaves)))
    inputs = (Feature("x", FeatureType.FLOAT64), Feature("c", FeatureType.CATEGORY, kinds))
    rules = Rules("between", Target("y", TargetType.FLOAT64), inputs, root)
    assert lacking(rules) == (set(), set())


@pytest.mark.parametrize("seed", range(4))
def test_rows_meet_everything_down_a_chain_that_asks_three_features_again_and_again(seed):
    rules = narrowing(50, random.Random(seed))
    assert demands(rules)[0] == set(range(51))
    assert lacking(rules) == (set(), set())


def narrowing(depth: int, draw: random.Random) -> Rules:
    """Return a chain that halves what is left of a double, a float32 or an integer each time."""
    kinds = (FeatureType.FLOAT64, FeatureType.FLOAT32, FeatureType.INTEGER)
    left = {"float64": (-1e300, 1e300), "float32": (-9.0, 9.0), "integer": (-(2**62), 2**62)}
    splits, end = [], draw.randrange(depth)
    for level in range(depth):
        name = draw.choice(kinds)
        low, high = left[name]
        cut = (low + high) // 2 if name == "integer" else low / 2 + high / 2
        up = draw.random() < 0.5
        left[name] = (cut, high) if up else (low, cut)
        splits.append((name, cut, up, level == end))
    node: Leaf | NumericSplit = Leaf(0, 1.0)
    for name, cut, up, gap in reversed(splits):
        # The end that the chain leaves is on either side; a gap goes down the chain until `end`.
        to = 0 if gap else 1
        parts = (Interval(cut, 0 if up else 1), Interval(None, 1 if up else 0))
        node = NumericSplit(name, parts, to, (Leaf(0, 0.5), node))
    inputs = tuple(Feature(kind.value, kind) for kind in kinds)
    return Rules("narrow", Target("y", TargetType.FLOAT64), inputs, numbered(node))


def numbered(root: Leaf | NumericSplit) -> Leaf | NumericSplit:
    """Return a chain with its leaves counted from left to right."""
    splits, node = [], root
    while not isinstance(node, Leaf):
        splits.append(node)
        node = node.children[1]
    found: Leaf | NumericSplit = Leaf(len(splits), 1.0)
    for i, split in reversed(list(enumerate(splits))):
        found = replace(split, children=(Leaf(i, 0.5), found))
    return found


@pytest.mark.parametrize("rules", [chain(50), many_intervals(), regression(), single_leaf()])
def test_rows_meet_everything_of_rules_at_the_limits(rules):
    assert lacking(rules) == (set(), set())


LAST = 3.4028234663852886e38  # of the float32 numbers
TURNS = [0.1, LAST, -LAST, 3.40282351e38, -3.5e38, 1e300, 5e-324, -1e-46, 0.0, 2.225073858507e-311]


@pytest.mark.parametrize("t", TURNS)
def test_rows_meet_both_sides_of_where_a_float32_turns(t):
    node = NumericSplit("x", (Interval(t, 0), Interval(None, 1)), 0, (Leaf(0, 0.0), Leaf(1, 1.0)))
    feature = Feature("x", FeatureType.FLOAT32)
    rules = Rules("ends", Target("y", TargetType.FLOAT64), (feature,), node)
    assert lacking(rules) == (set(), set())


def test_float32_values_meet_the_points_where_rounding_turns():
    values = special_values(Feature("x", FeatureType.FLOAT32), [0.1])
    near = np.float32(0.1)
    below = np.nextafter(near, np.float32(0))
    middle = (float(near) + float(below)) / 2
    assert {float(near), float(below), middle, math.nextafter(middle, 1)} <= set(values)


def test_rows_asked_for_are_made():
    assert boundary_rows(single_leaf(), 17).n_rows == 17
    assert boundary_rows(chain(3), 500).n_rows >= 500
    with pytest.raises(OptionError, match=r"^rows: got"):
        verify(chain(3), rows=0)


def test_a_missing_engine_and_a_refusal_are_told_not_hidden(example, monkeypatch):
    def no_engine(self):
        raise EngineMissing("no such thing here")

    monkeypatch.setattr(Python, "engine", no_engine)
    (check,) = verify(example, targets=["python"], rows=1)
    assert (check.outcome, check.rows, check.note) == ("not run", 0, "no such thing here")

    def refuse(self, rules):
        raise TargetError("too odd")

    monkeypatch.undo()
    monkeypatch.setattr(Python, "emit", refuse)
    (check,) = verify(example, targets=["python"], rows=1)
    assert (check.outcome, check.note) == ("refused", "too odd")


@pytest.mark.parametrize("change", ["leaf", "label", "type", "probability"])
def test_any_difference_counts(example, monkeypatch, change):
    run = Python.run

    def wrong(self, artifact, table):
        found = run(self, artifact, table)
        if change == "leaf":
            found.leaf[3] += 1
        elif change == "label":
            found.prediction[3] = "elsewhere"
        elif change == "type":
            found.prediction[3] = np.str_(found.prediction[3])
        else:
            found.probabilities[3, 0] = np.nextafter(found.probabilities[3, 0], 2)
        return found

    monkeypatch.setattr(Python, "run", wrong)
    (check,) = verify(example, targets=["python"], rows=20)
    assert (check.outcome, check.mismatches) == ("differs", 1)
    assert check.first is not None


def test_an_engine_that_breaks_off_is_a_failure_after_all_that_was_found(example, monkeypatch):
    run = Python.run

    def breaking(self, artifact, table):
        found = run(self, artifact, table)
        if table.n_rows == 1:
            raise TargetError("broken\noff")
        found.leaf[3] += 1
        return found

    monkeypatch.setattr(Python, "run", breaking)
    table = Table.of({"respiratory rate": [1], "lactate": [2], "on oxygen": [1], "AVPU": ["x"]})
    (check,) = verify(example, table, targets=["python"], rows=20)
    assert (check.outcome, check.mismatches) == ("failed", 1)
    assert check.note == "TargetError: broken off"


@pytest.mark.parametrize("target", ["c", "onnx"])
def test_the_integer_that_stands_for_missing_is_made_the_next_and_told(target):
    rules = regression()
    table = Table.of({"x": [0.0, 0.0, None], "n": [-(2**63), 5, None]})
    for found in verify(rules, table, targets=[target], rows=10):
        if found.outcome != "refused":
            assert found.outcome == "agrees", found
            assert found.note.startswith("1 value of data replaced by the nearest")


def test_rows_of_wide_rules_are_all_compared_where_no_value_is_infinite():
    wide = Rules(
        "wide",
        Target("y", TargetType.STRING, ("a", "b")),
        tuple(Feature(f"x{i}", FeatureType.FLOAT64) for i in range(60)),
        wide_chain(60),
    )
    found = check(wide, "sql", {"dialect": "mysql"}, [boundary_rows(wide, 500)])
    if found.outcome == "not run":
        pytest.skip(found.note)
    assert (found.outcome, found.mismatches) == ("agrees", 0)
    assert found.rows >= 500


def wide_chain(count):
    node = Leaf(count, (0.5, 0.5))
    for i in reversed(range(count)):
        parts = (Interval(float(i), 0), Interval(None, 1))
        node = NumericSplit(f"x{i}", parts, 1, (Leaf(i, (float(i % 2), float(1 - i % 2))), node))
    return node


def test_data_rows_are_compared_too(example):
    (alone,) = verify(example, targets=["python"], rows=10)
    (both,) = verify(example, ONE_ROW, targets=["python"], rows=10)
    assert both.rows == alone.rows + 1


ONE_ROW = Table.of({"respiratory rate": [1], "lactate": [2], "on oxygen": [1], "AVPU": ["x"]})


def test_the_first_differing_row_is_told_with_its_place_in_print_and_json(
    example, monkeypatch, capsys
):
    run = Python.run

    def wrong(self, artifact, table):
        found = run(self, artifact, table)
        if table.n_rows == 1:
            found.leaf[0] += 1
        return found

    monkeypatch.setattr(Python, "run", wrong)
    checks = verify(example, ONE_ROW, targets=["python"], rows=10)
    expected = leaf_ids(example, ONE_ROW)[0]
    print_checks(checks)
    out = capsys.readouterr().out
    assert "python: row: data, row 1: 'respiratory rate': 1, 'lactate': 2" in out
    assert f"python: expected: leaf {expected}," in out
    assert f"python: got: leaf {expected + 1}," in out
    (check,) = json.loads(checks_json(checks, example))["checks"]
    assert (check["outcome"], check["mismatches"]) == ("differs", 1)
    assert check["first"]["row"].startswith("data, row 1: ")


def test_an_emitter_that_breaks_is_a_failure_of_its_target_alone(example, monkeypatch):
    def broken(self, rules):
        raise RecursionError("too deep")

    monkeypatch.setattr(Python, "emit", broken)
    first, second = verify(example, targets=["python", "protocol"], rows=1)[:2]
    assert (first.outcome, first.note) == ("failed", "RecursionError: too deep")
    assert second.outcome == "agrees"


def test_an_engine_found_missing_when_it_is_run_was_not_run(example, monkeypatch):
    def no_engine(self, artifact, table):
        raise EngineMissing("gone")

    monkeypatch.setattr(Python, "run", no_engine)
    (check,) = verify(example, targets=["python"], rows=1)
    assert (check.outcome, check.engine, check.note) == ("not run", None, "gone")


def test_one_probability_for_all_classes_is_a_failure(example, monkeypatch):
    run = Python.run

    def narrow(self, artifact, table):
        found = run(self, artifact, table)
        return replace(found, outputs={"probability": found.probabilities[:, :1]})

    monkeypatch.setattr(Python, "run", narrow)
    (check,) = verify(example, targets=["python"], rows=1)
    assert check.outcome == "failed"
    assert "shape" in check.note


def test_every_target_names_its_variants():
    assert all(emitter_class(target).variants for target in TARGETS)
    assert {emitter_class(target).target for target in TARGETS} == set(TARGETS)


def test_a_difference_in_the_sign_of_zero_or_in_type_counts():
    leaf, rows = np.zeros(1, np.int64), np.zeros((1, 2))
    told = {"risk": rows, "score": rows}
    same = Predictions(leaf, [0.0], told)
    assert not differences(same, Predictions(leaf, [0.0], told)).any()
    for other in (
        Predictions(leaf, [-0.0], told),
        Predictions(leaf, [0], told),
        Predictions(leaf, [None], told),
        Predictions(leaf, [0.0], {"risk": rows, "score": -rows}),
        Predictions(leaf, [0.0], {"risk": rows * np.nan, "score": rows}),
        Predictions(leaf + 1, [0.0], told),
    ):
        assert differences(same, other).all()
