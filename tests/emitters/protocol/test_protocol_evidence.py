"""What a sheet says of its results: figures, what people stated, and what nobody did."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixed_rules import STATED, mixed_rules
from said_rows import formats, rows_below, slowly
from sheets import LABELS, sheet_text, two_way
from strategies import provenances, rule_trees
from unseen import performance_of, with_evidence

from mbndt.measures.confidence import rule_of_three, wilson
from mbndt.rules import (
    Feature,
    FeatureType,
    Leaf,
    Rules,
    Target,
    TargetType,
)


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("held out", "Cases not used to make this sheet"),
        ("cross-fitted", "Cases, each judged without itself"),
    ],
)
def test_results_say_risk_interval_and_unseen_cases_with_the_steps_that_lead_there(
    example, kind, head
):
    text = sheet_text(with_evidence(example, kind))
    assert f"| Result | Answer | Chance of the answer (95 %) | {head} | Steps |" in text
    rows = {row[0]: row[1:] for row in rows_below(text, "Results")}
    assert rows["R0"][:4] == ["“home”", "about 75 in 100 (63 to 84)", "45 of 60", "1"]
    assert rows["R5"][:4] == [
        "“intensive care”",
        "about 100 in 100 (51 to 100)",
        "4 of 4",
        "1, 2",
    ]
    notes = [row[-1].strip() for row in rows.values()]
    assert notes[0] == ""
    assert notes[2] == "few cases; tie: first class"


def test_risks_are_of_the_event_where_there_is_one():
    rules = two_way(Feature("x", FeatureType.FLOAT64), 1.0)
    leaves = {0: ((0.94, 0.06), (94, 6)), 1: ((0.2, 0.8), (8, 32))}
    rules = rules.with_leaves(
        lambda leaf: replace(leaf, value=leaves[leaf.leaf][0], counts=leaves[leaf.leaf][1])
    )
    rows = rows_below(sheet_text(with_evidence(rules)), "Results")
    assert [row[2:4] for row in rows] == [
        ["about 6 in 100 (2 to 16)", "3 of 50"],
        ["about 80 in 100 (58 to 92)", "16 of 20"],
    ]
    assert "Risk of “yes” (95 %)" in sheet_text(with_evidence(rules))


def test_without_evidence_results_state_nothing_and_training_rows_stay_with_the_auditors(example):
    text = sheet_text(example)
    assert [row[2:4] for row in rows_below(text, "Results")] == [["NOT STATED"] * 2] * 6
    front, auditors = text.split("## For auditors")
    assert "90 of 120" not in front
    assert rows_below(auditors, "Training rows")[0] == ["R0", "“home”", "90 of 120, 75 %"]


@pytest.mark.parametrize(("size", "flagged"), [(19, True), (20, False)])
def test_fewer_than_twenty_cases_are_flagged(size, flagged):
    leaf = Leaf(0, (1.0, 0.0), (size, 0))
    rules = Rules("r", LABELS, (), leaf)
    assert ("few cases" in rows_below(sheet_text(rules), "Results")[0][-1]) is flagged
    unseen = with_evidence(replace(rules, root=Leaf(0, (1.0, 0.0), (2 * size, 0))))
    assert ("few cases" in rows_below(sheet_text(unseen), "Results")[0][-1]) is flagged


def test_a_regressions_results_say_the_unseen_mean_and_the_training_rows_stand_apart():
    leaf = Leaf(0, 1.5, n=40, mean=1.5, std=0.25)
    evidence = {
        "kind": "held out",
        "rows": 19,
        "leaves": [{"n": 19, "mean": 1.25, "std": 0.5}],
        "intervals": [[1.0, 1.5]],
        "performance": {"rows": 19, "r2": 0.5, "mae": 0.25, "rmse": [0.5, 0.25, 0.75]},
    }
    target = Target("y", TargetType.FLOAT64)
    text = sheet_text(Rules("r", target, (), leaf, {"evidence": evidence}))
    (row,) = rows_below(text, "Results")
    assert row[1:5] == ["1.5", "19", "1.25 (1 to 1.5)", "0.5"]
    assert "few cases" in row[-1]
    assert rows_below(text, "Training rows") == [["R0", "1.5", "40", "1.5", "0.25"]]
    assert "| Root mean squared error | 0.5 (0.25 to 0.75) |" in text


def test_an_answer_that_is_not_its_cases_commonest_is_flagged():
    leaf = Leaf(0, (0.4, 0.6), (30, 10))
    assert "| not the commonest |" in sheet_text(Rules("r", LABELS, (), leaf))
    likely = replace(leaf, risk=(0.3, 0.7))
    assert "| not the commonest |" not in sheet_text(Rules("r", LABELS, (), likely))


def event_rules(**more):
    leaves = Leaf(0, (0.9, 0.1), (90, 2)), Leaf(1, (0.2, 0.8), (8, 10))
    rules = two_way(Feature("x", FeatureType.FLOAT64), 1.0).with_leaves(lambda x: leaves[x.leaf])
    return with_evidence(rules, performance=performance_of([[45, 4], [1, 5]], 1, **more))


@formats
def test_performance_is_told_in_words_with_intervals_beside_the_commonest_answer(kind):
    text = " ".join(sheet_text(event_rules(), kind).split())
    for said in (
        "90 % (80 to 95 %): found 5 of 6 with “yes”; 1 missed",
        "90 % (80 to 95 %): spared 45 of 49 others; 4 alarmed needlessly",
        "90 % (80 to 95 %): 5 of 9 answered “yes” had it",
        "90 % (80 to 95 %): 45 of 46 answered otherwise had not",
        "80 % (70 to 90 %); always the commonest: 60 % (50 to 70 %)",
        "0.91 (0.85 to 0.96)",
        "38 % expected to have “yes”; 40 % (30 to 50 %) had it",
        "better than treating all or none, if one would act at a risk from 13 % to 79 %",
        "55 cases held out, not used to make this sheet",
    ):
        assert said in text
    assert ("expected risk</text>" in text) == (kind == "html")


def test_the_table_and_the_points_to_act_at_are_printed_as_they_are():
    text = sheet_text(event_rules())
    assert "| “no” | 45 | 4 |\n| “yes” | 1 | 5 |" in text
    assert "| 5 % or more | 6 | 0 | 9 | 40 |\n| 40 % or more | 5 | 1 | 4 | 45 |" in text
    many = [
        {"act_at": i / 50, "found": i, "missed": 0, "needless": 0, "spared": 0} for i in range(50)
    ]
    text = sheet_text(event_rules(points=many))
    rows = [line for line in text.split("\n") if " or more | " in line and "go to" not in line]
    assert any(row.startswith("| 0 % or more") for row in rows)
    assert any(row.startswith("| 98 % or more") for row in rows)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"act_at": 0.05}, "“yes” where its risk is 5 % or more"),
        ({"cost": {"missed": 10, "false": 1}}, "one missed costs 10, one told needlessly 1"),
        ({"cost": {"no": {"yes": 2}}}, "the answer of least cost: "),
        ("soon", "classes weigh equally, however common they are"),
    ],
)
def test_how_the_answer_follows_from_the_risk_is_said(facts, said):
    rules = event_rules()
    rules = replace(rules, provenance={**rules.provenance, "operating point": facts})
    assert f"| How the answer is chosen | {said}" in sheet_text(rules)


def test_a_stated_prevalence_is_said():
    rules = event_rules()
    facts = {**rules.provenance, "prevalence": {"no": 0.9, "yes": 0.1}}
    text = sheet_text(replace(rules, provenance=facts))
    assert "are for a share of | “no” 90 %, “yes” 10 % |" in text


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


def test_the_rule_of_three_is_that_of_chance():
    assert [rule_of_three(n) for n in (1, 3, 300)] == [1.0, 1.0, 0.01]
    for n in (30, 300, 3000):  # a share of 3/n shows none in n cases about once in twenty
        assert float((1 - Fraction(3, n)) ** n) == pytest.approx(0.05, abs=0.008)


@formats
def test_probabilities_are_printed_in_percent_and_exactly_with_counts(example, kind):
    text = " ".join(sheet_text(example, kind).split())
    assert "12.5 % (0.125), 2 rows" in text
    assert "25 % (0.25), 30 rows" in text


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
        "Skill needed",
        "Do not use if",
        "“home”",
        "“ward”",
        "“intensive care”",
        "Learned from",
        "Data",
        "Sites",
        "How the answer is chosen",
        "Figures from",
        "Mean over the classes",
        "Harms",
        "Limits",
        "References",
    ]
    assert "| NOT STATED; always the commonest: NOT STATED |" in text
    for row in rows_below(text, "Inputs")[:2]:
        assert row[3:6] == ["NOT STATED"] * 3


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
        "| Learned from | 1600 cases, of these “home” 38.8 %, “observation” 29.4 %, ",
        "400 cases, balanced accuracy 0.81 (95 % 0.77 to 0.845)",
        "### Step 2: Respiratory rate,",
    ):
        assert said in text
    assert rows_below(text, "Answers") == [
        ["“home”", "Discharge with advice"],
        ["“observation”", "NOT STATED"],
        ["“ward”", "NOT STATED"],
        ["“intensive care”", "Call the outreach team now"],
    ]
    age, lactate, *_, oxygen, temp, weight = rows_below(text, "Inputs")
    assert age == [
        "A",
        "Age",
        "years",
        "from the record",
        "18 to 110",
        "18 to 97, 0 % not known",
        "row “not known”",
    ]
    assert lactate[4:] == [
        "0.1 to 30, to 1 decimal",
        "0.4 to 14.2, 8 % not known",
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
    keys = ["training rows", "class rows", "features", "held out", "evidence", "validation"]
    keys += ["operating point", "prevalence", "monotone"]
    facts = {key: data.draw(strange) for key in keys}
    if rules.features:
        facts["features"] = {
            rules.features[0].name: {
                key: data.draw(strange) for key in ("missing", "range", "gaps")
            }
        }
    kind = data.draw(st.sampled_from(["held out", "cross-fitted", "none", None]))
    figures = ["table", "accuracy", "commonest", "auc", "calibration", "points", "useful", "r2"]
    evidence = {key: data.draw(strange) for key in ("rows", "folds", "leaves", "intervals")}
    evidence["first question"] = data.draw(strange)
    evidence["performance"] = {key: data.draw(strange) for key in figures}
    evidence["performance"]["event"] = rules.event
    facts["evidence"] = data.draw(st.just({"kind": kind, **evidence}) | strange)
    text = sheet_text(replace(rules, provenance={**entry, **facts}))
    said = dict(re.findall(r"\| (Learned from|Figures from) \| (.*) \|", text))
    if facts["training rows"] in (True, -1, 1.5):
        assert said["Learned from"] == "NOT STATED"
    if kind not in ("held out", "cross-fitted"):
        assert said["Figures from"] == "NOT STATED"
    assert "True" not in "".join(said.values())


HOSTILE = [True, -0.1, 1.1, 10**400, "0.5", [0.5, 0.6, 0.7], [0.5, "a", "b"], [], {}]


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("key", ["sensitivity", "accuracy", "auc"])
def test_a_figure_that_is_no_share_with_its_interval_is_not_printed_as_one(key, value):
    name = {"sensitivity": "Found", "accuracy": "Right answers", "auc": "Ranking"}[key]
    text = sheet_text(event_rules(**{key: value}))
    (line,) = [line for line in text.split("\n") if line.startswith(f"| {name}")]
    assert "NOT STATED" in line


@pytest.mark.parametrize(
    "leaves", [[[1]], [[1, 2], [3]], [[1, 2], [3, -4]], [[1, 2], [True, 1]], {"0": [1, 2]}, None]
)
def test_unsound_counts_of_leaves_are_not_printed(leaves):
    rules = event_rules()
    facts = rules.provenance["evidence"] | {"leaves": leaves}
    text = sheet_text(replace(rules, provenance={"evidence": facts}))
    assert rows_below(text, "Results")[1][3] == "NOT STATED"


def test_an_interval_that_is_none_is_not_printed():
    rules = event_rules()
    facts = rules.provenance["evidence"] | {"intervals": [[[0.5, 0.4]] * 2, None]}
    rows = rows_below(sheet_text(replace(rules, provenance={"evidence": facts})), "Results")
    assert [row[2] for row in rows] == [
        "about 10 in 100 (interval NOT STATED)",
        "about 80 in 100 (interval NOT STATED)",
    ]


def test_a_promised_order_is_said_where_it_holds():
    x = Feature("age", FeatureType.FLOAT64)
    rules = replace(two_way(x, 1.0), provenance={"monotone": {"age": "+"}})
    shown = [rules.leaves[0].value, rules.leaves[1].value]
    turned = rules.with_leaves(lambda leaf: replace(leaf, value=shown[1 - leaf.leaf]))
    said = re.findall(r"All else equal \| (.*) \|", sheet_text(rules) + sheet_text(turned))
    event = rules.target.classes[rules.event]
    assert said == [f"the risk of “{event}” never falls as age rises"]


def test_how_often_refits_began_alike_is_said_where_it_can_be_true(example):
    def said(**facts):
        text = sheet_text(with_evidence(example, "cross-fitted", **{"first question": facts}))
        return re.findall(r"\| First question \| (.*) \|", text)

    assert said(feature="lactate", refits=5, alike=4) == ["lactate came first in 4 of 5 refits"]
    for facts in (
        {"feature": None, "refits": 5, "alike": 5},
        {"feature": "lactate", "refits": 5, "alike": 6},
        {"feature": "lactate", "refits": 0, "alike": 0},
        {"feature": "lactate", "refits": 5, "alike": True},
    ):
        assert said(**facts) == []
