"""Tables from files that DuckDB and SQLite read: databases by a query, and Parquet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mbndt.errors import DataError, shown
from mbndt.table import Table, as_array, check_names


def read_sqlite(path: Path, query: str) -> Table:
    """Return what a query reads from a SQLite file; raises `DataError` that names the file."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            cursor = database.execute(query)
            names = [entry[0] for entry in cursor.description or []]
            rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise DataError(f"{path}: {error}") from None
    check_names(names, str(path))
    columns = {name: as_array([row[i] for row in rows]) for i, name in enumerate(names)}
    return Table(columns, len(rows), source=str(path))


def _no_glob(path: Path) -> str:
    """Return a path in which DuckDB sees no pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def read_duckdb(path: Path, query: str) -> Table:
    """Return what a query reads from a DuckDB file; raises `DataError` that names the file."""
    return _run(path, str(path), query, [])


def read_parquet(path: Path) -> Table:
    """Read a Parquet file; raises `DataError` that names the file."""
    return _run(path, ":memory:", "SELECT * FROM read_parquet(?)", [_no_glob(path)])


def _run(path: Path, database: str, query: str, parameters: list[str]) -> Table:
    import duckdb

    try:
        with duckdb.connect(database, read_only=database != ":memory:") as connection:
            cursor = connection.execute(query, parameters)
            if cursor is None or cursor.description is None:
                raise DataError(f"{path}: --query: got {shown(query)}, expected a SELECT")
            check_names([entry[0] for entry in cursor.description], str(path))
            # What NumPy has no type for comes as doubles, which lose the last digits.
            kinds = [str(entry[1]) for entry in cursor.description]
            wide = [i for i, kind in enumerate(kinds) if kind.startswith(("HUGE", "UHUGE", "DEC"))]
            found: dict[str, Any] = dict(cursor.fetchnumpy())
            if wide:
                names, rows = list(found), connection.execute(query, parameters).fetchall()
                found |= {names[i]: [row[i] for row in rows] for i in wide}
    except duckdb.Error as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from None
    columns = {name: as_array(column) for name, column in found.items()}
    return Table(columns, len(next(iter(columns.values()), [])), source=str(path))
