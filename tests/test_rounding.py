"""Thresholds at measured decimals: within their gaps where these allow it, else with a count."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sheets import LABELS, two_way
from strategies import regression, rule_trees

from mbndt.errors import DataError, RulesError
from mbndt.interpreter import leaf_ids
from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.provenance import known_gaps
from mbndt.rounding import round_rules, to_decimals
from mbndt.rules import Feature, FeatureType, Interval, Leaf, NumericSplit, Rules
from mbndt.rules.boxes import equivalent
from mbndt.tables.table import Table

finite = st.floats(allow_nan=False, allow_infinity=False)

# To stated decimals

NUMBERS = (FeatureType.FLOAT64, FeatureType.INTEGER, FeatureType.FLOAT32)
X = Feature("x", FeatureType.FLOAT64)


def listed(rules: Rules, gaps: list[object]) -> Rules:
    """Return rules whose provenance states the gaps of the feature x."""
    return replace(rules, provenance={"features": {"x": {"gaps": gaps}}})


@given(rule_trees(kinds=NUMBERS), st.data())
def test_thresholds_become_multiples_and_safe_moves_move_no_training_row(rules, data):
    values = {
        name: data.draw(
            st.lists(
                st.integers(-20, 20) if feature.type == "integer" else st.floats(-30, 30),
                min_size=8,
                max_size=8,
            )
        )
        for name, feature in rules.feature.items()
    }
    decimals = {name: data.draw(st.integers(-2, 4)) for name in rules.feature}
    table = Table.of(values)
    typed = typed_columns(table, rules.features)
    try:
        rounded, moves = to_decimals(rules, decimals, typed)
    except RulesError as error:
        assert "would both become" in str(error)
        return
    for feature in rounded.used:
        places = decimals[feature.name]
        places = min(places, 0) if feature.type == "integer" else places
        for threshold in rounded.thresholds(feature):
            exact = Decimal(repr(threshold)) if feature.type != "integer" else Decimal(threshold)
            if abs(exact) < 10**14:
                assert exact % Decimal(1).scaleb(-places) == 0
    if all(move.safe for move in moves):
        assert np.array_equal(leaf_ids(rounded, table), leaf_ids(rules, table))
    for move in moves:
        if not move.safe and abs(move.before) < 10**9:
            # No multiple at all lies in the gap.
            unit = Fraction(10) ** -decimals[move.feature]
            known = sorted(Fraction(float(x)) for x in typed[move.feature].values)
            low = max((x for x in known if x < move.before), default=None)
            high = min((x for x in known if x >= move.before), default=None)
            assert low is not None
            assert high is not None
            assert low // unit == high // unit


@pytest.mark.parametrize(
    ("cut", "decimals", "gap", "after", "safe"),
    [
        (2.1387, 1, (2.1, 2.2), 2.2, True),  # 2.1 itself would send the row at 2.1 up
        (2.1387, 1, (2.05, 2.2), 2.1, True),
        (2.1387, 0, (2.1, 2.2), 2.0, False),
        (2.6, 0, (2.5, None), 3.0, True),
        (14.9, -1, (4, 19), 10.0, True),
        (-0.04, 1, (-0.3, 0.2), 0.0, True),
        (2.5, 0, (1, 4), 2.0, True),  # half to even
    ],
)
def test_a_threshold_goes_to_the_nearest_multiple_in_its_gap(cut, decimals, gap, after, safe):
    rules = listed(two_way(X, cut), [list(gap)])
    rounded, (move,) = to_decimals(rules, {"x": decimals})
    assert (move.before, move.after, move.safe) == (cut, after, safe)
    assert repr(rounded.splits[0].thresholds) == repr((after,))
    typed = typed_columns(Table.of({"x": [float(end) for end in gap if end is not None]}), (X,))
    assert to_decimals(rules, {"x": decimals}, typed)[1] == [move]


def test_a_half_on_whole_numbers_is_the_whole_number_above():
    rules = two_way(Feature("x", FeatureType.INTEGER), 8.5)
    rounded, (move,) = to_decimals(rules, {"x": 0})
    assert (move.after, move.safe) == (9, True)
    assert equivalent(rules, rounded) is None


def test_two_thresholds_that_would_become_one_are_refused():
    with pytest.raises(RulesError, match=r"'x': 2.14 and 2.16 would both become 2.0;.*0 decimals"):
        to_decimals(two_way(X, 2.14, 2.16), {"x": 0}, typed_columns(Table.of({"x": [1.0]}), (X,)))


def test_features_that_are_not_used_or_no_numbers_stay(example):
    assert to_decimals(example, {"AVPU": 0, "nowhere": 1}) == (example, [])


def test_without_the_table_a_row_that_might_move_is_refused():
    for rules in (two_way(X, 2.1387), listed(two_way(X, 2.1387), [[2.11, 2.19]])):
        with pytest.raises(RulesError, match=r"1 thresholds .*2.1387 to 2.1.*`data`"):
            round_rules(rules, {"x": 1})
    safe = round_rules(listed(two_way(X, 2.1387), [[2.05, 2.19]]), {"x": 1})
    assert (safe.changed, safe.rows, safe.before) == (0, None, None)
    assert safe.rules.provenance["rounded from"] != safe.rules.fingerprint
    assert known_gaps(safe.rules, "x") == [(2.05, 2.19)]


def test_with_the_table_the_rows_that_move_are_counted_and_the_accuracy_told():
    rules = listed(two_way(X, 2.14, missing=0), [[2.13, 2.17]])
    x = [2.11, 2.13, 2.17, 3.0, None, 2.12]
    told = round_rules(
        rules, {"x": 1}, Table.of({"x": x, "y": ["no", "no", "yes", "yes", "no", None]})
    )
    assert [(move.before, move.after, move.safe) for move in told.moves] == [(2.14, 2.1, False)]
    # Up move 2.11, 2.12 and 2.13; the last row has no target, so two of three "no" go wrong.
    assert (told.changed, told.rows) == (3, 6)
    assert told.before == 1.0
    assert told.after == pytest.approx((1 / 3 + 1) / 2)
    assert known_gaps(told.rules, "x") == [(None, 2.11)]
    silent = round_rules(rules, {"x": 1}, Table.of({"x": x}))
    assert (silent.changed, silent.before, silent.after) == (3, None, None)


def test_a_regression_is_told_by_r_squared():
    leaves = (Leaf(0, 0.0), Leaf(1, 10.0))
    split = NumericSplit("x", (Interval(2.14, 0), Interval(None, 1)), 0, leaves)
    rules = replace(regression(), root=split, features=(X,))
    told = round_rules(rules, {"x": 1}, Table.of({"x": [1.0, 2.12, 2.17], "y": [0.0, 0.0, 10.0]}))
    assert (told.changed, told.before) == (1, 1.0)
    assert told.after == pytest.approx(1 - 100 / (200 / 3))


def counted_rules() -> Rules:
    """Return rules that know their gap, their leaves' rows and their figures."""
    facts = {"missing": 0.0, "range": [1.0, 3.0], "gaps": [[2.4, 2.5]]}
    provenance = {
        "training rows": 4,
        "class rows": [2, 2],
        "features": {"x": facts},
        "held out": {"rows": 2},
    }
    leaves = (Leaf(0, (1.0, 0.0), (2, 0)), Leaf(1, (0.0, 1.0), (0, 2)))
    split = NumericSplit("x", (Interval(2.45, 0), Interval(None, 1)), 1, leaves)
    return Rules("counted", LABELS, (X,), split, provenance)


ROWS = Table.of({"x": [1.0, 2.4, 2.5, 3.0], "y": ["no", "no", "yes", "yes"]})


def test_leaves_that_rows_enter_or_leave_forget_what_they_were_learned_from():
    found = round_rules(counted_rules(), {"x": 0}, ROWS)
    assert (found.changed, found.rows, found.warnings) == (1, 4, ())
    assert [leaf.counts for leaf in found.rules.leaves] == [None, None]
    assert [leaf.value for leaf in found.rules.leaves] == [(1.0, 0.0), (0.0, 1.0)]
    assert found.rules.provenance["class rows"] == [2, 2]


def test_risks_stay_with_scores_where_rows_move():
    risky = counted_rules().with_leaves(lambda leaf: replace(leaf, risk=(0.75, 0.25)))
    found = round_rules(risky, {"x": 0}, ROWS)
    assert found.changed == 1
    assert [leaf.risk for leaf in found.rules.leaves] == [(0.75, 0.25)] * 2


def test_other_leaves_keep_theirs():
    parts = (Interval(2.45, 0), Interval(9.0, 1), Interval(None, 2))
    leaves = (*counted_rules().leaves, Leaf(2, (0.5, 0.5), (7, 7)))
    rules = replace(counted_rules(), root=NumericSplit("x", parts, 1, leaves))
    assert round_rules(rules, {"x": 0}, ROWS).rules.leaves[2].counts == (7, 7)


def test_a_table_without_rows_is_refused_and_a_small_one_told():
    with pytest.raises(DataError, match="no rows"):
        round_rules(counted_rules(), {"x": 0}, ROWS.take(np.zeros(4, bool)))
    found = round_rules(counted_rules(), {"x": 0}, ROWS.take(np.array([1, 2])))
    assert "has 2 rows, the rules were learned from 4" in found.warnings[0]
    assert found.warnings[1] == "leaf 0: no row of the table reaches it any more"


def test_leaves_keep_their_rows_where_none_moves():
    found = round_rules(counted_rules(), {"x": 1}, ROWS)
    assert (found.changed, found.rules.thresholds(X)) == (0, (2.5,))
    assert [leaf.counts for leaf in found.rules.leaves] == [(2, 0), (0, 2)]
    assert found.rules.provenance["held out"] == {"rows": 2}


def test_to_round_again_changes_nothing():
    once = round_rules(counted_rules(), {"x": 1}).rules
    assert round_rules(once, {"x": 1}).rules == once
    assert round_rules(counted_rules(), {"x": 3}).rules == counted_rules()
