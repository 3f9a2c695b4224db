"""The decision sheet, followed on paper: it gives the interpreter's answer, whatever the texts."""

import dataclasses
import re
import subprocess
import sys

import pytest
from conftest import EXAMPLE
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mixed_rules import STATED, mixed_rules
from sheets import LABELS, NO, YES, languages, read, sheet_text
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.protocol.grammar import STOPPED
from mbndt.emitters.protocol.paper import read_sheet
from mbndt.errors import OptionError
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
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.table import Table

slowly = settings(
    max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def assert_followed(rules: Rules, rows: int = 200, **more: object) -> None:
    for kind in ("md", "html"):
        found = check(rules, "protocol", {"format": kind, **more}, [boundary_rows(rules, rows)])
        assert found.engine
        assert found.rows >= rows
        assert found.mismatches == 0, found


# Followed on paper, the sheet gives the interpreter's answer


@languages
@slowly
@given(rules=rule_trees())
def test_a_person_who_follows_the_sheet_gets_the_interpreters_answer(rules, language):
    assert_followed(rules, sheet={"language": language})


@languages
@slowly
@given(rules=rule_trees(hostile=True), least=st.sampled_from([0, 5]))
def test_hostile_names_and_texts_mislead_nobody(rules, language, least):
    assert_followed(rules, sheet={"language": language, "least_rows": least})


@languages
@pytest.mark.parametrize(
    "rules", [chain(50), many_intervals(64), single_leaf(), regression()], ids=lambda r: r.name
)
def test_extreme_rules_can_be_followed(rules, language):
    assert_followed(rules, 1000, sheet={"language": language})


def test_the_example_and_the_mixed_rules_can_be_followed_with_statements_and_without(example):
    assert_followed(example, 1000)
    assert_followed(mixed_rules(), 1000)
    assert_followed(mixed_rules(), 1000, sheet=STATED)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 40])
def test_any_number_of_classes_is_read_back_from_its_tables(count):
    classes = tuple(f"class {i}" for i in range(count))
    values = tuple(
        tuple((1 + i * k) / sum(1 + i * j for j in range(count)) for k in range(count))
        for i in range(2)
    )
    split = NumericSplit(
        "x", (Interval(0.5, 1), Interval(None, 0)), 1, (Leaf(0, values[0]), Leaf(1, values[1]))
    )
    rules = Rules(
        "r", Target("y", TargetType.STRING, classes), (Feature("x", FeatureType.FLOAT64),), split
    )
    assert_followed(rules)
    heads = re.findall(r"Probability of “(class \d+)”", sheet_text(rules))
    assert tuple(heads) == classes


@pytest.mark.parametrize(
    "words",
    [
        (
            "not known",
            "missing",
            "not listed",
            "below 9",
            "go to step 2",
            "yes",
            "yes (true)",
            "9 to 20",
        ),
        ("R0: “a”", "a” or “b", "a”, or “b", "”", "any number", "\\u{41}", ", or not known", "“"),
        ("a", "a ", " a", "A", "é", "e\u0301", "a\u200b", "a  b", "a b", "a\u00a0b"),
    ],
)
def test_categories_that_look_like_the_sheets_words_stay_categories(words):
    groups = tuple(Group((word,), i) for i, word in enumerate(words[:-1]))
    leaves = tuple(Leaf(i, float(i)) for i in range(len(words) + 1))
    split = SetSplit("c", groups, len(words), leaves, len(words) - 1)
    feature = Feature("c", FeatureType.CATEGORY, words, label="Step 1: go to step 7? (Z)")
    rules = Rules("Results", Target("Inputs", TargetType.FLOAT64), (feature,), split)
    assert_followed(rules)
    answers = read(rules).steps[1].answers
    assert [answer.values for answer in answers if answer.values] == [(w,) for w in words[:-1]]


def test_the_reader_knows_only_the_paper(example):
    rules = example
    artifact = emit(rules, "protocol", format="md")
    changed = dataclasses.replace(
        artifact, rules=single_leaf(), content=artifact.text.replace("2.15", "3")
    )
    rows = {
        "respiratory rate": [22, 22],
        "lactate": [2.5, 3.0],
        "on oxygen": [None] * 2,
        "AVPU": [None] * 2,
    }
    tool = emitter("protocol", format="md")
    assert tool.run(artifact, Table.of(rows)).leaf.tolist() == [2, 2]
    assert tool.run(changed, Table.of(rows)).leaf.tolist() == [1, 2]


def test_the_reader_takes_a_csvs_texts_and_a_table_without_rows(example):
    rules, tool = example, emitter("protocol", format="md")
    head = "AVPU,lactate,on oxygen,respiratory rate\n"
    table = parse_csv(head + "alert,,TRUE,9\nALERT,2.15,0,25.0\n,nan,1,21\nvoice,2.1,,8\n")
    artifact = tool.emit(rules)
    found = tool.run(artifact, table)
    assert predict(rules, table).leaf.tolist() == [0, 5, 1, 4]
    assert found.leaf.tolist() == [0, STOPPED, STOPPED, STOPPED]
    assert tool.run(artifact, parse_csv(head)).probabilities.shape == (0, 3)


def follow_all_rates(text: str) -> None:
    sheet = read_sheet(text)
    for rate in range(9, 25):
        sheet.leaf({"respiratory rate": rate, "lactate": 0.0})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("| 9 to below 21 |", "| 9 to below 22 |"),  # 21 fits two rows
        ("| 9 to below 21 |", "| 10 to below 21 |"),  # 9 fits none
        ("| 9 to below 21 |", "| about 9 to below 21 |"),
        ("| 9 to below 21 | R0: “home”", "| 9 to below 21 | R0: “ward”"),
        (
            "| 21 to below 25, or not known | go to step 4",
            "| 21 to below 25, or not known | go to step 1",
        ),
        (
            "| below 2.15, or not known |",
            "| 0 to 2, or not known |",
        ),  # no interval ends like this
    ],
)
def test_the_reader_refuses_a_sheet_with_a_gap_an_overlap_or_a_loop(example, before, after):
    text = sheet_text(example)
    assert before in text
    with pytest.raises(ValueError, match=r"step|read"):
        follow_all_rates(text.replace(before, after, 1))


# Options, cost


@pytest.mark.parametrize("kind", ["docx", "htm", "HTML", ""])
def test_a_format_that_is_not_there_is_refused_with_the_choices(kind):
    with pytest.raises(OptionError, match=r"format: got .*(html|md|txt)"):
        emitter("protocol", format=kind)


def test_a_paper_that_is_not_there_is_refused_with_the_choices():
    with pytest.raises(OptionError, match=r"paper: got 'a5'.*a4"):
        emitter("protocol", paper="a5")


@pytest.mark.parametrize("kind", ["html", "md", "txt"])
def test_a_sheet_is_made_without_numpy(kind):
    code = (
        "import sys; from pathlib import Path; from mbndt.rules import Rules;"
        "from mbndt.emitters import emit;"
        f"rules = Rules.from_json(Path({str(EXAMPLE)!r}).read_bytes());"
        f"emit(rules, 'protocol', format={kind!r});"
        "print([name for name in ('numpy', 'duckdb', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_value_that_no_row_lists_takes_the_row_for_those():
    feature = Feature("c", FeatureType.CATEGORY, ("a", "b"))
    split = SetSplit("c", (Group(("a",), 0),), 0, (Leaf(0, NO), Leaf(1, YES)), 1)
    sheet = read(Rules("r", LABELS, (feature,), split))
    assert [answer.parts for answer in sheet.steps[1].answers] == [
        ["“a”, or", "not known"],
        ["not listed"],
    ]
    assert [sheet.leaf({"c": value}) for value in ("a", "b", "z", "", None)] == [0, 1, 1, 0, 0]
