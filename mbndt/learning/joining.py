"""Leaves and children of whole rules made one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mbndt.interpreter import route
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Group, Interval, Leaf, Node, NumericSplit, Rules, Split


def joined(rules: Rules, training: TrainingSet) -> Rules:
    """Return rules in which leaves of one split that answer alike are one, or the rules as given.

    Their counts of rows are not those of the new leaves.
    """
    root = _joined(rules.root)
    if root is rules.root:
        return rules
    numbers = itertools.count()
    found = replace(rules, root=_numbered(root, numbers))
    if training.codes is not None:
        return found
    leaf = route(found, training.typed, training.n_rows)

    def told(end: Leaf) -> Leaf:
        rows = training.leaf(end.leaf, np.flatnonzero(leaf == end.leaf))
        return replace(end, mean=rows.mean, std=rows.std)

    return found.with_leaves(told)


def _joined(node: Node) -> Node:
    if isinstance(node, Leaf):
        return node
    children = [_joined(child) for child in node.children]
    answers: dict[object, int] = {}
    place = [
        answers.setdefault((child.value, child.risk), i) if isinstance(child, Leaf) else i
        for i, child in enumerate(children)
    ]
    if place == [*range(len(place))]:
        same = all(new is old for new, old in zip(children, node.children, strict=True))
        return node if same else replace(node, children=tuple(children))
    used = sorted(set(place))
    if len(used) == 1:
        return children[0]
    return sent(node, [used.index(i) for i in place], tuple(children[i] for i in used))


def sent(split: Split, to: Sequence[int], children: tuple[Node, ...]) -> Split:
    """Return a split whose ways to each child lead `to` another, neighbours alike as one."""
    missing = to[split.missing]
    if isinstance(split, NumericSplit):
        parts: list[Interval] = []
        for part in split.intervals:
            if parts and parts[-1].to == to[part.to]:
                parts.pop()
            parts.append(Interval(part.below, to[part.to]))
        return replace(split, intervals=tuple(parts), missing=missing, children=children)
    members: dict[int, list[str | bool]] = {}
    for group in split.groups:
        members.setdefault(to[group.to], []).extend(group.values)
    groups = tuple(Group(tuple(values), child) for child, values in members.items())
    unseen = None if split.unseen is None else to[split.unseen]
    return replace(split, groups=groups, missing=missing, unseen=unseen, children=children)


def _numbered(node: Node, numbers: Iterator[int]) -> Node:
    if isinstance(node, Leaf):
        return replace(node, leaf=next(numbers))
    return replace(node, children=tuple(_numbered(child, numbers) for child in node.children))
