"""Boundary rows, made from the rules alone: what an engine is most likely to get wrong.

Every threshold and one ulp either side, missing and infinite values, unseen categories, on every
path, so that deep splits are reached.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import assert_never

import numpy as np

from mbndt.interpreter import branches
from mbndt.rules import (
    INT64_MAX,
    Feature,
    FeatureType,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Threshold,
)
from mbndt.rules.values import float32_above
from mbndt.tables.table import Table

SIDES = (-math.inf, math.inf)

Pools = Mapping[str, list[object]]

# INT64_MIN itself is what C and ONNX keep for a missing integer.
INTEGER_ENDS = (-INT64_MAX, -1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX)
FLOAT_ENDS = (
    -math.inf,
    -1.7976931348623157e308,
    -1e300,
    -1.0,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1.0,
    3.4028234663852886e38,
    3.4028235677973366e38,
    1e300,
    1.7976931348623157e308,
    math.inf,
)


def boundary_rows(rules: Rules, rows: int, seed: int = 0) -> Table:
    """Return at least `rows` rows that visit every reachable branch at its ends.

    At each split that some input reaches, one row for each value that is special there, other
    features drawn from the values that lead to this split; one row for each leaf that some input
    reaches; then random mixes of special values.
    """
    draw = random.Random(seed)
    pools: Pools = {
        feature.name: special_values(feature, rules.thresholds(feature)) for feature in rules.used
    }
    found = list(_rows_at_splits(rules, pools, draw))
    while len(found) < rows:
        found.append({name: draw.choice(pool) for name, pool in pools.items()})
    columns: dict[str, list[object]] = {
        feature.name: [row.get(feature.name) for row in found] for feature in rules.features
    }
    return Table(Table.of(columns).columns, len(found), source="boundary rows")


def _rows_at_splits(rules: Rules, pools: Pools, draw: random.Random) -> Iterator[dict[str, object]]:
    work: list[tuple[Node, Pools]] = [(rules.root, pools)]
    while work:
        node, pools = work.pop()
        if isinstance(node, Leaf):
            # A leaf between no thresholds of its own split would be met by chance only.
            yield {name: draw.choice(pool) for name, pool in pools.items()}
            continue
        feature = rules.feature[node.feature]
        own = node.thresholds if isinstance(node, NumericSplit) else ()
        for value in special_values(feature, own):
            yield {name: draw.choice(pool) for name, pool in pools.items()} | {node.feature: value}
        # The pool holds a value of every region, so a child that it can't reach can't be reached.
        pool = pools[node.feature]
        column = Table.of({feature.name: pool}).typed(feature)
        taken = branches(rules, node, column)
        for i, child in enumerate(node.children):
            left = [value for value, to in zip(pool, taken.tolist(), strict=True) if to == i]
            if left:
                work.append((child, {**pools, node.feature: left}))


def special_values(feature: Feature, thresholds: Collection[Threshold]) -> list[object]:
    """Return raw values of a feature that try its thresholds, categories and the edges of its type.

    They meet both sides of the thresholds, every category, and the edges of the type; None stands
    for missing.
    """
    match feature.type:
        case FeatureType.BOOLEAN:
            return [False, True, None]
        case FeatureType.CATEGORY:
            return [*_category_specials(feature), "", None]
        case FeatureType.INTEGER:
            near = {math.ceil(t) + step for t in thresholds for step in (-1, 0, 1)}
            whole = {x for x in near if abs(x) <= INT64_MAX} | set(INTEGER_ENDS)
            return [*sorted(whole), None]
        case FeatureType.FLOAT64:
            ends = [float(t) for t in thresholds]
        case FeatureType.FLOAT32:
            ends = [end for t in thresholds for end in (float(t), *_float32_ends(float(t)))]
        case _:
            assert_never(feature.type)
    beside = [math.nextafter(end, way) for end in ends for way in SIDES]
    # By text, as -0.0 equals 0.0 and both are to be there.
    return [*{repr(x): x for x in [*FLOAT_ENDS, *ends, *beside]}.values(), None]


def _category_specials(feature: Feature) -> list[str]:
    """Return the categories, and texts beside them that a folding comparison would confuse."""
    beside = [
        text
        for category in feature.categories[:8]
        for text in (f"{category} ", f" {category}", category.swapcase(), f"{category}\u0301")
    ]
    return list(dict.fromkeys([*feature.categories, "never seen", *beside]))


def _float32_ends(t: float) -> list[float]:
    """Return the float32 numbers around t and the doubles between them where rounding turns."""
    near = np.float32(float32_above(t))
    with np.errstate(over="ignore", under="ignore"):
        below, above = (float(np.nextafter(near, np.float32(side))) for side in SIDES)
    ends = [below, float(near), above]
    # Numbers round to infinity as if it were the next power of two.
    whole = [math.copysign(2.0**128, x) if math.isinf(x) else x for x in ends]
    return [*ends, *((low + high) / 2 for low, high in pairwise(whole))]
