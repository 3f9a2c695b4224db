"""The sheet as a PDF, by WeasyPrint: tagged, the same bytes each time, and with every sign."""

from __future__ import annotations

import hashlib
import html
import logging
import os
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mbndt.emitters.protocol import font
from mbndt.errors import EngineFailed, EngineMissing, OptionError, shown

# Packages of Debian that have the signs of a script, by the first word of their Unicode names.
CHINESE = ("CJK", "HANGUL", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")
PACKAGES = dict.fromkeys(CHINESE, "fonts-noto-cjk")
EMOJI = "fonts-noto-color-emoji"
OTHERS = "fonts-noto-core"


def pdf(page: str) -> bytes:
    """Return a page of HTML as a PDF.

    Raises `EngineMissing` without WeasyPrint or the sheet's font, and `OptionError` for a character
    that no font has.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # that it finds no font, or can't cut any
            from weasyprint import HTML, URLFetcher
    except (ImportError, OSError) as error:  # the latter where its libraries are missing
        raise _missing("WeasyPrint", type(error).__name__) from None
    if not font.brought():
        raise _missing("its font", "fontpkg-arimo")
    data = URLFetcher(allowed_protocols=("data",))  # nothing but the font inside the page
    with _no_clock(), _listening() as heard:
        document = HTML(string=page, url_fetcher=data).render(pdf_tags=True, pdf_variant="pdf/ua-1")
        # No clock and no chance: the identifier comes from the content. The page's own font is cut
        # already, so that it doesn't matter here what could cut it.
        found: bytes = document.write_pdf(
            pdf_tags=True,
            pdf_identifier=hashlib.sha256(page.encode()).digest()[:16],
            pdf_variant="pdf/ua-1",
            full_fonts=not font.lacking(page),
            finisher=_bare_metadata,
        )
    if failed := [said for said in heard if said.startswith("Font-face")]:
        raise EngineFailed(f"WeasyPrint: {failed[0]}")
    if lost := _boxes(heard):
        raise OptionError(_refusal(page, [c for c in dict.fromkeys(page) if c in lost]))
    return found


def _bare_metadata(_: object, document: Any) -> None:
    """Leave the metadata as they are, so that the fingerprint in them is found without a reader."""
    for part in document.objects:
        if getattr(part, "extra", {}).get("Type") == "/Metadata":
            part.compress = False


def _missing(what: str, why: str) -> EngineMissing:
    return EngineMissing(f"`format` pdf needs {what}: {font.INSTALL} ({why})")


@contextmanager
def _no_clock() -> Iterator[None]:
    """Keep fontTools from writing the time into a font that it cuts."""
    key = "SOURCE_DATE_EPOCH"
    before = os.environ.get(key)
    os.environ[key] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[key]
        else:
            os.environ[key] = before


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is said, such as each character for which a box is drawn."""
        self.heard.append(record.getMessage())


@contextmanager
def _listening() -> Iterator[list[str]]:
    """Give the list that fills with what WeasyPrint logs, in place of printing it."""
    logger, listener = logging.getLogger("weasyprint"), _Listener()
    level, propagate, disabled = logger.level, logger.propagate, logger.disabled
    logger.addHandler(listener)
    logger.setLevel(logging.WARNING)
    logger.propagate = logger.disabled = False
    try:
        yield listener.heard
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
        logger.propagate, logger.disabled = propagate, disabled


def _boxes(heard: Iterable[str]) -> set[str]:
    """Return the characters in whose place boxes are drawn, as no font has them."""
    said = "\n".join(line for line in heard if ".notdef" in line)
    return {chr(int(code, 16)) for code in re.findall(r"U\+([0-9A-F]{4,6})", said)}


def _refusal(page: str, lost: list[str]) -> str:
    place = re.search(rf">([^<>]*{re.escape(html.escape(lost[0]))}[^<>]*)<", page)
    where = f" (as in {shown(html.unescape(place[1]))})" if place else ""
    packages = " ".join(sorted({*map(_package, lost)}))
    return (
        f"`format` pdf: no font here has {font.listed(lost)}{where}; install one that does"
        f" (Debian: {packages}), or write `format` html"
    )


def _package(character: str) -> str:
    if unicodedata.category(character) == "So":
        return EMOJI
    return PACKAGES.get(unicodedata.name(character, "").partition(" ")[0], OTHERS)
