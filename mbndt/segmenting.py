"""The segmentation programme: ordered groups of bins cut into segments of least total cost.

Greedy trees use it on impurities, and a regression's re-splits on squared errors (Bellman 1961).
Costs are quadratic in the number of groups, so bins are grouped where there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mbndt.histograms import BinSums
from mbndt.problem import Cut, Floats, Numbers, Problem, Tree, cut_of

GROUPS = 128  # of the re-splits of a regression


def segment(cost: Floats, most: int, penalty: float) -> list[Floats]:
    """Return for k = 1..most the least cost of cutting the first j groups into k segments,
    [k][F, V+1], given the cost [F, V+1, V+1] of a segment from i to j.
    """
    reached = [cost[:, 0, :]]
    for _ in range(1, most):
        reached.append((reached[-1][:, :, None] + cost).min(1) + penalty)
    return reached


def segments_back(cost: Floats, reached: list[Floats]) -> list[tuple[int, int]]:
    """Return the non-empty segments whose costs `reached` [k, V+1] came from, on one axis."""
    end = cost.shape[0] - 1
    found = []
    for before in reversed(reached[:-1]):
        start = int(np.argmin(before + cost[:, end]))
        found.append((start, end))
        end = start
    found.append((0, end))
    return [(start, end) for start, end in reversed(found) if start < end]


def between(prefix: Floats) -> Floats:
    """Return the sums [K, F, V+1, V+1] over groups from i to j, of prefix sums [K, F, V+1]."""
    return prefix[:, :, None, :] - prefix[:, :, :, None]


def ordered(cost: Floats) -> Floats:
    """Return costs [F, V+1, V+1] in which no segment may end before it starts."""
    low = np.tril_indices(cost.shape[1], -1)
    cost[:, low[0], low[1]] = np.inf
    return cost


def leaf_cuts(
    problem: Problem, goal: Numbers, sums: BinSums, subtrees: list[Cut]
) -> Iterator[tuple[float, Callable[[], Tree]]]:
    """Yield what the best cut into k = 1..B intervals, each with a leaf of its own or a subtree,
    costs at least, and the making of it.

    `sums` has the goal's moments and then each subtree's losses.
    """
    ends = sums.groups(GROUPS)
    part = between(sums.prefix[:, np.arange(len(ends))[:, None], ends])
    last = goal.MOMENTS + len(subtrees)
    own = goal.impurity(part[: goal.MOMENTS])
    options = np.concatenate([own[None], part[goal.MOMENTS : last]])
    cost = ordered(options.min(0))
    reached = segment(cost, problem.branching, problem.penalty)

    def make(axis: int, k: int) -> Tree:
        choices: list[Tree] = [*subtrees]
        pieces = []
        for i, j in segments_back(cost[axis], [r[axis] for r in reached[: k + 1]]):
            option = int(np.argmin(options[:, axis, i, j]))
            place = option - 1 if option else len(choices)
            pieces.append((int(ends[axis, i]), int(ends[axis, j]), place))
            if not option:
                choices.append(goal.mean(part[: goal.MOMENTS, axis, i, j]))
        return _with_missing(problem, goal, sums, axis, pieces, choices, len(subtrees))

    alone = goal.impurity(sums.missing[: goal.MOMENTS])
    lost = np.concatenate([alone[None], sums.missing[goal.MOMENTS : last]]).min(0)
    for k, reach in enumerate(reached):
        total = reach[:, -1] + lost
        axis = int(np.argmin(total))
        yield float(total[axis]), partial(make, axis, k)


def _with_missing(
    problem: Problem, goal: Numbers, sums: BinSums, axis: int,
    pieces: list[tuple[int, int, int]], choices: list[Tree], subtrees: int,
) -> Tree:  # fmt: skip
    """Return the cut of pieces (start, end, choice) with the missing rows where they cost least."""
    moments = sums.missing[: goal.MOMENTS, axis]
    if not pieces:
        return goal.mean(moments)
    to = sums.table(axis, pieces)
    if sums.bin_counts(axis)[-1]:
        losses = [*sums.missing[goal.MOMENTS : goal.MOMENTS + subtrees, axis]]
        losses += [goal.cost(moments, leaf) for leaf in choices[subtrees:]]
        used = np.isin(np.arange(len(choices)), to[:-1])
        every = np.array([*(losses + problem.penalty * ~used), 0.0])
        every[-1] = goal.impurity(moments) + problem.penalty
        to[-1] = np.argmin(every)
        choices = [*choices, goal.mean(moments)]
    return cut_of(axis, to, choices)
