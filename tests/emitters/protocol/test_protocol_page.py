"""The sheet's page in a browser: what its form answers, shows and refuses, and how it prints."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
    opened_pages,
    outcome,
    started_browser,
)
from sheets import two_way
from strategies import rule_trees
from unseen import with_evidence

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters.protocol.emit import Protocol
from mbndt.emitters.protocol.grammar import BOOLEANS, unquoted
from mbndt.emitters.protocol.paper import read_sheet
from mbndt.emitters.protocol.statements import Statements
from mbndt.emitters.protocol.steps import steps_of
from mbndt.emitters.protocol.stops import stopped
from mbndt.rules import (
    Feature,
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
    return BOOLEANS[text] if isinstance(label, bool) else type(label)(text)


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


def marked(page):
    return set(page.evaluate("[...document.querySelectorAll('.on')].map(element => element.id)"))


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


@pytest.mark.parametrize(
    "feature, text, message",
    [
        ("lactate", "31", "31 is outside 0.1 to 30: check value and unit."),
        ("lactate", "1,234", "“1,234” can be 1.234 or 1234. Write 1,2340 or 1234."),
        ("lactate", "-1,234", "“-1,234” can be -1.234 or -1234. Write -1,2340 or -1234."),
        ("lactate", "2.000", "“2.000” can be 2 or 2000. Write 2 or 2000."),
        ("lactate", "1,234.5", "Write no sign between thousands."),
        ("lactate", "1.234,5", "Write no sign between thousands."),
        ("lactate", "1,234,567", "Write no sign between thousands."),
        ("lactate", "31,5", "31.5 is outside 0.1 to 30: check value and unit."),
        ("lactate", "1.234.567", "“1.234.567” is no number."),
        ("lactate", "١٫٥", "Write the digits as 0 to 9."),
        ("lactate", "२.५", "Write the digits as 0 to 9."),
        ("lactate", "1'5", "“1'5” is no number."),
        ("lactate", "1 5", "“1 5” is no number."),
        ("lactate", "high", "“high” is no number."),
        ("lactate", "0x10", "“0x10” is no number."),
        ("lactate", "-", "“-” is no number."),
        ("rr", "20.5", "“20.5” is no whole number."),
        ("rr", "20,5", "“20,5” is no whole number."),
        ("rr", "1,234", "“1,234” is no whole number. If it is 1234, write that."),
        ("rr", "-4", "-4 is outside 4 to 60: check value and unit."),
        ("rr", "9223372036854775808", "9223372036854775808 is too large a number."),
    ],
)
def test_a_text_that_means_no_plausible_value_is_refused(view, feature, text, message):
    page = view(kept("mixed"), MIXED_SHEET)
    if feature == "rr":
        fill(page, "1")
    field, before = asked(page), marked(page)
    box = field.get_by_role("textbox")
    box.type(text)
    assert field.get_by_role("alert").inner_text() == ""  # it may not be complete
    box.press("Tab")
    assert field.get_by_role("alert").inner_text() == message
    assert box.get_attribute("aria-invalid") == "true"
    assert field.locator(".error").get_attribute("id") in box.get_attribute("aria-describedby")
    assert outcome(page).startswith("Next: ")
    assert marked(page) == before
    box.fill("9")
    assert field.get_by_role("alert").inner_text() == ""
    assert box.get_attribute("aria-invalid") == "false"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2,15", "read as 2.15"),
        ("2.15", "read as 2.15"),
        ("+2,5", "read as 2.5"),
        (",5", "read as 0.5"),
        ("5,", "read as 5"),
        ("0,234", "read as 0.234"),
        ("1,2340", "read as 1.234, between 1 and 2"),
        ("1.234", "read as 1.234, between 1 and 2"),
        ("0.1000000000000000055", "read as 0.1"),
        ("1,5e1", "read as 15"),
        ("020", "read as 20"),
    ],
)
def test_a_decimal_comma_is_read_and_what_was_understood_is_shown(view, text, said):
    page = view(kept("mixed"), MIXED_SHEET)
    field = asked(page)
    box = field.get_by_role("textbox")
    shown = field.locator("[id$=-read]")
    assert shown.get_attribute("id") in box.get_attribute("aria-describedby")
    box.fill(text)
    box.press("Tab")
    assert shown.inner_text() == said
    assert page.locator("#field-1-error").inner_text() == ""
    page.locator(".input:visible").first.get_by_label("not measured").check()
    assert shown.inner_text() == ""


READ = """
texts => texts.map(text => {
  const field = document.getElementById("field-0");
  const input = field.querySelector("input[type=text]");
  input.value = text;
  input.form.dispatchEvent(new Event("change", { bubbles: true }));
  return ["read", "error"].map(end => document.getElementById(`field-0-${end}`).textContent);
})
"""


SIGN, POWER = "[+-]?", "(?:e[+-]?[0-9]+)?"


def meanings(text):
    """Return every number that a text means anywhere, by a decimal sign and one of thousands."""
    found = set()
    text = text.replace("\u2212", "-")
    for mark, between in (".,", ",."):
        grouped = rf"[1-9][0-9]{{0,2}}(?:\{between}[0-9]{{3}})+"
        rest = rf"(?:\{mark}[0-9]*)?{POWER}"
        for whole in (grouped, "[0-9]+"):
            if re.fullmatch(f"{SIGN}{whole}{rest}", text, re.I):
                found.add(float(text.replace(between, "").replace(mark, ".")))
        if re.fullmatch(rf"{SIGN}\{mark}[0-9]+{POWER}", text, re.I):
            found.add(float(text.replace(mark, ".")))
    return found


DIGITS = st.text(st.sampled_from("0123456789"), max_size=4)


ODD = st.text(st.sampled_from("0123456789.,.,-+−eE '’·٫٬،１१٣०\u00a0\u202f_x½²∞"), max_size=9)


PARTS = st.lists(DIGITS | st.sampled_from(["000", "500", "234"]), min_size=1, max_size=3)


MARKED = st.builds(
    lambda sign, parts, mark: sign + mark.join(parts),
    st.sampled_from(["", "-", "+", "−"]),
    PARTS,
    st.sampled_from(",."),
)


def test_an_odd_number_is_read_rightly_or_refused_and_never_as_another(view):
    page = view(two_way(Feature("x", FeatureType.FLOAT64), 2.0))
    seen = [0, 0]

    @settings(max_examples=20, phases=DRAWN)
    @given(st.lists(MARKED | ODD, min_size=40, max_size=60))
    def holds(texts):
        for text, (read, error) in zip(texts, page.evaluate(READ, texts), strict=True):
            known = meanings(text.strip())
            assert (read == "") == (error != "") or not text.strip(), text
            if read:
                number = float(re.match(r"read as ([^,]+)", read)[1])
                # A point is how the sheet itself writes: it stands, but for what ends on .000.
                sheets = {float(text)} if re.fullmatch(r"\s*[+-]?[0-9]+\.[0-9]{3}\s*", text) else {}
                assert {number} == (sheets or known), text
                assert not re.fullmatch(r"[+-]?[1-9][0-9]{0,2}\.000", text)
            seen[read != ""] += 1

    holds()
    assert min(seen) > 100


@pytest.mark.parametrize(
    "text, start",
    [("20.0", "R0: "), ("+20", "R0: "), (" 021 ", "Next: Serum lactate"), ("25.", "Next: AVPU")],
)
def test_whole_numbers_may_be_written_in_any_usual_way(view, text, start):
    page = view(kept("example"))
    fill(page, text)
    assert page.locator(".input:visible").first.get_by_role("alert").inner_text() == ""
    assert outcome(page).startswith(start)


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
