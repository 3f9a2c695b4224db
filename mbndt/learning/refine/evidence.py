"""Is it more than chance? A tree keeps the splits alone that the rows below them bear out.

At each split, from the root down, three tests ask whether anything tells the outcome of the rows
that reach it. One is enough, and without any the split becomes a leaf:

* the best single cut of any axis, its likelihood ratio beside the best of all cuts of rows of
  pure chance (maximally selected statistics: Miller and Siegmund, Biometrics 38, 1982), and sets of
  categories as tables of levels by classes (Pearson's statistic, with its exact mean and variance
  over all permutations of the rows: Haldane, Biometrika 31, 1940); the axes' p-values are combined
  by Simes' rule;
* the subtree itself, its likelihood ratio beside the number of such trees (a union bound), which
  sees what no single cut shows, such as parities;
* the forest's out-of-bag view, where there is one: whether it goes along with the outcomes of rows
  that it has not seen, beside all permutations of them.

All of it rests on weighted sums, so a row of weight 2 is as much evidence as two rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import betainc, chdtrc, gammaincc, gammaln, ndtr, ndtri, xlogy

from mbndt.arrays import Floats, Indices
from mbndt.learning.refine.bins import Axis, SetAxis
from mbndt.learning.refine.histograms import BinSums
from mbndt.learning.refine.problem import BinSplit, Problem, Tree

# Shares of splits that may stand on chance, by test; together 1 in 20.
BY_CUT, BY_TREE, BY_VIEW = 0.02, 0.01, 0.02
SKEWED_ROWS = 10  # for each unit of squared skewness


@dataclass(frozen=True)
class Evidence:
    """The rows' own outcomes, and the forest's view of them, over the axes of a problem.

    Outcomes [n, K] are one column a class, or a single one of values, and not smoothed.
    """

    problem: Problem
    axes: Sequence[Axis]
    outcome: Floats
    view: Floats | None = None

    def borne_out(self, tree: Tree, index: Indices) -> Tree:
        """Return the tree with each split that its rows don't bear out as a leaf."""
        if not isinstance(tree, BinSplit):
            return tree
        if not self._more_than_chance(tree, index):
            return self.problem.goal.best(index)
        branch = self.problem.branch(tree, index)
        children = tuple(
            self.borne_out(child, index[branch == i]) if np.any(branch == i) else child
            for i, child in enumerate(tree.children)
        )
        return replace(tree, children=children)

    def _more_than_chance(self, tree: Tree, index: Indices) -> bool:
        if self.by_cut(index) <= BY_CUT or self.by_view(index) <= BY_VIEW:
            return True
        return bool(self.by_tree(tree, index) <= BY_TREE)

    @cached_property
    def _classes(self) -> bool:
        return bool(self.outcome.shape[1] > 1)

    @cached_property
    def _numbers(self) -> Floats:
        """The rows' outcomes, weighted, whose sums the tests need, [n, K].

        Classes; or weights and normal scores of the values' ranks, as a single far value would
        outweigh all others.
        """
        weights = self.problem.weights
        if self._classes:
            return self.outcome * weights[:, None]
        values, level = np.unique(self.outcome[:, 0], return_inverse=True)
        mass = np.bincount(level, weights, len(values))
        scores = ndtri((np.cumsum(mass) - mass / 2) / mass.sum())[level]
        return np.column_stack([weights, weights * scores, weights * scores**2])

    def by_cut(self, index: Indices) -> float:
        """Return the p-value of the best cut of all axes."""
        sums = BinSums.of(self.problem, index, self._numbers[index])
        total, fewest = self._numbers[index].sum(0), self._fewest(index)
        found = np.sort([self._of_axis(sums, i, total, fewest) for i in range(len(self.axes))])
        return float(np.min(found * len(found) / np.arange(1, len(found) + 1), initial=1.0))

    def _fewest(self, index: Indices) -> float:
        """Return the fewest rows on each side of a cut.

        More where values are skewed, as the mean of a few is then far from normal.
        """
        if self._classes:
            return float(self.problem.fewest)
        weight, first, _ = self._numbers[index].T
        centred = first / weight - first.sum() / weight.sum()
        square = float(np.average(centred**2, weights=weight))
        cube = float(np.average(centred**3, weights=weight))
        return max(self.problem.fewest, SKEWED_ROWS * cube**2 / square**3 if square > 0 else 0.0)

    def _of_axis(self, sums: BinSums, axis: int, total: Floats, fewest: float) -> float:
        prefix, missing = sums.prefix[:, axis], sums.missing[:, axis]
        bins = int(np.count_nonzero(sums.bin_counts(axis)[:-1]))
        kind = self.axes[axis]
        if isinstance(kind, SetAxis) and bins + bool(self._mass(missing)) > 2:
            levels = np.column_stack([np.diff(prefix[:, : bins + 1]), missing])
            levels = levels[:, self._mass(levels) > 0]
            alone = self._parted(levels, total, fewest).min(initial=1.0) * levels.shape[1]
            return float(min(1.0, 2 * min(self._table(levels), alone)))
        below = np.column_stack([prefix[:, 1:bins], missing])
        p = self._parted(below, total, fewest)
        reach = float(self._mass(total)) / fewest
        return min(1.0, self._best_of_all(p, reach)) if len(p) else 1.0

    def _best_of_all(self, p: Floats, reach: float) -> float:
        """Return the p-value of the best of cuts with p-values [m], neighbours being alike.

        `reach` is how much larger all rows are than the least side of a cut.
        """
        least = float(p.min())
        square = float(ndtri(max(least, 1e-300) / 2)) ** 2
        range_ = 2 * math.log(max(2.0, reach))
        return least * min(len(p), 2 + max(0.0, square - 1) / 2 * range_)

    def _mass(self, sums: Floats) -> Floats:
        return np.asarray(sums.sum(0) if self._classes else sums[0])

    def _parted(self, part: Floats, total: Floats, fewest: float) -> Floats:
        """Return the p-values of parting sums [K, m] from the rest of the total [K].

        Where both sides have rows enough.
        """
        mass = self._mass(part)
        part = part[:, (mass >= fewest) & (self._mass(total) - mass >= fewest)]
        return self._told(np.stack([part, total[:, None] - part], axis=2), total)

    def _told(self, parts: Floats, total: Floats) -> Floats:
        """Return the p-value of what parts [K, m, P] of the total tell, [m]."""
        count = parts.shape[2] - 1
        if self._classes:
            parts = np.maximum(parts, 0.0)
            ratio = xlogy(parts, parts).sum((0, 2)) - xlogy(parts.sum(0), parts.sum(0)).sum(1)
            ratio += xlogy(total.sum(), total.sum()) - xlogy(total, total).sum()
            kinds = np.count_nonzero(total) - 1
            return np.asarray(chdtrc(max(1, kinds * count), 2 * np.maximum(ratio, 0.0)))
        weight, first, _ = parts
        mean = total[1] / total[0]
        spread = total[2] - total[1] * mean
        told = np.divide(
            (first - weight * mean) ** 2, weight, out=np.zeros_like(first), where=weight > 0
        ).sum(1)
        share = np.clip(told / spread, 0.0, 1.0) if spread > 0 else np.zeros(len(told))
        left = max(1.0, total[0] - count - 1)
        return np.asarray(betainc(left / 2, count / 2, 1 - share))

    def _table(self, levels: Floats) -> float:
        """Return the p-value of a table of sums [K, V] by level."""
        total = levels.sum(1)
        if not self._classes:
            return float(self._told(levels[:, None, :], total)[0])
        total = total[total > 0]
        n, mass = total.sum(), levels.sum(0)
        if len(total) < 2 or n < 5:
            return 1.0
        table = levels[levels.sum(1) > 0]
        statistic = n * ((table**2 / mass).sum(1) / total).sum() - n
        mean = (len(mass) - 1) * (len(total) - 1) * n / (n - 1)
        (free, bent), (free_, bent_) = _moments(mass, n), _moments(total, n)
        variance = 2 * n / (n - 3) * (free - bent) * (free_ - bent_) + n**2 / (n - 1) * bent * bent_
        if not variance > 0:
            return 1.0
        return float(gammaincc(mean**2 / variance, statistic * mean / variance))

    def by_tree(self, tree: Tree, index: Indices) -> float:
        """Return the p-value of a subtree among all trees of its shape."""
        parts: list[Floats] = []
        log_trees = self._count(tree, index, parts)
        total = self._numbers[index].sum(0)
        p = float(self._told(np.stack(parts, axis=1)[:, None, :], total)[0])
        return (
            1.0
            if p <= 0 and log_trees > 600
            else math.exp(min(0.0, log_trees + math.log(max(p, 1e-300))))
        )

    def _count(self, tree: Tree, index: Indices, parts: list[Floats]) -> float:
        """Return the log of the number of trees of a shape, and append each leaf's sums."""
        if not isinstance(tree, BinSplit) or len(index) == 0:
            parts.append(self._numbers[index].sum(0))
            return 0.0
        bins = len(np.unique(self.problem.bins[tree.axis, index])) - 1
        cuts, ways = min(tree.extra, bins), math.log(len(tree.children))
        found = math.log(len(self.axes)) + cuts * ways
        if _is_set(self.axes[tree.axis]):
            found += (bins - cuts) * ways
        else:
            found += gammaln(bins + 1) - gammaln(cuts + 1) - gammaln(bins - cuts + 1)
        branch = self.problem.branch(tree, index)
        return float(found) + sum(
            self._count(child, index[branch == i], parts) for i, child in enumerate(tree.children)
        )

    def by_view(self, index: Indices) -> float:
        """Return the p-value of the view's going along with the outcomes."""
        # The order of categories comes from the outcomes, so a forest over it has seen them all.
        if self.view is None or any(map(_is_set, self.axes)):
            return 1.0
        w = self.problem.weights[index]
        scored = self._numbers[index] / w[:, None]
        own = scored if self._classes else scored[:, 1:2]
        own, seen = own - np.average(own, 0, w), self.view[index]
        seen = seen - np.average(seen, 0, w)
        along = float((w[:, None] * own * seen).sum())
        spreads = ((own.T * w) @ own * ((seen.T * w) @ seen)).sum()
        deviation = math.sqrt(max(0.0, spreads) / max(1.0, w.sum() - 1))
        return float(ndtr(-along / deviation)) if deviation > 0 else 1.0


def _is_set(axis: Axis) -> bool:
    """Tell whether an axis has categories, more than two, in an order learned from outcomes."""
    return isinstance(axis, SetAxis) and axis.size > 4


def _moments(margin: Floats, n: float) -> tuple[float, float]:
    """Return what a margin [V] of a table of n rows adds to its statistic's variance."""
    count = len(margin)
    bent = (n * (1 / margin).sum() - count**2) / (n - 2)
    return (n - count) * (count - 1) / (n - 1), float(bent)
