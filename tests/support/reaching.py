"""What boundary rows have to meet, by a second way: exact sets of values, carried down the tree.

Each feature's values are whole numbers in their order: a double's or a float32's place among all,
an integer itself, a category's or boolean's index (texts that no group knows: one place more).
"""

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from mbndt.rules import INT64_MAX, Feature, FeatureType, Leaf, NumericSplit, Rules, Split
from mbndt.rules.values import read_value


def place(form: str, x: float) -> int:
    """Return the place of a double ("d") or float32 ("f") among all, both zeros at 0."""
    (bits,) = struct.unpack({"d": ">q", "f": ">i"}[form], struct.pack(f">{form}", x))
    return bits if bits >= 0 else -(bits & (2**63 - 1 if form == "d" else 2**31 - 1))


def at(form: str, index: int) -> float:
    """Return the double or float32 at a place."""
    size = {"d": ">Q", "f": ">I"}[form]
    bits = abs(index) | (0 if index >= 0 else 2 ** (63 if form == "d" else 31))
    return struct.unpack(f">{form}", struct.pack(size, bits))[0]


def code(feature: Feature, value: object) -> int | None:
    """Return the whole number that stands for a raw value, None for a missing one."""
    known = read_value(feature.type, value)
    if known is None:
        return None
    match feature.type:
        case "float64" | "float32":
            return place("d" if feature.type == "float64" else "f", known)
        case "category":
            found = feature.categories
            return found.index(known) if known in found else len(found)
    return int(known)


@dataclass(frozen=True)
class Values:
    """A feature's values that still lead to a node: whether missing does, and ranges `[a, b)`."""

    missing: bool
    ranges: tuple[tuple[int, int], ...]

    @property
    def any(self) -> bool:
        return self.missing or bool(self.ranges)

    def __contains__(self, value: int) -> bool:
        return any(a <= value < b for a, b in self.ranges)

    def cut(self, low: int, high: int) -> tuple[tuple[int, int], ...]:
        """Return the parts of the ranges that lie in `[low, high)`."""
        parts = ((max(a, low), min(b, high)) for a, b in self.ranges)
        return tuple((a, b) for a, b in parts if a < b)


@cache
def everything(feature: Feature) -> Values:
    """Return all values of a feature."""
    match feature.type:
        case "float64" | "float32":
            end = place("d" if feature.type == "float64" else "f", math.inf)
            return Values(True, ((-end, end + 1),))
        case "integer":  # its least value stands for a missing one in some targets
            return Values(True, ((-INT64_MAX, INT64_MAX + 1),))
        case "boolean":
            return Values(True, ((0, 2),))
    return Values(True, ((0, len(feature.categories) + 1),))


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first of low, …, high that holds, where all after it do too."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


@cache
def cut_of(feature: Feature, t: float) -> int:
    """Return the least whole number whose value is not below a threshold."""
    if feature.type == "integer":
        return math.ceil(t)
    form = "d" if feature.type == "float64" else "f"
    ((low, high),) = everything(feature).ranges
    return first(low, high - 1, lambda i: at(form, i) >= t)


def branches(feature: Feature, node: Split, here: Values) -> Iterator[tuple[int, Values]]:
    """Yield each child with the values that go there."""
    parts: dict[int, list[tuple[int, int]]] = {}
    if isinstance(node, NumericSplit):
        low = here.ranges[0][0] if here.ranges else 0
        for part in node.intervals:
            high = math.inf if part.below is None else cut_of(feature, part.below)
            parts.setdefault(part.to, []).extend(here.cut(low, high))
            low = max(low, high)
    else:
        known = feature.categories or (False, True)
        to = {known.index(value): group.to for group in node.groups for value in group.values}
        for i in range(len(known) + bool(feature.categories)):
            parts.setdefault(to.get(i, node.unseen), []).extend(here.cut(i, i + 1))
    for to in {*parts, node.missing}:
        yield to, Values(here.missing and to == node.missing, tuple(parts.get(to, ())))


def asked(feature: Feature, node: Split) -> Iterator[int]:
    """Yield the values that have to be met at a split: by each threshold, each category."""
    if not isinstance(node, NumericSplit):
        yield from range(*everything(feature).ranges[0])
        return
    for t in node.thresholds:
        yield from (cut_of(feature, t) + step for step in (-1, 0, 1))


@cache
def turning_point(index: int) -> float:
    """Return the least double that rounds to the float32 at a place."""
    end = place("d", math.inf)
    rounded = lambda i: place("f", read_value(FeatureType.FLOAT32, at("d", i)))  # noqa: E731
    return at("d", first(-end, end, lambda i: rounded(i) >= index))


def demands(rules: Rules) -> tuple[set[int], set[tuple[str, object]]]:
    """Return the leaves that some row reaches, and what has to be met where: pairs of a node's
    path and a value's whole number, None for missing, or a double's text where a float32 turns.
    """
    leaves, met = set(), set()
    start = {feature.name: everything(feature) for feature in rules.features}
    work = [("root", rules.root, start)]
    while work:
        path, node, values = work.pop()
        if isinstance(node, Leaf):
            leaves.add(node.leaf)
            continue
        feature, here = rules.feature[node.feature], values[node.feature]
        met |= {(path, value) for value in asked(feature, node) if value in here}
        met |= {(path, None)} if here.missing else set()
        if feature.type == FeatureType.FLOAT32:
            cuts = [cut_of(feature, t) for t in node.thresholds]
            met |= {(path, repr(x + 0.0)) for cut in cuts for x in turns(cut, here)}
        for to, there in branches(feature, node, here):
            if there.any:
                work.append((f"{path}.{to}", node.children[to], {**values, feature.name: there}))
    return leaves, met


def turns(cut: int, here: Values) -> Iterator[float]:
    """Yield the doubles on both sides of where rounding passes a cut."""
    turn = turning_point(cut)
    if cut in here:
        yield turn
    if cut - 1 in here:
        yield math.nextafter(turn, -math.inf)


def visits(rules: Rules, rows: list[Mapping[str, object]]) -> tuple[set[int], set[object]]:
    """Return what rows meet, in the words of `demands`."""
    leaves, met = set(), set()
    for row in rows:
        path, node = "root", rules.root
        while not isinstance(node, Leaf):
            feature, raw = rules.feature[node.feature], row[node.feature]
            value = code(feature, raw)
            met.add((path, value))
            if feature.type == FeatureType.FLOAT32 and value is not None:
                met.add((path, repr(float(raw) + 0.0)))
            one = Values(value is None, () if value is None else ((value, value + 1),))
            (to,) = [to for to, there in branches(feature, node, one) if there.any]
            path, node = f"{path}.{to}", node.children[to]
        leaves.add(node.leaf)
    return leaves, met
