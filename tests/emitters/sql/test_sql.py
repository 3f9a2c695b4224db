"""The SQL target, run in DuckDB and SQLite: its outputs, and the values that it reads."""

import math
import random
import re
from dataclasses import replace

import duckdb
import numpy as np
import pytest
from sql_engines import ENGINES, MISREAD, Engine
from sql_rules import X, one_group, one_split, sql
from strategies import (
    chain,
    many_intervals,
    regression,
    single_leaf,
)

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.options import DIALECTS
from mbndt.errors import DataError
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
