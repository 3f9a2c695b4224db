"""Types that sources declare for their columns: NumPy, pandas, polars, Arrow, DuckDB, SQLite.

A source's declared type says what a column is, whatever a sample of its values looks like: doubles
that happen to be whole are doubles. Columns without one (objects, lists) are told by their values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from mbndt.arrays import Array
from mbndt.rules import INT64_MAX, INT64_MIN, FeatureType

# The names of types in all these sources, in lower case; what a name means is the same in each.
_NAMES = {
    FeatureType.FLOAT32: r"float|real|float16|float32|half_?float",
    FeatureType.FLOAT64: r"double|float64|float96|float128"
    r"|decimal\w*\((precision=)?\d+, ?(scale=)?[1-9]\d*\)",
    FeatureType.INTEGER: r"u?int(8|16|32|64|128)?|u?(tiny|small|big|huge)int|u?integer"
    r"|decimal\w*\((precision=)?\d+, ?(scale=)?(0|-\d+)\)",
    FeatureType.BOOLEAN: r"bool|boolean",
    FeatureType.CATEGORY: r"(large_)?string(_view)?|str|varchar|json|category|categorical"
    r"|enum\b.*|dictionary<values=(large_)?string(_view)?,.*",
}
# Whole numbers of these types may be beyond 64 bits.
_WIDE = re.compile(r"uint64|ubigint|u?hugeint|u?int128|decimal.*")
_UNTYPED = re.compile(r"object|null|\"null\"", re.IGNORECASE)


def _plain(name: str) -> str:
    return name.removesuffix("[pyarrow]").casefold()


@lru_cache(maxsize=1024)
def kind_of(name: str) -> FeatureType | None:
    """Return the feature type that holds every value of a declared type; None where none does.

    >>> kind_of("DECIMAL(12,2)")
    <FeatureType.FLOAT64: 'float64'>
    """
    found = (kind for kind, names in _NAMES.items() if re.fullmatch(names, _plain(name)))
    return next(found, None)


def is_wide(name: str) -> bool:
    """Tell whether a declared type of whole numbers goes beyond 64 bits."""
    return kind_of(name) == FeatureType.INTEGER and bool(_WIDE.fullmatch(_plain(name)))


def declared_type(column: object) -> str | None:
    """Return the name of the type that a frame declares for its column; None where it has none."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if type(dtype).__name__ == "CategoricalDtype":  # of pandas; its labels may be numbers too
        texts = str(dtype.categories.dtype) in ("object", "str", "string")  # type: ignore[union-attr]
        return "category" if texts else None
    if type(dtype).__name__ == "SparseDtype":
        dtype = dtype.subtype  # type: ignore[union-attr]
    if dtype is None or (isinstance(dtype, np.dtype) and dtype.kind in "OU"):
        return None
    return None if _UNTYPED.fullmatch(str(dtype)) else str(dtype)


def fits_int64(values: Sequence[int]) -> bool:
    """Tell whether whole numbers are all 64-bit ones."""
    return min(values) >= INT64_MIN and max(values) <= INT64_MAX


def array_of(values: Sequence[Any], name: str | None) -> Array:
    """Return the values of a column of a declared type, [n].

    Floats as floats with NaN for a gap, whole numbers and booleans without gaps as they are, all
    else as objects.
    """
    kind = kind_of(name) if name else None
    types = set(map(type, values))
    if kind in (FeatureType.FLOAT64, FeatureType.FLOAT32):
        dtype = np.float32 if kind == FeatureType.FLOAT32 else np.float64
        gaps = {each for each in types if each.__name__ in ("NoneType", "NAType")}
        return np.array([np.nan if type(v) in gaps else float(v) for v in values], dtype)
    if (kind, *types) == (FeatureType.BOOLEAN, bool):
        return np.array(values, np.bool_)
    if (kind, *types) == (FeatureType.INTEGER, int) and fits_int64(values):
        return np.array(values, np.int64)
    array = np.empty(len(values), object)
    array[:] = values
    return array
