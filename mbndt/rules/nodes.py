"""The parts of rules: features, the target, and the nodes of a decision tree.

Nodes are `Leaf`, `NumericSplit` and `SetSplit`; dispatch on them with `match`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

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
    """What the rules answer: `classes` in index order, none for a regression.

    `event` is the class whose finding counts, of which sensitivity and the like speak.
    """

    name: str
    type: TargetType
    classes: tuple[Label, ...] = ()
    unit: str = ""
    description: str = ""
    event: Label | None = None


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
    """An end node: what it answers, and its training rows.

    `value` is a score a class, the greatest of which is the answer, or a regression's number; None
    is a stop, which gives no answer. `risk` is the chance of each class among rows like these.
    A value of -0.0 becomes 0.0, as not every target has both.
    """

    leaf: int
    value: tuple[float, ...] | float | None
    counts: tuple[int, ...] | None = None
    n: int | None = None
    mean: float | None = None
    std: float | None = None
    risk: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for key in ("value", "risk"):
            number = getattr(self, key)
            if isinstance(number, tuple) and 0.0 in number:
                object.__setattr__(self, key, tuple(0.0 if p == 0 else p for p in number))
            elif isinstance(number, float) and number == 0:
                object.__setattr__(self, key, 0.0)

    @property
    def stops(self) -> bool:
        """Tell whether there is no answer here."""
        return self.value is None

    @property
    def class_index(self) -> int:
        """Return the class of greatest score, ties to the lowest index."""
        assert isinstance(self.value, tuple)
        return max(range(len(self.value)), key=self.value.__getitem__)

    @property
    def size(self) -> int | None:
        """Return the number of training rows, where it is recorded."""
        return self.n if self.counts is None else sum(self.counts)


@dataclass(frozen=True)
class NumericSplit:
    """Cut an ordered feature: a row takes the first interval with `x < below`.

    `missing_rows` is how many training rows lacked the value here, where that is recorded.
    """

    feature: str
    intervals: tuple[Interval, ...]
    missing: int
    children: tuple[Node, ...]
    missing_rows: int | None = None

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Return the intervals' ends, rising."""
        return tuple(part.below for part in self.intervals if part.below is not None)


@dataclass(frozen=True)
class SetSplit:
    """Sort categories or booleans into groups; `unseen` (categories only) takes other texts.

    `missing_rows` and `unseen_rows` count the training rows that went these ways here.
    """

    feature: str
    groups: tuple[Group, ...]
    missing: int
    children: tuple[Node, ...]
    unseen: int | None = None
    missing_rows: int | None = None
    unseen_rows: int | None = None


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
