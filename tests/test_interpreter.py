"""The two interpreters agree on whole random trees, and on what is right by hand."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from strategies import chain, many_intervals, rule_trees, single_leaf

from mbndt import interpreter
from mbndt.conformance.boundary import boundary_rows, special_values
from mbndt.errors import DataError
from mbndt.interpreter import leaf_ids, leaf_of, predict
from mbndt.rules import Feature, FeatureType, Interval, Leaf, NumericSplit, Rules
from mbndt.rules.values import read_value
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.table import Table


@settings(max_examples=100)
@given(rule_trees(hostile=True))
def test_row_by_row_and_whole_columns_agree(rules):
    table = boundary_rows(rules, 30)
    rows = list(table.records(rules.used))
    assert [leaf_of(rules, row) for row in rows] == leaf_ids(rules, table).tolist()


@pytest.mark.parametrize("many", [0, 10**9], ids=["own rows alone", "all rows"])
@pytest.mark.parametrize("few", [0, 10**9], ids=["searched", "one by one"])
def test_each_way_to_route_columns_agrees_with_row_by_row(many, few, monkeypatch):
    monkeypatch.setattr(interpreter, "MANY", many)
    monkeypatch.setattr(interpreter, "FEW", few)

    @settings(max_examples=50)
    @given(rule_trees())
    def agree(rules):
        table = boundary_rows(rules, 30)
        rows = list(table.records(rules.used))
        assert [leaf_of(rules, row) for row in rows] == leaf_ids(rules, table).tolist()

    agree()


def wide(leaves: int, falling: bool) -> Rules:
    """Return rules with a leaf for each interval, and the last one for missing values."""
    base = many_intervals(leaves - 1)
    ends = range(leaves - 1)[:: -1 if falling else 1]
    parts = tuple(replace(part, to=to) for part, to in zip(base.root.intervals, ends, strict=True))
    ends = tuple(Leaf(i, (0.5, 0.5)) for i in range(leaves))
    return replace(base, root=NumericSplit("x", parts, leaves - 1, ends))


@pytest.mark.parametrize("leaves", [17, 256, 257, 300])
@pytest.mark.parametrize("falling", [False, True])
def test_leaves_and_children_are_counted_past_a_byte(leaves, falling):
    rules = wide(leaves, falling)
    x = [*(math.nextafter(t, -math.inf) for t in rules.root.thresholds), 1e9]
    expected = [*range(leaves - 1)][:: -1 if falling else 1]
    assert leaf_ids(rules, Table.of({"x": [*x, None]})).tolist() == [*expected, leaves - 1]


@pytest.mark.parametrize("t", [0.1, 0.0, 1e-46, 3.4028234663852886e38, 3.40282351e38, 1e39, 1e300])
@pytest.mark.parametrize("sign", [1, -1])
def test_float32_columns_agree_with_row_by_row_out_to_the_ends_of_the_range(t, sign):
    base, feature = chain(1), Feature("x", FeatureType.FLOAT32)
    parts = (Interval(sign * t, 0), Interval(None, 1))
    rules = Rules("one", base.target, (feature,), NumericSplit("x", parts, 1, base.root.children))
    x = special_values(feature, [sign * t])
    for column in (x, np.array([math.nan if value is None else value for value in x])):
        expected = [leaf_of(rules, {"x": value}) for value in x]
        assert leaf_ids(rules, Table.of({"x": column})).tolist() == expected


@pytest.mark.parametrize("kind", [FeatureType.FLOAT64, FeatureType.FLOAT32])
@pytest.mark.parametrize("form", [np.float64, object, np.float32, "strided"])
def test_a_float_column_holds_the_values_and_leaves_the_data_alone(kind, form):
    special = [
        math.nan if x is None else x
        for x in special_values(Feature("x", kind), [0.1, 16777217.0, 1e39])
    ]
    if form == "strided":
        given = np.array([special, special]).T.copy()[:, 0]
    else:
        with np.errstate(over="ignore"):
            given = np.array(special).astype(form)
    before = given.copy()
    column = Table.of({"x": given}).typed(Feature("x", kind))
    some = np.array([3, 0, len(special) - 1])
    for found, cells in ((column, before), (column.take(some), before[some])):
        expected = [read_value(kind, float(cell)) for cell in cells]
        assert found.values.dtype == np.float64
        held = zip(found.values.tolist(), found.missing.tolist(), strict=True)
        assert [None if gone else value for value, gone in held] == expected
    assert np.array_equal(given.astype(float), before.astype(float), equal_nan=True)


def test_answers_are_python_values_and_one_leaf_answers_every_row(example):
    frame = pd.DataFrame({"x": np.arange(3.0)})
    assert predict(single_leaf(), Table.of(frame)).prediction == [False] * 3
    for rules in (example, many_intervals()):
        found = predict(rules, boundary_rows(rules, 50))
        assert {type(label) for label in found.prediction} == {type(rules.target.classes[0])}
        assert isinstance(found.prediction, list)
        assert found.leaf.dtype == np.int64


@pytest.mark.parametrize("rules", [chain(50), many_intervals()], ids=["deep", "wide"])
def test_they_agree_on_deep_and_wide_trees(rules):
    table = boundary_rows(rules, 500)
    rows = list(table.records(rules.used))
    assert [leaf_of(rules, row) for row in rows] == leaf_ids(rules, table).tolist()


@pytest.mark.parametrize(
    "row, leaf",
    [
        ((8, None, True, "alert"), 4),
        ((8, None, False, "voice"), 3),
        ((8, None, None, "voice"), 4),
        ((8, 0, True, "pain"), 5),
        ((8, 0, True, "Alert"), 5),
        ((8, 0, True, ""), 5),
        ((9, 0, True, "pain"), 0),
        ((20, 0, True, "pain"), 0),
        ((21, 2.15, True, "pain"), 2),
        ((24, 2.1499999999999995, True, "pain"), 1),
        ((24, float("nan"), True, "pain"), 1),
        ((25, 9, False, "alert"), 3),
        ((None, 9, False, "alert"), 2),
        ((float("nan"), float("inf"), False, "alert"), 2),
    ],
)
def test_the_example_is_read_as_the_contract_says(example, row, leaf):
    values = dict(zip([f.name for f in example.features], row, strict=True))
    assert leaf_of(example, values) == leaf
    assert leaf_ids(example, Table.of({k: [v] for k, v in values.items()})).tolist() == [leaf]


def test_labels_keep_their_type_and_probabilities_follow_the_leaf(example):
    found = predict(
        example, parse_csv("AVPU,lactate,on oxygen,respiratory rate,extra\nalert,1,0,9,x\n")
    )
    assert found.prediction == ["home"]
    assert found.probabilities.tolist() == [[0.75, 0.25, 0.0]]


def test_no_rows_give_no_answers(example):
    found = predict(example, parse_csv("AVPU,lactate,on oxygen,respiratory rate\n"))
    assert found.prediction == []
    assert found.probabilities.shape == (0, 3)


def test_a_wrong_value_is_never_routed(example):
    good = {"respiratory rate": 8, "lactate": 1, "on oxygen": True, "AVPU": "alert"}
    for name, value in (("respiratory rate", 8.5), ("lactate", "1"), ("on oxygen", 2), ("AVPU", 1)):
        row = good | {name: value}
        with pytest.raises(DataError, match=name):
            leaf_of(example, row)
        with pytest.raises(DataError, match=f"column '{name}', row 1"):
            leaf_ids(example, Table.of({k: [v] for k, v in row.items()}))
        del row[name]
        with pytest.raises(DataError, match=name):
            leaf_of(example, row)
        with pytest.raises(DataError, match=name):
            leaf_ids(example, Table.of({k: [v] for k, v in row.items()}))
