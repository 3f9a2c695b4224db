"""Tables from files, whatever their kind: told by their first bytes, never by their name."""

from __future__ import annotations

from pathlib import Path

from mbndt.errors import DataError
from mbndt.table import Table


def read_table(path: Path, query: str | None = None) -> Table:
    """Read CSV (also .gz), Parquet, or with `query` a DuckDB or SQLite file.

    Raises `DataError` that names the file, and the row or column where one is at fault.
    """
    from mbndt.csv_files import read_csv
    from mbndt.databases import read_duckdb, read_parquet, read_sqlite

    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from None
    if head.startswith(b"SQLite format 3\0") or head[8:12] == b"DUCK":
        if query is None:
            raise DataError(f"{path}: a database; --query SELECT… says what to read")
        return (read_duckdb if head[8:12] == b"DUCK" else read_sqlite)(path, query)
    if query is not None:
        raise DataError(f"{path}: --query is for DuckDB and SQLite files")
    if head.startswith(b"PAR1"):
        return read_parquet(path)
    return read_csv(path, head.startswith(b"\x1f\x8b"))
