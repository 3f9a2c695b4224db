"""Values brought into a stated order, as near as can be: isotonic regression on any order.

Values in the wrong order are pooled into their weighted means. A group of items is split, as long
as that gains, by the cut that a linear programme finds best, whose corners are whole (Luss, Rosset
and Shahar, Annals of Applied Statistics 6, 2012); groups that no cut improves are the solution of
least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbndt.arrays import Floats, Indices

TINY = 1e-9  # what counts as no gain of a cut, relative

Pair = tuple[int, int]


def isotonic(values: Floats, weights: Floats, pairs: Sequence[Pair]) -> Floats:
    """Return the values [n] nearest to given ones with `found[a] <= found[b]` for pairs (a, b).

    Nearest by squares that weigh `weights` [n], all above zero. The order holds to the last bit.
    """
    found = np.array(values, np.float64)
    edges = np.array(pairs, np.intp).reshape(-1, 2)
    if not np.any(found[edges[:, 0]] > found[edges[:, 1]]):
        return found
    groups: list[Indices] = [np.arange(len(found))]
    while groups:
        group = groups.pop()
        mean = float(np.average(values[group], weights=weights[group]))
        upper = _cut(weights[group] * (values[group] - mean), _among(edges, group))
        if upper.any() and not upper.all():
            groups += [group[upper], group[~upper]]
        else:
            found[group] = mean if np.ptp(values[group]) else values[group[0]]
    return in_order(found, pairs)


def in_order(values: Floats, pairs: Sequence[Pair]) -> Floats:
    """Return values raised as little as the order of pairs asks: what is left is rounding."""
    found = np.array(values, np.float64)
    changed = True
    while changed:
        changed = False
        for low, high in pairs:
            if found[low] > found[high]:
                found[high], changed = found[low], True
    return found


def _among(edges: Indices, group: Indices) -> Indices:
    """Return the edges within a group, as places in it."""
    place = np.full(int(max(edges.max(), group.max())) + 1, -1)
    place[group] = np.arange(len(group))
    found = place[edges]
    return found[(found >= 0).all(1)]


def _cut(gain: Floats, edges: Indices) -> np.ndarray:
    """Return which items [n] the upper part of greatest gain holds: none where none gains."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    count, scale = len(edges), float(np.abs(gain).sum())
    if scale == 0 or not count:
        return np.asarray(gain > 0)
    rows = np.repeat(np.arange(count), 2)
    ones = np.tile([1.0, -1.0], count)
    order = csr_array((ones, (rows, edges.ravel())), shape=(count, len(gain)))
    found = linprog(-gain / scale, A_ub=order, b_ub=np.zeros(count), bounds=(0, 1)).x > 0.5
    return found if gain[found].sum() > TINY * scale else np.zeros(len(gain), np.bool_)
