"""Plain values from a JSON or TOML file that an option names."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from mbndt.errors import OptionError


def read_plain(path: Path, option: str) -> object:
    """Return what a JSON or (by its suffix) TOML file holds; raises `OptionError` that names it."""
    try:
        text = path.read_text("utf-8")
        found: object = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except OSError as error:
        raise OptionError(f"--{option}: {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--{option}: {path}: {error}") from None
    return found
