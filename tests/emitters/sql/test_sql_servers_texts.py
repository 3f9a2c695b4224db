"""Texts and names in PostgreSQL and MariaDB, whatever the collation and the mode."""

from dataclasses import replace

import pytest
from sql_rules import X, one_group, one_split, sql, twins
from sql_servers import SERVERS, TYPES, started
from strategies import HOSTILE_TEXTS

from mbndt.errors import TargetError
from mbndt.interpreter import predict
from mbndt.rules import (
    Feature,
    FeatureType,
    Target,
    TargetType,
)
from mbndt.tables.table import Table

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


@pytest.fixture(params=SERVERS)
def server(request):
    yield from started(request.param)


@pytest.fixture
def postgres(server):
    if server.dialect != "postgres":
        pytest.skip("of PostgreSQL only")
    return server


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
