"""SQL in PostgreSQL and MariaDB: columns of their types, collations and modes, and the servers."""

import math
import random
import struct

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from sql_rules import X, nesting, one_group, one_split, sql
from sql_servers import DATA, SERVERS, TYPES, started
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check, holdable
from mbndt.emitters import emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.engines.base import Data
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


@pytest.fixture(params=SERVERS)
def server(request):
    yield from started(request.param)


@pytest.fixture
def postgres(server):
    if server.dialect != "postgres":
        pytest.skip("of PostgreSQL only")
    return server


@pytest.fixture
def mysql(server):
    if server.dialect != "mysql":
        pytest.skip("of MariaDB only")
    return server


def agrees(server, rules, rows=60):
    found = check(rules, "sql", {"dialect": server.dialect}, [boundary_rows(rules, rows)])
    assert (found.outcome, found.mismatches) == ("agrees", 0), (found.note, found.first)
    assert found.rows > 0


@pytest.mark.parametrize("depth", [9, 31, 32, 33, 50, 500])
def test_a_deep_tree_answers_as_the_interpreter(server, depth):
    agrees(server, chain(depth), 300)


@pytest.mark.parametrize("make", [regression, single_leaf, many_intervals])
def test_edge_cases_answer_as_the_interpreter(server, make):
    agrees(server, make())


def test_path_conditions_answer_as_the_interpreter(server, monkeypatch):
    nesting(monkeypatch, 1)

    @settings(max_examples=15)
    @given(rule_trees(depth=6))
    @case(many_intervals())
    @case(chain(12))
    def agree(rules):
        agrees(server, rules)

    agree()


def test_an_engine_reads_and_returns_every_double_as_it_is(server):
    draw = random.Random(5)
    doubles = [struct.unpack("<d", struct.pack("<Q", draw.getrandbits(64)))[0] for _ in range(4000)]
    doubles = [value for value in doubles if math.isfinite(value)]
    doubles += [10 ** draw.uniform(-323, 308) for _ in range(2000)]
    doubles += [draw.randrange(1, 10**6) / 10 ** draw.randrange(1, 7) for _ in range(2000)]
    doubles += [draw.randrange(1, 1000) * 5e-324 for _ in range(500)]
    doubles += [1.7976931348623157e308, 2.2250738585072014e-308, 2.225073858507201e-308, 1e22, 1e23]
    words = sql_dialects.dialect(server.dialect)
    literals = [words.say(value).sql(dialect=server.dialect) for value in doubles]
    for start in range(0, len(doubles), 500):
        (row,) = server.rows(f"SELECT {', '.join(literals[start : start + 500])}")
        assert list(row) == doubles[start : start + 500]
    data = Data(DATA, {"x": FeatureType.FLOAT64}, [doubles])
    assert [row[0] for row in server.engine.ask(data, "SELECT * FROM data")] == doubles


def test_select_view_and_expression_agree(server, example):
    tool = emitter("sql", dialect=server.dialect)
    table, _ = holdable(example, tool, boundary_rows(example, 40))
    kinds = TYPES[server.dialect]
    types = {feature.name: kinds[feature.type] for feature in example.features}
    server.fill({name: table.column(name) for name in types}, types)
    expected = predict(example, table)
    assert server.leaves(example) == expected.leaf.tolist()
    server.rows(sql(example, dialect=server.dialect, **{"as": "view"}))
    found = server.rows("SELECT * FROM early_warning ORDER BY id")
    assert [row[5] for row in found] == expected.prediction
    assert [list(row[7:]) for row in found] == expected.probabilities.tolist()
    text = sql(example, dialect=server.dialect, **{"as": "expression"})
    found = server.rows(f"SELECT {text} FROM data ORDER BY id")
    assert [row[0] for row in found] == expected.prediction


NUMBERS = {
    "postgres": ["double precision", "real", "numeric", "numeric(9, 3)", "bigint", "smallint"],
    "mysql": ["double", "float", "decimal(9, 3)", "bigint", "smallint"],
}


@pytest.mark.parametrize("feature", [X, Feature("x", FeatureType.FLOAT32)])
def test_null_and_nan_are_missing_in_every_column_of_numbers(server, feature):
    rules = one_split(feature, [0.0, 2.0], missing=0)
    for k, kind in enumerate(NUMBERS[server.dialect]):
        values = [None, -1, 0, 1, 2, 3]
        if kind in ("double precision", "real", "numeric"):
            values += [math.nan, -math.nan, math.inf, -math.inf]
        server.fill({"x": values}, {"x": kind}, f"t{k}")
        expected = [0, 0, 1, 1, 2, 2, 0, 0, 2, 0][: len(values)]
        assert server.leaves(rules, table=f"t{k}") == expected, kind


def test_columns_of_single_precision_are_compared_as_doubles(server):
    cuts = [-3.4e38, -0.1, 1e-45, 0.1, 0.3, 16777217.0, 3.4028234663852886e38]
    near = np.array(cuts, np.float32)
    with np.errstate(over="ignore"):
        values = np.concatenate([near, *(np.nextafter(near, np.float32(e)) for e in (-9e9, 9e9))])
    values = values[np.isfinite(values) & (np.abs(values) > 1e-37)]
    kind = {"postgres": "real", "mysql": "float"}[server.dialect]
    server.fill({"x": values.astype(float)}, {"x": "double precision"}, "source")
    server.rows(f"CREATE TABLE data (id bigint, x {kind})")
    server.rows("INSERT INTO data SELECT id, x FROM source")
    for feature in (X, Feature("x", FeatureType.FLOAT32)):
        rules = one_split(feature, cuts)
        expected = predict(rules, Table.of({"x": values.astype(float)}))
        assert server.leaves(rules) == expected.leaf.tolist()


def test_integers_are_compared_as_integers(server):
    big = 2**53 + 1
    rules = one_split(Feature("n", FeatureType.INTEGER), [INT64_MIN + 1, big, 10**19])
    values = [big - 1, big, INT64_MAX, INT64_MIN, INT64_MIN + 1, None]
    for k, kind in enumerate(["bigint", "decimal(20, 0)"]):
        server.fill({"n": values}, {"n": kind}, f"t{k}")
        assert server.leaves(rules, table=f"t{k}") == [1, 2, 2, 0, 1, 1]


@pytest.mark.parametrize(
    "classes",
    [
        ("a\\", "b'\n\"*/;--", "é😀"),
        (INT64_MIN, INT64_MAX),
        (-1, 0),
        (False, True),
        (True,),
    ],
)
def test_labels_keep_their_type(server, classes):
    kind = {str: "string", int: "integer", bool: "boolean"}[type(classes[0])]
    leaves = tuple(
        Leaf(k, tuple(float(k == i) for i in range(len(classes)))) for k in range(len(classes))
    )
    parts = tuple(Interval(float(k), k) for k in range(len(classes) - 1))
    root = NumericSplit("x", (*parts, Interval(None, len(classes) - 1)), 0, leaves)
    agrees(server, Rules("types", Target("y", TargetType(kind), classes), (X,), root))


def test_postgres_takes_no_text_that_it_writes_otherwise_elsewhere(postgres):
    """An inet gets a mask by the cast, and a date its order from the session."""
    import psycopg

    rules = one_group("c", ("2020-01-31",), ("2020-01-31", "1.2.3.4"))
    postgres.fill({"c": ["2020-01-31", "2020-02-01"]}, {"c": "date"})
    assert postgres.leaves(rules) == [0, 1]
    postgres.rows("SET datestyle = 'German'")
    with pytest.raises(psycopg.Error, match=r"expected text, got 31\.01\.2020"):
        postgres.leaves(rules)
    postgres.rows("SET datestyle = 'ISO'")
    postgres.rows("DROP TABLE data")
    postgres.fill({"c": ["1.2.3.4"]}, {"c": "inet"})
    with pytest.raises(psycopg.Error, match="expected text, got 1"):
        postgres.leaves(rules)


def test_mariadb_holds_no_infinity_and_the_target_says_so(mysql):
    mysql.rows("CREATE TABLE data (x double)")
    with pytest.raises(Exception, match="out of range"):
        mysql.rows("INSERT INTO data VALUES (1e308 * 10)")
    assert emitter("sql", dialect="mysql").unheld() == (-math.inf, math.inf)
    assert emitter("sql", dialect="postgres").unheld() == ()


def test_a_table_in_a_schema(server):
    rules = one_split(X, [1.0])
    server.fill({"x": [0.0, 2.0]}, {"x": "double precision"}, "a.b")
    assert server.leaves(rules, table='own."a.b"') == [0, 1]
