"""The options of the decision sheet."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mbndt.emitters.protocol.words import languages
from mbndt.options import Options, option
from mbndt.rules import Rules


@dataclass(frozen=True)
class ProtocolOptions(Options):
    """The form of the sheet, and what people state on it."""

    format: str = option(
        "html",
        "form of the sheet; HTML is one page with a form, without network access",
        choices=("html", "pdf", "md", "txt"),
    )
    sheet: str | Path | Mapping[str, Any] | None = option(
        None,
        "TOML or JSON file of what you state about the rules; `mbndt sheet-template` writes one to"
        " fill in",
        otherwise="nothing is stated, and the sheet says so",
    )
    language: str | None = option(
        None,
        "language of the sheet's own words; German, French and Spanish have a decimal comma",
        choices=languages(),
        otherwise="the one that `sheet` states, or else English",
    )
    paper: str = option("a4", "paper size of the PDF", choices=("a4", "letter"))
    previous: str | Path | Rules | None = option(
        None,
        "model file or rules JSON that the sheet takes the place of; it then says what has changed",
        otherwise="it says nothing of it",
    )
    date: str | None = option(
        None,
        "day from which a review date in the past shows, such as 2026-11-30",
        otherwise="the sheet's own date counts",
    )
