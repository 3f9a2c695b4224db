"""How answers did on rows whose truth is known, as plain values: what sheets and reports print.

Each figure is `[value, low, high]` with its 95 % interval, or None where the rows can't tell it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbndt.arrays import Floats, Ints
from mbndt.measures.accuracy import balanced_accuracy, balanced_interval, squared_error_figures
from mbndt.measures.calibration import calibration, share
from mbndt.measures.decisions import points, useful
from mbndt.measures.discrimination import area

NO_ANSWER = -1


def performance(
    classes: int,
    truth: Ints,
    answer: Ints,
    risk: Floats | None = None,
    event: int | None = None,
    levels: Floats | None = None,
) -> dict[str, Any]:
    """Return the figures of answers [n] to rows of true classes [n], both class indices.

    An answer of -1 is none: such rows are counted as `unanswered` and take no part in the rest.
    `risk` [n, C] and the index of the `event` class add what speaks of that event; `levels` are the
    risks to act at that are listed, those that occur where None.
    """
    answered = answer != NO_ANSWER
    unanswered = int(np.sum(~answered))
    truth, answer = truth[answered], answer[answered]
    table = np.zeros((classes, classes), np.int64)
    np.add.at(table, (truth, answer), 1)
    by_class = table.sum(1)
    rows = len(truth)
    found: dict[str, Any] = {
        "rows": rows,
        "unanswered": unanswered,
        "class_rows": by_class.tolist(),
        "table": table.tolist(),
        "accuracy": share(int(np.trace(table)), rows),
        "commonest": share(int(by_class.max(initial=0)), rows),
        "balanced_accuracy": _balanced(truth, answer),
    }
    if event is None:
        return found
    found |= {"event": event, **_of_event(table, event)}
    if risk is not None and rows:
        is_event, chance = truth == event, risk[answered][:, event]
        found["auc"] = area(is_event, chance)
        found["calibration"] = calibration(is_event, chance)
        found["points"] = points(is_event, chance, levels)
        found["useful"] = useful(is_event, chance)
    return found


def _balanced(truth: Ints, answer: Ints) -> list[float] | None:
    if not len(truth):
        return None
    return [balanced_accuracy(truth, answer), *balanced_interval(truth, answer)]


def _of_event(table: Ints, event: int) -> dict[str, Any]:
    """Return sensitivity and the like, of a table truth x answer."""
    hit = int(table[event, event])
    ill, told = int(table[event].sum()), int(table[:, event].sum())
    rows = int(table.sum())
    spared = rows - ill - told + hit
    return {
        "sensitivity": share(hit, ill),
        "specificity": share(spared, rows - ill),
        "ppv": share(hit, told),
        "npv": share(spared, rows - told),
    }


def performance_of_numbers(expected: Floats, got: Floats) -> dict[str, Any]:
    """Return a regression's figures of answers [n] to rows of true values [n]; NaN is no answer."""
    answered = ~np.isnan(got)
    expected, got = expected[answered], got[answered]
    found: dict[str, Any] = {"rows": len(got), "unanswered": int(np.sum(~answered))}
    if not len(got):
        return found | {"r2": None, "mae": None, "rmse": None}
    figures = squared_error_figures(expected, got)
    low, high = figures["rmse_95"]
    return found | {
        "r2": figures["r2"],
        "mae": figures["mae"],
        "rmse": [figures["rmse"], low, high],
    }
