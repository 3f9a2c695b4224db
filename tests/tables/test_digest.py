"""Rows are known again in any order, and told from all others."""

import numpy as np
from drawn_tables import mixed_table
from hypothesis import given
from hypothesis import strategies as st

from mbndt.rules.json import read_target
from mbndt.tables.digest import digest, row_hashes
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.table import Table
from mbndt.tables.target import Labels, Values, infer_target

WHOLE = mixed_table(60)
FEATURES = infer_features(WHOLE, Schema(), "y")
TARGET = read_target({"name": "y", "type": "string", "classes": ["no", "yes"]}, "classification")


def of(table, features=FEATURES):
    outcome = infer_target(table, "y", Schema(target={"classes": ["no", "yes"]}))
    return digest(row_hashes({feature: table.typed(feature) for feature in features}, outcome))


def test_neither_the_order_of_rows_nor_that_of_columns_matters():
    mixed = WHOLE.take(np.random.default_rng(0).permutation(60))
    assert of(mixed) == of(WHOLE) == of(WHOLE, FEATURES[::-1])
    assert len(of(WHOLE)) == 16


def test_any_changed_cell_shows():
    for name in [*WHOLE.columns]:
        column = list(WHOLE.columns[name])
        other = next(i for i in range(60) if repr(column[i]) != repr(column[0]))
        column[0] = column[other]
        assert of(Table.of({**WHOLE.columns, name: column})) != of(WHOLE), name


def test_a_value_that_moves_to_another_row_or_column_shows():
    x = {"a": [1, 2, 3], "b": [3, 1, 1], "y": ["no", "yes", "no"]}
    base = Table.of(x)
    features = infer_features(base, Schema(), "y")
    swapped = Table.of({**x, "a": [2, 1, 3]})
    turned = Table.of({**x, "a": x["b"], "b": x["a"]})
    assert len({of(table, features) for table in (base, swapped, turned)}) == 3


def test_rows_add_up_and_repeats_count():
    first, rest = WHOLE.take(np.arange(20)), WHOLE.take(np.arange(20, 60))
    total = (int(of(first), 16) + int(of(rest), 16)) % 2**64
    assert f"{total:016x}" == of(WHOLE)
    assert of(WHOLE.take(np.array([0, 0]))) != of(WHOLE.take(np.array([0])))


@given(st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=5))
def test_zeros_of_both_signs_are_one_and_other_numbers_differ(values):
    def numbers(each):
        target = read_target({"name": "y", "type": "float64"}, "regression")
        return digest(row_hashes({}, Values(target, np.array(each))))

    assert numbers(values) == numbers([0.0 if v == 0 else v for v in values])
    assert numbers(values) != numbers([np.nextafter(values[0], np.inf), *values[1:]])


def test_classes_count_by_their_label_not_by_their_place():
    turned = read_target(
        {"name": "z", "type": "string", "classes": ["yes", "no"]}, "classification"
    )
    one, two = Labels(TARGET, np.array([0, 1, 1])), Labels(turned, np.array([1, 0, 0]))
    other = Labels(TARGET, np.array([0, 0, 1]))
    found = [digest(row_hashes({}, each)) for each in (one, two, other)]
    assert found[0] == found[1] != found[2]
