"""ClickHouse, DataFusion and Spark, asked with the SQL that is tested."""

import numpy as np
import pytest

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters.sql.engines.base import engine
from mbndt.errors import EngineMissing
from mbndt.spark import local_session
from mbndt.tables.table import Table

ENGINES = ["clickhouse", "datafusion", "spark"]


COLUMNS = {
    "clickhouse": {
        "float": "Nullable(Float32)",
        "double": "Nullable(Float64)",
        "integer": "Nullable(Int64)",
        "boolean": "Nullable(Bool)",
        "text": "Nullable(String)",
    },
    "datafusion": {
        "float": "REAL",
        "double": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "text": "VARCHAR",
    },
    "spark": {
        "float": "FLOAT",
        "double": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "text": "STRING",
    },
}


KINDS = {
    "float64": "double",
    "float32": "double",
    "integer": "integer",
    "boolean": "boolean",
    "category": "text",
}


def available(dialect):
    try:
        engine(dialect)
    except EngineMissing as error:
        pytest.skip(str(error))
    return dialect


def quoted(dialect, name):
    if dialect == "spark":
        return "`" + name.replace("`", "``") + "`"
    name = name.replace("\\", "\\\\") if dialect == "clickhouse" else name
    return '"' + name.replace('"', '""') + '"'


class Tables:
    """An engine with tables of typed columns, spelt here without any help of sqlglot."""

    def __init__(self, dialect):
        self.dialect = dialect
        match dialect:
            case "clickhouse":
                from mbndt.emitters.sql.engines.arrow import _clickhouse

                self.session = _clickhouse()
            case "datafusion":
                import datafusion

                self.session = datafusion.SessionContext()
            case "spark":
                self.session = local_session(1)

    def table(self, text):
        """Return a statement's rows as an Arrow table."""
        text = text.rstrip(";\n")
        match self.dialect:
            case "clickhouse":
                return self.session.query(text, "ArrowTable")
            case "datafusion":
                return self.session.sql(text).to_arrow_table()
            case _:
                return self.session.sql(text).toArrow()

    def rows(self, text):
        return list(zip(*(column.to_pylist() for column in self.table(text).columns), strict=True))

    def leaves(self, text):
        found = self.table(text)
        order = np.argsort(found["id"].to_numpy())
        return found["leaf"].to_numpy()[order].tolist()

    def fill(self, columns, types, name="data"):
        """Create a table of `columns`, name to values, in which `id` counts the rows."""
        import pyarrow

        count = len(next(iter(columns.values()), range(3)))
        arrays = [pyarrow.array(range(count)), *map(pyarrow.array, columns.values())]
        plain = pyarrow.table(arrays, names=["id", *columns])
        own, name = self.own_names(plain), quoted(self.dialect, name)
        kinds = [COLUMNS[self.dialect].get(kind, kind) for kind in types.values()]
        listed = [
            f"CAST(c{k} AS {kind}) AS {quoted(self.dialect, column)}"
            for k, (column, kind) in enumerate(zip(columns, kinds, strict=True), start=1)
        ]
        select = f"SELECT {', '.join(['c0 AS id', *listed])} FROM plain"
        match self.dialect:
            case "clickhouse":
                self.session.query(f"DROP TABLE IF EXISTS {name}")
                select = select.replace("FROM plain", "FROM Python(own)")
                self.session.query(f"CREATE TABLE {name} ENGINE = Memory AS {select}")
            case "datafusion":
                self.session.deregister_table("plain")
                self.session.from_arrow(own, "plain")
                self.session.sql(f"CREATE OR REPLACE TABLE {name} AS {select}").collect()
            case _:
                self.session.createDataFrame(own).createOrReplaceTempView("plain")
                self.session.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}")

    def own_names(self, plain):
        return plain.rename_columns([f"c{k}" for k in range(plain.num_columns)])

    def fill_for(self, rules, rows=40, name="data"):
        """Create a table for rules, and return its rows as the interpreter reads them."""
        data = boundary_rows(rules, rows) if rules.features else Table({}, 3)
        types = {feature.name: KINDS[feature.type] for feature in rules.features}
        columns = {name: list(data.column(name)) for name in types}
        self.fill(columns, types, name)
        return data


def agrees(rules, dialect, rows=60):
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, rows)])
    assert (found.outcome, found.mismatches) == ("agrees", 0), (found.note, found.first)
