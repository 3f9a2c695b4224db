"""Labels of coded classes and values stand beside the code, and nobody is misled by them."""

import pytest
from said_rows import rows_below
from sheets import read, sheet_text
from unseen import with_evidence

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters.protocol.paper import read_sheet
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

LABELLED = {
    "outcomes": {"0": {"label": "lives"}, "1": {"label": "dies"}},
    "features": {
        "shape": {"values": {"1": "round", "2": "missing or oval", "3": "below 9"}},
        "grade": {"values": {"1": "low", "2": "high"}},
    },
}


def coded(kind=TargetType.STRING, classes=("0", "1")):
    grade = NumericSplit(
        "grade",
        (Interval(2, 0), Interval(None, 1)),
        1,
        (Leaf(0, (0.9, 0.1), (90, 10)), Leaf(1, (0.2, 0.8), (8, 32))),
    )
    root = SetSplit(
        "shape",
        (Group(("1", "2"), 0), Group(("3",), 1)),
        1,
        (grade, Leaf(2, (0.1, 0.9), (3, 27))),
        1,
    )
    features = (
        Feature("shape", FeatureType.CATEGORY, ("1", "2", "3")),
        Feature("grade", FeatureType.INTEGER),
    )
    return Rules("coded", Target("y", kind, classes), features, root)


TARGETS = {
    "texts": (TargetType.STRING, ("0", "1")),
    "numbers": (TargetType.INTEGER, (0, 1)),
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_labelled_sheet_is_followed_to_the_same_answers(kind, target):
    rules = coded(*target)
    labelled = read_sheet(sheet_text(rules, kind, sheet=LABELLED), html=kind == "html")
    assert labelled.steps[1].answers[0].values == read(rules).steps[1].answers[0].values
    found = check(
        rules, "protocol", {"format": kind, "sheet": LABELLED}, [boundary_rows(rules, 500)]
    )
    assert found.mismatches == 0, found


def test_booleans_too():
    rules = coded(TargetType.BOOLEAN, (False, True))
    stated = {"outcomes": {"true": {"label": "dies"}, "false": {"label": "lives"}}}
    assert "dies (yes (true))" in sheet_text(rules, sheet=stated)
    found = check(rules, "protocol", {"format": "md", "sheet": stated}, [boundary_rows(rules, 500)])
    assert found.mismatches == 0, found


def test_labels_stand_wherever_their_codes_do():
    text = sheet_text(with_evidence(coded()), sheet=LABELLED)
    assert "| round (“1”) or missing or oval (“2”) | go to step 2 |" in text
    assert "| below 9 (“3”), or not listed, or not known | R2: dies (“1”) |" in text
    assert [row[0] for row in rows_below(text, "Answers")] == ["lives (“0”)", "dies (“1”)"]
    rows = rows_below(text, "Results")
    assert rows[0][1] == "lives (“0”)"
    assert "shape: round (“1”) or missing or oval (“2”)" in rows[0][5]
    assert "Risk of dies (“1”) (95 %)" in text
    assert "with dies (“1”); " in text
    assert rows_below(text, "Inputs")[1][3] == "1: low, 2: high"
    assert (
        "round (“1”) or missing or oval (“2”) or below 9 (“3”)" in rows_below(text, "Inputs")[0][4]
    )
    page = sheet_text(coded(), "html", sheet=LABELLED)
    assert "> below 9 (“3”)</label>" in page
    assert ">R0 lives (“0”)<" in page


def test_without_labels_nothing_changes():
    empty = {"outcomes": {"0": {"label": ""}}, "features": {"shape": {"values": {"1": ""}}}}
    assert sheet_text(coded(), sheet=empty) == sheet_text(coded())
