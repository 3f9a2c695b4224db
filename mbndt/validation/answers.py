"""What rules answer to rows whose truth is known, in the form that figures are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbndt.arrays import Flags, Floats, Ints
from mbndt.errors import DataError, warn
from mbndt.interpreter import route
from mbndt.learning.provenance import mapping
from mbndt.measures.decisions import of_answers
from mbndt.measures.discrimination import area
from mbndt.measures.performance import NO_ANSWER, performance, performance_of_numbers
from mbndt.rules import Rules
from mbndt.tables.digest import digest, row_hashes
from mbndt.tables.schema import Schema
from mbndt.tables.table import Column, Table
from mbndt.tables.target import Labels, Values, infer_target, missing_rows


@dataclass(frozen=True)
class Answered:
    """Rows of a table that have a target: their typed columns, outcomes and leaves [n].

    `untold` counts the rows left out as they lack a target.
    """

    rules: Rules
    table: Table
    typed: dict[str, Column]
    outcome: Labels | Values
    leaf: Ints
    untold: int

    @property
    def is_event(self) -> Flags:
        """Tell which rows [n] are of the event's class."""
        event = self.rules.event
        assert isinstance(self.outcome, Labels)
        assert event is not None
        return np.asarray(self.outcome.codes == event)

    @property
    def digest(self) -> str:
        """Return the digest of the rows, by the columns that the rules use and the truth."""
        used = {feature: self.typed[feature.name] for feature in self.rules.used}
        return digest(row_hashes(used, self.outcome))

    def performance(self, rows: Flags | None = None) -> dict[str, Any]:
        """Return the figures of all rows, or of some [n]."""
        found = self._performance(rows)
        event, at = self.rules.event, operating_risk(self.rules)
        if event is not None and at is not None:
            found["operating point"] = of_answers(found["table"], event, at)
        return found

    def _performance(self, rows: Flags | None) -> dict[str, Any]:
        kept = np.ones(len(self.leaf), np.bool_) if rows is None else rows
        leaf, rules = self.leaf[kept], self.rules
        if isinstance(self.outcome, Values):
            values = [np.nan if end.stops else end.value for end in rules.leaves]
            return performance_of_numbers(
                self.outcome.values[kept], np.array(values, np.float64)[leaf]
            )
        codes = self.outcome.codes[kept]
        classes, event, risk = len(rules.target.classes), rules.event, by_leaf(rules, "risk")
        answer = answer_by_leaf(rules)[leaf]
        if risk is not None:
            levels = None if event is None else risk[~np.isnan(risk[:, 0]), event]
            return performance(classes, codes, answer, risk[leaf], event, levels)
        found = performance(classes, codes, answer, None, event)
        if event is not None:
            # Scores are no chances, but they rank.
            told = answer != NO_ANSWER
            found["auc"] = area(codes[told] == event, scores(rules)[leaf[told], event])
        return found


def operating_risk(rules: Rules) -> float | None:
    """Return the risk from which the rules say the event, where their training stated one."""
    stated = mapping(rules.provenance.get("operating point"))
    costs = mapping(stated.get("cost"))
    given = [stated.get("act_at"), costs.get("missed"), costs.get("false")]
    at, missed, false = (x if isinstance(x, int | float) and x > 0 else None for x in given)
    if at is not None:
        return at if at < 1 else None
    return None if missed is None or false is None else false / (missed + false)


def answered(rules: Rules, table: Table, target: str) -> Answered:
    """Answer the rows of a table that have a target.

    Raises `DataError` for a table that doesn't fit, a class that the rules don't know, no rows.
    """
    missing = missing_rows(table, target)
    untold = int(missing.sum())
    if untold:
        warn(f"{table.source}: {untold} rows without a value of {target!r} are left out")
        table = table.take(~missing)
    if not table.n_rows:
        raise DataError(f"{table.source}: no rows with a value of {target!r}")
    outcome = infer_target(table, target, Schema.of_target(rules), rules.task)
    typed = {feature.name: table.typed(feature) for feature in rules.used}
    leaf = route(rules, typed, table.n_rows)
    return Answered(rules, table, typed, outcome, leaf, untold)


def answer_by_leaf(rules: Rules) -> Ints:
    """Return the class index that each leaf answers, [L], or `NO_ANSWER`."""
    found = [NO_ANSWER if end.stops else end.class_index for end in rules.leaves]
    return np.array(found, np.int64)


def by_leaf(rules: Rules, output: str) -> Floats | None:
    """Return an output of each leaf, [L, C], NaN at stops; None where rules have none such."""
    rows = rules.outputs.get(output)
    if rows is None:
        return None
    none = (np.nan,) * len(rules.target.classes)
    return np.array([none if row is None else row for row in rows], np.float64)


def scores(rules: Rules) -> Floats:
    """Return the scores of each leaf, [L, C], by which classes are ranked."""
    found = by_leaf(rules, "score" if "score" in rules.outputs else "probability")
    assert found is not None
    return found
