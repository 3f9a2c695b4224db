"""Whether rules rise or fall with a feature, beside all pairs of inputs that differ in it alone."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import rule_trees

from mbndt.interpreter import leaf_of
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)
from mbndt.rules.boxes import Space
from mbndt.rules.monotone import not_monotone, promised, steps, zigzags

TARGET = Target("y", TargetType.STRING, ("no", "yes"), event="yes")
INPUTS = tuple(Feature(name, FeatureType.FLOAT64) for name in "ab")


def cut(name, leaves, *thresholds, missing=0):
    parts = (*(Interval(t, i) for i, t in enumerate(thresholds)), Interval(None, len(thresholds)))
    return NumericSplit(name, parts, missing, tuple(leaves))


def yes(*shares):
    return [Leaf(i, (1 - p, p)) for i, p in enumerate(shares)]


def rules_of(root):
    return Rules("r", TARGET, INPUTS, root)


def by_hand(rules, name):
    """Yield the leaves of each two inputs that differ in a feature alone, the lower one first.

    One input of each cell of all features together.
    """
    space = Space.of(rules)
    others = [key for key in space.cells if key != name]
    for values in itertools.product(*(space.cells[key] for key in others)):
        rest = dict(zip(others, values, strict=True))
        reached = [
            rules.leaves[leaf_of(rules, {**rest, name: value})] for value in space.cells[name][:-1]
        ]
        yield from itertools.combinations(reached, 2)


@given(rule_trees(), st.data())
@settings(deadline=None)
def test_steps_are_those_of_all_pairs_of_inputs(rules, data):
    numeric = [feature.name for feature in rules.used if feature.type.numeric]
    assume(numeric)
    space = Space.of(rules)
    assume(sum(map(len, space.cells.values())) < 40 and len(space.cells) < 4)
    for name in numeric:
        ids = {
            (low.leaf, high.leaf)
            for low, high in by_hand(rules, name)
            if low is not high and not low.stops and not high.stops
        }
        assert {(low.leaf, high.leaf) for low, high in steps(rules, name)} == ids


def test_a_dip_is_a_zigzag_and_a_rise_is_none():
    rising = rules_of(cut("a", yes(0.1, 0.4, 0.8), 1.0, 2.0))
    assert not zigzags(rising, "a")
    assert [(a.leaf, b.leaf) for a, b in zigzags(rising, "a", "-")] == [(0, 1), (0, 2), (1, 2)]
    assert not_monotone(rising) == []
    dip = rules_of(cut("a", yes(0.1, 0.8, 0.4), 1.0, 2.0))
    assert [(a.leaf, b.leaf) for a, b in zigzags(dip, "a")] == [(1, 2)]
    assert not_monotone(dip) == ["a"]


def test_missing_values_and_unrelated_branches_have_no_place_in_the_order():
    first, second, third, fourth = yes(0.1, 0.4, 0.6, 0.3)
    apart = rules_of(
        cut("b", [cut("a", [first, second], 1.0), cut("a", [third, fourth], 5.0)], 0.0)
    )
    assert not_monotone(apart) == ["a", "b"]  # as b decides which way a goes, and a which way b
    assert [(a.leaf, b.leaf) for a, b in zigzags(apart, "a")] == [(2, 3)]
    ends = tuple(yes(0.1, 0.4, 0.05))
    alone = NumericSplit("a", (Interval(1.0, 0), Interval(None, 1)), 2, ends)
    assert not zigzags(rules_of(alone), "a")


def test_a_deeper_split_on_the_same_feature_counts():
    inner = cut(
        "b", [cut("a", [Leaf(1, (0.6, 0.4)), Leaf(2, (0.1, 0.9))], 2.0), Leaf(3, (0.7, 0.3))], 0.0
    )
    rules = rules_of(cut("a", [Leaf(0, (0.5, 0.5)), inner], 1.0))
    assert {(a.leaf, b.leaf) for a, b in zigzags(rules, "a")} == {(0, 1), (0, 3)}


def test_the_event_tells_what_is_to_rise_and_risks_count_too():
    rules = rules_of(cut("a", yes(0.1, 0.4), 1.0))
    other = replace(rules, target=replace(TARGET, event="no"))
    assert not zigzags(rules, "a")
    assert zigzags(other, "a")
    assert not zigzags(other, "a", "-")
    risks = [(0.7, 0.3), (0.8, 0.2)]
    against = rules.with_leaves(lambda leaf: replace(leaf, risk=risks[leaf.leaf]))
    assert zigzags(against, "a")


def test_only_a_promise_that_holds_is_told():
    rules = rules_of(cut("a", yes(0.1, 0.4), 1.0))
    for stated, told in (
        ({"a": "+"}, {"a": "+"}),
        ({"a": "-"}, {}),
        ({"a": ["+"], "c": "+", "b": "-"}, {"b": "-"}),
        ("a", {}),
    ):
        assert promised(replace(rules, provenance={"monotone": stated})) == told


@pytest.mark.parametrize("kind", [FeatureType.INTEGER, FeatureType.FLOAT32])
def test_other_numbers_are_ordered_too(kind):
    x = Feature("x", kind)
    numbers = Rules(
        "r",
        Target("y", TargetType.FLOAT64),
        (x,),
        cut("x", [Leaf(0, 2.0), Leaf(1, 3.0), Leaf(2, 1.0)], 3, 5),
    )
    assert not_monotone(numbers) == ["x"]
    assert [(a.leaf, b.leaf) for a, b in zigzags(numbers, "x")] == [(0, 2), (1, 2)]
