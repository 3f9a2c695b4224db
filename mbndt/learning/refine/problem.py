"""What re-splitting works on: trees over binned rows, and the objective to be made small.

Throughout, `index` [m] holds the positions of some of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from mbndt.arrays import Floats, Indices


@dataclass(frozen=True, eq=False)
class BinSplit:
    """A split over bins: bin j of an axis goes to child `to[j]`; the last bin is the missing's."""

    axis: int
    to: Indices
    children: tuple[Tree, ...]

    @property
    def extra(self) -> int:
        """Return the number of intervals beyond the first; a child of the missing alone is one."""
        alone = not np.any(self.to[:-1] == self.to[-1])
        return int(np.count_nonzero(np.diff(self.to[:-1]))) + alone


# A leaf is the index of its class, or a regression's value.
Tree: TypeAlias = BinSplit | int | float


@dataclass(frozen=True)
class Classes:
    """The goal of a classification.

    `mass` [n, C] is what each row weighs for each class, so a row costs a leaf all of its mass that
    is not the leaf's class.
    """

    mass: Floats

    def take(self, index: Indices) -> Classes:
        """Return the goal of some rows."""
        return Classes(self.mass[index])

    def losses(self, leaf: Any, index: Indices) -> Floats:
        """Return what rows [m] cost a leaf, [m]."""
        return np.asarray(self._costs[leaf, index])

    @cached_property
    def _costs(self) -> Floats:
        """What each row costs each class, [C, n]: asked for too often to be summed each time."""
        return np.ascontiguousarray(self.mass.sum(1) - self.mass.T)

    def best(self, index: Indices) -> int:
        """Return the best leaf of rows."""
        return int(np.argmin([costs[index].sum() for costs in self._costs]))

    def moments(self, index: Indices) -> Floats:
        """Return the numbers, [m, M], whose sums tell the impurity of any set of rows."""
        return self.mass[index]

    @staticmethod
    def impurity(sums: Floats) -> Floats:
        """Return Gini's impurity times the mass, of sums [M, ...]."""
        total = sums.sum(0)
        square = np.einsum("c...,c...->...", sums, sums)
        share = np.divide(square, total, out=np.zeros_like(total), where=total > 0)
        return np.asarray(total - share)


@dataclass(frozen=True)
class Numbers:
    """The goal of a regression: squared errors of `values` [n], with `weights` [n].

    Values have about unit spread.
    """

    MOMENTS: ClassVar[int] = 3

    values: Floats
    weights: Floats

    def take(self, index: Indices) -> Numbers:
        """Return the goal of some rows."""
        return Numbers(self.values[index], self.weights[index])

    def losses(self, leaf: Any, index: Indices) -> Floats:
        """Return what rows [m] cost a leaf, [m]."""
        return np.asarray(self.weights[index] * (self.values[index] - leaf) ** 2)

    def best(self, index: Indices) -> float:
        """Return the best leaf of rows."""
        return float(np.average(self.values[index], weights=self.weights[index]))

    def moments(self, index: Indices) -> Floats:
        """Return the numbers, [m, M], whose sums tell the impurity of any set of rows."""
        w, y = self.weights[index], self.values[index]
        return np.column_stack([w, w * y, w * y * y])

    @staticmethod
    def mean(sums: Floats) -> float:
        """Return the best leaf of rows with moments of sums [M]."""
        return float(sums[1] / sums[0]) if sums[0] > 0 else 0.0

    @staticmethod
    def cost(sums: Floats, leaf: Any) -> float:
        """Return what rows with moments of sums [M] cost a leaf."""
        weight, first, second = sums
        return float(second - 2 * leaf * first + leaf * leaf * weight)

    @staticmethod
    def impurity(sums: Floats) -> Floats:
        """Return the squared error about the mean, of sums [M, ...]."""
        weight, first, second = sums
        square = np.divide(first**2, weight, out=np.zeros_like(first), where=weight > 0)
        return np.asarray(np.maximum(second - square, 0.0))


Goal = Classes | Numbers


@dataclass(frozen=True)
class Problem:
    """What is to be made small, over rows in bins.

    A `goal` over rows with `bins` [F, n] on axes of `sizes` [F], the `penalty` of an interval, the
    bounds of the tree, and the `fewest` rows of an interval of it.

    `counts` [n] is how many rows each row counts for (None: one). `own` [n, C] counts it for its
    own class, and a leaf that answers class c needs `least[c]` such; None where any leaf will do.

    `signs` [F] are 1 for axes along which the class `event`, or the value, is never to fall, -1
    where it is never to rise, and 0 for all others; () for none. A leaf needs `events` rows of that
    class, or `rows_of_events` rows in all.
    """

    bins: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]
    sizes: tuple[int, ...]
    goal: Goal
    penalty: float
    branching: int
    depth: int
    fewest: int = 1
    counts: Floats | None = None
    own: Floats | None = None
    least: tuple[int, ...] = ()
    signs: tuple[int, ...] = ()
    event: int = 1
    events: int = 0
    rows_of_events: float = 0.0

    @cached_property
    def weights(self) -> Floats:
        """Return how many rows each row counts for, [n]."""
        return np.ones(self.bins.shape[1]) if self.counts is None else self.counts

    @property
    def index(self) -> Indices:
        """Return the indices of all rows."""
        return np.arange(self.bins.shape[1])

    def among(self, axes: Indices) -> Problem:
        """Return the problem with some of the axes only."""
        return replace(
            self,
            bins=self.bins[axes],
            sizes=tuple(self.sizes[a] for a in axes),
            signs=tuple(self.signs[a] for a in axes) if self.signs else (),
        )

    def take(self, index: Indices, depth: int) -> Problem:
        """Return the problem of some of the rows, with another depth."""
        return replace(
            self,
            bins=self.bins[:, index],
            goal=self.goal.take(index),
            depth=depth,
            counts=None if self.counts is None else self.counts[index],
            own=None if self.own is None else self.own[index],
        )

    def room(self, tree: Tree, count: float, own: Floats | None) -> float:
        """Return whether rows that count so much are enough for a tree over them: from 1 on.

        `own` [C] is how much they count by class.
        """
        room = count / self.fewest
        if self.events and own is not None:
            room = min(room, max(float(own[self.event]) / self.events, count / self.rows_of_events))
        if own is None or isinstance(tree, BinSplit) or not self.least:
            return room
        return min(room, float(own[int(tree)]) / self.least[int(tree)])

    def branch(self, split: BinSplit, index: Indices) -> Indices:
        """Return the child that each of rows [m] goes to, [m]."""
        branch: Indices = split.to[self.bins[split.axis, index]]
        return branch

    def losses(self, tree: Tree, index: Indices) -> Floats:
        """Return the loss of each of rows [m] in a tree, [m]."""
        if not isinstance(tree, BinSplit):
            return self.goal.losses(tree, index)
        found = np.empty(len(index))
        branch = self.branch(tree, index)
        for i, child in enumerate(tree.children):
            here = np.flatnonzero(branch == i)
            if len(here):
                found[here] = self.losses(child, index[here])
        return found

    def objective(self, tree: Tree, index: Indices) -> float:
        """Return the loss of rows in a tree plus the penalty of its intervals."""
        return float(self.losses(tree, index).sum()) + self.penalty * extras(tree)


def extras(tree: Tree) -> int:
    """Return the number of intervals of a tree beyond the first of each split."""
    if not isinstance(tree, BinSplit):
        return 0
    return tree.extra + sum(extras(child) for child in tree.children)


def merged(problem: Problem, tree: Tree, index: Indices) -> Tree:
    """Return the tree that rows reach: no child of too few rows, equal leaves of a split as one."""
    if not isinstance(tree, BinSplit):
        return tree
    branch = problem.branch(tree, index)
    reached = [index[branch == i] for i in range(len(tree.children))]
    every: list[Tree] = [
        merged(problem, child, here) if len(here) else child
        for child, here in zip(tree.children, reached, strict=True)
    ]
    alive = np.flatnonzero(
        [
            problem.room(child, *_counted(problem, here)) >= 1
            for child, here in zip(every, reached, strict=True)
        ]
    )
    if not len(alive):
        return problem.goal.best(index)
    place = np.full(len(tree.children), -1)
    place[alive] = np.arange(len(alive))
    return joined(tree.axis, _filled(place[tree.to]), [every[i] for i in alive.tolist()])


def _counted(problem: Problem, index: Indices) -> tuple[float, Floats | None]:
    own = None if problem.own is None else problem.own[index].sum(0)
    return float(problem.weights[index].sum()), own


def _filled(to: Indices) -> Indices:
    """Return a table of bins in which those without a child (-1) share their neighbours'."""
    known = np.flatnonzero(to[:-1] >= 0)
    if len(known) == 0:
        return np.full(len(to), to[-1])
    middle = (known[:-1] + known[1:] + 1) // 2
    found = to[known[np.searchsorted(middle, np.arange(len(to)), side="right")]]
    found[known] = to[known]
    values, counts = np.unique(found[:-1], return_counts=True)
    found[-1] = to[-1] if to[-1] >= 0 else values[np.argmax(counts)]
    return found


def joined(axis: int, to: Indices, children: Sequence[Tree]) -> Tree:
    """Return a split whose bins go to `children[to]`, with equal leaves as one."""
    leaves: dict[Tree, int] = {}
    first = [
        i if isinstance(child, BinSplit) else leaves.setdefault(child, i)
        for i, child in enumerate(children)
    ]
    return split_of(axis, np.array(first)[to], [*children])


def split_of(axis: int, to: Indices, choices: list[Tree]) -> Tree:
    """Return a split whose bins go to `choices[to]`, with each child once, in the bins' order."""
    used, first, place = np.unique(to, return_index=True, return_inverse=True)
    if len(used) == 1:
        return choices[int(used[0])]
    order = np.argsort(first)
    children = tuple(choices[i] for i in used[order].tolist())
    return BinSplit(axis, ranks(order)[place], children)


def ranks(order: Indices) -> Indices:
    """Return the place of each of n items in an order of them all, [n].

    >>> ranks(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place
