"""DataFusion's dialect, which sqlglot lacks: PostgreSQL's words, but for NaN."""

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import rename_func
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator


class DataFusion(Postgres):
    """The dialect `datafusion`: sqlglot knows it as soon as it is defined."""

    class Generator(PostgresGenerator):
        """Write the dialect."""

        TRANSFORMS: ClassVar = {**PostgresGenerator.TRANSFORMS, exp.IsNan: rename_func("ISNAN")}
