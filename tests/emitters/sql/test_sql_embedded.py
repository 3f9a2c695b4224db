"""SQL in the engines that take Arrow tables, ClickHouse, DataFusion and Spark: what they say
differently, over columns of their own types.
"""

import math
import os
import random
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from sql_rules import X, nesting, one_group, one_split, sql, twins
from strategies import HOSTILE_TEXTS, chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.engines.base import engine
from mbndt.errors import EngineMissing, TargetError
from mbndt.interpreter import predict
from mbndt.rules import (
    INT64_MAX,
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
from mbndt.spark import local_session
from mbndt.tables.table import Table

ENGINES = ["clickhouse", "datafusion", "spark"]
COLUMNS = {
    "clickhouse": {
        "float": "Nullable(Float32)",
        "double": "Nullable(Float64)",
        "integer": "Nullable(Int64)",
        "boolean": "Nullable(Bool)",
        "text": "Nullable(String)",
    },
    "datafusion": {
        "float": "REAL",
        "double": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "text": "VARCHAR",
    },
    "spark": {
        "float": "FLOAT",
        "double": "DOUBLE",
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "text": "STRING",
    },
}
KINDS = {
    "float64": "double",
    "float32": "double",
    "integer": "integer",
    "boolean": "boolean",
    "category": "text",
}


@pytest.fixture(params=ENGINES)
def dialect(request):
    return available(request.param)


def available(dialect):
    try:
        engine(dialect)
    except EngineMissing as error:
        pytest.skip(str(error))
    return dialect


def quoted(dialect, name):
    if dialect == "spark":
        return "`" + name.replace("`", "``") + "`"
    name = name.replace("\\", "\\\\") if dialect == "clickhouse" else name
    return '"' + name.replace('"', '""') + '"'


class Tables:
    """An engine with tables of typed columns, spelt here without any help of sqlglot."""

    def __init__(self, dialect):
        self.dialect = dialect
        match dialect:
            case "clickhouse":
                from mbndt.emitters.sql.engines.arrow import _clickhouse

                self.session = _clickhouse()
            case "datafusion":
                import datafusion

                self.session = datafusion.SessionContext()
            case "spark":
                self.session = local_session(1)

    def table(self, text):
        """Return a statement's rows as an Arrow table."""
        text = text.rstrip(";\n")
        match self.dialect:
            case "clickhouse":
                return self.session.query(text, "ArrowTable")
            case "datafusion":
                return self.session.sql(text).to_arrow_table()
            case _:
                return self.session.sql(text).toArrow()

    def rows(self, text):
        return list(zip(*(column.to_pylist() for column in self.table(text).columns), strict=True))

    def leaves(self, text):
        found = self.table(text)
        order = np.argsort(found["id"].to_numpy())
        return found["leaf"].to_numpy()[order].tolist()

    def fill(self, columns, types, name="data"):
        """Create a table of `columns`, name to values, in which `id` counts the rows."""
        import pyarrow

        count = len(next(iter(columns.values()), range(3)))
        arrays = [pyarrow.array(range(count)), *map(pyarrow.array, columns.values())]
        plain = pyarrow.table(arrays, names=["id", *columns])
        own, name = self.own_names(plain), quoted(self.dialect, name)
        kinds = [COLUMNS[self.dialect].get(kind, kind) for kind in types.values()]
        listed = [
            f"CAST(c{k} AS {kind}) AS {quoted(self.dialect, column)}"
            for k, (column, kind) in enumerate(zip(columns, kinds, strict=True), start=1)
        ]
        select = f"SELECT {', '.join(['c0 AS id', *listed])} FROM plain"
        match self.dialect:
            case "clickhouse":
                self.session.query(f"DROP TABLE IF EXISTS {name}")
                select = select.replace("FROM plain", "FROM Python(own)")
                self.session.query(f"CREATE TABLE {name} ENGINE = Memory AS {select}")
            case "datafusion":
                self.session.deregister_table("plain")
                self.session.from_arrow(own, "plain")
                self.session.sql(f"CREATE OR REPLACE TABLE {name} AS {select}").collect()
            case _:
                self.session.createDataFrame(own).createOrReplaceTempView("plain")
                self.session.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {select}")

    def own_names(self, plain):
        return plain.rename_columns([f"c{k}" for k in range(plain.num_columns)])

    def fill_for(self, rules, rows=40, name="data"):
        """Create a table for rules, and return its rows as the interpreter reads them."""
        data = boundary_rows(rules, rows) if rules.features else Table({}, 3)
        types = {feature.name: KINDS[feature.type] for feature in rules.features}
        columns = {name: list(data.column(name)) for name in types}
        self.fill(columns, types, name)
        return data


def agrees(rules, dialect, rows=60):
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, rows)])
    assert (found.outcome, found.mismatches) == ("agrees", 0), (found.note, found.first)


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
