"""Pruned rules route every raw row as the pruned network does, also rows never seen."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from drawn_tables import mixed_table

from mbndt.conformance.boundary import special_values
from mbndt.interpreter import leaf_ids, leaf_of
from mbndt.learning.network.encoding import fit_encoder, typed_columns
from mbndt.learning.network.frozen import Shape
from mbndt.learning.network.pruning import prune, surviving
from mbndt.learning.network.tree import freeze, initial
from mbndt.rules import Group, Interval, Leaf, NumericSplit
from mbndt.rules.boxes import answer, equivalent
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.table import Table
from mbndt.tables.target import infer_labels

SEEDS = range(12)


def drawn(seed: int, branching: int = 3, depth: int = 3, rows: int = 120):
    """Return a random network over a mixed table, its encoder, and the rules pruned from it."""
    table = mixed_table(rows, seed)
    features = infer_features(table, Schema(), "y")
    labels = infer_labels(table, "y", Schema())
    typed = typed_columns(table, features)
    encoder, _ = fit_encoder(features, typed, labels.codes, np.random.default_rng(seed))
    shape = Shape(depth, branching, len(encoder.columns))
    torch.manual_seed(seed)
    params = initial(shape, 1, seed)
    params["selector"] += torch.randn_like(params["selector"])
    params["base"] += 0.5 * torch.randn_like(params["base"])
    params["masks"] += 2 * torch.randn_like(params["masks"])
    # Each leaf's output is its own number, so that a leaf of the rules names its network leaf.
    params["leaves"] = torch.arange(float(shape.leaves)).view(1, -1, 1)
    network = freeze(params, shape, 0.3)
    scores = encoder.encode(typed)

    def make_leaf(leaf, outputs, rows):
        return Leaf(leaf, (0.5, 0.5), counts=(int(outputs[0]), len(rows)))

    rules = prune(network, encoder, scores, features, labels.target, make_leaf)
    return network, encoder, rules, table, scores


def strange_rows(rules, seed: int, rows: int = 4000) -> Table:
    """Return random mixes of values at and around every threshold, unseen and missing ones."""
    draw = np.random.default_rng(seed)
    columns = {}
    for feature in rules.features:
        cuts = rules.thresholds(feature)
        pool = special_values(feature, cuts)
        if feature.type == "float64":
            around = [cut for cut in cuts for _ in range(8)]
            steps = np.array([-4, -3, -2, -1, 1, 2, 3, 4] * len(cuts))
            keys = np.array(around).view(np.int64) + steps
            pool += keys.view(np.float64).tolist()
        if feature.type.numeric and feature.type != "integer":
            pool += draw.normal(0, 50, 200).tolist() + draw.normal(size=200).tolist()
        if feature.type == "integer":
            pool += draw.integers(-5, 40, 60).tolist()
        index = draw.integers(0, len(pool), rows)
        columns[feature.name] = [pool[i] for i in index]
    return Table.of(columns)


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_route_every_raw_row_as_the_pruned_network(seed):
    network, encoder, rules, table, scores = drawn(seed, branching=2 + seed % 4)
    alive = surviving(network, scores)
    of_leaf = np.array([leaf.counts[0] for leaf in rules.leaves])
    for rows in (table, strange_rows(rules, seed)):
        _, expected = network.route(encoder.encode(typed_columns(rows, rules.features)), alive)
        assert np.array_equal(of_leaf[leaf_ids(rules, rows)], expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_leaf_holds_the_training_rows_that_reach_it(seed):
    network, _, rules, table, scores = drawn(seed)
    found = np.bincount(leaf_ids(rules, table), minlength=len(rules.leaves))
    assert found.tolist() == [leaf.counts[1] for leaf in rules.leaves]
    assert found.min() > 0
    # Pruning changes no training row: they all take surviving branches.
    everything = np.ones((network.shape.nodes, network.shape.branching), bool)
    of_leaf = np.array([leaf.counts[0] for leaf in rules.leaves])
    assert np.array_equal(of_leaf[leaf_ids(rules, table)], network.route(scores, everything)[1])


def test_redirected_branches_are_recorded():
    parts: list[Interval | Group] = []
    for seed in SEEDS:
        rules = drawn(seed)[2]
        for split in rules.splits:
            parts += split.intervals if isinstance(split, NumericSplit) else split.groups
    sources = [part.redirected_from for part in parts if part.redirected_from is not None]
    assert len(sources) > 3
    assert all(0 <= source < 3 for source in sources)


def test_one_hot_columns_become_splits_on_the_categories():
    splits = [split for seed in SEEDS for split in drawn(seed)[2].splits]
    colours = [split for split in splits if split.feature == "colour"]
    assert colours
    for split in colours:
        values = [value for group in split.groups for value in group.values]
        assert sorted(values) == ["blue", "green", "grey", "red"]


def rewritten(rules, change):
    """Return rules with `change` made to each of their splits."""

    def node(old):
        if isinstance(old, Leaf):
            return old
        return change(replace(old, children=tuple(node(child) for child in old.children)))

    return replace(rules, root=node(rules.root))


def told_apart(rules):
    """Return rules each leaf of which answers with its own id."""
    values = [(1.0 - i / 1000, i / 1000) for i in range(len(rules.leaves))]
    numbered = iter(values)

    def node(old):
        if isinstance(old, Leaf):
            return replace(old, value=next(numbered))
        return replace(old, children=tuple(node(child) for child in old.children))

    return replace(rules, root=node(rules.root))


def joined(split):
    """Return a split whose neighbouring intervals to one child are one; groups likewise."""
    if isinstance(split, NumericSplit):
        parts = split.intervals
        kept = [
            p
            for p, following in zip(parts, [*parts[1:], None], strict=True)
            if following is None or following.to != p.to
        ]
        return replace(split, intervals=tuple(Interval(p.below, p.to) for p in kept))
    members = {}
    for group in split.groups:
        members.setdefault(group.to, []).extend(group.values)
    return replace(split, groups=tuple(Group(tuple(v), to) for to, v in members.items()))


def test_intervals_and_groups_to_one_child_joined_answer_every_input_alike():
    shorter = 0
    for seed in SEEDS:
        rules = told_apart(drawn(seed)[2])
        merged = rewritten(rules, joined)
        assert equivalent(rules, merged, exact=True) is None
        count = [
            sum(len(s.intervals) for s in each.splits if isinstance(s, NumericSplit))
            for each in (rules, merged)
        ]
        shorter += count[1] < count[0]
    assert shorter  # redirected intervals beside the branch that took them


def elsewhere(split):
    """Return a split whose redirected parts lead to the next child."""

    def to_next(part):
        far = part.redirected_from is not None
        return replace(part, to=(part.to + 1) % len(split.children)) if far else part

    if isinstance(split, NumericSplit):
        return replace(split, intervals=tuple(map(to_next, split.intervals)))
    return replace(split, groups=tuple(map(to_next, split.groups)))


def test_a_redirect_to_another_branch_is_seen_with_a_row_that_shows_it():
    seen = 0
    for seed in SEEDS:
        rules = told_apart(drawn(seed)[2])
        moved = rewritten(rules, elsewhere)
        row = equivalent(rules, moved, exact=True)
        if row is None:
            table = strange_rows(rules, seed)
            assert np.array_equal(leaf_ids(rules, table), leaf_ids(moved, table))
            continue
        row = dict.fromkeys(rules.feature) | row
        leaves = [each.leaves[leaf_of(each, row)] for each in (rules, moved)]
        assert answer(rules, leaves[0], True) != answer(moved, leaves[1], True)
        seen += 1
    assert seen > 2
