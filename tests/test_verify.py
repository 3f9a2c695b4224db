"""Boundary rows reach every branch at its ends, and mismatches are counted and shown."""

import math

import numpy as np
import pytest
from hypothesis import given
from strategies import chain, regression, rule_trees, single_leaf

from mbndt.emitters import TARGETS, emitter_class
from mbndt.emitters.python import Python
from mbndt.errors import EngineMissing, OptionError, TargetError
from mbndt.interpreter import leaf_ids
from mbndt.rules import Feature, FeatureType
from mbndt.table import Table
from mbndt.verify import boundary_rows, special_values, verify


def test_rows_reach_every_leaf_and_every_end_of_the_example(example):
    table = boundary_rows(example, 1)
    assert set(leaf_ids(example, table)) == {leaf.leaf for leaf in example.leaves}
    lactate = table.column("lactate")
    assert {2.15, math.nextafter(2.15, 0), math.nextafter(2.15, 9), math.inf, None} <= set(lactate)
    assert {8, 9, 10, 20, 21, 22, 24, 25, 26, None} <= set(table.column("respiratory rate"))
    assert {"alert", "never seen", "ALERT", "", None} <= set(table.column("AVPU"))
    assert {False, True, None} == set(table.column("on oxygen"))


def test_rows_reach_the_bottom_of_a_deep_tree():
    rules = chain(50)
    assert set(leaf_ids(rules, boundary_rows(rules, 1))) == set(range(51))


@given(rule_trees(hostile=True))
def test_no_random_row_finds_a_leaf_that_boundary_rows_miss(rules):
    reached = set(leaf_ids(rules, boundary_rows(rules, 1)))
    draw = np.random.default_rng(0)
    pools = {
        feature.name: special_values(feature, rules.thresholds(feature)) for feature in rules.used
    }
    rows = {
        name: [pool[i] for i in draw.integers(0, len(pool), 300)] for name, pool in pools.items()
    }
    assert not rows or set(leaf_ids(rules, Table.of(rows))) <= reached


def test_float32_values_meet_the_points_where_rounding_turns():
    values = special_values(Feature("x", FeatureType.FLOAT32), [0.1])
    near = np.float32(0.1)
    below = np.nextafter(near, np.float32(0))
    middle = (float(near) + float(below)) / 2
    assert {float(near), float(below), middle, math.nextafter(middle, 1)} <= set(values)


def test_rows_asked_for_are_made():
    assert boundary_rows(single_leaf(), 17).rows == 17
    assert boundary_rows(chain(3), 500).rows >= 500
    with pytest.raises(OptionError, match="--rows"):
        verify(chain(3), rows=0)


def test_a_missing_engine_and_a_refusal_are_told_not_hidden(example, monkeypatch):
    def no_engine(self):
        raise EngineMissing("no such thing here")

    monkeypatch.setattr(Python, "engine", no_engine)
    (check,) = verify(example, targets=["python"], rows=1)
    assert (check.outcome, check.rows, check.note) == ("not run", 0, "no such thing here")

    def refuse(self, rules):
        raise TargetError("too odd")

    monkeypatch.undo()
    monkeypatch.setattr(Python, "emit", refuse)
    (check,) = verify(example, targets=["python"], rows=1)
    assert (check.outcome, check.note) == ("refused", "too odd")


@pytest.mark.parametrize("change", ["leaf", "label", "type", "probability"])
def test_any_difference_counts(example, monkeypatch, change):
    run = Python.run

    def wrong(self, artifact, table):
        found = run(self, artifact, table)
        if change == "leaf":
            found.leaf[3] += 1
        elif change == "label":
            found.prediction[3] = "elsewhere"
        elif change == "type":
            found.prediction[3] = np.str_(found.prediction[3])
        else:
            found.probabilities[3, 0] = np.nextafter(found.probabilities[3, 0], 2)
        return found

    monkeypatch.setattr(Python, "run", wrong)
    (check,) = verify(example, targets=["python"], rows=20)
    assert (check.outcome, check.mismatches) == ("differs", 1)
    assert check.first is not None


def test_an_engine_that_breaks_off_is_a_failure_after_all_that_was_found(example, monkeypatch):
    run = Python.run

    def breaking(self, artifact, table):
        found = run(self, artifact, table)
        if table.rows == 1:
            raise TargetError("broken\noff")
        found.leaf[3] += 1
        return found

    monkeypatch.setattr(Python, "run", breaking)
    table = Table.of({"respiratory rate": [1], "lactate": [2], "on oxygen": [1], "AVPU": ["x"]})
    (check,) = verify(example, table, targets=["python"], rows=20)
    assert (check.outcome, check.mismatches) == ("failed", 1)
    assert check.note == "TargetError: broken off"


@pytest.mark.parametrize("target", ["c", "onnx"])
def test_rows_with_the_integer_that_stands_for_missing_are_left_out_and_told(target):
    rules = regression()
    table = Table.of({"x": [0.0, 0.0, None], "n": [-(2**63), 5, None]})
    for check in verify(rules, table, targets=[target], rows=10):
        if check.outcome != "refused":
            assert check.outcome == "agrees", check
            assert check.note.startswith("1 rows left out")


def test_data_rows_are_compared_too(example):
    table = Table.of({"respiratory rate": [1], "lactate": [2], "on oxygen": [1], "AVPU": ["x"]})
    (alone,) = verify(example, targets=["python"], rows=10)
    (both,) = verify(example, table, targets=["python"], rows=10)
    assert both.rows == alone.rows + 1


def test_every_target_names_its_variants():
    assert all(emitter_class(target).variants for target in TARGETS)
    assert {emitter_class(target).target for target in TARGETS} == set(TARGETS)
