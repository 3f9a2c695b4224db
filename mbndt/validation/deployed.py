"""The answers of rules where they run, a view over a real table, beside the interpreter's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from mbndt.arrays import Flags, Ints
from mbndt.errors import DataError, OptionError, nearest, shown
from mbndt.extras import needed
from mbndt.interpreter import leaf_ids
from mbndt.rules import Rules
from mbndt.rules.values import is_missing, label_text
from mbndt.tables.table import Table
from mbndt.validation.inputs import counts_by_leaf

POSTGRES = ("postgres", "postgresql")
PART = r'"(?:""|[^"])+"|[^".]+'


@dataclass(frozen=True)
class Deployed:
    """What a deployed object answers beside the rules.

    `compared` are the columns of answers that it has; `mismatches` counts the rows that differ in
    any, the first of which is `first`; `by_leaf` and `by_class` count rows by the rules' answer.
    """

    where: str
    rows: int
    compared: tuple[str, ...]
    mismatches: int
    first: Mapping[str, str] | None
    by_leaf: list[int]
    by_class: dict[str, int]


def compare(rules: Rules, where: str, view: str, prefix: str = "") -> Deployed:
    """Compare each row of a view (or table) that has inputs and answers with the interpreter.

    `where` is a DuckDB or SQLite file, or postgres://…; the object is read and never changed.
    Raises `OptionError` for another database, `DataError` for an object that can't be read, or
    lacks inputs or answers.
    """
    table = _read(where, f"SELECT * FROM {_quoted(view)}")
    if not table.n_rows:
        raise DataError(f"{table.source}: {view} has no rows")
    table = _as_features(rules, table)
    leaf = leaf_ids(rules, table)
    columns = _answers(rules, table, prefix, view)
    wrong = np.zeros(table.n_rows, np.bool_)
    for name, expected in columns.items():
        wrong |= _differs(table, name, expected, leaf)
    return Deployed(
        f"{table.source}: {view}",
        table.n_rows,
        tuple(columns),
        int(wrong.sum()),
        _first(rules, table, columns, leaf, wrong),
        counts_by_leaf(rules, leaf),
        _by_class(rules, leaf),
    )


def _quoted(view: str) -> str:
    """Return a name with its parts in quotes; raises `OptionError` for what is none."""
    if not re.fullmatch(rf"({PART})(\.({PART})){{0,2}}", view) or "\0" in view:
        raise OptionError(
            f"view: got {shown(view)}, expected a name, with dots between catalog, schema and view,"
            ' and "quotes" around a part that holds dots'
        )
    parts = re.findall(PART, view)
    return ".".join(part if part.startswith('"') else f'"{part}"' for part in parts)


def _read(where: str, query: str) -> Table:
    scheme, colon, _ = where.partition("://")
    if colon and scheme in POSTGRES:
        return _read_postgres(where, query)
    if colon:
        raise OptionError(
            f"against: got {shown(scheme)}, expected a DuckDB or SQLite file, or postgres://…"
        )
    from mbndt.tables.files import database_of, read_table

    kind = database_of(Path(where))
    if kind not in ("DuckDB", "SQLite"):
        what = kind or "no database"
        raise OptionError(f"against: {where} is {what}, expected a DuckDB or SQLite file")
    return read_table(where, query)


def _read_postgres(url: str, query: str) -> Table:
    with needed("; a DuckDB or SQLite file does without"):
        import psycopg
    at = urlsplit(url)
    source = f"postgres://{at.hostname or ''}{at.path}"  # a password is nobody's to print
    try:
        with psycopg.connect(url) as connection:
            connection.read_only = True
            # In binary doubles come back as they are, whatever settings say of their digits.
            cursor = connection.cursor(binary=True)
            rows = cursor.execute(query.encode()).fetchall()
            names = [column.name for column in cursor.description or []]
    except psycopg.Error as error:
        raise DataError(f"{source}: {' '.join(str(error).split())}") from None
    cells = zip(*rows, strict=True) if rows else ([] for _ in names)
    columns = {name: [*column] for name, column in zip(names, cells, strict=True)}
    found = Table.of(columns)
    return Table(found.columns, len(rows), source=source, declared=found.declared)


def _column_of(table: Table, name: str) -> str | None:
    """Return the column of a name, or the only one that differs by case alone."""
    if name in table:
        return name
    alike = [column for column in table.columns if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _as_features(rules: Rules, table: Table) -> Table:
    """Return the table with its columns named as the features in use."""
    columns, declared = dict(table.columns), dict(table.declared)
    for feature in rules.used:
        own = _column_of(table, feature.name)
        if own is None:
            said = f"no column {shown(feature.name)}{nearest(feature.name, table.columns)}"
            raise DataError(f"{table.source}: {said}; the rules' inputs are needed beside answers")
        columns[feature.name] = table.columns[own]
        if own in declared:
            declared[feature.name] = declared[own]
    return Table(columns, table.n_rows, source=table.source, declared=declared)


def _answers(rules: Rules, table: Table, prefix: str, view: str) -> dict[str, list[object]]:
    """Return the columns of answers that a table has, each with what it should be by leaf."""
    wanted: dict[str, list[object]] = {
        "prediction": [rules.label(end) for end in rules.leaves],
        "leaf": [end.leaf for end in rules.leaves],
    }
    for output, rows in rules.outputs.items():
        for k in range(len(rules.target.classes)):
            wanted[f"{output}_{k}"] = [None if row is None else row[k] for row in rows]
    found = {name: _column_of(table, prefix + name) for name in wanted}
    columns = {own: wanted[name] for name, own in found.items() if own is not None}
    if not columns or (found["prediction"] is None and found["leaf"] is None):
        lacking = f"{prefix}prediction or {prefix}leaf"
        raise DataError(f"{table.source}: {view} has no column {lacking}, expected answers there")
    return columns


def _differs(table: Table, name: str, expected: list[object], leaf: Ints) -> Flags:
    """Tell which rows [n] have another answer in a column than their leaf gives, to the bit."""
    known = [_plain(value) for value in expected]
    cells = [_plain(cell) for cell in _cells(table, name)]
    pairs = zip(cells, leaf.tolist(), strict=True)
    return np.fromiter((cell != known[at] for cell, at in pairs), np.bool_, table.n_rows)


def _cells(table: Table, name: str) -> list[object]:
    column = table.columns[name]
    return column.tolist() if isinstance(column, np.ndarray) else [*column]


def _plain(value: object) -> object:
    """Return an answer such that equal ones are equal, whichever database it comes from.

    SQLite's booleans are 0 and 1, and a label may be a whole number or its double.
    """
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return float(value)
    if isinstance(value, int) and abs(value) > 2**53:
        return value
    return float(value) if isinstance(value, int | float) else value


def _first(
    rules: Rules,
    table: Table,
    columns: Mapping[str, list[object]],
    leaf: Ints,
    wrong: Flags,
) -> dict[str, str] | None:
    """Return the first row that differs, what the rules say and what stands there."""
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    row = next(iter(table.take(np.array([at])).records(rules.used)), {})
    return {
        "row": f"{at + 1}: {_said(row)}",
        "expected": _said({name: known[leaf[at]] for name, known in columns.items()}),
        "got": _said({name: _cells(table, name)[at] for name in columns}),
    }


def _said(cells: Mapping[str, object]) -> str:
    return ", ".join(f"{name}: {shown(value)}" for name, value in cells.items())


def _by_class(rules: Rules, leaf: Ints) -> dict[str, int]:
    """Return how many rows get each class, and how many no answer."""
    if not rules.target.classes:
        return {}
    found = {label_text(label): 0 for label in rules.target.classes}
    for end, rows in zip(rules.leaves, counts_by_leaf(rules, leaf), strict=True):
        name = "no answer" if end.stops else label_text(rules.label(end))
        found[name] = found.get(name, 0) + rows
    return found
