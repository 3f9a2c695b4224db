"""Names in ClickHouse, DataFusion and Spark, and these engines where they lack."""

import os
import sys
from dataclasses import replace

import pytest
from sql_embedded import ENGINES, Tables, agrees, available
from sql_rules import X, one_group, one_split, sql, twins
from strategies import HOSTILE_TEXTS, chain, regression, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.engines.base import engine
from mbndt.errors import EngineMissing, TargetError
from mbndt.interpreter import predict
from mbndt.rules import (
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
from mbndt.tables.table import Table


@pytest.fixture(params=ENGINES)
def dialect(request):
    return available(request.param)


@pytest.mark.parametrize("taken", ["leaf", "prediction", "probability_1"])
def test_an_unrelated_column_named_as_an_output_is_an_error(dialect, taken):
    """ClickHouse, left alone, would answer with the table's own column."""
    rules, tables = one_split(X, [0.5]), Tables(dialect)
    tables.fill({"x": [0.0], taken: [7]}, {"x": "double", taken: "integer"})
    for form in ("select", "view"):
        if (form, dialect) != ("view", "spark"):
            with pytest.raises(Exception, match=f"(?i)ambiguous.*{taken}"):
                tables.rows(sql(rules, dialect, **{"as": form}))
    found = tables.table(sql(rules, dialect, prefix="p_"))
    assert found.column_names == [
        "id",
        "x",
        taken,
        *(f"p_{name}" for name in ("prediction", "leaf", "probability_0", "probability_1")),
    ]
    assert found["p_leaf"].to_pylist() == [0]


@pytest.mark.parametrize("prefix", ["p \"'`\\", "é\n", "--", "/*", "a.b", "x) String, ("])
def test_hostile_prefixes(dialect, prefix):
    rules, tables = one_split(X, [0.5, 5e-324][::-1]), Tables(dialect)
    tables.fill({"x": [0.0, 0.25, 0.5]}, {"x": "double"})
    found = tables.table(sql(rules, dialect, prefix=prefix))
    assert found.column_names[2:4] == [prefix + "prediction", prefix + "leaf"]
    assert found[prefix + "leaf"].to_pylist() == [0, 1, 2]
    assert found[prefix + "probability_1"].to_pylist() == [1.0, 0.875, 0.75]


@pytest.mark.parametrize(
    "name", ["q\"'`; DROP TABLE x; --", "with blank", "answers", "é😀\\n", "select", "a.b"]
)
def test_hostile_table_names(dialect, name):
    rules, tables = chain(3), Tables(dialect)
    data = tables.fill_for(rules, name=name)
    expected = predict(rules, data).leaf.tolist()
    option = '"' + name.replace('"', '""') + '"'
    assert tables.leaves(sql(rules, dialect, table=option)) == expected
    tool = emitter("sql", dialect=dialect, table=option)
    assert tool.run(tool.emit(rules), data).leaf.tolist() == expected


def test_all_hostile_names_and_texts_at_once(dialect):
    folded = {sql_dialects.java_case(text): text for text in HOSTILE_TEXTS}
    outputs = ("leaf", "prediction", "probability_0")
    names = [n for n in folded.values() if n not in outputs and "${" not in n]
    node = Leaf(len(names), 0.0)
    for level, name in reversed(list(enumerate(names))):
        node = SetSplit(
            name, (Group((names[level - 1],), 0),), 1, (Leaf(level, float(level)), node), 1
        )
    features = tuple(
        Feature(name, FeatureType.CATEGORY, (names[level - 1],)) for level, name in enumerate(names)
    )
    agrees(Rules("*/ '", Target("y", TargetType.FLOAT64), features, node), dialect, 100)


TWINS = [("a", "A"), ("É", "é"), ("ı", "i"), ("İ", "i̇"), ("k", "\u212a"), ("ß", "ẞ"), ("σ", "ς")]


@pytest.mark.parametrize("first, second", TWINS)
def test_columns_are_refused_where_the_engine_takes_them_for_one(dialect, first, second):
    try:
        text = sql(twins(first, second), dialect)
    except TargetError as error:
        assert "for one" in str(error)
        assert dialect == "spark"
        return
    tables = Tables(dialect)
    tables.fill(
        {first: [-1.0, -1.0, 1.0], second: [-1.0, 1.0, -1.0]}, {first: "double", second: "double"}
    )
    assert tables.leaves(text) == [0, 1, 2]


@pytest.mark.parametrize("dialect", ["spark", "databricks", "spark2"])
def test_variables_of_spark_stay_texts_and_are_refused_as_names(dialect):
    texts = ("${env:HOME}", "a${", "}", "${spark.app.name}", "\\${x}")
    text = sql(replace(one_group("c", texts), name="${env:HOME}"), dialect)
    assert "${" not in text
    assert "CONCAT('', '" not in text
    message = r"reads the name of a variable in '\$\{env:HOME\}"
    for refused in (
        lambda: sql(one_group("${env:HOME}", ("a",)), dialect),
        lambda: sql(single_leaf(), dialect, prefix="${env:HOME}"),
        lambda: sql(single_leaf(), dialect, table="${env:HOME}"),
        lambda: sql(single_leaf(), dialect, view="${env:HOME}", **{"as": "view"}),
    ):
        with pytest.raises(TargetError, match=message):
            refused()
    if dialect == "spark":
        available("spark")
        values = [*texts, os.environ["HOME"], "${"]
        rules = replace(one_group("c", texts), target=Target("y", TargetType.STRING, texts[:2]))
        found = check(rules, "sql", {"dialect": "spark"}, [Table.of({"c": values})])
        assert (found.outcome, found.mismatches) == ("agrees", 0), found


def test_databricks_has_the_words_of_spark(example):
    for rules in (example, chain(40), regression(), single_leaf()):
        for form in ("select", "expression"):
            first, second = (sql(rules, d, **{"as": form}) for d in ("spark", "databricks"))
            assert first == second


@pytest.mark.parametrize(
    "name, package",
    [
        ("clickhouse", "chdb"),
        ("datafusion", "datafusion"),
        ("spark", "pyspark"),
        ("clickhouse", "pyarrow"),
    ],
)
def test_a_missing_engine_says_what_to_install(name, package, monkeypatch):
    for other in ("chdb", "datafusion", "pyspark"):
        if other != package:
            monkeypatch.setitem(sys.modules, other, os)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EngineMissing, match=f"{package} isn.t installed: pip install .*{package}"):
        engine(name)


def test_spark_without_java_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyspark", os)
    monkeypatch.setitem(sys.modules, "pyarrow", os)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineMissing, match="Java isn't installed: apt-get install"):
        engine("spark")


def test_a_column_that_is_named_as_another_with_its_table_is_not_taken_for_it():
    available("clickhouse")
    for names in (("a", "data.a"), ("data", "data.data"), ("*", "data.*"), ("a", "answers.leaf")):
        leaves = tuple(Leaf(i, (i / 4, 1 - i / 4)) for i in range(3))
        other = NumericSplit(names[1], (Interval(0.5, 0), Interval(None, 1)), 0, leaves[:2])
        root = NumericSplit(names[0], (Interval(0.5, 0), Interval(None, 1)), 0, (other, leaves[2]))
        features = tuple(Feature(name, FeatureType.FLOAT64) for name in names)
        rules = Rules("r", Target("y", TargetType.STRING, ("no", "yes")), features, root)
        found = check(rules, "sql", {"dialect": "clickhouse"}, [boundary_rows(rules, 60)])
        assert (found.outcome, found.mismatches) == ("agrees", 0), (names, found.note)
