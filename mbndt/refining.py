"""Rules made better and smaller over training rows: Rules in, Rules out.

The rules' splits become cuts over bins, exact re-splits improve them (`resplitting.py`), and the
best of several starts becomes rules over raw columns again, whose leaves are refitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbndt.binning import Axis, bin_table, bins_of, fit_axes
from mbndt.encoding import typed_columns
from mbndt.growing import best_ahead, grow, least_impurity
from mbndt.problem import Cut, Floats, Indices, Problem, Tree, merged
from mbndt.resplitting import improve
from mbndt.rows import Rows
from mbndt.rules import Leaf, Node, Rules
from mbndt.schema import Schema, infer_target
from mbndt.settings import Settings
from mbndt.smoothing import smoothed
from mbndt.table import Table

WIDE = 12  # axes that a start which looks ahead chooses among: its work grows with their square


@dataclass(frozen=True)
class Refined:
    """Refined rules, with the objective of the best start and of each start before and after."""

    rules: Rules
    before: tuple[float, ...]
    after: tuple[float, ...]


def refine(
    training: Rows,
    starts: Sequence[Rules],
    *,
    penalty: float,
    branching: int,
    depth: int,
    smoothing: float = 0.0,
    greedy: int = 0,
    exact: bool = False,
    seed: int = 0,
) -> Refined:
    """Refine the best of some starts: given rules, and `greedy` trees of our own.

    `penalty` charges an interval in rows of mean weight; `smoothing` is the share of the forest in
    the labels. `exact` keeps every threshold and category of the starts, so that the objective
    can't rise above theirs.
    """
    outcome = training.indicators()
    axes = fit_axes(training.features, training.typed, outcome, training.weights,
                    starts if exact else ())  # fmt: skip
    bins = bins_of(axes, training.typed, training.rows)
    outcome = smoothed(bins, outcome, training.weights, smoothing, seed)
    sizes = tuple(axis.size for axis in axes)
    problem = Problem(bins, sizes, training.goal(outcome), penalty, branching, depth)
    trees = [_from_rules(axes, rules, problem) for rules in starts]
    trees += _greedy(problem, greedy, seed)
    before = tuple(problem.objective(tree, problem.rows) for tree in trees)
    trees = [improve(problem, tree) for tree in trees]
    after = tuple(problem.objective(tree, problem.rows) for tree in trees)
    best = merged(problem, trees[int(np.argmin(after))], problem.rows)
    build = _Build(training, axes, problem, itertools.count())
    root = build.node(best, problem.rows)
    rules = Rules(training.target.name, training.target, training.features, root)
    return Refined(rules, before, after)


def _greedy(problem: Problem, count: int, seed: int) -> list[Tree]:
    """Return greedy trees: the plain one, one that looks ahead, then others of random axes."""
    draw = np.random.default_rng(seed)
    every = np.arange(len(problem.sizes))
    found: list[Tree] = []
    for i in range(count if len(every) else 0):
        split = best_ahead if i % 2 else least_impurity
        share = 1.0 if i < 2 else draw.uniform(0.3, 0.9)
        most = max(1, round(share * len(every)))
        if split is best_ahead:
            most = min(most, WIDE)
        axes = np.sort(draw.choice(every, most, replace=False))
        part = problem.among(axes)
        if i >= 2:
            part = replace(part, penalty=problem.penalty * np.exp(draw.uniform(-1.5, 1.5)))
        tree = grow(part, problem.rows, problem.depth, split)
        found.append(_renamed(tree, axes))
    return found


def _renamed(tree: Tree, axes: Indices) -> Tree:
    if not isinstance(tree, Cut):
        return tree
    children = tuple(_renamed(child, axes) for child in tree.children)
    return Cut(int(axes[tree.axis]), tree.to, children)


def _from_rules(axes: Sequence[Axis], rules: Rules, problem: Problem) -> Tree:
    place = {axis.feature.name: i for i, axis in enumerate(axes)}

    def tree(node: Node, rows: Indices) -> Tree:
        if isinstance(node, Leaf) or node.feature not in place or len(rows) == 0:
            return problem.goal.best(rows) if len(rows) else 0
        i = place[node.feature]
        to = bin_table(rules, node, axes[i])
        branch = to[problem.bins[i, rows]]
        children = tuple(tree(child, rows[branch == c]) for c, child in enumerate(node.children))
        return Cut(i, to, children)

    return tree(rules.root, problem.rows)


@dataclass(frozen=True)
class _Build:
    """The walk from a tree over bins to the nodes of rules."""

    training: Rows
    axes: Sequence[Axis]
    problem: Problem
    ids: itertools.count[int]

    def node(self, tree: Tree, rows: Indices) -> Node:
        if not isinstance(tree, Cut):
            return self.training.leaf(next(self.ids), rows, self.problem.goal)
        branch = self.problem.branch(tree, rows)
        children = tuple(
            self.node(child, rows[branch == i]) for i, child in enumerate(tree.children)
        )
        return self.axes[tree.axis].split(tree.to, children)


def refine_rules(
    rules: Rules, table: Table, target: str, settings: Settings, weights: Floats | None = None
) -> Refined:
    """Refine given rules over the rows of a table whose column `target` has the true answers.

    Every threshold of the rules stays a choice, so their objective can't rise; their depth is kept
    where it is above the settings' own. Raises `DataError` for rows that don't fit the rules.
    """
    known: dict[str, Any] = {"type": rules.target.type.value}
    if rules.target.classes:
        known |= {"classes": list(rules.target.classes)}
    outcome = infer_target(table, target, Schema(target=known), rules.task)
    outcome = replace(outcome, target=rules.target)
    weights = np.ones(table.rows) if weights is None else weights
    rows = Rows(rules.features, typed_columns(table, rules.features), outcome, weights,
                settings.class_weight == "balanced").take(np.flatnonzero(weights > 0))  # fmt: skip
    found = refine(
        rows, [rules], penalty=settings.price(rows.rows), branching=settings.branching,
        depth=max(settings.depth, rules.depth), smoothing=settings.smoothing_of(rows.rows),
        exact=True, seed=settings.seed,
    )  # fmt: skip
    provenance = {**rules.provenance, "refined from": rules.fingerprint}
    refined = replace(found.rules, name=rules.name, provenance=provenance)
    return replace(found, rules=refined)
