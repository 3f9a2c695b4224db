"""SQL of deep trees and wide splits, run in DuckDB and SQLite."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from sql_engines import ENGINES, MISREAD, TYPES, Engine
from sql_rules import X, nesting, one_split, sql
from strategies import (
    chain,
    many_intervals,
    regression,
    rule_trees,
)

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.interpreter import predict
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)
from mbndt.tables.table import Table


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("depth", [9, 10, 11, 12, 32, 33, 50, 500])
def test_a_deep_tree_answers_as_the_interpreter(dialect, depth):
    rules = chain(depth)
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 300)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found


@pytest.mark.parametrize("dialect", [*ENGINES, "postgres", "tsql"])
def test_path_conditions_grow_with_the_leaves_and_not_with_their_depth(dialect):
    short, long = (len(sql(chain(depth), dialect=dialect)) for depth in (100, 400))
    assert long < 4.5 * short


@pytest.mark.parametrize("dialect", ENGINES)
def test_path_conditions_answer_as_the_interpreter(dialect, monkeypatch):
    nesting(monkeypatch, 1)

    @settings(max_examples=25)
    @given(rule_trees(depth=6))
    @case(many_intervals())
    @case(regression())
    @case(chain(12))
    def agree(rules):
        found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 60)])
        assert found.mismatches == 0, found
        assert found.engine, found

    agree()


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_deep_tree_of_splits_with_one_child_needs_no_case(dialect):
    node = Leaf(0, 1.5)
    for _ in range(60):
        node = NumericSplit("x", (Interval(0.0, 0), Interval(None, 0)), 0, (node,))
    rules = Rules("narrow", Target("y", TargetType.FLOAT64), (X,), node)
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 9)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found


@pytest.mark.parametrize("missing", [0, 1])
def test_path_conditions_keep_nan_from_the_open_end(missing, monkeypatch):
    """The child of missing values is the largest, so that no test comes before its own."""
    nesting(monkeypatch, 1)
    inputs = (X, Feature("z", FeatureType.FLOAT64))
    bushy = NumericSplit(
        "z", (Interval(0.0, 0), Interval(None, 1)), missing, (Leaf(0, 0.0), Leaf(1, 1.0))
    )
    parts = (Interval(0.0, 0), Interval(None, 1))
    rules = Rules(
        "nan",
        Target("y", TargetType.FLOAT64),
        inputs,
        NumericSplit("x", parts, 0, (bushy, Leaf(2, 2.0))),
    )
    with Engine("duckdb") as engine:
        engine.fill({"x": [math.nan, 1.0, -1.0], "z": [math.nan] * 3}, TYPES_OF(inputs))
        assert [row[-1] for row in engine.rows(sql(rules))] == [missing, 2, missing]


@pytest.mark.parametrize("dialect", ENGINES)
def test_path_conditions_tell_all_numbers_from_missing_values(dialect, monkeypatch):
    nesting(monkeypatch, 1)
    bushy = replace(one_split(Feature("z", FeatureType.FLOAT64), [0.0]).root, missing=0)
    leaves = tuple(Leaf(k + 1, leaf.value) for k, leaf in enumerate(bushy.children))
    root = NumericSplit(
        "x", (Interval(None, 0),), 1, (Leaf(0, (1.0, 0.0)), replace(bushy, children=leaves))
    )
    rules = Rules(
        "all numbers",
        Target("y", TargetType.STRING, ("no", "yes")),
        (X, Feature("z", FeatureType.FLOAT64)),
        root,
    )
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 60)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found


def TYPES_OF(features):  # noqa: N802
    return {feature.name: TYPES[feature.type] for feature in features}


@pytest.mark.parametrize("dialect", ENGINES)
def test_conditions_fit_the_engine_at_the_depth_where_nesting_ends(dialect):
    """Inside a view, with literals as quotients, and ranges that need brackets."""
    depth = sql_dialects.dialect(dialect).nesting
    cuts = [*MISREAD, 20.0, 30.0]
    node = Leaf(0, 0.0)
    for level in range(depth):
        # The long way comes first, within the longest condition.
        parts = tuple(Interval(t, k % 2) for k, t in enumerate([*sorted(cuts), None]))
        node = NumericSplit("x", parts, 0, (node, Leaf(level + 1, float(level + 1))))
    rules = Rules(
        "nested", Target("y", TargetType.FLOAT64), (Feature("x", FeatureType.FLOAT32),), node
    )
    assert rules.depth == depth
    with Engine(dialect) as engine:
        data = engine.fill_for(rules)
        engine.rows(sql(rules, dialect=dialect, **{"as": "view"}))
        assert sql(rules, dialect=dialect).count("CASE") >= depth
        answers = engine.rows('SELECT "leaf" FROM "nested" ORDER BY "id"')
    assert [row[0] for row in answers] == predict(rules, data).leaf.tolist()


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_thousand_intervals_to_two_children_are_one_condition(dialect):
    cuts = [float(i) for i in range(3000)]
    parts = tuple(Interval(t, k % 2) for k, t in enumerate([*cuts, None]))
    leaves = (Leaf(0, (0.5, 0.5)), Leaf(1, (0.25, 0.75)))
    split = NumericSplit("x", parts, 1, leaves)
    rules = Rules("comb", Target("y", TargetType.INTEGER, (0, 1)), (X,), split)
    table = Table.of({"x": np.arange(-1, 3001, 0.5)})
    assert check(rules, "sql", {"dialect": dialect}, [table]).mismatches == 0
