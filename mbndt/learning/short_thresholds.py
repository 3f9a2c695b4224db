"""Thresholds as short decimals in the gap between neighbouring training values.

Any number in such a gap sorts the training rows alike, so the one with the fewest significant
digits (nearest the middle among those) is as true to the data as the learned one, prints well and
survives float32. No training row moves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

from mbndt.learning.provenance import finite_values
from mbndt.rules import (
    FeatureType,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Threshold,
    deep_recursion,
)
from mbndt.tables.table import Column

Number = Fraction | int


def shorten(rules: Rules, typed: Mapping[str, Column]) -> tuple[Rules, int]:
    """Move each threshold to the shortest decimal in its gap; return the rules and how many moved.

    `typed` holds the training rows' columns. Several thresholds in one gap share it evenly, and
    one beyond all training values may move as far as its distance to the nearest of them.
    """
    values = {
        feature.name: finite_values(typed[feature.name])
        for feature in rules.used
        if feature.type.numeric
    }
    moved = 0

    def short(split: NumericSplit) -> list[Threshold]:
        nonlocal moved
        whole = rules.feature[split.feature].type == FeatureType.INTEGER
        after = _shortened(list(split.thresholds), values[split.feature], whole)
        moved += sum(a != b for a, b in zip(split.thresholds, after, strict=True))
        return after

    return with_thresholds(rules, short), moved


def with_thresholds(rules: Rules, change: Callable[[NumericSplit], list[Threshold]]) -> Rules:
    """Return rules whose numeric splits have the thresholds that `change` gives for each."""

    def node(old: Node) -> Node:
        if isinstance(old, Leaf):
            return old
        new = replace(old, children=tuple(node(child) for child in old.children))
        if isinstance(new, NumericSplit) and isinstance(old, NumericSplit):
            new = replace(
                new,
                intervals=tuple(
                    Interval(below, part.to, part.redirected_from)
                    for part, below in zip(new.intervals, [*change(old), None], strict=True)
                ),
            )
        return new

    with deep_recursion():
        return replace(rules, root=node(rules.root))


def _shortened(thresholds: list[Threshold], listed: list[float], whole: bool) -> list[Threshold]:
    """Return the short forms of rising thresholds, in the gaps between rising values."""
    gaps = [bisect_left(listed, threshold) for threshold in thresholds]
    found: list[Threshold] = []
    for i, (gap, threshold) in enumerate(zip(gaps, thresholds, strict=True)):
        low = Fraction(listed[gap - 1]) if gap > 0 else None
        high = Fraction(listed[gap]) if gap < len(listed) else None
        t = Fraction(threshold)
        # Beyond the ends, a gap mirrored around the threshold itself.
        low, high = 2 * t - high if low is None and high is not None else low, high
        high = 2 * t - low if high is None and low is not None else high
        if low is None or high is None or not low < high:
            found.append(threshold)
            continue
        sharing, place = gaps.count(gap), i - gaps.index(gap)
        step = (high - low) / sharing
        part = (low + place * step, low + (place + 1) * step)
        short = whole_between(*part) if whole else shortest_between(*part)
        found.append(threshold if short is None else short)
    rising = all(a < b for a, b in pairwise(found))
    return found if rising else thresholds


def shortest_between(low: Number | float, high: Number | float) -> float | None:
    """Return the double strictly between two numbers with the fewest significant digits.

    The nearest to the middle among those; None where no double of up to 17 digits lies there.

    >>> shortest_between(2.1, 2.2), shortest_between(-1, 4), shortest_between(1199, 1300)
    (2.15, 0.0, 1200.0)
    """
    if low < 0 < high:
        return 0.0
    middle = (Fraction(low) + Fraction(high)) / 2
    for digits in range(1, 18):
        near = float(_rounded(middle, digits))
        if low < near < high:
            return near
    return None


def whole_between(low: Number, high: Number) -> int | None:
    """Return the whole number in (low, high] with the fewest significant digits.

    The nearest to the middle among those. On integers `x < t` sorts apart all that is up to `low`
    and all from `high`.

    >>> whole_between(8, 12), whole_between(8, 9), whole_between(-3, 5)
    (10, 9, 0)
    """
    if low < 0 <= high:
        return 0
    middle = (Fraction(low) + 1 + Fraction(high)) / 2
    for digits in range(1, 20):
        near = int(_rounded(middle, digits))
        if low < near <= high:
            return near
    return None


def _rounded(number: Fraction, digits: int) -> Decimal:
    context = Context(prec=digits)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
