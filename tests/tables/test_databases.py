"""DuckDB, SQLite and Parquet: a query runs once, columns have the source's names and types."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from mbndt.errors import DataError
from mbndt.learning.pipeline import learn
from mbndt.learning.settings import preset
from mbndt.rules import Feature, FeatureType
from mbndt.tables.files import read_table
from mbndt.tables.schema import infer_type
from mbndt.tables.table import Table

ROWS = 150_000  # enough for DuckDB to work in parallel


@pytest.fixture(scope="module")
def orders(tmp_path_factory) -> Path:
    """Rows whose columns all tell their number, in types with and without a NumPy one."""
    path = tmp_path_factory.mktemp("base") / "t.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute(
            "CREATE TABLE t AS SELECT i AS id, i::DECIMAL(12, 2) AS amount, i::HUGEINT AS huge,"
            " i::UHUGEINT AS uhuge, i::DECIMAL(30, 0) AS wide, i % 2 = 0 AS even, 'c' || i AS text"
            f" FROM range({ROWS}) AS r(i)"
        )
    return path


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t USING SAMPLE 2000",
        "SELECT * FROM t USING SAMPLE 50%",
        "SELECT * FROM t ORDER BY random()",
        "SELECT * FROM t WHERE random() < 0.2",
        "SELECT id, max(amount) amount, max(huge) huge, max(uhuge) uhuge, max(wide) wide,"
        " bool_and(even) even, max(text) AS text FROM t GROUP BY id",
        "SELECT t.* FROM t JOIN t AS u ON t.id = u.id",
        "SELECT DISTINCT * FROM t",
        "SELECT * FROM t ORDER BY hash(id) LIMIT 1000; -- as ever",
        "SET threads = 2; FROM t WHERE 'é;' > '';;",
    ],
)
def test_a_query_runs_once_so_that_rows_stay_whole(orders, query):
    table = read_table(orders, query)
    assert table.n_rows > 900
    numbers = table.typed(Feature("id", FeatureType.INTEGER)).values
    assert len(set(numbers.tolist())) == table.n_rows
    for name in ("amount", "huge", "uhuge", "wide"):
        assert (table.typed(Feature(name, FeatureType.FLOAT64)).values == numbers).all()
    assert ((numbers % 2 == 0) == table.typed(Feature("even", FeatureType.BOOLEAN)).values).all()
    assert [*table.column("text")] == [f"c{i}" for i in numbers]


def test_the_order_of_a_query_is_kept(orders):
    table = read_table(orders, "SELECT id, amount FROM t ORDER BY id DESC")
    assert (table.column("id") == np.arange(ROWS)[::-1]).all()
    assert (table.column("amount") == table.column("id")).all()
    table = read_table(orders, "SELECT huge, id FROM t")
    assert (table.column("id") == np.arange(ROWS)).all()


def test_a_sample_is_learned_from_as_it_stands(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as base:
        base.execute(
            "CREATE TABLE t AS SELECT i::DECIMAL(12, 2) AS amount, i % 2 = 0 AS even,"
            " if(i < 5000, 'low', 'high') AS y FROM range(10000) AS r(i)"
        )
    table = read_table(path, "SELECT amount, even, y FROM t USING SAMPLE 2000 (reservoir, 1)")
    with pytest.warns(match="'amount' alone tells 'y'"):
        model = learn(table, "y", preset("fast", seed=0), holdout=0.2)
    assert model.evidence["performance"]["accuracy"][0] > 0.99


READ = {  # in DuckDB's words: the type and value that a column is read as
    "1::TINYINT": ("integer", 1),
    "-2::SMALLINT": ("integer", -2),
    "3::INTEGER": ("integer", 3),
    "9007199254740993::BIGINT": ("integer", 2**53 + 1),
    "255::UTINYINT": ("integer", 255),
    "65535::USMALLINT": ("integer", 65535),
    "4294967295::UINTEGER": ("integer", 2**32 - 1),
    "9223372036854775807::UBIGINT": ("integer", 2**63 - 1),
    "-9007199254740993::HUGEINT": ("integer", -(2**53) - 1),
    "9007199254740993::UHUGEINT": ("integer", 2**53 + 1),
    "1.5::FLOAT": ("float32", 1.5),
    "0.1::DOUBLE": ("float64", 0.1),
    "0.1::DECIMAL(3, 1)": ("float64", 0.1),
    "1234567890123.45::DECIMAL(15, 2)": ("float64", 1234567890123.45),
    "12345678901234.567::DECIMAL(17, 3)": ("float64", 12345678901234.567),
    "0.1234567890123456789::DECIMAL(38, 19)": ("float64", 0.1234567890123456789),
    "2.00::DECIMAL(9, 2)": ("float64", 2.0),
    "7::DECIMAL(9, 0)": ("integer", 7),
    "9007199254740993::DECIMAL(38, 0)": ("integer", 2**53 + 1),
    "true": ("boolean", True),
    "'a'": ("category", "a"),
    "'b'::ENUM('a', 'b')": ("category", "b"),
    "'{\"k\": 1}'::JSON": ("category", '{"k": 1}'),
}
UNREAD = [
    "DATE '2026-01-01'",
    "TIMESTAMP '2026-01-01'",
    "TIMESTAMPTZ '2026-01-01'",
    "TIME '10:00'",
    "'2026-01-01'::TIMESTAMP_NS",
    "INTERVAL 1 DAY",
    "uuid()",
    "'a'::BLOB",
    "'101'::BIT",
    "[1, 2]",
    "[1, 2]::INTEGER[2]",
    "{'k': 1}",
    "MAP {'k': 1}",
    "union_value(k := 1)",
    "[{'k': [1.5]}]",
]


@pytest.mark.parametrize("file", ["duckdb", "parquet"])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("expression", READ)
def test_every_type_of_duckdb_is_read_right(tmp_path, expression, gap, file):
    if file == "parquet" and "HUGE" in expression:
        return  # Parquet has none: DuckDB writes doubles
    kind, value = READ[expression]
    rows = f"(SELECT {expression} AS x) CROSS JOIN range({1 + gap}) AS g(i)"
    query = f"SELECT if(i = 0, x, NULL) AS x FROM {rows}"
    table = from_duckdb(tmp_path, query, file)
    assert infer_type(table, "x") == kind
    categories = (str(value),) if kind == "category" else ()
    column = table.typed(Feature("x", FeatureType(kind), categories))
    assert column.missing.tolist() == [False, True][: table.n_rows]
    assert table.n_rows == 1 + gap
    assert column.values[0] == (0 if kind == "category" else value)


def from_duckdb(folder: Path, query: str, file: str) -> Table:
    if file == "parquet":
        with duckdb.connect() as base:
            base.execute(f"COPY ({query}) TO '{folder}/t.parquet' (FORMAT parquet)")
        return read_table(folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")):
        pass
    return read_table(folder / "t.duckdb", query)


@pytest.mark.parametrize("expression", UNREAD)
def test_a_type_that_no_feature_holds_is_refused_by_name_where_it_is_used(tmp_path, expression):
    table = from_duckdb(tmp_path, f"SELECT {expression} AS x, 1 AS y", "duckdb")
    assert table.without(["x"]).column("y")[0] == 1
    with pytest.raises(DataError, match=r"column 'x' has the type '.+', expected numbers, texts"):
        infer_type(table, "x")
    with pytest.raises(DataError, match="column 'x' has the type"):
        table.typed(Feature("x", FeatureType.CATEGORY, ("a",)))


@pytest.mark.parametrize("kind", ["UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL(38, 0)"])
def test_whole_numbers_beyond_64_bits_are_refused_with_their_type(tmp_path, kind):
    query = f"SELECT unnest([1, 9223372036854775808])::{kind} AS x"
    table = from_duckdb(tmp_path, query, "duckdb")
    with pytest.raises(DataError, match=r"row 2: got 9223372036854775808, .* float64"):
        infer_type(table, "x")
    assert table.typed(Feature("x", FeatureType.FLOAT64)).values[1] == 2.0**63


@pytest.mark.parametrize("digits, scale", [(4, 1), (15, 2), (15, 15), (17, 2), (18, 6), (38, 10)])
def test_decimals_are_read_as_the_nearest_doubles(tmp_path, digits, scale):
    draw = np.random.default_rng(digits)
    texts = ["".join(draw.choice([*"0123456789"], digits)) for _ in range(500)]
    values = [
        Decimal(int(text)).scaleb(-scale)
        if digits < 28
        else Decimal(f"{text[:-scale]}.{text[-scale:]}")
        for text in texts
    ]
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute(f"CREATE TABLE t (x DECIMAL({digits}, {scale}))")
        base.execute("INSERT INTO t SELECT unnest(?)::VARCHAR", [[str(v) for v in values]])
    found = read_table(tmp_path / "t.duckdb", "FROM t").column("x")
    assert found.tolist() == [float(value) for value in values]


def test_what_is_no_select_is_refused(orders):
    for query in ("", "EXPLAIN FROM t", "DELETE FROM t"):
        with pytest.raises(DataError, match="expected a SELECT"):
            read_table(orders, query)
    with pytest.raises(DataError, match="syntax error"):
        read_table(orders, "SELECT FROM WHERE")
    assert read_table(orders, "PIVOT (FROM t LIMIT 9) ON even USING count(*)").n_rows == 9


def test_columns_have_the_sources_own_names(orders, tmp_path):
    table = read_table(orders, 'SELECT id AS "A", amount AS "a", even AS "a_1" FROM t LIMIT 5')
    assert list(table.columns) == ["A", "a", "a_1"]
    with duckdb.connect() as base:
        names = '1 AS "A", 2 AS "b"'
        base.execute(f"COPY (SELECT {names}) TO '{tmp_path}/t.parquet' (FORMAT parquet)")
    # DuckDB itself doesn't write names that differ in case alone.
    path = tmp_path / "t.parquet"
    path.write_bytes(path.read_bytes().replace(b"\x01b", b"\x01a"))
    table = read_table(path)
    assert [(name, *column) for name, column in table.columns.items()] == [("A", 1), ("a", 2)]
    path.write_bytes(path.read_bytes().replace(b"\x01A", b"\x01a"))
    with pytest.raises(DataError, match="duplicate column 'a'"):
        read_table(path)
    with pytest.raises(DataError, match="duplicate column 'id'"):
        read_table(orders, "SELECT id, amount AS id FROM t")
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.execute("CREATE TABLE t (x INTEGER)")
        base.commit()
    table = read_table(tmp_path / "t.sqlite", 'SELECT x AS "A", x AS "a" FROM t')
    assert list(table.columns) == ["A", "a"]
    with pytest.raises(DataError, match="duplicate column 'x'"):
        read_table(tmp_path / "t.sqlite", "SELECT x, x FROM t")


def test_a_parquet_file_has_its_own_columns_alone(tmp_path):
    folder = tmp_path / "year=2026"
    folder.mkdir()
    with duckdb.connect() as base:
        nested = "1 AS a, {'k': 1, 'l': [1]} AS s, [{'k': 1}] AS l, 2 AS b"
        base.execute(f"COPY (SELECT {nested}) TO '{folder}/it''s.parquet' (FORMAT parquet)")
    table = read_table(folder / "it's.parquet")
    assert list(table.columns) == ["a", "s", "l", "b"]
    assert [table.column(name)[0] for name in "ab"] == [1, 2]


def test_the_row_index_of_pandas_is_known_in_parquet(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.5]}, index=[7, 5])
    for name, expected in ((None, "__index_level_0__"), ("id", "id")):
        frame.rename_axis(name).to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
        assert table.row_index == (expected,)
        assert list(table.columns) == ["x", expected]
    frame.reset_index(drop=True).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").row_index == ()


def test_sqlite_columns_are_of_their_declared_type_where_all_values_are(tmp_path):
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute(
            "CREATE TABLE t (r REAL, f FLOAT, d DECIMAL(9, 2), b BOOLEAN, i INT, v"
            " VARCHAR(9), n, w BOOLEAN, z INT)"
        )
        base.execute("INSERT INTO t VALUES (1, 2, 3, 1, NULL, NULL, 4.0, 2, 'a')")
        base.commit()
    table = read_table(path, "SELECT *, r + 1 AS e FROM t;")
    kinds = {name: infer_type(table, name).value for name in table.columns}
    assert kinds == {
        "r": "float64",
        "f": "float64",
        "d": "float64",
        "b": "boolean",
        "i": "integer",
        "v": "category",
        "n": "float64",
        "w": "integer",
        "z": "category",
        "e": "float64",
    }
    assert read_table(path, "PRAGMA table_info(t)").n_rows == 9
