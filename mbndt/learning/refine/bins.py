"""Raw columns to a few ordered bins and back: the ground that exact re-splitting stands on.

An axis orders a feature's values in bins. Numbers are cut between neighbouring training values,
into all distinct values or, where there are more, into quantiles; thresholds that rules already
have are kept as cuts, so that they can be stood on exactly. Categories are ordered by the mean
label of their training rows, drawn towards the overall mean, so that an interval of bins is a set
of categories; rare and unseen ones share a bin. The last bin of each axis is that of missing
values, which has no place in the order.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.arrays import Array, Floats, Indices
from mbndt.interpreter import branches
from mbndt.learning.refine.problem import ranks
from mbndt.learning.short_thresholds import shortest_between, whole_between
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Group,
    Interval,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
    Split,
    Threshold,
)
from mbndt.tables.table import Column

MOST_BINS = 254
LARGEST = sys.float_info.max
ROWS_OF_ONE = 30  # a table of fewer rows may have a bin for a category of one row
RARE = 5  # a category with fewer training rows is too rare to have a bin of its own
SMOOTHING = 10.0  # rows at the overall mean that each category's mean is drawn towards


@dataclass(frozen=True)
class NumberAxis:
    """The bins of a numeric feature: bin k holds `cuts[k-1] <= x < cuts[k]`."""

    feature: Feature
    cuts: tuple[Threshold, ...]

    @property
    def size(self) -> int:
        """Return the number of bins, that of missing values included."""
        return len(self.cuts) + 2

    def bins(self, column: Column) -> Indices:
        """Return the bin of each of n values, [n]."""
        kind = np.int64 if self.feature.type == FeatureType.INTEGER else np.float64
        found = np.searchsorted(np.array(self.cuts, kind), column.values, side="right")
        return np.where(column.missing, self.size - 1, found)

    def split(self, to: Indices, children: tuple[Node, ...]) -> NumericSplit:
        """Return the split that sends each bin to child `to` [size]."""
        ends = np.flatnonzero(np.diff(to[:-1]))
        parts = [Interval(self.cuts[end], int(to[end])) for end in ends]
        last = Interval(None, int(to[-2]))
        return NumericSplit(self.feature.name, (*parts, last), int(to[-1]), children)


@dataclass(frozen=True)
class SetAxis:
    """The bins of a category or boolean feature.

    `place` [values] is the bin of each value, in the order of its categories (boolean: false,
    true); `unseen` that of other texts (booleans: unused).
    """

    feature: Feature
    place: Indices
    unseen: int
    size: int

    def bins(self, column: Column) -> Indices:
        """Return the bin of each of n values, [n]."""
        return np.where(column.missing, self.size - 1, self._by_code()[column.values])

    def _by_code(self) -> Indices:
        return np.append(self.place, self.unseen)  # unseen values have code -1

    def split(self, to: Indices, children: tuple[Node, ...]) -> SetSplit:
        """Return the split that sends each bin to child `to` [size]."""
        values: tuple[str | bool, ...] = self.feature.categories or (False, True)
        members: dict[int, list[str | bool]] = {}
        for value, child in zip(values, to[self.place].tolist(), strict=True):
            members.setdefault(child, []).append(value)
        groups = tuple(Group(tuple(found), child) for child, found in sorted(members.items()))
        unseen = None if self.feature.type == FeatureType.BOOLEAN else int(to[self.unseen])
        return SetSplit(self.feature.name, groups, int(to[-1]), children, unseen)


Axis = NumberAxis | SetAxis


def fit_axes(
    features: Sequence[Feature],
    typed: Mapping[str, Column],
    outcome: Floats,
    weights: Floats,
    rules: Iterable[Rules] = (),
) -> tuple[Axis, ...]:
    """Fit an axis for each feature that varies over the training rows, or that `rules` test.

    `outcome` [n, K] are the rows' labels as numbers (one column a class, or the value itself),
    `weights` [n] the rows' weights; categories are ordered by the first principal component of
    their mean outcomes.
    """
    found: list[Axis] = []
    for feature in features:
        column = typed[feature.name]
        kept = {t for tree in rules for t in tree.thresholds(feature)}
        used = any(feature in tree.used for tree in rules)
        axis: Axis
        if feature.type.numeric:
            axis = NumberAxis(feature, _cuts(feature, column, weights, kept))
        else:
            axis = _set_axis(feature, column, outcome, weights, every=used)
        if used or len(np.unique(axis.bins(column))) > 1:
            found.append(axis)
    return tuple(found)


def _cuts(
    feature: Feature, column: Column, weights: Floats, kept: Iterable[Threshold]
) -> tuple[Threshold, ...]:
    whole = feature.type == FeatureType.INTEGER
    present = column.values[~column.missing]
    values = np.unique(present)
    if len(values) > MOST_BINS:
        level = np.searchsorted(values, present)
        reached = np.cumsum(np.bincount(level, weights[~column.missing], len(values)))
        ranks = np.floor(np.linspace(0, max(0.0, reached[-1] - 1), MOST_BINS + 1)[1:-1])
        upper = np.unique(np.searchsorted(reached, ranks, side="right"))
    else:
        upper = np.arange(len(values))
    listed = values.tolist()
    cuts: set[Threshold] = set(kept)
    if whole:
        # x < t is x < ceil(t), and beyond the ends of int64 the same for all x.
        cuts = {t for t in map(math.ceil, kept) if INT64_MIN < t <= INT64_MAX}
    for i in upper[upper > 0]:
        cuts.add(_cut(listed[i - 1], listed[i], whole))
    return tuple(sorted(cuts))


def _cut(low: Threshold, high: Threshold, whole: bool) -> Threshold:
    """Return the shortest threshold between two neighbouring values."""
    if whole:
        cut: Threshold | None = whole_between(int(low), int(high))
        return high if cut is None else cut
    # An infinity lies beyond all doubles: any step away from its neighbour parts them.
    far = max(1.0, *(abs(x) for x in (low, high) if math.isfinite(x)), 0.0)
    low = max(float(low), min(-far, high - far), -LARGEST)
    high = min(float(high), max(far, low + far), LARGEST)
    between = shortest_between(low, high)
    return high if between is None else between


def _set_axis(
    feature: Feature, column: Column, outcome: Floats, weights: Floats, *, every: bool
) -> SetAxis:
    """Return the axis of a set feature; with `every`, no category is too rare for its own bin."""
    size = len(feature.categories) or 2
    code = np.where(column.missing, size, np.where(column.values < 0, size, column.values))
    weight = np.bincount(code, weights, size + 1)[:size]
    overall = np.average(outcome, axis=0, weights=weights)
    totals = np.stack([np.bincount(code, weights * y, size + 1)[:size] for y in outcome.T], axis=1)
    means = (totals + SMOOTHING * overall) / (weight + SMOOTHING)[:, None]
    score = _first_component(means - overall, weight)
    rare = min(RARE, max(1, weights.sum() // ROWS_OF_ONE))
    common = weight >= max(rare, np.sort(weight)[::-1][min(size, MOST_BINS) - 1])
    common |= every
    if feature.type == FeatureType.BOOLEAN:
        return SetAxis(feature, ranks(np.argsort(score, kind="stable")), 0, size + 1)
    # Rare and unseen categories stand at the overall mean.
    levels = np.append(np.flatnonzero(common), size)
    at = np.append(score[common], 0.0)
    order = np.argsort(at, kind="stable")
    place = np.empty(size + 1, np.intp)
    place[levels[order]] = np.arange(len(levels))
    place[:size][~common] = place[size]
    return SetAxis(feature, place[:size], int(place[size]), len(levels) + 1)


def _first_component(means: Floats, weight: Array) -> Floats:
    """Return the place of each level [V] on the axis of greatest spread of its means [V, K]."""
    _, _, directions = np.linalg.svd(means * np.sqrt(weight)[:, None], full_matrices=False)
    found: Floats = means @ directions[0]
    # The sign of a singular vector is arbitrary.
    return found if found[np.argmax(np.abs(found))] >= 0 else -found


def bins_of(
    axes: Sequence[Axis], typed: Mapping[str, Column], rows: int
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return the bins of n rows, [F, n], in the axes' order."""
    found = np.empty((len(axes), rows), np.min_scalar_type(max([1, *(a.size - 1 for a in axes)])))
    for i, axis in enumerate(axes):
        found[i] = axis.bins(typed[axis.feature.name])
    return found


def bin_table(rules: Rules, split: Split, axis: Axis) -> Indices:
    """Return the child that each bin of an axis goes to at a split of rules, [size].

    A bin whose values part ways at the split goes where its least does, or where unseen texts go.
    """
    if isinstance(axis, NumberAxis):
        assert isinstance(split, NumericSplit)
        least = -np.inf if axis.feature.type != FeatureType.INTEGER else -(2**63)
        whole = np.int64 if axis.feature.type == FeatureType.INTEGER else np.float64
        values = np.array([least, *axis.cuts, 0], whole)
    else:
        assert isinstance(split, SetSplit)
        values = np.full(axis.size, -1)
        for code, bin_ in reversed(list(enumerate(axis.place.tolist()))):
            values[bin_] = code
        if axis.feature.type != FeatureType.BOOLEAN:
            values[axis.unseen] = -1
    missing = np.zeros(axis.size, np.bool_)
    missing[-1] = True
    return branches(rules, split, Column(values, missing))
