"""The SQL target, run in DuckDB and SQLite; for other dialects, the words that they need."""

import math
import random
import re
import sqlite3
from dataclasses import replace

import duckdb
import numpy as np
import pytest
import sqlglot
from hypothesis import example as case
from hypothesis import given, settings
from sql_rules import X, nesting, one_group, one_split, sql, twins
from strategies import (
    HOSTILE_TEXTS,
    chain,
    many_intervals,
    regression,
    rule_trees,
    single_leaf,
)

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.options import DIALECTS
from mbndt.errors import DataError, EngineMissing, OptionError, TargetError
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
from mbndt.tables.table import Table

ENGINES = ["duckdb", "sqlite"]
TYPES = {
    "float64": "DOUBLE",
    "float32": "DOUBLE",
    "integer": "BIGINT",
    "boolean": "BOOLEAN",
    "category": "VARCHAR",
}
# Read one ulp off by SQLite 3.40.
MISREAD = [0.03499004043054443, 17.44188601917004, 5.739533395205902]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Engine:
    """DuckDB or SQLite with one table, filled row by row and without any help of sqlglot."""

    def __init__(self, dialect):
        connect = duckdb.connect if dialect == "duckdb" else sqlite3.connect
        self.connection = connect(":memory:")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def rows(self, text):
        return self.connection.execute(text).fetchall()

    def names(self, text):
        return [entry[0] for entry in self.connection.execute(text).description]

    def fill(self, columns, types, table='"data"'):
        """Create a table of `columns`, name to values, in which `id` counts the rows."""
        columns = {"id": range(len(next(iter(columns.values()), range(3)))), **columns}
        kinds = {"id": "BIGINT", **types}
        listed = ", ".join(f"{quoted(name)} {kinds[name]}" for name in columns)
        self.connection.execute(f"CREATE TABLE {table} ({listed})")
        marks = ", ".join("?" * len(columns))
        plain = [
            [cell.item() if isinstance(cell, np.generic) else cell for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        if plain:
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", plain)

    def fill_for(self, rules, rows=40, table='"data"'):
        """Create a table for rules, and return its rows as the interpreter reads them."""
        rows = rows if rules.features else 3
        data = boundary_rows(rules, rows).take(np.arange(rows))
        types = {feature.name: TYPES[feature.type] for feature in rules.features}
        self.fill({name: data.column(name) for name in types}, types, table)
        return data


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("depth", [9, 10, 11, 12, 32, 33, 50, 500])
def test_a_deep_tree_answers_as_the_interpreter(dialect, depth):
    rules = chain(depth)
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 300)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found


@pytest.mark.parametrize("dialect", [*ENGINES, "postgres", "tsql"])
def test_path_conditions_grow_with_the_leaves_and_not_with_their_depth(dialect):
    short, long = (len(sql(chain(depth), dialect=dialect)) for depth in (100, 400))
    assert long < 4.5 * short


@pytest.mark.parametrize("dialect", ENGINES)
def test_path_conditions_answer_as_the_interpreter(dialect, monkeypatch):
    nesting(monkeypatch, 1)

    @settings(max_examples=25)
    @given(rule_trees(depth=6))
    @case(many_intervals())
    @case(regression())
    @case(chain(12))
    def agree(rules):
        found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 60)])
        assert found.mismatches == 0, found
        assert found.engine, found

    agree()


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_deep_tree_of_splits_with_one_child_needs_no_case(dialect):
    node = Leaf(0, 1.5)
    for _ in range(60):
        node = NumericSplit("x", (Interval(0.0, 0), Interval(None, 0)), 0, (node,))
    rules = Rules("narrow", Target("y", TargetType.FLOAT64), (X,), node)
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 9)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found


@pytest.mark.parametrize("missing", [0, 1])
def test_path_conditions_keep_nan_from_the_open_end(missing, monkeypatch):
    """The child of missing values is the largest, so that no test comes before its own."""
    nesting(monkeypatch, 1)
    inputs = (X, Feature("z", FeatureType.FLOAT64))
    bushy = NumericSplit(
        "z", (Interval(0.0, 0), Interval(None, 1)), missing, (Leaf(0, 0.0), Leaf(1, 1.0))
    )
    parts = (Interval(0.0, 0), Interval(None, 1))
    rules = Rules(
        "nan",
        Target("y", TargetType.FLOAT64),
        inputs,
        NumericSplit("x", parts, 0, (bushy, Leaf(2, 2.0))),
    )
    with Engine("duckdb") as engine:
        engine.fill({"x": [math.nan, 1.0, -1.0], "z": [math.nan] * 3}, TYPES_OF(inputs))
        assert [row[-1] for row in engine.rows(sql(rules))] == [missing, 2, missing]


@pytest.mark.parametrize("dialect", ENGINES)
def test_path_conditions_tell_all_numbers_from_missing_values(dialect, monkeypatch):
    nesting(monkeypatch, 1)
    bushy = replace(one_split(Feature("z", FeatureType.FLOAT64), [0.0]).root, missing=0)
    leaves = tuple(Leaf(k + 1, leaf.value) for k, leaf in enumerate(bushy.children))
    root = NumericSplit(
        "x", (Interval(None, 0),), 1, (Leaf(0, (1.0, 0.0)), replace(bushy, children=leaves))
    )
    rules = Rules(
        "all numbers",
        Target("y", TargetType.STRING, ("no", "yes")),
        (X, Feature("z", FeatureType.FLOAT64)),
        root,
    )
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 60)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found


def TYPES_OF(features):  # noqa: N802
    return {feature.name: TYPES[feature.type] for feature in features}


@pytest.mark.parametrize("dialect", ENGINES)
def test_conditions_fit_the_engine_at_the_depth_where_nesting_ends(dialect):
    """Inside a view, with literals as quotients, and ranges that need brackets."""
    depth = sql_dialects.dialect(dialect).nesting
    cuts = [*MISREAD, 20.0, 30.0]
    node = Leaf(0, 0.0)
    for level in range(depth):
        # The long way comes first, within the longest condition.
        parts = tuple(Interval(t, k % 2) for k, t in enumerate([*sorted(cuts), None]))
        node = NumericSplit("x", parts, 0, (node, Leaf(level + 1, float(level + 1))))
    rules = Rules(
        "nested", Target("y", TargetType.FLOAT64), (Feature("x", FeatureType.FLOAT32),), node
    )
    assert rules.depth == depth
    with Engine(dialect) as engine:
        data = engine.fill_for(rules)
        engine.rows(sql(rules, dialect=dialect, **{"as": "view"}))
        assert sql(rules, dialect=dialect).count("CASE") >= depth
        answers = engine.rows('SELECT "leaf" FROM "nested" ORDER BY "id"')
    assert [row[0] for row in answers] == predict(rules, data).leaf.tolist()


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_thousand_intervals_to_two_children_are_one_condition(dialect):
    cuts = [float(i) for i in range(3000)]
    parts = tuple(Interval(t, k % 2) for k, t in enumerate([*cuts, None]))
    leaves = (Leaf(0, (0.5, 0.5)), Leaf(1, (0.25, 0.75)))
    split = NumericSplit("x", parts, 1, leaves)
    rules = Rules("comb", Target("y", TargetType.INTEGER, (0, 1)), (X,), split)
    table = Table.of({"x": np.arange(-1, 3001, 0.5)})
    assert check(rules, "sql", {"dialect": dialect}, [table]).mismatches == 0


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("make", [lambda: chain(6), regression, single_leaf, many_intervals])
def test_every_output_of_an_expression_answers_as_the_interpreter(dialect, make):
    rules = make()
    with Engine(dialect) as engine:
        data = engine.fill_for(rules)
        expected = predict(rules, data)
        classes = range(len(rules.target.classes))
        outputs = {"label" if classes else "value": expected.prediction, "leaf": expected.leaf}
        outputs |= {f"probability_{k}": expected.probabilities[:, k] for k in classes}
        for output, answers in outputs.items():
            for table in ({}, {"table": "data"}):
                text = sql(rules, dialect=dialect, output=output, **{"as": "expression"}, **table)
                assert ";" not in text
                rows = engine.rows(f'SELECT {text} AS "y" FROM "data" ORDER BY "id"')
                assert [row[0] for row in rows] == list(answers)
        default = sql(rules, dialect=dialect, **{"as": "expression"})
        assert default == sql(
            rules, dialect=dialect, output=next(iter(outputs)), **{"as": "expression"}
        )


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("form", ["select", "view"])
def test_select_and_view_add_the_outputs_to_the_columns_in_order(dialect, form, example):
    with Engine(dialect) as engine:
        data = engine.fill_for(example)
        text = sql(example, dialect=dialect, **{"as": form})
        if form == "view":
            engine.rows(text)
            text = 'SELECT * FROM "early_warning"'
        inputs = ["id", *(feature.name for feature in example.features)]
        outputs = ["prediction", "leaf", "probability_0", "probability_1", "probability_2"]
        assert engine.names(text) == [*inputs, *outputs]
        rows = engine.rows(text)
    expected = predict(example, data)
    assert [row[0] for row in rows] == list(range(data.n_rows))
    assert [row[5] for row in rows] == expected.prediction
    assert [row[6] for row in rows] == expected.leaf.tolist()
    assert [list(row[7:]) for row in rows] == expected.probabilities.tolist()


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "classes",
    [
        ("a", "b'\n\"*/;--"),
        (INT64_MIN, INT64_MAX),
        (-1, 0),
        (False, True),
        (True,),
        ("only",),
    ],
)
def test_labels_keep_their_type(dialect, classes):
    kind = {str: "string", int: "integer", bool: "boolean"}[type(classes[0])]
    leaves = tuple(
        Leaf(k, tuple(float(k == i) for i in range(len(classes)))) for k in range(len(classes))
    )
    parts = tuple(
        Interval(None if k == len(classes) - 1 else float(k), k) for k in range(len(classes))
    )
    split = NumericSplit("x", parts, 0, leaves)
    rules = Rules("types", Target("y", TargetType(kind), classes), (X,), split)
    found = check(rules, "sql", {"dialect": dialect}, [boundary_rows(rules, 20)])
    assert (found.engine is not None, found.mismatches) == (True, 0), found
    if INT64_MIN in classes:  # elsewhere its digits make a decimal of the whole column
        assert f"CAST({INT64_MIN} AS BIGINT)" in sql(rules, dialect="postgres")
    if dialect == "duckdb":
        with Engine("duckdb") as engine:
            engine.fill_for(rules, 3)
            kinds = dict(row[:2] for row in engine.rows(f"DESCRIBE {sql(rules)}"))
        assert (
            kinds["prediction"]
            in {"string": ["VARCHAR"], "integer": ["BIGINT", "INTEGER"], "boolean": ["BOOLEAN"]}[
                kind
            ]
        )
        assert (kinds["leaf"], kinds["probability_0"]) == ("INTEGER", "DOUBLE")


def test_float_columns_answer_as_doubles_do():
    cuts = [-3.4e38, -0.1, 1e-45, 0.1, 0.3, 16777217.0, 3.4028234663852886e38]
    rules = one_split(Feature("x", FeatureType.FLOAT32), cuts)
    near = np.array(cuts, np.float32)
    ends = np.float32([-np.inf, np.inf])
    with np.errstate(over="ignore"):
        values = np.concatenate([near, *(np.nextafter(near, end) for end in ends), ends])
    expected = predict(rules, Table.of({"x": values}))
    with Engine("duckdb") as engine:
        engine.fill({"x": values.tolist()}, {"x": "FLOAT"})
        assert [row[3] for row in engine.rows(sql(rules))] == expected.leaf.tolist()


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "BIGINT", "DECIMAL(18, 3)"])
@pytest.mark.parametrize("feature", [X, Feature("x", FeatureType.FLOAT32)])
def test_nan_and_null_are_missing_in_duckdb_and_other_number_columns_work(kind, feature):
    rules = one_split(feature, [0.0, 2.0], missing=0)
    values = [None, -1, 0, 1, 2, 3]
    if kind in ("DOUBLE", "FLOAT"):
        values += [math.nan, -math.nan, math.inf, -math.inf]
    with Engine("duckdb") as engine:
        engine.fill({"x": values}, {"x": kind})
        found = [row[3] for row in engine.rows(sql(rules))]
    assert found == [0, 0, 1, 1, 2, 2, 0, 0, 2, 0][: len(values)]


def test_run_sends_nan_and_null_and_empty_texts_as_they_came():
    rules = one_split(X, [0.0], missing=0)
    tool = emitter("sql")
    table = Table.of({"x": np.array([math.nan, None, 1.0], object)})
    artifact = tool.emit(rules)
    assert tool.run(artifact, table).leaf.tolist() == [0, 0, 1]
    broken = replace(artifact, content=artifact.text.replace(' OR ISNAN("data"."x")', ""))
    assert broken.text != artifact.text
    assert tool.run(broken, table).leaf.tolist() == [1, 0, 1]
    single = one_split(Feature("x", FeatureType.FLOAT32), [0.1])
    artifact = tool.emit(single)
    table = Table.of({"x": [0.0999999999]})  # rounds up to the float32 next to 0.1
    assert tool.run(artifact, table).leaf.tolist() == [1]
    broken = replace(artifact, content=re.sub(r">= 0\.\d+E0", ">= 0.1E0", artifact.text))
    assert tool.run(broken, table).leaf.tolist() == [0]
    artifact = tool.emit(one_group("c", ("a",), missing=0))
    table = Table.of({"c": ["", None, "a", "b"]})
    assert tool.run(artifact, table).leaf.tolist() == [0, 0, 0, 1]
    broken = replace(artifact, content=artifact.text.replace("IN ('', 'a')", "IN ('a')"))
    assert broken.text != artifact.text
    assert tool.run(broken, table).leaf.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "option, table, setup",
    [
        ("a.b", '"a"."b"', "a"),
        ('"x.y"."z"', '"x.y"."z"', "x.y"),
        ('"a.b"', '"a.b"', None),
        ('"q""\'; DROP TABLE x; --"', '"q""\'; DROP TABLE x; --"', None),
        ("with blank", '"with blank"', None),
        ("answers", '"answers"', None),
        ("Answers", '"Answers"', None),
        ("select", '"select"', None),
        ("é😀\n", '"é😀\n"', None),
    ],
)
def test_hostile_table_and_view_names(dialect, option, table, setup, example):
    with Engine(dialect) as engine:
        if setup and dialect == "duckdb":
            engine.rows(f"CREATE SCHEMA {quoted(setup)}")
        elif setup:
            engine.rows(f"ATTACH ':memory:' AS {quoted(setup)}")
        data = engine.fill_for(example, table=table)
        expected = predict(example, data).leaf.tolist()
        rows = engine.rows(sql(example, dialect=dialect, table=option))
        assert [row[6] for row in rows] == expected
        text = sql(example, dialect=dialect, table=option, output="leaf", **{"as": "expression"})
        rows = engine.rows(f'SELECT {text} FROM {table} ORDER BY "id"')
        assert [row[0] for row in rows] == expected
        if not setup:
            view = '"v.""; --"'
            engine.rows(sql(example, dialect=dialect, table=option, view=view, **{"as": "view"}))
            rows = engine.rows(f'SELECT "leaf" FROM {view} ORDER BY "id"')
            assert [row[0] for row in rows] == expected


def test_a_duckdb_table_in_another_catalog(example):
    with Engine("duckdb") as engine:
        engine.rows("ATTACH ':memory:' AS \"c.c\"")
        engine.rows('CREATE SCHEMA "c.c"."s"')
        data = engine.fill_for(example, table='"c.c"."s"."t"')
        rows = engine.rows(sql(example, table='"c.c".s.t'))
    assert [row[6] for row in rows] == predict(example, data).leaf.tolist()


def test_a_file_is_a_table_in_duckdb(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Engine("duckdb") as engine:
        data = engine.fill_for(example)
        engine.rows("COPY data TO 'rows.parquet'")
        rows = engine.rows(sql(example, table='"rows.parquet"'))
    assert [row[6] for row in rows] == predict(example, data).leaf.tolist()


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("form", ["select", "view"])
@pytest.mark.parametrize("taken", ["leaf", "LEAF", "prediction", "probability_1"])
def test_an_unrelated_column_named_as_an_output_is_an_error(dialect, form, taken, example):
    """The engine refuses it: which of two columns of one name is read would be its choice."""
    with Engine(dialect) as engine:
        data = engine.fill_for(example)
        engine.rows(f'ALTER TABLE "data" ADD COLUMN {quoted(taken)} INTEGER DEFAULT 0')
        text = sql(example, dialect=dialect, **{"as": form})
        if form == "view" and dialect == "sqlite":  # it reads a view when it is asked
            engine.rows(text)
            text = 'SELECT * FROM "early_warning"'
        with pytest.raises((duckdb.Error, sqlite3.Error), match=re.compile(taken, re.IGNORECASE)):
            engine.rows(text)
        rows = engine.rows(sql(example, dialect=dialect, prefix='p"'))
        names = engine.names(sql(example, dialect=dialect, prefix='p"'))
    assert names[-5:-2] == ['p"prediction', 'p"leaf', 'p"probability_0']
    assert [row[-4] for row in rows] == predict(example, data).leaf.tolist()


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("name", ["leaf", "Prediction", "probability_0"])
def test_a_used_column_named_as_an_output_names_the_prefix(dialect, name):
    rules = one_split(Feature(name, FeatureType.FLOAT64), [0.5])
    for form in ("select", "view"):
        with pytest.raises(TargetError, match="prefix"):
            sql(rules, dialect=dialect, **{"as": form})
    found = check(rules, "sql", {"dialect": dialect, "prefix": "p_"}, [boundary_rows(rules, 9)])
    assert (found.engine is not None, found.mismatches) == (True, 0)
    assert sql(rules, dialect=dialect, **{"as": "expression"})


LONG = "é" * 31 + "ab"  # 64 bytes; PostgreSQL sees 63


@pytest.mark.parametrize(
    "first, second, refusing",
    [
        ("A", "a", ["duckdb", "sqlite", "mysql", "bigquery", "tsql", "spark"]),
        ("É", "é", ["mysql", "bigquery", "tsql", "spark"]),
        (LONG[:-1] + "b", LONG[:-1] + "c", ["postgres"]),
        (LONG[:-2] + "b", LONG[:-2] + "c", []),
        ("é", "e\u0301", []),
        ("a ", "a", ["mysql"]),  # which has no blank at the end of a name
    ],
)
def test_columns_that_a_dialect_takes_for_one_are_refused(first, second, refusing):
    rules = twins(first, second)
    for dialect in [
        "duckdb",
        "sqlite",
        "mysql",
        "bigquery",
        "tsql",
        "spark",
        "postgres",
        "snowflake",
        "oracle",
        "clickhouse",
    ]:
        for form in ("select", "expression"):
            if dialect in refusing:
                with pytest.raises(TargetError, match=r"for one|no column"):
                    sql(rules, dialect=dialect, **{"as": form})
            else:
                assert sql(rules, dialect=dialect, **{"as": form})
    for dialect in ENGINES:
        with Engine(dialect) as engine:
            try:
                engine.fill({first: [1.0], second: [2.0]}, {first: "DOUBLE", second: "DOUBLE"})
                apart = True
            except (duckdb.Error, sqlite3.Error):
                apart = False
        assert apart == (dialect not in refusing)


def test_a_prefix_that_postgres_cuts_is_refused():
    with pytest.raises(TargetError, match="prefix"):
        sql(single_leaf(), dialect="postgres", prefix="p" * 63)
    assert sql(single_leaf(), dialect="duckdb", prefix="p" * 63)


def test_unused_features_need_no_column():
    rules = replace(single_leaf(), features=(Feature("leaf", FeatureType.FLOAT64),))
    found = check(rules, "sql", {}, [Table({}, 3)])
    assert (found.rows, found.mismatches) == (3, 0)


def test_sqlite_reads_every_literal_as_its_double():
    draw = random.Random(5)
    doubles = [10 ** draw.uniform(-12, 19) for _ in range(20_000)]
    doubles += [draw.randrange(1, 10**6) / 10 ** draw.randrange(1, 7) for _ in range(2000)]
    doubles += [10 ** draw.uniform(-323, 308) for _ in range(2000)]
    doubles += [*MISREAD, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 2.0**62 * 3]
    words = sql_dialects.dialect("sqlite")
    with Engine("sqlite") as engine:
        read = [engine.rows(f"SELECT {value!r}")[0][0] for value in doubles]
        wrong = [value for value, got in zip(doubles, read, strict=True) if got != value]
        assert wrong, "this SQLite reads all doubles right: the check below proves nothing"
        for value in [*wrong, *doubles[:300], -MISREAD[0]]:
            (text,) = [words.say(value).sql(dialect="sqlite")]
            assert engine.rows(f"SELECT {text}") == [(value,)]
        for value in doubles[-3000:]:
            text = sql_dialects._of_integers(value)
            assert engine.rows(f"SELECT {text}") == [(value,)]


@pytest.mark.parametrize("kind", [FeatureType.FLOAT64, FeatureType.FLOAT32])
def test_sqlite_compares_with_literals_that_its_reader_misreads(kind):
    rules = one_split(
        Feature("x", kind), sorted(MISREAD), target=Target("y", TargetType.STRING, ("no", "yes"))
    )
    assert "1.0 * " in sql(rules, dialect="sqlite") or kind == FeatureType.FLOAT32
    found = check(rules, "sql", {"dialect": "sqlite"}, [boundary_rows(rules, 50)])
    assert (found.engine is not None, found.mismatches) == (True, 0)
    values = Rules(
        "v",
        Target("y", TargetType.FLOAT64),
        (Feature("x", kind),),
        NumericSplit(
            "x",
            (Interval(1.0, 0), Interval(None, 1)),
            0,
            (Leaf(0, MISREAD[0]), Leaf(1, -MISREAD[1])),
        ),
    )
    assert check(values, "sql", {"dialect": "sqlite"}, [boundary_rows(values, 9)]).mismatches == 0


def test_integers_are_compared_as_integers():
    big = 2**53 + 1
    rules = one_split(Feature("n", FeatureType.INTEGER), [big, 10**19])
    for dialect in ENGINES:
        with Engine(dialect) as engine:
            engine.fill({"n": [big - 1, big, INT64_MAX, INT64_MIN, None]}, {"n": "BIGINT"})
            rows = engine.rows(sql(rules, dialect=dialect))
        assert [row[3] for row in rows] == [0, 1, 1, 0, 1]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("missing, unseen", [(0, 1), (1, 0), (1, 1)])
def test_a_folding_collation_of_the_column_changes_nothing(dialect, missing, unseen):
    rules = one_group("c", ("abc", "é"), missing=missing, unseen=unseen)
    values = ["abc", "ABC", "abc ", "é", "É", "e\u0301", "", None, "other"]
    expected = predict(rules, Table.of({"c": values})).leaf.tolist()
    collations = ["NOCASE"] + (["RTRIM"] if dialect == "sqlite" else ["NOACCENT", "de"])
    for collation in collations:
        with Engine(dialect) as engine:
            engine.fill({"c": values}, {"c": f"VARCHAR COLLATE {collation}"})
            rows = engine.rows(sql(rules, dialect=dialect))
            assert [row[3] for row in rows] == expected


def test_a_duckdb_enum_is_a_category():
    rules = one_group("c", ("a",), ("a", "z"), missing=0)
    with Engine("duckdb") as engine:
        engine.fill({"c": ["a", "b", None]}, {"c": "ENUM('a', 'b')"})
        assert [row[3] for row in engine.rows(sql(rules))] == [0, 1, 0]


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_column_named_true_is_no_truth(dialect):
    split = SetSplit(
        "flag",
        (Group((True,), 0), Group((False,), 1)),
        1,
        (Leaf(0, (0.0, 1.0)), Leaf(1, (1.0, 0.0))),
    )
    rules = Rules(
        "truth",
        Target("y", TargetType.BOOLEAN, (False, True)),
        (Feature("flag", FeatureType.BOOLEAN),),
        split,
    )
    with Engine(dialect) as engine:
        engine.fill(
            {"flag": [True, False], "true": [0, 0], "false": [1, 1]},
            {"flag": "BOOLEAN", "true": "INTEGER", "false": "INTEGER"},
        )
        rows = engine.rows(sql(rules, dialect=dialect))
    assert [row[4:6] for row in rows] == [(1, 0), (0, 1)]


def test_texts_with_the_layouts_own_word_stay_as_they_are():
    word = sqlglot.Generator.SENTINEL_LINE_BREAK
    rules = one_group(f"c{word}", (f"a{word}",))
    for dialect in ENGINES:
        table = Table.of({f"c{word}": [f"a{word}", "a\n"]})
        assert check(rules, "sql", {"dialect": dialect}, [table]).mismatches == 0


@pytest.mark.parametrize("dialect", ENGINES)
def test_rows_keep_their_order_and_the_leaf_is_found_once(dialect):
    rules = many_intervals(8)
    rows = 200_000
    draw = np.random.default_rng(3)
    with Engine(dialect) as engine:
        values = draw.uniform(-4, 1, rows)
        if dialect == "duckdb":
            engine.connection.execute("SET threads = 4")
            engine.fill({"x": []}, {"x": "DOUBLE"})
            engine.connection.execute(
                'INSERT INTO "data" SELECT unnest(?), unnest(?)',
                [list(range(rows)), values.tolist()],
            )
        else:
            engine.fill({"x": values.tolist()}, {"x": "DOUBLE"})
        text = sql(rules, dialect=dialect)
        found = engine.rows(text)
        assert [row[0] for row in found] == list(range(rows))
        if dialect == "duckdb":
            plan = engine.rows(f"EXPLAIN {text}")[0][1]
            assert "JOIN" not in plan.upper()
        else:
            plan = " ".join(row[3] for row in engine.rows(f"EXPLAIN QUERY PLAN {text}"))
            assert (
                plan.index("SCAN data") < plan.index("SCAN found") < plan.index("answers LEFT-JOIN")
            )
    expected = predict(rules, Table.of({"x": values}))
    assert [row[3] for row in found] == expected.leaf.tolist()


@pytest.mark.parametrize("dialect", ENGINES)
@settings(max_examples=20)
@given(rules=rule_trees(hostile=True, depth=3))
def test_hostile_rules_make_one_statement(dialect, rules):
    try:
        text = sql(rules, dialect=dialect)
    except TargetError as error:
        assert re.search("for one|--prefix", str(error))
        return
    assert text.endswith(";\n")
    if dialect == "sqlite":
        assert sqlite3.complete_statement(text)
        assert not sqlite3.complete_statement(text[:-2])
    else:
        with Engine("duckdb") as engine:
            assert len(engine.connection.extract_statements(text)) == 1


def hostile_chain(dialect):
    """Return rules whose every feature and category is a name that breaks out of some quotes."""
    words = sql_dialects.dialect(dialect)
    folded = {words.fold(text): text for text in HOSTILE_TEXTS}
    names = [
        text
        for text in folded.values()
        if text not in ("leaf", "prediction", "probability_0")
        and not re.search(words.no_name, text, re.DOTALL)
        and not (words.variables and "${" in text)
    ]
    node = Leaf(len(names), 0.0)
    for level, name in reversed(list(enumerate(names))):
        group = Group((names[level - 1],), 0)
        node = SetSplit(name, (group,), 1, (Leaf(level, float(level)), node), 1)
    features = tuple(Feature(name, FeatureType.CATEGORY, tuple(names)) for name in names)
    return names, Rules("*/ '", Target("y", TargetType.FLOAT64), features, node)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_back_the_names_and_texts_that_went_in(dialect):
    names, rules = hostile_chain(dialect)
    text = sql(rules, dialect=dialect)
    if dialect == "oracle":
        text = re.sub(r"(E[-+]?\d+)D\b", r"\1", text)  # sqlglot doesn't read the suffix
    dialect = "postgres" if dialect == "datafusion" else dialect
    (tree,) = sqlglot.parse(text, dialect=dialect)
    columns = {column.name for column in tree.find_all(sqlglot.exp.Column)}
    asked = set(names)
    if dialect == "bigquery":  # whose dots sqlglot reads as paths
        columns, asked = (
            {part for name in some for part in name.split(".")} for some in (columns, asked)
        )
    ours = {"prediction", "leaf", "value", "C", "*", "", "single_join_prefer_left_table"}
    assert asked - columns <= ({"", "1", "a"} if dialect == "bigquery" else set())
    assert columns <= asked | ours
    texts = {spelt(node) for node in tree.find_all(*SPELT)}
    texts |= {"".join(map(piece, node.expressions)) for node in tree.find_all(sqlglot.exp.Concat)}
    texts |= {piece(node) for node in tree.find_all(sqlglot.exp.Chr)}
    assert set(names) <= texts
    tables = {table.name for table in tree.find_all(sqlglot.exp.Table)}
    assert {name.rstrip("_") for name in tables} <= {"data", "answers", "DUAL", ""}


SPELT = (sqlglot.exp.Literal, sqlglot.exp.National, sqlglot.exp.ByteString, sqlglot.exp.HexString)


def piece(node):
    """Return the text of a part of a concatenation: a literal, or a character by its number."""
    character = node.find(sqlglot.exp.Chr)
    return chr(int(character.expressions[0].name)) if character else node.name


def spelt(node):
    """Return the text of a literal, also of one in digits."""
    if isinstance(node, sqlglot.exp.HexString):
        return bytes.fromhex(node.name).decode()
    return node.name


@pytest.mark.parametrize("form", ["select", "view", "expression"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written(dialect, form, example):
    for rules in (example, chain(40), single_leaf(), regression()):
        assert sql(rules, dialect=dialect, **{"as": form}).startswith("/*")


WORDS = {
    "duckdb": ['ISNAN("data"."x")', "0.1E0", '"data"."flag" = FALSE', "UNION ALL BY NAME"],
    "sqlite": ['"data"."c" COLLATE BINARY IN', "0.1E0", '"data"."flag" = 0', 'WITH "answers"('],
    "postgres": [
        '"data"."x" = CAST(\'NaN\' AS DOUBLE PRECISION)',
        "CAST(0.1E0 AS DOUBLE PRECISION)",
        'CAST("data"."c" AS TEXT) COLLATE "C" IN',
    ],
    "mysql": ["CAST(CAST(`data`.`c` AS CHAR CHARACTER SET utf8mb4) AS BINARY) IN", "UNION ALL"],
    "clickhouse": ['"x" * 1 <> "x"', '"flag" = FALSE'],
    "spark": ["ISNAN(`data`.`x`)", "LEFT JOIN VALUES"],
    "bigquery": ["IS_NAN(`data`.`x`)", "UNNEST(["],
    "snowflake": ['"data"."x" = CAST(\'NaN\' AS DOUBLE)', "CAST(0.1E0 AS DOUBLE)"],
    "tsql": [
        "[data].[flag] = CAST(0 AS BIT)",
        "N'ja'",
        "AS VARBINARY(MAX)) IN (CAST(N'é' AS VARBINARY(MAX))",
    ],
    "oracle": [
        '"data"."x" = TO_BINARY_DOUBLE(\'NaN\')',
        "0.1E0D",
        '"data"."flag" = 0',
        'FROM "DUAL"',
    ],
}


@pytest.mark.parametrize("dialect", WORDS)
def test_a_dialects_words(dialect):
    leaves = [Leaf(k, (0.5, 0.5)) for k in range(4)]
    third = SetSplit("c", (Group(("é", "b"), 0),), 1, (leaves[0], leaves[1]), 1)
    second = SetSplit("flag", (Group((False,), 1), Group((True,), 0)), 0, (third, leaves[2]))
    first = NumericSplit("x", (Interval(0.1, 0), Interval(None, 1)), 0, (second, leaves[3]))
    inputs = (
        X,
        Feature("flag", FeatureType.BOOLEAN),
        Feature("c", FeatureType.CATEGORY, ("é", "b")),
    )
    rules = Rules("words", Target("y", TargetType.STRING, ("ja", "nein")), inputs, first)
    text = " ".join(sql(rules, dialect=dialect).split())
    text = text.replace("( ", "(").replace(" )", ")")
    for word in WORDS[dialect]:
        assert word in text


@pytest.mark.parametrize(
    "options, message",
    [
        ({"dialect": "duckdbb"}, "dialect: got 'duckdbb'; did you mean 'duckdb'"),
        ({"dialect": "postgresql"}, "did you mean 'postgres'"),
        ({"dialect": "prql"}, "dialect"),
        ({"as": "macro"}, "as: got 'macro'"),
        ({"output": "leaf"}, "output: only for `as` expression"),
        ({"view": "v"}, "view: only for `as` view"),
        ({"prefix": "p", "as": "expression"}, "prefix"),
        ({"prefix": "\0"}, "prefix"),
        ({"prefix": 3}, "prefix"),
        *(
            ({"table": name}, "table: got")
            for name in [
                "",
                ".",
                "a.",
                ".a",
                "a..b",
                "a.b.c.d",
                '"a',
                'a"b',
                '""',
                '"a"b',
                "a\0",
                "\ud800",
                3,
            ]
        ),
        ({"view": "a..b", "as": "view"}, "view: got"),
        ({"output": "labl", "as": "expression"}, "did you mean 'label'"),
        ({"output": "probability_3", "as": "expression"}, "output"),
        ({"output": "value", "as": "expression"}, "output"),
        ({"output": "prediction", "as": "expression"}, "output"),
    ],
)
def test_a_wrong_option_is_named(options, message, example):
    with pytest.raises(OptionError) as caught:
        emit(example, "sql", **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_regression_has_a_value_and_no_probabilities():
    with pytest.raises(OptionError, match="output"):
        sql(regression(), output="label", **{"as": "expression"})
    with pytest.raises(OptionError, match="output"):
        sql(regression(), output="probability_0", **{"as": "expression"})
    assert "probability" not in sql(regression())


def test_the_artefact_says_where_it_comes_from_and_its_comment_ends_where_it_should(example):
    rules = replace(example, name="*/ DROP TABLE data; /* /*\n-- \\ 'é")
    for form in ("select", "view", "expression"):
        artifact = emit(rules, "sql", **{"as": form})
        assert (artifact.suffix, artifact.name) == (".sql", "m__drop_table_data_e")
        comment, _, rest = artifact.text.partition("*/")
        assert rules.fingerprint in comment
        assert comment.count("/*") == 1
        assert "*/" not in rest
        assert artifact.text.endswith("END\n" if form == "expression" else ";\n")
    plain = emit(example, "sql", dialect="sqlite", **{"as": "expression"})
    assert plain.notes
    assert all(note in plain.text for note in plain.notes)
    named = emit(example, "sql", dialect="sqlite", table="t", **{"as": "expression"})
    assert len(named.notes) == len(plain.notes) - 1


@pytest.mark.parametrize("form", ["select", "view", "expression"])
def test_what_a_dialect_does_with_columns_of_other_types_is_said(form):
    null = "a value that is none of its feature's type raises no error"
    char = "blanks at the end of a CHAR(n)"
    words = one_group("c", ("a",))
    for rules, dialects in (
        (one_split(X, [0.5]), {"mysql": null, "sqlite": null}),
        (words, {"sqlite": null, "postgres": char, "spark": char, "databricks": char}),
        (single_leaf(), {}),
    ):
        for dialect in DIALECTS:
            made = emit(rules, "sql", dialect=dialect, table="t", **{"as": form})
            begins = [dialects[dialect]] if dialect in dialects else []
            assert [
                note.startswith(begin) for note, begin in zip(made.notes, begins, strict=True)
            ] == [True] * len(begins)
            assert all(note in made.text for note in made.notes)


def test_only_a_select_in_a_known_engine_is_run(example):
    table = boundary_rows(example, 5)
    for options, error in [
        ({"dialect": "oracle"}, EngineMissing),
        ({"as": "view"}, OptionError),
        ({"as": "expression"}, OptionError),
        ({"table": "a.b"}, OptionError),
    ]:
        tool = emitter("sql", **options)
        artifact = tool.emit(example)
        with pytest.raises(error):
            tool.run(artifact, table)
    with pytest.raises(EngineMissing, match="oracle"):
        emitter("sql", dialect="oracle").engine()
    tool = emitter("sql", table='"a.b; --"')
    expected = predict(example, table).leaf.tolist()
    assert tool.run(tool.emit(example), table).leaf.tolist() == expected


@pytest.mark.parametrize("dialect", ENGINES)
def test_run_names_a_value_of_the_wrong_type_and_takes_texts_of_a_csv(dialect):
    rules = one_split(Feature("row", FeatureType.INTEGER), [3])
    tool = emitter("sql", dialect=dialect)
    artifact = tool.emit(rules)
    with pytest.raises(DataError, match=r"column 'row', row 2: got 2\.5"):
        tool.run(artifact, Table.of({"row": [1, 2.5]}))
    found = tool.run(artifact, Table({"row": ["2", "3.0", "", "nan"]}, 4, text=True))
    assert found.leaf.tolist() == [0, 1, 1, 1]
    assert tool.run(artifact, Table.of({"row": []})).probabilities.shape == (0, 2)


def test_an_integer_column_that_holds_doubles_knows_nan_for_missing(example):
    rows = "(9e0, 1e0, true, 'alert'), ('nan', 3e0, true, 'alert'), (NULL, 1e0, true, 'alert')"
    names = ", ".join(f'"{feature.name}"' for feature in example.features)
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE data AS SELECT * FROM (VALUES {rows}) AS v({names})")
        found = engine.execute(emit(example, "sql").text).fetchnumpy()
    assert found["leaf"].tolist() == [0, 2, 1]


def test_an_empty_text_in_a_column_of_numbers_is_a_gap_in_sqlite():
    # As SQLite's own import of a CSV leaves one.
    rules = one_split(X, [0.5], missing=0)
    with Engine("sqlite") as engine:
        engine.fill({"x": [0.0, 1.0, "", None, -1.0]}, {"x": "DOUBLE"})
        leaves = [row[3] for row in engine.rows(sql(rules, dialect="sqlite"))]
    assert leaves == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    "options, column",
    [
        ({}, "Age"),
        ({"names": "lower"}, "age"),
        ({"names": "upper"}, "AGE"),
        ({"names": "upper", "map": ['Age=years at "entry"']}, 'years at "entry"'),
    ],
)
@pytest.mark.parametrize("form", ["select", "function"])
def test_columns_are_named_as_the_engine_folded_them(options, column, form):
    rules = one_split(Feature("Age", FeatureType.FLOAT64), [1.0])
    text = sql(rules, dialect="duckdb", **{"as": form}, **options)
    assert quoted(column) in text
    assert column == "Age" or '"Age"' not in text


@pytest.mark.parametrize(
    "options, message",
    [
        ({"names": "lower"}, "takes the columns 'A' and 'a' for one"),
        ({"map": ["A=a"]}, "takes the columns 'A' and 'a' for one"),
    ],
)
def test_columns_that_are_one_when_folded_are_refused_by_name(options, message):
    with pytest.raises(TargetError, match=message):
        sql(twins("A", "a"), dialect="clickhouse", **options)


def test_a_wrong_map_is_named():
    for text in ("x", "y=a", "x=", "=a"):
        with pytest.raises(OptionError, match="map: got"):
            sql(one_split(X, [1.0]), map=[text])


@pytest.mark.parametrize("dialect, longest", [("mysql", 64), ("postgres", 63), ("clickhouse", 206)])
def test_a_views_name_is_no_longer_than_the_dialect_takes(dialect, longest):
    rules = one_split(X, [1.0])
    assert sql(rules, dialect, view="v" * longest, **{"as": "view"})
    with pytest.raises(TargetError, match=f"`view`: .* and {dialect} takes {longest}"):
        sql(rules, dialect, view="v" * (longest + 1), **{"as": "view"})
    if dialect == "postgres":
        with pytest.raises(TargetError, match=r"`function`: .* 64 bytes"):
            sql(rules, dialect, function="é" * 32, **{"as": "function"})


def test_a_text_in_a_column_of_numbers_is_no_number_in_sqlite():
    for kind, values in [("TEXT", ["9", "61", ""]), ("", ["9", "9abc", ""])]:
        with Engine("sqlite") as engine:
            engine.fill({"x": values}, {"x": kind})
            rows = engine.rows(sql(one_split(X, [9.0, 61.0], missing=0), dialect="sqlite"))
        assert [row[2:] for row in rows] == [(None,) * 4] * 2 + [("yes", 0, 0.0, 1.0)]


def test_a_value_that_is_no_truth_is_answered_by_null_or_an_error():
    split = SetSplit(
        "x", (Group((True,), 0), Group((False,), 1)), 1, (Leaf(0, (0.0, 1.0)), Leaf(1, (1.0, 0.0)))
    )
    rules = Rules(
        "truth",
        Target("y", TargetType.BOOLEAN, (False, True)),
        (Feature("x", FeatureType.BOOLEAN),),
        split,
    )
    with Engine("sqlite") as engine:
        engine.fill({"x": [1, 0, 2, "true", "t", "", None]}, {"x": ""})
        leaves = [row[3] for row in engine.rows(sql(rules, dialect="sqlite"))]
    assert leaves == [0, 1, None, None, None, 1, 1]
    with Engine("duckdb") as engine:
        engine.fill({"x": [1, 0, 2]}, {"x": "INTEGER"})
        with pytest.raises(duckdb.Error, match="expected false or true, got 2"):
            engine.rows(sql(rules))
