"""Whether a sheet on file is that of some rules and statements, and in what it differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mbndt.emitters.protocol.emit import Protocol
from mbndt.emitters.protocol.identity import Identity
from mbndt.emitters.protocol.paper import language_of, read_sheet, read_tables
from mbndt.emitters.protocol.statements import Statements
from mbndt.emitters.protocol.words import ENGLISH, languages, say, speaking
from mbndt.errors import OptionError
from mbndt.rules import Rules


def differences(sheet: Path, rules: Rules, statements: Path | None) -> list[str]:
    """Return a line for each thing in which a sheet differs from what rules and statements say.

    Its fingerprints tell; of HTML and Markdown the printed steps and actions are compared too, as
    somebody may have changed them. Raises `OptionError` for what can't be read, or is no sheet.
    """
    try:
        content = sheet.read_bytes()
    except OSError as error:
        raise OptionError(f"sheet: {sheet}: {error.strerror}") from None
    stated = Statements() if statements is None else Statements.read(statements, rules)
    here = Identity.read(content, f"sheet: {sheet}")
    # Where no language is stated, the sheet may be in any.
    codes = [stated.language] if stated.language else [ENGLISH, *languages()]
    known = [(code, Identity.of(rules, replace(stated, language=code))) for code in codes]
    language, own = next((pair for pair in known if pair[1] == here), known[0])
    found = [
        f"{part}: the sheet has {getattr(here, part)[:12]}, these are {getattr(own, part)[:12]}"
        for part in here.differences(own)
    ]
    kind = sheet.suffix.lower().removeprefix(".")
    if not found and kind in ("html", "md"):
        tool = Protocol(format=kind, sheet=statements and str(statements), language=language)
        text = tool.emit(rules).text
        found += _changed(content.decode(errors="replace"), text, html=kind == "html")
    return found


def _changed(text: str, expected: str, *, html: bool) -> list[str]:
    """Return which printed parts are other than expected, though the fingerprints are the same."""
    try:
        found = _parts(text, html=html)
    except (ValueError, KeyError, IndexError) as error:
        return [f"steps: they can't be followed: {error}"]
    wanted = _parts(expected, html=html)
    return [f"{name}: changed by hand" for name in wanted if found[name] != wanted[name]]


def _parts(text: str, *, html: bool) -> Mapping[str, object]:
    with speaking(language_of(text, html=html)):
        tables = read_tables(text, html=html)
        answers = [rows for heading, rows in tables if heading == say("answers")]
    return {"steps": read_sheet(text, html=html), "actions": answers}
