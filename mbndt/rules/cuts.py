"""How targets tell intervals and sets apart: thresholds as their own numbers, ranges, arms."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from mbndt.rules.nodes import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Node,
    NumericSplit,
    SetSplit,
    Split,
    Threshold,
)
from mbndt.rules.rules import Rules
from mbndt.rules.values import float32_above, float32_step

# Turns a threshold into the target's own number.
ThresholdOf: TypeAlias = Callable[[Feature, Threshold], Threshold]


def double_cut(feature: Feature, threshold: Threshold) -> Threshold:
    """Return c such that `x < c` in doubles (integers: in int64) decides `value < threshold`.

    For a float32 feature x is the double before rounding: c is the midpoint of the float32
    threshold and its predecessor, or the double above it where the midpoint itself rounds down.
    For an integer feature c is a whole number, or infinite where int64 leaves nothing to compare.
    """
    match feature.type:
        case FeatureType.INTEGER:
            whole = math.ceil(threshold)
            if whole <= INT64_MIN:
                return -math.inf
            return whole if whole <= INT64_MAX else math.inf
        case FeatureType.FLOAT32:
            return _float32_cut(float(threshold))
        case _:
            return float(threshold)


def written_cut(feature: Feature, threshold: Threshold) -> Threshold:
    """Return a threshold as people write it: whole on integers, never a negative zero."""
    whole = feature.type == FeatureType.INTEGER
    return double_cut(feature, threshold) if whole else float(threshold) + 0.0


def _float32_cut(t: float) -> float:
    above = float32_above(t)
    below = float32_step(above, up=False)
    # Past the ends of the range rounding goes to infinity as if the next number were 2^128.
    ends = [math.copysign(2.0**128, x) if math.isinf(x) else x for x in (below, above)]
    middle = (ends[0] + ends[1]) / 2
    below_is_even = struct.pack("<f", below)[0] % 2 == 0
    return math.nextafter(middle, math.inf) if below_is_even else middle


@dataclass(frozen=True)
class Range:
    """An interval `[low, high)` of a numeric feature, None for an open end, and its child."""

    low: Threshold | None
    high: Threshold | None
    to: int


def ranges(
    rules: Rules, split: NumericSplit, threshold_of: ThresholdOf = double_cut
) -> tuple[Range, ...]:
    """Return a split's intervals in ascending order, as a target tests them.

    Those that no value reaches are dropped, and neighbours with one child merged. `threshold_of`
    turns a threshold into the target's own number; infinity is below nothing, or above all values,
    and ends no range.
    """
    feature = rules.feature[split.feature]
    found: list[Range] = []
    low: Threshold | None = None
    for part in split.intervals:
        high = None if part.below is None else threshold_of(feature, part.below)
        if high is not None and (high == -math.inf or (low is not None and high <= low)):
            continue
        if high == math.inf:
            high = None
        if found and found[-1].to == part.to:
            found[-1] = Range(found[-1].low, high, part.to)
        else:
            found.append(Range(low, high, part.to))
        if high is None:
            break
        low = high
    return tuple(found)


@dataclass(frozen=True)
class Arm:
    """One way out of a split, to be tested in the order of `arms`.

    The row takes the first arm for which its value is missing and `missing` is set, or lies in one
    of `ranges`, or is one of `values`; the last arm (`rest`) takes what the others left. A range
    whose lower end is already settled by the arms before it has `low` None.
    """

    child: Node
    missing: bool = False
    rest: bool = False
    ranges: tuple[Range, ...] = ()
    values: tuple[str | bool, ...] = ()


def arms(rules: Rules, split: Split, threshold_of: ThresholdOf = double_cut) -> tuple[Arm, ...]:
    """Return a split's arms, one a child that some value reaches, in the order of their tests.

    The arm for missing values comes first, so that no later test sees one; then ranges ascend.
    A category split whose missing values go with the unseen ones needs no test for missing: they
    are in no group and fall to the last arm.
    """
    match split:
        case NumericSplit():
            parts = ranges(rules, split, threshold_of)
            order = _first_seen([split.missing, *(part.to for part in parts)])
            found = []
            for k, to in enumerate(order):
                own = tuple(part for part in parts if part.to == to)
                if k > 0:
                    # What lies below a child's first range went to an earlier arm.
                    own = (Range(None, own[0].high, to), *own[1:])
                found.append(Arm(split.children[to], to == split.missing, ranges=own))
        case SetSplit():
            groups = [(group.to, group.values) for group in split.groups]
            last = split.unseen if split.unseen is not None else groups[-1][0]
            first = [] if split.missing == split.unseen else [split.missing]
            order = [to for to in _first_seen([*first, *(to for to, _ in groups)]) if to != last]
            # The last arm takes missing values without a test, if that is where they belong.
            found = [
                Arm(
                    split.children[to],
                    to == split.missing,
                    values=tuple(v for target, vs in groups if target == to for v in vs),
                )
                for to in [*order, last]
            ]
        case _:
            assert_never(split)
    end = found[-1]
    return (*found[:-1], Arm(end.child, end.missing, True, end.ranges, end.values))


def _first_seen(items: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(items))
