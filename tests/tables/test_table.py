"""Tables: files and frames come in as they are, typed columns follow the scalar contract."""

import csv
import gzip
import io
import sqlite3
import tempfile
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbndt.errors import DataError
from mbndt.rules import Feature, FeatureType
from mbndt.rules.values import read_cell, read_value
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.files import read_table
from mbndt.tables.table import UNSEEN, Table, distinct


def feature(kind: str) -> Feature:
    return Feature("x", FeatureType(kind), ("a", "b") if kind == "category" else ())


def plain(table: Table, kind: str) -> list:
    column = table.typed(feature(kind))
    values = ["a", "b", "unseen"] if kind == "category" else None
    return [
        None if missing else values[value] if values else value
        for value, missing in zip(column.values.tolist(), column.missing, strict=True)
    ]


numbers = st.none() | st.floats() | st.integers(-(2**63), 2**63 - 1) | st.booleans()
strange = st.sampled_from([[1], {}, b"a", np.int8(1), np.float32(0.1), np.bool_(True), 10**400])
anything = numbers | st.sampled_from(["a", "b", "c", "", "1", "true"]) | strange


@given(
    st.sampled_from(list(FeatureType)),
    st.lists(anything, min_size=1, max_size=5)
    | st.lists(st.sampled_from([1, True, 1.0, 0, False, -0.0, None]), min_size=1, max_size=9)
    | st.lists(st.none() | st.floats() | st.integers(-9, 9).map(float), min_size=1, max_size=5),
)
def test_whole_columns_are_read_as_single_values_are(kind, values):
    for raw in (values, pd.Series(values), np.array(values, object)):
        try:
            expected = [read_value(kind, value) for value in pd.Series(raw).to_list()]
        except DataError:
            with pytest.raises(DataError, match="column 'x', row"):
                plain(Table.of({"x": raw}), kind)
            continue
        found = plain(Table.of({"x": raw}), kind)
        if kind == "category":
            expected = [v if v in ("a", "b", None) else "unseen" for v in expected]
        assert found == expected


cells = st.sampled_from(
    [
        "",
        "1",
        "0",
        "-3",
        "2.5",
        " 7",
        "1e3",
        "nan",
        "inf",
        "-inf",
        "abc",
        "1_0",
        "true",
        "a",
        "b",
        "9007199254740993",
        "9223372036854775808",
        "٣",
        "0.1",
        "1e-400",
        "16777217",
        "007",
        "+5",
        " ",
        "-0",
        "9223372036854775807",
        "-9223372036854775808",
        "-9223372036854775809",
        "3.0",
        "9007199254740993.0",
        "\x1c1",
        "1e400",
        "NaN",
        "1" * 5000,
        "TRUE",
        "1 2",
        "0x1",
        "1\n",
    ]
)


@given(st.sampled_from(list(FeatureType)), st.lists(cells, min_size=1, max_size=5))
def test_whole_csv_columns_are_read_as_single_cells_are(kind, texts):
    table = Table({"x": texts}, len(texts), text=True)
    try:
        expected = [read_cell(kind, text) for text in texts]
    except DataError:
        with pytest.raises(DataError, match="column 'x', row"):
            plain(table, kind)
        return
    if kind == "category":
        expected = [v if v in ("a", "b", None) else "unseen" for v in expected]
    assert plain(table, kind) == expected


def test_digits_of_64_bit_whole_numbers_are_kept():
    numbers = [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
    for more in ([], [None]):  # with a gap as well
        text = "x,y\n" + "".join(f"{'' if n is None else n},1\n" for n in [*numbers, *more])
        assert plain(parse_csv(text), "integer") == [*numbers, *more]
    assert plain(parse_csv("x\n9007199254740993.0\n"), "integer") == [2**53 + 1]
    with pytest.raises(DataError, match="row 2: got '9223372036854775808', expected a 64-bit"):
        parse_csv("x\n1\n9223372036854775808\n").typed(feature("integer"))


@pytest.mark.parametrize("kind", ["float64", "float32", "integer", "category"])
def test_arrays_of_booleans_are_booleans_alone(kind):
    table = Table.of({"x": np.array([False, True])})
    assert plain(table, "boolean") == [False, True]
    with pytest.raises(DataError, match="column 'x', row 1: got False"):
        table.typed(feature(kind))


@given(st.lists(anything | st.just(Decimal("sNaN")), max_size=9))
def test_different_values_stand_in_order_of_appearance(values):
    column = np.empty(len(values), object)
    column[:] = values
    found, codes = distinct(column)
    for value, code in zip(values, codes.tolist(), strict=True):
        assert found[code] is value or (type(found[code]) is type(value) and found[code] == value)
    first = [codes.tolist().index(code) for code in range(len(found))]
    assert first == sorted(first)


def test_equal_values_of_different_types_are_kept_apart():
    for values, row in (([1, True], 2), ([True, 1], 1)):
        with pytest.raises(DataError, match=f"column 'x', row {row}: got True, expected a number"):
            Table.of({"x": values}).typed(feature("float64"))


def test_an_error_names_column_row_and_value():
    with pytest.raises(DataError, match=r"column 'x', row 2: got 'abc', expected a number"):
        parse_csv("x\n1\nabc\n").typed(feature("float64"))
    with pytest.raises(DataError, match=r"column 'x', row 5: got 'abc', expected a number"):
        parse_csv("x\n1\n1\n2\n1\nabc\nabc\n").typed(feature("float64"))


def test_numpy_columns_of_every_kind_are_taken():
    for dtype in ("int8", "uint16", "int64", "float32", "float64"):
        table = Table.of(pd.DataFrame({"x": np.array([0, 1, 2], dtype)}))
        assert plain(table, "integer") == plain(table, "float64") == [0, 1, 2]
    nullable = pd.DataFrame({"x": pd.array([1, None, 2**53 + 1], "Int64")})
    assert plain(Table.of(nullable), "integer") == [1, None, 2**53 + 1]
    big = pd.DataFrame({"x": np.array([2**63], "uint64")})
    with pytest.raises(DataError, match="row 1"):
        Table.of(big).typed(feature("integer"))
    flags = pd.DataFrame({"x": pd.array([True, None], "boolean")})
    assert plain(Table.of(flags), "boolean") == [True, None]
    kinds = pd.DataFrame({"x": pd.Categorical(["a", None, "z"])})
    assert plain(Table.of(kinds), "category") == ["a", None, "unseen"]


def test_unseen_and_empty_categories_differ():
    column = parse_csv("x,y\nz,1\n,1\n").typed(feature("category"))
    assert column.values[0] == UNSEEN
    assert column.missing.tolist() == [False, True]


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a,a\n1,2\n", "duplicate column 'a'"),
        ("a,b\n1\n", "row 1 has 1 cells, expected 2"),
        ("a,b\n1,2\n1,2,3\n", "row 2 has 3 cells"),
        ('a\n"x\n', "line"),
        ("a,b\n" + "1,2\n" * 250 + "\n1\n", "row 251 has 1 cells, expected 2"),
        ("a,b\n" + "1,2\n" * 250 + '1,"2\n', "line 252"),
    ],
)
def test_a_malformed_csv_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        parse_csv(text)


def test_csv_files_with_mark_blank_lines_and_gzip(tmp_path):
    text = "\ufeffx,y\r\n\r\n1,a\r\n\r\n2,\r\n".encode()
    (tmp_path / "t.csv").write_bytes(text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    for name in ("t.csv", "t.csv.gz"):
        table = read_table(tmp_path / name)
        assert table.n_rows == 2
        assert list(table.columns) == ["x", "y"]
        assert list(table.column("y")) == ["a", ""]


any_text = st.text(st.sampled_from('ab ,"\n\r\u2028\x0b\x1c\x85é٣_0'), max_size=4)


@given(st.lists(st.tuples(any_text, any_text), max_size=6), st.sampled_from([0, 99, 100, 101]))
def test_cells_of_a_csv_file_come_back_as_they_were(rows, plain_rows):
    rows = [("1", "2")] * plain_rows + rows
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("x", "y"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(out.getvalue().encode("utf-8-sig"))
        for table in (parse_csv(out.getvalue()), read_table(path)):
            assert table.n_rows == len(rows)
            assert list(table.columns) == ["x", "y"]
            assert list(zip(*table.columns.values(), strict=True)) == rows


def test_a_byte_that_is_no_text_is_named_by_its_place_in_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x\n" + b"1\n" * 50_000 + b"\xff\n")
    with pytest.raises(DataError, match="not UTF-8 text at byte 100002"):
        read_table(path)


def test_parquet_duckdb_and_sqlite_give_the_same_columns(tmp_path):
    query = "SELECT * FROM t ORDER BY i"
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES (1, 2.5::DOUBLE, 'a', true),"
            " (2, NULL, NULL, NULL)) AS v(i, x, c, f)"
        )
        base.execute(f"COPY ({query}) TO '{tmp_path}/t.parquet' (FORMAT parquet)")
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        base.execute("CREATE TABLE t (i INTEGER, x REAL, c TEXT, f INTEGER)")
        base.execute("INSERT INTO t VALUES (1, 2.5, 'a', 1), (2, NULL, NULL, NULL)")
    base.close()
    for name, asked in (("t.parquet", None), ("t.duckdb", query), ("t.sqlite", query)):
        table = read_table(tmp_path / name, asked)
        read = {
            n: table.typed(Feature(n, FeatureType(kind), ("a",) if n == "c" else ()))
            for n, kind in {"i": "integer", "x": "float64", "c": "category", "f": "boolean"}.items()
        }
        assert read["i"].values.tolist() == [1, 2]
        assert read["x"].values[0] == 2.5
        assert all(read[n].missing.tolist() == [False, True] for n in "xcf")
    with pytest.raises(DataError, match="`query`"):
        read_table(tmp_path / "t.sqlite")
    with pytest.raises(DataError, match="nothere"):
        read_table(tmp_path / "t.sqlite", "SELECT * FROM nothere")
    with pytest.raises(DataError, match="nothere"):
        read_table(tmp_path / "t.duckdb", "SELECT * FROM nothere")
    with pytest.raises(DataError, match="`query`"):
        read_table(tmp_path / "t.parquet", query)


def test_wide_numbers_keep_their_digits(tmp_path):
    values = "(9007199254740993::HUGEINT, 9007199254740993::DECIMAL(18, 0)), (NULL, NULL)"
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {values}) AS v(h, d)")
    table = read_table(tmp_path / "t.duckdb", "SELECT * FROM t ORDER BY h")
    for name in "hd":
        column = table.typed(Feature(name, FeatureType.INTEGER))
        assert column.values[0] == 2**53 + 1
        assert column.missing.tolist() == [False, True]
    with pytest.raises(DataError, match="expected a SELECT"):
        read_table(tmp_path / "t.duckdb", "")


@pytest.mark.parametrize("name", ["x*.parquet", "a[1].parquet", "q?.parquet"])
def test_a_parquet_path_is_no_pattern(tmp_path, name):
    with duckdb.connect() as base:
        for rows, path in ((2, name), (5, "xyz.parquet"), (5, "a1.parquet"), (5, "qq.parquet")):
            base.execute(f"COPY (SELECT * FROM range({rows})) TO '{tmp_path}/o' (FORMAT parquet)")
            (tmp_path / "o").rename(tmp_path / path)
    assert read_table(tmp_path / name).n_rows == 2


@pytest.mark.parametrize("content", [b"PAR1nonsense", b"\x1f\x8bnonsense", b"\xff\xff", b""])
def test_a_damaged_file_is_a_plain_error(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DataError, match="file"):
        read_table(path)


def test_a_lacking_column_names_the_nearest():
    with pytest.raises(DataError, match="no column 'agee'; did you mean 'age'"):
        Table.of({"age": [1]}).column("agee")


def test_masked_arrays_keep_their_gaps_and_numbered_columns_get_names():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    assert plain(Table.of({"x": masked}), "float64") == [1.0, None]
    assert list(Table.of(pd.DataFrame(np.zeros((2, 2)))).columns) == ["0", "1"]


def test_unequal_columns_and_strange_data_are_refused():
    with pytest.raises(DataError, match="has 2 rows, expected 1"):
        Table.of({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match="expected a data frame"):
        Table.of(3)
    with pytest.raises(DataError, match="a column of values"):
        Table.of({"a": [1, 2], "b": 3})
    with pytest.raises(DataError, match="duplicate column"):
        Table.of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
