"""What differs between two rules is all that differs, each input once, told by the interpreter."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import chain, rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.errors import OptionError
from mbndt.interpreter import leaf_ids
from mbndt.measures.changes import RISK_MOVED, Change, Changes, join, told
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
from mbndt.rules.boxes import equivalent
from mbndt.tables.table import Table

LABELS = Target("y", TargetType.STRING, ("no", "yes"))


def cut(at, low=0.2, high=0.8, name="x", kind=FeatureType.FLOAT64, target=LABELS):
    """Return rules of one split, with the risk of "yes" below it and from it on."""
    ends = [Leaf(i, (1 - p, p), risk=(1 - p, p)) for i, p in enumerate((low, high))]
    root = NumericSplit(name, (Interval(at, 0), Interval(None, 1)), 1, tuple(ends))
    return Rules("r", target, (Feature(name, kind),), root)


def both(old, new):
    """Return rows that lie on and beside every threshold of two rules, as a table."""
    tables = [boundary_rows(rules, 60) for rules in (old, new)]
    names = {f.name: f for rules in (old, new) for f in rules.features}
    lengths = [table.n_rows for table in tables]
    columns = {
        name: [
            value
            for table, n in zip(tables, lengths, strict=True)
            for value in (table.column(name) if name in table else [None] * n)
        ]
        for name in names
    }
    return Table(columns, sum(lengths))


def of_one_kind(kind):
    trees = rule_trees(depth=2, kinds=(kind,))
    return st.tuples(trees, trees)


@given(st.sampled_from(FeatureType).flatmap(of_one_kind))
def test_every_row_whose_answer_changes_lies_in_one_part_and_no_other_row_does(pair):
    old, new = pair
    found = Changes.between(old, new)
    table = both(old, new)
    ids = [leaf_ids(rules, table) for rules in (old, new)]
    for i in range(table.n_rows):
        ends = [rules.leaves[leaf[i]] for rules, leaf in zip((old, new), ids, strict=True)]
        labels = [r.label(end) for r, end in zip((old, new), ends, strict=True)]
        counts, moved = found.rows(table.take(np.array([i])))
        assert sum(counts) + sum(moved) <= 1
        (before, one), (after, other) = ((type(label), label) for label in labels)
        assert sum(counts) == ((before, one) != (after, other))
        if sum(counts):
            (part,) = (c for c, n in zip(found.answers, counts, strict=True) if n)
            assert list(part.labels) == labels
        if sum(moved):
            (part,) = (c for c, n in zip(found.risks, moved, strict=True) if n)
            assert abs(part.risks[0] - part.risks[1]) > RISK_MOVED
    assert (not found.answers) == (equivalent(old, new) is None)


@given(rule_trees())
def test_rules_do_not_differ_from_themselves(rules):
    found = Changes.between(rules, rules)
    assert (found.answers, found.risks, [*told(rules, rules)]) == ((), (), [])


def test_a_threshold_that_moves_changes_what_lies_between():
    found = Changes.between(cut(65.0), cut(70.0))
    (part,) = found.answers
    assert part.labels == ("yes", "no")
    assert part.risks == (0.8, 0.2)
    assert found.rows(Table({"x": [64.9, 65.0, 69.9, 70.0, None]}, 5)) == ([2], [])


def test_a_risk_that_moves_by_more_than_one_in_a_hundred_is_told_of():
    found = Changes.between(cut(65.0), cut(65.0, low=0.205, high=0.85))
    assert found.answers == ()
    assert [(part.labels, part.risks) for part in found.risks] == [(("yes", "yes"), (0.8, 0.85))]


def test_parts_that_differ_in_one_feature_alone_become_one():
    places = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1)]
    whole = join({"x": x, "y": y} for x, y in places)
    assert len(whole) == 2
    cells = [
        (x, y) for box in whole for x in (1, 2, 4) for y in (1, 2) if box["x"] & x and box["y"] & y
    ]
    assert sorted(cells) == sorted(places)


def test_inputs_of_another_type_are_refused_by_name():
    with pytest.raises(OptionError, match="'x': float64 in one, integer in the other"):
        Changes.between(cut(1.0), cut(1.0, kind=FeatureType.INTEGER))


def test_what_is_asked_for_and_predicted_is_told_of():
    new = cut(1.0, name="z")
    ends = [replace(leaf, value=(*leaf.value, 0.0), risk=(*leaf.risk, 0.0)) for leaf in new.leaves]
    target = replace(LABELS, classes=("no", "yes", "perhaps"), unit="mg")
    new = replace(new, target=target, root=replace(new.root, children=tuple(ends)))
    assert [*told(cut(1.0), new)] == [
        "target unit: none becomes 'mg'",
        "class 'perhaps' is new",
        "event: 'yes' becomes none",
        "input 'x' is gone",
        "input 'z' is new",
    ]
    assert isinstance(Changes.between(cut(1.0), new).answers[0], Change)


def test_many_leaves_are_compared_in_no_time():
    assert Changes.between(chain(50), chain(49)).answers
