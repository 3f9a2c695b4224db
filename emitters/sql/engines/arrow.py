"""SQL engines within Python's process that take Arrow tables: ClickHouse, DataFusion and Spark."""

from __future__ import annotations

import importlib
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
                raise EngineMissing(
                    f"--dialect {self.dialect}: to run it needs {self.package}"
                    f" (pip install {self.package} pyarrow)"
                ) from None

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


class Spark(ArrowEngine):
    """Spark on this machine, in a session that lasts as long as the process."""

    dialect = "spark"
    package = "pyspark"

    def __init__(self) -> None:
        super().__init__()
        if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
            raise EngineMissing("--dialect spark: to run it needs Java, 17 or later")

    def version(self) -> str:
        """Return Spark's version."""
        import pyspark

        return f"Spark {pyspark.__version__}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows."""
        session = spark_session()
        name = self.name(data)
        with _pandas_is_too_new():
            session.createDataFrame(self.arrow(data)).createOrReplaceTempView(name)
        try:
            return [tuple(row) for row in session.sql(select.rstrip(";\n")).collect()]
        finally:
            session.catalog.dropTempView(name)


@cache
def _clickhouse() -> Any:
    from chdb.session import Session

    session: Any = Session()
    session.query("SET max_query_size = 100000000")  # its default holds some 1,000 leaves
    return session


@cache
def spark_session() -> Any:
    """Return the process's Spark session; where there is none, a small and silent one."""
    from subprocess import DEVNULL

    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    with _pandas_is_too_new():
        running = SparkSession.getActiveSession()
        if running is not None:
            return running
        conf = SparkConf().setMaster("local[1]").setAppName("mbndt")
        conf.set("spark.ui.enabled", "false").set("spark.sql.shuffle.partitions", "1")
        conf.set("spark.sql.adaptive.enabled", "false")
        # Queries here are so short that to compile them well takes longer than to run them.
        conf.set("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
        # Its Java process ends with this one: it waits for the end of its standard input.
        gateway = launch_gateway(conf, popen_kwargs={"stdout": DEVNULL, "stderr": DEVNULL})
        return SparkSession(SparkContext(conf=conf, gateway=gateway))


@contextmanager
def _pandas_is_too_new() -> Iterator[None]:
    """Keep Spark from warning of pandas' version: only Arrow tables are given to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _rows(table: Any) -> list[tuple[Any, ...]]:
    """Return the rows of an Arrow table, whose columns' names may repeat."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
