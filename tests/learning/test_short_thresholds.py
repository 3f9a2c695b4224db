"""Short thresholds: the fewest digits in the gap, and no training row moves."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sheets import LABELS
from strategies import PLAIN_NAMES, rule_trees

from mbndt.interpreter import leaf_ids
from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.short_thresholds import shorten, shortest_between, whole_between
from mbndt.rules import Feature, FeatureType, Interval, Leaf, NumericSplit, Rules
from mbndt.tables.table import Table

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
    [
        (0.1, 0.2, 0.15),
        (0.94, 0.95, 0.945),
        (5.0, 7.0, 6.0),
        (-0.1, 3.0, 0.0),
        (1e300, 1.6e308, 8e307),
        (17.3, 17.4, 17.35),
        (99.0, 101.5, 100.0),
        (1234.0, 1235.0, 1234.5),
    ],
)
def test_known_gaps(low, high, short):
    assert shortest_between(low, high) == short


@given(rule_trees(kinds=(FeatureType.FLOAT64, FeatureType.INTEGER, FeatureType.FLOAT32)), st.data())
def test_no_training_row_moves_and_thresholds_rise(rules, data):
    assert set(rules.feature) <= set(PLAIN_NAMES)
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
        "r",
        LABELS,
        (Feature("x", FeatureType.FLOAT64),),
        NumericSplit("x", cuts, 0, (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0)))),
    )
    typed = typed_columns(Table.of({"x": [1.0, 2.1, 2.2, 3.0]}), rules.features)
    short, moved = shorten(rules, typed)
    # Two thresholds share the gap from 2.1 to 2.2 evenly, so that the redirect stays.
    assert [part.below for part in short.splits[0].intervals] == [2.13, 2.18, None]
    assert moved == 2
