"""Types are inferred from all values, and a schema's word goes first."""

import json

import numpy as np
import pandas as pd
import pytest
from csv_texts import cell_is, meant_type, texts
from hypothesis import given
from hypothesis import strategies as st

from mbndt.errors import DataError, OptionError
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.schema import Schema, infer_features, infer_type
from mbndt.tables.table import Table


def csv_column(*cells: str) -> Table:
    return parse_csv("x,y\n" + "".join(f'"{cell}",1\n' for cell in cells))


@pytest.mark.parametrize(
    "cells, kind",
    [
        (["1", "2", ""], "integer"),
        (["1", "2.0"], "float64"),
        (["1e3", "-inf", "nan"], "float64"),
        (["true", "False", ""], "boolean"),
        (["a", "b", "1"], "category"),
        (["007", "012"], "category"),
        (["0", "10"], "integer"),
        (["9223372036854775808"], "float64"),
        (["9223372036854775807", "-9223372036854775808"], "integer"),
        (["-9223372036854775809"], "float64"),
        (["1" * 5000], "float64"),
        (["", ""], "float64"),
        (["yes", "no"], "category"),
        (["true", "1"], "category"),
        (["NA", "b"], "category"),
    ],
)
def test_a_csv_columns_type(cells, kind):
    assert infer_type(csv_column(*cells), "x") == kind


@pytest.mark.parametrize(
    "values, kind",
    [
        (np.array([1, 2]), "integer"),
        (np.array([1.0, 2.0]), "float64"),
        (np.array([1.0], np.float32), "float32"),
        (np.array([True]), "boolean"),
        ([True, None], "boolean"),
        ([1, None], "integer"),
        ([1, 2.5], "float64"),
        (["a", None], "category"),
        ([None, None], "float64"),
        (pd.array([1, None], "Int64"), "integer"),
        (pd.Categorical(["a"]), "category"),
        ([10**20, 1], "float64"),
        ([1.0, None], "integer"),
        ([1.5, None], "float64"),
        ([-(2.0**63), None], "integer"),
        ([2.0**63, None], "float64"),
        ([float("inf"), None], "float64"),
        ([float("nan"), None], "float64"),
        ([1.0, True], None),
    ],
)
def test_a_frame_columns_type(values, kind):
    if kind is None:
        with pytest.raises(DataError, match=r"column 'x', row 1: got 1\.0 of type float"):
            infer_type(Table.of({"x": values}), "x")
        return
    assert infer_type(Table.of({"x": values}), "x") == kind


@given(st.lists(texts, max_size=4), st.sampled_from([0, 12, 30]))
def test_a_csv_columns_type_is_that_of_its_cells(cells, numbers):
    cells = [*cells, *["4"] * numbers]
    table = Table({"x": cells}, len(cells), text=True)
    kind = meant_type(cells)
    if kind is not None:
        assert infer_type(table, "x") == kind
        return
    filled = [cell.strip() for cell in cells if cell.strip()]
    numbers = sum(cell_is("float64", cell) for cell in filled)
    gaps = ("", "nan", "na")
    row = 1 + next(
        i
        for i, c in enumerate(cells)
        if c.strip().lower() not in gaps and not cell_is("float64", c)
    )
    with pytest.raises(DataError, match=rf"row {row}: got .* as in {numbers} other rows"):
        infer_type(table, "x")


def test_categories_are_found_in_rising_order():
    table = parse_csv("x,y\nb,1\n a,1\n,1\nb,1\nNA,1\n")
    assert infer_features(table, Schema(), "y")[0].categories == (" a", "NA", "b")
    declared = Schema.of({"features": [{"name": "x", "type": "category"}]}, "s")
    with pytest.raises(DataError, match="column 'x', row 2: got 3, expected text"):
        infer_features(Table.of({"x": ["a", 3]}), declared, "y")


def test_a_stray_text_among_numbers_is_named():
    with pytest.raises(DataError, match="column 'x', row 20: got 'see note', expected a number"):
        infer_type(csv_column(*["1"] * 19, "see note"), "x")


@pytest.mark.parametrize("values", [[1, "a"], [True, 1], [pd.Timestamp("2026-01-01")], [b"a"]])
def test_a_mixed_frame_column_is_refused_with_its_row(values):
    with pytest.raises(DataError, match="column 'x', row 1"):
        infer_type(Table.of({"x": values}), "x")


def test_a_schema_adds_units_and_overrules_types():
    schema = Schema.of(
        {
            "features": [
                {"name": "x", "type": "category", "unit": "grade"},
                {"name": "z", "label": "the third"},
            ]
        },
        "s",
    )
    table = parse_csv("x,y,z\n1,0,2.5\n2,1,\n")
    x, z = infer_features(table, schema, "y")
    assert (x.type, x.categories, x.unit) == ("category", ("1", "2"), "grade")
    assert (z.type, z.label) == ("float64", "the third")
    with pytest.raises(DataError, match="'age'"):
        infer_features(table, Schema.of({"features": [{"name": "age"}]}, "s"), "y")


@pytest.mark.parametrize(
    "found, message",
    [
        ([], "expected an object"),
        ({"feature": []}, "did you mean 'features'"),
        ({"features": {}}, "a list of objects"),
        ({"features": [{"type": "float64"}]}, "'name'"),
        ({"target": 3}, "target"),
        ({"features": [{"name": "x"}, {"name": "x"}]}, "duplicate feature 'x'"),
    ],
)
def test_a_wrong_schema_is_refused(found, message):
    with pytest.raises(OptionError, match=message):
        Schema.of(found, "s.json")


def test_schemas_are_read_from_json_and_toml(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps({"features": [{"name": "x", "unit": "kg"}]}))
    (tmp_path / "s.toml").write_text('[[features]]\nname = "x"\nunit = "kg"\n')
    assert Schema.read(tmp_path / "s.json") == Schema.read(tmp_path / "s.toml")
    (tmp_path / "bad.toml").write_text("x = [")
    for name in ("bad.toml", "none.json"):
        with pytest.raises(OptionError, match=name):
            Schema.read(tmp_path / name)
