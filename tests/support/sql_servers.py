"""PostgreSQL and MariaDB, asked with the SQL that is tested."""

import numpy as np
import pytest
from sql_rules import sql
from sqlglot import exp

from mbndt.emitters.sql.engines.servers import MariaDb, Postgres
from mbndt.errors import EngineMissing

DATA = exp.to_table("data")


SERVERS = {"postgres": Postgres, "mysql": MariaDb}


TYPES = {
    "postgres": {
        "float64": "double precision",
        "float32": "double precision",
        "integer": "bigint",
        "boolean": "boolean",
        "category": "text",
    },
    "mysql": {
        "float64": "double",
        "float32": "double",
        "integer": "bigint",
        "boolean": "boolean",
        "category": "longtext",
    },
}


class Server:
    """An engine's server, asked in its own words, in a database of its own."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.engine = SERVERS[dialect]()
        self.cursor = self.engine.connection.cursor()
        kind = "SCHEMA" if dialect == "postgres" else "DATABASE"
        for text in (
            f"DROP {kind} IF EXISTS {self.quoted('own')}{' CASCADE' * (kind == 'SCHEMA')}",
            f"CREATE {kind} {self.quoted('own')}",
            "SET search_path = own" if kind == "SCHEMA" else "USE own",
        ):
            self.cursor.execute(text)

    def quoted(self, name):
        mark = '"' if self.dialect == "postgres" else "`"
        return mark + name.replace(mark, 2 * mark) + mark

    def rows(self, text):
        self.cursor.execute(text)
        return [tuple(row) for row in self.cursor.fetchall()] if self.cursor.description else []

    def fill(self, columns, types, table="data"):
        """Create a table of `columns`, name to values, in which `id` counts the rows."""
        columns = {"id": range(len(next(iter(columns.values()), range(3)))), **columns}
        kinds = {"id": "bigint", **types}
        listed = ", ".join(f"{self.quoted(name)} {kinds[name]}" for name in columns)
        self.rows(f"CREATE TABLE {self.quoted(table)} ({listed})")
        marks = ", ".join(["%s"] * len(columns))
        plain = [
            [cell.item() if isinstance(cell, np.generic) else cell for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        self.cursor.executemany(f"INSERT INTO {self.quoted(table)} VALUES ({marks})", plain)

    def leaves(self, rules, **options):
        """Return the leaves that a select over the table finds, in the order of `id`."""
        text = sql(rules, dialect=self.dialect, **options)
        rows = sorted(self.rows(text), key=lambda row: row[0])
        place = [column[0] for column in self.cursor.description].index("leaf")
        return [row[place] for row in rows]


def started(dialect):
    """Yield the server of a dialect, for a fixture."""
    try:
        found = Server(dialect)
    except EngineMissing as error:
        pytest.skip(str(error))
    yield found
    # What a test set for its connection is set back.
    found.rows("RESET ALL" if dialect == "postgres" else "SET sql_mode = DEFAULT")
    if dialect == "mysql":
        found.rows("SET NAMES utf8mb4")
