"""What only some commands need, and what to install where it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mbndt.errors import OptionError

WAYS = {
    "torch": "pip install 'mbndt[learn]'",
    "sklearn": "pip install 'mbndt[learn]', or 'mbndt[refine]' for all but networks",
    "scipy": "pip install 'mbndt[learn]', or 'mbndt[refine]' for all but networks",
    "optuna": "pip install 'mbndt[tune]'",
    "psycopg": "pip install 'psycopg[binary]'",
}


def lacking(error: ModuleNotFoundError) -> str | None:
    """Return what to install for a module that isn't there; None for one that no extra brings."""
    name = (error.name or "").split(".")[0]
    return f"{name} isn't installed: {WAYS[name]}" if name in WAYS else None


@contextmanager
def needed(way_out: str = "") -> Iterator[None]:
    """Turn the lack of an extra's module into an `OptionError` that tells what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (message := lacking(error)) is None:
            raise
        raise OptionError(message + way_out) from None
