"""A table's own export and the table itself get the same answers, whatever its columns' types."""

import csv
import io
import sqlite3
from contextlib import closing

import duckdb
import pytest
from sql_embedded import Tables
from sql_rules import one_group, one_split, sql
from sql_servers import Server

from mbndt.errors import DataError, EngineMissing
from mbndt.interpreter import predict
from mbndt.rules import Feature, FeatureType, Group, Leaf, Rules, SetSplit, Target, TargetType
from mbndt.tables.csv_files import parse_csv

# For each engine the types of its columns, with literals, and the feature's type.
NUMBERS = {
    "INTEGER": ["9", "61", "100", "NULL"],
    "SMALLINT": ["9", "61", "100"],
    "BIGINT": ["9", "9007199254740993"],
    "DOUBLE PRECISION": ["9", "0.1", "61.5", "NULL"],
    "DECIMAL(9,2)": ["9", "61.01", "60.99"],
}
WORDS = {"VARCHAR(9)": ["'9'", "'A'", "'a'", "'9abc'", "NULL"], "DATE": ["'2020-01-31'", "NULL"]}
COLUMNS = {
    "duckdb": {
        **NUMBERS,
        "UTINYINT": ["9", "200"],
        "HUGEINT": ["9", "61"],
        "BOOLEAN": ["true", "false", "NULL"],
        **WORDS,
        "ENUM('a', 'b')": ["'a'", "'b'"],
        "VARCHAR COLLATE NOCASE": ["'a'", "'A'"],
    },
    "sqlite": {
        **NUMBERS,
        "BOOLEAN": ["1", "0", "NULL"],
        **WORDS,
        "TEXT COLLATE NOCASE": ["'a'", "'A'"],
    },
    "postgres": {
        **NUMBERS,
        "REAL": ["0.1", "9"],
        "BOOLEAN": ["true", "false", "NULL"],
        **WORDS,
        "CHAR(5)": ["'a'", "'A'", "'abcde'", "NULL"],
        "TEXT": ["'a '", "'a'"],
    },
    "mysql": {
        **NUMBERS,
        "TINYINT UNSIGNED": ["9", "255"],
        "YEAR": ["2020", "2069"],
        "BOOLEAN": ["true", "false", "NULL"],
        **WORDS,
        "CHAR(5)": ["'a'", "'A'", "NULL"],
        "ENUM('a', 'b')": ["'a'", "'b'"],
    },
    "clickhouse": {
        "Int8": ["9", "61"],
        "UInt64": ["9", "61"],
        "Int128": ["9", "61"],
        "Float32": ["0.1", "9"],
        "Float64": ["0.1", "61.5"],
        "Nullable(Decimal(9, 2))": ["9", "61.01", "NULL"],
        "Decimal(38, 3)": ["60.999"],
        "Nullable(Bool)": ["true", "false", "NULL"],
        "String": ["'9'", "'A'", "'a'"],
        "LowCardinality(String)": ["'a'", "'A'"],
        "Enum8('a' = 1, '1' = 2)": ["'a'", "'1'"],
        "Date": ["'2020-01-31'"],
    },
}
CASES = [(dialect, kind) for dialect, columns in COLUMNS.items() for kind in columns]


class Table:
    """A table of one column `x`, beside `id`, and its engine's export of it."""

    def __init__(self, dialect, kind, literals):
        self.dialect, rows = dialect, ", ".join(f"({i}, {x})" for i, x in enumerate(literals))
        match dialect:
            case "duckdb" | "sqlite":
                self.connection = (duckdb if dialect == "duckdb" else sqlite3).connect(":memory:")
                run = self.connection.execute
            case "clickhouse":
                self.tables = Tables(dialect)
                run = self.tables.session.query
                run("DROP TABLE IF EXISTS data")
            case _:
                self.server = Server(dialect)
                run = self.server.rows
        memory = " ENGINE = Memory" if dialect == "clickhouse" else ""
        run(f"CREATE TABLE data (id INTEGER, x {kind}){memory}")
        run(f"INSERT INTO data VALUES {rows}")

    def leaves(self, text):
        match self.dialect:
            case "duckdb" | "sqlite":
                rows = self.connection.execute(text).fetchall()
            case "clickhouse":
                # As text: Arrow has no integers of 128 bits, and chdb's is empty after an error.
                select = f"SELECT id, 0, 0, leaf FROM ({text.rstrip(chr(10))[:-1]})"
                found = self.tables.session.query(select, "CSV").data()
                rows = [
                    tuple(None if cell == "\\N" else int(cell) for cell in line.split(","))
                    for line in found.splitlines()
                ]
            case _:
                rows = self.server.rows(text)
        return [row[3] for row in sorted(rows)]

    def export(self, folder):
        """Return the cells of `x` as the engine writes them to a CSV, in the order of `id`."""
        select = "SELECT x FROM data ORDER BY id"
        match self.dialect:
            case "duckdb":
                path = folder / "x.csv"
                self.connection.execute(f"COPY ({select}) TO '{path}' (HEADER)")
                text = path.read_text()
            case "sqlite":  # as sqlite3 writes with .mode csv
                with closing(self.connection.cursor()) as cursor:
                    rows = cursor.execute(select).fetchall()
                text = "\n".join(["x", *('""' if x is None else str(x) for (x,) in rows)])
            case "postgres":
                with self.server.cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv)") as copy:
                    text = "x\n" + b"".join(bytes(part) for part in copy).decode()
            case "mysql":
                path = folder / "x.csv"
                folder.chmod(0o777)
                self.server.rows(f"{select} INTO OUTFILE '{path}'")
                text = "x\n" + path.read_text()
            case _:
                text = self.tables.session.query(select, "CSVWithNames").data()
        cells = [row[0] if row else "" for row in csv.reader(io.StringIO(text))][1:]
        # A mark of a gap is none of this test's business.
        return ["" if cell == "\\N" else cell for cell in cells]


def asked(cells):
    """Return rules over a column, of each type that its export can have."""
    both = [Group((False,), 0), Group((True,), 1)]
    truth = SetSplit("x", tuple(both), 2, tuple(Leaf(k, (0.5, 0.5)) for k in range(3)))
    yield Rules(
        "truth",
        Target("y", TargetType.STRING, ("no", "yes")),
        (Feature("x", FeatureType.BOOLEAN),),
        truth,
    )
    for kind in (FeatureType.FLOAT64, FeatureType.INTEGER):
        yield one_split(Feature("x", kind), [9.0, 61.0], missing=2)
    words = tuple(dict.fromkeys(cell for cell in cells if cell))
    yield one_group("x", words[:1], words, missing=1)


@pytest.mark.parametrize("dialect, kind", CASES)
def test_a_table_and_its_export_get_the_same_answers(dialect, kind, tmp_path):
    try:
        table = Table(dialect, kind, COLUMNS[dialect][kind])
    except EngineMissing as error:
        pytest.skip(str(error))
    cells = table.export(tmp_path)
    assert len(cells) == len(COLUMNS[dialect][kind])
    answered = 0
    for rules in asked(cells):
        try:
            found = table.leaves(sql(rules, dialect))
        except (duckdb.Error, RuntimeError, *refusals()):
            continue  # raised by the engine
        expected = [answer(rules, cell, {"t", "f", ""} >= set(cells)) for cell in cells]
        pairs = zip(found, expected, strict=True)
        assert all(one in (None, other) for one, other in pairs), (rules, found, expected)
        answered += found == expected
    assert answered


def refusals():
    """Return the errors that the servers' clients raise."""
    import psycopg
    import pymysql

    return psycopg.Error, pymysql.Error


def answer(rules, cell, truths):
    """Return the leaf of a cell of an export, None where it is refused.

    `truths` tells that the column holds t and f only, which is how PostgreSQL writes booleans.
    """
    if rules.name == "truth" and truths:
        cell = {"t": "true", "f": "false"}.get(cell, cell)
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([["x", "y"], [cell, 1]])
    try:
        return int(predict(rules, parse_csv(text.getvalue())).leaf[0])
    except DataError:
        return None
