"""Trees whose answers never fall, or never rise, along stated axes.

The search sees it in two places. Along such an axis a cut into leaves may stand only where the
means on both sides rise: on the corners of the convex minorant of the running sums, between which
the best ordered segments lie (Haiminen and Gionis, ICDM 2004). And whatever tree is about to be
taken is brought in order first: its leaves' scores or values are moved to the nearest that are
ordered, over all pairs of leaves that some row could go between as that axis alone rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mbndt.arrays import Floats, Indices
from mbndt.learning.isotonic import Pair, isotonic
from mbndt.learning.refine.problem import BinSplit, Classes, Problem, Tree, joined

LEAST = 1e-9  # weight of a leaf without rows


def corners(gain: Floats, weight: Floats, sign: int) -> Indices:
    """Return the places of running sums [m] between which the means `gain / weight` are ordered.

    The first place of equal sums is one of them, and the last place of all.
    """
    found = [0]
    points = np.column_stack([weight, sign * gain])
    for place in range(1, len(points)):
        if points[place, 0] <= points[found[-1], 0]:
            continue
        while len(found) > 1 and _turns_down(*points[[found[-2], found[-1], place]]):
            found.pop()
        found.append(place)
    return np.array(found)


def _turns_down(a: Floats, b: Floats, c: Floats) -> bool:
    """Tell whether the slope from b to c isn't above that from a to b."""
    return bool((c[1] - b[1]) * (b[0] - a[0]) <= (b[1] - a[1]) * (c[0] - b[0]))


def ordered_ends(problem: Problem, moments: Floats, ends: Indices) -> Indices:
    """Return ends [F, V+1] of chunks of which those stay, on ordered axes, that may part leaves.

    The others are as the one before. `moments` [M, F, W+1] are running sums of the goal's moments.
    """
    if not problem.signs:
        return ends
    found = ends.copy()
    for axis in np.flatnonzero(problem.signs):
        gain, weight = _course(problem, moments[:, axis, ends[axis]])
        kept = corners(gain, weight, problem.signs[axis])
        places = np.zeros(ends.shape[1], np.intp)
        places[kept] = kept
        found[axis] = ends[axis, np.maximum.accumulate(places)]
        found[axis, -1] = ends[axis, -1]
    return found


def barrier(problem: Problem, moments: Floats) -> Floats:
    """Return what a cut costs more at each place of running sums [M, F, W+1]: 0, or infinity."""
    _, axes, places = moments.shape
    found = np.zeros((axes, places))
    every = np.tile(np.arange(places), (axes, 1))
    found[ordered_ends(problem, moments, every) != every] = np.inf
    return found


def _course(problem: Problem, moments: Floats) -> tuple[Floats, Floats]:
    """Return running sums of what is to be ordered, and of its weight, of moments [M, ...]."""
    if isinstance(problem.goal, Classes):
        return moments[problem.event], moments.sum(0)
    return moments[1], moments[0]


def in_order(problem: Problem, tree: Tree, index: Indices) -> Tree:
    """Return the tree, over rows [m], with its answers in order along all axes that ask for it."""
    if not any(problem.signs) or not isinstance(tree, BinSplit):
        return tree
    whole = {axis: (1 << size) - 1 for axis, size in enumerate(problem.sizes)}
    ends = [*_ends(problem, tree, index, whole)]
    if not _wrong(problem, ends, _pairs(problem, ends)):
        return tree
    # What several runs of bins share can't be ordered among them.
    tree = _apart(problem, tree)
    ends = [*_ends(problem, tree, index, whole)]
    pairs = _pairs(problem, ends)
    if not _wrong(problem, ends, pairs):
        return tree
    scored = np.array([_scored(problem, end) for end in ends])
    found = isotonic(scored[:, 0], scored[:, 1], pairs)
    leaves = iter([_answer(problem, value) for value in found.tolist()])
    return _with_leaves(tree, leaves)


@dataclass(frozen=True)
class _End:
    """A leaf in its place: its rows, and by axis the mask of the bins that lead to it."""

    leaf: int | float
    index: Indices
    box: Mapping[int, int]


def _ends(problem: Problem, tree: Tree, index: Indices, box: Mapping[int, int]) -> Iterator[_End]:
    """Yield the leaves that some row could reach, and those that none could, depth-first."""
    if not isinstance(tree, BinSplit):
        yield _End(tree, index, box)
        return
    branch = problem.branch(tree, index)
    for i, child in enumerate(tree.children):
        mask = _mask(tree.to == i) & box[tree.axis]
        yield from _ends(problem, child, index[branch == i], {**box, tree.axis: mask})


def _mask(flags: np.ndarray) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _pairs(problem: Problem, ends: list[_End]) -> list[Pair]:
    """Return the pairs of leaves, the one to be lower first, that a row could go between."""
    found = []
    for axis in np.flatnonzero(problem.signs).tolist():
        present = (1 << problem.sizes[axis] - 1) - 1
        for a, low in enumerate(ends):
            here = low.box[axis] & present
            above = present & ~(((here & -here) << 1) - 1)
            for b, high in enumerate(ends):
                if a != b and here and high.box[axis] & above and _meet(low, high, axis):
                    found.append((a, b) if problem.signs[axis] > 0 else (b, a))
    return found


def _meet(one: _End, other: _End, axis: int) -> bool:
    return all(mask & other.box[key] for key, mask in one.box.items() if key != axis)


def _wrong(problem: Problem, ends: list[_End], pairs: list[Pair]) -> bool:
    """Tell whether some pair of answers is in the wrong order."""
    told = [
        float(end.leaf == problem.event) if isinstance(problem.goal, Classes) else end.leaf
        for end in ends
    ]
    return any(told[low] > told[high] for low, high in pairs)


def _apart(problem: Problem, tree: Tree) -> Tree:
    """Return the tree whose splits of ordered axes have a child of its own for each run of bins."""
    if not isinstance(tree, BinSplit):
        return tree
    children = [_apart(problem, child) for child in tree.children]
    if not problem.signs[tree.axis]:
        return replace(tree, children=tuple(children))
    runs = np.concatenate([[0], np.cumsum(np.diff(tree.to[:-1]) != 0)])
    first = np.flatnonzero(np.diff(runs, prepend=-1))
    own = tree.to[first]
    alike = np.flatnonzero(own == tree.to[-1])
    # Missing values stay with the first of the runs that they shared a child with.
    last = int(alike[0]) if len(alike) else len(own)
    parts = [children[i] for i in own.tolist()]
    parts += [] if len(alike) else [children[int(tree.to[-1])]]
    return replace(tree, to=np.append(runs, last), children=tuple(parts))


def _scored(problem: Problem, end: _End) -> tuple[float, float]:
    """Return what of a leaf is to be ordered, a score or a value, and what it weighs."""
    sums = problem.goal.moments(end.index).sum(0)
    gain, weight = _course(problem, sums)
    if weight <= 0:
        own = float(end.leaf == problem.event) if isinstance(problem.goal, Classes) else end.leaf
        return own, LEAST
    return float(gain / weight), float(weight)


def _answer(problem: Problem, value: float) -> Tree:
    """Return the leaf of a score or a value; equal scores are the first class's."""
    if not isinstance(problem.goal, Classes):
        return value
    others = 1 - problem.event
    return problem.event if value > 0.5 or (value == 0.5 and problem.event == 0) else others


def _with_leaves(tree: Tree, leaves: Iterator[Tree]) -> Tree:
    """Return the tree with leaves taken depth-first; equal ones of a split become one."""
    if not isinstance(tree, BinSplit):
        return next(leaves)
    children = [_with_leaves(child, leaves) for child in tree.children]
    return joined(tree.axis, tree.to, children)
