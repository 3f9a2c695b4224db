"""Short thresholds: the fewest digits in the gap, and no training row moves."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sheets import LABELS, two_way
from strategies import PLAIN_NAMES, regression, rule_trees

from mbndt.boxes import equivalent
from mbndt.encoding import typed_columns
from mbndt.errors import RulesError
from mbndt.interpreter import leaf_ids
from mbndt.provenance import known_gaps
from mbndt.rounding import round_rules, shorten, shortest_between, to_decimals, whole_between
from mbndt.rules import Feature, FeatureType, Interval, Leaf, NumericSplit, Rules
from mbndt.table import Table

finite = st.floats(allow_nan=False, allow_infinity=False)


def digits(x: float) -> int:
    return len(Decimal(repr(x)).normalize().as_tuple().digits) if x else 0


@given(finite, finite)
def test_the_result_lies_strictly_between(low, high):
    assume(low < high)
    short = shortest_between(low, high)
    if short is None:
        assert np.nextafter(np.nextafter(low, high), high) >= high or abs(high) < 1e-300
    else:
        assert low < short < high


@given(st.integers(-(10**5), 10**5), st.integers(1, 400), st.integers(0, 4))
def test_no_number_in_the_gap_has_fewer_digits(start, width, places):
    low, high = start / 10**places, (start + width) / 10**places
    short = shortest_between(low, high)
    finer = [Fraction(i, 10 ** (places + 1)) for i in range(10 * start + 1, 10 * (start + width))]
    inside = [x for x in finer if low < x < high]
    assert short is not None
    fewest = min(digits(float(x)) for x in inside)
    assert digits(short) <= fewest
    rivals = [x for x in inside if digits(float(x)) == digits(short)]
    middle = (Fraction(low) + Fraction(high)) / 2
    if short:
        assert all(
            abs(Fraction(short) - middle) <= abs(x - middle) + Fraction(1, 10**9) for x in rivals
        )


@given(st.integers(-500, 500), st.integers(1, 400))
def test_whole_numbers_have_the_fewest_digits_too(low, width):
    high = low + width
    short = whole_between(low, high)
    assert short is not None
    assert low < short <= high
    assert digits(float(short)) == min(digits(float(i)) for i in range(low + 1, high + 1))


@pytest.mark.parametrize(
    "low, high, short",
    [(0.1, 0.2, 0.15), (0.94, 0.95, 0.945), (5.0, 7.0, 6.0), (-0.1, 3.0, 0.0),
     (1e300, 1.6e308, 8e307), (17.3, 17.4, 17.35), (99.0, 101.5, 100.0), (1234.0, 1235.0, 1234.5)],
)  # fmt: skip
def test_known_gaps(low, high, short):
    assert shortest_between(low, high) == short


@given(rule_trees(kinds=(FeatureType.FLOAT64, FeatureType.INTEGER, FeatureType.FLOAT32)), st.data())
def test_no_training_row_moves_and_thresholds_rise(rules, data):
    assert set(rules.feature) <= set(PLAIN_NAMES)
    values = {
        name: data.draw(
            st.lists(st.integers(-20, 20) if feature.type == "integer" else st.floats(-30, 30),
                     min_size=8, max_size=8)
        )
        for name, feature in rules.feature.items()
    }  # fmt: skip
    table = Table.of(values)
    short, moved = shorten(rules, typed_columns(table, rules.features))
    assert np.array_equal(leaf_ids(short, table), leaf_ids(rules, table))
    pairs = [
        (a.below, b.below)
        for old, new in zip(rules.splits, short.splits, strict=True)
        if isinstance(old, NumericSplit)
        for a, b in zip(old.intervals, new.intervals, strict=True)
    ]
    assert moved == sum(a != b for a, b in pairs)


def test_a_threshold_moves_to_the_short_decimal_of_its_gap():
    cuts = (Interval(2.1387, 0), Interval(2.1462, 1, 2), Interval(None, 1))
    rules = Rules(
        "r", LABELS, (Feature("x", FeatureType.FLOAT64),),
        NumericSplit("x", cuts, 0, (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0)))),
    )  # fmt: skip
    typed = typed_columns(Table.of({"x": [1.0, 2.1, 2.2, 3.0]}), rules.features)
    short, moved = shorten(rules, typed)
    # Two thresholds share the gap from 2.1 to 2.2 evenly, so that the redirect stays.
    assert [part.below for part in short.splits[0].intervals] == [2.13, 2.18, None]
    assert moved == 2


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
            st.lists(st.integers(-20, 20) if feature.type == "integer" else st.floats(-30, 30),
                     min_size=8, max_size=8)
        )
        for name, feature in rules.feature.items()
    }  # fmt: skip
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


@pytest.mark.parametrize(("cut", "decimals", "gap", "after", "safe"), [
    (2.1387, 1, (2.1, 2.2), 2.2, True),  # 2.1 itself would send the row at 2.1 up
    (2.1387, 1, (2.05, 2.2), 2.1, True),
    (2.1387, 0, (2.1, 2.2), 2.0, False),
    (2.6, 0, (2.5, None), 3.0, True),
    (14.9, -1, (4, 19), 10.0, True),
    (-0.04, 1, (-0.3, 0.2), 0.0, True),
    (2.5, 0, (1, 4), 2.0, True),  # half to even
])  # fmt: skip
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
        with pytest.raises(RulesError, match=r"1 thresholds .*2.1387 to 2.1.*--data"):
            round_rules(rules, {"x": 1})
    safe = round_rules(listed(two_way(X, 2.1387), [[2.05, 2.19]]), {"x": 1})
    assert (safe.changed, safe.rows, safe.before) == (0, None, None)
    assert safe.rules.provenance["rounded from"] != safe.rules.fingerprint
    assert known_gaps(safe.rules, "x") == [(2.05, 2.19)]


def test_with_the_table_the_rows_that_move_are_counted_and_the_accuracy_told():
    rules = listed(two_way(X, 2.14, missing=0), [[2.13, 2.17]])
    x = [2.11, 2.13, 2.17, 3.0, None, 2.12]
    told = round_rules(rules, {"x": 1}, Table.of(
        {"x": x, "y": ["no", "no", "yes", "yes", "no", None]}
    ))  # fmt: skip
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
