"""Names in SQL: whatever tables, columns and outputs are called."""

import re
import sqlite3

import duckdb
import pytest
from hypothesis import given, settings
from sql_engines import ENGINES, Engine, quoted
from sql_rules import X, one_split, sql, twins
from strategies import (
    rule_trees,
    single_leaf,
)

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.errors import OptionError, TargetError
from mbndt.interpreter import predict
from mbndt.rules import (
    Feature,
    FeatureType,
    Group,
    Leaf,
    Rules,
    SetSplit,
    Target,
    TargetType,
)


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
