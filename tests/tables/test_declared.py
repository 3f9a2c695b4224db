"""The same values are the same columns from wherever they come: types × frames and files."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from mbndt.errors import DataError
from mbndt.interpreter import predict
from mbndt.learning.pipeline import learn
from mbndt.learning.settings import preset
from mbndt.rules import Feature, FeatureType
from mbndt.tables.files import read_table
from mbndt.tables.schema import Schema, infer_features, infer_type
from mbndt.tables.table import Table

pa = pytest.importorskip("pyarrow")


def polars() -> Any:
    return pytest.importorskip("polars")


# Whole floats with a gap, as a sample of a column that has fractions elsewhere.
VALUES = {
    "float64": [1.0, 2.0, None, 40.0, -0.0, 1e300],
    "float32": [1.0, 2.5, None, 4.0, 0.5, 6.0],
    "whole64": [34.0, 36.0, None, 37.0, 38.0, 39.0],
    "int64": [1, 2, None, -4, 2**53 + 1, 6],
    "int8": [1, 2, None, -4, 5, 6],
    "full": [3, 1, 4, 1, 5, 9],
    "boolean": [True, False, None, True, True, False],
    "flags": [True, False] * 3,
    "text": ["a", "b", None, "é", "", "007"],
    "decimal": [
        Decimal("1.10"),
        Decimal("2.00"),
        None,
        Decimal("-0.01"),
        Decimal("12345678.90"),
        Decimal("3.33"),
    ],
    "no_float": [None] * 6,
    "no_int": [None] * 6,
    "no_bool": [None] * 6,
    "no_text": [None] * 6,
}
KINDS = {
    "float64": "float64",
    "float32": "float32",
    "whole64": "float64",
    "int64": "integer",
    "int8": "integer",
    "full": "integer",
    "boolean": "boolean",
    "flags": "boolean",
    "text": "category",
    "decimal": "float64",
    "no_float": "float64",
    "no_int": "integer",
    "no_bool": "boolean",
    "no_text": "category",
}
ARROW = {
    "float64": pa.float64(),
    "float32": pa.float32(),
    "whole64": pa.float64(),
    "int64": pa.int64(),
    "int8": pa.int8(),
    "full": pa.int64(),
    "boolean": pa.bool_(),
    "flags": pa.bool_(),
    "text": pa.string(),
    "decimal": pa.decimal128(12, 2),
    "no_float": pa.float64(),
    "no_int": pa.int32(),
    "no_bool": pa.bool_(),
    "no_text": pa.string(),
}
NULLABLE = {
    pa.float64(): "Float64",
    pa.float32(): "Float32",
    pa.int64(): "Int64",
    pa.int32(): "Int32",
    pa.int8(): "Int8",
    pa.bool_(): "boolean",
    pa.string(): "string",
}


def arrow() -> Any:
    return pa.table({name: pa.array(VALUES[name], kind) for name, kind in ARROW.items()})


def nullable() -> pd.DataFrame:
    types = {pa.decimal128(12, 2): pd.ArrowDtype(pa.decimal128(12, 2)), **NULLABLE}
    return pd.DataFrame({n: pd.array(VALUES[n], types[kind]) for n, kind in ARROW.items()})


def parquet_of(frame: Any, folder: Path) -> Table:
    path = folder / "t.parquet"
    (frame.write_parquet if hasattr(frame, "write_parquet") else frame.to_parquet)(path)
    return read_table(path)


def arrow_parquet(folder: Path) -> Table:
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow(), folder / "t.parquet")
    return read_table(folder / "t.parquet")


def duckdb_table(folder: Path) -> Table:
    held = arrow()
    with duckdb.connect(str(folder / "t.duckdb")) as base:
        base.execute("CREATE TABLE t AS SELECT * FROM held")
    del held
    return read_table(folder / "t.duckdb", "FROM t")


def sqlite_table(folder: Path) -> Table:
    types = {
        pa.float64(): "REAL",
        pa.float32(): "REAL",
        pa.bool_(): "BOOLEAN",
        pa.string(): "TEXT",
        pa.decimal128(12, 2): "DECIMAL(12, 2)",
    }
    with closing(sqlite3.connect(folder / "t.sqlite")) as base:
        columns = ", ".join(f"{name} {types.get(kind, 'INTEGER')}" for name, kind in ARROW.items())
        base.execute(f"CREATE TABLE t ({columns})")
        rows = [
            [float(value) if isinstance(value, Decimal) else value for value in row]
            for row in zip(*VALUES.values(), strict=True)
        ]
        base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(ARROW))})", rows)
        base.commit()
    return read_table(folder / "t.sqlite", "SELECT * FROM t")


def relabelled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_axis([5, 5, 3, 2, 1, 0], axis=0)


SOURCES: dict[str, Callable[[Path], Table]] = {
    "arrow table": lambda _: Table.of(arrow()),
    "arrow batch": lambda _: Table.of(arrow().to_batches()[0]),
    "pandas nullable": lambda _: Table.of(nullable()),
    "pandas of arrow": lambda _: Table.of(arrow().to_pandas(types_mapper=pd.ArrowDtype)),
    "pandas with an index": lambda _: Table.of(relabelled(nullable())),
    "polars": lambda _: Table.of(polars().from_arrow(arrow())),
    "pandas Parquet": lambda folder: parquet_of(nullable(), folder),
    "polars Parquet": lambda folder: parquet_of(polars().from_arrow(arrow()), folder),
    "arrow Parquet": arrow_parquet,
    "DuckDB": duckdb_table,
    "SQLite": sqlite_table,
}


def stored(table: Table, feature: Feature) -> list[Any]:
    """The typed column's values; None where one is missing."""
    column = table.typed(feature)
    pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
    return [None if missing else value for value, missing in pairs]


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_values_are_the_same_columns_from_everywhere(tmp_path, source):
    table = SOURCES[source](tmp_path)
    assert table.n_rows == 6
    assert list(table.columns) == list(VALUES)
    expected_kinds = KINDS | ({"float32": "float64"} if source == "SQLite" else {})
    assert {name: infer_type(table, name).value for name in table.columns} == expected_kinds
    texts = ("007", "a", "b", "é")
    for name, values in VALUES.items():
        kind = FeatureType(KINDS[name])
        feature = Feature(name, kind, texts if kind == FeatureType.CATEGORY else ())
        expected = [
            None
            if value is None or value == ""
            else texts.index(value)
            if value in texts
            else float(value)
            if isinstance(value, Decimal)
            else value
            for value in values
        ]
        assert stored(table, feature) == expected, name


@pytest.mark.parametrize("source", ["NumPy", *SOURCES])
def test_rules_of_a_sample_answer_all_rows_of_the_same_source(tmp_path, source):
    y = ["no", "no", "no", "yes", "yes", "yes"] * 10

    def of(values: list[float | None]) -> Table:
        held = pa.table({"x": pa.array(values, pa.float64()), "y": y})
        if source == "NumPy":
            return Table.of(held.to_pandas())
        if "polars" in source:
            frame = polars().from_arrow(held)
            return parquet_of(frame, tmp_path) if "Parquet" in source else Table.of(frame)
        if "Parquet" in source:
            return parquet_of(held.to_pandas(), tmp_path)
        if "pandas" in source:
            return Table.of(held.to_pandas(types_mapper=pd.ArrowDtype))
        (tmp_path / "t.db").unlink(missing_ok=True)
        if source == "DuckDB":
            with duckdb.connect(str(tmp_path / "t.db")) as base:
                base.execute("CREATE TABLE t AS SELECT * FROM held")
            return read_table(tmp_path / "t.db", "FROM t")
        if source == "SQLite":
            with closing(sqlite3.connect(tmp_path / "t.db")) as base:
                base.execute("CREATE TABLE t (x REAL, y TEXT)")
                base.executemany("INSERT INTO t VALUES (?, ?)", zip(values, y, strict=True))
                base.commit()
            return read_table(tmp_path / "t.db", "SELECT * FROM t")
        return Table.of(held)

    sample = of([34.0, None, 36.0, 38.0, 39.0, 40.0] * 10)
    with pytest.warns(match="column 'x' alone tells"):
        rules = learn(sample, "y", preset("fast", seed=0)).rules
    assert rules.features == (Feature("x", FeatureType.FLOAT64),)
    rest = of([34.5, None, 35.5, 38.5, 39.5, 1e6] * 10)
    assert predict(rules, rest).prediction == y


def test_objects_have_no_declared_type():
    for column in ([34.0, None], pd.Series([34.0, None], dtype=object)):
        assert infer_type(Table.of({"x": column}), "x") == FeatureType.INTEGER
    column = polars().Series([34.0, None], dtype=polars().Object)
    assert infer_type(Table.of({"x": column}), "x") == FeatureType.INTEGER
    assert infer_type(Table.of({"x": pd.Series([None, None], dtype=object)}), "x") == "float64"


@pytest.mark.parametrize(
    "column, kind",
    [
        (np.ma.array([1.0, 2.0], mask=[False, True]), "float64"),
        (np.ma.array([1, 2], mask=[True, True]), "integer"),
        (np.array([1, 2], np.float16), "float32"),
        (np.ma.array([1, 2], np.float32, mask=[True, False]), "float32"),
        (pd.Categorical(["a", None]), "category"),
        (pd.Categorical([None], ["a"]), "category"),
        (pd.arrays.SparseArray([0.0, 1.0, np.nan]), "float64"),
        (pd.arrays.SparseArray([0, 1], dtype="int8"), "integer"),
        (pa.array(["a", None]).dictionary_encode(), "category"),
        (pa.chunked_array([[1.5], [None]]), "float64"),
        (pa.array([1, None], pa.uint16()), "integer"),
        (pa.array(["a"], pa.large_string()), "category"),
    ],
)
def test_a_declared_type_counts(column, kind):
    assert infer_type(Table.of({"x": column}), "x") == kind


def test_categories_of_polars_are_texts():
    pl = polars()
    for dtype in (pl.Categorical(), pl.Enum(["b", "a"])):
        table = Table.of(pl.DataFrame({"x": pl.Series(["a", None], dtype=dtype)}))
        (feature,) = infer_features(table, Schema(), "y")
        assert feature == Feature("x", FeatureType.CATEGORY, ("a",))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.to_datetime(["2026-01-01", None])),
        pd.Series(pd.to_timedelta(["1D"])),
        pd.Series([None, None], dtype="datetime64[ns]"),
        pd.Series(pd.period_range("2026", periods=2)),
        np.array([1 + 2j]),
        np.array([b"a"]),
        pa.array([[1]]),
        pa.array([{"k": 1}]),
        pa.array([b"a"]),
        pa.array([0], pa.date32()),
        pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ],
)
def test_a_column_of_another_type_is_refused_by_name_where_it_is_used(column):
    table = Table.of({"x": column, "y": [1] * len(column)})
    with pytest.raises(DataError, match=r"column 'x' has the type '.+', expected numbers, texts"):
        infer_type(table, "x")
    assert table.without(["x"]).n_rows == len(column)


def test_frames_whose_columns_are_no_names_are_refused():
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    with pytest.raises(DataError, match=r"column name \('a', 'b'\) is not text; rename"):
        Table.of(frame)
    for double in (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[0, "0"]),
        pa.table([[1], [2]], names=["a", "a"]),
    ):
        with pytest.raises(DataError, match=r"duplicate column '[a0]'"):
            Table.of(double)
    names = ["A", "a"]
    for table in (
        pd.DataFrame([[1, 2]], columns=names),
        pa.table([[1], [2]], names=names),
        polars().DataFrame({"A": [1], "a": [2]}),
    ):
        assert [column[0] for column in Table.of(table).columns.values()] == [1, 2]


def test_what_has_no_rows_at_hand_is_refused_with_the_way_out():
    from scipy.sparse import csr_array

    with pytest.raises(
        DataError, match=r"got LazyFrame, whose rows are not in memory; polars' \.collect"
    ):
        Table.of(polars().LazyFrame({"x": [1]}))
    with pytest.raises(DataError, match=r"got csr_array, a sparse matrix; pass its \.toarray\(\)"):
        Table.of(csr_array(np.eye(2)))


def test_columns_of_another_length_make_no_table():
    with pytest.raises(DataError, match="t: column 'b' has 1 rows, expected 2"):
        Table({"a": [1, 2], "b": [1]}, 2, source="t")
    with pytest.raises(DataError, match="column 'a' has 2 rows, expected 3"):
        Table({"a": [1, 2]}, 3)
