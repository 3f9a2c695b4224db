"""Tables of raw columns: taken from frames, and typed on demand for a feature.

A `Table` holds columns as they came (a CSV's texts, or a frame's arrays). `Table.typed` reads one
column as a feature's type by the contract of `values.py`, each different value once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from mbndt.arrays import Array, Flags, Indices
from mbndt.errors import DataError, nearest, shown, warn
from mbndt.rules import INT64_MAX, Feature, FeatureType
from mbndt.rules.csv_rows import gap_counts, is_gap, with_point
from mbndt.rules.values import Value, is_missing, read_cell, read_value
from mbndt.tables.declared import array_of, declared_type, kind_of

UNSEEN = -1


class Categories(np.ndarray[Any, np.dtype[Any]]):
    """A column of pandas' categories, by their labels [n], which may be numbers."""


@dataclass(frozen=True)
class Column:
    """A typed column of n rows, as `stored` [n].

    float64 and float32: doubles; integer: int64; boolean: 0 or 1; category: the index in the
    feature's categories, `UNSEEN` for any other text.

    `gaps` [n] are the rows where the value is missing and means nothing; None, where it is NaN.
    `single` says that the doubles are yet to be rounded to float32.
    """

    stored: Array
    gaps: Flags | None = None
    single: bool = False

    @cached_property
    def narrow(self) -> Array:
        """Return the values in their own type, float32 where they are rounded to it, [n]."""
        if not self.single:
            return self.stored
        with np.errstate(over="ignore"):
            return self.stored.astype(np.float32)

    @cached_property
    def values(self) -> Array:
        """Return the values, rounded ones as doubles too, [n]."""
        return self.narrow.astype(np.float64) if self.single else self.stored

    @cached_property
    def missing(self) -> Flags:
        """Tell where the value is missing, [n]."""
        return np.isnan(self.narrow) if self.gaps is None else self.gaps

    @cached_property
    def some_missing(self) -> bool:
        """Tell whether any value is missing."""
        return bool(self.missing.any())

    def take(self, rows: Indices) -> Column:
        """Return the values of some rows."""
        gaps = None if self.gaps is None else self.gaps.take(rows)
        return Column(self.stored.take(rows), gaps, self.single)


@dataclass(frozen=True)
class Table:
    """Named columns of equal length. `text` says that cells are a CSV's texts, and `decimal` with
    what mark their numbers are written; `row_numbers` has the rows' numbers in the source, counted
    from 1, where they aren't all there (None). `declared` has the types that the source declares
    for columns, `row_index` the columns that came from the row index of a frame. Raises `DataError`
    for columns of another length.
    """

    columns: Mapping[str, Sequence[Any] | Array]
    n_rows: int
    text: bool = False
    source: str = "data"
    row_numbers: Indices | None = None
    declared: Mapping[str, str] = field(default_factory=dict)
    row_index: tuple[str, ...] = ()
    decimal: str = "."

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if len(column) != self.n_rows:
                raise DataError(
                    f"{self.source}: column {shown(name)} has {len(column)} rows,"
                    f" expected {self.n_rows}"
                )

    @classmethod
    def of(cls, data: object, only: Collection[str] = ()) -> Table:
        """Take a table, a frame, a mapping of columns, or a 2-D array.

        Frames are those of pandas and polars, and Arrow tables.

        The columns of an array are named `x0`, `x1`, … Where all of `only` are there, others may be
        left out. Raises `DataError` for anything else, repeated names, and columns of unequal
        length.
        """
        if isinstance(data, Table):
            return data
        if isinstance(data, np.ndarray) and data.ndim == 2:
            columns = {f"x{i}": data[:, i] for i in range(data.shape[1])}
            return cls(columns, len(data))
        keys = _column_keys(data)
        # pandas numbers the columns of a frame made from an array.
        names = [str(key) if isinstance(key, int) else key for key in keys]
        check_names(names, "data")
        pairs = dict(zip(names, keys, strict=True))
        # To hand out a column takes a frame longer than to route it.
        wanted = only if only and pairs.keys() >= set(only) else names
        found = {name: data[pairs[name]] for name in wanted}  # type: ignore[index]
        columns = {name: as_array(column) for name, column in found.items()}
        types = {name: declared_type(column) for name, column in found.items()}
        declared = {name: kind for name, kind in types.items() if kind is not None}
        rows = len(next(iter(columns.values()), data))  # type: ignore[arg-type]
        return cls(columns, rows, declared=declared)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def take(self, index: Indices | Flags) -> Table:
        """Return the rows at `index`: positions, or a mask of all rows."""
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        columns: dict[str, Array] = {n: as_array(c)[index] for n, c in self.columns.items()}
        numbers = index + 1 if self.row_numbers is None else self.row_numbers[index]
        return replace(self, columns=columns, n_rows=len(index), row_numbers=numbers)

    def without(self, names: Sequence[str]) -> Table:
        """Return the table without the named columns; raises `DataError` for an unknown one."""
        for name in names:
            self._check_has(name)
        kept = {name: column for name, column in self.columns.items() if name not in names}
        return replace(self, columns=kept)

    def _check_has(self, name: str) -> None:
        if name not in self.columns:
            raise DataError(f"{self.source}: no column {shown(name)}{nearest(name, self.columns)}")

    def column(self, name: str) -> Sequence[Any] | Array:
        """Return a column as it came.

        Raises `DataError` that names a missing one, and one whose declared type no feature can
        hold.
        """
        self._check_has(name)
        declared = self.declared.get(name)
        if declared is not None and kind_of(declared) is None:
            raise DataError(
                f"{self.source}: column {shown(name)} has the type {shown(declared)},"
                " expected numbers, texts or booleans; convert it, or leave it out"
                " (`exclude`)"
            )
        return self.columns[name]

    def records(self, features: Sequence[Feature]) -> Iterator[dict[str, object]]:
        """Yield each row as a mapping from the features' names to values, None where missing."""
        columns = []
        for feature in features:
            raw = self.column(feature.name)
            if self.text:
                raw = [self.value(feature.type, cell) for cell in raw]
            elif feature.type == FeatureType.CATEGORY and isinstance(raw, Categories):
                raw = _texts(raw)
            columns.append(raw.tolist() if isinstance(raw, np.ndarray) else raw)
        names = [feature.name for feature in features]
        for i in range(self.n_rows):
            yield {name: column[i] for name, column in zip(names, columns, strict=True)}

    def typed(self, feature: Feature) -> Column:
        """Read the feature's column; raises `DataError` that names column, row and value."""
        raw = self.column(feature.name)
        quick = self._quick_text(feature) if self.text else _quick_array(feature, raw)
        if quick is not None:
            return quick
        found, codes = self.distinct(feature.name, feature.type)
        return _column(feature, found).take(codes)

    def _quick_text(self, feature: Feature) -> Column | None:
        """Read a whole column of texts if it can be; tell of marks that count as missing."""
        cells = self.column(feature.name)
        quick = _quick_text(feature, cells, {""}, self.decimal)
        if quick is not None or feature.type == FeatureType.CATEGORY:
            return quick
        gaps = {cell for cell in set(cells) if is_gap(cell)}
        if not gaps:
            return None
        if listed := gap_counts(cells):
            warn(
                f"{self.source}: column {shown(feature.name)}: cells read as missing:"
                f" {', '.join(listed)}"
            )
        return _quick_text(feature, cells, gaps | {""}, self.decimal)

    def value(self, kind: FeatureType, cell: Any) -> Value:
        """Return a cell's value, None where it is missing; raises `DataError` without a place."""
        return read_cell(kind, cell, self.decimal) if self.text else read_value(kind, cell)

    def distinct(self, name: str, kind: FeatureType) -> tuple[list[Value], Indices]:
        """Return the values of the column's different cells, and each row's index among them, [n].

        In order of appearance. Raises `DataError` that names column, row and value.
        """
        column = self.column(name)
        raw, codes = distinct(column)
        if kind == FeatureType.CATEGORY and isinstance(column, Categories):
            raw = _texts(raw)
        found: list[Value] = []
        for value in raw:
            try:
                found.append(self.value(kind, value))
            except DataError as error:
                row = int(np.argmax(codes == len(found))) + 1
                raise self.misfit(name, row, error) from None
        return found, codes

    def misfit(self, name: str, row: int, error: DataError) -> DataError:
        """Return `error` with its place: source, column, and the row's number in the source."""
        row = row if self.row_numbers is None else int(self.row_numbers[row - 1])
        return DataError(f"{self.source}: column {shown(name)}, row {row}: {error}")


def _column(feature: Feature, values: list[Any]) -> Column:
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    match feature.type:
        case FeatureType.FLOAT64 | FeatureType.FLOAT32:
            array = np.array([np.nan if value is None else value for value in values], np.float64)
        case FeatureType.CATEGORY:
            codes = {category: i for i, category in enumerate(feature.categories)}
            array = np.array([codes.get(value, UNSEEN) for value in values], np.int64)
        case FeatureType.INTEGER | FeatureType.BOOLEAN:
            array = np.array([0 if value is None else value for value in values], np.int64)
    return Column(array, missing)


def distinct(column: Sequence[Any] | Array) -> tuple[list[Any], Indices]:
    """Return a raw column's different values, and each row's index among them, [n].

    Values stand in order of appearance; equal values of different types differ.
    """
    plain = isinstance(column, np.ndarray) and column.dtype.kind in "fiubOU"
    cells: list[Any] = column.tolist() if plain else list(column)  # type: ignore[union-attr]
    place: defaultdict[Any, int] = defaultdict(count().__next__)
    types = set(map(type, cells))
    keys = cells if len(types) == 1 else zip(map(type, cells), cells, strict=True)
    try:
        codes = np.fromiter(map(place.__getitem__, keys), np.intp, len(cells))
    except TypeError:  # a value without a hash
        return cells, np.arange(len(cells))
    return [*place] if len(types) == 1 else [value for _, value in place], codes


def floats(column: Sequence[Any] | Array) -> Sequence[Any] | Array:
    """Return an object column of floats and None alone as doubles, NaN for None; else as it is."""
    if not isinstance(column, np.ndarray) or column.dtype != object:
        return column
    return column.astype(np.float64) if set(map(type, column)) <= {float, type(None)} else column


def plain_numbers(cells: Iterable[str], read: type[float] | type[int]) -> Array | None:
    """Return the numbers of plain decimal texts, [n]; None where any cell is something else."""
    cells = [*cells]
    together = "\n".join(cells)
    if "_" in together or not together.isascii():
        return None
    dtype = np.int64 if read is int else np.float64
    try:
        return np.fromiter(map(read, cells), dtype, len(cells))
    except (ValueError, OverflowError):
        return None


def _quick_text(
    feature: Feature, cells: Sequence[str] | Array, gaps: Set[str], decimal: str
) -> Column | None:
    """Read whole columns of plain decimal texts; None leaves the rest to `read_cell`."""
    if not feature.type.numeric:
        return None
    missing = np.fromiter(map(gaps.__contains__, cells), np.bool_, len(cells))
    filled = ["0" if cell in gaps else cell for cell in cells] if missing.any() else cells
    if decimal != ".":
        filled = [with_point(cell, decimal) for cell in filled]
    if feature.type == FeatureType.INTEGER:
        values = plain_numbers(filled, int)
        return None if values is None else Column(values, missing)
    values = plain_numbers(filled, float)
    if values is None:
        return None
    values[missing] = np.nan
    return Column(values, None, feature.type == FeatureType.FLOAT32)


def _quick_array(feature: Feature, raw: Sequence[Any] | Array) -> Column | None:
    """Read arrays of numbers whole; None leaves the rest to `read_value`."""
    raw = floats(raw)
    if not isinstance(raw, np.ndarray) or raw.dtype.kind not in "fiub":
        return None
    if raw.dtype.kind == "b":
        flags = Column(raw.astype(np.int64), np.zeros(len(raw), np.bool_))
        return flags if feature.type == FeatureType.BOOLEAN else None
    if feature.type in (FeatureType.FLOAT64, FeatureType.FLOAT32):
        single = feature.type == FeatureType.FLOAT32
        return Column(np.ascontiguousarray(raw, np.float64), None, single)
    if feature.type != FeatureType.INTEGER:
        return None
    missing = np.isnan(raw) if raw.dtype.kind == "f" else np.zeros(len(raw), np.bool_)
    filled = np.where(missing, 0, raw) if missing.any() else raw
    if raw.dtype.kind == "f":
        fits = (filled == np.floor(filled)) & (filled >= -(2.0**63)) & (filled < 2.0**63)
    else:
        fits = filled <= np.uint64(INT64_MAX) if raw.dtype.kind == "u" else np.bool_(True)
    return Column(filled.astype(np.int64), missing) if np.all(fits) else None


def is_categorical(column: Any) -> bool:
    """Tell whether a column is one of pandas' categories."""
    return type(getattr(column, "dtype", None)).__name__ == "CategoricalDtype"


def _texts(cells: Iterable[Any]) -> list[Any]:
    return [cell if is_missing(cell) else _category_text(cell) for cell in cells]


def _category_text(label: Any) -> Any:
    # One gap among whole numbers makes pandas' labels floats: 1.0 is the category 1.
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label) if whole else label)


def as_array(column: Any) -> Array:
    """Return a frame's column as an array: numbers as they are, all else as objects."""
    if isinstance(column, Categories):
        return column
    if is_categorical(column):
        return np.array([*column], object).view(Categories)
    if np.ma.isMaskedArray(column) and np.any(column.mask):
        if column.dtype.kind == "f":
            return np.asarray(column.filled(np.nan))
        array = np.asarray(column.data).astype(object)
        array[np.ma.getmaskarray(column)] = None
        return array
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) or type(dtype).__name__ == "SparseDtype":
        return np.asarray(column)
    if isinstance(column, str) or not hasattr(column, "__iter__"):
        raise DataError(f"data: got {shown(column)}, expected a column of values")
    listed = (getattr(column, name, None) for name in ("to_list", "to_pylist"))
    values = next((list_of() for list_of in listed if list_of), None)
    return array_of(list(column) if values is None else values, declared_type(column))


def _column_keys(data: Any) -> list[Any]:
    """Return a frame's keys of columns; raises `DataError` for what is no frame."""
    if isinstance(data, Mapping):
        return [*data]
    got = f"data: got {type(data).__name__}"
    if hasattr(type(data), "toarray"):
        raise DataError(f"{got}, a sparse matrix; pass its .toarray()")
    if hasattr(type(data), "columns") and not hasattr(data, "__len__"):
        raise DataError(
            f"{got}, whose rows are not in memory; polars' .collect(), Spark's .toPandas()"
            " and Dask's .compute() give a data frame"
        )
    keys = frame_keys(data)
    if keys is None or not hasattr(data, "__getitem__"):
        raise DataError(f"{got}, expected a data frame, a mapping of columns, or a 2-D array")
    return keys


def frame_keys(data: Any) -> list[Any] | None:
    """Return a frame's keys of columns; None for what has none."""
    # Types are asked, as a column of pandas is an attribute of its frame, whatever its name; and
    # the `columns` of an Arrow table are arrays, not names.
    named = "column_names" if hasattr(type(data), "column_names") else "columns"
    keys = getattr(data, named, None)
    return None if keys is None else list(keys)


def check_names(names: Sequence[object], source: str) -> None:
    """Raise `DataError` for a column name that is not text, or that another column has."""
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{source}: column name {shown(name)} is not text; rename the column")
        if name in seen:
            raise DataError(f"{source}: duplicate column {shown(name)}")
        seen.add(name)
