"""Scoring a Spark data frame where it lies; one session serves the whole test process."""

import math
import os
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from strategies import chain, many_intervals, regression, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters.sql.engines import spark as spark_engine
from mbndt.emitters.sql.engines.base import engine
from mbndt.errors import DataError, EngineMissing, OptionError, TargetError
from mbndt.interpreter import predict
from mbndt.rules import (
    INT64_MIN,
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)
from mbndt.spark import local_session, score
from mbndt.tables.table import Table

KINDS = {
    "float64": "double",
    "float32": "double",
    "integer": "bigint",
    "boolean": "boolean",
    "category": "string",
}


@pytest.fixture(scope="module")
def spark():
    try:
        engine("spark")
    except EngineMissing as error:
        pytest.skip(str(error))
    return local_session(1)


def frame(spark, columns, types):
    """Return a data frame of columns, name to values, after an `id` that counts the rows."""
    rows = list(zip(range(len(next(iter(columns.values())))), *columns.values(), strict=True))
    kinds = [f"c{k} {kind}" for k, kind in enumerate(types.values())]
    df = spark.createDataFrame(rows, ", ".join(["id bigint", *kinds]))
    return df.toDF("id", *columns)


def frame_for(spark, rules, count=60):
    """Return rows for rules in two partitions, and the same rows as the interpreter reads them."""
    table = boundary_rows(rules, count)
    columns = {feature.name: table.column(feature.name).tolist() for feature in rules.features}
    types = {feature.name: KINDS[feature.type] for feature in rules.features}
    columns = columns or {"other": [1] * table.n_rows}
    return frame(spark, columns, types or {"other": "int"}).repartition(2), table


def one_cut(feature, cut, missing=1):
    """Return rules that send what lies below a cut to leaf 0, all else to leaf 1."""
    split = NumericSplit(
        feature.name,
        (Interval(cut, 0), Interval(None, 1)),
        missing,
        (Leaf(0, (1.0, 0.0)), Leaf(1, (0.25, 0.75))),
    )
    return Rules("one cut", Target("y", TargetType.STRING, ("no", "ye's")), (feature,), split)


def leaves(df, rules, prefix=""):
    return [row[f"{prefix}leaf"] for row in score(df, rules, prefix).orderBy("id").collect()]


def whole_numbers():
    """Return a regression over whole numbers, whose values are doubles all the same."""
    return replace(regression(), target=Target("y", TargetType.INTEGER))


@pytest.mark.parametrize(
    "make", [lambda: chain(12), many_intervals, regression, whole_numbers, single_leaf]
)
def test_a_frame_gets_the_interpreters_answers_beside_its_columns(spark, make):
    rules = make()
    df, table = frame_for(spark, rules)
    scored = score(df, rules)
    expected = predict(rules, table)
    classes = [f"probability_{k}" for k in range(len(rules.target.classes))]
    assert scored.columns == [*df.columns, "prediction", "leaf", *classes]
    kinds = {str: "string", int: "bigint", bool: "boolean", float: "double"}
    kind = kinds[type(expected.prediction[0])]
    types = [kind, "bigint", *["double"] * len(classes)]
    assert [name for _, name in scored.dtypes[len(df.columns) :]] == types
    rows = [tuple(row)[len(df.columns) :] for row in scored.orderBy("id").collect()]
    assert [row[0] for row in rows] == expected.prediction
    assert [row[1] for row in rows] == expected.leaf.tolist()
    if classes:
        assert [list(row[2:]) for row in rows] == expected.probabilities.tolist()


def test_scoring_keeps_the_partitions_and_finds_each_leaf_once(spark):
    rules = many_intervals(8)
    df, _ = frame_for(spark, rules)
    scored = score(df.repartition(3), rules)
    assert scored.rdd.getNumPartitions() == 3
    plan = scored._jdf.queryExecution().optimizedPlan().toString()
    assert "Join" not in plan
    assert plan.count("CASE WHEN") == 1


def test_interpreted_expressions_answer_alike(spark):
    """Spark falls back on them where code for a big tree would be too long."""
    rules = chain(50)
    df, table = frame_for(spark, rules)
    names = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        assert leaves(df, rules) == predict(rules, table).leaf.tolist()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize(
    "kind, values",
    [
        ("float", [-math.inf, 0.09999999403953552, 0.10000000149011612, math.inf, math.nan, None]),
        ("double", [-math.inf, 0.1, 0.10000000000000002, math.nextafter(0.1, 0), math.nan, None]),
        ("decimal(20,18)", [Decimal("0.1"), Decimal("0.099999999999999999"), Decimal("-1"), None]),
        ("bigint", [2**53 + 1, 0, 1, -1, None]),
        ("tinyint", [0, 1, None]),
        ("void", [None]),
    ],
)
@pytest.mark.parametrize("feature", [FeatureType.FLOAT64, FeatureType.FLOAT32])
def test_a_number_column_of_any_type_answers_as_the_interpreter(spark, feature, kind, values):
    rules = one_cut(Feature("x", feature), 0.1, missing=0)
    expected = predict(rules, Table.of({"x": np.array(values, object)})).leaf.tolist()
    assert leaves(frame(spark, {"x": values}, {"x": kind}), rules) == expected


def test_integers_are_compared_as_integers(spark):
    rules = one_cut(Feature("n", FeatureType.INTEGER), 2**53 + 1)
    values = [2**53, 2**53 + 1, INT64_MIN, None]
    assert leaves(frame(spark, {"n": values}, {"n": "bigint"}), rules) == [0, 1, 0, 1]


@pytest.mark.parametrize("missing, unseen", [(0, 1), (1, 0), (1, 1)])
def test_a_folding_collation_of_the_column_changes_nothing(spark, missing, unseen):
    split = SetSplit(
        "c", (Group(("abc", "é"), 0),), missing, (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0))), unseen
    )
    rules = Rules(
        "texts",
        Target("y", TargetType.BOOLEAN, (True, False)),
        (Feature("c", FeatureType.CATEGORY, ("abc", "é")),),
        split,
    )
    values = ["abc", "ABC", "abc ", "é", "É", "e\u0301", "", None, "other"]
    expected = predict(rules, Table.of({"c": values})).leaf.tolist()
    for kind in ("string", "string collate UTF8_LCASE", "string collate UNICODE_CI_AI_RTRIM"):
        df = frame(spark, {"c": values}, {"c": "string"})
        df = df.selectExpr("id", f"CAST(c AS {kind}) AS c")
        assert leaves(df, rules) == expected


@pytest.mark.parametrize(
    "kind, other, message",
    [
        ("float64", "string", r"column 'x': got the type string, expected a number \(tinyint"),
        ("float64", "boolean", "expected a number"),
        ("integer", "double", "expected a 64-bit whole number"),
        ("integer", "decimal(20,0)", "expected a 64-bit whole number"),
        ("boolean", "int", "expected false or true"),
        ("category", "int", "expected text"),
        ("category", "binary", "expected text"),
        ("float32", "timestamp", "got the type timestamp"),
        ("float32", "array<double>", "got the type array<double>"),
    ],
)
def test_a_column_of_another_type_is_named(spark, kind, other, message):
    leaf = (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0)))
    feature = Feature("x", FeatureType(kind), ("a",) if kind == "category" else ())
    match kind:
        case "boolean":
            split = SetSplit("x", (Group((False,), 0), Group((True,), 1)), 1, leaf)
        case "category":
            split = SetSplit("x", (Group(("a",), 0),), 1, leaf, 1)
        case _:
            split = NumericSplit("x", (Interval(1, 0), Interval(None, 1)), 1, leaf)
    rules = Rules("types", Target("y", TargetType.STRING, ("a", "b")), (feature,), split)
    df = frame(spark, {"x": [None]}, {"x": other})
    with pytest.raises(DataError, match=message):
        score(df, rules)


def test_a_column_that_lacks_or_has_a_twin_is_named(spark):
    rules = one_cut(Feature("weight", FeatureType.FLOAT64), 0.5)
    with pytest.raises(DataError, match="no column 'weight'; did you mean 'Weight'"):
        score(frame(spark, {"Weight": [1.0]}, {"Weight": "double"}), rules)
    for twin in ("Weight", "weight"):
        df = frame(spark, {"weight": [1.0], "t": [2.0]}, {"weight": "double", "t": "double"})
        df = df.withColumnRenamed("t", twin) if twin != "weight" else df.toDF("id", twin, twin)
        with pytest.raises(DataError, match=f"'weight', '{twin}' for one"):
            score(df, rules)


def test_an_output_never_hides_a_column(spark):
    rules = one_cut(Feature("x", FeatureType.FLOAT64), 0.5)
    types = {"x": "double", "Leaf": "int", "found": "int", "a`.b ${x}": "int"}
    df = frame(spark, {"x": [0.25, 0.75], **{name: [7, 8] for name in [*types][1:]}}, types)
    with pytest.raises(DataError, match="column 'Leaf' and the output 'leaf' clash; prefix="):
        score(df, rules)
    with pytest.raises(OptionError, match="prefix"):
        score(df, rules, 3)
    for prefix in ("p_", "`a.b` ${env:HOME} '"):
        scored = score(df, rules, prefix)
        assert scored.columns == [
            *df.columns,
            *(prefix + name for name in ("prediction", "leaf", "probability_0", "probability_1")),
        ]
        assert [tuple(row) for row in scored.orderBy("id").collect()] == [
            (0, 0.25, 7, 7, 7, "no", 0, 1.0, 0.0),
            (1, 0.75, 8, 8, 8, "ye's", 1, 0.25, 0.75),
        ]


def test_spark_reads_no_variables_in_texts_and_none_can_hide_in_a_name(spark):
    home = os.environ["HOME"]
    texts = ("${env:HOME}", home, "$${env:HOME}{", "\\${env:HOME}", "${x}")
    split = SetSplit(
        "c",
        tuple(Group((text,), k) for k, text in enumerate(texts)),
        5,
        tuple(Leaf(k, tuple(float(k == i) for i in range(6))) for k in range(6)),
        5,
    )
    rules = Rules(
        "${env:HOME} ${system:user.name}",
        Target("y", TargetType.STRING, (*texts, "?")),
        (Feature("c", FeatureType.CATEGORY, texts),),
        split,
    )
    df = frame(spark, {"c": [*texts, "other"]}, {"c": "string"})
    rows = score(df, rules).orderBy("id").collect()
    assert [row.leaf for row in rows] == [*range(6)]
    assert [row.prediction for row in rows] == [*texts, "?"]
    assert spark.sql("SELECT '${env:HOME}'").collect()[0][0] == home  # so the guard is needed
    hidden = one_cut(Feature("${env:HOME}", FeatureType.FLOAT64), 0.5)
    with pytest.raises(TargetError, match="variable"):
        score(frame(spark, {"${env:HOME}": [1.0]}, {"${env:HOME}": "double"}), hidden)


@pytest.mark.parametrize("setting", ["true", "false"])
def test_texts_are_read_alike_whatever_the_session_takes_for_an_escape(spark, setting):
    texts = ("o'b", 'say "no"', "back\\slash", "two\nlines", "tab\t", "${x}", "\\n", "plain")
    groups = tuple(Group((text,), i) for i, text in enumerate(texts))
    sure = [tuple(float(i == k) for k in range(len(texts))) for i in range(len(texts))]
    leaves = tuple(Leaf(i, value) for i, value in enumerate(sure))
    split = SetSplit("c", groups, 0, leaves, 1)
    feature = Feature("c", FeatureType.CATEGORY, texts)
    rules = Rules("texts", Target("y", TargetType.STRING, texts), (feature,), split)
    spark.conf.set("spark.sql.parser.escapedStringLiterals", setting)
    try:
        df = spark.createDataFrame([(text,) for text in texts], "c STRING")
        answers = [row.prediction for row in score(df, rules).collect()]
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")
    assert answers == list(texts)


def test_what_is_no_data_frame_is_refused():
    with pytest.raises(DataError, match="expected a Spark data frame"):
        score([1], single_leaf())


def test_a_session_is_silent_and_the_only_one_and_starts_again(spark):
    assert local_session() is spark
    code = """
from mbndt.spark import local_session
session = local_session(1)
assert session.sparkContext.master == "local[1]"
assert local_session(3) is session
session.stop()
assert local_session(3).range(4).count() == 4
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_a_session_lacks_is_named(monkeypatch):
    with pytest.raises(OptionError, match="cores: got 0, expected a whole number of at least 1"):
        local_session(0)
    monkeypatch.setattr(spark_engine, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match=r"pip install 'mbndt\[spark\]'"):
        local_session()
    monkeypatch.setattr(spark_engine, "find_spec", lambda name: name)
    monkeypatch.setattr(spark_engine.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineMissing, match="Java isn't installed: apt-get install"):
        local_session()
