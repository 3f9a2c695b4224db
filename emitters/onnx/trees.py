"""Rules as trees of `x < cut` over columns of numbers, the only question that ONNX trees ask here.

Each split cuts one column into ordered pieces:

    a float, integer or boolean feature     the value, NaN where missing
    integers past what the numbers hold     how many of the cuts are <= the value
    a split of categories                   the child's index, looked up by category
    a split with a child in many places     the child's index, by a small tree of its own, a router

Where copies of such a child are few and small they stand in the tree instead. A child that missing
values alone reach takes the piece below minus infinity, where no number lies.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from mbndt.rules import (
    INT64_MIN,
    Feature,
    FeatureType,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
    Split,
    Threshold,
)
from mbndt.rules.cuts import double_cut, ranges
from mbndt.rules.values import float32_above, to_float32

# The inputs that are not of the number type: their type, and what stands for a missing value.
INPUT_TYPES: dict[FeatureType, tuple[str, int | str]] = {
    FeatureType.INTEGER: ("INT64", INT64_MIN),
    FeatureType.BOOLEAN: ("INT64", -1),
    FeatureType.CATEGORY: ("STRING", ""),
}
NODE_FIELDS = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_featureids",
    "nodes_modes",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_missing_value_tracks_true",
)
# Copies may make trees this many times larger; routers, which all run on every row, are slower.
GROWTH = 4
TARGET_FIELDS = ("target_treeids", "target_nodeids", "target_ids", "target_weights")


@dataclass(frozen=True)
class Number:
    """A number type.

    It has its name in ONNX and in NumPy, the size up to which it holds every whole number, and how
    it rounds a double.
    """

    onnx: str
    numpy: str
    whole: int
    nearest: Callable[[float], float]


NUMBERS = {
    "double": Number("DOUBLE", "float64", 2**53, float),
    "float": Number("FLOAT", "float32", 2**24, to_float32),
}


@dataclass(frozen=True)
class Format:
    """How the inputs hold values: in one matrix or in columns, and floats as `number`."""

    matrix: bool
    number: Number

    def rounds(self, feature: Feature) -> bool:
        """Tell whether the feature's input is of the number type, not text or int64."""
        return self.matrix or feature.type not in INPUT_TYPES

    def cut(self, feature: Feature, threshold: Threshold) -> Threshold:
        """Return c such that `x < c` for the x that an input holds decides `value < threshold`."""
        cut = double_cut(feature, threshold)
        if math.isinf(cut) or not self.rounds(feature):
            return cut
        above = _double_above(cut)
        if self.number is NUMBERS["double"]:
            return above
        above = float32_above(above)
        # Finite, so that `ranges` keeps it: `nearest` makes it infinite, and a cut below infinity.
        return 2.0**128 if above == math.inf else above


def _double_above(x: Threshold) -> float:
    near = float(x)
    return near if near >= x else math.nextafter(near, math.inf)


# What a column holds: a feature, the child for each category of one, or a router's answer.
Source: TypeAlias = str | tuple[str, tuple[int, ...]] | int
# As a chain's fields, with the indexes of children as ends.
Pieces: TypeAlias = tuple[Source, tuple[float, ...], list[int], int]


@dataclass(frozen=True)
class Chain:
    """A column cut into pieces.

    `ends[i]` takes `cuts[i-1] <= x < cuts[i]`, and the end of index `missing` takes NaN. Ends are
    nodes, in a router the indexes of children.
    """

    source: Source
    cuts: tuple[float, ...]
    ends: tuple[Node | int, ...]
    missing: int = -1

    def halves(self, middle: int) -> tuple[Chain, Chain]:
        """Return the pieces below and from `cuts[middle]`."""
        after = middle + 1
        above = replace(
            self,
            cuts=self.cuts[after:],
            ends=self.ends[after:],
            missing=self.missing - after,
        )
        return replace(self, cuts=self.cuts[:middle], ends=self.ends[:after]), above


class Plan:
    """How all splits of rules are tested.

    It has `routers`, and `columns`, the place of each column: what comes from features first, then
    the routers' answers. `ranked` has the cuts of integers whose column counts them.
    """

    def __init__(self, rules: Rules, form: Format) -> None:
        self.rules, self.form = rules, form
        self.ranked = self._ranked()
        self.routers: list[Chain] = []
        # Of each node: how many pieces and leaves are below, in the rules and in the tree.
        self._sizes = {id(leaf): (1, 1) for leaf in rules.leaves}
        chains = {id(split): self._chain(split) for split in reversed(rules.splits)}
        self._chains = dict(reversed(chains.items()))
        self.columns: dict[Source, int] = {}
        if form.matrix:
            self.columns = {feature.name: i for i, feature in enumerate(rules.features)}
        for chain in [*self._chains.values(), *self.routers]:
            if chain.cuts and not isinstance(chain.source, int):
                self.columns.setdefault(chain.source, len(self.columns))
        self.columns |= {i: len(self.columns) + i for i in range(len(self.routers))}

    def _ranked(self) -> dict[str, list[int]]:
        found: dict[str, set[int]] = {}
        for split in self.rules.splits:
            feature = self.rules.feature[split.feature]
            if isinstance(split, NumericSplit) and not self.form.rounds(feature):
                lows = [part.low for part in ranges(self.rules, split)]
                found.setdefault(feature.name, set()).update(int(x) for x in lows if x is not None)
        # At -whole it ends, as -whole - 1 may round to it.
        whole = self.form.number.whole
        return {
            name: sorted(cuts)
            for name, cuts in found.items()
            if not all(-whole < cut <= whole for cut in cuts)
        }

    def _chain(self, split: Split) -> Chain:
        """Return how a split is tested, its children being done.

        It is tested with copies of those that stand in several pieces, or where these would grow
        too large by a router.
        """
        source, cuts, ends, missing = self._pieces(split)
        plain = len(ends) + sum(self._sizes[id(child)][0] for child in split.children)
        if self._grown(split, ends) > GROWTH * plain:
            self.routers.append(Chain(source, cuts, tuple(ends), missing))
            source, cuts, ends, missing = _by_child(split, len(self.routers) - 1)
        self._sizes[id(split)] = plain, self._grown(split, ends)
        return Chain(source, cuts, tuple(split.children[to] for to in ends), missing)

    def _grown(self, split: Split, ends: Sequence[int]) -> int:
        return len(ends) + sum(self._sizes[id(split.children[to])][1] for to in ends)

    def _pieces(self, split: Split) -> Pieces:
        feature = self.rules.feature[split.feature]
        cuts: list[float]
        match split:
            case NumericSplit():
                parts = ranges(self.rules, split, self.form.cut)
                cuts = [self._number(split.feature, p.low) for p in parts if p.low is not None]
                ends = [part.to for part in parts]
            case SetSplit():
                to = {value: group.to for group in split.groups for value in group.values}
                if split.unseen is not None:
                    children = [to.get(value, split.unseen) for value in feature.categories]
                    table = (*children, split.missing, split.unseen)
                    return _by_child(split, (feature.name, table))
                ends = list(dict.fromkeys([to[False], to[True]]))
                cuts = [1.0] * (len(ends) - 1)
            case _:
                assert_never(split)
        if split.missing not in ends:
            cuts, ends = [-math.inf, *cuts], [split.missing, *ends]
        return feature.name, tuple(cuts), ends, ends.index(split.missing)

    def _number(self, name: str, cut: Threshold) -> float:
        if name in self.ranked:
            return 1.0 + bisect_left(self.ranked[name], cut)
        return self.form.number.nearest(float(cut))

    def trees(self, roots: Sequence[Node | Chain]) -> dict[str, list[Any]]:
        """Return a tree for each root as a tree operator's attributes; tree i gives target i.

        Chains are halved in turn; nodes are numbered from the root, 0, level by level.
        """
        nodes: list[tuple[Any, ...]] = []
        targets: list[tuple[Any, ...]] = []
        for tree, root in enumerate(roots):
            items: list[Node | Chain | int] = [root]
            for number, item in enumerate(items):  # which grows on the way
                chain = self._settle(item)
                if isinstance(chain, int):
                    nodes.append((tree, number, 0, "LEAF", 0.0, 0, 0, 0))
                    targets.append((tree, number, tree, float(chain)))
                    continue
                middle = len(chain.cuts) // 2
                below = len(items)
                column, cut = self.columns[chain.source], chain.cuts[middle]
                nodes.append(
                    (
                        tree,
                        number,
                        column,
                        "BRANCH_LT",
                        cut,
                        below,
                        below + 1,
                        int(0 <= chain.missing <= middle),
                    )
                )
                items += chain.halves(middle)
        return _fields(NODE_FIELDS, nodes) | _fields(TARGET_FIELDS, targets)

    def _settle(self, item: Node | Chain | int) -> Chain | int:
        """Return what a tree says of an item: a chain with cuts to test, or the number to give."""
        while not isinstance(item, Leaf | int):
            if not isinstance(item, Chain):
                item = self._chains[id(item)]
            elif item.cuts:
                return item
            else:
                (item,) = item.ends
        return item.leaf if isinstance(item, Leaf) else item


def _by_child(split: Split, source: Source) -> Pieces:
    count = len(split.children)
    return source, tuple(map(float, range(1, count))), list(range(count)), -1


def _fields(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
