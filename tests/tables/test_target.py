"""The column to learn: its task, its classes or values, its gaps and weights."""

import numpy as np
import pandas as pd
import pytest
from csv_texts import meant_type, texts
from hypothesis import given
from hypothesis import strategies as st

from mbndt.errors import DataError, MbndtError, OptionError, RulesError
from mbndt.rules import TargetType
from mbndt.rules.values import is_missing
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.schema import Schema
from mbndt.tables.table import Table
from mbndt.tables.target import (
    Labels,
    Values,
    infer_labels,
    infer_target,
    missing_rows,
    read_weights,
)


def csv_column(*cells: str) -> Table:
    return parse_csv("x,y\n" + "".join(f'"{cell}",1\n' for cell in cells))


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


@pytest.mark.parametrize("values", [["1.5", "2"], ["1", "inf"], ["1", "1e30"]])
def test_numbers_that_are_no_classes_are_refused(values):
    table = Table({"y": values}, 2, text=True)
    row = 1 if values[0] == "1.5" else 2
    with pytest.raises(
        MbndtError,
        match=rf"column 'y', row {row}: got .*expected a class: a text,"
        ".* `task` regression",
    ):
        infer_target(table, "y", Schema(), "classification")


def test_the_type_of_declared_classes_is_the_targets():
    schema = Schema.of({"target": {"classes": ["2", "1"]}}, "s")
    assert infer_labels(parse_csv("y\n1\n2\n"), "y", schema).codes.tolist() == [1, 0]
    flags = Schema.of({"target": {"type": "boolean"}}, "s")
    assert infer_labels(Table.of({"y": [0, 1]}), "y", flags).target.classes == (False, True)
    with pytest.raises(DataError, match="row 2: got 2, expected false or true"):
        infer_labels(Table.of({"y": [0, 2]}), "y", flags)
    for kind in ("strin", ["string"]):
        with pytest.raises(RulesError, match=r"target\.type"):
            infer_target(Table.of({"y": [0, 1]}), "y", Schema.of({"target": {"type": kind}}, "s"))
    with pytest.raises(OptionError, match=r"target\.name: got 'z', expected 'y'"):
        infer_target(Table.of({"y": [0.5]}), "y", Schema.of({"target": {"name": "z"}}, "s"))


WHOLE_FEW = [i % 20 for i in range(40)]
WHOLE_MANY = [i % 21 for i in range(42)]


@pytest.mark.parametrize(
    "values, task",
    [
        (["a", "b"], "classification"),
        ([f"text {i}" for i in range(30)], "classification"),
        ([True, False], "classification"),
        (WHOLE_FEW, "classification"),
        ([float(i) for i in WHOLE_FEW], "classification"),
        (WHOLE_MANY, "regression"),
        ([float(i) for i in WHOLE_MANY], "regression"),
        ([1, 2.5], "regression"),
        ([1.0, 1e30], "regression"),
        ([2**62 + 1024 * i for i in range(30)], "regression"),
    ],
)
def test_a_task_is_told_by_the_targets_values(values, task):
    cells = [str(value) for value in values]
    tables = [
        Table.of({"y": values}),
        Table.of({"y": np.array(values)}),
        Table({"y": cells}, len(cells), text=True),
    ]
    for table in tables:
        found = infer_target(table, "y", Schema())
        if task == "classification":
            assert isinstance(found, Labels)
            labels = [found.target.classes[code] for code in found.codes]
            assert labels == values
            continue
        assert isinstance(found, Values)
        assert found.target.type == TargetType.FLOAT64
        assert found.target.classes == ()
        assert found.values.dtype == np.float64
        assert found.values.tolist() == values


def test_leading_zeros_are_classes_unless_a_regression_is_asked():
    table = Table({"y": [f"{i:03}" for i in range(30)]}, 30, text=True)
    assert infer_target(table, "y", Schema()).target.classes[7] == "007"
    assert infer_target(table, "y", Schema(), "regression").values[7] == 7.0


def test_a_schema_and_a_task_decide_before_the_values():
    table = Table.of({"y": WHOLE_MANY})

    def task(target, asked="auto"):
        found = infer_target(
            table, "y", Schema.of({"target": target} if target else {}, "s"), asked
        )
        return "regression" if isinstance(found, Values) else "classification"

    assert task({}, "classification") == "classification"
    assert task({"type": "integer"}) == "classification"
    assert task({"classes": list(range(21))}) == "classification"
    assert task({"unit": "kg"}) == "regression"
    table = Table.of({"y": WHOLE_FEW})
    assert task({}, "regression") == "regression"
    assert task({"type": "float64"}) == "regression"
    found = infer_target(table, "y", Schema.of({"target": {"unit": "kg"}}, "s"), "regression")
    assert found.target.unit == "kg"
    with pytest.raises(OptionError, match=r"^task: got 'regression', but .* classification"):
        task({"type": "integer"}, "regression")
    with pytest.raises(OptionError, match=r"^task: got 'regression', but .* classification"):
        task({"classes": [0, 1]}, "regression")
    with pytest.raises(OptionError, match=r"^task: got 'classification', but .* regression"):
        task({"type": "float64"}, "classification")
    with pytest.raises(OptionError, match=r"^task: got 'regresion'; did you mean 'regression'"):
        task({}, "regresion")


@pytest.mark.parametrize(
    "values, message",
    [
        (["1", "a"], "row 2: got 'a', expected a number"),
        (["1", "true"], "row 2: got 'true', expected a number"),
        (["1.5", "1e400"], "row 2: got '1e400', expected a number from -1e\\+150 to 1e\\+150"),
        (["1.5", "-inf"], "row 2: got '-inf', expected a number from"),
        (["1.5", "1e151"], "row 2: got '1e151', expected a number from"),
        (["1.5", ""], "row 2: got '', expected a number from"),
    ],
)
def test_what_is_no_value_of_a_regression_is_named(values, message):
    with pytest.raises(DataError, match=f"column 'y', {message}"):
        infer_target(Table({"y": values}, 2, text=True), "y", Schema(), "regression")


@pytest.mark.parametrize("values", [[1.5, np.inf], np.array([1.5, np.inf]), [1.5, 10**400]])
def test_overflowing_values_of_a_frame_are_named(values):
    with pytest.raises(
        DataError, match=r"column 'y', row 2: got (inf|10+\.\.\.), expected a number"
    ):
        infer_target(Table.of({"y": values}), "y", Schema(), "regression")


def test_a_class_is_asked_of_each_row():
    with pytest.raises(DataError, match=r"column 'y', row 2: got None, expected a class$"):
        infer_labels(Table.of({"y": ["a", None]}), "y", Schema())
    with pytest.raises(DataError, match=r"column 'y', row 2: got nan, expected a class$"):
        infer_labels(Table.of({"y": np.array([1.0, np.nan])}), "y", Schema())


def test_more_than_a_thousand_classes_are_refused():
    names = [f"name {i}" for i in range(1001)]
    assert len(infer_target(Table.of({"y": names[:1000]}), "y", Schema()).target.classes) == 1000
    with pytest.raises(DataError, match="column 'y' has 1001 classes, expected at most 1000"):
        infer_target(Table.of({"y": names}), "y", Schema())


def test_rows_left_out_count_in_a_targets_errors():
    table = parse_csv("y\n1.5\nx\n1e999\n").take(np.array([0, 2]))
    with pytest.raises(DataError, match="column 'y', row 3: got '1e999'"):
        infer_target(table, "y", Schema())


def test_missing_targets_are_told():
    assert missing_rows(parse_csv("y,x\na,1\n,2\n"), "y").tolist() == [False, True]
    assert missing_rows(Table.of({"y": [None, 1.0]}), "y").tolist() == [True, False]
    assert missing_rows(Table.of({"y": ["", "nan"]}), "y").tolist() == [True, False]
    assert missing_rows(parse_csv("y,x\n1,\nNaN,\n ,\n"), "y").tolist() == [False, True, True]
    assert missing_rows(parse_csv("y,x\nb,\nNaN,\n ,\n"), "y").tolist() == [False, False, True]


@given(st.lists(texts, max_size=5))
def test_missing_cells_of_a_target_are_told_cell_by_cell(cells):
    table = Table({"y": cells}, len(cells), text=True)
    plain = [cell.strip().lower() for cell in cells]
    others = any(text not in ("", "nan", "na") for text in plain)
    numbers = others and meant_type(cells) not in (None, "category")
    expected = [text == "" or (numbers and text in ("nan", "na")) for text in plain]
    assert missing_rows(table, "y").tolist() == expected


CLASSES_Y = {
    "list of ints": [1, 0, 1],
    "list of texts": ["b", "a", "b"],
    "int array": np.array([1, 0, 1], np.int32),
    "float array": np.array([1.0, 0.0, 1.0], np.float32),
    "bool array": np.array([True, False, True]),
    "text array": np.array(["b", "a", "b"]),
    "object array of bools": np.array([True, False, True], object),
    "int64 series": pd.Series([1, 0, 1]),
    "Int64 series": pd.Series([1, 0, 1], dtype="Int64"),
    "float series": pd.Series([1.0, 0.0, 1.0]),
    "Float64 series": pd.Series([1.0, 0.0, 1.0], dtype="Float64"),
    "boolean series": pd.Series([True, False, True], dtype="boolean"),
    "string series": pd.Series(["b", "a", "b"], dtype="string"),
    "text series": pd.Series(["b", "a", "b"]),
    "category series": pd.Series(["b", "a", "b"], dtype="category"),
    "number category series": pd.Series([1, 0, 1], dtype="category"),
    "object series of bools": pd.Series([True, False, True], dtype=object),
    "object series of ints": pd.Series([1, 0, 1], dtype=object),
}


@pytest.mark.parametrize("kind", CLASSES_Y)
def test_classes_of_every_container(kind):
    y = CLASSES_Y[kind]
    table = Table.of({"y": y})
    assert not missing_rows(table, "y").any()
    found = infer_target(table, "y", Schema())
    assert isinstance(found, Labels)
    assert found.codes.tolist() == [1, 0, 1]
    assert [found.target.classes[code] for code in found.codes] == list(y)
    assert all(type(label) in (str, int, bool) for label in found.target.classes)
    if not hasattr(y, "iloc"):
        return
    gaps = Table.of({"y": y.reindex([0, 5, 1, 2])})
    assert missing_rows(gaps, "y").tolist() == [False, True, False, False]
    kept = infer_target(gaps.take(~missing_rows(gaps, "y")), "y", Schema())
    assert kept.target == found.target
    assert kept.codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        [1.5, 2.0],
        np.array([1.5, 2.0], np.float32),
        np.array([1.5, 2.0], object),
        pd.Series([1.5, 2.0]),
        pd.Series([1.5, 2.0], dtype="Float64"),
        pd.Series([1.5, 2.0], dtype=object),
    ],
)
def test_values_of_every_container(y):
    gaps = Table.of({"y": pd.Series(y).reindex([0, 5, 1])})
    assert missing_rows(gaps, "y").tolist() == [False, True, False]
    for table in (Table.of({"y": y}), gaps.take(~missing_rows(gaps, "y"))):
        found = infer_target(table, "y", Schema())
        assert isinstance(found, Values)
        assert found.values.tolist() == [1.5, 2.0]


def test_polars_targets_are_taken():
    polars = pytest.importorskip("polars")
    for values in ([1, None, 0], [True, None, False], ["b", None, "a"], [1.0, None, 0.0]):
        table = Table.of({"y": polars.Series(values)})
        missing = missing_rows(table, "y")
        assert missing.tolist() == [False, True, False]
        assert infer_target(table.take(~missing), "y", Schema()).codes.tolist() == [1, 0]
    table = Table.of({"y": polars.Series([1.5, 2.0])})
    assert infer_target(table, "y", Schema()).values.tolist() == [1.5, 2.0]


@given(st.lists(st.sampled_from([None, "", "a", "b", float("nan")]), min_size=1))
def test_labels_of_texts_with_gaps_are_read_value_by_value(values):
    table = Table.of({"y": values})
    missing = missing_rows(table, "y")
    assert missing.tolist() == [is_missing(value) or value == "" for value in values]
    kept = [value for value, gone in zip(values, missing, strict=True) if not gone]
    if kept:
        found = infer_target(table.take(~missing), "y", Schema())
        assert found.target.classes == tuple(sorted(set(kept)))
        assert [found.target.classes[code] for code in found.codes] == kept


def test_weights_are_read():
    weights = read_weights(parse_csv("w,x\n1,a\n0,b\n2.5,c\n"), "w")
    assert weights.dtype == np.float64
    assert weights.tolist() == [1.0, 0.0, 2.5]
    assert read_weights(Table.of({"w": np.array([1, 2])}), "w").tolist() == [1.0, 2.0]


@pytest.mark.parametrize("cell", ["-1", "inf", "1e400", "", "nan", "-1e-300"])
def test_a_wrong_weight_is_named(cell):
    with pytest.raises(DataError, match=f"row 2: got '{cell}', expected a finite weight of 0"):
        read_weights(parse_csv(f"w,x\n1,a\n{cell},b\n"), "w")


def test_weights_are_numbers_and_not_all_zero():
    with pytest.raises(DataError, match="column 'w', row 1: got True, expected a number"):
        read_weights(Table.of({"w": [True, False]}), "w")
    with pytest.raises(DataError, match="column 'w': all weights are zero"):
        read_weights(Table.of({"w": [0.0, -0.0]}), "w")
    with pytest.raises(DataError, match=r"column 'w', row 1: got -1\.0, expected a finite weight"):
        read_weights(Table.of({"w": np.array([-1.0, 1.0])}), "w")
