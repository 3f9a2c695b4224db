"""Every error that a user can cause.

    MbndtError
    ├── RulesError        ValueError    rules that break the contract of the format
    ├── CheckpointError   ValueError    a model file that can't be read
    ├── DataError         ValueError    a table, column or value that can't be used
    ├── OptionError       ValueError    a wrong option, target, or combination of them
    ├── TargetError       ValueError    rules that a target can't hold
    ├── OutputError       OSError       a file that can't be written
    ├── EngineMissing     RuntimeError  an engine that isn't installed here
    └── EngineFailed      RuntimeError  an engine that refuses an artefact, or breaks off

and of what they are told while things go on:

    DataWarning           UserWarning   a table that was read, but may not be what was meant

A message is one line: what came, what was expected, where, and the nearest valid choice. It names
parameters of the library, in backquotes where one is offered as a way out (`exclude`) and before a
colon where one is wrong (depth: got 9, expected 1 to 4); the command line makes options of them.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable


class MbndtError(Exception):
    """Root of all errors of this package."""


class RulesError(MbndtError, ValueError):
    """Rules that break the contract; the message starts with the node's path or the key."""


class CheckpointError(MbndtError, ValueError):
    """A model file that is missing, damaged, foreign or too large."""


class DataError(MbndtError, ValueError):
    """A table, column or value that can't be used; the message names the column and the row."""


class OptionError(MbndtError, ValueError):
    """A wrong option or target; the message names the nearest valid choice."""


class TargetError(MbndtError, ValueError):
    """Rules that the chosen target can't hold exactly."""


class OutputError(MbndtError, OSError):
    """A file that can't be written."""


class EngineMissing(MbndtError, RuntimeError):
    """An engine that a target needs to run and that isn't installed here."""


class EngineFailed(MbndtError, RuntimeError):
    """An engine that refuses an artefact, or breaks off."""


class DataWarning(UserWarning):
    """A table that can be used, but may not be what was meant; the message names the column."""


def warn(message: str) -> None:
    """Tell the caller of the library, and on the command line the user, what may be wrong."""
    # No level of the stack is the user's own in all ways here, so the message names the place.
    warnings.warn(message, DataWarning, stacklevel=2)


def shown(value: object, limit: int = 60) -> str:
    """Return a value as it stands in a message: quoted, on one line, never longer than `limit`.

    >>> shown(" b")
    "' b'"
    """
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= limit else text[: limit - 3] + "..."


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the choice nearest to `word`, or the list of choices.

    >>> nearest("pyton", ["python", "sql"])
    "; did you mean 'python'?"
    """
    known = sorted(choices)
    close = [choice for choice in known if choice.casefold() == word.casefold()]
    close = close or difflib.get_close_matches(word[:60], known, n=1)
    if close:
        return f"; did you mean {shown(close[0])}?"
    listed = ", ".join(shown(choice) for choice in known[:12])
    more = f", and {len(known) - 12} more" if len(known) > 12 else ""
    return f"; expected one of {listed}{more}" if known else ""
