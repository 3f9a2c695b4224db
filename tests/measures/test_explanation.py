"""Measures of rules, against counts by hand and by brute force."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import rule_trees, single_leaf
from test_boxes import INPUTS, TARGET, conjunction, split

from mbndt.conformance.boundary import boundary_rows
from mbndt.interpreter import leaf_of
from mbndt.measures.explanation import answered_share, explanations
from mbndt.rules import Interval, Leaf, NumericSplit, Rules
from mbndt.rules.boxes import Space, answer
from mbndt.tables.table import Table

NO, YES = (1.0, 0.0), (0.0, 1.0)


def test_explanations_count_features_ends_and_what_is_enough():
    # Of three paths (1, 2 and 2 features), that to "no" beyond a = 1 needs b alone.
    found = explanations(conjunction("a", "b"))
    assert found["explanation size"] == pytest.approx(5 / 3)
    assert found["largest explanation"] == 2
    assert found["conditions"] == pytest.approx(5 / 3)
    assert found["enough"] == pytest.approx(4 / 3)
    assert found["redundant paths"] == pytest.approx(1 / 3)
    assert found["removable conditions"] == pytest.approx(1 / 5)


def test_explanations_weigh_leaves_by_their_rows():
    inner = split("b", 1.0, Leaf(1, NO, (8, 0)), Leaf(2, YES, (0, 1)))
    rules = Rules("both", TARGET, INPUTS, split("a", 1.0, Leaf(0, NO, (1, 0)), inner))
    found = explanations(rules)
    assert found["explanation size"] == pytest.approx((1 + 2 * 9) / 10)
    assert found["redundant paths by rows"] == pytest.approx(8 / 10)
    assert found["redundant paths"] == pytest.approx(1 / 3)


def test_an_interval_within_has_two_ends_and_two_apart_have_three():
    parts = (Interval(1.0, 0), Interval(2.0, 1), Interval(3.0, 0), Interval(None, 1))
    leaves = (Leaf(0, NO, (1, 0)), Leaf(1, YES, (0, 3)))
    rules = Rules("r", TARGET, INPUTS, NumericSplit("a", parts, 0, leaves))
    assert explanations(rules)["conditions"] == 3
    within = (Interval(1.0, 0), Interval(2.0, 1), Interval(None, 0))
    rules = Rules("r", TARGET, INPUTS, NumericSplit("a", within, 0, leaves))
    assert explanations(rules)["conditions"] == 2


def test_a_single_leaf_needs_no_explanation():
    assert explanations(single_leaf())["explanation size"] == 0
    assert explanations(single_leaf())["removable conditions"] == 0


def test_a_row_with_gaps_is_answered_where_all_leaves_agree():
    rows = {"a": [None, None, 0.0, 5.0, None], "b": [0.0, 5.0, None, None, None]}
    found = answered_share(conjunction("a", "b"), Table.of(rows))
    assert found == (5, 2 / 5)
    assert answered_share(conjunction("a", "b"), Table.of({"a": [1.0], "b": [1.0]})) == (0, 1.0)


@settings(max_examples=60)
@given(rule_trees(depth=3), st.integers(0, 99))
def test_the_answered_share_is_what_filling_every_gap_by_every_value_finds(rules, seed):
    table = boundary_rows(rules, 30, seed)
    cells = Space.of(rules).cells
    gaps, agreed = 0, 0
    for row in table.records(rules.used):
        filled = [{}]
        lacking = [f.name for f in rules.used if _is_missing(row[f.name])]
        if math.prod(len(cells[name]) for name in lacking) > 200:
            return
        for feature in rules.used:
            values = (
                [row[feature.name]] if feature.name not in lacking else cells[feature.name][:-1]
            )
            filled = [{**done, feature.name: value} for done in filled for value in values]
        gaps += bool(lacking)
        answers = {answer(rules, rules.leaves[leaf_of(rules, each)]) for each in filled}
        agreed += bool(lacking) and len(answers) == 1
    count, share = answered_share(rules, table)
    assert (count, round(share * count)) == (gaps, agreed if gaps else count)


def _is_missing(value):
    return value is None or value == "" or value != value
