"""What tells one sheet from another: fingerprints of rules and statements, stamp and dates."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from mbndt.emitters.protocol.statements import InputStatement, Statements
from mbndt.emitters.protocol.text import said
from mbndt.emitters.protocol.words import ENGLISH, say
from mbndt.errors import OptionError
from mbndt.rules import Rules, standing
from mbndt.rules.standing import validation_status

QUIET = 4  # modules of white that a reader of QR codes needs on each side
_PRINTED = re.compile(rb"\b(rules|statements)-([0-9a-f]{64})\b")
NO_CODE = "the sheet has no QR code of its fingerprint; pip install 'mbndt[pdf]' brings one"


@dataclass(frozen=True)
class Identity:
    """The SHA-256 of the rules and that of what is stated about them, in hex."""

    rules: str
    statements: str

    @classmethod
    def of(cls, rules: Rules, stated: Statements) -> Identity:
        """Return the identity of a sheet of some rules and statements."""
        # English is spoken where no language is stated, so that it leaves fingerprints alone.
        language = "" if stated.language == ENGLISH else stated.language
        own = dataclasses.replace(stated, language=language, features=_own(rules, stated))
        told = _told(dataclasses.asdict(own))
        text = json.dumps(told, sort_keys=True, separators=(",", ":"), default=str)  # decimals
        return cls(rules.fingerprint, hashlib.sha256(text.encode()).hexdigest())

    @classmethod
    def read(cls, content: bytes, source: str) -> Identity:
        """Return the identity that a sheet of any format carries.

        Raises `OptionError` that starts with `source` for what carries none, or two.
        """
        found = {(kind.decode(), mark.decode()) for kind, mark in _PRINTED.findall(content)}
        if len(found) != 2 or len(dict(found)) != 2:
            what = "no fingerprint" if not found else "more than one fingerprint"
            raise OptionError(f"{source}: {what} of a decision sheet")
        return cls(**dict(found))

    @cached_property
    def sheet(self) -> str:
        """Return the SHA-256 of both, in hex: what the sheet prints the beginning of."""
        return hashlib.sha256(f"{self.rules}{self.statements}".encode()).hexdigest()

    @property
    def mark(self) -> str:
        """Return what the sheet prints, for people to compare."""
        return self.sheet[:12]

    @property
    def keys(self) -> tuple[str, str]:
        """Return the texts that every format carries, and `read` finds."""
        return f"rules-{self.rules}", f"statements-{self.statements}"

    def differences(self, other: Identity) -> list[str]:
        """Return what differs: `rules`, `statements`, both or neither."""
        fields = dataclasses.fields(self)
        return [f.name for f in fields if getattr(self, f.name) != getattr(other, f.name)]


def _own(rules: Rules, stated: Statements) -> dict[str, InputStatement]:
    """Return the statements on inputs but for what the rules say in the same words."""
    found = {}
    for name, entry in stated.features.items():
        known = rules.feature[name]
        same = {
            key: ""
            for key in ("label", "unit", "description")
            if getattr(entry, key) == " ".join(getattr(known, key).split())
        }
        found[name] = dataclasses.replace(entry, **same)  # type: ignore[arg-type]
    return found


def _told(value: object) -> object:
    """Return statements without what nobody stated, so that new keys leave old sheets alone."""
    if not isinstance(value, dict):
        return value
    told = {key: _told(part) for key, part in value.items()}
    nothing: tuple[object, ...] = ("", None, (), [], {})
    return {k: part for k, part in told.items() if part is not False and part not in nothing}


@dataclass(frozen=True)
class Code:
    """A QR code as a path of an SVG, `size` modules wide with the white around it."""

    path: str
    size: int
    text: str


def code_brought() -> bool:
    """Tell whether what draws QR codes is installed here."""
    return importlib.util.find_spec("segno") is not None


def code(identity: Identity) -> Code | None:
    """Return the sheet's fingerprint as a QR code (ISO/IEC 18004), None without `segno`."""
    if not code_brought():
        return None
    import segno

    text = f"MBNDT:{identity.sheet.upper()}"  # capitals and digits take the fewest modules
    rows = list(segno.make(text, error="m", micro=False).matrix)
    return Code("".join(_bars(rows)), len(rows) + 2 * QUIET, text)


def _bars(rows: list[bytearray]) -> Iterator[str]:
    """Yield each run of dark modules as a bar."""
    for y, row in enumerate(rows):
        for run in re.finditer(rb"\x01+", bytes(row)):
            wide = run.end() - run.start()
            yield f"M{run.start() + QUIET} {y + QUIET}h{wide}v1h-{wide}z"


def stamp(rules: Rules) -> str:
    """Return how far the rules are validated; nothing but a validation of these very rules counts.

    `DRAFT - NOT VALIDATED`, `VALIDATED INTERNALLY`, or on what other cases.
    """
    status = validation_status(rules)
    if status in (standing.DRAFT, standing.INTERNAL):
        return say("draft" if status == standing.DRAFT else "validated_internally")
    return said(say("validated_on", on=status.removeprefix(f"{standing.EXTERNAL} ")))


def dates(stated: Statements, today: str | None) -> list[list[str]]:
    """Return the dates of a sheet; a review that is due by `today` (or its own date) says so."""
    review = said(stated.review_date)
    day, now = read_day(stated.review_date), read_day(today or stated.date)
    if day and now and day < now:
        review = say("overdue", review=review, day=now.isoformat())
    return [[say("date"), said(stated.date)], [say("next_review"), review]]


def read_day(text: str) -> date | None:
    """Return the day that a text names, None for another text."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def identity(rules: Rules, stated: Statements, today: str | None) -> list[list[str]]:
    """Return the pairs that say which sheet this is, who answers for it, and how old it is."""
    return [
        [say("version"), said(stated.version)],
        *dates(stated, today),
        [say("author"), said(stated.author)],
        [say("contact"), said(stated.contact)],
        *([[say("supersedes"), said(stated.supersedes)]] if stated.supersedes else []),
    ]
