"""Stops: no answer where too few training rows bear a missing or unlisted value out."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import counted, rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.errors import RulesError
from mbndt.interpreter import leaf_ids, leaf_of
from mbndt.rules import Leaf, NumericSplit, Rules, SetSplit
from mbndt.rules.stopping import only_stops, stopping
from mbndt.rules.values import branch_of, read_value


def thin(rows: int | None, least: int) -> bool:
    return least > 0 if rows is None else rows < least


def thin_way(rules: Rules, row: dict[str, object], least: int, features: list[str]) -> bool:
    """Walk a row and tell whether it meets a way that must stop, by the definition's own words."""
    node = rules.root
    while not isinstance(node, Leaf):
        value = read_value(rules.feature[node.feature].type, row[node.feature])
        if value is None and (node.feature in features or thin(node.missing_rows, least)):
            return True
        listed = isinstance(node, NumericSplit) or any(value in g.values for g in node.groups)
        if value is not None and not listed:
            assert isinstance(node, SetSplit)
            if thin(node.unseen_rows, least):
                return True
        node = node.children[branch_of(node, value)]
    return False


@settings(max_examples=60)
@given(rules=rule_trees(stops=False), least=st.integers(0, 9), data=st.data())
def test_a_row_stops_just_where_its_way_is_thin_and_keeps_its_leaf_otherwise(rules, least, data):
    rules = counted(rules, data.draw)
    names = [feature.name for feature in rules.features]
    stated = data.draw(st.lists(st.sampled_from(names), unique=True))
    stopped = stopping(rules, least, stated)
    assert Rules.from_json(stopped.to_json()) == stopped
    table = boundary_rows(rules, 60)
    rows = list(table.records(rules.features))
    for row, leaf in zip(rows, leaf_ids(stopped, table).tolist(), strict=True):
        assert leaf == leaf_of(stopped, row)
        if thin_way(rules, row, least, stated):
            assert stopped.leaves[leaf].stops
        else:
            assert stopped.leaves[leaf] == rules.leaves[leaf_of(rules, row)]


def test_rules_that_never_answer_are_refused(example: Rules) -> None:
    with pytest.raises(RulesError, match="root: no leaf answers"):
        replace(example, root=Leaf(0, None))
    assert only_stops(Leaf(0, None))
    assert not only_stops(example.root)
