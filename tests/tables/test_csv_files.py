"""CSV texts: every dialect, mark and encoding is read as it was meant, or refused by name."""

import csv
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from csv_texts import MARKS, dialects, word
from hypothesis import given
from hypothesis import strategies as st

from mbndt.errors import DataError, DataWarning, OptionError
from mbndt.rules import Feature, FeatureType
from mbndt.rules.csv_rows import is_gap
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.csv_format import CsvFormat
from mbndt.tables.files import read_table
from mbndt.tables.schema import Schema, infer_features, infer_type
from mbndt.tables.table import Table
from mbndt.tables.target import infer_target, missing_rows
from mbndt.tables.text_columns import NULLS

DATA = Path(__file__).parents[1] / "data"
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


@given(dialects, st.integers(1, 4), st.data())
def test_what_the_csv_module_writes_is_read_back_cell_by_cell(dialect, width, data):
    names = [f"c{i}" for i in range(width)]
    row = st.lists(word, min_size=width, max_size=width)
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
    with pytest.warns(DataWarning, match="t and f are read as true and false in column 'x';"):
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
