"""How far a column has moved from what it was: the population stability index.

It sums (a - b) ln(a / b) over bins of shares b before and a after (Siddiqi, Credit Risk Scorecards,
2006: below 0.1 little, above 0.25 much). Few rows move it by chance: without any drift it is about
a chi-squared number of bins - 1 degrees of freedom, times 1/n + 1/m (Yurdakul 2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from mbndt.arrays import Floats, Ints

LITTLE, MUCH = 0.1, 0.25


def deciles(values: Floats) -> list[float]:
    """Return the finite cuts that part values [n] in tenths: fewer where many are the same."""
    if not len(values):
        return []
    found = np.unique(np.quantile(values, np.arange(1, 10) / 10, method="higher"))
    return [cut for cut in found.tolist() if cut > values.min() and math.isfinite(cut)]


def binned(values: Floats, cuts: Sequence[float]) -> Ints:
    """Return how many values [n] lie in each bin, [cuts + 1]; one at a cut is above it."""
    place = np.searchsorted(np.asarray(cuts, np.float64), values, side="right")
    return np.bincount(place, minlength=len(cuts) + 1).astype(np.int64)


def stability_index(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Return the index between two counts of the same bins; None where either counts nothing.

    Half a row is added to each bin, so that an empty one has a logarithm.
    """
    counts = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if not all(count.sum() for count in counts):
        return None
    old, new = ((count + 0.5) / (count.sum() + 0.5 * len(count)) for count in counts)
    return float(np.sum((new - old) * np.log(new / old)))


def by_chance(bins: int, before: float, after: float, level: float = 0.95) -> float:
    """Return what the index of so many bins and rows stays below where nothing has moved."""
    free = bins - 1
    if free < 1:
        return 0.0
    # The quantile of chi-squared by Wilson and Hilferty (1931).
    spread = 2 / (9 * free)
    cube = 1 - spread + NormalDist().inv_cdf(level) * math.sqrt(spread)
    return free * cube**3 * (1 / before + 1 / after)


def drift(before: Sequence[float], after: Sequence[float]) -> dict[str, object] | None:
    """Return the index between two counts of the same bins, and in a word what it says.

    The word is `none` where chance alone may have made it, else `little`, `some` or `much`.
    """
    index = stability_index(before, after)
    if index is None:
        return None
    chance = by_chance(len(before), sum(before), sum(after))
    word = "much" if index > MUCH else "some" if index > LITTLE else "little"
    return {"psi": index, "by_chance": chance, "drift": word if index > chance else "none"}
