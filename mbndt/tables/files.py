"""Tables from files and pipes, whatever their kind: told by their first bytes, never by their name.

A source is opened once and read once from its start to its end, so that a pipe loses nothing.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from mbndt.errors import DataError, OptionError, shown, warn
from mbndt.tables.containers import foreign
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.csv_format import CsvFormat
from mbndt.tables.table import Table

HEAD = 4096  # bytes that tell what a file is
STDIN = "-"


def read_table(
    path: str | Path,
    query: str | None = None,
    form: CsvFormat | None = None,
    marks: tuple[str, ...] = (),
) -> Table:
    """Read CSV (also .gz), Parquet, or with `query` a DuckDB or SQLite file; `-` is stdin.

    `marks` are more texts that mean a missing value, if it is a CSV.

    Raises `DataError` that names the file, and the row or column where one is at fault;
    `OptionError` for options of a CSV where there is none.
    """
    path = Path(path)
    source = "stdin" if str(path) == STDIN else str(path)
    form = form or CsvFormat()
    try:
        with _opened(path) as file:
            head = file.read(HEAD)
            base = _base(head)
            if base is None and query is not None:
                raise DataError(f"{source}: `query` is for DuckDB and SQLite files")
            if base is None:
                return _read_csv(head + file.read(), source, form, marks)
            _check_options(base, query, form, source)
            if source != "stdin" and path.is_file():
                return _read_base(base, path, query)
            return _spooled(base, head, file, query, source)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{source}: {getattr(error, 'strerror', None) or error}") from None


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    if str(path) != STDIN:
        return path.open("rb")
    if sys.stdin is None:
        raise DataError("stdin: closed")
    return nullcontext(sys.stdin.buffer)


def _base(head: bytes) -> str | None:
    """Return what kind of file DuckDB or SQLite read, by its first bytes."""
    if head.startswith(b"SQLite format 3\0"):
        return "SQLite"
    if head[8:12] == b"DUCK":
        return "DuckDB"
    return "Parquet" if head.startswith(b"PAR1") else None


def database_of(path: Path) -> str | None:
    """Return what kind of file that DuckDB or SQLite reads a file is; None for any other."""
    try:
        with path.open("rb") as file:
            return _base(file.read(HEAD))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None


def _check_options(base: str, query: str | None, form: CsvFormat, source: str) -> None:
    if base == "Parquet" and query is not None:
        raise DataError(f"{source}: `query` is for DuckDB and SQLite files")
    if base != "Parquet" and query is None:
        raise DataError(f"{source}: a database; `query` SELECT… says what to read")
    for name, value in vars(form).items():
        if value:
            raise OptionError(
                f"{name}: is for CSV, and {source} is {base}; what is missing is NULL there"
            )


def _read_base(base: str, path: Path, query: str | None) -> Table:
    from mbndt.tables.databases import read_duckdb, read_parquet, read_sqlite

    if query is None:
        return read_parquet(path)
    return (read_duckdb if base == "DuckDB" else read_sqlite)(path, query)


def _spooled(base: str, head: bytes, file: BinaryIO, query: str | None, source: str) -> Table:
    """Read what comes from a pipe and needs a file, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mbndt-") as folder:
        path = Path(folder, "data")
        with path.open("wb") as copy:
            copy.write(head)
            shutil.copyfileobj(file, copy)
        try:
            return replace(_read_base(base, path, query), source=source)
        except DataError as error:
            raise DataError(str(error).replace(str(path), source)) from None


def _read_csv(data: bytes, source: str, form: CsvFormat, marks: tuple[str, ...]) -> Table:
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
        if base := _base(data):
            raise DataError(f"{source}: {base}, compressed by gzip; unpack it first")
    if form.encoding is None and (found := foreign(data[:HEAD], source)):
        raise DataError(f"{source}: {found}")
    text = form.decode(data, source)
    for mark in form.missing:
        # A number is found however it is written: -9 in -9.0, and the other way round.
        if mark.strip().removesuffix(".0").removesuffix(",0") not in text:
            warn(f"{source}: `missing` {shown(mark)} is in no cell")
    return parse_csv(text, source, replace(form, missing=(*form.missing, *marks)))
