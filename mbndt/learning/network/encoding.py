"""Raw columns to ordered scores and back.

The network sees each row as scores on a normal scale. A score column takes a raw value to a plain
number (a numeric column as it is, missing filled with the median; a set column by look-up: binary,
one-hot or target-encoded) and that number to a score by a rising, piecewise linear map through the
training quantiles (rank-Gauss). Scores lie on the grid of multiples of `GRID`, so the map is a step
function and its inverse is exact: `lowest` gives the very double at which a score is reached.

The encodings are those of the paper's experiments (preprocessing, section c); the map is linear in
the score between quantiles, where the experiments were linear in the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from mbndt.arrays import Array, Flags, Floats, Ints
from mbndt.rules import INT64_MAX, Feature, FeatureType, Threshold
from mbndt.tables.table import Column, Table

# Scores lie within ±5.2, so multiples of 2^-20 are exact in float32 as well.
GRID = 2.0**-20
TAILS = (1e-7, 1 - 1e-7)  # where the experiments clip ranks
SCORE_END = 5.199337582605575  # the normal quantile at the tails
QUANTILES = 1000
QUANTILE_ROWS = 10_000
ONE_HOT_LEVELS = 10


@dataclass(frozen=True)
class RankGauss:
    """A rising map from numbers to scores through knots, flat beyond the ends.

    The knots are `numbers` [k] and `scores` [k], both strictly rising.
    """

    numbers: Floats
    scores: Floats

    @classmethod
    def fit(cls, values: Floats, draw: np.random.Generator) -> RankGauss:
        """Fit on training values [n], all finite after clipping to the largest doubles.

        Values are jittered by N(0, (1e-4 / max(std, 1e-4))^2) first, which sends ties to the
        middle of their rank mass (the experiments' fit, whose jitter shrinks as std grows).
        """
        values = _clipped(values)
        if len(values) > QUANTILE_ROWS:
            values = draw.choice(values, QUANTILE_ROWS, replace=False)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(np.nan_to_num(np.std(values), nan=np.inf))
        jitter = 1e-4 / max(spread, 1e-4)
        count = max(2, min(QUANTILES, len(values)))
        ranks = np.linspace(0.0, 1.0, count)
        ordered = np.sort(values + draw.normal(0.0, jitter, len(values)))
        knots = np.interp(ranks * (len(ordered) - 1), np.arange(len(ordered)), ordered)
        normal = NormalDist()
        scores = np.array([normal.inv_cdf(p) for p in np.clip(ranks, *TAILS)])
        numbers, first = np.unique(knots, return_index=True)
        return cls(numbers, scores[first])

    def score(self, values: Floats) -> Floats:
        """Return the scores of numbers [n], multiples of `GRID`; never falls as a number rises."""
        if len(self.numbers) == 1:
            return np.zeros(len(values))
        x = np.clip(values, self.numbers[0], self.numbers[-1])
        i = np.clip(np.searchsorted(self.numbers, x, side="right") - 1, 0, len(self.numbers) - 2)
        low, high = self.scores[i], self.scores[i + 1]
        with np.errstate(over="ignore", invalid="ignore"):
            slope = (high - low) / (self.numbers[i + 1] - self.numbers[i])
            risen = low + np.nan_to_num((x - self.numbers[i]) * slope)
        # Each step of this sum is monotone in x; the bound keeps it so across the knots.
        return np.round(np.clip(risen, low, high) / GRID) * GRID


def _clipped(values: Floats) -> Floats:
    return np.clip(values, -np.finfo(np.float64).max, np.finfo(np.float64).max)


@dataclass(frozen=True)
class NumberColumn:
    """The score of a numeric feature; a missing value counts as `fill`."""

    feature: Feature
    fill: float
    ranks: RankGauss

    def numbers(self, column: Column) -> Floats:
        """Return the plain numbers of raw values, [n]."""
        return _filled(column, self.fill)

    def lowest(self, score: float) -> Threshold | None:
        """Return the least value whose score is at least `score`; None where no value's is.

        Found by bisection over the doubles (integers: int64) in their order, so exact.
        """
        integer = self.feature.type == FeatureType.INTEGER
        low, high = (-INT64_MAX - 1, INT64_MAX) if integer else (_key(-np.inf), _key(np.inf))

        def reached(places: list[int]) -> Flags:
            keys = np.array(places, np.int64)
            return (
                self.ranks.score(keys.astype(np.float64) if integer else _from_keys(keys)) >= score
            )

        if not reached([high])[0]:
            return None
        found = least(low, high, reached)
        return found if integer else float(_from_keys(np.array([found]))[0])

    def missing_score(self) -> float:
        """Return the score of a missing value."""
        return float(self.ranks.score(np.array([self.fill]))[0])


@dataclass(frozen=True)
class SetColumn:
    """A score of a category or boolean feature.

    `known` has the number of each category (boolean: false, true), `unseen` and `missing` those of
    other texts and of missing values.
    """

    feature: Feature
    known: Floats
    unseen: float
    missing: float
    ranks: RankGauss

    def numbers(self, column: Column) -> Floats:
        """Return the plain numbers of raw values, [n]."""
        return _looked_up(column, self.known, self.unseen, self.missing)

    def scores(self) -> tuple[Floats, float, float]:
        """Return the scores of the known values, of unseen ones, and of a missing one."""
        found = self.ranks.score(np.array([*self.known, self.unseen, self.missing]))
        return found[:-2], float(found[-2]), float(found[-1])


ScoreColumn = NumberColumn | SetColumn


def _filled(column: Column, fill: float) -> Floats:
    return np.where(column.missing, fill, column.values.astype(np.float64))


def _looked_up(column: Column, known: Floats, unseen: float, missing: float) -> Floats:
    table = np.append(known, unseen)  # UNSEEN is -1, the last place
    return np.where(column.missing, missing, table[column.values])


def least(low: int, high: int, holds: Callable[[list[int]], Flags]) -> int:
    """Return the least whole number in low..high for which a rising condition holds.

    It is given that it holds for `high`. Asks for some hundred places at a time, as one costs about
    as much.
    """
    while low < high:
        places = [*range(low, high, max(1, (high - low) // 256)), high]
        first = int(np.argmax(holds(places)))
        low, high = places[first - 1] + 1 if first else low, places[first]
    return low


def _key(x: float) -> int:
    """Return an integer that orders doubles as their values do."""
    bits = int(np.float64(x).view(np.int64))
    return bits if bits >= 0 else -(bits & INT64_MAX)


def _from_keys(keys: Ints) -> Floats:
    return np.asarray(np.copysign(np.abs(keys).view(np.float64), keys))


@dataclass(frozen=True)
class Encoder:
    """The score columns, in the network's order."""

    columns: tuple[ScoreColumn, ...]

    def encode(self, typed: Mapping[str, Column]) -> Floats:
        """Return the scores of n rows, [n, F]."""
        rows = len(next(iter(typed.values())).values) if typed else 0
        found = np.empty((rows, len(self.columns)))
        for j, column in enumerate(self.columns):
            found[:, j] = column.ranks.score(column.numbers(typed[column.feature.name]))
        return found


def typed_columns(table: Table, features: Sequence[Feature]) -> dict[str, Column]:
    """Return the typed columns of features, by name."""
    return {feature.name: table.typed(feature) for feature in features}


def fit_encoder(
    features: Sequence[Feature],
    typed: Mapping[str, Column],
    outcome: Floats,
    draw: np.random.Generator,
) -> tuple[Encoder, Floats]:
    """Fit the encoder on training rows; return it and their scores, [n, F].

    `outcome` [n] are class indices or values. The training scores of a target-encoded column leave
    the row's own outcome out, as in the experiments. Constant columns get no score.
    """
    columns: list[ScoreColumn] = []
    scores: list[Floats] = []
    for feature in features:
        column = typed[feature.name]
        if feature.type.numeric:
            fitted = _fit_number(feature, column, draw)
        else:
            fitted = _fit_set(feature, column, outcome, draw)
        for score_column, numbers in fitted:
            columns.append(score_column)
            scores.append(score_column.ranks.score(numbers))
    stacked = np.stack(scores, axis=1) if scores else np.empty((len(outcome), 0))
    return Encoder(tuple(columns)), stacked


Fitted = list[tuple[ScoreColumn, Floats]]


def _fit_number(feature: Feature, column: Column, draw: np.random.Generator) -> Fitted:
    present = _clipped(column.values[~column.missing].astype(np.float64))
    if len(present) == 0 or np.all(present == present[0]):
        return []
    ordered = np.sort(present)
    # Half of each middle value, as the sum of two huge ones would overflow.
    fill = float(ordered[(len(ordered) - 1) // 2] / 2 + ordered[len(ordered) // 2] / 2)
    numbers = _filled(column, fill)
    made = NumberColumn(feature, fill, RankGauss.fit(numbers, draw))
    return [(made, numbers)]


def _fit_set(
    feature: Feature, column: Column, outcome: Floats, draw: np.random.Generator
) -> Fitted:
    size = len(feature.categories) or 2
    present = column.values[~column.missing & (column.values >= 0)]
    seen = np.bincount(present, minlength=size) > 0
    if seen.sum() == 2:
        # Two values are one 0/1 column; a missing or unseen one counts as the median.
        known = np.where(np.arange(size) == np.flatnonzero(seen)[1], 1.0, 0.0)
        fill = float(np.median(known[present]))
        known[~seen] = fill
        return [_set_column(feature, known, fill, fill, column, draw)]
    levels = int(seen.sum()) + bool(column.missing.any())
    if levels < 2:
        return []
    if levels <= ONE_HOT_LEVELS:
        return _fit_one_hot(feature, column, seen, draw)
    return [_fit_target(feature, column, outcome, draw)]


def _set_column(
    feature: Feature,
    known: Floats,
    unseen: float,
    missing: float,
    column: Column,
    draw: np.random.Generator,
) -> tuple[ScoreColumn, Floats]:
    numbers = _looked_up(column, known, unseen, missing)
    return SetColumn(feature, known, unseen, missing, RankGauss.fit(numbers, draw)), numbers


def _fit_one_hot(
    feature: Feature, column: Column, seen: Array, draw: np.random.Generator
) -> Fitted:
    """Return a 0/1 column for each level seen in training, missing being a level of its own."""
    found = []
    for i in np.flatnonzero(seen):
        known = np.where(np.arange(len(seen)) == i, 1.0, 0.0)
        found.append(_set_column(feature, known, 0.0, 0.0, column, draw))
    if column.missing.any():
        found.append(_set_column(feature, np.zeros(len(seen)), 0.0, 1.0, column, draw))
    return found


def _fit_target(
    feature: Feature, column: Column, outcome: Floats, draw: np.random.Generator
) -> tuple[ScoreColumn, Floats]:
    """Return the column of mean outcomes by level; training rows leave themselves out."""
    size = len(feature.categories)
    level = np.where(column.missing, size, np.where(column.values < 0, size + 1, column.values))
    count = np.bincount(level, minlength=size + 2).astype(np.float64)
    total = np.bincount(level, weights=outcome, minlength=size + 2)
    overall = float(np.mean(outcome))
    means = np.divide(total, count, out=np.full(size + 2, overall), where=count > 0)
    others = count[level] - 1
    numbers = np.divide(
        total[level] - outcome, others, out=np.full(len(outcome), overall), where=others > 0
    )
    ranks = RankGauss.fit(numbers, draw)
    return SetColumn(feature, means[:size], overall, float(means[size]), ranks), numbers
