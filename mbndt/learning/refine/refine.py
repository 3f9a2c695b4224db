"""Rules made better and smaller over training rows: Rules in, Rules out.

The rules' splits become splits over bins, exact re-splits improve them (`resplit.py`), and the
best of several starts becomes rules over raw columns again, whose leaves are refitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbndt.arrays import Floats, Indices
from mbndt.errors import DataError
from mbndt.learning.aim import Aim
from mbndt.learning.enough import check_enough, enough
from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.provenance import earlier_data, trained_on
from mbndt.learning.refine.bins import Axis, bin_table, bins_of, fit_axes
from mbndt.learning.refine.evidence import Evidence
from mbndt.learning.refine.greedy import best_ahead, grow_among, least_impurity, regrow
from mbndt.learning.refine.ordering import in_order
from mbndt.learning.refine.out_of_bag import blended, forest_view
from mbndt.learning.refine.problem import BinSplit, Problem, Tree, merged
from mbndt.learning.refine.resplit import improve
from mbndt.learning.risk import with_risks
from mbndt.learning.settings import SMOOTHED_ROWS, Settings
from mbndt.learning.training_set import TrainingSet, aimed, unit_weights
from mbndt.rules import Leaf, Node, Rules
from mbndt.rules.monotone import SIGNS
from mbndt.tables.schema import Schema
from mbndt.tables.table import Table
from mbndt.tables.target import infer_target

# Growing subtrees anew pays where rows bear many splits; beyond so many rows it takes long.
REGROWN_ROWS = 100_000


@dataclass(frozen=True)
class Refined:
    """Refined rules with their objective, and the objective of each start before and after.

    `view` [n, K] is what a forest that has not seen them says of the rows, None without one.
    """

    rules: Rules
    objective: float
    before: tuple[float, ...]
    after: tuple[float, ...]
    view: Floats | None = None


def refine(
    training: TrainingSet, starts: Sequence[Rules], settings: Settings, *, exact: bool = False
) -> Refined:
    """Refine the best of some starts: given rules, and the settings' `greedy` trees of our own.

    `exact` keeps every threshold and category of the starts, so that the objective can't rise above
    theirs.
    """
    outcome = training.indicators()
    axes = fit_axes(
        training.features, training.typed, outcome, training.weights, starts if exact else ()
    )
    bins = bins_of(axes, training.typed, training.n_rows)
    view = None
    if settings.smooths(training.count):
        view = forest_view(bins, outcome, training.weights, settings.seed)
    smooth = outcome if view is None else blended(outcome, view, settings.smoothing)
    noise = None if view is None else training.noise(view)
    classes = training.class_counts()
    problem = Problem(
        bins,
        tuple(axis.size for axis in axes),
        training.goal(smooth),
        settings.price(training.count, noise, training.imbalance()),
        settings.branching,
        max([settings.depth, *(rules.depth for rules in starts if exact)]),
        settings.fewest(training.count),
        training.weights,
        None if classes is None else outcome * training.weights[:, None],
        () if classes is None else tuple(map(settings.least, classes.tolist())),
        _signs(training, axes),
        training.event or 0,
        settings.min_events or 0,
        _rows_of_events(training, settings),
    )
    trees = [_from_rules(axes, rules, problem) for rules in starts]
    trees += _greedy(problem, settings.greedy, settings.seed)
    trees = trees or [problem.goal.best(problem.index)]
    before = tuple(problem.objective(tree, problem.index) for tree in trees)
    trees = [improve(problem, tree) for tree in trees]
    after = tuple(problem.objective(tree, problem.index) for tree in trees)
    # A small leaf of given rules may stay, as to join it to another could cost more.
    whole = replace(problem, fewest=settings.min_rows or 1, least=()) if exact else problem
    best = merged(whole, trees[int(np.argmin(after))], problem.index)
    if settings.regrow and training.count > SMOOTHED_ROWS and training.n_rows <= REGROWN_ROWS:
        best = regrow(problem, best, problem.index, problem.depth, settings.seed)
        best = merged(whole, improve(problem, best), problem.index)
    if not exact and settings.penalty is None:
        best = Evidence(problem, axes, outcome, view).borne_out(best, problem.index)
        best = merged(problem, best, problem.index)
    best = in_order(problem, best, problem.index)
    if isinstance(best, BinSplit):
        root = _Build(training, axes, problem, itertools.count()).node(best, problem.index)
    else:  # no split tells anything, so the most common class is the answer
        root = training.single_leaf()
    rules = Rules(training.target.name, training.target, training.features, root)
    return Refined(rules, problem.objective(best, problem.index), before, after, view)


def _rows_of_events(training: TrainingSet, settings: Settings) -> float:
    """Return how many rows hold the least events at their overall share."""
    counts, event = training.class_counts(), training.event
    if not settings.min_events or counts is None or event is None:
        return 0.0
    return float(settings.min_events * training.count / max(counts[event], 1.0))


def _signs(training: TrainingSet, axes: Sequence[Axis]) -> tuple[int, ...]:
    stated = training.aim.monotone or {}
    signs = tuple(
        SIGNS[stated[axis.feature.name]] if axis.feature.name in stated else 0 for axis in axes
    )
    return signs if any(signs) else ()


def _greedy(problem: Problem, count: int, seed: int) -> list[Tree]:
    """Return greedy trees: the plain one, and one that looks ahead."""
    draw = np.random.default_rng(seed)
    every = np.arange(len(problem.sizes))
    return [
        grow_among(problem, problem.index, problem.depth, split, every, draw)
        for split in (least_impurity, best_ahead)[: count if len(every) else 0]
    ]


def _from_rules(axes: Sequence[Axis], rules: Rules, problem: Problem) -> Tree:
    place = {axis.feature.name: i for i, axis in enumerate(axes)}

    def tree(node: Node, index: Indices) -> Tree:
        if isinstance(node, Leaf) or node.feature not in place or len(index) == 0:
            return problem.goal.best(index) if len(index) else 0
        i = place[node.feature]
        to = bin_table(rules, node, axes[i])
        branch = to[problem.bins[i, index]]
        children = tuple(tree(child, index[branch == c]) for c, child in enumerate(node.children))
        return BinSplit(i, to, children)

    return tree(rules.root, problem.index)


@dataclass(frozen=True)
class _Build:
    """The walk from a tree over bins to the nodes of rules."""

    training: TrainingSet
    axes: Sequence[Axis]
    problem: Problem
    ids: itertools.count[int]

    def node(self, tree: Tree, index: Indices) -> Node:
        if not isinstance(tree, BinSplit):
            return self.training.leaf(next(self.ids), index, self.problem.goal)
        branch = self.problem.branch(tree, index)
        children = tuple(
            self.node(child, index[branch == i]) for i, child in enumerate(tree.children)
        )
        return self.axes[tree.axis].split(tree.to, children)


def refine_rules(
    rules: Rules, table: Table, target: str, settings: Settings, weights: Floats | None = None
) -> Refined:
    """Refine given rules over the rows of a table whose column `target` has the true answers.

    Every threshold of the rules stays a choice, so their objective (error plus the price of their
    intervals) can't rise; their depth is kept where it is above the settings' own. The table needs
    all features of the rules. Raises `DataError` for rows that don't fit the rules.
    """
    outcome = infer_target(table, target, Schema.of_target(rules), rules.task)
    outcome = replace(outcome, target=rules.target)
    weights = unit_weights(table.n_rows, weights)
    if not weights.any():
        raise DataError(f"{table.source}: no rows to refine over")
    training = TrainingSet(
        rules.features,
        typed_columns(table, rules.features),
        outcome,
        weights,
        settings.class_weight == "balanced",
    ).take(np.flatnonzero(weights > 0))
    training = aimed(training, Aim.of_rules(rules))
    check_enough(settings, training)
    found = refine(training, [rules], replace(settings, greedy=0), exact=True)
    provenance = {
        **rules.provenance,
        "refined from": rules.fingerprint,
        "training rows": training.n_rows,
        **trained_on(found.rules, training),
        "earlier training data": earlier_data(rules),
    }
    for key in ("evidence", "validation", "held out"):  # of other rules
        provenance.pop(key, None)
    asked = enough(found.rules, training, settings)
    better = with_risks(training.counted(asked), training, found.view)
    refined = replace(better, name=rules.name, provenance=provenance)
    return replace(found, rules=refined)
