"""SQL in all dialects: the words that they need, and wrong options."""

import re
from dataclasses import replace

import pytest
import sqlglot
from sql_engines import ENGINES
from sql_rules import X, one_group, sql
from strategies import (
    HOSTILE_TEXTS,
    chain,
    regression,
    single_leaf,
)

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.sql import dialects as sql_dialects
from mbndt.emitters.sql.options import DIALECTS
from mbndt.errors import EngineMissing, OptionError
from mbndt.interpreter import predict
from mbndt.rules import (
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


def test_texts_with_the_layouts_own_word_stay_as_they_are():
    word = sqlglot.Generator.SENTINEL_LINE_BREAK
    rules = one_group(f"c{word}", (f"a{word}",))
    for dialect in ENGINES:
        table = Table.of({f"c{word}": [f"a{word}", "a\n"]})
        assert check(rules, "sql", {"dialect": dialect}, [table]).mismatches == 0


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
