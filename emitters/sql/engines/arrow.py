"""SQL engines within Python's process that take Arrow tables: ClickHouse and DataFusion."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, ClassVar

from mbndt.emitters.sql.dialects import TYPES
from mbndt.emitters.sql.engines.base import Data, Engine
from mbndt.errors import EngineMissing
from mbndt.rules import FeatureType


class ArrowEngine(Engine):
    """An engine of a Python package, `package`, that reads Arrow tables by itself."""

    package: ClassVar[str]

    def __init__(self) -> None:
        for name in (self.package, "pyarrow"):
            try:
                importlib.import_module(name)
            except ImportError:
                way_out = f"pip install {self.package} pyarrow"
                raise EngineMissing(f"{name} isn't installed: {way_out}") from None

    def arrow(self, data: Data) -> Any:
        """Return the data as an Arrow table; NaN stays apart from null."""
        import pyarrow

        kinds = {
            FeatureType.FLOAT64: pyarrow.float64(),
            FeatureType.FLOAT32: pyarrow.float64(),
            FeatureType.INTEGER: pyarrow.int64(),
            FeatureType.BOOLEAN: pyarrow.bool_(),
            FeatureType.CATEGORY: pyarrow.string(),
        }
        types = [kinds[kind] for kind in data.types.values()]
        columns = zip(data.cells, types, strict=True)
        arrays = [pyarrow.array(list(cells), kind) for cells, kind in columns]
        return pyarrow.table(arrays, names=list(data.types))


class ClickHouse(ArrowEngine):
    """ClickHouse, embedded as chdb."""

    dialect = "clickhouse"
    package = "chdb"
    types: ClassVar = {kind: f"Nullable({name})" for kind, name in TYPES.items()}

    def version(self) -> str:
        """Return ClickHouse's version."""
        import chdb

        return f"ClickHouse {chdb.engine_version}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows."""
        session = _clickhouse()
        rows = self.arrow(data)  # noqa: F841  chdb finds it by its name in this frame
        session.query(self.create(data))
        try:
            session.query(f"INSERT INTO {self.name(data)} SELECT * FROM Python(rows)")
            return _rows(session.query(select, "ArrowTable"))
        finally:
            session.query(f"DROP TEMPORARY TABLE {self.name(data)}")


class DataFusion(ArrowEngine):
    """DataFusion, in memory."""

    dialect = "datafusion"
    package = "datafusion"

    def version(self) -> str:
        """Return DataFusion's version."""
        import datafusion

        return f"DataFusion {datafusion.__version__}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows."""
        import datafusion

        context = datafusion.SessionContext()
        context.from_arrow(self.arrow(data), self.name(data))
        return _rows(context.sql(select).to_arrow_table())


@cache
def _clickhouse() -> Any:
    from chdb.session import Session

    session: Any = Session()
    session.query("SET max_query_size = 100000000")  # its default holds some 1,000 leaves
    return session


def _rows(table: Any) -> list[tuple[Any, ...]]:
    """Return the rows of an Arrow table, whose columns' names may repeat."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
