"""Thresholds as short decimals in the gap between neighbouring training values.

Any number in such a gap sorts the training rows alike, so the one with the fewest significant
digits (nearest the middle among those) is as true to the data as the learned one, prints well and
survives float32. No training row moves. To the decimals that people measure with thresholds are
rounded in the rules too, before any target is compiled, within their gaps where these allow it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.errors import RulesError, shown
from mbndt.interpreter import route
from mbndt.metrics import balanced_accuracy, squared_error_figures
from mbndt.provenance import Gap, finite_values, gaps, known_gaps, mapping
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Threshold,
    deep_recursion,
)
from mbndt.schema import Schema, Values, infer_target, missing_rows
from mbndt.table import Column, Table

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

    return _with_thresholds(rules, short), moved


def _with_thresholds(rules: Rules, change: Callable[[NumericSplit], list[Threshold]]) -> Rules:
    """Return rules whose numeric splits have the thresholds that `change` gives for each."""

    def node(old: Node) -> Node:
        if isinstance(old, Leaf):
            return old
        new = replace(old, children=tuple(node(child) for child in old.children))
        if isinstance(new, NumericSplit) and isinstance(old, NumericSplit):
            new = replace(new, intervals=tuple(
                Interval(below, part.to, part.redirected_from)
                for part, below in zip(new.intervals, [*change(old), None], strict=True)
            ))  # fmt: skip
        return new

    with deep_recursion():
        return replace(rules, root=node(rules.root))


@dataclass(frozen=True)
class Move:
    """A threshold rounded: `safe` where the new one lies in the old one's gap, so that it sorts
    all training rows as before.
    """

    feature: str
    before: Threshold
    after: Threshold
    safe: bool


def to_decimals(
    rules: Rules, decimals: Mapping[str, int], typed: Mapping[str, Column] | None = None
) -> tuple[Rules, list[Move]]:
    """Round the thresholds of some features to so many decimals (-1: tens); return the rules and
    the thresholds that changed.

    A threshold goes to the nearest such number in its gap between training values (`typed`, else
    those that the rules' provenance states), or if there is none to the nearest at all. Raises
    `RulesError` where two thresholds of a split would become one.
    """
    rounded: dict[str, dict[Threshold, Move]] = {}
    for name in decimals.keys() & {feature.name for feature in rules.used if feature.type.numeric}:
        feature = rules.feature[name]
        thresholds = rules.thresholds(feature)
        known: Sequence[Gap | None]
        if typed is None:
            known = known_gaps(rules, name) or [None] * len(thresholds)
        else:
            known = gaps(finite_values(typed[name]), thresholds)
        rounded[name] = {
            threshold: _rounded_move(feature, threshold, decimals[name], gap)
            for threshold, gap in zip(thresholds, known, strict=True)
        }

    def change(split: NumericSplit) -> list[Threshold]:
        if split.feature not in rounded:
            return list(split.thresholds)
        after = [rounded[split.feature][threshold].after for threshold in split.thresholds]
        for (a, b), (c, d) in zip(pairwise(split.thresholds), pairwise(after), strict=True):
            if not c < d:
                raise RulesError(
                    f"{shown(split.feature)}: {a!r} and {b!r} would both become {c!r};"
                    f" expected more than {decimals[split.feature]} decimals"
                )
        return after

    moves = [move for found in rounded.values() for move in found.values()]
    changed = [move for move in moves if move.before != move.after]
    return _with_thresholds(rules, change), sorted(changed, key=lambda m: (m.feature, m.before))


def _rounded_move(feature: Feature, threshold: Threshold, decimals: int, gap: Gap | None) -> Move:
    whole = feature.type == FeatureType.INTEGER
    unit = Decimal(1).scaleb(-min(decimals, 0) if whole else -decimals)

    def as_type(number: Decimal) -> Threshold:
        return int(number) if whole else float(number) + 0.0

    # Whole numbers are below 8.5 if they are below 9.
    at: Threshold = math.ceil(threshold) if whole else threshold
    exact = Decimal(at)
    near = as_type(_multiple(exact, unit, ROUND_HALF_EVEN))
    if gap is None:
        return Move(feature.name, threshold, near, safe=near == at)
    low, high = gap
    # The least multiple above the gap's lower end, and the greatest up to its upper one.
    ends = [near]
    if low is not None:
        first = _multiple(Decimal(low), unit, ROUND_CEILING)
        ends += [as_type(first), as_type(first + unit)]
    if high is not None:
        ends.append(as_type(-_multiple(-Decimal(high), unit, ROUND_CEILING)))
    within = [t for t in ends if (low is None or low < t) and (high is None or t <= high)]
    if not within:
        return Move(feature.name, threshold, near, safe=False)
    best = min(within, key=lambda t: abs(Decimal(t) - exact))
    return Move(feature.name, threshold, best, safe=True)


def _multiple(number: Decimal, unit: Decimal, rounding: str) -> Decimal:
    """Return the multiple of a power of ten that a number is rounded to."""
    return number.quantize(unit, rounding, Context(prec=2000))


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
    """Return the double strictly between two numbers with the fewest significant digits, nearest
    the middle among those; None where no double of up to 17 digits lies there.

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
    """Return the whole number in (low, high] with the fewest significant digits, nearest the
    middle: on integers `x < t` sorts apart all that is up to `low` and all from `high`.

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


@dataclass(frozen=True)
class Rounded:
    """Rounded rules: the thresholds that changed, the rows [n] that change leaf among `rows`, and
    the accuracy before and after on those that have a target (None without a table).
    """

    rules: Rules
    moves: Sequence[Move]
    changed: int
    rows: int | None = None
    before: float | None = None
    after: float | None = None


def round_rules(rules: Rules, decimals: Mapping[str, int], table: Table | None = None) -> Rounded:
    """Round thresholds to decimals by feature, and count the rows of the training that move.

    Raises `RulesError` where two thresholds become one, or a row might change leaf and no table is
    there to count how many do; `DataError` for a table that doesn't fit.
    """
    typed = None if table is None else {f.name: table.typed(f) for f in rules.used}
    rounded, moves = to_decimals(rules, decimals, typed)
    rounded = replace(rounded, provenance=_provenance(rules, rounded, moves, typed))
    if table is None or typed is None:
        unsure = [move for move in moves if not move.safe]
        if unsure:
            first = unsure[0]
            raise RulesError(
                f"{len(unsure)} thresholds would leave the gap between training values, as far as"
                f" the rules know it (first {shown(first.feature)}: {first.before!r} to"
                f" {first.after!r}); give the training table by --data to count what changes"
            )
        return Rounded(rounded, moves, 0)
    leaves = [route(each, typed, table.rows) for each in (rules, rounded)]
    changed = int(np.count_nonzero(leaves[0] != leaves[1]))
    figures = [_accuracy(rules, table, leaf) for leaf in leaves]
    return Rounded(rounded, moves, changed, table.rows, *figures)


def _provenance(
    rules: Rules, rounded: Rules, moves: Sequence[Move], typed: Mapping[str, Column] | None
) -> dict[str, Any]:
    """Return the provenance of rounded rules, with the gaps that their thresholds lie in."""
    facts = {}
    for name, entry in mapping(rules.provenance.get("features")).items():
        feature = rounded.feature.get(name)
        if feature is None or "gaps" not in mapping(entry):
            facts[name] = entry
        elif typed is None or feature not in rules.used:
            kept = _kept_gaps(rules, rounded, feature, moves)
            facts[name] = {**entry, "gaps": [*map(list, kept)]}
        else:
            values = finite_values(typed[name])
            facts[name] = {**entry, "gaps": [*map(list, gaps(values, rounded.thresholds(feature)))]}
    return {**rules.provenance, "features": facts, "rounded from": rules.fingerprint}


def _kept_gaps(rules: Rules, rounded: Rules, feature: Feature, moves: Sequence[Move]) -> list[Gap]:
    """Return the gaps of thresholds that stayed in theirs; none where they aren't known."""
    after = {move.before: move.after for move in moves if move.feature == feature.name}
    known = known_gaps(rules, feature.name) or []
    thresholds = rules.thresholds(feature)
    by_new = {after.get(t, t): gap for t, gap in zip(thresholds, known, strict=False)}
    return [by_new[t] for t in rounded.thresholds(feature) if t in by_new]


def _accuracy(rules: Rules, table: Table, leaf: npt.NDArray[np.int64]) -> float | None:
    """Return the balanced accuracy (a regression: R squared) of leaf ids [n] on the rows that have
    a target; None where the table has none.
    """
    if rules.target.name not in table or (missing := missing_rows(table, rules.target.name)).all():
        return None
    kept = table.take(~missing)
    outcome = infer_target(kept, rules.target.name, Schema.of_target(rules), rules.task)
    if isinstance(outcome, Values):
        values = np.array([entry.value for entry in rules.leaves], np.float64)
        found = squared_error_figures(outcome.values, values[leaf[~missing]])["r2"]
        return None if found is None else float(found)
    classes = np.array([entry.class_index for entry in rules.leaves], np.int64)
    return balanced_accuracy(outcome.codes, classes[leaf[~missing]])
