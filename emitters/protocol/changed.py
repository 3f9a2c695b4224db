"""What has changed since another sheet: answers, risks, inputs, and what people state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from mbndt.emitters.protocol.statements import Statements
from mbndt.errors import shown


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
