"""SQL engines that run within Python: DuckDB and SQLite."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from mbndt.emitters.sql.engines.base import Data, Engine


class DuckDb(Engine):
    """DuckDB, in memory."""

    dialect = "duckdb"

    def version(self) -> str:
        """Return DuckDB's version."""
        import duckdb

        return f"DuckDB {duckdb.__version__}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows."""
        import duckdb

        with duckdb.connect(":memory:") as connection:
            connection.execute(self.create(data))
            # Whole columns at a time: row by row takes a thousand times longer.
            lists = ", ".join(["unnest(?)"] * len(data.cells))
            columns = [list(column) for column in data.cells]
            connection.execute(f"INSERT INTO {self.name(data)} SELECT {lists}", columns)
            return connection.execute(select).fetchall()


class Sqlite(Engine):
    """SQLite, in memory."""

    dialect = "sqlite"

    def version(self) -> str:
        """Return SQLite's version."""
        import sqlite3

        return f"SQLite {sqlite3.sqlite_version}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows."""
        import sqlite3

        marks = ", ".join("?" * len(data.cells))
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(self.create(data))
            insert = f"INSERT INTO {self.name(data)} VALUES ({marks})"
            connection.executemany(insert, zip(*data.cells, strict=True))
            return connection.execute(select).fetchall()
