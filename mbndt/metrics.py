"""Measures of rules: accuracy with intervals, leaves, path length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.rules import Leaf, NumericSplit, Rules, walk

Codes = npt.NDArray[np.int64]


def balanced_accuracy(expected: Codes, got: Codes) -> float:
    """Return the mean over the classes present of the share of rows [n] told right."""
    rates = [float(np.mean(got[expected == c] == c)) for c in np.unique(expected)]
    return math.fsum(rates) / len(rates)


def wilson(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a share (Wilson 1927).

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share, scale = hits / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def balanced_interval(expected: Codes, got: Codes, level: float = 0.95) -> tuple[float, float]:
    """Return an interval of the balanced accuracy: the classes' Wilson half-widths, combined as
    independent errors on either side.
    """
    classes = np.unique(expected)
    middle = balanced_accuracy(expected, got)
    squares = [0.0, 0.0]
    for c in classes:
        right = got[expected == c] == c
        share = float(np.mean(right))
        low, high = wilson(int(right.sum()), len(right), level)
        squares = [squares[0] + (share - low) ** 2, squares[1] + (high - share) ** 2]
    down, up = (math.sqrt(s) / len(classes) for s in squares)
    return max(0.0, middle - down), min(1.0, middle + up)


def squared_error_figures(
    expected: npt.NDArray[np.float64], got: npt.NDArray[np.float64], level: float = 0.95
) -> dict[str, Any]:
    """Return the figures of a regression: R squared, mean absolute error, root mean squared error,
    and the latter's interval by the normal approximation to the mean of the squares.
    """
    scale = float(np.max(np.abs(expected), initial=0.0)) or 1.0
    squares = ((expected - got) / scale) ** 2
    spread = float(np.var(expected / scale))
    mean = float(np.mean(squares))
    half = NormalDist().inv_cdf(0.5 + level / 2) * float(np.std(squares)) / math.sqrt(len(squares))
    return {
        "r2": 1 - mean / spread if spread > 0 else None,
        "mae": float(np.mean(np.abs(expected - got))),
        "rmse": scale * math.sqrt(mean),
        "rmse_95": [scale * math.sqrt(max(0.0, mean - half)), scale * math.sqrt(mean + half)],
    }


def path_lengths(rules: Rules) -> npt.NDArray[np.int64]:
    """Return each leaf's splits on its path, [L], of those with two or more children."""
    splits_at = {"root": 0}
    found = []
    for path, _, node in walk(rules.root):
        above = splits_at.pop(path)
        if isinstance(node, Leaf):
            found.append(above)
            continue
        for i in range(len(node.children)):
            splits_at[f"{path}.children[{i}]"] = above + (len(node.children) > 1)
    return np.array(found, np.int64)


def sizes(rules: Rules) -> Mapping[str, int]:
    """Return counts that say how large rules are: leaves, splits, thresholds, features used."""
    return {
        "leaves": len(rules.leaves),
        "splits": len(rules.splits),
        "thresholds": sum(len(s.thresholds) for s in rules.splits if isinstance(s, NumericSplit)),
        "features used": len(rules.used),
    }
