"""Tables from files that DuckDB and SQLite read: databases by a query, and Parquet.

A query runs once, and columns are known by the source's own names: DuckDB renames what it takes
for the same (`A` and `a`), so names are asked for before, and columns are taken by position.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbndt.arrays import Array
from mbndt.errors import DataError, shown
from mbndt.rules import FeatureType
from mbndt.tables.declared import array_of, kind_of
from mbndt.tables.table import Table, as_array, check_names, plain_numbers

if TYPE_CHECKING:
    import sqlite3

    from duckdb import DuckDBPyConnection

# Doubles hold this many decimal digits, so that one division gives the nearest double.
EXACT_DIGITS = 15
DECIMAL = re.compile(r"DECIMAL\((\d+),\s*\d+\)")
NO_TYPE = '"NULL"'
HUGE = ("HUGEINT", "UHUGEINT")
# What values SQLite keeps in a column of a declared type if they are all of that type.
STORED: dict[FeatureType | None, set[type]] = {
    FeatureType.FLOAT64: {int, float},
    FeatureType.INTEGER: {int},
    FeatureType.BOOLEAN: {int},
    FeatureType.CATEGORY: {str},
}


def read_sqlite(path: Path, query: str) -> Table:
    """Return what a query reads from a SQLite file; raises `DataError` that names the file."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            cursor = database.execute(query)
            names = [entry[0] for entry in cursor.description or []]
            rows = cursor.fetchall()
            types = _sqlite_types(database, query)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise DataError(f"{path}: {error}") from None
    check_names(names, str(path))
    columns, declared = {}, {}
    for i, name in enumerate(names):
        values = [row[i] for row in rows]
        kind = _sqlite_type(values, types[i] if i < len(types) else "")
        columns[name] = array_of(values, kind)
        if kind is not None:
            declared[name] = kind
    return Table(columns, len(rows), source=str(path), declared=declared)


def _sqlite_types(database: sqlite3.Connection, query: str) -> list[str]:
    """Return the types that SQLite's tables declare for a query's columns, "" for none.

    The query is not run.
    """
    import sqlite3

    try:
        database.execute(f"CREATE TEMP VIEW found AS {query}")
        return [row[2] for row in database.execute("PRAGMA temp.table_info(found)")]
    except (sqlite3.Error, sqlite3.Warning):  # a PRAGMA, say
        return []


def _sqlite_type(values: list[Any], declared: str) -> str | None:
    """Return the type of a column; None where the values aren't all of one that is declared.

    SQLite doesn't hold them to it.
    """
    types = set(map(type, values)) - {type(None)}
    # SQLite's own names: text of any length, and doubles by all names of floating point.
    declared = re.sub(r"^(n?(var)?char(acter)?|text|clob)\b.*", "varchar", declared.casefold())
    declared = re.sub(r"^(real|float|double)\b.*", "double", declared)
    declared = re.sub(r"^numeric(?=\()", "decimal", declared)
    kind = kind_of(declared)
    if kind == FeatureType.BOOLEAN and not {*values} <= {0, 1, None}:
        declared = "integer"
    if kind is not None and types <= STORED.get(kind, set()):
        return declared
    return "double" if types == {float} else None


def _no_glob(path: Path) -> str:
    """Return a path in which DuckDB sees no pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def read_duckdb(path: Path, query: str) -> Table:
    """Return what a query reads from a DuckDB file; raises `DataError` that names the file."""
    import duckdb

    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            statements = connection.extract_statements(query)
            kinds = [statement.type.name for statement in statements]
            if kinds[-1:] not in (["SELECT"], ["MULTI"]):  # a PIVOT is many
                raise DataError(f"{path}: `query`: got {shown(query)}, expected a SELECT")
            for statement in statements[:-1]:
                connection.execute(statement)
            text = _without_semicolon(statements[-1].query)
            described = connection.execute(f"DESCRIBE {text}").fetchall()
            names, types = [row[0] for row in described], [row[1] for row in described]
            return _fetch(connection, path, text, names, types)
    except duckdb.Error as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from None


def _without_semicolon(query: str) -> str:
    """Return a statement without what stands after it."""
    import duckdb

    text = query.encode()  # places are counted in bytes
    for place, kind in reversed(duckdb.tokenize(query)):
        if not text[place:].startswith(b";") and kind.name != "comment":
            break
        text = text[:place]
    return text.decode()


def read_parquet(path: Path) -> Table:
    """Read a Parquet file; raises `DataError` that names the file."""
    import duckdb

    literal = "'{}'".format(_no_glob(path).replace("'", "''"))
    # A column of the folder's name (year=2026) is none of the file's.
    query = f"SELECT * FROM read_parquet({literal}, hive_partitioning = false)"
    try:
        with duckdb.connect() as connection:
            names = _parquet_names(connection, literal)
            types = [row[1] for row in connection.execute(f"DESCRIBE {query}").fetchall()]
            index = _pandas_index(connection, literal, names)
            return _fetch(connection, path, query, names, types, index)
    except duckdb.Error as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from None


def _parquet_names(connection: DuckDBPyConnection, literal: str) -> list[str]:
    """Return the names of the file's columns, not those of what is nested in them."""
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({literal})")
    (_, columns), *rest = schema.fetchall()
    names: list[str] = []
    inner = 0  # how many of the entries to come are nested in the last column
    for name, children in rest:
        if inner == 0:
            names.append(name)
        inner = max(0, inner - 1) + (children or 0)
    assert len(names) == columns
    return names


def _pandas_index(
    connection: DuckDBPyConnection, literal: str, names: list[str]
) -> tuple[str, ...]:
    """Return the columns that pandas wrote a frame's row index to."""
    query = f"SELECT value FROM parquet_kv_metadata({literal}) WHERE key = 'pandas'::BLOB"
    found = connection.execute(query).fetchone()
    try:
        listed = json.loads(found[0])["index_columns"] if found else []
    except (ValueError, KeyError, TypeError):
        return ()
    return tuple(name for name in listed if isinstance(name, str) and name in names)


def _fetch(
    connection: DuckDBPyConnection,
    path: Path,
    query: str,
    names: list[str],
    types: list[str],
    row_index: tuple[str, ...] = (),
) -> Table:
    check_names(names, str(path))
    aliases = [f"c{i}" for i in range(len(names))]
    read = ", ".join(map(_expression, aliases, types))
    cursor = connection.execute(f"SELECT {read} FROM (\n{query}\n) AS found({', '.join(aliases)})")
    arrays = map(_array, cursor.fetchnumpy().values(), types)
    columns = dict(zip(names, arrays, strict=True))
    declared = {name: kind for name, kind in zip(names, types, strict=True) if kind != NO_TYPE}
    rows = len(next(iter(columns.values()), []))
    return Table(columns, rows, source=str(path), declared=declared, row_index=row_index)


def _expression(column: str, kind: str) -> str:
    """Return the SQL that reads a column without loss; NumPy has no type for wider numbers."""
    decimal = DECIMAL.fullmatch(kind)
    if kind_of(kind) is None and kind != NO_TYPE:
        return f"NULL AS {column}"  # told when it is asked for
    if kind in HUGE or (decimal and kind_of(kind) == FeatureType.INTEGER):
        return f"{column}::VARCHAR AS {column}"
    if decimal:
        # From a text every release of DuckDB reads the nearest double.
        text = "" if int(decimal[1]) <= EXACT_DIGITS else "::VARCHAR"
        return f"{column}{text}::DOUBLE AS {column}"
    return f"{column}::VARCHAR AS {column}" if kind_of(kind) == FeatureType.CATEGORY else column


def _array(found: Any, kind: str) -> Array:
    array = as_array(found)
    if array.dtype != object or kind_of(kind) != FeatureType.INTEGER:
        return array
    texts = array.tolist()
    if not isinstance(next(filter(None, texts), None), str):
        return array
    numbers = None if None in texts else plain_numbers(texts, int)
    return as_array([t and int(t) for t in texts]) if numbers is None else numbers
