"""Texts and numbers as a decision sheet prints them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from mbndt.emitters.protocol.grammar import number_text, quoted
from mbndt.emitters.protocol.words import decimal, language, messages, say

if TYPE_CHECKING:
    from markupsafe import Markup

NOT_APPLICABLE = "-"

# What can be misread: characters that aren't plain, lone numbers, and the sheet's own words.
_PLAIN = re.compile(r"(?=.*[^\W\d]|.*[%°])[\w %°·/.,()+^'-]+")
_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~$#@]|:(?=\S)|(?<=www)\.", re.I)


def plain(text: str) -> str:
    """Return a text as it is, in quotes where it could be misread; `NOT STATED` for none."""
    if not text:
        return not_stated()
    harmless = _PLAIN.fullmatch(text) and not _own_words(language()).search(text)
    return text if harmless and quoted(text)[1:-1] == text else quoted(text)


@cache
def _own_words(language: str) -> re.Pattern[str]:
    own = re.split(", ?", messages(language)["own_words"])
    return re.compile(rf"\b({'|'.join(own)})\b", re.I)


def not_stated() -> str:
    """Return what stands in place of what nobody stated."""
    return say("not_stated")


def said(text: str) -> str:
    """Return a text that people wrote for the sheet as it is; `NOT STATED` for none.

    It fills a cell of its own, which the paper reader never reads.
    """
    if not text:
        return not_stated()
    return text if quoted(text)[1:-1] == text and text != not_stated() else quoted(text)


def markdown(value: object) -> Markup:
    """Return what a template inserts as Markdown: what is no markup yet loses its special signs."""
    from markupsafe import Markup

    return value if isinstance(value, Markup) else Markup(_SPECIAL.sub(r"\\\g<0>", str(value)))


def percent(p: float, digits: int = 1) -> str:
    """Return a share in percent; no rounding turns little into none, or nearly all into all."""
    least = 0.1**digits
    if 0.0 < p < least / 100:
        return say("below_percent", share=decimal(f"{least:.{digits}f} %"))
    if 1 - least / 100 < p < 1.0:
        return say("above_percent", share=decimal(f"{100 - least:.{digits}f} %"))
    return decimal(f"{100.0 * p:.{digits}f}".removesuffix(".0") + " %")


def brief(x: float) -> str:
    """Return a number with four digits at most, as people read it."""
    return number_text(float(f"{x:.4g}"))


def counted(n: int, many: str, one: str) -> str:
    """Return a number of things in words, by the keys of the messages for many and one."""
    return say(one if n == 1 else many, n=n)


# Plain text of 80 columns

COLUMNS = 80


def filled(text: object, indent: int = 0, first: str = "") -> str:
    """Return a text in lines of at most 80 terminal columns; `first` stands before its first."""
    # A character may take two columns, or none.
    from rich.cells import cell_len, chop_cells

    room = COLUMNS - max(indent, len(first))
    lines: list[str] = []
    for word in str(text).split():
        for part in [word] if cell_len(word) <= room else chop_cells(word, room):
            if lines and cell_len(f"{lines[-1]} {part}") <= room:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    return (first or " " * indent) + ("\n" + " " * indent).join(lines)


def underlined(text: object, sign: str) -> str:
    """Return a heading with a line of signs below it."""
    from rich.cells import cell_len

    lines = filled(text).split("\n")
    return "\n".join([*lines, sign * max(map(cell_len, lines))])
