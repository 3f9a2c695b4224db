"""Rules that answer the rows of a Spark data frame where they lie: nothing is collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from mbndt.errors import DataError, OptionError, nearest, shown
from mbndt.rules import Feature, FeatureType, Rules, TargetType
from mbndt.rules.values import EXPECTED

if TYPE_CHECKING:
    from mbndt.emitters.sql.case import Writer

Fold: TypeAlias = Callable[[str], str]

WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double", "decimal")
# The types of a column that holds nothing but values of a feature's type, as Spark spells them.
COLUMNS = {
    FeatureType.FLOAT64: NUMBERS,
    FeatureType.FLOAT32: NUMBERS,
    FeatureType.INTEGER: WHOLE,
    FeatureType.BOOLEAN: ("boolean",),
    FeatureType.CATEGORY: ("string", "char", "varchar"),
}
LABELS = {
    TargetType.STRING: "STRING",
    TargetType.INTEGER: "BIGINT",
    TargetType.BOOLEAN: "BOOLEAN",
}


def local_session(cores: int = 2) -> Any:
    """Return the process's Spark session; where there is none, start one on this machine.

    `cores`: how many a session that is started takes. It prints nothing, of Java's warnings
    either, shows no pages, and ends with the process. Raises `EngineMissing` without PySpark or
    Java, `EngineFailed` where Java is older than 17, `OptionError` for another number of cores.
    """
    from mbndt.emitters.sql.engines.spark import local_session

    return local_session(cores)


def score(df: Any, rules: Rules, prefix: str = "") -> Any:
    """Return a Spark data frame with the answers beside its columns.

    `df`: a `pyspark.sql.DataFrame`. Added are `prediction` (string, bigint, boolean; a regression:
    double), `leaf` (bigint) and for each class `risk_K` and `score_K` (double; `probability_K` of
    rules without risks), `prefix` before each name; where there is no answer all but the leaf are
    null. Raises `DataError` for a column that is lacking, stands there twice, has another type than
    its feature, or is named as an answer; `TargetError` for rules that Spark can't hold.
    """
    from pyspark.sql.functions import expr

    from mbndt.emitters import emit
    from mbndt.emitters.sql.case import Writer
    from mbndt.emitters.sql.dialects import dialect

    if not isinstance(prefix, str):
        raise OptionError(f"prefix: got {shown(prefix)}, expected text")
    write = Writer(dialect("spark"), rules, prefix, None, {name: name for name in rules.feature})
    if not hasattr(df, "dtypes") or not hasattr(df, "selectExpr"):
        raise DataError(f"df: got {type(df).__name__}, expected a Spark data frame")
    for feature in rules.used:
        _check_column(df, feature, write.words.fold)
    _check_outputs(df, write.outputs, write.words.fold)
    route = emit(rules, "sql", dialect="spark", output="leaf", as_="expression").text
    found = _new_name([*df.columns, *write.outputs], write.words.fold)
    # Names are given as names, so that Spark reads no variables in them.
    named = zip(_answers(write, found), write.outputs, strict=True)
    answers = [expr(text).alias(name) for text, name in named]
    return df.select("*", expr(route).alias(found)).select("*", *answers).drop(found)


def _answers(write: Writer, found: str) -> list[str]:
    """Return an expression for each output, with the leaf's id in the column `found`.

    Spark makes of each list one constant, and looks in it by place.
    """
    target = write.rules.target
    # A regression over whole numbers has values that are none.
    label = LABELS[target.type] if target.classes else "DOUBLE"
    kinds = [label, "BIGINT", *["DOUBLE"] * len(write.rules.output_columns)]
    columns = zip(*write.answers(), strict=True)
    listed = [", ".join(answer.sql(dialect="spark") for answer in column) for column in columns]
    return [
        f"CAST(ARRAY({values})[{found}] AS {kind})"
        for values, kind in zip(listed, kinds, strict=True)
    ]


def _check_column(df: Any, feature: Feature, fold: Fold) -> None:
    """Raise `DataError` unless just one column has the feature's name and holds its type."""
    name, names = feature.name, df.columns
    if name not in names:
        raise DataError(f"data: no column {shown(name)}{nearest(name, names)}")
    same = [other for other in names if fold(other) == fold(name)]
    if len(same) > 1:
        raise DataError(f"data: Spark takes the columns {', '.join(map(shown, same))} for one")
    kind = dict(df.dtypes)[name]
    # Written as string, string collate unicode, decimal(10,2); void holds nothing but NULL.
    if kind.split("(")[0].split()[0] not in (*COLUMNS[feature.type], "void"):
        raise DataError(
            f"data: column {shown(name)}: got the type {kind}, expected"
            f" {EXPECTED[feature.type]} ({', '.join(COLUMNS[feature.type])})"
        )


def _check_outputs(df: Any, outputs: tuple[str, ...], fold: Fold) -> None:
    columns = {fold(name): name for name in df.columns}
    for output in outputs:
        if fold(output) in columns:
            raise DataError(
                f"data: the column {shown(columns[fold(output)])} and the output"
                f" {shown(output)} clash; prefix='...' gives the outputs other names"
            )


def _new_name(names: list[str], fold: Fold) -> str:
    name = "found"
    while name in map(fold, names):
        name += "_"
    return name
