"""The two interpreters agree on whole random trees, and on what is right by hand."""

import pytest
from hypothesis import given, settings
from strategies import chain, many_intervals, rule_trees

from mbndt.errors import DataError
from mbndt.interpreter import leaf_ids, leaf_of, predict
from mbndt.table import Table, parse_csv
from mbndt.verify import boundary_rows


@settings(max_examples=100)
@given(rule_trees(hostile=True))
def test_row_by_row_and_whole_columns_agree(rules):
    table = boundary_rows(rules, 30)
    rows = list(table.records(rules.used))
    assert [leaf_of(rules, row) for row in rows] == leaf_ids(rules, table).tolist()


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
