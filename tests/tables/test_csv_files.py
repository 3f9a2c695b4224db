"""CSV texts: every dialect, mark and encoding is read as it was meant, or refused by name."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import warnings
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import chain, rule_trees

from mbndt.checkpoint import load, with_rules
from mbndt.cli.report import predictions_csv
from mbndt.emitters import emit
from mbndt.errors import DataError, DataWarning, OptionError
from mbndt.interpreter import predict
from mbndt.rules import Feature, FeatureType
from mbndt.rules.csv_rows import GAPS, GAPS_AS_WRITTEN, csv_rows, is_gap
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.csv_format import CsvFormat, known_marks
from mbndt.tables.files import read_table
from mbndt.tables.schema import Schema, infer_features, infer_type
from mbndt.tables.table import Table
from mbndt.tables.target import infer_target, missing_rows
from mbndt.tables.text_columns import NULLS

DATA = Path(__file__).parents[1] / "data"
MARKS = sorted({*GAPS, *GAPS_AS_WRITTEN, "NA", "N/A", "#N/A", "NULL", "Null", "Missing"})
TOLD = [mark for mark in MARKS if mark not in ("nan", "-nan")]  # nan is the numbers' own


def values(table: Table, kind: str, name: str = "x") -> list:
    column = table.typed(Feature(name, FeatureType(kind)))
    return [
        None if gone else value
        for value, gone in zip(column.values.tolist(), column.missing.tolist(), strict=True)
    ]


# --- rows


@pytest.mark.parametrize(
    "text, expected",
    [
        ("score\n1.5\n\n-2\n", [1.5, None, -2]),
        ("score\n1.5\n-2\n", [1.5, -2]),
        ("score\n1.5\n-2", [1.5, -2]),
        ("score\n1.5\n\n", [1.5, None]),
        ("score\n1.5\n\n\n", [1.5, None, None]),
        ("score\n\n", [None]),
        ("score\r\n\r\n2\r\n", [None, 2]),
        ('score\n""\n2\n', [None, 2]),
        ("\n\nscore\n2\n", [2]),
        ("score\n", []),
    ],
)
def test_no_row_of_one_column_vanishes(text, expected):
    assert values(parse_csv(text), "float64", "score") == expected
    if not text.startswith("\n"):
        assert len(pd.read_csv(io.StringIO(text), skip_blank_lines=False)) == len(expected)


def test_blank_lines_between_rows_of_two_columns_are_none():
    assert parse_csv("\na,b\n\n1,2\n\n\n3,4\n\n").n_rows == 2


def test_a_cell_longer_than_the_csv_modules_limit_is_read_and_the_limit_stays():
    limit = csv.field_size_limit()
    table = parse_csv("x,y\n1," + "z" * 200_000 + "\n")
    assert len(table.column("y")[0]) == 200_000
    assert csv.field_size_limit() == limit


word = st.text(st.sampled_from("ab1,;|\t \"'\n\r.é"), max_size=5)
dialects = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(",;\t|"),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "lineterminator": st.sampled_from(["\n", "\r\n"]),
    }
)


@given(dialects, st.integers(1, 4), st.data())
def test_what_the_csv_module_writes_is_read_back_cell_by_cell(dialect, width, data):
    names = [f"c{i}" for i in range(width)]
    # The module quotes a lone carriage return only where lines end with one, or all is quoted.
    plain = dialect["quoting"] == csv.QUOTE_MINIMAL and dialect["lineterminator"] == "\n"
    cell = word.filter(lambda text: "\r" not in text) if plain else word
    row = st.lists(cell, min_size=width, max_size=width)
    rows = data.draw(st.lists(row, max_size=6))
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows([names, *rows])
    form = CsvFormat(dialect["delimiter"], decimal=".")
    for given_form in (form, CsvFormat(decimal=".")):
        try:
            table = parse_csv(out.getvalue(), form=given_form)
        except DataError as error:
            # One name tells no separator: cells with a comma in them look like ragged rows.
            assert given_form is not form
            assert "`separator`" in str(error) or width == 1
            continue
        assert list(table.columns) == names
        assert [*map(list, zip(*table.columns.values(), strict=True))] == rows
        assert table.n_rows == len(rows)


@pytest.mark.parametrize(
    "text, names",
    [
        ("a;b\n1;2\n", ["a", "b"]),
        ("a\tb\n1\t2\n", ["a", "b"]),
        ("a|b\n1|2\n", ["a", "b"]),
        ("sep=;\na;b\n1;2\n", ["a", "b"]),
        ("SEP=|\r\na|b\r\n1|2\r\n", ["a", "b"]),
        ("sep=,\na,b;c\n1,2\n", ["a", "b;c"]),
        ("sep=:\na:b\n1:2\n", ["a", "b"]),
        ("a|b,c\n1,2\n", ["a|b", "c"]),
        ('"a;b",c\n1,2\n', ["a;b", "c"]),
        ('"a";"b"\n"1";"2,3,4"\n', ["a", "b"]),
        ("dose; mg\n1\n2\n", ["dose; mg"]),
        ("a\n1\n", ["a"]),
        ("dose; mg\n", ["dose", " mg"]),
        ("dose; mg\n\n1\n", ["dose; mg"]),
    ],
)
def test_a_separator_is_told_by_the_rows(text, names):
    assert list(parse_csv(text).columns) == names


def test_two_possible_separators_are_refused_and_one_can_be_named():
    text = "a|b,c\n1|2,u\n"
    with pytest.raises(DataError, match=r"separated by ',' or '\|'; `separator`"):
        parse_csv(text)
    assert list(parse_csv(text, form=CsvFormat("|")).columns) == ["a", "b,c"]
    assert list(parse_csv(text, form=CsvFormat(",")).columns) == ["a|b", "c"]
    assert list(parse_csv("a\tb\n1\t2\n", form=CsvFormat("tab")).columns) == ["a", "b"]
    with pytest.raises(DataError, match="row 1 has 3 cells, expected 2, separated by ';'"):
        parse_csv("a;b\n1;2;3\n")
    with pytest.raises(DataError, match="line 3"):
        parse_csv('sep=;\na;b\n1;"2\n')


# --- decimals


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("kind", ["float64", "float32", "integer"])
def test_a_decimal_comma_is_told_where_cells_are_not_separated_by_it(separator, kind):
    text = "x;y\n1,5;0,25\n-2;\n,5;1\n3,0E+2;2\n".replace(";", separator)
    with pytest.warns(DataWarning, match="'1,5' is read as a number with a decimal comma"):
        table = parse_csv(text)
    assert table.decimal == ","
    if kind == "integer":
        with pytest.raises(DataError, match="row 1: got '1,5', expected a 64-bit whole number"):
            table.typed(Feature("x", FeatureType.INTEGER))
        assert values(table.take(np.array([1, 3])), kind) == [-2, 300]
        return
    assert infer_type(table, "x") == FeatureType.FLOAT64
    assert values(table, kind) == [1.5, -2.0, 0.5, 300.0]
    assert values(table.take(np.array([0])).without(["y"]), kind) == [1.5]
    named = parse_csv(text, form=CsvFormat(decimal=","))
    assert next(named.records([Feature("y", FeatureType(kind))])) == {"y": 0.25}


@pytest.mark.parametrize(
    "text, message",
    [
        ("x;y\n1,234;a\n2,345;b\n", "'x': '1,234' may have a decimal comma"),
        ("x;y\n1,5;1.5\n2,5;2.5\n", "column 'x' has '1,5', and column 'y' '1.5'"),
        ("x;y\n1,5;1.234\n", "column 'x' has '1,5', and column 'y' '1.234'"),
    ],
)
def test_a_decimal_mark_that_cannot_be_told_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        parse_csv(text)
    assert values(parse_csv(text, form=CsvFormat(decimal=",")), "float64")[0] in (1.234, 1.5)


def test_a_point_is_no_thousands_mark_and_a_comma_none_without_a_word():
    assert values(parse_csv("x;y\n1.234;1\n"), "float64") == [1.234]
    with pytest.warns(DataWarning, match="decimal comma"):
        table = parse_csv("x\ty\n1,5\t1\n1.234\t1\n" + "".join(f"{i},5\t1\n" for i in range(20)))
    with pytest.raises(DataError, match=r"row 2: got '1\.234', expected a number.* decimal comma"):
        table.typed(Feature("x", FeatureType.FLOAT64))
    # Separated by commas, a comma in a cell is never taken for a decimal mark.
    table = parse_csv('x,y\n"1,5",a\n"2,5",b\n')
    with pytest.raises(DataError, match="row 1: got '1,5', expected a number with a decimal point"):
        table.typed(Feature("x", FeatureType.FLOAT64))
    with pytest.warns(DataWarning, match="2 of 2 texts look like numbers, as '1,5'"):
        infer_features(table, Schema(), "y")
    # A category's texts stay as they are.
    with pytest.warns(DataWarning, match="decimal comma"):
        table = parse_csv("x;y\n1,5;a\n")
    assert table.distinct("x", FeatureType.CATEGORY)[0] == ["1,5"]


def test_wrong_options_are_refused():
    for options, message in (
        ({"separator": "::"}, "^separator: "),
        ({"separator": "\n"}, "^separator: "),
        ({"decimal": ";"}, "^decimal: "),
        ({"encoding": "latin-x"}, "^encoding: "),
    ):
        with pytest.raises(OptionError, match=message):
            CsvFormat(**options)


# --- marks of a gap


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "cells, kind, expected",
    [
        (["1", "2"], "integer", [1, 2]),
        (["1.5", "2"], "float64", [1.5, 2.0]),
        (["true", "False"], "boolean", [True, False]),
        (["t", "f"], "boolean", [True, False]),
    ],
)
def test_a_mark_is_a_gap_among_numbers_and_booleans_and_is_told(mark, cells, kind, expected):
    table = parse_csv("x;y\n" + "".join(f'"{cell}";1\n' for cell in [*cells * 2, mark, f" {mark}"]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        feature = infer_features(table, Schema(), "y")[0]
        column = table.typed(feature)
    said = [str(warning.message) for warning in told]
    assert len(said) == (cells[0] == "t") + (mark in TOLD)
    if mark in TOLD:
        assert f"column 'x': cells read as missing: 2 of {mark!r}" in said[-1]
    if mark not in TOLD and kind == "integer":
        kind = "float64"
    assert feature.type == kind
    assert column.missing.tolist() == [*[False] * 4, True, True]
    assert column.values.tolist()[:4] == [*expected * 2]
    assert missing_rows(table, "x").tolist() == (
        [False] * 6 if cells[0] == "t" else [*[False] * 4, True, True]
    )


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_is_a_text_in_a_category_unless_it_is_named(mark):
    text = f'x;y\n"{mark}";1\na;1\nb;2\n'
    table = parse_csv(text)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert mark in infer_features(table, Schema(), "y")[0].categories
    said = [str(warning.message) for warning in told]
    nulls = [
        f"data: column 'x': 1 cells hold the text {mark!r}; `missing` '{mark}' reads them as"
        " missing"
    ]
    assert said == (nulls if mark in NULLS else [])
    assert not missing_rows(table, "x").any()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert mark in infer_target(table, "x", Schema()).target.classes
    assert len(told) == 1  # any mark would be a class
    named = parse_csv(text, form=CsvFormat(missing=(mark,)))
    assert infer_features(named, Schema(), "y")[0].categories == ("a", "b")
    assert missing_rows(named, "x").tolist() == [True, False, False]


def test_a_declared_category_keeps_its_marks():
    declared = Schema.of({"features": [{"name": "x", "type": "category"}]}, "s")
    table = parse_csv("x,y\n1,0\nNA,0\n")
    assert infer_features(table, declared, "y")[0].categories == ("1", "NA")


@pytest.mark.parametrize("cell", ["none", "nil", "NA!", "#DIV/0!", "no", "0x1", "n"])
def test_a_text_that_may_mean_something_else_is_no_mark(cell):
    assert not is_gap(cell)
    with pytest.raises(DataError, match=f"row 20: got '{cell}', expected a number as in 19 other"):
        infer_type(parse_csv("x,y\n" + "1,0\n" * 19 + f"{cell},0\n"), "x")


def test_a_named_mark_is_found_however_its_number_is_written():
    text = "x;y;c\n-9;1;-9\n-9.0;1;u\n 3;1; -9 \n"
    table = parse_csv(text, form=CsvFormat(missing=("-9",)))
    assert values(table, "float64") == [None, None, 3.0]
    assert list(table.column("c")) == ["", "u", ""]


@pytest.mark.parametrize(
    "cells, message",
    [
        (["1"] * 5 + ["see note"] * 3, "3 of 8 texts are not numeric, first 'see note' in row 6"),
        (["1"] * 2 + ["<5"] * 8, "8 of 10 texts are not numeric, first '<5' in row 3"),
        (["007", "12", "13"], "1 of 3 texts start with 0, first '007'"),
        (["2026-01-01", "2026-01-02", "x"], "2 of 3 texts are dates or times, as '2026-01-01'"),
        (["1/2/2026", "1/3/2026"], "2 of 2 texts are dates"),
        (["2026-01-01T10:00:00Z", "2026-01-01 10:00:00.5"], "2 of 2 texts are dates"),
        (["03-Feb-26", "1 March 2026"], "2 of 2 texts are dates"),
        (["1,234", "5,678"], "2 of 2 texts look like numbers, as '1,234'"),
        (["12%", "13 %", "x"], "2 of 3 texts look like numbers, as '12%'"),
        (["€5", "<3", "$1,000.50"], "3 of 3 texts look like numbers"),
        ([f"p{i}" for i in range(40)], "nearly every row has its own text \\(40 of 40 differ\\)"),
    ],
)
def test_a_doubtful_category_is_warned_of(cells, message):
    text = "y,x\n" + "".join(f'1,"{cell}"\n' for cell in cells)
    with pytest.warns(DataWarning, match=f"column 'x' is read as a category.*{message}"):
        (feature,) = infer_features(parse_csv(text), Schema(), "y")
    assert feature.type == FeatureType.CATEGORY
    declared = Schema.of({"features": [{"name": "x", "type": "category"}]}, "s")
    infer_features(parse_csv(text), declared, "y")  # what is declared is in no doubt


@pytest.mark.parametrize("cells", [["a", "b", "1"] * 40 + ["c"] * 999, ["1st", "b"], ["5-9", "9+"]])
def test_a_plain_category_is_not_warned_of(cells):
    text = "y,x\n" + "".join(f"1,{cell}\n" for cell in cells)
    assert infer_features(parse_csv(text), Schema(), "y")[0].type == FeatureType.CATEGORY


def test_t_and_f_are_booleans_in_features_and_texts_in_targets():
    table = parse_csv("x,y\nt,t\nf,f\n,t\n")
    with pytest.warns(DataWarning, match="t and f are read as true and false in column .x.;"):
        assert infer_features(table, Schema(), "y")[0].type == FeatureType.BOOLEAN
    assert values(table, "boolean") == [True, False, None]
    assert infer_target(table, "y", Schema()).target.classes == ("f", "t")
    declared = Schema.of({"features": [{"name": "x", "type": "category"}]}, "s")
    assert infer_features(table, declared, "y")[0].categories == ("f", "t")
    for cells in ("t\nt", "T\nF", "t\nf\nx"):
        table = parse_csv("y\n" + cells.replace("\n", "\n") + "\n")
        assert infer_features(table, Schema(), "z")[0].type == FeatureType.CATEGORY


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "Unnamed: 0.1"])
def test_a_row_number_is_left_out_and_said(name):
    table = parse_csv(f"{name},x,y\n2,a,1\n0,b,2\n7,a,1\n")
    with pytest.warns(DataWarning, match=f"column '{name}' only numbers the rows and is left out"):
        assert [f.name for f in infer_features(table, Schema(), "y")] == ["x"]
    if name:
        declared = Schema.of({"features": [{"name": name}]}, "s")
        assert [f.name for f in infer_features(table, declared, "y")] == [name, "x"]
        repeated = parse_csv(f"{name},x,y\n2,a,1\n2,b,2\n")
        assert [f.name for f in infer_features(repeated, Schema(), "y")] == [name, "x"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "Unnamed: 0.1"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_row_number_of_a_csv_is_left_out_of_a_frame_too(name, frame):
    def features(cells):
        table = Table.of(frame({name: cells, "x": ["a", "b", "a"], "y": [1, 2, 1]}))
        return [f.name for f in infer_features(table, Schema(), "y")]

    with pytest.warns(DataWarning, match=f"column '{name}' only numbers the rows and is left out"):
        assert features([2, 0, 7]) == ["x"]
    if name:
        assert features([2, 2, 7]) == features([2.5, 0.5, 7.5]) == [name, "x"]


# --- files, pipes and what is no CSV


def _zipped(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, "x")
    return out.getvalue()


TEXT = "x,y\n1,é\n"
FOREIGN = {
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-32": TEXT.encode("utf-32"),
    "UTF-16 text": TEXT.encode("utf-16-be"),
    "an Excel workbook": _zipped("xl/workbook.xml"),
    "a zip archive": _zipped("t.csv"),
    "xz": lzma.compress(b"x,y"),
    "bzip2": bz2.compress(b"x,y"),
    "zstd": b"\x28\xb5\x2f\xfd\x04",
    "gzip twice": gzip.compress(gzip.compress(b"x,y\n")),
    "an old Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "ORC": b"ORC\x11",
    "an Arrow": b"ARROW1\0\0",
    "a Feather": b"FEA1",
    "HDF5": b"\x89HDF\r\n\x1a\n",
    "a pickle": pickle.dumps(pd.DataFrame({"x": [1]})),
    "NumPy": b"\x93NUMPY\x01",
    "JSON": json.dumps([{"x": 1}]).encode(),
    "JSON;": b' {\n "x": 1}',
    "HTML": b"<!DOCTYPE html><p>log in</p>",
    "XML": b'<?xml version="1.0"?>',
    "a PDF": b"%PDF-1.7",
    "SPSS": b"$FL2@(#)",
    "Stata": b"<stata_dta>",
    "a binary": b"x,y\n\0\0\n",
    "an R": gzip.compress(b"RDX3\nX\n"),
    "Parquet, compressed": gzip.compress(b"PAR1"),
    "PyTorch|model of mbndt": (DATA / "model_0_1.pt").read_bytes(),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_no_csv_is_named_with_a_way_out(tmp_path, what):
    path = tmp_path / "data.csv"
    path.write_bytes(FOREIGN[what])
    with pytest.raises(DataError, match=f"data.csv: .*({what})") as told:
        read_table(path)
    assert "\n" not in str(told.value)


def test_another_encoding_is_never_guessed_but_can_be_named(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("x,y\n1,a\n2,Müller\n".encode("cp1252"))
    with pytest.raises(
        DataError, match=r"not UTF-8 text at byte 11, line 3; if '2,Müller'.*cp1252"
    ):
        read_table(path)
    assert read_table(path, form=CsvFormat(encoding="cp1252")).column("y")[1] == "Müller"
    path.write_bytes(TEXT.encode("utf-16"))
    assert list(read_table(path, form=CsvFormat(encoding="utf-16")).column("y")) == ["é"]


def test_options_of_a_csv_are_refused_elsewhere(tmp_path):
    duckdb.sql("SELECT 1 AS x").write_parquet(str(tmp_path / "t.parquet"))
    with pytest.raises(OptionError, match=r"^missing: is for CSV, and .* is Parquet"):
        read_table(tmp_path / "t.parquet", form=CsvFormat(missing=("NA",)))


def through_fifo(tmp_path: Path, data: bytes, query: str | None = None) -> Table:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    try:
        return read_table(path, query)
    finally:
        writer.join(5)


BIG = "x,y\n" + "".join(f"{i},{i}\n" for i in range(100_000))


@pytest.mark.parametrize("packed", [str.encode, lambda text: gzip.compress(text.encode())])
def test_a_pipe_loses_no_row(tmp_path, packed):
    table = through_fifo(tmp_path, packed(BIG))
    assert table.n_rows == 100_000
    assert table.column("x")[0] == "0"


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "sqlite"])
def test_a_file_that_needs_a_place_is_read_from_a_pipe_and_leaves_nothing(
    tmp_path, kind, monkeypatch
):
    path, query = tmp_path / f"t.{kind}", "SELECT * FROM t"
    if kind == "parquet":
        duckdb.sql("SELECT range AS x FROM range(30000)").write_parquet(str(path))
        query = None
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as base:
            base.execute("CREATE TABLE t AS SELECT range AS x FROM range(30000)")
    else:
        with sqlite3.connect(path) as base:
            base.execute(
                "CREATE TABLE t AS WITH RECURSIVE r(x) AS (SELECT 0 UNION ALL SELECT"
                " x + 1 FROM r WHERE x < 29999) SELECT x FROM r"
            )
        base.close()
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    table = through_fifo(tmp_path, path.read_bytes(), query)
    assert (table.n_rows, table.source) == (30_000, str(tmp_path / "pipe"))
    (tmp_path / "pipe").unlink()
    with pytest.raises(DataError) as told:
        through_fifo(tmp_path, path.read_bytes()[:400], query)
    assert str(spool) not in str(told.value)
    assert not [*spool.iterdir()]


@pytest.mark.parametrize("name", ["model_0_1.pt", "rules_0_1.json", "example.rules.json"])
def test_a_model_comes_from_a_pipe_as_from_a_file(tmp_path, name):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = (DATA / name).read_bytes()
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    rules = load(path)
    assert rules == load(DATA / name)
    assert with_rules(path, rules) == rules.to_json().encode()


def mbndt(*words: object, data: bytes) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from mbndt.cli.main import main; main()", *map(str, words)]
    return subprocess.run(command, input=data, capture_output=True, timeout=300)


ROWS = "respiratory rate,lactate,on oxygen,AVPU,y\n" + "".join(
    f"{8 + i % 30},{i % 7}.5,{'true' if i % 3 else 'false'},alert,{'home' if i % 2 else 'ward'}\n"
    for i in range(60)
)
EXAMPLE = DATA / "example.rules.json"


@pytest.mark.parametrize(
    "words",
    [
        ["train", "-", "--target", "y", "-o", "OUT", "--preset", "fast"],
        [
            "tune",
            "-",
            "--target",
            "y",
            "-o",
            "OUT",
            "--minutes",
            "1",
            "--trials",
            "1",
            "--folds",
            "2",
            "--preset",
            "fast",
        ],
        ["refine", EXAMPLE, "-", "--target", "y"],
        ["predict", EXAMPLE, "-"],
        ["verify", EXAMPLE, "--data", "-", "--target", "python", "--rows", "10"],
        ["round", EXAMPLE, "--decimals", "0", "--data", "-"],
        ["show", EXAMPLE, "--metrics", "--data", "-"],
    ],
    ids=lambda words: words[0],
)
def test_a_dash_is_stdin_for_each_command(tmp_path, words):
    words = [tmp_path / "m.pt" if word == "OUT" else word for word in words]
    (tmp_path / "rows.csv").write_text(ROWS)
    done = mbndt(*words, data=ROWS.encode())
    assert done.returncode == 0, done.stderr
    if words[0] not in ("train", "tune", "refine"):  # they take longer
        again = [tmp_path / "rows.csv" if word == "-" else word for word in words]
        assert mbndt(*again, data=b"").stdout == done.stdout
    wrong = mbndt(*words, data=ROWS.encode("utf-16"))
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"mbndt: error: stdin: UTF-16 text")
    assert wrong.stderr.count(b"\n") == 1


def test_reading_options_hold_on_the_command_line(tmp_path):
    text = ROWS.replace(",", ";").replace(".5", ",5").replace(";0,5;", ";XX;")
    done = mbndt(
        "predict",
        EXAMPLE,
        "-",
        "--separator",
        ";",
        "--decimal",
        ",",
        "--missing",
        "XX",
        "--encoding",
        "utf-16",
        data=text.encode("utf-16"),
    )
    plain = mbndt("predict", EXAMPLE, "-", data=ROWS.replace(",0.5,", ",,").encode())
    assert (done.stdout, done.stderr) == (plain.stdout, b"")
    assert done.returncode == 0


def test_marks_that_were_named_in_training_hold_wherever_the_rules_go(tmp_path):
    rows = "".join(
        f"{-9 if i % 3 else i},{'k' if i % 2 else '--'},{i % 3 > 0}\n" for i in range(90)
    )
    data = ("x,c,y\n" + rows).encode()
    words = [
        "train",
        "-",
        "--target",
        "y",
        "-o",
        tmp_path / "m.pt",
        "--preset",
        "fast",
        "--missing",
        "-9",
        "--missing",
        "--",
    ]
    done = mbndt(*words, data=data)
    assert done.returncode == 0, done.stderr
    rules = load(tmp_path / "m.pt")
    assert known_marks(rules) == ("-9", "--")
    (x,) = rules.used
    assert x.name == "x"
    plain = parse_csv(data.decode(), form=CsvFormat(missing=("-9",)))
    expected = predictions_csv(rules, predict(rules, plain))
    assert mbndt("predict", tmp_path / "m.pt", "-", data=data).stdout.decode() == expected
    assert expected != predictions_csv(rules, predict(rules, parse_csv(data.decode())))
    (tmp_path / "m.py").write_text(emit(rules, "python").text)
    script = subprocess.run([sys.executable, tmp_path / "m.py"], input=data, capture_output=True)
    assert script.stdout.decode() == expected


# --- the Python target's script


@pytest.fixture(scope="module")
def scripts():
    """Return a way to run a compiled module's script without a process for each."""

    def run(rules, text: str, *words: str) -> tuple[str, str]:
        space: dict = {"__name__": "compiled"}
        exec(compile(emit(rules, "python").text, "compiled.py", "exec"), space)
        out, err = io.StringIO(newline=""), io.StringIO()
        space["sys"].argv, before = ["compiled.py", *words], sys.argv
        try:
            space["_script"](text, space["_options"](), out, err)
        finally:
            sys.argv = before
        return out.getvalue(), err.getvalue()

    return run


def cells_of(kind: FeatureType, decimal: str):
    """Return cells that mostly fit a column, now and then one that doesn't."""
    odd = st.sampled_from(["x", "1.234", "1,234", "2,5", "1.5"])
    if kind == FeatureType.CATEGORY:
        return st.sampled_from(["a", "b", "x", "NA", "1,5", "1.5", ""])
    if kind == FeatureType.BOOLEAN:
        return st.sampled_from(["t", "f", "true", "FALSE", "1", "0", "x", "", "NA", "\\N"])
    marks = st.sampled_from([*MARKS, "", " ", "x"])
    if kind == FeatureType.INTEGER:
        return st.integers(-200, 200).map(str) | marks
    number = st.floats(-200, 200).map(lambda x: f"{x:.2f}".replace(".", decimal))
    return st.integers(0, 9).flatmap(lambda i: odd if not i else marks if i < 3 else number)


@given(rule_trees(), dialects, st.data())
def test_a_script_answers_what_predict_answers(scripts, rules, dialect, data):
    names = [feature.name for feature in rules.features] or ["x"]
    kinds = [feature.type for feature in rules.features] or [FeatureType.CATEGORY]
    decimal = data.draw(st.sampled_from(".,"))
    row = st.tuples(*(cells_of(kind, decimal) for kind in kinds))
    rows = data.draw(st.lists(row, max_size=4))
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows([names, *rows])
    words = data.draw(st.sampled_from([(), ("--decimal", ","), ("--missing", "x")]))
    form = CsvFormat(decimal="," if "," in words else None, missing=("x",) if "x" in words else ())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = parse_csv(out.getvalue(), form=form)
            expected = predictions_csv(rules, predict(rules, table))
        except DataError:
            with pytest.raises(ValueError, match=r"\w"):
                scripts(rules, out.getvalue(), *words)
            return
    found, said = scripts(rules, out.getvalue(), *words)
    assert found == expected
    assert said.count("warning") == len({str(w.message) for w in told})


def test_a_script_reads_one_column_and_options(tmp_path):
    path = tmp_path / "compiled.py"
    path.write_text(emit(chain(1), "python").text)
    name = chain(1).used[0].name

    def run(text: bytes, *words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-I", path, *words]
        return subprocess.run(command, input=text, capture_output=True)

    done = run(f"{name}\n100.0625\n\nNA\n".encode())
    assert done.stdout.count(b"\n") == 4
    assert f"warning: column {name!r}: cells read as missing: 1 of 'NA'" in done.stderr.decode()
    first, second, third = done.stdout.splitlines()[1:]
    assert second == third != first
    words = ("--encoding", "utf-16", "--decimal", ",", "--separator", "|", "--missing", "-")
    same = run(f"{name}|z\n100,0625|1\n-|1\n".encode("utf-16"), *words)
    assert same.stdout.splitlines()[1:] == [first, second]
    assert same.stderr == b""


def test_the_reading_part_of_a_script_runs_on_the_oldest_python():
    source = emit(chain(1), "python").text
    assert "zip(*chunk)" in source
    assert [*csv_rows("x\n\n1\n", ",")] == [["x"], [""], ["1"]]


def test_a_named_mark_that_no_cell_has_is_told(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,a\n-9.0,b\n")
    with pytest.warns(DataWarning, match=r"data\.csv: `missing` 'MISING' is in no cell"):
        read_table(path, form=CsvFormat(missing=("MISING", "-9")))


def test_marks_of_a_gap_in_the_column_to_learn_would_be_classes_and_are_told():
    table = parse_csv("x,y\n1,a\n2,NA\n3,b\n4,?\n")
    with pytest.warns(DataWarning, match="1 cells hold the text") as told:
        infer_target(table, "y", Schema())
    assert [str(each.message).split("text ")[1][:4] for each in told] == ["'?';", "'NA'"]


def test_mysqls_doubled_backslashes_are_told():
    table = parse_csv("x,y\na\\\\b,1\nc,2\n")
    with pytest.warns(DataWarning, match=r"1 cells hold a doubled backslash, as MySQL"):
        infer_features(table, Schema(), "y")


def test_a_few_named_ranges_are_categories_without_a_word():
    cells = ["<100", "100 to 200", "<100", "200 to 500", ">500", "none"] * 10
    table = parse_csv("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    assert infer_features(table, Schema(), "y")[0].type == FeatureType.CATEGORY


def test_columns_of_t_and_f_are_told_of_together():
    table = parse_csv("a,b,y\nt,f,1\nf,t,2\n")
    with pytest.warns(DataWarning, match="in columns 'a', 'b'; `schema`") as told:
        infer_features(table, Schema(), "y")
    assert len(told) == 1
