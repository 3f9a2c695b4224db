"""Boxes: equivalence with a witness, and the conditions that suffice, against brute force."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.errors import OptionError
from mbndt.interpreter import leaf_ids, leaf_of
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
from mbndt.rules.boxes import Space, answer, equivalent, reasons

YES, NO = (0.0, 1.0), (1.0, 0.0)
TARGET = Target("y", TargetType.STRING, ("no", "yes"))
INPUTS = tuple(Feature(name, FeatureType.FLOAT64) for name in "ab")


def split(name, cut, below, above):
    return NumericSplit(name, (Interval(cut, 0), Interval(None, 1)), 0, (below, above))


def conjunction(first, second, cut=1.0):
    """Return rules that say yes where both features reach the cut."""
    inner = split(second, cut, Leaf(1, NO), Leaf(2, YES))
    return Rules("both", TARGET, INPUTS, split(first, cut, Leaf(0, NO), inner))


def every_row(space):
    """Yield one row of each cell of all features together."""
    for values in itertools.product(*space.cells.values()):
        yield dict(zip(space.cells, values, strict=True))


def test_one_function_built_with_either_root_is_one_function():
    assert equivalent(conjunction("a", "b"), conjunction("b", "a")) is None


def test_the_witness_is_a_row_that_is_answered_differently():
    first, second = conjunction("a", "b"), conjunction("b", "a", cut=1.0000000000000002)
    row = equivalent(first, second)
    answers = [each.label(each.leaves[leaf_of(each, row)]) for each in (first, second)]
    assert answers[0] != answers[1]


def test_exact_equivalence_compares_probabilities_too():
    rules = conjunction("a", "b")
    other = replace(rules, root=split("a", 1.0, Leaf(0, (0.75, 0.25)), rules.root.children[1]))
    assert equivalent(rules, other) is None
    assert equivalent(rules, other, exact=True)["a"] < 1.0


def test_features_of_different_types_are_refused():
    whole = tuple(Feature(name, FeatureType.INTEGER) for name in "ab")
    other = replace(conjunction("a", "b"), features=whole)
    with pytest.raises(OptionError, match="'a': float64 in one, integer in the other"):
        equivalent(conjunction("a", "b"), other)


def test_an_answer_of_another_type_is_another_answer():
    leaf = Leaf(0, (1.0,))
    targets = (Target("y", TargetType.BOOLEAN, (True,)), Target("y", TargetType.INTEGER, (1,)))
    true, one = (Rules("r", target, (), leaf) for target in targets)
    assert equivalent(true, one) == {}


@settings(max_examples=60)
@given(rule_trees(depth=3), rule_trees(depth=3))
def test_equivalence_is_what_brute_force_over_all_cells_finds(a, b):
    b = replace(a, root=b.root, features=b.features, target=b.target)
    try:
        space = Space.of(a, b)
        row = equivalent(a, b)
    except OptionError:
        return
    if row is not None:
        row = dict.fromkeys({f.name for f in (*a.used, *b.used)}) | row
        assert answer(a, a.leaves[leaf_of(a, row)]) != answer(b, b.leaves[leaf_of(b, row)])
    elif math.prod(map(len, space.cells.values())) <= 500:
        for each in every_row(space):
            assert answer(a, a.leaves[leaf_of(a, each)]) == answer(b, b.leaves[leaf_of(b, each)])


@settings(max_examples=60)
@given(rule_trees())
def test_rules_are_equivalent_to_themselves_and_each_leaf_has_its_box(rules):
    assert equivalent(rules, rules, exact=True) is None
    space = Space.of(rules)
    for leaf, box in space.leaves(rules.root, space.whole):
        assert leaf_of(rules, space.row(box)) == leaf.leaf


@settings(max_examples=40)
@given(rule_trees(depth=4), st.integers(0, 99))
def test_every_leaf_that_a_row_reaches_has_a_box_that_holds_it(rules, seed):
    space = Space.of(rules)
    reached = {leaf.leaf for leaf, _ in space.leaves(rules.root, space.whole)}
    assert set(leaf_ids(rules, boundary_rows(rules, 100, seed)).tolist()) <= reached


@settings(max_examples=60)
@given(rule_trees(depth=3))
def test_what_is_enough_forces_the_answer_and_none_of_it_can_go(rules):
    space = Space.of(rules)
    assume(math.prod(map(len, space.cells.values())) <= 200)
    for reason in reasons(rules, space):
        assert reason.enough.items() <= reason.box.items()
        want = answer(rules, reason.leaf)
        assert _answers(rules, space, reason.enough) == {want}
        for name in reason.enough:
            fewer = {key: mask for key, mask in reason.enough.items() if key != name}
            assert _answers(rules, space, fewer) != {want}


def _answers(rules, space, conditions):
    """Return all answers under conditions, by asking the interpreter about every cell."""
    pools = [
        [value for i, value in enumerate(cells) if conditions.get(name, -1) >> i & 1]
        for name, cells in space.cells.items()
    ]
    rows = (dict(zip(space.cells, row, strict=True)) for row in itertools.product(*pools))
    found = {leaf_of(rules, row) for row in rows}
    return {answer(rules, rules.leaves[i]) for i in found}


def test_a_condition_that_the_rest_forces_is_dropped():
    # Both sides of b say no where a is below 1, so b is no reason there.
    root = split("b", 1.0, Leaf(0, NO), split("a", 1.0, Leaf(1, NO), Leaf(2, YES)))
    rules = Rules("both", TARGET, INPUTS, root)
    enough = {reason.leaf.leaf: set(reason.enough) for reason in reasons(rules)}
    assert enough == {0: {"b"}, 1: {"a"}, 2: {"a", "b"}}
