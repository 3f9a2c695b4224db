"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mbndt.errors import OutputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a draft beside `path` to write to, which takes its place when the block ends well.

    Raises `OutputError` that names `path` where it can't be written; nothing is left then.
    """
    draft = None
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        os.close(handle)
        draft = Path(name)
        yield draft
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~umask)
        draft.replace(path)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{path}: can't be written: {error.strerror or error}") from None
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes to a file, whole or not at all; raises `OutputError`."""
    with whole_file(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def check_writable(path: Path) -> None:
    """Raise `OutputError` now for a file that could not be written after a long run."""
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(f"{path}: can't be written: {error.strerror or error}") from None
