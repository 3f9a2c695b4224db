"""Intervals of shares: how sure a count of hits makes one of a rate."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a share (Wilson 1927).

    >>> [round(end, 4) for end in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share, scale = hits / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    # None and all have an end in themselves, which rounding would miss.
    low = max(0.0, middle - half) if hits else 0.0
    return low, min(1.0, middle + half) if hits < n else 1.0


def rule_of_three(n: int) -> float:
    """Return the upper 95 % end of a share of which n cases showed none.

    Hanley and Lippman-Hand 1983.
    """
    return min(1.0, 3 / n)
