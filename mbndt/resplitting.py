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

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mbndt.histograms import BinSums
from mbndt.problem import Classes, Cut, Floats, Indices, Problem, Tree, cut_of
from mbndt.segmenting import leaf_cuts

TINY = 1e-9  # what counts as no change of an objective, relative


def improve(problem: Problem, tree: Tree, sweeps: int = 20) -> Tree:
    """Re-split a tree bottom-up, again and again, until the objective stops falling."""
    before = problem.objective(tree, problem.rows)
    for _ in range(sweeps):
        tree = _sweep(problem, tree, problem.rows, problem.depth)
        after = problem.objective(tree, problem.rows)
        if after > before - TINY * max(1.0, before):
            break
        before = after
    return tree


def _sweep(problem: Problem, tree: Tree, rows: Indices, depth: int) -> Tree:
    """Improve the subtree that rows reach, with at most `depth` splits on a path."""
    if len(rows) == 0:
        return tree
    if depth == 0:
        return problem.goal.best(rows)
    if isinstance(tree, Cut):
        branch = problem.branch(tree, rows)
        tree = replace(tree, children=tuple(
            _sweep(problem, child, rows[branch == i], depth - 1)
            for i, child in enumerate(tree.children)
        ))  # fmt: skip
    return resplit(problem, tree, rows)


def resplit(problem: Problem, tree: Tree, rows: Indices) -> Tree:
    """Return the best split of rows among the children's subtrees and new leaves, or the tree."""
    best, least = tree, problem.objective(tree, rows)
    for made in _candidates(problem, tree, rows):
        value = problem.objective(made, rows)
        if value < least - TINY * max(1.0, least):
            best, least = made, value
    return best


def _candidates(problem: Problem, tree: Tree, rows: Indices) -> Iterator[Tree]:
    """Yield the best split for each number of intervals.

    The programme sees no gain in a subtree that is used no more, so splits into leaves alone are
    tried too.
    """
    subtrees = [c for c in tree.children if isinstance(c, Cut)] if isinstance(tree, Cut) else []
    yield problem.goal.best(rows)
    losses = [problem.losses(child, rows) for child in subtrees]
    if isinstance(problem.goal, Classes):
        labels = [*range(problem.goal.mass.shape[1])]
        choices: list[Tree] = [*labels, *subtrees]
        sums = BinSums.of(problem, rows, np.stack(
            [*(problem.goal.losses(label, rows) for label in labels), *losses], axis=1
        ))  # fmt: skip
        for among in {len(labels), len(choices)}:
            yield from _choice_cuts(problem, sums, among, choices)
    else:
        sums = BinSums.of(problem, rows, np.column_stack([problem.goal.moments(rows), *losses]))
        for among in {0, len(subtrees)}:
            yield from leaf_cuts(problem, problem.goal, sums, subtrees[:among])


def _choice_cuts(
    problem: Problem, sums: BinSums, among: int, choices: list[Tree]
) -> Iterator[Tree]:
    """Yield the best cut into k = 1..B intervals that go to the first `among` of the choices.

    best(k, c, j) = min over i <= j, c' of best(k-1, c', i) + sum of H[c, i..j] + penalty, by
    running minima, for all axes at once.
    """
    prefix, missing = sums.prefix[:among], sums.missing[:among]
    reached = [prefix.min(0)]
    for _ in range(1, min(problem.branching, prefix.shape[2] - 1)):
        step = reached[-1] - prefix
        np.minimum.accumulate(step, axis=2, out=step)
        step += prefix
        reached.append(step.min(0) + problem.penalty)
    for k in range(len(reached)):
        axis = int(np.argmin(reached[k][:, -1] + missing.min(0)))
        pieces = _choices_back(prefix[:, axis], [r[axis] for r in reached[: k + 1]], sums.gap(axis))
        to = sums.table(axis, pieces)
        if sums.bin_counts(axis)[-1]:
            used = np.isin(np.arange(among), to[:-1])
            to[-1] = np.argmin(missing[:, axis] + problem.penalty * ~used)
        yield cut_of(axis, to, choices)


def _choices_back(
    prefix: Floats, reached: list[Floats], gap: Indices
) -> list[tuple[int, int, int]]:
    """Return the pieces whose costs `reached` [k, W+1] came from on one axis, `prefix` [K, W+1];
    among equal cuts the one in the widest gap.
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
    return pieces[::-1]
