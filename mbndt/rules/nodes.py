"""The intermediate form that everything else reads: a decision tree over raw, typed columns.

A `Rules` object is immutable and always valid: building one checks every invariant, and a
broken one raises `RulesError` with the path of the node (`root.children[1].intervals[0].below`).
Nodes are `Leaf`, `NumericSplit` and `SetSplit`; dispatch on them with `match`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, TypeAlias

from mbndt.rules.doors import Doors

MAX_DEPTH = 500
MAX_NODES = 100_000
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

Label: TypeAlias = str | int | bool
Threshold: TypeAlias = float | int


class FeatureType(StrEnum):
    """How a column's values are read and compared."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CATEGORY = "category"

    @property
    def numeric(self) -> bool:
        """Tell whether values are ordered numbers, cut by thresholds."""
        return self in (FeatureType.FLOAT64, FeatureType.FLOAT32, FeatureType.INTEGER)


class TargetType(StrEnum):
    """The type that labels (or a regression's value) keep in every target."""

    STRING = "string"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    FLOAT64 = "float64"


@dataclass(frozen=True)
class Feature:
    """A named, typed input column; `categories` (non-empty texts) for category features only."""

    name: str
    type: FeatureType
    categories: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Target:
    """What the rules answer: `classes` in index order, none for a regression."""

    name: str
    type: TargetType
    classes: tuple[Label, ...] = ()
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class Interval:
    """Values below `below` (None: all the rest) that no earlier interval took go to child `to`."""

    below: Threshold | None
    to: int
    redirected_from: int | None = None


@dataclass(frozen=True)
class Group:
    """Values of a set that go to child `to`."""

    values: tuple[str | bool, ...]
    to: int
    redirected_from: int | None = None


@dataclass(frozen=True)
class Leaf:
    """An end node: class probabilities, or one number for a regression, and training counts.

    A value of -0.0 becomes 0.0, as not every target has both.
    """

    leaf: int
    value: tuple[float, ...] | float
    counts: tuple[int, ...] | None = None
    n: int | None = None
    mean: float | None = None
    std: float | None = None

    def __post_init__(self) -> None:
        value = self.value
        if isinstance(value, tuple) and 0.0 in value:
            object.__setattr__(self, "value", tuple(0.0 if p == 0 else p for p in value))
        elif isinstance(value, float) and value == 0:
            object.__setattr__(self, "value", 0.0)

    @property
    def class_index(self) -> int:
        """Return the class of greatest probability, ties to the lowest index."""
        assert isinstance(self.value, tuple)
        return max(range(len(self.value)), key=self.value.__getitem__)

    @property
    def size(self) -> int | None:
        """Return the number of training rows, where it is recorded."""
        return self.n if self.counts is None else sum(self.counts)


@dataclass(frozen=True)
class NumericSplit:
    """Cut an ordered feature: a row takes the first interval with `x < below`."""

    feature: str
    intervals: tuple[Interval, ...]
    missing: int
    children: tuple[Node, ...]

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Return the intervals' ends, rising."""
        return tuple(part.below for part in self.intervals if part.below is not None)


@dataclass(frozen=True)
class SetSplit:
    """Sort categories or booleans into groups; `unseen` (categories only) takes other texts."""

    feature: str
    groups: tuple[Group, ...]
    missing: int
    children: tuple[Node, ...]
    unseen: int | None = None


Split: TypeAlias = NumericSplit | SetSplit
Node: TypeAlias = Leaf | Split


def walk(root: Node) -> Iterator[tuple[str, int, Node]]:
    """Yield `(path, depth, node)` depth-first, left to right, without recursion."""
    stack: list[tuple[str, int, Node]] = [("root", 0, root)]
    while stack:
        path, depth, node = stack.pop()
        yield path, depth, node
        if not isinstance(node, Leaf):
            stack.extend(
                (f"{path}.children[{i}]", depth + 1, child)
                for i, child in reversed(list(enumerate(node.children)))
            )


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Give recursive code room for `MAX_DEPTH` levels; restores the limit afterwards."""
    import sys

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 10 * MAX_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass(frozen=True)
class Rules(Doors):
    """A decision tree over raw columns, valid by construction.

    Args: `name`, any text; `target`; `features`, in the order of the targets' inputs; `root`;
    `provenance`, plain JSON values that document and never change an answer.
    Raises `RulesError` where an invariant is broken.
    """

    name: str
    target: Target
    features: tuple[Feature, ...]
    root: Node
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from mbndt.rules.invariants import check

        check(self)

    @property
    def task(self) -> Literal["classification", "regression"]:
        """Return the task; a regression is what has no classes."""
        return "classification" if self.target.classes else "regression"

    @cached_property
    def feature(self) -> Mapping[str, Feature]:
        """Return the features by name."""
        return {feature.name: feature for feature in self.features}

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves in the order of their ids."""
        return tuple(node for _, _, node in walk(self.root) if isinstance(node, Leaf))

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """Return the splits, depth-first."""
        return tuple(node for _, _, node in walk(self.root) if not isinstance(node, Leaf))

    @cached_property
    def used(self) -> tuple[Feature, ...]:
        """Return the features that some split tests, in the order of `features`."""
        tested = {split.feature for split in self.splits}
        return tuple(feature for feature in self.features if feature.name in tested)

    def thresholds(self, feature: Feature) -> tuple[Threshold, ...]:
        """Return all thresholds that some split compares a feature with, rising."""
        splits = [split for split in self.splits if split.feature == feature.name]
        found = {t for s in splits if isinstance(s, NumericSplit) for t in s.thresholds}
        return tuple(sorted(found))

    @cached_property
    def depth(self) -> int:
        """Return the greatest number of splits on a path."""
        return max(depth for _, depth, _ in walk(self.root))

    def label(self, leaf: Leaf) -> Label | float:
        """Return a leaf's label in the target's own type; a regression's value."""
        if isinstance(leaf.value, tuple):
            return self.target.classes[leaf.class_index]
        return leaf.value
