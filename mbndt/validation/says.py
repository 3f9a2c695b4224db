"""Figures in the words of those who read a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mbndt.rules import Rules
from mbndt.rules.values import label_text

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
    low, high = (f"{100 * end:.0f} %" for end in ends)
    return f"Better than treating all or none from {low} to {high} of risk to act at."
