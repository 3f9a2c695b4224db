"""The sheet's page in a browser: what its form answers, shows and refuses, and how it prints."""

import re

import pytest
from hypothesis import given, settings
from pages import (
    ATTACK,
    CHROMIUM,
    DRAWN,
    MIXED_SHEET,
    TREES,
    UNSTOPPED,
    asked,
    choose,
    fill,
    hostile,
    kept,
    marked,
    opened_pages,
    outcome,
    started_browser,
)
from strategies import rule_trees
from unseen import with_evidence

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters.protocol.emit import Protocol
from mbndt.emitters.protocol.grammar import unquoted
from mbndt.emitters.protocol.paper import read_sheet
from mbndt.emitters.protocol.statements import Statements
from mbndt.emitters.protocol.steps import steps_of
from mbndt.emitters.protocol.stops import stopped
from mbndt.rules import (
    FeatureType,
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"
)


ANSWER = """
rows => rows.map(cells => {
  const form = document.getElementById("form");
  form.querySelectorAll("input:not([name=exclusion])").forEach(input => {
    if (input.type === "text") { input.value = ""; } else { input.checked = false; }
  });
  cells.forEach((cell, i) => {
    const field = document.getElementById(`field-${i}`);
    const text = field.querySelector("input[type=text]");
    if (cell !== "missing" && text) { text.value = cell; return; }
    field.querySelector(`input[value="${cell}"]`).checked = true;
  });
  form.dispatchEvent(new Event("change", { bubbles: true }));
  form.querySelectorAll("[id$=-sure]:not([hidden]) input").forEach(input => {
    input.checked = true;
  });
  form.dispatchEvent(new Event("change", { bubbles: true }));
  return document.getElementById("outcome").textContent;
})
"""


@pytest.fixture(scope="module")
def browser():
    yield from started_browser()


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    yield from opened_pages(browser, tmp_path_factory.mktemp("page"))


def cell(feature, value):
    """Return what a person would write or tick."""
    if value is None or value == "" or value != value:
        return "missing"
    match feature.type:
        case FeatureType.CATEGORY:
            known = feature.categories
            return str(known.index(value)) if value in known else "other"
        case FeatureType.BOOLEAN:
            return str(int(value))
        case FeatureType.INTEGER:
            return str(int(value))
        case _:
            return repr(float(value))


def said(text, label):
    """Return what an answer's text means, of a label's type."""
    if isinstance(label, str):
        return unquoted(text)
    return text == "yes (true)" if isinstance(label, bool) else type(label)(text)


def fields_of(rules):
    """Return the features that the sheet asks for; some lead to stops alone."""
    return [*steps_of(stopped(rules, Statements.of({}, rules))).inputs.values()]


def assert_answers(page, rules, rows):
    table = boundary_rows(rules, rows)
    cells = [
        [cell(feature, row[feature.name]) for feature in fields_of(rules)]
        for row in table.records(rules.used)
    ]
    expected = Protocol().expected(rules, table)
    found = page.evaluate(ANSWER, cells)
    for i, text in enumerate(found):
        if "inf" in cells[i] or "-inf" in cells[i]:
            continue  # which no person measures: refused where it is asked for
        if expected.prediction[i] is None:
            assert text.startswith("Stop: "), cells[i]
            continue
        leaf, answer = re.fullmatch(r"R(\d+): (.*)", text, re.S).groups()
        assert int(leaf) == expected.leaf[i], cells[i]
        label = expected.prediction[i]
        # Numbers are shown with four digits.
        label = float(f"{label:.4g}") if isinstance(label, float) else label
        assert said(answer, label) == label, cells[i]


@pytest.mark.parametrize("name", TREES)
def test_the_form_gives_the_interpreters_answers(view, name):
    rules = TREES[name]()
    assert_answers(view(rules), rules, 400)


def test_the_form_gives_the_interpreters_answers_for_all_that_can_be_drawn(view):
    @settings(max_examples=30, phases=DRAWN)
    @given(rule_trees() | rule_trees(hostile=True))
    def holds(rules):
        page = view(rules)
        if fields_of(rules):
            assert_answers(page, rules, 60)

    holds()


def test_texts_that_try_to_run_are_shown_as_they_are(view):
    rules = hostile()
    statements = {
        "title": ATTACK,
        "population": ATTACK,
        "exclusions": [ATTACK],
        "features": {rules.features[0].name: {"measured": ATTACK}},
        "outcomes": {"yes": {"action": ATTACK}},
    }
    page = view(rules, statements)
    choose(page, f"“{ATTACK}”")
    fill(page, "7")
    assert outcome(page) == "R1: “yes”"
    assert ATTACK in page.locator("#reason").inner_text()
    assert ATTACK in page.locator("h1").inner_text()
    assert page.evaluate("typeof pwned") == "undefined"
    assert page.locator("img, main script").count() == 0


def test_the_steps_taken_are_marked_in_the_tables_and_in_the_drawing(view):
    rules = kept("mixed")
    page = view(rules, MIXED_SHEET)
    sheet = read_sheet(page.content(), html=True)
    row = {"lactate": 1.5, "rr": 15, "temp": 37.0, "age": 70}
    for value in row.values():
        fill(page, str(value))
    places = [f"{step.number}-{step.answers.index(answer)}" for step, answer in sheet.follow(row)]
    assert len(places) == 4
    ways = {f"{kind}-{place}" for kind in ("row", "way") for place in places}
    assert marked(page) == ways | {"result-6", "end-6"}
    page.get_by_role("button", name="Start again").click()
    page.locator("tr.on").first.wait_for(state="detached")
    assert marked(page) == set()
    assert outcome(page) == "First: does any of these hold?"
    page.get_by_label("none of these").check()
    assert marked(page) == {"step-1"}
    assert outcome(page) == "Next: Serum lactate, in mmol/L (input B)"


def test_a_result_comes_with_what_to_do_and_why(view):
    page = view(with_evidence(kept("mixed")), UNSTOPPED)
    fill(page, "4")
    choose(page, "not measured")
    assert outcome(page) == "R16: “intensive care”"
    assert page.locator("#reason").inner_text().split("\n") == [
        "because Serum lactate 4 is 4 or more, and On oxygen is not known",
        "What to do: Call the outreach team now (bleep 999)",
        "Chance of the answer (95 %): about 78 in 100 (52 to 95)",
        "Cases not used to make this sheet: 9 of 11",
        "Steps: 1, 11",
        "Note: few cases",
    ]


def test_questions_come_in_the_order_of_the_steps_and_go_by_keyboard_alone(view):
    page = view(kept("mixed"), MIXED_SHEET)
    legends = page.locator(".input:visible legend")
    keys = page.keyboard
    keys.press("Tab")
    keys.type("3")
    keys.press("Tab")
    keys.press("Tab")
    keys.type("100")
    keys.press("Tab")
    keys.press("Tab")
    assert [text.split(",")[0] for text in legends.all_inner_texts()] == [
        "Serum lactate",
        "Systolic pressure",
        "Age",
    ]
    keys.press("Tab")  # past the tick of systolic pressure
    page.get_by_role("textbox").last.focus()
    keys.press("Shift+Tab")
    keys.press("Tab")
    keys.type("80")
    assert outcome(page) == "R12: “ward”"
    # Another first answer asks for other things, and keeps the place.
    page.get_by_role("textbox").first.fill("5")
    assert [text.split(" (")[0] for text in legends.all_inner_texts()] == [
        "Serum lactate, in mmol/L",
        "On oxygen",
    ]
    assert page.evaluate("document.activeElement.name") == "field-1"


def test_not_measured_takes_the_row_not_known_and_closes_the_box(view):
    page = view(kept("mixed"), UNSTOPPED)
    box = asked(page).get_by_role("textbox")
    choose(page, "not measured")
    assert box.is_disabled()
    assert outcome(page) == "Next: Respiratory rate, in breaths/min (input C)"


def test_the_way_lights_up_step_by_step(view):
    page = view(kept("mixed"), MIXED_SHEET)
    assert marked(page) == {"step-1"}
    asked(page).get_by_role("textbox").fill("3")
    assert marked(page) == {"row-1-1", "way-1-1", "step-8"}
    asked(page).get_by_role("textbox").fill("100")
    assert marked(page) == {"row-1-1", "way-1-1", "row-8-1", "way-8-1", "step-9"}
    asked(page).get_by_role("textbox").fill("60")
    assert marked(page) == {
        "row-1-1",
        "way-1-1",
        "row-8-1",
        "way-8-1",
        "row-9-1",
        "way-9-1",
        "result-11",
        "end-11",
    }
