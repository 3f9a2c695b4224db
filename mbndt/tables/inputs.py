"""What scikit-learn's users hand over: arrays, frames, lists of rows, and labels' weights.

A frame's columns are matched by name and may be more than were learned from; those of an array,
which has no names, by position, and must be as many. The words are scikit-learn's own.
"""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbndt.arrays import Array, Floats
from mbndt.errors import DataError, OptionError, nearest, shown, warn
from mbndt.tables.table import Table, distinct, frame_keys, is_categorical, plain_numbers


def names_of(data: Any) -> list[str] | None:
    """Return the names of a frame's columns; None for what has none.

    As an array, or a frame made of one, whose columns are merely counted.
    """
    if isinstance(data, Table | Mapping):
        keys = [*(data.columns if isinstance(data, Table) else data)]
    else:
        keys = frame_keys(data) or []
    counted = all(type(key) is int for key in keys) and keys == [*range(len(keys))]
    return None if counted else [str(key) if isinstance(key, int) else key for key in keys]


def columns_of(data: Any) -> Table:
    """Return a frame, a 2-D array or a list of rows as a table; raises `DataError`.

    In a list of rows each column keeps its own type, but numbers alone are taken as NumPy does.
    """
    if isinstance(data, list | tuple):
        data = _array_of(data)
    elif not isinstance(data, Table | Mapping) and not hasattr(data, "columns"):
        if hasattr(type(data), "tocsr"):
            raise DataError(
                f"X: got a sparse {type(data).__name__}, expected a frame or a dense"
                " array: X.toarray()"
            )
        data = np.asarray(data) if hasattr(data, "__array__") else data
    if isinstance(data, np.ndarray):
        _check_array(data)
    table = Table.of(data)
    if not table.columns:
        raise DataError(
            f"X: 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required."
        )
    return table


def _array_of(rows: Sequence[Any]) -> Array:
    """Return rows as a 2-D array: numbers alone as NumPy has them, all else as objects."""
    if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
        if any(np.ndim(row) or isinstance(row, Mapping) for row in rows):
            raise DataError("X: expected rows that are lists of values; hand over a frame")
        return np.array(rows, object)
    lengths = [len(row) for row in rows]
    for i, length in enumerate(lengths):
        if length != lengths[0]:
            raise DataError(f"X: row {i + 1} has {length} values, expected {lengths[0]}")
    found = np.empty((len(rows), lengths[0] if lengths else 0), object)
    for i, row in enumerate(rows):
        found[i] = row.tolist() if isinstance(row, np.ndarray) else list(row)
    kinds = {type(value) for value in found.flat}
    numeric = all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds)
    return np.array(found.tolist()) if numeric else found


def _check_array(array: Array) -> None:
    if array.ndim != 2:
        raise DataError(
            f"X: Expected 2D array, got {array.ndim}D array instead. Reshape your data"
            " either using array.reshape(-1, 1) if your data has a single feature or"
            " array.reshape(1, -1) if it contains a single sample."
        )
    if array.dtype.kind == "c":
        raise DataError("X: Complex data not supported")
    if array.dtype.kind != "U":
        return
    told = [f"x{i}" for i, column in enumerate(array.T) if _numbers_as_text(column.tolist())]
    if told:
        more = "" if len(told) == 1 else f" and {len(told) - 1} more columns"
        warn(
            f"X: {told[0]}{more}: numbers that NumPy made texts of, as others are, and so"
            " categories; hand over a frame, a list of rows, or dtype=object"
        )


def _numbers_as_text(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell not in ("", "nan", "None")]
    return bool(filled) and plain_numbers(filled, float) is not None


def matched(data: Any, own: Sequence[str], named: bool, kind: str) -> Table:
    """Return the table of rows to answer, with its columns named as those learned from, `own` [F].

    `named` says that they have names of their own; `kind` is the estimator's. Raises `DataError`
    for columns that lack or are too many, and warns as scikit-learn does where only one side has
    names.
    """
    names = names_of(data)
    table = columns_of(data)
    if named and names is not None:
        _check_names(names, own)
        return table
    if len(table.columns) != len(own):
        raise DataError(
            f"X has {len(table.columns)} features, but {kind} is expecting {len(own)}"
            " features as input."
        )
    if named:
        warnings.warn(
            f"X does not have valid feature names, but {kind} was fitted with feature names",
            stacklevel=5,
        )
    elif names is not None:
        warnings.warn(
            f"X has feature names, but {kind} was fitted without feature names", stacklevel=5
        )
    if table.columns.keys() == set(own):
        return table
    return Table(dict(zip(own, table.columns.values(), strict=True)), table.n_rows)


def _check_names(names: Sequence[str], own: Sequence[str]) -> None:
    lacking = [name for name in own if name not in set(names)]
    if not lacking:
        return
    unseen = [name for name in names if name not in set(own)]
    told = f"Feature names seen at fit time, yet now missing: {_listed(lacking)}"
    if unseen:
        told += f"; feature names unseen at fit time: {_listed(unseen)}"
    raise DataError(
        "The feature names should match those that were passed during fit. "
        f"{told}{nearest(lacking[0], unseen) if unseen else ''}"
    )


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(shown(name) for name in names[:5])
    return some if len(names) <= 5 else f"{some} and {len(names) - 5} more"


def plain_labels(y: Any, kind: str) -> Any:
    """Return targets in their own types; raises `DataError` where there are none."""
    if y is None:
        raise DataError(f"{kind} requires y to be passed, but the target y is None")
    # The labels of pandas' categories are what they were, not texts.
    return y.astype(object) if is_categorical(y) else iterable(y)


def iterable(values: Any) -> Any:
    """Return values [n] as an array where they are neither one nor a column otherwise."""
    return values if hasattr(values, "__iter__") else np.asarray(values)


def class_factors(labels: Any, weights: Mapping[Any, float]) -> Floats:
    """Return each row's factor [n] by its label [n]; 1 for labels that `weights` lacks.

    Raises `OptionError` for a label that no row has, and for a weight that isn't above 0.
    """
    found, codes = distinct(labels)
    for label, weight in weights.items():
        if label not in found:
            choices = nearest(str(label), map(str, found))
            raise OptionError(
                f"class_weight: got the label {shown(label)}, which no row has{choices}"
            )
        if not isinstance(weight, numbers.Real) or not 0 < weight < math.inf:
            raise OptionError(
                f"class_weight: got {shown(weight)} for {shown(label)}, expected a"
                " finite number above 0"
            )
    return np.array([weights.get(label, 1.0) for label in found], np.float64)[codes]
