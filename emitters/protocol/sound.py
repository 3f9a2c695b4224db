"""Figures out of provenance, which is anybody's JSON: what isn't sound is None, and not printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

MOST = 1e300  # greater numbers are no measurements, and too large to format
Ends = tuple[float, float]
Estimate = tuple[float, Ends | None]


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a finite number that can be printed."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and -MOST <= value <= MOST  # type: ignore[operator]


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether a value is a number of rows."""
    return is_number(value) and isinstance(value, int) and value >= 0


def is_share(value: object) -> TypeGuard[float]:
    """Tell whether a value is a share of a whole."""
    return is_number(value) and 0 <= value <= 1


def counts(value: object, length: int) -> list[int] | None:
    """Return so many counts."""
    found = _list(value, length)
    return found if found is not None and all(map(is_count, found)) else None


def table(value: object, rows: int, columns: int) -> list[list[int]] | None:
    """Return a table of counts [rows, columns]."""
    found = [counts(row, columns) for row in _list(value, rows) or ()]
    whole = [row for row in found if row is not None]
    return whole if len(whole) == rows else None


def ends(value: object, least: float = 0.0, greatest: float = 1.0) -> Ends | None:
    """Return the two ends of an interval within limits; those of a share where none are given."""
    found = _list(value, 2)
    if found is None or not all(map(is_number, found)):
        return None
    low, high = found
    return (low, high) if least <= low <= high <= greatest else None


def estimate(value: object, least: float = 0.0, greatest: float = 1.0) -> Estimate | None:
    """Return a figure and its interval (None where it isn't told, or doesn't hold the figure)."""
    found = _list(value, 3)
    if found is None or not is_number(found[0]) or not least <= found[0] <= greatest:
        return None
    around = ends(found[1:], least, greatest)
    if around is not None and not around[0] <= found[0] <= around[1]:
        around = None
    return float(found[0]), around


def shares(listed: list[Any]) -> list[float] | None:
    """Return values that are shares of one whole."""
    sane = all(map(is_share, listed)) and math.isclose(sum(listed), 1, rel_tol=1e-6)
    return listed if sane else None


def _list(value: object, length: int) -> list[Any] | None:
    sound = isinstance(value, (list, tuple)) and len(value) == length
    return list(value) if sound else None  # type: ignore[call-overload]
