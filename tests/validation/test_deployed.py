"""Answers where rules run, beside the interpreter's."""

import sqlite3

import duckdb
import pandas as pd
import pytest
from validated import learned, others, regression

from mbndt import DataError, EngineMissing, OptionError
from mbndt.emitters.sql.engines.base import engine
from mbndt.interpreter import leaf_ids
from mbndt.validation.deployed import compare


def frame():
    return pd.DataFrame({name: list(column) for name, column in others().columns.items()})


def deploy(rules, folder, dialect, **options):
    """Return a database of a dialect with a table `visits` and a view `answers` over it."""
    path = folder / f"base.{dialect}"
    options = {"as_": "view", "view": "answers", "table": "visits", **options}
    text = rules.compile("sql", dialect=dialect, **options)
    if dialect == "duckdb":
        with duckdb.connect(str(path)) as base:
            rows = frame()  # noqa: F841
            base.execute("CREATE TABLE visits AS SELECT * FROM rows")
            base.execute(text)
    else:
        base = sqlite3.connect(path)
        frame().to_sql("visits", base, index=False)
        base.executescript(text)
        base.close()
    return path


def change(path, dialect, statement):
    base = duckdb.connect(str(path)) if dialect == "duckdb" else sqlite3.connect(path)
    base.execute(statement)
    base.commit()
    base.close()


@pytest.fixture(params=["duckdb", "sqlite"])
def dialect(request):
    return request.param


def test_a_view_answers_as_the_rules_do_and_its_rows_are_counted(dialect, tmp_path):
    rules = learned()
    found = compare(rules, str(deploy(rules, tmp_path, dialect)), "answers")
    reached = leaf_ids(rules, others()).tolist()
    assert (found.rows, found.mismatches, found.first) == (200, 0, None)
    assert found.by_leaf == [reached.count(leaf.leaf) for leaf in rules.leaves]
    told = rules.predict(others()).prediction
    assert found.by_class == {label: told.count(label) for label in rules.target.classes}


def test_a_regression_is_compared_to_the_bit(dialect, tmp_path):
    rules, _ = regression()
    path = deploy(rules, tmp_path, dialect)
    assert compare(rules, str(path), "answers").mismatches == 0
    change(path, dialect, "CREATE TABLE kept AS SELECT * FROM answers")
    change(path, dialect, "UPDATE kept SET prediction = prediction * (1 + 1e-15)")
    assert compare(rules, str(path), "kept").mismatches > 0


@pytest.mark.parametrize(
    "wrong", ["leaf = leaf + 1", "prediction = 'yes'", "prediction = NULL", "leaf = NULL"]
)
def test_each_wrong_answer_is_counted_and_the_first_is_named(dialect, tmp_path, wrong):
    rules = learned()
    path = deploy(rules, tmp_path, dialect)
    change(path, dialect, "CREATE TABLE kept AS SELECT * FROM answers")
    change(path, dialect, f"UPDATE kept SET {wrong} WHERE prediction = 'no'")
    found = compare(rules, str(path), "kept")
    assert found.mismatches == found.by_class["no"] > 0
    first = rules.predict(others()).prediction.index("no")
    assert found.first["row"].startswith(f"{first + 1}: ")
    assert "prediction: 'no'" in found.first["expected"]


def test_a_prefix_and_folded_names_are_found(tmp_path):
    rules = learned()
    path = deploy(rules, tmp_path, "duckdb", prefix="mb_", names="upper")
    found = compare(rules, str(path), "answers", prefix="mb_")
    assert found.mismatches == 0
    assert {"mb_prediction", "mb_leaf"} <= set(found.compared)


def test_answers_alone_suffice_if_they_stand_beside_the_inputs(tmp_path):
    rules = learned()
    path = deploy(rules, tmp_path, "duckdb")
    inputs = ", ".join(f'"{feature.name}"' for feature in rules.used)
    change(path, "duckdb", f'CREATE VIEW "a.b" AS SELECT {inputs}, leaf FROM answers')
    assert compare(rules, str(path), '"a.b"').compared == ("leaf",)
    change(path, "duckdb", "CREATE VIEW bare AS SELECT leaf FROM answers")
    with pytest.raises(DataError, match="inputs are needed beside answers"):
        compare(rules, str(path), "bare")
    with pytest.raises(DataError, match="visits has no column prediction or leaf"):
        compare(rules, str(path), "visits")


def test_what_can_not_be_read_is_refused_by_name(tmp_path):
    rules, path = learned(), deploy(learned(), tmp_path, "duckdb")
    other = tmp_path / "rows.csv"
    frame().to_csv(other, index=False)
    change(path, "duckdb", "CREATE VIEW nobody AS SELECT * FROM answers WHERE leaf < 0")
    for where, view, kind, match in (
        (other, "answers", OptionError, "against: .* is no database"),
        ("mysql://secret@host/base", "answers", OptionError, "against: got 'mysql'"),
        (tmp_path / "none", "answers", DataError, "No such file"),
        (path, "other", DataError, "other does not exist"),
        (path, "nobody", DataError, "nobody has no rows"),
        (path, "answers; DROP TABLE visits", DataError, "does not exist"),
        (path, 'a"b', OptionError, "view: got"),
        (path, "", OptionError, "view: got"),
    ):
        with pytest.raises(kind, match=match):
            compare(rules, str(where), view)


def test_a_server_that_is_not_there_is_named_without_its_password():
    pytest.importorskip("psycopg")
    with pytest.raises(DataError) as told:
        compare(learned(), "postgres://me:secret@127.0.0.1:1/base", "answers")
    assert str(told.value).startswith("postgres://127.0.0.1/base: ")
    assert "secret" not in str(told.value)


def test_a_server_answers_as_the_rules_do():
    psycopg = pytest.importorskip("psycopg")
    try:
        host = engine("postgres").connection.info.host
    except EngineMissing as error:
        pytest.skip(str(error))
    rules = learned()
    text = rules.compile("sql", dialect="postgres", as_="view", view="s.answers", table="s.visits")
    kinds = {"float64": "double precision", "integer": "bigint", "boolean": "boolean"}
    columns = ", ".join(f'"{f.name}" {kinds.get(f.type, "text")}' for f in rules.used)
    rows = [[*row.values()] for row in others().records(rules.used)]
    url = f"postgresql:///postgres?host={host}&user=postgres"
    with psycopg.connect(url, autocommit=True) as base:
        base.execute("CREATE SCHEMA s")
        try:
            base.execute(f"CREATE TABLE s.visits ({columns})")
            marks = ", ".join(["%s"] * len(rules.used))
            base.cursor().executemany(f"INSERT INTO s.visits VALUES ({marks})", rows)
            base.execute(text)
            found = compare(rules, url, "s.answers")
            assert (found.rows, found.mismatches) == (200, 0)
            base.execute("CREATE TABLE s.kept AS SELECT * FROM s.answers")
            base.execute("UPDATE s.kept SET leaf = leaf + 1 WHERE leaf = 0")
            assert compare(rules, url, "s.kept").mismatches == found.by_leaf[0] > 0
        finally:
            base.execute("DROP SCHEMA s CASCADE")
