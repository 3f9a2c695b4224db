"""Rules as a function, created and called in PostgreSQL and DuckDB; elsewhere its text."""

import math
from dataclasses import replace

import duckdb
import pytest
import sqlglot
from hypothesis import example as case
from hypothesis import given, settings
from sql_rules import X, one_group, one_split, sql, twins
from strategies import HOSTILE_TEXTS, chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters import emit
from mbndt.emitters.sql.engines.servers import Postgres
from mbndt.emitters.sql.options import DIALECTS
from mbndt.errors import EngineMissing, OptionError, TargetError
from mbndt.interpreter import predict
from mbndt.rules import Feature, FeatureType, Leaf, Rules, Target, TargetType
from mbndt.tables.table import Table

RUN = ["duckdb", "postgres"]
FUNCTIONS = [*RUN, "bigquery", "snowflake"]
TYPES = {
    "float64": "double precision",
    "float32": "double precision",
    "integer": "bigint",
    "boolean": "boolean",
    "category": "text",
}


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Engine:
    """DuckDB or PostgreSQL, in which nothing is left of what a test does."""

    def __init__(self, dialect):
        self.dialect = dialect
        if dialect == "duckdb":
            self.connection = duckdb.connect()
        else:
            try:
                self.connection = Postgres().connection
            except EngineMissing as error:
                pytest.skip(str(error))

    def __enter__(self):
        self.connection.execute("BEGIN")
        return self

    def __exit__(self, *_):
        self.connection.execute("ROLLBACK")
        if self.dialect == "duckdb":
            self.connection.close()

    def rows(self, text):
        found = self.connection.execute(text)
        return found.fetchall() if found.description else []

    def call(self, rules, table, called=None, **options):
        """Create the function, and return what it answers for each row."""
        self.rows(sql(rules, dialect=self.dialect, **{"as": "function"}, **options))
        names = [feature.name for feature in rules.features]
        listed = ["id bigint", *(f"c{k} {TYPES[f.type]}" for k, f in enumerate(rules.features))]
        self.rows("DROP TABLE IF EXISTS called")
        self.rows(f"CREATE TEMPORARY TABLE called ({', '.join(listed)})")
        marks = ", ".join(["?" if self.dialect == "duckdb" else "%s"] * (1 + len(names)))
        cells = zip(range(table.n_rows), *(table.column(name) for name in names), strict=True)
        cursor = self.connection if self.dialect == "duckdb" else self.connection.cursor()
        cursor.executemany(f"INSERT INTO called VALUES ({marks})", [list(row) for row in cells])
        called = called or quoted(options.get("function") or emit(rules, "sql", prefix="p").name)
        arguments = ", ".join(f"c{k}" for k in range(len(names)))
        answers = self.rows(f"SELECT id, {called}({arguments}) FROM called")
        return [answer for _, answer in sorted(answers, key=lambda row: row[0])]


def same(found, expected):
    return [(type(x), x) for x in found] == [(type(x), x) for x in expected]


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize(
    "make",
    [
        lambda: chain(6),
        lambda: chain(50),
        regression,
        single_leaf,
        many_intervals,
    ],
)
def test_every_output_answers_as_the_interpreter(dialect, make):
    rules = make()
    table = boundary_rows(rules, 60)
    expected = predict(rules, table)
    outputs = {"leaf": expected.leaf.tolist()}
    outputs["label" if rules.target.classes else "value"] = expected.prediction
    for k in range(len(rules.target.classes)):
        outputs[f"probability_{k}"] = expected.probabilities[:, k].tolist()
    for output, answers in outputs.items():
        with Engine(dialect) as engine:
            assert same(engine.call(rules, table, output=output), answers), output
    with Engine(dialect) as engine:
        assert same(engine.call(rules, table), expected.prediction)


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize("hostile", [False, True])
def test_a_function_answers_as_the_interpreter_on_drawn_trees(dialect, hostile):
    @settings(max_examples=25)
    @given(rule_trees(depth=3, hostile=hostile))
    @case(many_intervals())
    def agree(rules):
        table = boundary_rows(rules, 40)
        with Engine(dialect) as engine:
            try:
                found = engine.call(rules, table)
            except TargetError as error:
                assert "for one" in str(error)
                return
        assert same(found, predict(rules, table).prediction)

    agree()


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize(
    "name, called",
    [
        ("f", '"f"'),
        ("own.f", '"own"."f"'),
        ('own."f.g"', '"own"."f.g"'),
        ('"q""\'; DROP TABLE x; --"', '"q""\'; DROP TABLE x; --"'),
        ("select", '"select"'),
        ("é😀", '"é😀"'),
        ("$$", '"$$"'),
    ],
)
def test_a_function_has_the_name_that_it_is_given(dialect, name, called):
    rules = one_split(X, [1.0])
    with Engine(dialect) as engine:
        engine.rows("CREATE SCHEMA IF NOT EXISTS own")
        table = Table.of({"x": [0.5, 1.0, None]})
        assert engine.call(rules, table, called, function=name, output="leaf") == [0, 1, 1]


@pytest.mark.parametrize("dialect", RUN)
def test_texts_and_names_do_not_end_a_body(dialect):
    marks = ["$$", "$body1$", "$", "*/", "'; DROP TABLE called; --", '"', "\\", "$1", "END", "a\n"]
    for name in marks:
        rules = one_group(name, tuple(marks), missing=1)
        rules = replace(rules, target=Target("y", TargetType.STRING, ("$$", "\\'$body2$")))
        table = Table.of({name: [*marks, "other", "", None]})
        with Engine(dialect) as engine:
            found = engine.call(rules, table, function="f")
            assert same(found, predict(rules, table).prediction)


@pytest.mark.parametrize("dialect", RUN)
def test_parameters_are_all_features_in_their_order(dialect):
    inputs = [Feature(name, FeatureType.FLOAT64) for name in ("unused", "x", "b", "a")]
    rules = replace(one_split(X, [1.0]), features=tuple(inputs))
    with Engine(dialect) as engine:
        engine.rows(sql(rules, dialect=dialect, function="f", output="leaf", **{"as": "function"}))
        assert engine.rows("SELECT f(5, 0, 5, 5), f(0, 5, 0, 0)") == [(0, 1)]
        # A column named as a parameter is no parameter.
        swapped = 'SELECT f("x", "unused", 1, 1) FROM (SELECT 0 AS "unused", 5 AS "x") AS t'
        assert engine.rows(swapped) == [(0,)]
        if dialect == "postgres":
            assert engine.rows("SELECT f(unused => 5, a => 5, b => 5, x => 0)") == [(0,)]


@pytest.mark.parametrize("dialect", RUN)
def test_arguments_are_converted_to_the_parameters_types(dialect):
    for feature in (X, Feature("x", FeatureType.FLOAT32)):
        with Engine(dialect) as engine:
            options = {"as": "function", "function": "f", "output": "leaf"}
            engine.rows(sql(one_split(feature, [0.5, 2.0]), dialect=dialect, **options))
            nan = "CAST('nan' AS double precision)"
            arguments = [
                "NULL",
                nan,
                "1",
                "CAST(0.25 AS real)",
                "CAST(2.5 AS decimal(9, 3))",
                "CAST(2 AS smallint)",
                "-1e-320",
                "CAST('infinity' AS real)",
            ]
            (row,) = engine.rows("SELECT " + ", ".join(f"f({text})" for text in arguments))
            assert row == (1, 1, 1, 0, 2, 2, 0, 2)
            if dialect == "postgres":
                (kind,) = engine.rows("SELECT pg_typeof(f(1))")[0]
                assert kind == "bigint"


@pytest.mark.parametrize("dialect", RUN)
def test_a_function_is_not_replaced(dialect):
    text = sql(one_split(X, [0.0]), dialect=dialect, **{"as": "function"})
    with Engine(dialect) as engine:
        engine.rows(text)
        with pytest.raises(Exception, match="already exists"):
            engine.rows(text)


def test_postgres_may_inline_a_function_and_run_it_in_parallel():
    rules = one_split(X, [0.5])
    with Engine("postgres") as engine:
        engine.call(rules, Table.of({"x": [1.0]}), function="f")
        plan = "\n".join(row[0] for row in engine.rows("EXPLAIN VERBOSE SELECT f(c0) FROM called"))
        assert "CASE WHEN" in plan
        assert engine.rows("SELECT provolatile, proparallel FROM pg_proc WHERE proname = 'f'") in (
            [("i", "s")],
            [(b"i", b"s")],
        )


def wide(count):
    features = tuple(Feature(f"x{k}", FeatureType.FLOAT64) for k in range(count))
    return Rules("wide", Target("y", TargetType.FLOAT64), features, Leaf(0, 1.5))


def test_more_parameters_than_an_engine_takes_are_refused():
    arguments = ", ".join(["0"] * 100)
    with Engine("postgres") as engine:
        engine.rows(sql(wide(100), dialect="postgres", **{"as": "function"}))
        assert engine.rows(f"SELECT wide({arguments})") == [(1.5,)]
        text = sql(wide(100), dialect="postgres", **{"as": "function"})
        with pytest.raises(Exception, match="more than 100 arguments"):
            engine.rows(text.replace('"x0" ', '"x" double precision, "x0" '))
    with Engine("duckdb") as engine:
        engine.rows(sql(wide(1000), dialect="duckdb", **{"as": "function"}))
        assert engine.rows(f"SELECT wide({', '.join(['0'] * 1000)})") == [(1.5,)]
    for dialect, most in (("postgres", 100), ("bigquery", 256), ("snowflake", 500)):
        with pytest.raises(TargetError, match=f"{dialect} takes {most} parameters at most"):
            sql(wide(most + 1), dialect=dialect, **{"as": "function"})


def test_parameters_that_a_dialect_takes_for_one_are_refused_used_or_not():
    rules = replace(one_split(X, [0.0]), features=(X, Feature("X", FeatureType.FLOAT64)))
    assert sql(rules, dialect="duckdb")
    with pytest.raises(TargetError, match="for one"):
        sql(rules, dialect="duckdb", **{"as": "function"})
    with pytest.raises(TargetError, match="for one"):
        sql(twins("A", "a"), dialect="duckdb", **{"as": "function"})
    assert sql(rules, dialect="postgres", **{"as": "function"})


TEXTS = {
    "duckdb": ['CREATE MACRO "early_warning"(', '"lactate" DOUBLE', '"respiratory rate" BIGINT'],
    "postgres": [
        'CREATE FUNCTION "early_warning"(',
        '"lactate" DOUBLE PRECISION',
        "RETURNS TEXT",
        "LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE",
    ],
    "bigquery": [
        "CREATE FUNCTION `early_warning`(",
        "`lactate` FLOAT64",
        "RETURNS STRING AS (",
        "`on oxygen` BOOL",
        "`respiratory rate` INT64",
    ],
    "snowflake": [
        'CREATE FUNCTION "early_warning"(',
        '"lactate" DOUBLE',
        "RETURNS VARCHAR IMMUTABLE AS $$ CASE",
        "END $$;",
    ],
}


@pytest.mark.parametrize("dialect", FUNCTIONS)
def test_a_function_of_each_dialect(dialect, example):
    text = sql(example, dialect=dialect, **{"as": "function"})
    for word in TEXTS[dialect]:
        assert word in " ".join(text.split())
    assert text.endswith(";\n")
    assert "prefix" not in text
    kinds = {"leaf": ("BIGINT", "INT64"), "probability_0": ("DOUBLE", "FLOAT64")}
    for output, words in kinds.items():
        text = sql(example, dialect=dialect, output=output, **{"as": "function"})
        assert dialect == "duckdb" or any(f"RETURNS {word}" in text for word in words)


@pytest.mark.parametrize("dialect", FUNCTIONS)
def test_a_function_is_one_statement_whatever_the_texts(dialect):
    marks = tuple(text for text in HOSTILE_TEXTS if "${" not in text)
    rules = one_group("c", tuple(dict.fromkeys([*marks, "$$", "$body1$"])))
    for chosen in (rules, one_group("$$", ("a", "'$$\\"))):
        text = sql(chosen, dialect=dialect, **{"as": "function"})
        text = text.replace(" PARALLEL SAFE", "")  # which sqlglot doesn't read
        (tree,) = sqlglot.parse(text, dialect=dialect)
        assert (type(tree), tree.kind in ("FUNCTION", "MACRO")) == (sqlglot.exp.Create, True)
        body = tree.expression.this
        if dialect in ("postgres", "snowflake"):
            body = sqlglot.parse_one(str(body), dialect=dialect)
        texts = {text.name for text in body.find_all(sqlglot.exp.Literal, sqlglot.exp.ByteString)}
        values = {value for group in chosen.root.groups for value in group.values}
        assert values <= texts


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"dialect": "mysql"},
            "as: function is only for `dialect` duckdb, postgres, bigquery, snowflake, got mysql",
        ),
        ({"table": "t"}, "table: only for `as` expression or select or view, got function"),
        ({"view": "v"}, "view: only for `as` view"),
        ({"prefix": "p"}, "prefix: only for `as` select or view"),
        ({"function": "a..b"}, "function: got 'a..b'"),
        ({"function": "f", "as": "select"}, "function: only for `as` function"),
        ({"output": "labl"}, "did you mean 'label'"),
        ({"output": "label", "as": "view"}, "output: only for `as` expression or function"),
    ],
)
def test_a_wrong_option_is_named(options, message, example):
    with pytest.raises(OptionError) as caught:
        emit(example, "sql", **{"as": "function"} | options)
    assert message in str(caught.value)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in FUNCTIONS])
def test_other_dialects_have_no_function(dialect, example):
    with pytest.raises(OptionError, match="duckdb, postgres, bigquery, snowflake"):
        emit(example, "sql", dialect=dialect, **{"as": "function"})


def test_infinite_arguments_are_numbers():
    rules = one_split(X, [-1e308, 1e308], missing=1)
    for dialect in RUN:
        with Engine(dialect) as engine:
            table = Table.of({"x": [-math.inf, math.inf, math.nan]})
            assert engine.call(rules, table, output="leaf") == [0, 2, 1]
