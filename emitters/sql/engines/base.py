"""The SQL engines that verification runs, over one table each time."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp

from mbndt.emitters.sql.dialects import TYPES
from mbndt.errors import EngineMissing
from mbndt.rules import FeatureType

ENGINES = {
    "duckdb": "mbndt.emitters.sql.engines.embedded:DuckDb",
    "sqlite": "mbndt.emitters.sql.engines.embedded:Sqlite",
    "clickhouse": "mbndt.emitters.sql.engines.arrow:ClickHouse",
    "datafusion": "mbndt.emitters.sql.engines.arrow:DataFusion",
    "spark": "mbndt.emitters.sql.engines.spark:Spark",
    "postgres": "mbndt.emitters.sql.engines.servers:Postgres",
    "mysql": "mbndt.emitters.sql.engines.servers:MariaDb",
}


@dataclass(frozen=True)
class Data:
    """A table to ask about: its name, its columns' names and types, and each column's cells."""

    table: exp.Table
    types: Mapping[str, FeatureType]
    cells: Sequence[Sequence[Any]]


class Engine(ABC):
    """An SQL engine. Its constructor raises `EngineMissing` where it isn't installed."""

    dialect: ClassVar[str]
    types: ClassVar[Mapping[FeatureType, str]] = TYPES

    @abstractmethod
    def version(self) -> str:
        """Return the engine's name and version."""

    @abstractmethod
    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the rows that a select gives over a table that holds the data."""

    def create(self, data: Data) -> str:
        """Return the statement that creates the data's table, for the connection alone.

        So none is made to outlive a crash, which takes MariaDB many times longer.
        """
        columns = [
            exp.ColumnDef(
                this=exp.Identifier(this=name, quoted=True),
                kind=exp.DataType.build(self.types[kind], dialect=self.dialect),
            )
            for name, kind in data.types.items()
        ]
        schema = exp.Schema(this=data.table.copy(), expressions=columns)
        alone = exp.Properties(expressions=[exp.TemporaryProperty()])
        statement = exp.Create(this=schema, kind="TABLE", properties=alone)
        return statement.sql(dialect=self.dialect, identify=True)

    def name(self, data: Data) -> str:
        """Return the table's name, quoted."""
        return data.table.sql(dialect=self.dialect, identify=True)


def engine(dialect: str) -> Engine:
    """Return the engine of a dialect; raises `EngineMissing` where there is none here."""
    if dialect not in ENGINES:
        raise EngineMissing(f"dialect {dialect}: no engine that can be run here is known")
    module, name = ENGINES[dialect].split(":")
    found: Engine = getattr(importlib.import_module(module), name)()
    return found
