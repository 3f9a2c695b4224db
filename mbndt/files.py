"""Files: plain values read from JSON or TOML, and anything written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mbndt.errors import OptionError, OutputError


def read_plain(path: Path, option: str) -> object:
    """Return what a JSON or (by its suffix) TOML file holds; raises `OptionError` that names it."""
    try:
        text = path.read_text("utf-8")
        found: object = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except OSError as error:
        raise OptionError(f"{option}: {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{option}: {path}: {error}") from None
    return found


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file's bytes, in hex; None for a pipe, which is read once."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes to a file, whole or not at all.

    Raises `OutputError` that names `path` where it can't be written; nothing is left then. A link
    stays a link, and a device or a pipe is written to, not replaced.
    """
    data = content.encode() if isinstance(content, str) else content
    with _naming(path):
        target = _target(path)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data)


def check_writable(path: Path) -> None:
    """Raise `OutputError` now for a file that could not be written after a long run."""
    with _naming(path):
        target = _target(path)
        if target.is_file() or not target.exists():
            tempfile.TemporaryFile(dir=target.parent).close()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        said = getattr(error, "strerror", None) or error
        raise OutputError(f"{path}: can't be written: {said}") from None


def _target(path: Path) -> Path:
    target = path.resolve()
    if target.is_dir():
        raise IsADirectoryError(None, "is a folder")
    return target


def _replace(path: Path, data: bytes) -> None:
    """Write a draft beside a file, and let it take the file's place once it is complete."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
