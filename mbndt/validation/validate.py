"""Validation: rules on rows that they were not learned from, and the record of it in the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date as day
from functools import cached_property
from typing import Any, Literal

from mbndt._version import __version__
from mbndt.errors import OptionError, nearest, shown, warn
from mbndt.rules import Rules
from mbndt.rules.standing import LEAST_ROWS, enough, validation_status
from mbndt.tables.table import Table
from mbndt.validation.answers import answered
from mbndt.validation.groups import groups
from mbndt.validation.inputs import inputs, leaves
from mbndt.validation.seen import refuse_seen

Kind = Literal["internal", "external"]


@dataclass(frozen=True)
class Validation:
    """How rules did on rows that they were not learned from.

    `kind` is `external` where `on` names the data, else `internal`. `performance` has the figures
    of all rows, `groups` those of groups of them; `inputs` and `leaves` say what has moved since
    the training, and `remarks` what to mind. All are plain values, and intervals are of 95 %.
    """

    rules: Rules
    kind: Kind
    on: str | None
    date: str
    data: dict[str, Any]
    performance: dict[str, Any]
    inputs: list[dict[str, Any]]
    leaves: dict[str, Any]
    groups: list[dict[str, Any]]
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all that was found as plain values, with the fingerprint of the rules."""
        target = self.rules.target
        return {
            "mbndt": __version__,
            "rules": self.rules.fingerprint,
            "name": self.rules.name,
            "target": target.name,
            "classes": [*target.classes],
            "status": self.status,
            **{name: value for name, value in vars(self).items() if name in _PLAIN},
            "remarks": [*self.remarks],
        }

    def block(self) -> dict[str, Any]:
        """Return the record for the rules' provenance."""
        return {
            "rules": self.rules.fingerprint,
            "kind": self.kind,
            "on": self.on,
            "date": self.date,
            "data": self.data,
            "performance": self.performance,
        }

    @cached_property
    def validated(self) -> Rules:
        """Return the rules with the record of this validation after those that they had."""
        before = self.rules.provenance.get("validation")
        listed = [*(before if isinstance(before, list) else []), self.block()]
        return replace(self.rules, provenance={**self.rules.provenance, "validation": listed})

    @property
    def status(self) -> str:
        """Return what the rules may be called with this validation."""
        return validation_status(self.validated)

    def to_html(self) -> str:
        """Return the report as one page that fetches nothing and runs no script."""
        from mbndt.validation.report import page

        return page(self)


_PLAIN = ("kind", "on", "date", "data", "performance", "inputs", "leaves", "groups")


def validate(
    rules: Rules,
    table: Table,
    target: str | None = None,
    *,
    by: Sequence[str] = (),
    on: str | None = None,
    date: str | None = None,
    sha256: str | None = None,
) -> Validation:
    """Compare the answers of rules with the truth in column `target` of other rows.

    Raises `DataError` for the very rows that the rules were learned from, and for a table that
    doesn't fit; `OptionError` for columns that it lacks.
    """
    target = rules.target.name if target is None else target
    for option, names in (("target", [target]), ("by", by)):
        for name in names:
            if name not in table:
                said = f"{table.source} has no column {shown(name)}"
                raise OptionError(f"{option}: {said}{nearest(name, table.columns)}")
    on, date = _named(on), _dated(date)
    found = answered(rules, table, target)
    known = refuse_seen(found)
    performance = found.performance()
    data = {
        "source": table.source,
        "rows": found.table.n_rows,
        "without_target": found.untold,
        "sha256": sha256,
        "digest": found.digest,
    }
    told = groups(found, by)
    seen = inputs(found)
    remarks = [*known, *_remarks(rules, performance, seen)]
    for remark in remarks:
        warn(remark)
    kind: Kind = "internal" if on is None else "external"
    return Validation(
        rules, kind, on, date, data, performance, seen, leaves(found), told, tuple(remarks)
    )


def _named(on: str | None) -> str | None:
    if on is None:
        return None
    if not on.split():
        raise OptionError("on: got nothing, expected a name of the data, as 'Hospital B, 2025'")
    return " ".join(on.split())


def _dated(date: str | None) -> str:
    if date is None:
        return day.today().isoformat()
    try:
        return day.fromisoformat(date).isoformat()
    except ValueError:
        raise OptionError(f"date: got {shown(date)}, expected YYYY-MM-DD") from None


def _remarks(
    rules: Rules, performance: dict[str, Any], seen: Sequence[dict[str, Any]]
) -> list[str]:
    found = []
    if not enough(rules, performance):
        found.append(
            f"{performance['rows']} answered rows, of too few classes or fewer than {LEAST_ROWS},"
            " lift no stamp: the rules stay what they were"
        )
    if rules.target.classes and "risk" not in rules.outputs:
        found.append(
            "the rules know scores and no risks, so calibration and net benefit can't be told;"
            " rules learned anew know their risks"
        )
    for entry in seen:
        name = shown(entry["name"])
        if entry.get("outside") and entry["outside"][0] > 0:
            low, high = entry["training_range"]
            share = f"{entry['outside'][0]:.1%}"
            found.append(f"{name}: {share} of values are outside of {low:g} to {high:g}")
        if entry.get("unlisted") and entry["unlisted"][0] > 0:
            found.append(f"{name}: {entry['unlisted'][0]:.1%} of values are unknown to the rules")
        if entry["drift"] == "much":
            found.append(f"{name}: its values have moved far (PSI {entry['psi']:.2f})")
    return found
