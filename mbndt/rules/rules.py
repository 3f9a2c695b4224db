"""The class `Rules`: the final model, of which everything else is made or told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from mbndt.rules.doors import Doors
from mbndt.rules.invariants import check
from mbndt.rules.nodes import (
    Feature,
    Label,
    Leaf,
    Node,
    NumericSplit,
    Split,
    Target,
    Threshold,
    deep_recursion,
    walk,
)


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
        found = [node for _, _, node in walk(self.root) if isinstance(node, Leaf)]
        return tuple(sorted(found, key=lambda leaf: leaf.leaf))

    @cached_property
    def outputs(self) -> Mapping[str, Sequence[tuple[float, ...] | None]]:
        """Return what answers tell of each class beside the label: a name, and a row a leaf.

        `risk` and `score`, or `probability` alone for rules that don't know their risks. A stop has
        None; a regression has no outputs.
        """
        if self.task == "regression":
            return {}
        scores = [leaf.value if isinstance(leaf.value, tuple) else None for leaf in self.leaves]
        risks = [leaf.risk for leaf in self.leaves]
        return {"risk": risks, "score": scores} if any(risks) else {"probability": scores}

    @cached_property
    def output_columns(self) -> Mapping[str, Sequence[float | None]]:
        """Return the outputs as columns, `risk_0`, `risk_1`, …: a number a leaf, None at a stop."""
        return {
            f"{name}_{k}": [None if row is None else row[k] for row in rows]
            for name, rows in self.outputs.items()
            for k in range(len(self.target.classes))
        }

    @property
    def stops(self) -> bool:
        """Tell whether some rows get no answer."""
        return any(leaf.stops for leaf in self.leaves)

    @cached_property
    def event(self) -> int | None:
        """Return the index of the class whose finding counts, by the training rows; see below."""
        found = [leaf.counts for leaf in self.leaves if leaf.counts is not None]
        return event_of(self.target, [sum(counts) for counts in zip(*found, strict=True)])

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

    def label(self, leaf: Leaf) -> Label | float | None:
        """Return a leaf's label in the target's own type; a regression's value; None at a stop."""
        if isinstance(leaf.value, tuple):
            return self.target.classes[leaf.class_index]
        return leaf.value

    def with_leaves(self, change: Callable[[Leaf], Leaf]) -> Rules:
        """Return the rules with what `change` makes of each leaf."""

        def node(old: Node) -> Node:
            if isinstance(old, Leaf):
                return change(old)
            return replace(old, children=tuple(node(child) for child in old.children))

        with deep_recursion():
            return replace(self, root=node(self.root))


def event_of(target: Target, counts: Sequence[float]) -> int | None:
    """Return the index of the class whose finding counts.

    Unless the target states it, that is the rarer of two classes by their `counts` (none where they
    aren't known), the later of equally common ones; None for more classes.
    """
    if target.event is not None:
        return target.classes.index(target.event)
    if len(target.classes) != 2:
        return None
    return int(not counts or counts[1] <= counts[0])
