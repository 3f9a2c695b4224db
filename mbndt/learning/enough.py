"""Leaves of enough training rows, and of enough events: what has too few joins its neighbours.

A leaf holds enough events if it has as many as are asked, or as many rows as hold so many at the
overall share: that few of many rows have the event is a finding, and not for want of rows.
Rows count by their weights, as everywhere in learning.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mbndt.arrays import Indices
from mbndt.errors import OptionError, shown
from mbndt.interpreter import branches
from mbndt.learning.joining import sent
from mbndt.learning.settings import Settings
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Leaf, Node, NumericSplit, Rules, Split, deep_recursion


def check_enough(settings: Settings, training: TrainingSet) -> None:
    """Raise `OptionError` for rows or events that not even all training rows together have."""
    rows = int(training.count)
    if (least := settings.min_rows or 0) > rows:
        raise OptionError(f"min_rows: got {least}, expected at most {rows}, the training rows")
    if not settings.min_events:
        return
    counts, event = training.class_counts(), training.event
    name = shown(training.target.name)
    if counts is None:
        raise OptionError(f"min_events: only for classes, and {name} is a number")
    if event is None:
        raise OptionError(f"min_events: {name} has {len(counts)} classes; name one as `event`")
    if settings.min_events > counts[event]:
        raise OptionError(
            f"min_events: got {settings.min_events}, expected at most {int(counts[event])}, the"
            f" training rows of {shown(training.target.classes[event])}"
        )


def enough(rules: Rules, training: TrainingSet, settings: Settings) -> Rules:
    """Return rules each of whose leaves holds enough rows and events, the given ones if all do.

    A child of too few leaves its place to a neighbour, and leaves whose rows change are estimated
    anew. A single leaf stays, whatever it holds.
    """
    if not settings.min_rows and not settings.min_events:
        return rules
    found = _Enough(rules, training, settings)
    every = np.arange(training.n_rows)
    with deep_recursion():
        root = found.node(rules.root, every)
        if root is rules.root:
            return rules
        if root is None:
            return replace(rules, root=training.single_leaf())
        return replace(rules, root=found.estimated(root, every, itertools.count()))


@dataclass(frozen=True)
class _Enough:
    """The walk over rules and their rows."""

    rules: Rules
    training: TrainingSet
    settings: Settings
    before: dict[int, Indices] = field(default_factory=dict)  # rows by leaf id

    def holds(self, index: Indices) -> bool:
        """Tell whether rows are enough for a leaf."""
        weights, events = self.training.weights, self.settings.min_events
        count = weights[index].sum()
        if count < (self.settings.min_rows or 0):
            return False
        if not events:
            return True
        ill = np.asarray(self.training.codes == self.training.event)
        own = weights[index] @ ill[index]
        return bool(own >= events or count * (weights @ ill) >= events * weights.sum())

    def node(self, node: Node, index: Indices) -> Node | None:
        """Return what is left of a node over its rows, None where they are too few."""
        if isinstance(node, Leaf):
            self.before[node.leaf] = index
            return node if self.holds(index) else None
        parts = self._parted(node, index)
        left = [self.node(child, part) for child, part in zip(node.children, parts, strict=True)]
        if all(new is old for new, old in zip(left, node.children, strict=True)):
            return node
        alive = [i for i, child in enumerate(left) if child is not None]
        children = tuple(child for child in left if child is not None)
        if not children:
            return _NEW if self.holds(index) else None
        if len(children) == 1:
            return children[0]
        sizes = [float(self.training.weights[part].sum()) for part in parts]
        return sent(
            node, [alive.index(_heir(node, i, alive, sizes)) for i in range(len(left))], children
        )

    def estimated(self, node: Node, index: Indices, numbers: Iterator[int]) -> Node:
        """Return a node with leaves of the rows that reach them now, numbered anew."""
        if not isinstance(node, Leaf):
            parts = self._parted(node, index)
            children = [
                self.estimated(child, part, numbers)
                for child, part in zip(node.children, parts, strict=True)
            ]
            return replace(node, children=tuple(children))
        if np.array_equal(self.before.get(node.leaf, ()), index):
            return replace(node, leaf=next(numbers))
        return self.training.leaf(next(numbers), index)

    def _parted(self, split: Split, index: Indices) -> list[Indices]:
        to = branches(self.rules, split, self.training.typed[split.feature].take(index))
        return [index[to == i] for i in range(len(split.children))]


_NEW = Leaf(-1, 0.0)  # in the place of a leaf that is still to be estimated


def _heir(split: Split, child: int, alive: Sequence[int], sizes: Sequence[float]) -> int:
    """Return which child takes the place of a child: the nearest in order, the larger of equals."""
    if child in alive:
        return child
    places: dict[int, list[int]] = {}
    if isinstance(split, NumericSplit):
        for place, part in enumerate(split.intervals):
            places.setdefault(part.to, []).append(place)

    def far(other: int) -> int:
        own, its = places.get(child, []), places.get(other, [])
        return min((abs(a - b) for a in own for b in its), default=len(split.children))

    return min(alive, key=lambda other: (far(other), -sizes[other]))
