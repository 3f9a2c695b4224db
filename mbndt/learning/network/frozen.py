"""A trained network at rest: hard routing in NumPy alone, and the intervals that it means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbndt.arrays import Flags, Floats, Indices, Ints
from mbndt.learning.network.encoding import GRID, SCORE_END, least


@dataclass(frozen=True)
class Shape:
    """The sizes of a network: `depth` D, `branching` B, `scores` F, `outputs` K of a leaf."""

    depth: int
    branching: int
    scores: int
    outputs: int = 1

    @property
    def leaves(self) -> int:
        """Return L = B^D."""
        return int(self.branching**self.depth)

    @property
    def nodes(self) -> int:
        """Return N, the number of splits."""
        return (self.leaves - 1) // (self.branching - 1)

    def level(self, depth: int) -> slice:
        """Return the nodes of one level in heap order."""
        start = (self.branching**depth - 1) // (self.branching - 1)
        return slice(start, start + self.branching**depth)


@dataclass(frozen=True)
class TrainedNetwork:
    """One trained network at rest, in double precision, and the hard routing that is its meaning.

    Routing compares log(g_b M_b) without the clamp of training: a logistic location family has a
    monotone likelihood ratio, so over a rising score the winning branch never falls.
    """

    shape: Shape
    tau: float
    chosen: Ints  # [N], the score column that each node reads
    cuts: Floats  # [N, B-1]
    widths: Floats  # [N, B-1], softplus of the gaps: widths[:, k] lies below cuts[:, k]
    masks: Floats  # [N, B], the logits
    leaves: Floats  # [L, K]

    def branch(self, node: int, score: Floats, alive: Flags) -> Indices:
        """Return the branch that rows of given scores [n] take at a node, [n].

        Among the branches that are `alive` [B]; ties go to the first.
        """
        away = (self.cuts[node][:, None] - score) / self.tau
        found = -np.logaddexp(0, -self.masks[node])[:, None] + np.zeros(len(score))
        found[:-1] += -np.logaddexp(0, -away)
        found[1:] += -np.logaddexp(0, away)
        with np.errstate(divide="ignore"):
            # g_b = s(b) s(-a) (1 - e^(a-b)) for the ends a < b of a bin: the last factor is
            # the same for all scores.
            found[1:-1] += np.log(-np.expm1(-self.widths[node][1:] / self.tau))[:, None]
        found[~alive] = -np.inf
        best: Indices = np.argmax(found, axis=0)
        return best

    def route(self, scores: Floats, alive: Flags) -> tuple[Floats, Ints]:
        """Return how often each branch is taken [N, B] and each row's leaf [n].

        For scores [n, F] and the branches that are `alive` [N, B].
        """
        hits = np.zeros(alive.shape)
        place = np.zeros(len(scores), np.int64)
        for depth in range(self.shape.depth):
            level = self.shape.level(depth)
            step = np.zeros(len(scores), np.int64)
            for here in np.unique(place):
                node = level.start + int(here)
                rows = np.flatnonzero(place == here)
                step[rows] = self.branch(node, scores[rows, self.chosen[node]], alive[node])
                hits[node] = np.bincount(step[rows], minlength=self.shape.branching)
            place = place * self.shape.branching + step
        return hits, place

    def intervals(self, node: int, alive: Flags) -> list[tuple[float | None, int]]:
        """Return the ordered score intervals of a node as (end, branch), the last end None.

        Ends are exact on the grid of scores: the first score of the next interval, found by
        bisection on `branch` itself.
        """
        end = int(np.ceil(SCORE_END / GRID))

        def branch_at(places: list[int]) -> Indices:
            return self.branch(node, np.array(places) * GRID, alive)

        found: list[tuple[float | None, int]] = []
        low, last = -end, int(branch_at([end])[0])
        while (here := int(branch_at([low])[0])) < last:
            low = least(low, end, lambda places, here=here: branch_at(places) > here)  # type: ignore[misc]
            found.append((low * GRID, here))
        return [*found, (None, here)]
