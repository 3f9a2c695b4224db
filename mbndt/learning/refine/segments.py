"""The segmentation programme: ordered chunks of bins cut into segments of least total cost.

Greedy trees use it on impurities, and a regression's re-splits on squared errors (Bellman 1961).
Costs are quadratic in the number of chunks, so bins are put together where there are many, and axes
are worked on a few at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbndt.arrays import Floats, Indices

CELLS = 4_000_000  # costs that are held at a time, for memory's sake

# Gives the costs [f, V+1, V+1] of segments from i to j on some axes [f].
Costs = Callable[[Indices], Floats]


def range_sums(prefix: Floats) -> Floats:
    """Return the sums [K, F, V+1, V+1] over chunks from i to j, of prefix sums [K, F, V+1]."""
    return prefix[:, :, None, :] - prefix[:, :, :, None]


def least_costs(cost: Floats, most: int, penalty: float) -> list[Floats]:
    """Return the least costs of cutting the first j chunks into k = 1..most segments, [k][F, V+1].

    `cost` [F, V+1, V+1] is that of a segment from i to j.
    """
    backwards = np.tril_indices(cost.shape[1], -1)
    cost[:, backwards[0], backwards[1]] = np.inf
    reached = [cost[:, 0, :]]
    for _ in range(1, most):
        reached.append((reached[-1][:, :, None] + cost).min(1) + penalty)
    return reached


def least_totals(costs: Costs, axes: int, chunks: int, most: int, penalty: float) -> Floats:
    """Return the least costs of cutting all chunks of each axis into k = 1..most segments, [k, F].

    At most `chunks` are on an axis.
    """
    at_once = max(1, CELLS // (chunks + 1) ** 2)
    found = [
        np.array(
            [
                r[:, -1]
                for r in least_costs(costs(np.arange(low, min(low + at_once, axes))), most, penalty)
            ]
        )
        for low in range(0, axes, at_once)
    ]
    return np.concatenate(found, axis=1)


def best_segments(costs: Costs, axis: int, count: int, penalty: float) -> list[tuple[int, int]]:
    """Return the best cut of an axis into at most `count` segments, those that aren't empty."""
    cost = costs(np.array([axis]))
    reached = least_costs(cost, count, penalty)
    end = cost.shape[1] - 1
    found = []
    for before in reversed(reached[:-1]):
        start = int(np.argmin(before[0] + cost[0, :, end]))
        found.append((start, end))
        end = start
    found.append((0, end))
    return [(start, end) for start, end in reversed(found) if start < end]
