"""Run a select in DuckDB or SQLite, over a table in memory, for verification."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
from sqlglot import exp

from mbndt.emitters.base import Artifact
from mbndt.emitters.sql_dialects import Dialect
from mbndt.errors import DataError
from mbndt.interpreter import Predictions
from mbndt.rules import Feature, FeatureType, Rules, TargetType
from mbndt.table import Table
from mbndt.values import Value, read_cell, read_value

COLUMN_TYPES = {
    FeatureType.FLOAT64: "DOUBLE",
    FeatureType.FLOAT32: "DOUBLE",
    FeatureType.INTEGER: "BIGINT",
    FeatureType.BOOLEAN: "BOOLEAN",
    FeatureType.CATEGORY: "TEXT",
}

Columns = list[Sequence[Any]]


def run(artifact: Artifact, name: exp.Table, words: Dialect, table: Table) -> Predictions:
    """Answer the rows of a table, which the engine knows by `name`."""
    rules = artifact.rules
    columns: Columns = [range(table.rows), *(_cells(table, feature) for feature in rules.used)]
    insert = f"INSERT INTO {name.sql(dialect=words.name)}"
    ask = _ask_sqlite if words.name == "sqlite" else _ask_duckdb
    # No order is asked of the engine: each row comes with its number, in the first column.
    rows = sorted(ask(_create(name, rules, words), insert, artifact.text, columns))
    answers = [row[len(columns) :] for row in rows]
    labels = [row[0] for row in answers]
    if rules.target.type == TargetType.BOOLEAN and words.name == "sqlite":
        labels = [{0: False, 1: True}.get(label, label) for label in labels]
    probabilities = None
    if rules.target.classes:
        shape = (len(answers), len(rules.target.classes))
        probabilities = np.array([row[2:] for row in answers], np.float64).reshape(shape)
    return Predictions(np.array([row[1] for row in answers], np.int64), labels, probabilities)


def _cells(table: Table, feature: Feature) -> list[Value]:
    """Return a column's values, gaps as they came: NULL or NaN, NULL or the empty text.

    A float32 column keeps its doubles: to round them is the select's part.
    """
    kind = FeatureType.FLOAT64 if feature.type == FeatureType.FLOAT32 else feature.type
    read = read_cell if table.text else read_value
    found: list[Value] = []
    for row, cell in enumerate(table.column(feature.name), start=1):
        try:
            value = read(kind, cell)
        except DataError as error:
            raise table.misfit(feature.name, row, error) from None
        gap = kind == FeatureType.FLOAT64 and isinstance(cell, float)
        gap |= kind == FeatureType.CATEGORY and cell == ""
        found.append(cell if value is None and gap else value)
    return found


def _create(name: exp.Table, rules: Rules, words: Dialect) -> str:
    """Return the statement that creates the table: row numbers, then the columns in use."""
    row = "row"
    while any(words.fold(row) == words.fold(feature.name) for feature in rules.used):
        row += "_"
    types = [(row, "BIGINT"), *((f.name, COLUMN_TYPES[f.type]) for f in rules.used)]
    columns = [
        exp.ColumnDef(
            this=exp.Identifier(this=column, quoted=True), kind=exp.DataType.build(kind)
        )
        for column, kind in types
    ]  # fmt: skip
    schema = exp.Schema(this=name.copy(), expressions=columns)
    return exp.Create(this=schema, kind="TABLE").sql(dialect=words.name)


def _ask_sqlite(create: str, insert: str, select: str, columns: Columns) -> list[tuple[Any, ...]]:
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as engine:
        engine.execute(create)
        marks = ", ".join("?" * len(columns))
        engine.executemany(f"{insert} VALUES ({marks})", zip(*columns, strict=True))
        return engine.execute(select).fetchall()


def _ask_duckdb(create: str, insert: str, select: str, columns: Columns) -> list[tuple[Any, ...]]:
    import duckdb

    with duckdb.connect(":memory:") as engine:
        engine.execute(create)
        # Whole columns at a time: row by row takes a thousand times longer.
        lists = ", ".join(["unnest(?)"] * len(columns))
        engine.execute(f"{insert} SELECT {lists}", [list(column) for column in columns])
        return engine.execute(select).fetchall()
