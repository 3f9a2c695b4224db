"""Whether answers rise or fall with a numeric feature: exact, over all inputs, by leaves' boxes.

Two leaves are compared where some input reaches the one and, with that feature alone raised, the
other. Missing values of the feature have no place in its order. Rules zig-zag along a feature where
some such step raises the answer and another lowers it. Answers are compared by the score of the
event, of two classes, or by a regression's value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mbndt.rules.boxes import Space
from mbndt.rules.nodes import Leaf
from mbndt.rules.rules import Rules

SIGNS = {"+": 1, "-": -1}
MANY_LEAVES = 1000  # from where it takes too long to look for zig-zags that nobody asked for


def steps(rules: Rules, feature: str, space: Space | None = None) -> Iterator[tuple[Leaf, Leaf]]:
    """Yield each pair of answering leaves that an input goes between as one feature alone rises."""
    space = space or Space.of(rules)
    if feature not in space.cells:
        return
    present = (1 << len(space.cells[feature]) - 1) - 1  # all cells but the missing value's
    for low, box in space.leaves(rules.root, space.whole):
        here = box[feature] & present
        # What lies above the least value that reaches the leaf.
        above = present & ~(((here & -here) << 1) - 1)
        if low.stops or not here or not above:
            continue
        seen = {low.leaf}
        for high, _ in space.leaves(rules.root, {**box, feature: above}):
            if high.leaf not in seen and not high.stops:
                seen.add(high.leaf)
                yield low, high


def zigzags(rules: Rules, feature: str, sign: str = "+") -> list[tuple[Leaf, Leaf]]:
    """Return the steps along a feature on which the event's score or risk, or the value, falls.

    Where `sign` is "-", those on which it rises. Empty exactly if no input's answer goes the wrong
    way as the feature alone rises.
    """
    event, way = rules.event, SIGNS[sign]
    return [
        (low, high)
        for low, high in steps(rules, feature)
        if any(
            way * a > way * b
            for a, b in zip(_measures(low, event), _measures(high, event), strict=True)
        )
    ]


def _measures(leaf: Leaf, event: int | None) -> list[float]:
    """Return numbers of an answering leaf that rise with the event's chance, or its value."""
    if isinstance(leaf.value, tuple):
        assert event is not None
        # The other class too, so that rounding can't change which score is greater.
        tables = [leaf.value, *([leaf.risk] if leaf.risk else [])]
        return [part for table in tables for part in (table[event], -table[1 - event])]
    assert leaf.value is not None
    return [leaf.value]


def not_monotone(rules: Rules) -> list[str]:
    """Return the numeric features along which answers rise here and fall there.

    For two classes or a regression, of at most `MANY_LEAVES` leaves; else empty.
    """
    if not _has_order(rules) or len(rules.leaves) > MANY_LEAVES:
        return []
    space = Space.of(rules)
    numeric = [feature.name for feature in rules.used if feature.type.numeric]
    return [name for name in numeric if _zigzags(rules, name, space)]


def _zigzags(rules: Rules, feature: str, space: Space) -> bool:
    rises = falls = False
    for low, high in steps(rules, feature, space):
        before, after = (_measures(leaf, rules.event)[0] for leaf in (low, high))
        rises, falls = rises or after > before, falls or after < before
        if rises and falls:
            return True
    return False


def promised(rules: Rules) -> Mapping[str, str]:
    """Return the signs by feature that rules were learned to keep, and do keep."""
    stated = rules.provenance.get("monotone")
    if not isinstance(stated, Mapping) or not _has_order(rules):
        return {}
    return {
        name: sign
        for name, sign in stated.items()
        if name in rules.feature
        and rules.feature[name].type.numeric
        and sign in [*SIGNS]
        and not zigzags(rules, name, sign)
    }


def _has_order(rules: Rules) -> bool:
    return len(rules.target.classes) in (0, 2)
