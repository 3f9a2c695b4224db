"""How well a number tells rows of an event from others: the area under the ROC curve."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from mbndt.arrays import Flags, Floats

Measured = list[float]


def area(event: Flags, number: Floats, level: float = 0.95) -> Measured | None:
    """Return the area under the ROC curve of numbers [n], with its interval; None for one class.

    The interval is DeLong's (DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988) on the logit
    scale, so that it stays within 0 to 1. Where the numbers part the classes wholly, or nothing
    varies, Hanley and McNeil's rule (Radiology 143, 1982) at half a pair less gives the width.
    """
    ill, well = number[event], number[~event]
    if not len(ill) or not len(well):
        return None
    above = _shares_above(ill, well)
    below = _shares_above(-well, -ill)
    found = float(above.mean())
    variance = _variance(above) + _variance(below)
    middle = min(max(found, 0.5 / (len(ill) * len(well))), 1 - 0.5 / (len(ill) * len(well)))
    if variance <= 0:
        variance = _hanley(middle, len(ill), len(well))
    half = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(variance) / (middle * (1 - middle))
    logit = math.log(middle / (1 - middle))
    low, high = (1 / (1 + math.exp(-min(max(x, -700), 700))) for x in (logit - half, logit + half))
    return [found, min(low, found), max(high, found)]


def _shares_above(some: Floats, others: Floats) -> Floats:
    """Return for each number what share of others it is above, ties counting half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, some, side="left")
    upto = np.searchsorted(ordered, some, side="right")
    return np.asarray((below + upto) / 2 / len(others))


def _variance(shares: Floats) -> float:
    return float(np.var(shares, ddof=1) / len(shares)) if len(shares) > 1 else 0.0


def _hanley(a: float, ill: int, well: int) -> float:
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)
    spread = a * (1 - a) + (ill - 1) * (q1 - a * a) + (well - 1) * (q2 - a * a)
    return spread / (ill * well)
