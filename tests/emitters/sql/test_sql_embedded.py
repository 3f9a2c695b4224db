"""SQL in the engines that take Arrow tables, ClickHouse, DataFusion and Spark: what they say
differently, over columns of their own types.
"""

import math
import random

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from sql_embedded import ENGINES, Tables, agrees, available
from sql_rules import X, nesting, one_group, one_split, sql
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.verify import check
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.interpreter import predict
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)
from mbndt.tables.table import Table


@pytest.fixture(params=ENGINES)
def dialect(request):
    return available(request.param)


def test_an_engine_reads_every_literal_as_its_double(dialect):
    draw = random.Random(5)
    count = 1000 if dialect == "spark" else 5_000
    doubles = [10 ** draw.uniform(-323, 308) for _ in range(count)]
    doubles += [10 ** draw.uniform(-12, 19) for _ in range(count)]
    doubles += [-draw.randrange(1, 10**6) / 10 ** draw.randrange(1, 7) for _ in range(count)]
    doubles += [
        5e-324,
        -5e-324,
        1.7976931348623157e308,
        2.2250738585072014e-308,
        2.0**62 * 3,
        1e22,
        1e23,
        2.0**63,
        2.0**64,
        9007199254740993.0,
        0.0,
    ]
    words, tables = sql_dialects.dialect(dialect), Tables(dialect)
    rows = {
        "clickhouse": "SELECT arrayJoin([{}])",
        "datafusion": "SELECT unnest([{}]) AS d",
        "spark": "VALUES {}",
    }[dialect]
    for start in range(0, len(doubles), 1000):
        part = doubles[start : start + 1000]
        listed = ", ".join(words.say(value).sql(dialect=dialect) for value in part)
        assert [row[0] for row in tables.rows(rows.format(listed))] == part


def test_old_sparks_that_make_decimals_of_exponents_read_doubles_too():
    tables = Tables(available("spark"))
    name = "spark.sql.legacy.exponentLiteralAsDecimal.enabled"
    try:
        tables.session.conf.set(name, "true")
        kinds = [
            str(tables.table(f"SELECT {d} AS d").schema.field("d").type)
            for d in ("0.1E0", sql_dialects.dialect("spark").say(0.1).sql(dialect="spark"))
        ]
        assert kinds == ["decimal128(1, 1)", "double"]
        agrees(one_split(X, [-1e300, 5e-324, 0.1]), "spark")
    finally:
        tables.session.conf.set(name, "false")


@pytest.mark.parametrize("feature", [FeatureType.FLOAT64, FeatureType.FLOAT32])
@pytest.mark.parametrize("kind", ["float", "double", "integer"])
def test_number_columns_answer_as_the_interpreter_and_any_nan_is_missing(dialect, feature, kind):
    cuts = [-3.4e38, -0.1, 0.0, 1e-45, 0.1, 0.3, 16777217.0, 3.4028234663852886e38]
    near = np.array(cuts, np.float32)
    ends = np.float32([-np.inf, np.inf])
    with np.errstate(over="ignore"):
        beside = [np.nextafter(near, end) for end in ends]
    values = np.concatenate([near, *beside, ends, np.float32([-0.0])]).astype(float).tolist()
    minus_nan = math.copysign(math.nan, -1.0)  # what 0 / 0 gives on most processors
    values += [] if kind == "float" else [*cuts, *(math.nextafter(cut, -math.inf) for cut in cuts)]
    values += [None, math.nan, minus_nan]
    if kind == "integer":
        values = [-1, 0, 1, 16777216, 16777217, 16777218, None]
    tables = Tables(dialect)
    tables.fill({"x": values}, {"x": kind})
    for missing in (0, 3, len(cuts)):
        rules = one_split(Feature("x", feature), cuts, missing)
        expected = predict(rules, Table.of({"x": np.array(values, object)})).leaf.tolist()
        assert tables.leaves(sql(rules, dialect)) == expected


@pytest.mark.parametrize("kind", [FeatureType.FLOAT64, FeatureType.FLOAT32])
@pytest.mark.parametrize("missing", [0, 1])
def test_path_conditions_keep_any_nan_from_the_open_ends(dialect, kind, missing, monkeypatch):
    """The child of missing values is the largest, so that no test comes before its own."""
    nesting(monkeypatch, 0)
    inputs = (Feature("x", kind), Feature("z", kind))
    bushy = NumericSplit(
        "z", (Interval(0.0, 0), Interval(None, 1)), missing, (Leaf(0, 0.0), Leaf(1, 1.0))
    )
    minus_nan = math.copysign(math.nan, -1.0)
    columns = {"x": [math.nan, minus_nan, None, 1.0, -1.0], "z": [minus_nan, math.nan] + [None] * 3}
    tables = Tables(dialect)
    tables.fill(columns, {"x": "double", "z": "double"})
    for to, bounds in [(0, (0.0, None)), (1, (0.0, None))]:
        parts = tuple(Interval(bound, k ^ to) for k, bound in enumerate(bounds))
        children = (bushy, Leaf(2, 2.0))
        rules = Rules(
            "nan", Target("y", TargetType.FLOAT64), inputs, NumericSplit("x", parts, 0, children)
        )
        expected = [missing] * 3 + ([2, missing] if to == 0 else [missing, 2])
        assert tables.leaves(sql(rules, dialect)) == expected


def test_integers_are_compared_as_integers(dialect):
    big = 2**53 + 1
    rules = one_split(Feature("n", FeatureType.INTEGER), [big, INT64_MAX, 10**19])
    tables = Tables(dialect)
    tables.fill({"n": [big - 1, big, INT64_MAX, INT64_MIN, None]}, {"n": "integer"})
    assert tables.leaves(sql(rules, dialect)) == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    "kind, integers",
    [
        ("Float32", False),
        ("Float64", False),
        ("Int64", True),
        ("UInt8", True),
        ("Int16", True),
        ("LowCardinality(Nullable(Int64))", True),
    ],
)
def test_clickhouse_columns_may_be_narrow_and_hold_no_null(kind, integers):
    tables = Tables(available("clickhouse"))
    values = [0, 1, 2, 3]
    for feature in [X, Feature("x", FeatureType.INTEGER)] if integers else [X]:
        tables.session.query("SET allow_suspicious_low_cardinality_types = 1")
        tables.fill({"x": values}, {"x": kind})
        rules = one_split(feature, [-1, 2.0, 2**40])
        assert tables.leaves(sql(rules, "clickhouse")) == [1, 1, 2, 2]


@pytest.mark.parametrize("levels", [0, 32])
@pytest.mark.parametrize("missing, unseen", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(
    "kind",
    [
        "Nullable(String)",
        "LowCardinality(String)",
        "LowCardinality(Nullable(String))",
        "String",
        "Enum8('abc' = 1, 'é' = 2, 'other' = 3, '' = 4)",
    ],
)
def test_clickhouse_texts_of_any_type_answer_alike(kind, missing, unseen, levels, monkeypatch):
    nesting(monkeypatch, levels)
    tables = Tables(available("clickhouse"))
    rules = one_group("c", ("abc", "é"), missing=missing, unseen=unseen)
    values = ["abc", "é", "", "other"]
    values += [] if "Enum" in kind else ["ABC", "abc ", "É", "e\u0301"]
    values += [None] if "Nullable" in kind else []
    tables.fill({"c": values}, {"c": kind})
    expected = predict(rules, Table.of({"c": values})).leaf.tolist()
    assert tables.leaves(sql(rules, "clickhouse")) == expected


def test_path_conditions_answer_as_the_interpreter(dialect, monkeypatch):
    nesting(monkeypatch, 1)

    @settings(max_examples=6 if dialect == "spark" else 25)
    @given(rule_trees(depth=6))
    @case(many_intervals())
    @case(regression())
    @case(chain(12))
    def agree(rules):
        agrees(rules, dialect)

    agree()


@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_tree_as_deep_as_nesting_goes_and_deeper_answers_as_the_interpreter(dialect, step):
    depth = [sql_dialects.dialect(dialect).nesting, 50, 500][step]
    if (dialect, depth) == ("spark", 500):
        depth = 200  # each class of Java that it makes is slow to load
    agrees(chain(depth), dialect, 300)


def test_conditions_fit_the_engine_at_the_depth_where_nesting_ends(dialect):
    """Within a view, as the first of two ways, beside ranges that need brackets."""
    depth = sql_dialects.dialect(dialect).nesting
    node = Leaf(0, 0.0)
    for level in range(depth):
        parts = tuple(Interval(t, k % 2) for k, t in enumerate([0.1, 0.2, 17.5, 20.0, 30.0, None]))
        node = NumericSplit("x", parts, 0, (node, Leaf(level + 1, float(level + 1))))
    rules = Rules(
        "nested", Target("y", TargetType.FLOAT64), (Feature("x", FeatureType.FLOAT32),), node
    )
    tables = Tables(dialect)
    data = tables.fill_for(rules)
    text = sql(rules, dialect)
    assert text.count("CASE") == depth
    assert tables.leaves(text) == predict(rules, data).leaf.tolist()
    if dialect != "spark":  # whose views that last see no table of a session alone
        tables.rows(sql(rules, dialect, **{"as": "view"}))
        assert tables.leaves("SELECT * FROM nested") == predict(rules, data).leaf.tolist()
        tables.rows("DROP VIEW nested")


def test_a_thousand_intervals_to_two_children_are_one_condition(dialect):
    parts = tuple(Interval(t, k % 2) for k, t in enumerate([*map(float, range(1000)), None]))
    leaves = (Leaf(0, (0.5, 0.5)), Leaf(1, (0.25, 0.75)))
    rules = Rules(
        "comb", Target("y", TargetType.INTEGER, (0, 1)), (X,), NumericSplit("x", parts, 1, leaves)
    )
    table = Table.of({"x": np.arange(-1, 1001, 0.5)})
    found = check(rules, "sql", {"dialect": dialect}, [table])
    assert (found.outcome, found.mismatches) == ("agrees", 0), found


@pytest.mark.parametrize(
    "classes",
    [
        ("a", "b'\n\"*/;--\\"),
        (INT64_MIN, INT64_MAX),
        (-1, 0),
        (False, True),
        (True,),
        (3,),
    ],
)
def test_labels_keep_their_type_and_probabilities_are_doubles(dialect, classes):
    kind = {str: "string", int: "integer", bool: "boolean"}[type(classes[0])]
    leaves = tuple(
        Leaf(k, tuple(float(k == i) for i in range(len(classes)))) for k in range(len(classes))
    )
    parts = tuple(
        Interval(None if k == len(classes) - 1 else float(k), k) for k in range(len(classes))
    )
    rules = Rules(
        "types", Target("y", TargetType(kind), classes), (X,), NumericSplit("x", parts, 0, leaves)
    )
    agrees(rules, dialect, 20)
    tables = Tables(dialect)
    tables.fill({"x": [0.0]}, {"x": "double"})
    schema = tables.table(sql(rules, dialect)).schema
    assert str(schema.field("probability_0").type) == "double"
    assert "int" in str(schema.field("leaf").type)
    assert (
        str(schema.field("prediction").type)
        .removeprefix("u")
        .startswith({"string": "string", "integer": "int", "boolean": "bool"}[kind])
    )


@pytest.mark.parametrize("make", [lambda: chain(6), regression, single_leaf])
def test_every_output_of_an_expression_answers_as_the_interpreter(dialect, make):
    rules, tables = make(), Tables(dialect)
    data = tables.fill_for(rules)
    expected = predict(rules, data)
    outputs = {"leaf": expected.leaf.tolist()}
    outputs["label" if rules.target.classes else "value"] = expected.prediction
    if rules.target.classes:
        outputs["probability_1"] = expected.probabilities[:, 1].tolist()
    for output, answers in outputs.items():
        text = sql(rules, dialect, output=output, table="data", **{"as": "expression"})
        rows = tables.rows(f"SELECT id, {text} AS y FROM data")
        assert [row[1] for row in sorted(rows)] == answers


@pytest.mark.parametrize("missing, unseen", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("levels", [0, 32])
def test_the_blanks_that_fill_a_char_of_spark_are_none_of_its_text(
    missing, unseen, levels, monkeypatch, tmp_path
):
    nesting(monkeypatch, levels)
    tables = Tables(available("spark"))
    cells = {
        "char(6)": ["gold", "tin", "", None, "lead"],
        "string": ["gold", "gold ", " gold", "", None, "lead"],
        "varchar(6)": ["tin", "tin ", "", None],
    }
    categories = ("gold", "tin", "lead")
    for kind, values in cells.items():
        tables.session.sql("DROP TABLE IF EXISTS filled")
        place = tmp_path / kind.strip("()6")
        tables.session.sql(
            f"CREATE TABLE filled (id INT, c {kind}) USING parquet LOCATION '{place}'"
        )
        rows = ", ".join(f"({i}, {'NULL' if v is None else repr(v)})" for i, v in enumerate(values))
        tables.session.sql(f"INSERT INTO filled VALUES {rows}")
        for group in (("gold",), ("gold", "tin")):
            rules = one_group("c", group, categories, missing=missing, unseen=unseen)
            expected = predict(rules, Table.of({"c": values})).leaf.tolist()
            assert tables.leaves(sql(rules, "spark", table="filled")) == expected, (kind, group)
    # As the table's values are with their blanks.
    rules = one_group("c", ("tin   ",), ("tin   ", "gold"))
    tables.session.sql("DROP TABLE IF EXISTS filled")
    tables.session.sql(
        f"CREATE TABLE filled (id INT, c CHAR(6)) USING parquet LOCATION '{tmp_path / 'blanks'}'"
    )
    tables.session.sql("INSERT INTO filled VALUES (0, 'tin'), (1, 'gold')")
    assert tables.leaves(sql(rules, "spark", table="filled")) == [0, 1]
    tables.session.sql("DROP TABLE filled")
