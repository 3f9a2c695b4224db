"""Thresholds at the decimals that people measure with.

They are rounded in the rules, before any target is compiled: within the gap between training values
where that allows it, else with a count of the rows that change leaf.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mbndt.errors import DataError, RulesError, shown
from mbndt.interpreter import route
from mbndt.learning.provenance import Gap, finite_values, gaps, known_gaps, mapping
from mbndt.learning.short_thresholds import with_thresholds
from mbndt.measures.accuracy import balanced_accuracy, squared_error_figures
from mbndt.rules import (
    Feature,
    FeatureType,
    Leaf,
    NumericSplit,
    Rules,
    Threshold,
)
from mbndt.tables.schema import Schema
from mbndt.tables.table import Column, Table
from mbndt.tables.target import Labels, Values, infer_target, missing_rows

LeafIds: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Move:
    """A threshold rounded.

    It is `safe` where the new one lies in the old one's gap, so that it sorts all training rows as
    before.
    """

    feature: str
    before: Threshold
    after: Threshold
    safe: bool


def to_decimals(
    rules: Rules, decimals: Mapping[str, int], typed: Mapping[str, Column] | None = None
) -> tuple[Rules, list[Move]]:
    """Return rules with the thresholds of some features rounded, and the thresholds that changed.

    They are rounded to so many decimals (-1: tens). A threshold goes to the nearest such number in
    its gap between training values (`typed`, else those that the rules' provenance states), or if
    there is none to the nearest at all. Raises `RulesError` where two thresholds of a split would
    become one.
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
    """Rounded rules, and what the rounding changed.

    That is the thresholds that changed, the rows [n] that change leaf among `rows` of a table (None
    without one), the balanced accuracy (a regression: R squared) before and after on those that
    have a target, and what to be warned of.
    """

    rules: Rules
    moves: Sequence[Move]
    changed: int
    rows: int | None = None
    before: float | None = None
    after: float | None = None
    warnings: tuple[str, ...] = ()


def round_rules(rules: Rules, decimals: Mapping[str, int], table: Table | None = None) -> Rounded:
    """Round thresholds to decimals by feature, and count the rows of the training that move.

    A leaf that rows enter or leave no longer records what it was learned from. Raises `RulesError`
    where two thresholds become one, or a row might change leaf and there is no table to count how
    many do; `DataError` for a table without rows, or that doesn't fit.
    """
    if table is not None and not table.n_rows:
        raise DataError(f"{table.source}: no rows, expected those of the training")
    typed = None if table is None else {f.name: table.typed(f) for f in rules.used}
    rounded, moves = to_decimals(rules, decimals, typed)
    if moves:
        rounded = replace(rounded, provenance=_provenance(rules, rounded, moves, typed))
    if table is None or typed is None:
        _refuse_unsure(moves)
        return Rounded(rounded, moves, 0)
    before, after = (route(each, typed, table.n_rows) for each in (rules, rounded))
    moved = before != after
    known, outcome = _outcomes(rules, table)
    first, second = (_accuracy(rules, leaf[known], outcome) for leaf in (before, after))
    touched = {*before[moved].tolist(), *after[moved].tolist()}
    warnings = tuple(_warnings(rules, table, before, after))
    kept = _forgetting(rounded, touched)
    return Rounded(kept, moves, int(moved.sum()), table.n_rows, first, second, warnings)


def _warnings(rules: Rules, table: Table, before: LeafIds, after: LeafIds) -> Iterator[str]:
    learned = rules.provenance.get("training rows")
    if isinstance(learned, int) and table.n_rows < learned:
        yield (
            f"the table has {table.n_rows} rows, the rules were learned from {learned}: rows that"
            " it lacks may change leaf too"
        )
    for leaf in sorted({*before.tolist()} - {*after.tolist()}):
        yield f"leaf {leaf}: no row of the table reaches it any more"


def _forgetting(rules: Rules, leaves: Collection[int]) -> Rules:
    """Return rules some of whose leaves don't record what they were learned from.

    Their risks stay, as their scores do: what they say of cases is from before the rounding, as the
    provenance says.
    """
    return rules.with_leaves(
        lambda leaf: Leaf(leaf.leaf, leaf.value, risk=leaf.risk) if leaf.leaf in leaves else leaf
    )


def _refuse_unsure(moves: Sequence[Move]) -> None:
    unsure = [move for move in moves if not move.safe]
    if unsure:
        first = unsure[0]
        raise RulesError(
            f"{len(unsure)} thresholds would leave the gap between training values, as far as"
            f" the rules know it (first {shown(first.feature)}: {first.before!r} to"
            f" {first.after!r}); give the training table by `data` to count what changes"
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
    known = ~missing_rows(table, name) if name in table else np.zeros(table.n_rows, np.bool_)
    if not known.any():
        return known, None
    return known, infer_target(table.take(known), name, Schema.of_target(rules), rules.task)


def _accuracy(rules: Rules, leaf: LeafIds, outcome: Labels | Values | None) -> float | None:
    """Return the balanced accuracy (a regression: R squared) of leaf ids [n]."""
    if outcome is None:
        return None
    if isinstance(outcome, Values):
        values = np.array([entry.value for entry in rules.leaves], np.float64)
        found = squared_error_figures(outcome.values, values[leaf])["r2"]
        return None if found is None else float(found)
    classes = np.array([entry.class_index for entry in rules.leaves], np.int64)
    return balanced_accuracy(outcome.codes, classes[leaf])
