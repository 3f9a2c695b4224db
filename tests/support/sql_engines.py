"""DuckDB and SQLite, asked with the SQL that is tested."""

import sqlite3

import duckdb
import numpy as np

from mbndt.conformance.boundary import boundary_rows

ENGINES = ["duckdb", "sqlite"]


TYPES = {
    "float64": "DOUBLE",
    "float32": "DOUBLE",
    "integer": "BIGINT",
    "boolean": "BOOLEAN",
    "category": "VARCHAR",
}


# Read one ulp off by SQLite 3.40.
MISREAD = [0.03499004043054443, 17.44188601917004, 5.739533395205902]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Engine:
    """DuckDB or SQLite with one table, filled row by row and without any help of sqlglot."""

    def __init__(self, dialect):
        connect = duckdb.connect if dialect == "duckdb" else sqlite3.connect
        self.connection = connect(":memory:")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def rows(self, text):
        return self.connection.execute(text).fetchall()

    def names(self, text):
        return [entry[0] for entry in self.connection.execute(text).description]

    def fill(self, columns, types, table='"data"'):
        """Create a table of `columns`, name to values, in which `id` counts the rows."""
        columns = {"id": range(len(next(iter(columns.values()), range(3)))), **columns}
        kinds = {"id": "BIGINT", **types}
        listed = ", ".join(f"{quoted(name)} {kinds[name]}" for name in columns)
        self.connection.execute(f"CREATE TABLE {table} ({listed})")
        marks = ", ".join("?" * len(columns))
        plain = [
            [cell.item() if isinstance(cell, np.generic) else cell for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        if plain:
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", plain)

    def fill_for(self, rules, rows=40, table='"data"'):
        """Create a table for rules, and return its rows as the interpreter reads them."""
        rows = rows if rules.features else 3
        data = boundary_rows(rules, rows).take(np.arange(rows))
        types = {feature.name: TYPES[feature.type] for feature in rules.features}
        self.fill({name: data.column(name) for name in types}, types, table)
        return data
