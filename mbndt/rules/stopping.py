"""Rules that give no answer where a missing or unlisted value leads to too few training rows.

A stop is a leaf without a value. Leaves that still answer keep their numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from mbndt.rules.nodes import Leaf, Node, NumericSplit, SetSplit, Split, deep_recursion, walk
from mbndt.rules.rules import Rules

LEAST_ROWS = 5


def stopping(rules: Rules, least: int = LEAST_ROWS, features: Collection[str] = ()) -> Rules:
    """Return rules that stop at values which too few training rows had there.

    A missing or unlisted value stops at a split where fewer than `least` training rows, or an
    unknown number, went its way (none where `least` is 0); a missing value of one of `features`
    stops wherever it is tested.
    What other values lead to is as before, ids included.
    """
    numbers = itertools.count(len(rules.leaves))

    def node(old: Node) -> Node:
        if isinstance(old, Leaf):
            return old
        children = tuple(node(child) for child in old.children)
        return _stopped(replace(old, children=children), least, features, numbers)

    with deep_recursion():
        return replace(rules, root=node(rules.root))


def _stopped(split: Split, least: int, features: Collection[str], numbers: Iterator[int]) -> Split:
    if split.feature in features or _thin(split.missing_rows, least):
        split = _to_stop(split, "missing", numbers)
    unlisted = isinstance(split, SetSplit) and split.unseen is not None
    if unlisted and _thin(getattr(split, "unseen_rows", None), least):
        split = _to_stop(split, "unseen", numbers)
    return split


def _thin(rows: int | None, least: int) -> bool:
    return least > 0 if rows is None else rows < least


def _to_stop(split: Split, way: str, numbers: Iterator[int]) -> Split:
    """Return the split with one way leading to a stop: a new one, or its child if it is its own."""
    place: int = getattr(split, way)
    parts = split.intervals if isinstance(split, NumericSplit) else split.groups
    ways = [*(part.to for part in parts), split.missing]
    if isinstance(split, SetSplit) and split.unseen is not None:
        ways.append(split.unseen)
    if ways.count(place) == 1:
        # What is below keeps its shape, as its leaves keep their numbers.
        children = list(split.children)
        children[place] = _stop_all(children[place])
        return replace(split, children=tuple(children))
    changed: dict[str, Any] = {way: len(split.children)}
    stop = Leaf(next(numbers), None)
    return replace(split, children=(*split.children, stop), **changed)


def _stop_all(node: Node) -> Node:
    if isinstance(node, Leaf):
        return replace(node, value=None, risk=None)
    return replace(node, children=tuple(_stop_all(child) for child in node.children))


def only_stops(node: Node) -> bool:
    """Tell whether no leaf below a node answers."""
    return all(leaf.stops for _, _, leaf in walk(node) if isinstance(leaf, Leaf))
