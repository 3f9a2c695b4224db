"""Exact alternating re-splits over binned rows: a tree improves one split at a time.

Hold all splits but one fixed. Each training row i that reaches the split has, for each child c, the
loss that it would get if it were sent to c and routed on. Summed by bins that is a table H[c, f, j]
for all features f at once, and a dynamic programme over it finds the best split of all: any
feature, cut into at most B ordered intervals, each leading to any child or to a new leaf, each
interval beyond the first charged `penalty`; missing values go to the best child. The objective,
loss plus penalty, never rises.

The programme runs in a few passes of NumPy over all features at once. A compiled kernel of our own
would gain little, as most of the time goes into sums and running minima that NumPy and SciPy have
compiled already, and would cost every user a compiler at run time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from mbndt.arrays import Floats, Indices
from mbndt.learning.refine.histograms import BinSums
from mbndt.learning.refine.ordering import barrier, in_order, ordered_ends
from mbndt.learning.refine.problem import BinSplit, Classes, Numbers, Problem, Tree, split_of
from mbndt.learning.refine.segments import best_segments, least_totals, range_sums

CHUNKS = 128  # of bins, at most, that a regression's programme cuts between
TINY = 1e-9  # what counts as no change of an objective, relative


def improve(problem: Problem, tree: Tree, sweeps: int = 20) -> Tree:
    """Re-split a tree bottom-up, again and again, until the objective stops falling."""
    tree = in_order(problem, tree, problem.index)
    before = problem.objective(tree, problem.index)
    settled = _Settled()
    for _ in range(sweeps):
        swept = _sweep(problem, tree, problem.index, problem.depth, settled)
        after = problem.objective(swept, problem.index)
        # It can rise only where parts that were improved alone had to be brought in order.
        tree = swept if after <= before else tree
        if after > before - TINY * max(1.0, before):
            break
        before = after
    return tree


class _Settled:
    """The subtrees that were found to be best for the rows that reach them."""

    def __init__(self) -> None:
        self.seen: set[tuple[Tree, int, bytes]] = set()

    def key(self, tree: Tree, index: Indices, depth: int) -> tuple[Tree, int, bytes]:
        """Return what stands for a subtree (itself, so that it lives on), its rows and depth."""
        return tree, depth, hashlib.blake2b(index.data, digest_size=16).digest()


def _sweep(problem: Problem, tree: Tree, index: Indices, depth: int, settled: _Settled) -> Tree:
    """Improve the subtree that rows reach, with at most `depth` splits on a path."""
    if len(index) == 0:
        return tree
    if depth == 0:
        return problem.goal.best(index)
    key = settled.key(tree, index, depth)
    if key in settled.seen:
        return tree
    swept = tree
    if isinstance(tree, BinSplit):
        branch = problem.branch(tree, index)
        children = tuple(
            _sweep(problem, child, index[branch == i], depth - 1, settled)
            for i, child in enumerate(tree.children)
        )
        if any(new is not old for new, old in zip(children, tree.children, strict=True)):
            swept = replace(tree, children=children)
    found = resplit(problem, swept, index)
    if found is tree:
        settled.seen.add(key)
    return found


def resplit(problem: Problem, tree: Tree, index: Indices) -> Tree:
    """Return the best split of rows among the children's subtrees and new leaves, or the tree."""
    tree = in_order(problem, tree, index)
    best, least = tree, problem.objective(tree, index)
    if not isinstance(tree, BinSplit):
        tree = problem.goal.best(index)
        best, least = tree, problem.objective(tree, index)
        if least <= problem.penalty:
            return tree  # the least split costs as much
    if not problem.sizes:
        return best
    for bound, make in _candidates(problem, tree, index):
        if bound >= least - TINY * max(1.0, least):
            continue
        made = make()
        value = problem.objective(made, index)
        if problem.signs and value < least:
            made = in_order(problem, made, index)
            value = problem.objective(made, index)
        if value < least - TINY * max(1.0, least):
            best, least = made, value
    return best


# What a tree costs at least, and the making of it.
Candidate: TypeAlias = tuple[float, Callable[[], Tree]]


def _candidates(problem: Problem, tree: Tree, index: Indices) -> Iterator[Candidate]:
    """Yield the best split for each number of intervals.

    The programme sees no gain in a subtree that is used no more, so splits into leaves alone are
    tried too.
    """
    goal = problem.goal
    subtrees = (
        [c for c in tree.children if isinstance(c, BinSplit)] if isinstance(tree, BinSplit) else []
    )
    if subtrees:
        yield -math.inf, lambda: goal.best(index)
    losses = [problem.losses(child, index) for child in subtrees]
    if isinstance(goal, Classes):
        labels = [*range(goal.mass.shape[1])]
        choices: list[Tree] = [*labels, *subtrees]
        own = [goal.losses(label, index) for label in labels]
        sums = BinSums.of(problem, index, np.stack([*own, *losses], axis=1))
        for among in sorted({len(labels), len(choices)}):
            yield from _choice_cuts(problem, sums, among, choices)
    else:
        sums = BinSums.of(problem, index, np.column_stack([goal.moments(index), *losses]))
        for among in sorted({0, len(subtrees)}):
            yield from _leaf_cuts(problem, goal, sums, subtrees[:among])


def _choice_cuts(
    problem: Problem, sums: BinSums, among: int, choices: list[Tree]
) -> Iterator[Candidate]:
    """Yield the best cut into k = 1..B intervals that go to the first `among` of the choices.

    best(k, c, j) = min over i <= j, c' of best(k-1, c', i) + sum of H[c, i..j] + penalty, by
    running minima, for all axes at once.
    """
    prefix, missing = sums.prefix[:among], sums.missing[:among]
    closed = np.zeros(prefix.shape[1:])
    if problem.signs and among == 2:
        # A row costs one of two classes what it weighs for the other.
        closed = barrier(problem, prefix[::-1])
    reached = [prefix.min(0)]
    for _ in range(1, min(problem.branching, prefix.shape[2] - 1)):
        step = reached[-1] + closed - prefix
        np.minimum.accumulate(step, axis=2, out=step)
        step += prefix
        reached.append(step.min(0) + problem.penalty)

    def make(axis: int, k: int) -> Tree:
        before = [each[axis] + closed[axis] for each in reached[: k + 1]]
        pieces = _choices_back(prefix[:, axis], before, sums.gap(axis))
        to = sums.table(axis, pieces, choices)
        if sums.bin_counts(axis)[-1]:
            used = np.isin(np.arange(among), to[:-1])
            alone = np.inf if sums.lonely(axis) else problem.penalty
            to[-1] = np.argmin(missing[:, axis] + np.where(used, 0.0, alone))
        return split_of(axis, to, choices)

    lost = missing.min(0)
    for k, ends in enumerate(reached):
        total = ends[:, -1] + lost
        axis = int(np.argmin(total))
        yield float(total[axis]), partial(make, axis, k)


def _choices_back(
    prefix: Floats, reached: list[Floats], gap: Indices
) -> list[tuple[int, int, int]]:
    """Return the pieces whose costs `reached` [k, W+1], infinite for no cut, came from on one axis.

    `prefix` is [K, W+1]; among equal cuts the one in the widest gap is taken.
    """
    end = len(gap) - 1
    pieces = []
    for before in reversed(reached[:-1]):
        cost = before[: end + 1] - prefix[:, : end + 1] + prefix[:, end, None]
        least = cost.min()
        choice, start = np.nonzero(cost <= least + TINY * max(1.0, abs(least)))
        pick = int(np.argmax(gap[start]))
        pieces.append((int(start[pick]), end, int(choice[pick])))
        end = int(start[pick])
    pieces.append((0, end, int(np.argmin(prefix[:, end]))))
    # One piece at least, for an axis on which all values are missing.
    return [piece for piece in reversed(pieces) if piece[0] < piece[1]] or pieces[-1:]


def _leaf_cuts(
    problem: Problem, goal: Numbers, sums: BinSums, subtrees: list[BinSplit]
) -> Iterator[Candidate]:
    """Yield the best cut into k = 1..B intervals, each with a leaf of its own or a subtree.

    `sums` has the goal's moments and then each subtree's losses.
    """
    ends = sums.chunks(CHUNKS)
    if not subtrees:
        ends = ordered_ends(problem, sums.prefix[: goal.MOMENTS], ends)
    last = goal.MOMENTS + len(subtrees)

    def options(axes: Indices) -> Floats:
        """The costs of segments of some axes, first with a leaf, then in each subtree."""
        part = range_sums(sums.prefix[:last, axes[:, None], ends[axes]])
        return np.concatenate([goal.impurity(part[: goal.MOMENTS])[None], part[goal.MOMENTS :]])

    def costs(axes: Indices) -> Floats:
        return np.asarray(options(axes).min(0))

    def make(axis: int, k: int) -> Tree:
        choices: list[Tree] = [*subtrees]
        pieces = []
        ways = options(np.array([axis]))[:, 0]
        for i, j in best_segments(costs, axis, k + 1, problem.penalty):
            start, end = int(ends[axis, i]), int(ends[axis, j])
            way = int(np.argmin(ways[:, i, j]))
            pieces.append((start, end, way - 1 if way else len(choices)))
            if not way:
                moments = sums.prefix[: goal.MOMENTS, axis]
                choices.append(goal.mean(moments[:, end] - moments[:, start]))
        return _with_missing(problem, goal, sums, axis, pieces, choices, len(subtrees))

    alone = goal.impurity(sums.missing[: goal.MOMENTS])
    lost = np.concatenate([alone[None], sums.missing[goal.MOMENTS : last]]).min(0)
    total = lost + least_totals(costs, len(ends), ends.shape[1], problem.branching, problem.penalty)
    for k, axis in enumerate(np.argmin(total, axis=1).tolist()):
        yield float(total[k, axis]), partial(make, axis, k)


def _with_missing(
    problem: Problem,
    goal: Numbers,
    sums: BinSums,
    axis: int,
    pieces: list[tuple[int, int, int]],
    choices: list[Tree],
    subtrees: int,
) -> Tree:
    """Return the cut of pieces (start, end, choice) with the missing rows where they cost least."""
    moments = sums.missing[: goal.MOMENTS, axis]
    if not pieces:
        return goal.mean(moments)
    to = sums.table(axis, pieces)
    if sums.bin_counts(axis)[-1]:
        losses = [*sums.missing[goal.MOMENTS : goal.MOMENTS + subtrees, axis]]
        losses += [goal.cost(moments, leaf) for leaf in choices[subtrees:]]
        used = np.isin(np.arange(len(choices)), to[:-1])
        alone = np.inf if sums.lonely(axis) else problem.penalty
        own = float(goal.impurity(moments)) + alone
        to[-1] = np.argmin([*np.where(used, losses, np.add(losses, alone)), own])
        choices = [*choices, goal.mean(moments)]
    return split_of(axis, to, choices)
