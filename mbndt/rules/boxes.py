"""Rules as boxes: the set of inputs that each leaf takes, exact, and what follows from it.

Each feature's values are cut into *cells* that no split tells apart any further (missing values and
texts unseen in training are cells too), so a set of values is a bit mask, and a box one mask a
feature. Questions about all inputs become questions about finitely many masks.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mbndt.errors import OptionError, shown
from mbndt.rules.cuts import double_cut
from mbndt.rules.nodes import Feature, FeatureType, Leaf, Node, Split, Threshold
from mbndt.rules.rules import Rules
from mbndt.rules.values import Value, branch_of, float32_above

Box = Mapping[str, int]


@dataclass(frozen=True)
class Space:
    """The cells of features over some rules: a value of each, the missing one (None) last."""

    cells: Mapping[str, tuple[Value, ...]]
    _ways: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, *rules: Rules) -> Space:
        """Return the cells that rules together cut their features into.

        Raises `OptionError` where two know a feature of one name by different types.
        """
        features: dict[str, list[Feature]] = {}
        for each in rules:
            for feature in each.used:
                features.setdefault(feature.name, []).append(feature)
        return cls({name: _cells(found, rules) for name, found in features.items()})

    @cached_property
    def whole(self) -> dict[str, int]:
        """Return the box that holds every input."""
        return {name: (1 << len(cells)) - 1 for name, cells in self.cells.items()}

    def ways(self, split: Split) -> list[int]:
        """Return the mask of the values that each child of a split takes."""
        if id(split) not in self._ways:
            masks = [0] * len(split.children)
            for i, value in enumerate(self.cells[split.feature]):
                masks[branch_of(split, value)] |= 1 << i
            self._ways[id(split)] = masks
        return self._ways[id(split)]

    def leaves(self, root: Node, box: Box) -> Iterator[tuple[Leaf, dict[str, int]]]:
        """Yield each leaf that some input of a box reaches, with the inputs that do."""
        stack: list[tuple[Node, dict[str, int]]] = [(root, dict(box))]
        while stack:
            node, here = stack.pop()
            if isinstance(node, Leaf):
                yield node, here
                continue
            for child, mask in reversed(list(zip(node.children, self.ways(node), strict=True))):
                if left := here[node.feature] & mask:
                    stack.append((child, {**here, node.feature: left}))

    def cell(self, feature: Feature, value: Value) -> int:
        """Return the mask of the cell that a value lies in."""
        cells = self.cells[feature.name]
        if value is None:
            return 1 << len(cells) - 1
        if feature.type.numeric:
            # The value of a cell is its least, but for the lowest.
            return 1 << max(bisect_right(cells[:-1], value) - 1, 0)  # type: ignore[type-var]
        return 1 << (cells.index(value) if value in cells else len(cells) - 2)

    def row(self, box: Box) -> dict[str, Value]:
        """Return an input of a box, measured where it can be."""
        return {
            name: self.cells[name][(mask & -mask).bit_length() - 1] for name, mask in box.items()
        }


def _cells(features: Sequence[Feature], rules: Sequence[Rules]) -> tuple[Value, ...]:
    first = features[0]
    if other := next((f for f in features if f.type != first.type), None):
        raise OptionError(f"{shown(first.name)}: {first.type} in one, {other.type} in the other")
    if first.type == FeatureType.BOOLEAN:
        return (False, True, None)
    if first.type == FeatureType.CATEGORY:
        known = dict.fromkeys(text for feature in features for text in feature.categories)
        return (*known, unseen_text(known), None)
    cuts = {t for each in rules if first.name in each.feature for t in each.thresholds(first)}
    return (*_ends(first, cuts), None)


def unseen_text(known: Iterable[str]) -> str:
    """Return a text that isn't among those known."""
    text, taken = "another", set(known)
    while text in taken:
        text += "?"
    return text


def edge(feature: Feature, threshold: Threshold) -> Threshold:
    """Return the least value of a numeric feature that isn't below a threshold.

    Infinity past all, or below all, integers.
    """
    match feature.type:
        case FeatureType.INTEGER:
            return double_cut(feature, threshold)
        case FeatureType.FLOAT32:
            return float32_above(threshold)
        case _:
            return float(threshold)


def _ends(feature: Feature, thresholds: Iterable[Threshold]) -> list[Threshold]:
    """Return the least value of each cell that thresholds cut a numeric feature into.

    But for the lowest cell its greatest.
    """
    cuts = sorted({edge(feature, t) for t in thresholds})
    if feature.type == FeatureType.INTEGER:
        cuts = [cut for cut in cuts if abs(cut) != math.inf]
        return [cuts[0] - 1, *cuts] if cuts else [0]
    if not cuts:
        return [0.0]
    single = feature.type == FeatureType.FLOAT32
    return [-math.inf if single else math.nextafter(cuts[0], -math.inf), *cuts]


def equivalent(a: Rules, b: Rules, *, exact: bool = False) -> dict[str, Value] | None:
    """Return None if two rules answer every input alike, else a row that they answer differently.

    Alike: with the same label (regression: value), and if `exact` with the same probabilities.
    Two trees are so exactly if no two of their leaves' boxes with different answers meet
    (Marques-Silva and Ignatiev, arXiv 2509.17774), so the time grows with the pairs that meet.
    Raises `OptionError` where they know a feature of one name by different types.
    """
    space = Space.of(a, b)
    for ours, box in space.leaves(a.root, space.whole):
        for theirs, both in space.leaves(b.root, box):
            if answer(a, ours, exact) != answer(b, theirs, exact):
                return space.row(both)
    return None


def answer(rules: Rules, leaf: Leaf, exact: bool = False) -> tuple[object, ...]:
    """Return what a leaf answers, told apart by type too: `True` isn't `1`."""
    label = rules.label(leaf)
    return (type(label), label, *((leaf.value,) if exact else ()))


@dataclass(frozen=True)
class Reason:
    """Why a leaf's inputs get their answer.

    `box` has the masks of the features that bind them on the path, and `enough` those of them that
    suffice.
    """

    leaf: Leaf
    box: Mapping[str, int]
    enough: Mapping[str, int]


def reasons(rules: Rules, space: Space | None = None) -> list[Reason]:
    """Return the reason of each leaf that some input reaches, in the order of the leaves.

    A condition is dropped if no leaf with another answer meets what is left (Izza, Ignatiev and
    Marques-Silva, JAIR 75, 2022), the deepest tested first; what stays is minimal: none of it can
    be dropped alone.
    """
    space = space or Space.of(rules)
    found: dict[int, Reason] = {}
    tested = _tested(rules)
    for leaf, box in space.leaves(rules.root, space.whole):
        bound = {name: mask for name, mask in box.items() if mask != space.whole[name]}
        enough = dict(bound)
        for name in reversed([name for name in tested[leaf.leaf] if name in bound]):
            rest = {key: mask for key, mask in enough.items() if key != name}
            if _forced(rules, leaf, space, rest):
                enough = rest
        found[leaf.leaf] = Reason(leaf, bound, enough)
    return [found[leaf.leaf] for leaf in rules.leaves if leaf.leaf in found]


def _forced(rules: Rules, leaf: Leaf, space: Space, conditions: Box) -> bool:
    others = space.leaves(rules.root, {**space.whole, **conditions})
    return all(answer(rules, other) == answer(rules, leaf) for other, _ in others)


def _tested(rules: Rules) -> dict[int, list[str]]:
    """Return by leaf id the features of its path, in the order of their first tests."""
    found: dict[int, list[str]] = {}
    stack: list[tuple[Node, tuple[str, ...]]] = [(rules.root, ())]
    while stack:
        node, path = stack.pop()
        if isinstance(node, Leaf):
            found[node.leaf] = list(dict.fromkeys(path))
        else:
            stack.extend((child, (*path, node.feature)) for child in node.children)
    return found
