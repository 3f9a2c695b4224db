"""The report of a validation as a page: no script, nothing fetched, pictures within."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbndt.emitters.base import templates
from mbndt.rules.values import label_text
from mbndt.validation import says
from mbndt.validation.pictures import SIDE, calibration_dots, decision_curve

if TYPE_CHECKING:
    from mbndt.validation.validate import Validation


def page(found: Validation) -> str:
    """Return the page."""
    told = found.performance
    curve = told.get("points") and told["rows"]
    return (
        templates("validation", autoescape=True)
        .get_template("report.html.jinja")
        .render(
            **found.as_dict(),
            figures=says.figures(told),
            sentences=[*says.sentences(found.rules, told)],
            event=None if told.get("event") is None else label_text(_event(found)),
            labels=[label_text(label) for label in found.rules.target.classes],
            dots=calibration_dots(told) if "calibration" in told else [],
            curve=decision_curve(told) if curve else None,
            side=SIDE,
            percent=says.percent,
            number=says.number,
            text=label_text,
            by_group=says.by_group(found.groups),
        )
    )


def _event(found: Validation) -> object:
    return found.rules.target.classes[found.performance["event"]]
