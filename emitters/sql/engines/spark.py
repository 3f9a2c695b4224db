"""Spark on this machine: the session that runs it, and the engine that verification asks."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from subprocess import DEVNULL
from typing import Any

from mbndt.emitters.sql.engines.arrow import ArrowEngine
from mbndt.emitters.sql.engines.base import Data
from mbndt.errors import EngineFailed, EngineMissing, OptionError, shown

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Queries here are so short that to compile them well takes longer than to run them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Spark(ArrowEngine):
    """Spark on this machine, in a session that lasts as long as the process."""

    dialect = "spark"
    package = "pyspark"

    def __init__(self) -> None:
        super().__init__()
        check_installed()

    def version(self) -> str:
        """Return Spark's version."""
        import pyspark

        return f"Spark {pyspark.__version__}"

    def ask(self, data: Data, select: str) -> list[tuple[Any, ...]]:
        """Return the select's rows."""
        session = local_session(1)
        name = self.name(data)
        with _pandas_is_too_new():
            session.createDataFrame(self.arrow(data)).createOrReplaceTempView(name)
        try:
            return [tuple(row) for row in session.sql(select.rstrip(";\n")).collect()]
        finally:
            session.catalog.dropTempView(name)


def check_installed() -> None:
    """Raise `EngineMissing` unless PySpark and Java are here."""
    if find_spec("pyspark") is None:
        raise EngineMissing("pyspark isn't installed: pip install 'mbndt[spark]'")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        raise EngineMissing("Java isn't installed: apt-get install default-jre-headless")


def local_session(cores: int) -> Any:
    """Return the process's Spark session; where there is none, a small and silent one."""
    if not isinstance(cores, int) or cores < 1:
        raise OptionError(f"cores: got {shown(cores)}, expected a whole number of at least 1")
    check_installed()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _pandas_is_too_new():
        if SparkContext._active_spark_context is None:
            _start(cores)
        return SparkSession.builder.getOrCreate()


def _start(cores: int) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf().setMaster(f"local[{cores}]").setAppName("mbndt").setAll(SETTINGS.items())
    # Its Java process ends with this one: it waits for the end of its standard input.
    silent = {"stdout": DEVNULL, "stderr": DEVNULL}
    try:
        gateway = SparkContext._gateway or launch_gateway(conf, popen_kwargs=silent)
    except PySparkRuntimeError:
        raise EngineFailed("Spark doesn't start: expected Java 17 or later") from None
    SparkContext(conf=conf, gateway=gateway)


@contextmanager
def _pandas_is_too_new() -> Iterator[None]:
    """Keep Spark from warning of pandas' version: only Arrow tables are given to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
