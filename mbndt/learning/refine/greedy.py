"""Greedy multi-way trees: starts for re-splitting.

`grow` splits nodes one after another, each for good. `least_impurity` takes the split whose
intervals have the least impurity (Gini's, or the squared error), found exactly on chunks of bins by
the segmentation programme. `best_ahead` looks one level further and values each interval by the
best split that could follow in it, so it sees what no single split shows, such as parities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mbndt.arrays import Array, Floats, Indices
from mbndt.learning.refine.histograms import BinSums
from mbndt.learning.refine.ordering import ordered_ends
from mbndt.learning.refine.problem import BinSplit, Classes, Problem, Tree
from mbndt.learning.refine.resplit import improve
from mbndt.learning.refine.segments import (
    Costs,
    best_segments,
    least_costs,
    least_totals,
    range_sums,
)

CHUNKS = 32
CHUNKS_AHEAD = 12
FEWEST_AHEAD = 50  # rows that a look ahead is worth its while for
ROWS_AHEAD = 10_000  # rows that a look ahead is taken on, at most
WIDE = 10  # axes that a look ahead chooses among, at most
FEW_SWEEPS = 4
PARTS = 2000  # parts whose best split is sought at a time, for memory's sake

# Finds a split of rows, or None where none pays.
Splitter = Callable[[Problem, Indices], BinSplit | None]


def grow(problem: Problem, index: Indices, depth: int, splitter: Splitter) -> Tree:
    """Return a tree of rows whose nodes are split one after another, each for good.

    The lowest and the smallest are split by their impurity, as little follows them.
    """
    leaf = problem.goal.best(index)
    if depth == 0 or problem.goal.losses(leaf, index).sum() <= problem.penalty:
        return leaf
    plain = depth == 1 or problem.weights[index].sum() < FEWEST_AHEAD
    split = (least_impurity if plain else splitter)(problem, index)
    if split is None:
        return leaf
    branch = problem.branch(split, index)
    children = tuple(
        grow(problem, index[branch == i], depth - 1, splitter) if np.any(branch == i) else leaf
        for i in range(int(split.to.max()) + 1)
    )
    return replace(split, children=children)


def grow_among(
    problem: Problem,
    index: Indices,
    depth: int,
    splitter: Splitter,
    axes: Indices,
    draw: np.random.Generator,
) -> Tree:
    """Return a tree over some axes.

    A look ahead sees a random few of them, as its work grows with their square.
    """
    if splitter is best_ahead and len(axes) > WIDE:
        axes = np.sort(draw.choice(axes, WIDE, replace=False))
    return _renamed(grow(problem.among(axes), index, depth, splitter), axes)


def _renamed(tree: Tree, axes: Indices) -> Tree:
    if not isinstance(tree, BinSplit):
        return tree
    children = tuple(_renamed(child, axes) for child in tree.children)
    return BinSplit(int(axes[tree.axis]), tree.to, children)


def regrow(problem: Problem, tree: Tree, index: Indices, depth: int, seed: int) -> Tree:
    """Return the tree with each subtree grown anew where that makes the objective smaller.

    From the root down; what is grown is re-split too.
    """
    if depth < 2 or not isinstance(tree, BinSplit) or len(index) == 0:
        return tree
    draw = np.random.default_rng(seed)
    least = problem.objective(tree, index)
    here = problem.take(index, depth)
    every = np.arange(len(problem.sizes))
    for splitter in (best_ahead, least_impurity):
        new = improve(here, grow_among(here, here.index, depth, splitter, every, draw), FEW_SWEEPS)
        value = here.objective(new, here.index)
        if value < least:
            tree, least = new, value
    if not isinstance(tree, BinSplit):
        return tree
    branch = problem.branch(tree, index)
    return replace(
        tree,
        children=tuple(
            regrow(problem, child, index[branch == i], depth - 1, seed)
            for i, child in enumerate(tree.children)
        ),
    )


def least_impurity(problem: Problem, index: Indices) -> BinSplit | None:
    """Return the split of least impurity."""
    sums = BinSums.of(problem, index, problem.goal.moments(index))
    ends = ordered_ends(problem, sums.prefix, sums.chunks(CHUNKS))

    def costs(axes: Indices) -> Floats:
        return problem.goal.impurity(range_sums(sums.prefix[:, axes[:, None], ends[axes]]))

    return _best_split(problem, sums, ends, costs)


def _best_split(problem: Problem, sums: BinSums, ends: Indices, costs: Costs) -> BinSplit | None:
    """Return the best segmentation of chunks that end at `ends` [F, V+1]."""
    total = least_totals(costs, len(ends), ends.shape[1], problem.branching, problem.penalty)
    k, axis = divmod(int(np.argmin(total)), total.shape[1])
    found = best_segments(costs, axis, k + 1, problem.penalty)
    pieces = [(int(ends[axis, i]), int(ends[axis, j]), c) for c, (i, j) in enumerate(found)]
    split = BinSplit(axis, sums.table(axis, [p for p in pieces if p[0] < p[1]]), ())
    # Pieces may be too small to stand alone, so the children are counted at the end.
    used, place = np.unique(split.to, return_inverse=True)
    return replace(split, to=place) if len(used) > 1 else None


def best_ahead(problem: Problem, index: Indices) -> BinSplit | None:
    """Return the split whose intervals can be split best once more."""
    if len(index) > ROWS_AHEAD:
        share = ROWS_AHEAD / len(index)
        problem = replace(problem, penalty=problem.penalty * share)
        index = np.sort(np.random.default_rng(len(index)).choice(index, ROWS_AHEAD, replace=False))
    moments = problem.goal.moments(index)
    sums = BinSums.of(problem, index, moments)
    ends = sums.chunks(CHUNKS_AHEAD)
    chunks = _chunks(problem, sums, ends, index)
    size = ends.shape[1]
    cost = np.zeros((len(chunks), size, size))
    start, end = np.triu_indices(size, 1)
    for axis, chunk in enumerate(chunks):
        prefix = _pair_sums(moments, chunk, chunks, size - 1)
        # [K, F, P, V+1]: for each segment of this axis the running sums over all others.
        parts = prefix[:, :, end] - prefix[:, :, start]
        cost[axis, start, end] = _after_split(problem, parts)
    return _best_split(problem, sums, ends, lambda axes: cost[axes])


def _chunks(problem: Problem, sums: BinSums, ends: Indices, index: Indices) -> Indices:
    """Return the chunk of each row on each axis, [F, n]; missing values stand in the first."""
    found = np.zeros((len(ends), len(index)), np.intp)
    for axis, limits in enumerate(ends):
        rank = np.cumsum(sums.bin_counts(axis)[:-1] > 0)
        chunk = np.searchsorted(limits[1:], rank, side="left").clip(0, len(limits) - 2)
        found[axis] = np.append(chunk, 0)[problem.bins[axis, index]]
    return found


def _pair_sums(moments: Floats, chunk: Indices, chunks: Array, size: int) -> Floats:
    """Return the sums of moments [n, K] by pairs of chunks, running over both, [K, F, V+1, V+1].

    Pairs are of the chunks of one axis [n] and of each axis [F, n].
    """
    axes = len(chunks)
    index = ((np.arange(axes)[:, None] * size + chunk) * size + chunks).ravel()
    prefix = np.zeros((moments.shape[1], axes, size + 1, size + 1))
    for found, moment in zip(prefix, moments.T, strict=True):
        table = np.bincount(index, np.tile(moment, axes), axes * size * size)
        found[:, 1:, 1:] = table.reshape(axes, size, size).cumsum(1).cumsum(2)
    return prefix


def _after_split(problem: Problem, parts: Floats) -> Floats:
    """Return what each of P parts costs after its best split, [P].

    Given running sums [K, F, P, V+1] over the chunks of each axis.
    """
    if isinstance(problem.goal, Classes):
        losses = parts.sum(0) - parts
        reached = losses.min(0)
        best = reached[..., -1]
        for _ in range(1, problem.branching):
            step = reached - losses
            np.minimum.accumulate(step, axis=3, out=step)
            step += losses
            reached = step.min(0) + problem.penalty
            best = np.minimum(best, reached[..., -1])
        return np.asarray(best.min(0))
    flat = parts.reshape(len(parts), -1, parts.shape[3])
    found = np.empty(flat.shape[1])
    for low in range(0, len(found), PARTS):
        cost = problem.goal.impurity(range_sums(flat[:, low : low + PARTS]))
        reached_by = least_costs(cost, problem.branching, problem.penalty)
        found[low : low + PARTS] = np.min([r[:, -1] for r in reached_by], axis=0)
    return np.asarray(found.reshape(parts.shape[1:3]).min(0))
