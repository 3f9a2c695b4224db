"""What the form asks before all else, refuses, converts, and stops at; and a case's record."""

import pytest
from pages import (
    CHROMIUM,
    MIXED_SHEET,
    UNSTOPPED,
    asked,
    choose,
    fill,
    kept,
    opened_pages,
    outcome,
    started_browser,
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"
)

LACTATE = {"range": [0.1, 30], "decimals": 1, "other_units": [{"unit": "mg/dL", "factor": 0.111}]}


@pytest.fixture(scope="module")
def browser():
    yield from started_browser()


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    yield from opened_pages(browser, tmp_path_factory.mktemp("page"))


def reason(page):
    return page.locator("#reason").inner_text()


def sure(page):
    return asked(page).get_by_label("value and unit are checked, and both are right")


def test_exclusions_come_first_and_one_of_them_stops_the_form(view):
    page = view(kept("mixed"), UNSTOPPED, excluded=True)
    assert outcome(page) == "First: does any of these hold?"
    assert page.locator(".input:visible").count() == 0
    page.get_by_label("pregnant").check()
    assert outcome(page) == "Stop: do not use this sheet"
    assert reason(page) == "It is not made for: pregnant"
    page.get_by_label("none of these").check()  # both are ticked: the reason to stop counts
    assert outcome(page) == "Stop: do not use this sheet"
    page.get_by_label("pregnant").uncheck()
    assert outcome(page) == "Next: Serum lactate, in mmol/L (input B)"
    fill(page, "4")
    choose(page, "no (false)")
    assert outcome(page) == "R15: “ward”"
    page.get_by_label("age below 18").check()
    assert outcome(page) == "Stop: do not use this sheet"
    assert page.locator(".on").count() == 0


def test_a_value_far_outside_answers_only_once_it_is_said_to_be_right_and_then_with_a_warning(view):
    page = view(kept("mixed"), UNSTOPPED)
    assert not sure(page).is_visible()
    fill(page, "31")
    assert outcome(page).startswith("Next: Serum lactate")
    first = page.locator("#field-1")
    tick = first.get_by_label("value and unit are checked, and both are right")
    tick.check()
    assert outcome(page).startswith("Next: On oxygen")
    choose(page, "no (false)")
    assert outcome(page) == "R15: “ward”"
    warning = "Do not rely on it: Serum lactate 31 is outside what the sheet is made for."
    assert reason(page).split("\n")[0] == warning
    box = first.get_by_role("textbox")
    box.fill("32")  # what was checked is another value
    box.press("Tab")
    assert not tick.is_checked()
    assert outcome(page).startswith("Next: Serum lactate")
    box.fill("30")
    box.press("Tab")
    assert not tick.is_visible()
    assert outcome(page) == "R15: “ward”"
    assert "Do not rely" not in reason(page)


def test_a_value_in_another_unit_is_converted_exactly_and_a_likely_unit_is_offered(view):
    sheet = UNSTOPPED | {"features": UNSTOPPED["features"] | {"lactate": LACTATE}}
    page = view(kept("mixed"), sheet)
    fill(page, "36")
    error = (
        "36 is outside 0.1 to 30: check value and unit. In mg/dL it would fit: is that its unit?"
    )
    field = page.locator("#field-1")
    assert field.get_by_role("alert").inner_text() == error
    field.get_by_role("combobox").select_option(label="mg/dL")
    assert field.get_by_role("alert").inner_text() == ""
    assert field.locator("[id$=-read]").inner_text() == "read as 3.996, between 3 and 4"
    assert outcome(page).startswith("Next: Systolic pressure")
    assert "In mg/dL: multiply by 0.111." in page.locator("#step-1").inner_text()


def test_what_is_not_measured_stops_and_says_what_to_measure(view):
    stop = {"stop": "take a venous sample"}
    features = UNSTOPPED["features"] | {"lactate": {"range": [0.1, 30], "missing": stop}}
    page = view(kept("mixed"), UNSTOPPED | {"features": features})
    choose(page, "not measured")
    assert outcome(page) == "Stop: measure Serum lactate first"
    assert reason(page) == "take a venous sample"
    assert page.locator("tr.on td").inner_text() == "stop, measure it first: take a venous sample"
    page = view(kept("mixed"), MIXED_SHEET)  # none of whose rows is known to have borne it out
    choose(page, "not measured")
    assert outcome(page) == "Stop: measure Serum lactate first"
    assert reason(page) == "The sheet has no answer: too few cases like this one are known."


def test_a_case_prints_as_a_record_and_nothing_else(view):
    page = view(kept("mixed"), UNSTOPPED)
    page.evaluate("window.print = () => {}")
    fill(page, "4")
    choose(page, "no (false)")
    page.get_by_role("button", name="Print this case").click()
    page.emulate_media(media="print")
    shown = page.locator("main").inner_text()
    assert [row.split("\t") for row in page.locator("#record tbody").inner_text().split("\n")] == [
        ["Does any reason not to use the sheet hold?", "none of these"],
        ["Serum lactate, in mmol/L", "4"],
        ["On oxygen", "no (false)"],
    ]
    assert "R15: “ward”" in shown
    assert "Where to send an adult" in shown
    assert "Signature" in shown
    assert "Procedure" not in shown
    assert "Evidence" not in shown
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert "Procedure" in page.locator("main").inner_text()
