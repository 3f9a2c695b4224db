"""The trade-off of acting from some risk on, over rows whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mbndt.errors import DataError, OptionError, nearest, shown, warn
from mbndt.measures.decisions import points, useful
from mbndt.measures.performance import NO_ANSWER
from mbndt.rules import Label, Rules
from mbndt.tables.table import Table
from mbndt.validation.answers import answer_by_leaf, answered, by_leaf, scores
from mbndt.validation.seen import warn_seen


@dataclass(frozen=True)
class TradeOff:
    """What acting from each level on does, rising.

    `by` says what the levels are: `risk`, or `score` for rules that know no risks, whose levels
    rank rows and are no chances. `useful` are the risks between which the rules beat acting on all
    and on none. Only answered rows count.
    """

    by: str
    event: Label
    rows: int
    events: int
    unanswered: int
    points: list[dict[str, Any]]
    useful: list[float] | None


def trade_off(rules: Rules, table: Table, target: str | None = None) -> TradeOff:
    """Return the trade-off over a table; raises `OptionError` for rules without an event."""
    event, target = rules.event, rules.target.name if target is None else target
    if event is None:
        what = "more than two classes and no event" if rules.target.classes else "no classes"
        raise OptionError(f"the rules have {what}; only an event is acted on from some risk on")
    if target not in table:
        choices = nearest(target, table.columns)
        raise OptionError(f"target: {table.source} has no column {shown(target)}{choices}")
    found = answered(rules, table, target)
    warn_seen(found)
    risk = by_leaf(rules, "risk")
    if risk is None:
        warn(
            "the rules know scores and no risks: scores rank rows but are no chances, so net"
            " benefit is left out; rules learned anew know their risks"
        )
    level = (scores(rules) if risk is None else risk)[:, event]
    told = (answer_by_leaf(rules) != NO_ANSWER)[found.leaf]
    truth, each = found.is_event[told], level[found.leaf[told]]
    if not len(truth):
        raise DataError(f"{table.source}: no row gets an answer")
    listed = points(truth, each, level[~np.isnan(level)])
    if risk is None:
        listed = [point | {"net_benefit": None} for point in listed]
    return TradeOff(
        "score" if risk is None else "risk",
        rules.target.classes[event],
        len(truth),
        int(truth.sum()),
        int(np.sum(~told)),
        listed,
        None if risk is None else useful(truth, each),
    )
