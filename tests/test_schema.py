"""Types are inferred from all values, and a schema's word goes first."""

import json

import numpy as np
import pandas as pd
import pytest

from mbndt.errors import DataError, MbndtError, OptionError
from mbndt.rules import TargetType
from mbndt.schema import Schema, infer_features, infer_labels, infer_type, missing_rows
from mbndt.table import Table, parse_csv


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
    ],
)
def test_a_frame_columns_type(values, kind):
    assert infer_type(Table.of({"x": values}), "x") == kind


def test_a_stray_text_among_numbers_is_named():
    with pytest.raises(DataError, match="column 'x', row 20: got 'n/a', expected a number"):
        infer_type(csv_column(*["1"] * 19, "n/a"), "x")


@pytest.mark.parametrize("values", [[1, "a"], [True, 1], [pd.Timestamp("2026-01-01")], [b"a"]])
def test_a_mixed_frame_column_is_refused_with_its_row(values):
    with pytest.raises(DataError, match="column 'x', row 1"):
        infer_type(Table.of({"x": values}), "x")


def test_a_schema_adds_units_and_overrules_types():
    schema = Schema.of(
        {"features": [
            {"name": "x", "type": "category", "unit": "grade"},
            {"name": "z", "label": "the third"},
        ]}, "s",
    )  # fmt: skip
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
        ({"features": [{"name": "x"}, {"name": "x"}]}, "'x' stands twice"),
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


@pytest.mark.parametrize(
    "values, kind, classes",
    [
        (["b", "a"], "string", ("a", "b")),
        ([1, 0], "integer", (0, 1)),
        ([1.0, 2.0], "integer", (1, 2)),
        ([True, False], "boolean", (False, True)),
    ],
)
def test_labels_keep_their_type_in_rising_order(values, kind, classes):
    labels = infer_labels(Table.of({"y": values}), "y", Schema())
    assert labels.target.type == TargetType(kind)
    assert labels.target.classes == classes
    assert [labels.target.classes[code] for code in labels.codes] == values


def test_digits_can_be_declared_texts_and_classes_ordered():
    schema = Schema.of({"target": {"type": "string", "classes": ["2", "1"]}}, "s")
    labels = infer_labels(parse_csv("y\n1\n2\n"), "y", schema)
    assert labels.codes.tolist() == [1, 0]
    with pytest.raises(DataError, match="column 'y', row 3: got '3'"):
        infer_labels(parse_csv("y\n1\n2\n3\n"), "y", schema)


def test_numbers_that_are_no_classes_are_refused():
    with pytest.raises(MbndtError, match=r"column 'y', row 1: got .*expected a class"):
        infer_labels(parse_csv("y\n1.5\n2\n"), "y", Schema())


def test_missing_targets_are_told():
    assert missing_rows(parse_csv("y,x\na,1\n,2\n"), "y").tolist() == [False, True]
    assert missing_rows(Table.of({"y": [None, 1.0]}), "y").tolist() == [True, False]
