"""A value that stands apart at an end of a numeric column, as codes for "not measured" do.

Three kinds are told from ordinary tails by how far they lie from all other values, beside the
middle half of these, their reach, and the widest gap in the nearer half of them: a repeated 0 below
positive numbers, a code of nines or minus one, and any value from which the others are but a spot.
The bounds were chosen on the tables of the benchmarks; a tail that itself has wide gaps is none of
them.
"""

from __future__ import annotations

import numpy as np

from mbndt.arrays import Floats

OF_ZERO = 0.5, 3.0  # least gap, in middle halves, and in widest gaps of the others
OF_CODE = 1.0, 3.0
ANY_REACH = 4.0  # least gap of any value, in reaches of the others
COMPACT = 8.0  # most reach of the others then, in middle halves
LEAST_OTHERS = 50


def apart(values: Floats) -> tuple[float, int, float, float] | None:
    """Return a value of a column [n] that stands apart, its count, and the ends of the others.

    None where there is none; all values are finite.
    """
    rising = np.sort(values)
    if not len(rising):
        return None
    for end, upwards in ((0, -rising[::-1]), (-1, rising)):
        value = float(rising[end])
        count = int(np.count_nonzero(rising == value))
        with np.errstate(over="ignore", invalid="ignore"):  # of values near the greatest double
            far = _stands_apart(upwards, value, count)
        if far:
            others = rising[rising != value]
            return value, count, float(others[0]), float(others[-1])
    return None


def _stands_apart(upwards: Floats, value: float, count: int) -> bool:
    """Tell whether the greatest of rising numbers [n], `value` or its negative, stands apart."""
    others = upwards[: len(upwards) - count]
    if len(others) < LEAST_OTHERS or others[0] == others[-1]:
        return False
    gap, reach = upwards[-1] - others[-1], others[-1] - others[0]
    low, middle, high = np.quantile(others, [0.25, 0.5, 0.75])
    steps = np.diff(np.unique(others))
    near = np.diff(np.unique(others[others >= middle]))
    widest = max(float(steps.min()), float(near.max(initial=0)))
    far = gap / (high - low) if high > low else np.inf
    lonely = gap / widest

    def beyond(least: tuple[float, float]) -> bool:
        return bool(far >= least[0] and lonely >= least[1])

    if value == 0 and count > 1 and beyond(OF_ZERO):
        return True
    if (value == -1 or _of_nines(value)) and beyond(OF_CODE):
        return True
    return bool(gap >= ANY_REACH * reach and reach <= COMPACT * (high - low))


def _of_nines(value: float) -> bool:
    """Tell whether a number is 99, 999, …, or the negative of one."""
    digits = f"{abs(value):.0f}"
    return abs(value) == float(digits) and len(digits) > 1 and set(digits) == {"9"}
