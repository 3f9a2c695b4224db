"""What the sheet says: steps, results and what they rest on, examples, statements, gaps in them."""

import itertools
import re

import pytest
from hypothesis import given
from mixed_rules import CLASSES, STATED, mixed_rules
from said_rows import formats, rows_below, slowly
from sheets import LABELS, NO, YES, read, sheet_text, step_lines, two_way
from strategies import regression, rule_trees, single_leaf

from mbndt.emitters import emit
from mbndt.errors import OptionError
from mbndt.interpreter import leaf_of
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


def test_each_step_says_all_values_that_lead_to_one_place_in_one_row(example):
    assert step_lines(example, 1) == [
        "| below 9, or 25 or more | go to step 2 |",
        "| 9 to below 21 | R0: “home” |",
        "| 21 to below 25, or not known | go to step 4 |",
    ]
    assert step_lines(example, 2) == [
        "| “alert” or “voice” | go to step 3 |",
        "| “pain” or “unresponsive”, or not listed, or not known | R5: “intensive care” |",
    ]
    assert step_lines(example, 3) == [
        "| no (false) | R3: “ward” |",
        "| yes (true), or not known | R4: “intensive care” |",
    ]
    assert step_lines(example, 4) == [
        "| below 2.15, or not known | R1: “ward” |",
        "| 2.15 or more | R2: “ward” |",
    ]


@slowly
@given(rule_trees(depth=5, stops=False))
def test_a_step_has_one_row_a_child_and_each_value_stands_in_one_row(rules):
    steps = read(rules).steps.values()
    for step in steps:
        goals = [(row.step, row.leaf) for row in step.answers]
        assert len(set(goals)) == len(goals)
        assert sum(row.missing for row in step.answers) == 1
        assert sum(row.other for row in step.answers) <= 1
    # Whole numbers can leave a child without any value; all others have a row.
    if not any(feature.type == "integer" for feature in rules.features):
        rows = sorted(len(step.answers) for step in steps)
        assert rows == sorted(len(split.children) for split in rules.splits)


@pytest.mark.parametrize(
    ("kind", "cuts", "said"),
    [
        ("integer", (9, 21), ["below 9, or 21 or more", "9 to below 21, or not known"]),
        ("integer", (8.5, 9.5), ["below 9, or 10 or more", "9 to below 10, or not known"]),
        # No whole number is between the first two, so both sides join.
        ("integer", (8.2, 8.7, 30), ["below 30", "30 or more, or not known"]),
        ("integer", (-(2**63), 2**63), ["any number, or not known"]),
        (
            "integer",
            (-1e300, 2**53 + 1, 1e300),
            ["9007199254740993 or more", "below 9007199254740993, or not known"],
        ),
        ("float64", (2.15, 6.5), ["below 2.15, or 6.5 or more", "2.15 to below 6.5, or not known"]),
        (
            "float64",
            (-0.0, 4.0, 1e-5),
            ["below 0, or 0.00001 to below 4", "0 to below 0.00001, or 4 or more, or not known"],
        ),
        (
            "float64",
            (0.1 + 0.2, 1e300),
            [
                "below 0.30000000000000004, or 1e+300 or more",
                "0.30000000000000004 to below 1e+300, or not known",
            ],
        ),
    ],
)
def test_intervals_read_as_people_say_them_with_every_digit(kind, cuts, said):
    rules = two_way(Feature("x", FeatureType(kind)), *sorted(cuts))
    printed = [line.split(" | ")[0][2:] for line in step_lines(rules, 1)]
    assert sorted(printed) == sorted(said)


@formats
def test_a_step_asks_about_the_label_in_its_unit_and_names_its_input(example, kind):
    text = sheet_text(example, kind)
    assert "Step 4: Serum lactate, in mmol/L? (B)" in text
    assert "Step 3: on oxygen? (C)" in text
    assert "Step 2: AVPU? (D)" in text


def test_inputs_with_one_label_are_told_apart_by_name():
    inputs = (
        Feature("a", FeatureType.FLOAT64, label="b"),
        Feature("b", FeatureType.FLOAT64),
        Feature("c", FeatureType.FLOAT64, label="same"),
        Feature("d", FeatureType.FLOAT64, label="same"),
    )
    node = Leaf(4, 4.0)
    for i in (3, 2, 1, 0):
        node = NumericSplit(
            inputs[i].name, (Interval(0.0, 0), Interval(None, 1)), 0, (Leaf(i, float(i)), node)
        )
    rules = Rules("r", Target("y", TargetType.FLOAT64), inputs, node)
    assert re.findall(r"Step \d: (.)\?", sheet_text(rules)) == ["a", "b", "c", "d"]
    stated = {"features": {"a": {"label": "c"}}}
    assert re.findall(r"Step \d: (.)\?", sheet_text(rules, sheet=stated)) == ["a", "b", "c", "d"]


def test_a_float32_input_says_where_an_end_itself_falls_below():
    text = sheet_text(two_way(Feature("x", FeatureType.FLOAT32), 0.1, 0.7))
    assert "Take care: 0.7 itself becomes 0.699999988079071, which is below 0.7." in text
    assert "Take care: 0.1 " not in text
    assert "number, rounded to float32" in text
    assert "float32" not in sheet_text(two_way(Feature("x", FeatureType.FLOAT64), 0.1, 0.7))


@slowly
@given(rule_trees(depth=5))
def test_steps_lead_forward_and_the_first_that_leads_on_leads_to_the_next(rules):
    for step in read(rules).steps.values():
        onward = [answer.step for answer in step.answers if answer.step is not None]
        assert all(number > step.number for number in onward)
        assert not onward or onward[0] == step.number + 1


def test_a_leaf_that_nothing_reaches_is_left_out_and_named():
    leaves = (Leaf(0, NO), Leaf(1, YES), Leaf(2, NO))
    parts = (Interval(8.2, 0), Interval(8.7, 1), Interval(None, 2))
    rules = Rules(
        "r", LABELS, (Feature("n", FeatureType.INTEGER),), NumericSplit("n", parts, 0, leaves)
    )
    artifact = emit(rules, "protocol", format="md")
    assert artifact.notes == ("leaf 1 is on no path and not on the sheet",)
    assert "On no path, so left out: leaf 1." in artifact.text
    assert list(read(rules).results) == [0, 2]


def test_a_result_whose_steps_exclude_one_another_says_so():
    inner = NumericSplit("x", (Interval(2.0, 0), Interval(None, 1)), 0, (Leaf(0, NO), Leaf(1, YES)))
    root = NumericSplit("x", (Interval(1.0, 0), Interval(None, 1)), 0, (inner, Leaf(2, NO)))
    rules = Rules("r", LABELS, (Feature("x", FeatureType.FLOAT64),), root)
    assert [row[5] for row in rows_below(sheet_text(rules), "Results")] == [
        "every input has this answer",
        "no input ends here",
        "every input has this answer",
    ]


@slowly
@given(rule_trees(depth=5, stops=False))
def test_worked_examples_end_where_the_interpreter_ends(rules):
    text, sheet = sheet_text(rules), read(rules)
    walks = re.findall(r"#### Example.*\n((?:\nStep .*\n)+)", text)
    assert bool(walks) == bool(sheet.steps)
    bounded = any(step.ends for step in sheet.steps.values())
    exact = "#### Example exactly on a boundary" in text
    # A boundary of a feature that is asked again may lie where no input comes.
    asked_twice = len({split.feature for split in rules.splits}) < len(rules.splits)
    assert exact == bounded or (asked_twice and not exact)
    for walk in walks:
        row = dict.fromkeys((feature.name for feature in rules.used), None)
        steps = re.findall(r"Step (\d+): (.*) is .*: (go to step \d+|R\d+: .*)\n", walk)
        for (number, asked, _), (following, _, _) in itertools.pairwise(steps):
            assert f"Step {number}: {asked} is " in walk
            assert int(following) in {a.step for a in sheet.steps[int(number)].answers}
        for number, asked, _ in steps:
            feature = sheet.inputs[sheet.steps[int(number)].letter]
            row[feature.name] = said_value(feature, asked)
        end = re.fullmatch(r"R(\d+): .*", steps[-1][-1])
        assert int(end[1]) == leaf_of(rules, row)


def said_value(feature: Feature, text: str) -> object:
    if text.endswith(" not known"):
        return None
    match feature.type:
        case FeatureType.CATEGORY:
            return re.search(r"“([^“”]*)”$", text)[1]
        case FeatureType.BOOLEAN:
            return text.endswith("yes (true)")
        case FeatureType.INTEGER:
            return int(text.split()[-1])
        case _:
            return float(text.split()[-1])


def test_one_worked_example_lies_exactly_on_a_boundary(example):
    part = sheet_text(example).split("Example exactly on a boundary")[1]
    assert "Step 1: respiratory rate 9 is 9 to below 21: R0: “home”" in part
    inner = NumericSplit("x", (Interval(1.5, 0), Interval(None, 1)), 0, (Leaf(1, NO), Leaf(2, YES)))
    root = SetSplit("flag", (Group((False,), 0), Group((True,), 1)), 0, (Leaf(0, NO), inner))
    rules = Rules(
        "r", LABELS, (Feature("x", FeatureType.FLOAT64), Feature("flag", FeatureType.BOOLEAN)), root
    )
    assert "Step 2: x 1.5 is 1.5 or more: R2: “yes”" in sheet_text(rules)


@formats
def test_the_sheet_says_what_it_is_and_where_it_comes_from(example, kind):
    text = sheet_text(example, kind)
    flat = " ".join(text.split())
    for said in (
        "DRAFT - NOT VALIDATED",
        "It is not a medical device",
        example.fingerprint,
        "invented numbers, for tests only",
    ):
        assert said in flat
    assert text == sheet_text(example, kind)


def test_the_procedure_stands_first_and_the_fingerprint_above_it():
    text = sheet_text(mixed_rules(), sheet=STATED)
    order = [
        "# Where to send",
        "DRAFT",
        "| Fingerprint | ",
        "## Procedure",
        "### Step 1:",
        "## Answers",
        "## Record",
        "## Results",
        "## Evidence",
        "## Harms and limits",
        "## Inputs",
        "#### Example",
        "## How to read this sheet",
        "## For auditors",
        "## Training rows",
        "## Exact figures",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_classes_that_are_booleans_or_whole_numbers_take_actions_too():
    stated = {"outcomes": {"true": {"action": "go"}, "false": {"action": "stay"}}}
    answers = rows_below(sheet_text(single_leaf(), sheet=stated), "Answers")
    assert [row[:2] for row in answers] == [["no (false)", "stay"], ["yes (true)", "go"]]
    numbers = Rules("r", Target("y", TargetType.INTEGER, (-1, 7)), (), Leaf(0, (0.5, 0.5)))
    stated = {"outcomes": {"-1": {"action": "go"}}}
    answers = rows_below(sheet_text(numbers, sheet=stated), "Answers")
    assert [row[:2] for row in answers] == [["-1", "go"], ["7", "NOT STATED"]]
    with pytest.raises(OptionError, match="outcomes: unknown '3'"):
        sheet_text(numbers, sheet={"outcomes": {"3": {}}})
    assert "## Answers" not in sheet_text(regression())
    assert len(rows_below(sheet_text(mixed_rules()), "Answers")) == len(CLASSES)


def test_examples_have_values_that_training_saw_where_their_intervals_allow_it():
    text = sheet_text(mixed_rules())
    ranges = {
        sheet_title: facts["range"]
        for name, facts in mixed_rules().provenance["features"].items()
        if "range" in facts
        for sheet_title in [mixed_rules().feature[name].label or name]
    }
    seen = re.findall(r"Step \d+: (.*) (-?[\d.]+) is .*: (?:go to step \d+|R\d+: .*)\n", text)
    known = [(title, number) for title, number in seen if title in ranges]
    assert {title for title, _ in known} == set(ranges)
    for title, number in known:
        least, greatest = ranges[title]
        assert least <= float(number) <= greatest, (title, number)


def test_a_note_tells_of_thresholds_that_are_finer_than_what_is_recorded():
    rules = two_way(Feature("x", FeatureType.FLOAT64), 2.15)
    for decimals, told in ((1, True), (2, False)):
        sheet = {"features": {"x": {"decimals": decimals}}}
        notes = emit(rules, "protocol", format="md", sheet=sheet).notes
        assert any("2.15 is finer" in note for note in notes) == told


def test_a_note_tells_of_a_unit_in_other_words(example):
    for unit, told in (("mg/dL", True), ("mmol/L", False)):
        sheet = {"features": {"lactate": {"unit": unit}}}
        notes = emit(example, "protocol", format="md", sheet=sheet).notes
        assert any("nothing is converted" in note for note in notes) == told
