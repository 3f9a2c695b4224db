"""How a CSV is to be read, where it is said and not told from the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbndt.errors import DataError, OptionError, shown

if TYPE_CHECKING:
    from mbndt.rules import Rules

NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
LARGEST_HINT = 20  # characters of a line that an error shows


@dataclass(frozen=True)
class CsvFormat:
    """How the cells of a CSV are to be read; what is None is told from the text.

    `missing` are texts that mean a missing value in columns of every type. Raises `OptionError`
    for a separator or decimal mark that can be none, and for an unknown encoding.
    """

    separator: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None:
            separator = NAMED.get(self.separator.lower(), self.separator)
            if len(separator) != 1 or separator in '\r\n"' or not separator.isascii():
                raise OptionError(
                    f"separator: got {shown(self.separator)}, expected one character, or tab"
                )
            object.__setattr__(self, "separator", separator)
        if self.decimal not in (None, ".", ","):
            raise OptionError(f"decimal: got {shown(self.decimal)}, expected '.' or ','")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise OptionError(
                    f"encoding: {shown(self.encoding)} is unknown; utf-8, utf-16,"
                    " cp1252 and latin-1 are some"
                ) from None

    def decode(self, data: bytes, source: str) -> str:
        """Return a CSV's text; raises `DataError` that names the first byte that is none."""
        encoding = self.encoding or "utf-8"
        try:
            return data.decode(encoding).removeprefix("\ufeff")
        except UnicodeError as error:
            at = getattr(error, "start", 0)
            raise DataError(
                f"{source}: not {encoding.upper()} text at byte {at},"
                f" line {_line(data, at)}{_hint(data, at, self.encoding)}"
            ) from None


MARKS = "missing marks"


def known_marks(rules: Rules | None) -> tuple[str, ...]:
    """Return the texts that meant a missing value in the CSV that rules were learned from."""
    listed = rules.provenance.get(MARKS) if rules else None
    return tuple(m for m in listed if isinstance(m, str)) if isinstance(listed, list) else ()


def with_marks(rules: Rules, marks: Iterable[str]) -> Rules:
    """Return rules that state these texts besides those they know."""
    known = tuple(dict.fromkeys([*known_marks(rules), *marks]))
    return replace(rules, provenance={**rules.provenance, MARKS: [*known]}) if known else rules


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _hint(data: bytes, at: int, named: str | None) -> str:
    """Return how the line would read in Western Europe's usual encoding; a guess is not made."""
    if named is not None:
        return ""
    start = max(data.rfind(b"\n", 0, at) + 1, at - LARGEST_HINT)
    text = data[start : at + LARGEST_HINT].split(b"\n")[0].decode("cp1252", "replace").strip()
    return f"; if {shown(text)} is what it says there, add `encoding` cp1252"
