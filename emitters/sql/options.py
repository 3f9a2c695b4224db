"""The options of the SQL target."""

from collections.abc import Sequence
from dataclasses import dataclass

from mbndt.options import Options, option

# What sqlglot writes; it only reads DAX and PRQL.
DIALECTS = (
    "athena",
    "bigquery",
    "clickhouse",
    "databricks",
    "datafusion",
    "doris",
    "dremio",
    "drill",
    "druid",
    "duckdb",
    "dune",
    "exasol",
    "fabric",
    "hive",
    "materialize",
    "mysql",
    "oracle",
    "postgres",
    "presto",
    "redshift",
    "risingwave",
    "singlestore",
    "snowflake",
    "solr",
    "spark",
    "spark2",
    "sqlite",
    "starrocks",
    "tableau",
    "teradata",
    "trino",
    "tsql",
)
NAMED = 'dots separate catalog, schema and name, and "quotes" go around a part that holds dots'


@dataclass(frozen=True)
class SqlOptions(Options):
    """The dialect and form of the SQL, and the names in it."""

    dialect: str = option("duckdb", "SQL dialect", choices=DIALECTS)
    as_: str = option(
        "select", "form of the SQL", choices=("select", "view", "expression", "function")
    )
    table: str | None = option(
        None,
        f"table to answer; {NAMED}",
        otherwise="data; an expression names its columns without a table",
    )
    view: str | None = option(None, "name of the view", otherwise="the rules' name")
    function: str | None = option(None, "name of the function", otherwise="the rules' name")
    output: str | None = option(
        None,
        "what an expression or function gives: label (regression: value), leaf, or for the class"
        " number K risk_K or score_K (probability_K of rules without risks)",
        otherwise="label or value",
    )
    prefix: str = option("", "text to put before the outputs' names", otherwise="none")
    names: str = option(
        "exact",
        "how columns are named: exactly as the features, or as engines fold names without quotes",
        choices=("exact", "lower", "upper"),
    )
    map: Sequence[str] = option(
        (),
        "column of a feature, where it has another name; can be given several times",
        otherwise="as `names` says",
        metavar="FEATURE=COLUMN",
    )
