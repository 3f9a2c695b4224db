"""Every leaf has the rows and the events that are asked for, counted from the rows."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_tables import mixed_table
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import rule_trees

from mbndt import MBNDTClassifier
from mbndt.conformance.boundary import boundary_rows
from mbndt.errors import OptionError
from mbndt.interpreter import leaf_ids
from mbndt.learning.aim import Aim
from mbndt.learning.enough import enough
from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.pipeline import learn
from mbndt.learning.refine.refine import refine_rules
from mbndt.learning.settings import Settings, preset
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Rules
from mbndt.rules.monotone import zigzags
from mbndt.tables.table import Table
from mbndt.tables.target import Labels, Values

FAST = preset("fast", restarts=0)
PAPER = preset("paper", restarts=1, first_epochs=8, epochs=10)


def sizes(rules: Rules, table: Table, event: object = None) -> list[tuple[int, int]]:
    """Return the rows and the events of each leaf, told by the interpreter."""
    leaf, y = leaf_ids(rules, table), np.asarray(table.column("y"))
    return [
        (int(np.sum(leaf == i)), int(np.sum(y[leaf == i] == event)))
        for i in range(len(rules.leaves))
    ]


@pytest.mark.parametrize("start", [FAST, replace(FAST, smoothing=0.0), PAPER])
@pytest.mark.parametrize("rows, events", [(None, 4), (25, None), (30, 12), (1, None), (140, None)])
def test_each_leaf_of_learned_rules_has_enough(start, rows, events):
    for seed in range(2):
        table = mixed_table(300, seed)
        rules = learn(table, "y", replace(start, min_rows=rows, min_events=events)).rules
        all_events = np.sum(np.asarray(table.column("y")) == "yes")
        assert rules.target.classes[rules.event] == "yes"
        for n, own in sizes(rules, table, "yes"):
            assert n >= (rows or 0)
            assert own >= (events or 0) or n * all_events >= events * 300
        assert rules.provenance.get("min_rows") == rows


def test_without_a_minimum_leaves_are_smaller():
    found = [
        n
        for seed in range(3)
        for n, _ in sizes(learn(mixed_table(300, seed), "y", FAST).rules, mixed_table(300, seed))
    ]
    assert min(found) < 25


def test_a_number_and_given_rules_keep_to_it_too():
    table = mixed_table(300)
    noise = np.random.default_rng(0).normal(0, 5, 300)
    x = np.array([0.0 if v is None else v for v in table.column("x")], float)
    table = replace(table, columns={**table.columns, "y": np.where(x > 50, x, 50) + noise})
    rules = learn(table, "y", replace(FAST, min_rows=40)).rules
    assert len(rules.leaves) > 1
    assert min(n for n, _ in sizes(rules, table)) >= 40
    small = learn(table, "y", FAST).rules
    assert min(n for n, _ in sizes(small, table)) < 40
    again = refine_rules(small, table, "y", preset("default", min_rows=40)).rules
    assert min(n for n, _ in sizes(again, table)) >= 40


def test_it_goes_with_an_order():
    table, aim = mixed_table(300), Aim(monotone={"x": "+"})
    rules = learn(table, "y", replace(FAST, min_rows=20), aim=aim).rules
    assert not zigzags(rules, "x")
    assert min(n for n, _ in sizes(rules, table)) >= 20


@given(rule_trees(), st.data())
@settings(deadline=None)
def test_any_rules_are_left_with_leaves_of_enough_rows(rules, data):
    if any(leaf.stops for leaf in rules.leaves):
        return
    table = boundary_rows(rules, 40)
    typed, n_rows, target = typed_columns(table, rules.features), table.n_rows, rules.target
    draw = np.random.default_rng(data.draw(st.integers(0, 9)))
    codes = draw.integers(0, max(1, len(target.classes)), n_rows)
    outcome = Labels(target, codes) if target.classes else Values(target, draw.random(n_rows))
    rows = TrainingSet(rules.features, typed, outcome, np.ones(n_rows))
    least, events = data.draw(st.integers(1, n_rows)), data.draw(st.sampled_from([None, 1, 3]))
    events = None if rows.event is None else events
    found = enough(rules, rows, Settings(min_rows=least, min_events=events))
    leaf = leaf_ids(found, table)
    sizes = np.bincount(leaf, minlength=len(found.leaves))
    if len(found.leaves) > 1:
        assert sizes.min() >= least
    same = leaf_ids(rules, table)
    if np.bincount(same, minlength=len(rules.leaves)).min() >= least and not events:
        assert found == rules
    again = enough(found, rows, Settings(min_rows=least, min_events=events))
    assert again == found


@pytest.mark.parametrize(
    "changes, target, message",
    [
        ({"min_rows": 301}, "y", "min_rows: got 301, expected at most 300, the training rows"),
        ({"min_events": 300}, "y", "min_events: got 300, expected at most .* rows of 'yes'"),
        ({"min_events": 3}, "colour", "min_events: 'colour' has 4 classes; name one as `event`"),
        ({"min_events": 3}, "single", "min_events: only for classes, and 'single' is a number"),
        ({"min_rows": 0}, "y", "min_rows: got 0, expected 1 to"),
    ],
)
def test_what_the_rows_cannot_hold_is_refused(changes, target, message):
    table = mixed_table(300)
    gaps = [v is None for v in table.column(target)]
    with pytest.raises(OptionError, match=message):
        learn(table.take(~np.array(gaps)) if any(gaps) else table, target, replace(FAST, **changes))


def test_the_estimators_take_them():
    X = np.random.default_rng(0).random((120, 1))
    y = (X[:, 0] > 0.4) & (X[:, 0] < 0.6)
    rules = MBNDTClassifier(preset="fast", restarts=0, min_rows=30, min_events=2).fit(X, y).rules_
    assert min(leaf.size for leaf in rules.leaves) >= 30
