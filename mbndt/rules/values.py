"""What one raw value means for a feature of each type: the scalar half of the contract.

`read_value` takes Python and NumPy values of a frame, `read_cell` the text of a CSV cell. Both
return a float, int, bool or text, or None for a missing value, and raise `DataError` (without a
place: the caller knows column and row) for a value of the wrong type. `branch_of` says which way a
value goes at a split.
"""

from __future__ import annotations

import math
import numbers
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias, assert_never

from mbndt.errors import DataError, shown
from mbndt.rules.csv_rows import is_gap, with_point
from mbndt.rules.nodes import FeatureType, NumericSplit, SetSplit, Split

Value: TypeAlias = float | int | bool | str | None

EXPECTED = {
    FeatureType.FLOAT64: "a number",
    FeatureType.FLOAT32: "a number",
    FeatureType.INTEGER: "a 64-bit whole number",
    FeatureType.BOOLEAN: "false or true",
    FeatureType.CATEGORY: "text",
}
# PostgreSQL writes booleans as t and f.
TRUTHS = {"true": True, "false": False, "1": True, "0": False, "t": True, "f": False}
MARKS = {".": "point", ",": "comma"}


def to_float32(x: float) -> float:
    """Return the float32 nearest to a double, ties to even; out of range becomes infinite.

    >>> to_float32(0.1)
    0.10000000149011612
    """
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def float32_above(t: float) -> float:
    """Return the smallest float32 that is >= t.

    `x < t` and `x < float32_above(t)` are the same for every float32 x.
    """
    near = to_float32(t)
    return near if near >= t else float32_step(near, up=True)


def float32_step(x: float, *, up: bool) -> float:
    """Return the float32 next to the float32 x."""
    if x == 0.0:
        return math.copysign(2.0**-149, 1.0 if up else -1.0)
    (bits,) = struct.unpack("<i", struct.pack("<f", x))
    bits += 1 if (bits >= 0) == up else -1
    return float(struct.unpack("<f", struct.pack("<i", bits))[0])


def label_text(label: object) -> str:
    """Return a class or a number as text.

    Booleans as true and false, doubles in their shortest form.
    """
    return str(label).lower() if isinstance(label, bool) else str(label)


def is_missing(value: object) -> bool:
    """Tell whether a frame's value is missing: None, any NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, numbers.Number) and bool(value != value)


def read_value(kind: FeatureType, value: object) -> Value:
    """Return the value of a frame's cell, None where it is missing; raises `DataError`."""
    if is_missing(value):
        return None
    read = _READERS[kind](value)
    if read is None:
        raise wrong_value(kind, value)
    return None if read == "" else read


def read_cell(kind: FeatureType, text: str, decimal: str = ".") -> Value:
    """Return the value of a CSV cell, None where it is missing; raises `DataError`.

    `decimal` is the decimal mark of numbers: a point, or a comma.
    """
    if kind == FeatureType.CATEGORY:
        return text or None
    text = text.strip()
    if not text or is_gap(text):
        return None
    try:
        return TRUTHS[text.lower()] if kind == FeatureType.BOOLEAN else _cell(kind, text, decimal)
    except (KeyError, ValueError, ArithmeticError):
        error = wrong_value(kind, text)
        if kind != FeatureType.BOOLEAN and "," in text + decimal:
            raise DataError(f"{error} with a decimal {MARKS[decimal]} (`decimal`)") from None
        raise error from None


def _cell(kind: FeatureType, text: str, decimal: str) -> float | int | None:
    if "_" in text or not text.isascii():  # Python's digits are more than a CSV's
        raise ValueError(text)
    text = with_point(text, decimal)
    number = float(text)
    if math.isnan(number):
        return None
    if kind == FeatureType.INTEGER:
        # Through Decimal, as 9007199254740993.0 is whole and no double.
        value = None if math.isinf(number) else _integer(Decimal(text))
        if value is None:
            raise ValueError(text)
        return value
    return number if kind == FeatureType.FLOAT64 else to_float32(number)


def branch_of(split: Split, value: Value) -> int:
    """Return the index of the child that a value goes to at a split."""
    if value is None:
        return split.missing
    match split:
        case NumericSplit():
            assert not isinstance(value, str)
            for interval in split.intervals:
                if interval.below is None or value < interval.below:
                    return interval.to
            raise AssertionError("the last interval takes all")
        case SetSplit():
            for group in split.groups:
                if value in group.values:
                    return group.to
            assert split.unseen is not None
            return split.unseen
        case _:
            assert_never(split)


def wrong_value(kind: FeatureType, value: object) -> DataError:
    """Return the error for a value of the wrong type; the caller names the place."""
    return DataError(f"got {shown(_plain(value))}, expected {EXPECTED[kind]}")


def _plain(value: object) -> object:
    scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return value.item() if scalar and hasattr(value, "item") else value


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_number(value: object) -> bool:
    # NumPy counts its booleans as no numbers, but its durations as integers.
    duration = type(value).__name__ == "timedelta64"
    return isinstance(value, (numbers.Real, Decimal)) and not _is_bool(value) and not duration


def _float(value: Any) -> float | None:
    try:
        return float(value) if _is_number(value) else None
    except OverflowError:
        return None


def _float32(value: object) -> float | None:
    number = _float(value)
    return None if number is None else to_float32(number)


def _integer(value: Any) -> int | None:
    if not _is_number(value):
        return None
    if isinstance(value, numbers.Integral):
        value = int(value)  # NumPy's would be compared as doubles
    return int(value) if -(2**63) <= value < 2**63 and value == math.floor(value) else None


def _boolean(value: object) -> bool | None:
    if _is_bool(value) or _is_number(value):
        return bool(value) if value in (0, 1) else None
    return None


def _category(value: object) -> str | None:
    return str(value) if isinstance(value, str) else None


_READERS: dict[FeatureType, Callable[[object], Value]] = {
    FeatureType.FLOAT64: _float,
    FeatureType.FLOAT32: _float32,
    FeatureType.INTEGER: _integer,
    FeatureType.BOOLEAN: _boolean,
    FeatureType.CATEGORY: _category,
}
