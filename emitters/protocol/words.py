"""The words of the sheet: all that it says itself, from one file of messages a language.

One language is spoken at a time, English where nothing else is: `with speaking("de"): say("then")`.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

ENGLISH = "en"
FOLDER = Path(__file__).parent.parent.parent / "templates" / "protocol" / "words"
# French has a blank before these signs, at which no line may end.
_SPACED = re.compile(r" (?=[:;?!»])|(?<=«) ")
_BLANK = "\u00a0"

_spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)


def languages() -> list[str]:
    """Return the languages that there are words of, by their codes (ISO 639)."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


@cache
def messages(language: str) -> Mapping[str, str]:
    """Return the messages of a language by their keys."""
    found = tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return {key: _SPACED.sub(_BLANK, text) for key, text in found.items()}


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Speak a language, until the block ends."""
    token = _spoken.set(language)
    try:
        yield
    finally:
        _spoken.reset(token)


def language() -> str:
    """Return the language that is spoken."""
    return _spoken.get()


def say(key: str, /, **fields: object) -> str:
    """Return a message in the language spoken, its fields filled in.

    >>> say("to_below", low=2, high=4)
    '2 to below 4'
    """
    return messages(_spoken.get())[key].format(**fields)


def pattern(key: str, /, **fields: str) -> str:
    r"""Return the regular expression of a message, given that of each field.

    >>> pattern("below", high="[0-9]+")
    'below[ \xa0][0-9]+'
    """
    parts = string.Formatter().parse(messages(_spoken.get())[key])
    return "".join(
        re.sub(rf"\\? |{_BLANK}", f"[ {_BLANK}]", re.escape(text)) + (fields[name] if name else "")
        for text, name, _, _ in parts
    )


def decimal(text: str) -> str:
    """Return numbers written with points with the decimal sign of the language spoken."""
    return text.replace(".", say("decimal_sign"))


def pointed(text: str) -> str:
    """Return a number in the language spoken as Python reads it."""
    return text.replace(say("decimal_sign"), ".")
