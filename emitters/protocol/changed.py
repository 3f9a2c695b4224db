"""What has changed since another sheet: answers, risks, inputs, and what people state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from mbndt.emitters.protocol.grammar import value_text
from mbndt.emitters.protocol.labels import Labels
from mbndt.emitters.protocol.results import condition
from mbndt.emitters.protocol.statements import Statements
from mbndt.emitters.protocol.text import brief, plain
from mbndt.emitters.protocol.words import say
from mbndt.errors import shown
from mbndt.measures.changes import Change, Changes
from mbndt.rules import Label, Rules

MOST = 8  # answers that change; the sheet says how many more do


def since(old: Rules, new: Rules, titles: Mapping[str, str], labels: Labels) -> dict[str, Any]:
    """Return what the sheet says of the answers that old rules gave otherwise.

    Both with the stops of the new sheet. Raises `OptionError` where the two know an input by
    different types.
    """
    found = Changes.between(old, new)

    def answer(label: Label | float | None) -> str:
        if label is None:
            return say("drawn_stop")
        return labels.answer(value_text(label)) if new.target.classes else brief(float(label))

    def where(change: Change) -> str:
        said = []
        for name, mask in found.conditions(change).items():
            feature = found.feature(name)
            words = condition(new, feature, found.space, mask)
            title = titles.get(name, plain(feature.label or name))
            said.append(say("reason", title=title, condition=words))
        return "; ".join(said) or say("reason_every")

    parts = found.answers
    return {
        "mark": old.fingerprint[:12],
        "header": [say("changed_where"), say("changed_before"), say("changed_now")],
        "rows": [[where(part), *map(answer, part.labels)] for part in parts[:MOST]],
        "more": max(0, len(parts) - MOST),
    }


def words(old: Statements, new: Statements) -> Iterator[str]:
    """Yield what people state otherwise than before, a line each: `outcomes: home: action: …`."""
    before, after = _flat(dataclasses.asdict(old)), _flat(dataclasses.asdict(new))
    for key in dict.fromkeys([*before, *after]):
        one, other = before.get(key, ""), after.get(key, "")
        if one != other:
            yield f"{key}: {_said(one)} becomes {_said(other)}"


def _flat(value: object, key: str = "") -> dict[str, object]:
    """Return what is stated by the path of its key; nothing of what is not."""
    if isinstance(value, Mapping):
        found: dict[str, object] = {}
        for name, part in value.items():
            found |= _flat(part, f"{key}: {name}" if key else str(name))
        return found
    return {} if value in ("", None, (), False) else {key: value}


def _said(value: object) -> str:
    """Return a statement as people wrote it."""
    if value == "":
        return "nothing"
    if isinstance(value, tuple):
        return ", ".join(map(_said, value))
    if isinstance(value, Mapping):
        return " ".join(map(str, value.values()))
    return shown(value) if isinstance(value, str) else str(value)
