"""Figures in the words of those who read a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mbndt.measures.calibration import share
from mbndt.rules import Rules
from mbndt.rules.values import label_text

Say = Callable[[Mapping[str, Any]], str]

NOT_KNOWN = "-"
FIGURES = {
    "accuracy": "answers that were right",
    "commonest": "right, had the answer always been the commonest",
    "balanced_accuracy": "right in the mean over classes (balanced accuracy)",
    "sensitivity": "of those with the event, found (sensitivity)",
    "specificity": "of those without it, spared (specificity)",
    "ppv": "of those told the event, with it (PPV)",
    "npv": "of those told otherwise, without it (NPV)",
}


def percent(share: object) -> str:
    """Return a share as per cent, with its interval where it has one."""
    if share is None:
        return NOT_KNOWN
    if isinstance(share, list):
        value, low, high = share
        return f"{_percent(value)} ({_percent(low)} to {_percent(high)})"
    assert isinstance(share, int | float)
    return _percent(share)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def number(value: object, digits: int = 3) -> str:
    """Return a figure as text, with its interval where it has one."""
    if value is None:
        return NOT_KNOWN
    if isinstance(value, list):
        first, low, high = (number(part, digits) for part in value)
        return f"{first} ({low} to {high})"
    return f"{value:.{digits}f}" if isinstance(value, float) else f"{value}"


def figures(performance: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures that are there, each with its words."""
    if "rmse" in performance:
        return [
            ("R squared", number(performance["r2"])),
            ("mean absolute error", number(performance["mae"])),
            ("root mean squared error", number(performance["rmse"])),
        ]
    found = [(said, percent(performance[k])) for k, said in FIGURES.items() if k in performance]
    if "auc" in performance:
        found.append(("area under the ROC curve (AUC)", number(performance["auc"])))
    if "calibration" in performance:
        told = performance["calibration"]
        found += [
            ("risk of the event that the rules told, mean", percent(told["expected"])),
            ("share with the event", percent(told["observed"])),
        ]
    if at := performance.get("operating point"):
        risk = _percent(at["act_at"])
        found += [
            (f"net benefit of the answers at a risk of {risk}", number(at["net_benefit"])),
            (f"net benefit of treating all at {risk}", number(at["treat_all"])),
        ]
    return found


def sentences(rules: Rules, performance: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was found and missed, and where acting by the rules is of use."""
    if performance["unanswered"]:
        yield f"{performance['unanswered']} rows got no answer, and count in no figure."
    event = performance.get("event")
    if event is None or not performance["rows"]:
        return
    name, table = label_text(rules.target.classes[event]), performance["table"]
    with_it, hit = sum(table[event]), table[event][event]
    told = sum(row[event] for row in table)
    others = performance["rows"] - with_it
    yield (
        f"Found {hit} of {with_it} with {name}; {with_it - hit} missed."
        f" Of {others} without it, {told - hit} were told {name} too."
    )
    if "useful" in performance:
        yield useful(performance["useful"])


def useful(ends: list[float] | None) -> str:
    """Return the sentence on the risks at which acting by the rules beats doing without them."""
    if ends is None:
        return "At no risk to act at are these rules better than treating all or none."
    return f"Better than treating all or none from {_ends(ends)} of risk to act at."


def by_group(groups: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a table with a line a group."""
    columns = _columns(groups[0]["performance"]) if groups else []
    return ["group", "rows", *(head for head, _ in columns)], [
        [group_name(group), str(group["all_rows"])]
        + [say(group["performance"]) for _, say in columns]
        for group in groups
    ]


def group_name(group: Mapping[str, Any]) -> str:
    """Return a group's name, with a mark where its rows are few."""
    name = f"{group['by']}: {group['value']}"
    return f"{name} (few rows)" if group["small"] else name


def _columns(performance: Mapping[str, Any]) -> list[tuple[str, Say]]:
    """Return heads, and what says the figure under each."""
    if "rmse" in performance:
        return [
            ("R squared", lambda told: number(told["r2"])),
            ("root mean squared error", lambda told: number(told["rmse"])),
        ]
    right: list[tuple[str, Say]] = [("right", lambda told: percent(told["accuracy"]))]
    if "event" not in performance:
        return [*right, ("balanced", lambda told: percent(told["balanced_accuracy"]))]
    return [
        ("with the event", _with_event),
        ("risk told", lambda told: percent(told.get("calibration", {}).get("expected"))),
        ("found (sensitivity)", lambda told: percent(told["sensitivity"])),
        ("spared (specificity)", lambda told: percent(told["specificity"])),
        ("AUC", lambda told: number(told.get("auc"))),
        ("better than treating all or none", lambda told: _ends(told.get("useful"))),
        *_of_operating_point(performance),
    ]


def _of_operating_point(performance: Mapping[str, Any]) -> list[tuple[str, Say]]:
    at = performance.get("operating point")
    if at is None:
        return []
    head = f"net benefit at {_percent(at['act_at'])}"
    return [(head, lambda told: number((told["operating point"] or {}).get("net_benefit")))]


def _with_event(told: Mapping[str, Any]) -> str:
    return percent(share(told["class_rows"][told["event"]], told["rows"]))


def _ends(ends: Sequence[float] | None) -> str:
    """Return a range of risks, rounded inwards so that it claims no more than it holds."""
    if ends is None:
        return NOT_KNOWN
    for digits in (0, 1, 3):
        step = 10.0**digits
        # Rounded first, as 0.101 in doubles is a little more than 10.1 %.
        first, last = (round(100 * end * step, 6) for end in ends)
        low, high = math.ceil(first) / step, math.floor(last) / step
        if high - low >= 2 / step:
            break
    return f"{low:.{digits}f} % to {high:.{digits}f} %"
