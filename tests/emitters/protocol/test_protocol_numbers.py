"""What the form takes a number for, as people write it, and what it refuses."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import (
    CHROMIUM,
    DRAWN,
    MIXED_SHEET,
    asked,
    fill,
    kept,
    marked,
    opened_pages,
    outcome,
    started_browser,
)
from sheets import two_way

from mbndt.rules import Feature, FeatureType

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser():
    yield from started_browser()


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    yield from opened_pages(browser, tmp_path_factory.mktemp("page"))


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
