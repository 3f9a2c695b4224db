"""Thresholds at the decimals that people measure with, rounded in the rules, before any target is
compiled: within the gap between training values where that allows it, else with a count of the rows
that change leaf.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.errors import RulesError, shown
from mbndt.interpreter import route
from mbndt.metrics import balanced_accuracy, squared_error_figures
from mbndt.provenance import Gap, finite_values, gaps, known_gaps, mapping
from mbndt.rounding import with_thresholds
from mbndt.rules import (
    Feature,
    FeatureType,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Threshold,
    deep_recursion,
)  # fmt: skip
from mbndt.schema import Labels, Schema, Values, infer_target, missing_rows
from mbndt.table import Column, Table


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
    return with_thresholds(rules, change), sorted(changed, key=lambda m: (m.feature, m.before))


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

    Where rows move, the leaves' counts are those of the table's rows that have a target, or none,
    and figures of held-out rows are dropped. Raises `RulesError` where two thresholds become one,
    or a row might change leaf and no table is there to count how many do; `DataError` for a table
    that doesn't fit.
    """
    typed = None if table is None else {f.name: table.typed(f) for f in rules.used}
    rounded, moves = to_decimals(rules, decimals, typed)
    if moves:
        rounded = replace(rounded, provenance=_provenance(rules, rounded, moves, typed))
    if table is None or typed is None:
        _refuse_unsure(moves)
        return Rounded(rounded, moves, 0)
    leaves = [route(each, typed, table.rows) for each in (rules, rounded)]
    changed = int(np.count_nonzero(leaves[0] != leaves[1]))
    known, outcome = _outcomes(rules, table)
    figures = [_accuracy(rules, leaf[known], outcome) for leaf in leaves]
    if changed:
        rounded = _counted(rounded, leaves[1][known], outcome)
    return Rounded(rounded, moves, changed, table.rows, *figures)


def _refuse_unsure(moves: Sequence[Move]) -> None:
    unsure = [move for move in moves if not move.safe]
    if unsure:
        first = unsure[0]
        raise RulesError(
            f"{len(unsure)} thresholds would leave the gap between training values, as far as"
            f" the rules know it (first {shown(first.feature)}: {first.before!r} to"
            f" {first.after!r}); give the training table by --data to count what changes"
        )


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


def _outcomes(rules: Rules, table: Table) -> tuple[npt.NDArray[np.bool_], Labels | Values | None]:
    """Return which rows [n] have a target, and their targets; None where no row has one."""
    name = rules.target.name
    known = ~missing_rows(table, name) if name in table else np.zeros(table.rows, np.bool_)
    if not known.any():
        return known, None
    return known, infer_target(table.take(known), name, Schema.of_target(rules), rules.task)


def _accuracy(
    rules: Rules, leaf: npt.NDArray[np.int64], outcome: Labels | Values | None
) -> float | None:
    """Return the balanced accuracy (a regression: R squared) of leaf ids [n]."""
    if outcome is None:
        return None
    if isinstance(outcome, Values):
        values = np.array([entry.value for entry in rules.leaves], np.float64)
        found = squared_error_figures(outcome.values, values[leaf])["r2"]
        return None if found is None else float(found)
    classes = np.array([entry.class_index for entry in rules.leaves], np.int64)
    return balanced_accuracy(outcome.codes, classes[leaf])


def _counted(rules: Rules, leaf: npt.NDArray[np.int64], outcome: Labels | Values | None) -> Rules:
    """Return rules whose leaves record the rows [n] that reach them now; answers stay."""
    counts = Counter[int](leaf.tolist())
    codes = outcome.codes if isinstance(outcome, Labels) else None
    classes = len(rules.target.classes)

    def record(old: Leaf) -> Leaf:
        bare = Leaf(old.leaf, old.value)
        here = leaf == old.leaf
        if codes is not None:
            return replace(bare, counts=tuple(np.bincount(codes[here], minlength=classes).tolist()))
        if not isinstance(outcome, Values) or not counts[old.leaf]:
            return bare
        values = outcome.values[here]
        return replace(bare, n=len(values), mean=float(values.mean()), std=float(values.std()))

    def node(old: Node) -> Node:
        if isinstance(old, Leaf):
            return record(old)
        return replace(old, children=tuple(node(child) for child in old.children))

    provenance = {key: value for key, value in rules.provenance.items() if key != "held out"}
    if outcome is not None:
        provenance["training rows"] = len(leaf)
    if codes is not None:
        provenance["class rows"] = np.bincount(codes, minlength=classes).tolist()
    with deep_recursion():
        return replace(rules, root=node(rules.root), provenance=provenance)
