"""Train-path pruning: a trained network becomes rules over raw columns.

A branch survives if a training row takes it; whatever else would take a pruned branch goes to the
surviving branch of greatest masked probability, and the interval or group records the branch it
was `redirected_from`. Score intervals become raw thresholds through the encoder's exact inverse,
so that the rules route every raw row, not only the training rows, as the pruned network does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mbndt.arrays import Flags, Floats, Indices
from mbndt.interpreter import branches
from mbndt.learning.network.encoding import Encoder, NumberColumn, SetColumn
from mbndt.rules import (
    INT64_MIN,
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
    Split,
    Target,
)
from mbndt.tables.table import Column

if TYPE_CHECKING:
    from mbndt.learning.network.frozen import TrainedNetwork

# Makes a leaf from its id, the network's outputs [K], and the training rows that reach it [m].
LeafMaker = Callable[[int, Floats, Indices], Leaf]


def surviving(network: TrainedNetwork, scores: Floats) -> Flags:
    """Return which branches some row of scores [n, F] takes, [N, B]."""
    everything = np.ones((network.shape.nodes, network.shape.branching), np.bool_)
    hits, _ = network.route(scores, everything)
    return hits > 0


def prune(
    network: TrainedNetwork,
    encoder: Encoder,
    scores: Floats,
    features: tuple[Feature, ...],
    target: Target,
    make_leaf: LeafMaker,
) -> Rules:
    """Return the rules of the network pruned to the paths of training scores [n, F]."""
    alive = surviving(network, scores)
    _, leaf = network.route(scores, alive)
    order = np.argsort(leaf, kind="stable")
    ids, starts = np.unique(leaf[order], return_index=True)
    rows = dict(zip(ids.tolist(), np.split(order, starts[1:]), strict=True))
    build = _Build(network, encoder, alive, rows, make_leaf, itertools.count())
    return Rules(target.name, target, features, build.node(0, 0))


@dataclass(frozen=True)
class _Build:
    """The walk from the network's nodes to those of the rules, depth-first."""

    network: TrainedNetwork
    encoder: Encoder
    alive: Flags
    rows: dict[int, Indices]
    make_leaf: LeafMaker
    ids: itertools.count[int]

    def node(self, depth: int, place: int) -> Node:
        """Return the rules' node for the network's node at `place` in its level."""
        if depth == self.network.shape.depth:
            return self.make_leaf(next(self.ids), self.network.leaves[place], self.rows[place])
        node = self.network.shape.level(depth).start + place
        survivors = np.flatnonzero(self.alive[node]).tolist()
        children = tuple(
            self.node(depth + 1, place * self.network.shape.branching + branch)
            for branch in survivors
        )
        if len(children) == 1:
            return children[0]
        child_of = {branch: i for i, branch in enumerate(survivors)}
        column = self.encoder.columns[int(self.network.chosen[node])]
        if isinstance(column, NumberColumn):
            return self._numeric(node, column, child_of, children)
        return self._set(node, column, child_of, children)

    def _numeric(
        self, node: int, column: NumberColumn, child_of: dict[int, int], children: tuple[Node, ...]
    ) -> NumericSplit:
        lowest = -math.inf if column.feature.type != FeatureType.INTEGER else INT64_MIN
        parts: list[Interval] = []
        before: float = lowest
        for end, branch, wanted in self._intervals(node):
            below = None if end is None else column.lowest(end)
            if below is not None and below <= before:
                continue  # no raw value has a score in this interval
            source = None if wanted == branch else wanted
            parts.append(Interval(None if below is None else below + 0, child_of[branch], source))
            if below is None:
                break
            before = below
        missing = self._branch(node, column.missing_score())
        return NumericSplit(column.feature.name, tuple(parts), child_of[missing], children)

    def _intervals(self, node: int) -> list[tuple[float | None, int, int]]:
        """Return score intervals as (end, surviving branch, branch that would win unpruned)."""
        everything = np.ones(self.network.shape.branching, np.bool_)
        kept = self.network.intervals(node, self.alive[node])
        wanted = self.network.intervals(node, everything)
        found = []
        ends: set[float] = {end for end, _ in kept + wanted if end is not None}
        for end in [*sorted(ends), None]:
            found.append((end, _branch_below(kept, end), _branch_below(wanted, end)))
        return found

    def _set(
        self, node: int, column: SetColumn, child_of: dict[int, int], children: tuple[Node, ...]
    ) -> SetSplit:
        known, unseen, missing = column.scores()
        everything = np.ones(self.network.shape.branching, np.bool_)
        taken = self.network.branch(node, known, self.alive[node]).tolist()
        wanted = self.network.branch(node, known, everything).tolist()
        values: tuple[str | bool, ...] = column.feature.categories or (False, True)
        groups: dict[tuple[int, int], list[str | bool]] = {}
        for value, branch, other in zip(values, taken, wanted, strict=True):
            groups.setdefault((branch, other), []).append(value)
        boolean = column.feature.type == FeatureType.BOOLEAN
        return SetSplit(
            column.feature.name,
            tuple(
                Group(tuple(members), child_of[branch], None if other == branch else other)
                for (branch, other), members in sorted(groups.items())
            ),
            child_of[self._branch(node, missing)],
            children,
            None if boolean else child_of[self._branch(node, unseen)],
        )

    def _branch(self, node: int, score: float) -> int:
        return int(self.network.branch(node, np.array([score]), self.alive[node])[0])


def _branch_below(intervals: list[tuple[float | None, int]], end: float | None) -> int:
    """Return the branch of the interval that reaches up to `end`, or past it."""
    for high, branch in intervals:
        if high is None or (end is not None and end <= high):
            return branch
    raise AssertionError("the last interval has no end")


def redirected(rules: Rules, columns: Mapping[str, Column], rows: int) -> int:
    """Return how many of n rows, given as typed columns, take a redirected interval or group."""
    found = 0
    work: list[tuple[Node, Indices]] = [(rules.root, np.arange(rows))]
    while work:
        node, here = work.pop()
        if isinstance(node, Leaf) or len(here) == 0:
            continue
        branch = branches(rules, _marked(node), columns[node.feature].take(here))
        found += int(np.count_nonzero(branch == len(node.children)))
        work += [(child, here[branch == i]) for i, child in enumerate(node.children)]
    return found


def _marked(split: Split) -> Split:
    """Return a split whose redirected parts lead to a child of their own, one past the others."""
    past = len(split.children)
    if isinstance(split, NumericSplit):
        return replace(
            split,
            intervals=tuple(
                part if part.redirected_from is None else replace(part, to=past)
                for part in split.intervals
            ),
        )
    return replace(
        split,
        groups=tuple(
            part if part.redirected_from is None else replace(part, to=past)
            for part in split.groups
        ),
    )
