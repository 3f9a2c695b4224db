"""Raw columns to bins and back to splits of rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbndt.interpreter import branches
from mbndt.learning.refine.bins import MOST_BINS, RARE, bin_table, bins_of, fit_axes
from mbndt.rules import Feature, FeatureType, Leaf, Rules, Target, TargetType
from mbndt.tables.table import Column, Table

TARGET = Target("y", TargetType.INTEGER, (0, 1))


def drawn_table(seed, rows=300):
    draw = np.random.default_rng(seed)
    letters = draw.choice(list("abcdefgh"), rows, p=[0.4, 0.2, 0.15, 0.1, 0.1, 0.03, 0.01, 0.01])
    table = Table.of(
        {
            "x": np.where(draw.random(rows) < 0.1, np.nan, draw.normal(size=rows).round(1)),
            "wide": draw.normal(size=rows) * 10.0 ** draw.integers(-300, 300, rows),
            "f": draw.normal(size=rows).astype(np.float32),
            "i": draw.integers(-(2**62), 2**62, rows),
            "b": draw.random(rows) < 0.3,
            "c": np.where(draw.random(rows) < 0.1, "", letters).astype(object),
        }
    )
    features = (
        Feature("x", FeatureType.FLOAT64),
        Feature("wide", FeatureType.FLOAT64),
        Feature("f", FeatureType.FLOAT32),
        Feature("i", FeatureType.INTEGER),
        Feature("b", FeatureType.BOOLEAN),
        Feature("c", FeatureType.CATEGORY, tuple("abcdefgh")),
    )
    typed = {feature.name: table.typed(feature) for feature in features}
    outcome = np.eye(2)[(draw.random(rows) < 0.5).astype(int)]
    return features, typed, outcome


def fitted(seed, rules=()):
    features, typed, outcome = drawn_table(seed)
    return features, typed, fit_axes(features, typed, outcome, np.ones(len(outcome)), rules)


def rules_of(features, split):
    return Rules("r", TARGET, features, split)


@given(st.integers(0, 10**6))
def test_a_split_sends_raw_values_where_the_table_sends_their_bins(seed):
    features, typed, axes = fitted(seed % 7)
    draw = np.random.default_rng(seed)
    bins = bins_of(axes, typed, 300)
    for axis, row in zip(axes, bins, strict=True):
        to = draw.integers(0, 3, axis.size)
        to[0], to[axis.size // 2], to[-1] = 0, 1, 2
        split = axis.split(to, tuple(Leaf(i, (0.5, 0.5)) for i in range(3)))
        rules = rules_of(features, split)
        column = typed[axis.feature.name]
        np.testing.assert_array_equal(branches(rules, split, column), to[row])
        np.testing.assert_array_equal(bin_table(rules, split, axis), to)


def test_a_value_on_a_cut_lies_above_it():
    features, _, axes = fitted(1)
    for axis in axes[:4]:
        kind = np.int64 if axis.feature.type == FeatureType.INTEGER else np.float64
        values = np.array(axis.cuts, kind)
        column = Column(values, np.zeros(len(values), np.bool_))
        to = np.arange(axis.size) % 2
        split = axis.split(to, (Leaf(0, (0.5, 0.5)), Leaf(1, (0.5, 0.5))))
        assert np.array_equal(axis.bins(column), np.arange(len(values)) + 1)
        found = branches(rules_of(features, split), split, column)
        assert np.array_equal(found, to[1:-1])


def test_cuts_lie_strictly_between_neighbouring_training_values():
    for seed in range(5):
        _, typed, axes = fitted(seed)
        for axis in axes[:4]:
            column = typed[axis.feature.name]
            values = np.unique(column.values[~column.missing])
            cuts = np.array(axis.cuts, values.dtype)
            assert len(cuts) <= MOST_BINS
            place = np.searchsorted(values, cuts)
            assert np.all(np.diff(place) > 0)
            assert np.all((values[place - 1] < cuts) & (cuts <= values[place]))
            if axis.feature.type != FeatureType.INTEGER:
                assert np.all(cuts < values[place])


def test_many_values_are_cut_into_quantiles():
    values = np.random.default_rng(0).exponential(size=5000)
    feature = Feature("x", FeatureType.FLOAT64)
    typed = {"x": Table.of({"x": values}).typed(feature)}
    (axis,) = fit_axes([feature], typed, np.eye(2)[np.arange(5000) % 2], np.ones(5000))
    counts = np.bincount(bins_of([axis], typed, 5000)[0])
    assert len(counts) > 200
    assert counts.max() <= 2 * 5000 / MOST_BINS


def test_rare_and_unseen_categories_share_a_bin():
    _, typed, axes = fitted(3)
    axis = axes[-1]
    rows = np.bincount(typed["c"].values[~typed["c"].missing], minlength=8)
    rare = np.flatnonzero(rows < RARE)
    assert len(rare)
    assert set(axis.place[rare].tolist()) == {axis.unseen}
    common = axis.place[rows >= RARE].tolist()
    assert len(set(common) | {axis.unseen}) == len(common) + 1


def test_categories_stand_in_the_order_of_their_means():
    feature = Feature("c", FeatureType.CATEGORY, ("high", "low", "middle"))
    codes = np.repeat([0, 1, 2], 100)
    positive = np.concatenate([np.arange(100) < k for k in (80, 10, 50)]).astype(int)
    typed = {"c": Table.of({"c": np.array(feature.categories, object)[codes]}).typed(feature)}
    (axis,) = fit_axes([feature], typed, np.eye(2)[positive], np.ones(300))
    order = axis.place.tolist()
    assert order in ([0, 3, 2], [3, 0, 1], [0, 3, 1], [3, 0, 2])


def test_thresholds_and_categories_of_rules_are_kept():
    features, _, axes = fitted(0)
    cut = axes[0].split(np.arange(axes[0].size) % 2, (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0))))
    moved = tuple(
        part if part.below is None else type(part)(part.below + 0.01, part.to)
        for part in cut.intervals
    )
    rules = rules_of(features, type(cut)(cut.feature, moved, cut.missing, cut.children))
    _, _, kept = fitted(0, [rules])
    assert set(rules.root.thresholds) <= set(kept[0].cuts)


@pytest.mark.parametrize("value", [1.5, np.nan, np.inf])
def test_a_column_that_never_varies_has_no_axis(value):
    feature = Feature("x", FeatureType.FLOAT64)
    typed = {"x": Table.of({"x": np.full(20, value)}).typed(feature)}
    assert fit_axes([feature], typed, np.eye(2)[np.arange(20) % 2], np.ones(20)) == ()
