"""What a sheet says of its results: figures, what people stated, and what nobody did."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_rules import PROVENANCE, STATED, mixed_rules
from said_rows import formats, rows_below, slowly
from sheets import LABELS, sheet_text, two_way
from strategies import provenances, rule_trees

from mbndt.measures.confidence import rule_of_three, wilson
from mbndt.rules import (
    Feature,
    FeatureType,
    Leaf,
    Rules,
    Target,
    TargetType,
)


def test_results_say_hits_rows_rate_and_interval_with_the_steps_that_lead_there(example):
    rows = {row[0]: row[1:] for row in rows_below(sheet_text(example), "Results")}
    assert rows["R0"][:3] == ["“home”", "90 of 120, 75 % (67 to 82 %)", "1"]
    assert rows["R5"][:3] == ["“intensive care”", "9 of 9, 100 % (70 to 100 %)", "1, 2"]
    assert rows["R2"][:3] == ["“ward”", "12 of 24, 50 % (31 to 69 %)", "1, 4"]
    assert [row[-1].strip() for row in rows.values()] == [
        "",
        "",
        "tie: first class",
        "few rows",
        "few rows",
        "few rows",
    ]
    bare = rows_below(sheet_text(two_way(Feature("x", FeatureType.FLOAT64), 1.0)), "Results")
    assert [row[2] for row in bare] == ["NOT STATED", "NOT STATED"]


@pytest.mark.parametrize(("size", "flagged"), [(19, True), (20, False)])
def test_fewer_than_twenty_rows_are_flagged(size, flagged):
    leaf = Leaf(0, (1.0, 0.0), (size, 0))
    assert (
        "few rows" in rows_below(sheet_text(Rules("r", LABELS, (), leaf)), "Results")[0][-1]
    ) is flagged
    leaf = Leaf(0, 1.5, n=size, mean=1.5, std=0.25)
    rules = Rules("r", Target("y", TargetType.FLOAT64), (), leaf)
    (row,) = rows_below(sheet_text(rules), "Results")
    assert row[1:5] == ["1.5", str(size), "1.5", "0.25"]
    assert ("few rows" in row[-1]) is flagged


def test_an_answer_that_is_not_its_rows_commonest_is_flagged():
    leaf = Leaf(0, (0.4, 0.6), (30, 10))
    text = sheet_text(Rules("r", LABELS, (), leaf))
    assert "| 10 of 40, 25 % (14 to 40 %) |" in text
    assert "| rarer class counts more |" in text


@given(st.integers(1, 10**6), st.data())
def test_the_interval_is_where_a_share_would_be_that_far_off(n, data):
    hits = data.draw(st.integers(0, n))
    low, high = wilson(hits, n)
    assert 0 <= low <= hits / n + 1e-12
    assert hits / n - 1e-12 <= high <= 1
    # Wilson's ends are the shares p of which hits / n lies z standard errors off.
    for p in (low, high):
        if 0 < p < 1:
            off = abs(hits / n - p) / math.sqrt(p * (1 - p) / n)
            assert off == pytest.approx(1.959963984540054, rel=1e-6)


def test_no_hit_at_all_has_an_upper_end_by_the_rule_of_three():
    leaf = Leaf(0, (0.4, 0.6), (50, 0))
    assert "| 0 of 50, 0 % (below 6 %) |" in sheet_text(Rules("r", LABELS, (), leaf))
    assert [rule_of_three(n) for n in (1, 3, 300)] == [1.0, 1.0, 0.01]
    for n in (30, 300, 3000):  # a share of 3/n shows none in n cases about once in twenty
        assert float((1 - Fraction(3, n)) ** n) == pytest.approx(0.05, abs=0.008)


@formats
def test_probabilities_are_printed_in_percent_and_exactly_with_counts(example, kind):
    text = " ".join(sheet_text(example, kind).split())
    assert "12.5 % (0.125), 2 rows" in text
    assert "25 % (0.25), 30 rows" in text
    assert "Told right, held-out rows (95 %)" in text


@pytest.mark.parametrize(
    ("p", "said"),
    [
        (0.0, "0 % (0)"),
        (1.0, "100 % (1)"),
        (1 / 3, "33.3 % (0.3333333333333333)"),
        (1e-9, "below 0.1 % (0.000000001)"),
        (1 - 1e-9, "above 99.9 % (0.999999999)"),
    ],
)
def test_a_rounded_percentage_never_turns_little_into_none(p, said):
    assert said in sheet_text(Rules("r", LABELS, (), Leaf(0, (p, 1.0 - p))))


def test_what_nobody_stated_is_visible_and_nothing_is_made_up(example):
    bare = replace(example, provenance={}, target=replace(example.target, description=""))
    text = sheet_text(bare)
    unstated = re.findall(r"\n\| ([^|]*) \| NOT STATED \|(?=\n)", text)
    assert unstated == [
        "Version",
        "Date",
        "Next review",
        "Author",
        "Contact",
        "Outcome",
        "Within",
        "For",
        "Where, when, by whom",
        "Do not use if",
        "Learned from",
        "Held-out rows of the same data",
        "Validated on other data",
    ]
    for row in rows_below(text, "Answers"):
        assert row[1:] == ["NOT STATED"] * 3
    for row in rows_below(text, "Inputs")[:2]:
        assert row[3:6] == ["NOT STATED"] * 3


def test_a_draft_is_stamped_until_validation_is_declared():
    for kind in ("md", "html", "txt"):
        for sheet in ({}, STATED, {"validation": " "}):
            text = sheet_text(mixed_rules(), kind, sheet=sheet)
            assert "DRAFT - NOT VALIDATED" in text
        done = sheet_text(mixed_rules(), kind, sheet={"validation": "400 rows of 2025, Leeds"})
        assert "DRAFT" not in done
        assert "400 rows of 2025, Leeds" in done
        assert "It has not been validated" not in done


def test_statements_stand_on_the_sheet_beside_what_training_knows():
    text = sheet_text(mixed_rules(), sheet=STATED)
    assert text.startswith("# Where to send an adult with suspected infection\n")
    for said in (
        "| Within | 24 hours |",
        "| Do not use if | age below 18; pregnant |",
        "| For | adults in the emergency department |",
        "| Contact | extension 1234 |",
        "| Outcome | the place of care that the patient needs |",
        "| Author | A. Example |",
        "| Next review | 2027-11-01 |",
        "| Learned from | 1600 rows |",
        "400 rows, balanced accuracy 0.81 (95 % 0.77 to 0.845)",
        "### Step 2: Respiratory rate,",
    ):
        assert said in text
    assert rows_below(text, "Answers") == [
        ["“home”", "Discharge with advice", "620 of 1600, 38.8 %", "140 of 155 (85 to 94 %)"],
        ["“observation”", "NOT STATED", "470 of 1600, 29.4 %", "90 of 118 (68 to 83 %)"],
        ["“ward”", "NOT STATED", "310 of 1600, 19.4 %", "0 of 77 (below 3.9 %)"],
        [
            "“intensive care”",
            "Call the outreach team now",
            "200 of 1600, 12.5 %",
            "50 of 50 (93 to 100 %)",
        ],
    ]
    age, lactate, *_, oxygen, temp, weight = rows_below(text, "Inputs")
    assert age == [
        "A",
        "Age",
        "years",
        "from the record",
        "18 to 110",
        "18 to 97, 0 % missing",
        "row “missing”",
    ]
    assert lactate[4:] == [
        "0.1 to 30, to 1 decimal",
        "0.4 to 14.2, 8 % missing",
        "take the row missing, and ask for it now",
    ]
    assert oxygen[2:5] == ["-", "NOT STATED", "yes or no"]
    assert temp[2:5] == ["degrees C", "of the ear drum", "to the nearest 1"]
    assert weight[4:6] == ["NOT STATED", "NOT STATED"]


@slowly
@given(rule_trees(), provenances(hostile=True), st.data())
def test_provenance_is_anybodys_json_and_never_stops_a_sheet_or_makes_figures_up(
    rules, entry, data
):
    strange = st.sampled_from(
        [
            None,
            True,
            "x",
            -1,
            1.5,
            10**400,
            [],
            {},
            [1, 2],
            [True, False],
            [10**400, 1],
            ["a", 2],
            {"rows": True},
            {"rows": 10**400},
        ]
    )
    keys = ["training rows", "class rows", "features", "held out"]
    facts = {key: data.draw(strange) for key in keys}
    if rules.features:
        facts["features"] = {
            rules.features[0].name: {
                key: data.draw(strange) for key in ("missing", "range", "gaps")
            }
        }
    figures = ["balanced_accuracy", "balanced_accuracy_95", "r2", "rmse", "class_rows"]
    rows = {key: data.draw(strange) for key in [*figures, "class_hits"]}
    facts["held out"] = data.draw(st.just({"rows": 5, **rows}) | strange)
    text = sheet_text(replace(rules, provenance={**entry, **facts}))
    said = dict(re.findall(r"\| (Learned from|Held-out rows of the same data) \| (.*) \|", text))
    if facts["training rows"] in (True, -1, 1.5):
        assert said["Learned from"] == "NOT STATED"
    assert "True" not in "".join(said.values())


def test_more_hits_than_rows_are_no_figures():
    held = {"rows": 9, "class_rows": [1, 2, 3, 3], "class_hits": [2, 2, 0, 3]}
    rules = replace(mixed_rules(), provenance=PROVENANCE | {"held out": held})
    told = [row[-1] for row in rows_below(sheet_text(rules), "Answers")]
    assert told == [
        "NOT STATED",
        "2 of 2 (34 to 100 %)",
        "0 of 3 (below 100 %)",
        "3 of 3 (44 to 100 %)",
    ]
