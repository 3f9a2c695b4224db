"""The font that the sheet brings, so that it looks alike wherever it is read and printed.

It is Arimo, of the widths of Arial and Liberation Sans, out of the wheel `fontpkg-arimo`.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from mbndt.emitters.protocol.words import say

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

FAMILY = "mbndt Sans"
# Those after the first have its widths, but for the last two.
FAMILIES = f"{FAMILY}, Liberation Sans, Arimo, Arial, Helvetica, DejaVu Sans, sans-serif"
INSTALL = "pip install 'mbndt[pdf]'"
MOST = 4  # characters that a message names
NEEDED = ("fontpkg_arimo", "fontTools", "brotli")
UPRIGHT, ITALIC = "Arimo[wght].ttf", "Arimo-Italic[wght].ttf"
# What a reader may type.
ALWAYS = frozenset(map(chr, range(0x20, 0x7F)))
COPYRIGHT, LICENCE, LICENCE_URL = 0, 13, 14


def brought() -> bool:
    """Tell whether the font and what cuts it are installed here."""
    return all(importlib.util.find_spec(name) for name in NEEDED)


def faces(text: str) -> str:
    """Return the style sheet that brings the font, of which it holds what a text needs."""
    letters = (frozenset(text) | ALWAYS) & _held()
    return "\n".join(
        f"@font-face {{ font-family: {FAMILY}; font-weight: {weight}; font-style: {style};"
        f" src: url(data:font/woff2;base64,{_cut(file, weight, some)}) }}"
        for file, weight, style, some in (
            (UPRIGHT, 400, "normal", letters),
            (UPRIGHT, 700, "normal", letters),
            (ITALIC, 400, "italic", frozenset(say("not_stated"))),  # all in italics
        )
    )


def lacking(text: str) -> list[str]:
    """Return the characters that the font has no sign for, in order, each once."""
    return [c for c in dict.fromkeys(text) if c not in _held() and _printed(c)]


def notes(text: str) -> Iterator[str]:
    """Yield what the font leaves to the fonts of whoever reads a page with a text."""
    if not brought():
        yield (f"the page is set in each reader's own fonts; {INSTALL} brings one that it carries")
    elif found := lacking(text):
        yield (
            f"the page's own font has no {listed(found)}: whoever reads it needs a font that does"
        )


def listed(characters: Iterable[str]) -> str:
    """Return characters in words, the first few of many.

    >>> print(listed("é漢"))
    é (U+00E9), 漢 (U+6F22)
    """
    known = [f"{c} (U+{ord(c):04X})" for c in characters]
    more = f" and {len(known) - MOST} more" if len(known) > MOST else ""
    return ", ".join(known[:MOST]) + more


def _printed(character: str) -> bool:
    """Tell whether print shows a character: no control, no blank, nothing that only joins."""
    return unicodedata.category(character)[0] not in "CZ"


def _font(file: str) -> TTFont:
    from fontTools.ttLib import TTFont

    # No clock: the font's own date stays.
    data = (resources.files("fontpkg_arimo") / "files" / file).read_bytes()
    return TTFont(io.BytesIO(data), recalcTimestamp=False)


@cache
def _held() -> frozenset[str]:
    return frozenset(map(chr, _font(UPRIGHT).getBestCmap()))


@cache
def _cut(file: str, weight: int, letters: frozenset[str]) -> str:
    """Return some letters of a font in one weight, as WOFF2 in base64.

    Without tables that look at neighbours: to read those takes longer than all else together, and
    a PDF says each letter as it was written.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.varLib.instancer import instantiateVariableFont

    named = [COPYRIGHT, LICENCE, LICENCE_URL]
    subsetter = Subsetter(Options(hinting=False, notdef_outline=True, name_IDs=named))
    subsetter.populate(text="".join(sorted(letters)))
    font = _font(file)
    for table in ("GDEF", "GPOS", "GSUB", "HVAR", "STAT"):
        del font[table]
    subsetter.subset(font)
    instantiateVariableFont(font, {"wght": weight}, static=True, inplace=True)
    font.flavor = "woff2"
    font.save(found := io.BytesIO())
    return base64.b64encode(found.getvalue()).decode()
