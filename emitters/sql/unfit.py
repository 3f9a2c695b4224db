"""Tests for values that an engine would compare as what they aren't.

A text in a column of numbers, a 2 in one of booleans, a fraction in one of whole numbers, a boolean
where a text is asked: engines convert such values by rules of their own, so that a comparison would
send them to some leaf. Each test raises, with what was expected, in engines that can raise within
an expression; in the others it is true, and the row's answer is NULL. It costs little: on types
that engines know beforehand they decide it once.

Templates are as in `dialects`. Engines that aren't listed, and tests that they don't need as
they raise anyway, have none.
"""

from __future__ import annotations

from collections.abc import Mapping

from mbndt.rules import FeatureType

FLOAT, FLOAT32 = FeatureType.FLOAT64, FeatureType.FLOAT32
INTEGER, BOOLEAN, CATEGORY = FeatureType.INTEGER, FeatureType.BOOLEAN, FeatureType.CATEGORY

# What an engine writes of other types depends on who writes it: `t` or `true`, `1` or `1.0`.
_NO_TEXTS = "BOOLEAN|FLOAT|DOUBLE|DECIMAL|TIME|BLOB|BIT|INTERVAL"
_POSTGRES_NO_TEXTS = (
    "'boolean', 'real', 'float8', 'numeric', 'timestamp', 'timestamptz', 'interval', 'bytea',"
    " 'inet'"
)
_POSTGRES_TYPE = "PG_TYPEOF(NULLIF(x, NULL))"  # of a domain the type beneath
# The texts of dates follow the session.
_POSTGRES_NO_ISO = (
    f"({_POSTGRES_TYPE} = 'date'::regtype AND CURRENT_SETTING('datestyle') NOT LIKE 'ISO%')"
)
_CLICKHOUSE_NUMBERS = "(Int|Float|Decimal)[0-9(]"
# MySQL compares texts as the number that they begin with, and dates as 20261231.
_MYSQL_NO_NUMBER = "COERCIBILITY(COALESCE(x, 0)) < 5"
# In SQLite texts and blobs stand above all numbers, the empty text as the least of them.
_SQLITE_NO_NUMBER = "x > ''"


def _clickhouse(test: str, expected: str) -> str:
    return f"throwIf({test}, 'expected {expected}')"


def _cast(test: str, expected: str) -> str:
    """Return a test that raises where it holds, as words are no truth, and is NULL elsewhere."""
    said = f"'expected {expected}, got ' || CAST(x AS TEXT)"
    return f"CAST(CASE WHEN {test} THEN {said} END AS BOOLEAN)"


def _spark(test: str, expected: str) -> str:
    said = f"RAISE_ERROR(CONCAT('expected {expected}, got ', TYPEOF(x)))"
    return f"CAST(IF({test}, {said}, NULL) AS BOOLEAN)"


_FRACTION = "x <> FLOOR(x)"
# Without ANSI mode Spark takes a text that is no number for NULL, and an integer's bytes for text.
_SPARK_NO_NUMBER = (
    "NOT TYPEOF(x) IN ('tinyint', 'smallint', 'int', 'bigint', 'float', 'double', 'void')"
    " AND NOT TYPEOF(x) LIKE 'decimal%'"
)
_SPARK = {
    **dict.fromkeys((FLOAT, FLOAT32), _spark(_SPARK_NO_NUMBER, "a number")),
    INTEGER: _spark(f"{_SPARK_NO_NUMBER} OR {_FRACTION}", "a whole number"),
    BOOLEAN: _spark("NOT TYPEOF(x) IN ('boolean', 'void')", "false or true"),
    CATEGORY: _spark(
        "TYPEOF(x) <> 'void' AND NOT TYPEOF(x) LIKE 'string%' AND NOT TYPEOF(x) LIKE '%char(%'",
        "text",
    ),
}

UNFIT: Mapping[str, Mapping[FeatureType, str]] = {
    "clickhouse": {
        INTEGER: _clickhouse("x - floor(x) > 0", "a whole number"),  # a NaN is missing
        BOOLEAN: _clickhouse(
            f"NOT match(toTypeName(x), 'Bool|{_CLICKHOUSE_NUMBERS}')"
            " OR (NOT match(toTypeName(x), 'Bool') AND toFloat64(x) NOT IN (0, 1))",
            "false or true",
        ),
        CATEGORY: _clickhouse("match(toTypeName(x), 'Bool|Float|Decimal|DateTime')", "text"),
    },
    "databricks": _SPARK,
    "datafusion": {
        INTEGER: _cast(f"NOT ARROW_TYPEOF(x) LIKE '%Int%' AND {_FRACTION}", "a whole number"),
        CATEGORY: _cast("ARROW_TYPEOF(x) LIKE '%Binary%'", "text"),
    },
    "duckdb": {
        INTEGER: _cast(f"NOT TYPEOF(x) LIKE '%INT%' AND {_FRACTION}", "a whole number"),
        BOOLEAN: _cast(
            "TYPEOF(x) <> 'BOOLEAN' AND CAST(x AS TEXT) NOT IN ('false', 'true', '0', '1')",
            "false or true",
        ),
        CATEGORY: _cast(f"REGEXP_MATCHES(TYPEOF(x), '^({_NO_TEXTS})')", "text"),
    },
    "mysql": {
        **dict.fromkeys((FLOAT, FLOAT32), _MYSQL_NO_NUMBER),
        INTEGER: f"{_MYSQL_NO_NUMBER} OR {_FRACTION}",
        BOOLEAN: f"{_MYSQL_NO_NUMBER} OR x + 0 NOT IN (0, 1)",
    },
    "postgres": {
        INTEGER: _cast(_FRACTION, "a whole number"),
        CATEGORY: _cast(
            f"{_POSTGRES_TYPE} IN ({_POSTGRES_NO_TEXTS}) OR {_POSTGRES_NO_ISO}", "text"
        ),
    },
    "spark": _SPARK,
    "sqlite": {
        **dict.fromkeys((FLOAT, FLOAT32), _SQLITE_NO_NUMBER),
        INTEGER: f"{_SQLITE_NO_NUMBER} OR x <> CAST(x AS INTEGER)",
        BOOLEAN: "x <> 0 AND x <> 1 AND x <> ''",
        CATEGORY: "x < '' OR x >= x''",
    },
}

# Of types alone, raised before any row is read: asked once, as at each split they take time.
MISTYPED: Mapping[str, Mapping[FeatureType, str]] = {
    "clickhouse": dict.fromkeys(
        (FLOAT, FLOAT32, INTEGER),
        "CAST(['0', 'expected a number'][match(toTypeName(x), 'Bool') + 1] AS UInt8)",
    ),
}
