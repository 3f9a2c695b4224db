"""Sums over rows by bin, for all axes at once: the only thing of re-splitting that touches rows.

The sums are one product of two matrices, SciPy's compressed rows times a dense matrix: about a
nanosecond a cell. A compiled kernel of our own would gain little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mbndt.arrays import Floats, Indices
from mbndt.learning.refine.problem import Problem, Tree

CHUNK = 4_000_000  # cells that are summed at a time, for memory's sake


@dataclass(frozen=True)
class BinSums:
    """Sums of K numbers over rows, by bin.

    `prefix` [K, F, W+1] are those of the bins that rows have on each axis, in order; `missing` [K,
    F]; `counts` [S] of the rows at `index` [m] in all bins, axis after axis from `starts`.
    """

    problem: Problem
    index: Indices
    counts: Floats
    starts: Indices
    prefix: Floats
    missing: Floats

    @classmethod
    def of(cls, problem: Problem, index: Indices, numbers: Floats) -> BinSums:
        """Sum numbers [m, K] of rows [m]."""
        sizes = np.array(problem.sizes, np.intp)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        with_one = np.column_stack([numbers, problem.weights[index]])
        table = _histogram(problem, index, with_one, starts)
        counts = table[:, -1]
        axis = np.repeat(np.arange(len(sizes)), sizes)
        ordinary = np.ones(len(axis), np.bool_)
        ordinary[starts[1:] - 1] = False
        here = np.flatnonzero(ordinary & (counts > 0))
        per_axis = np.bincount(axis[here], minlength=len(sizes))
        rank = np.arange(len(here)) - (np.cumsum(per_axis) - per_axis)[axis[here]]
        prefix = np.zeros((numbers.shape[1], len(sizes), int(per_axis.max(initial=0)) + 1))
        prefix[:, axis[here], rank + 1] = table[here, :-1].T
        np.cumsum(prefix, axis=2, out=prefix)
        missing = table[starts[1:] - 1, :-1].T
        return cls(problem, index, counts, starts, prefix, missing)

    def bin_counts(self, axis: int) -> Floats:
        """Return the rows in each bin of an axis, the missing ones last."""
        return self.counts[self.starts[axis] : self.starts[axis + 1]]

    def chunks(self, most: int) -> Indices:
        """Return the ends of at most so many chunks of about equally many rows, [F, V+1].

        They are positions in `prefix`, rising, from 0 to its end.
        """
        width = self.prefix.shape[2] - 1
        if width <= most:
            return np.tile(np.arange(width + 1), (len(self.starts) - 1, 1))
        found = np.full((len(self.starts) - 1, most + 1), width)
        for axis in range(len(found)):
            counts = self.bin_counts(axis)[:-1]
            reached = np.cumsum(counts[counts > 0])
            if len(reached):
                ends = np.linspace(0, reached[-1], most + 1)[1:-1]
                found[axis, 1:-1] = np.searchsorted(reached, ends, side="left") + 1
        found[:, 0] = 0
        return np.maximum.accumulate(found, axis=1)

    def table(
        self, axis: int, pieces: list[tuple[int, int, int]], choices: Sequence[Tree] = ()
    ) -> Indices:
        """Return the choice of each bin of an axis, [size].

        Pieces are (start, end, choice) over the bins that rows have; `choices` are what they lead
        to, where that is settled.

        A piece of too few rows joins its larger neighbour. Bins without rows are shared by halves
        between their neighbours; the missing bin goes where most rows go.
        """
        counts = self.bin_counts(axis)
        at = np.flatnonzero(counts[:-1])
        # The positions of axes with fewer bins than the widest go on past their last.
        pieces = [(min(start, len(at)), min(end, len(at)), choice) for start, end, choice in pieces]
        to = np.empty(len(counts), np.intp)
        low = 0
        for _, end, choice in self._roomy(axis, pieces, at, choices):
            high = (at[end - 1] + at[end] + 1) // 2 if 0 < end < len(at) else len(counts) - 1
            to[low:high] = choice
            low = high
        to[-1] = np.argmax(np.bincount(to[:-1], counts[:-1]))
        return to

    def _roomy(
        self, axis: int, pieces: list[tuple[int, int, int]], at: Indices, choices: Sequence[Tree]
    ) -> list[tuple[int, int, int]]:
        """Return pieces of enough rows for their choices, over the bins `at` [w] that have rows."""
        pieces = list(pieces)
        counts = np.append(0.0, np.cumsum(self.bin_counts(axis)[at]))
        own = self._own_counts(axis, at) if len(choices) else None
        while len(pieces) > 1:
            sizes = [float(counts[end] - counts[start]) for start, end, _ in pieces]
            room = [
                self.problem.room(
                    choices[choice] if own is not None else 0,
                    size,
                    None if own is None else own[end] - own[start],
                )
                for size, (start, end, choice) in zip(sizes, pieces, strict=True)
            ]
            i = int(np.argmin(room))
            if room[i] >= 1:
                break
            near = [k for k in (i - 1, i + 1) if 0 <= k < len(pieces)]
            j = max(near, key=sizes.__getitem__)
            first, last = sorted((i, j))
            pieces[first : last + 1] = [(pieces[first][0], pieces[last][1], pieces[j][2])]
        return pieces

    def _own_counts(self, axis: int, at: Indices) -> Floats | None:
        """Return the rows of each class up to each of some bins `at` [w], [w+1, C]."""
        own = self.problem.own
        if own is None:
            return None
        bins = self.problem.bins[axis, self.index]
        size = self.problem.sizes[axis]
        table = np.stack([np.bincount(bins, each, size) for each in own[self.index].T], axis=1)
        return np.concatenate([np.zeros((1, table.shape[1])), np.cumsum(table[at], axis=0)])

    def lonely(self, axis: int) -> bool:
        """Tell whether the missing rows of an axis are too few for a child of their own."""
        return bool(self.bin_counts(axis)[-1] < self.problem.fewest)

    def gap(self, axis: int) -> Indices:
        """Return how far each bin that has rows lies from the one before, [w+1]; 0 at the ends."""
        at = np.flatnonzero(self.bin_counts(axis)[:-1])
        return np.pad(np.diff(at), 1) if len(at) else np.zeros(1, np.intp)


def _histogram(problem: Problem, index: Indices, values: Floats, starts: Indices) -> Floats:
    """Return the sums of values [m, K] by the rows' bins on all axes, axis after axis, [S, K]."""
    axes = len(problem.sizes)
    found = np.zeros((starts[-1], values.shape[1]))
    step = max(1, CHUNK // max(1, axes))
    for low in range(0, len(index), step):
        part = index[low : low + step]
        place = problem.bins[:, part].T + starts[:-1].astype(np.int32)
        ends = np.arange(0, place.size + 1, axes, dtype=np.int32)
        ones = np.ones(place.size)
        chosen = csr_array((ones, place.ravel(), ends), shape=(len(part), int(starts[-1])))
        found += chosen.T @ values[low : low + step]
    return found
