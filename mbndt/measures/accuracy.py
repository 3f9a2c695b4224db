"""Measures of accuracy, with intervals: of classes told right, and of squared errors."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from mbndt.arrays import Floats, Ints
from mbndt.measures.confidence import wilson


def balanced_accuracy(expected: Ints, got: Ints) -> float:
    """Return the mean over the classes present of the share of rows [n] told right."""
    rates = [float(np.mean(got[expected == c] == c)) for c in np.unique(expected)]
    return math.fsum(rates) / len(rates)


def balanced_interval(expected: Ints, got: Ints, level: float = 0.95) -> tuple[float, float]:
    """Return an interval of the balanced accuracy.

    It has the classes' Wilson half-widths, combined as independent errors on either side.
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


def squared_error_figures(expected: Floats, got: Floats, level: float = 0.95) -> dict[str, Any]:
    """Return a regression's figures: R squared, mean absolute and root mean squared error.

    The latter has an interval by the normal approximation to the mean of the squares.
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
