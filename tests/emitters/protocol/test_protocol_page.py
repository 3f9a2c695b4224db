"""The sheet's page in a browser: what its form answers, shows and refuses, and how it prints."""

import io
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from printed import needs_poppler, overprinted, shown_beyond
from sheets import long_words, two_way
from strategies import chain, many_intervals, regression, rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters import emit
from mbndt.emitters.protocol.grammar import BOOLEANS, unquoted
from mbndt.emitters.protocol.paper import read_sheet
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

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright isn't installed: pip install playwright"
)
pypdf = pytest.importorskip("pypdf")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"
)

DATA = Path(__file__).parents[2] / "data"
MIXED_SHEET = DATA / "mixed.sheet.toml"
DRAWN = (Phase.explicit, Phase.generate)  # a browser is too slow to shrink in
MILLIMETRE = 72 / 25.4
PAPERS = {"A4": (210, 297), "Letter": (215.9, 279.4)}
ATTACK = "\"'></script></style><script>pwned=1</script><img src=x onerror=pwned=1>${pwned=1}"


def kept(name):
    return Rules.from_json((DATA / f"{name}.rules.json").read_bytes())


def hostile():
    """Return rules whose every text tries to run."""
    name = Feature(
        f"a{ATTACK}",
        FeatureType.CATEGORY,
        (ATTACK, "__proto__", "</script>"),
        ATTACK,
        ATTACK,
        ATTACK,
    )
    size = Feature("__proto__", FeatureType.FLOAT64, (), f"b{ATTACK}")
    inner = NumericSplit(
        "__proto__",
        (Interval(0.5, 0), Interval(None, 1)),
        0,
        (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0))),
    )
    root = SetSplit(
        name.name, (Group((ATTACK, "</script>"), 0),), 1, (inner, Leaf(2, (0.4, 0.6))), 1
    )
    labels = Target(f"c{ATTACK}", TargetType.STRING, (f"no{ATTACK}", "yes"), ATTACK, ATTACK)
    return Rules(ATTACK, labels, (name, size), root, {ATTACK: ATTACK})


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    """Open the page of some rules from disk; it must do so in silence, and load nothing."""
    page = browser.new_page()
    page.set_default_timeout(10_000)
    noise = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("dialog", lambda dialog: noise.append(dialog.message))
    page.on("request", lambda request: noise.append(request.url))
    path = tmp_path_factory.mktemp("page") / "sheet.html"

    def show(rules, sheet=None):
        path.write_text(emit(rules, "protocol", sheet=sheet).text, encoding="utf-8")
        page.set_viewport_size({"width": 1200, "height": 900})
        page.emulate_media(media="screen", color_scheme="light")
        noise.clear()
        page.goto(path.as_uri())
        assert noise == [path.as_uri()]
        noise.clear()
        return page

    yield show
    assert noise == []
    page.close()


def asked(page):
    """Return the field asked last."""
    return page.locator("#" + page.locator("fieldset:visible").last.get_attribute("id"))


def fill(page, text):
    box = asked(page).get_by_role("textbox")
    box.fill(text)
    box.press("Tab")


def choose(page, text):
    asked(page).get_by_label(text, exact=text != "not measured").check()


def outcome(page):
    return page.locator("#outcome").inner_text()


# Answers

ANSWER = """
rows => rows.map(cells => {
  const form = document.getElementById("form");
  form.querySelectorAll("input").forEach(input => {
    if (input.type === "text") { input.value = ""; } else { input.checked = false; }
  });
  cells.forEach((cell, i) => {
    const field = document.getElementById(`field-${i}`);
    const text = field.querySelector("input[type=text]");
    if (cell !== "missing" && text) { text.value = cell; return; }
    field.querySelector(`input[value="${cell}"]`).checked = true;
  });
  form.dispatchEvent(new Event("input", { bubbles: true }));
  return document.getElementById("outcome").textContent;
})
"""


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


def assert_answers(page, rules, rows):
    table = boundary_rows(rules, rows)
    cells = [
        [cell(feature, row[feature.name]) for feature in rules.used]
        for row in table.records(rules.used)
    ]
    expected = predict(rules, table)
    found = page.evaluate(ANSWER, cells)
    for i, text in enumerate(found):
        leaf, answer = re.fullmatch(r"R(\d+): (.*)", text, re.S).groups()
        assert int(leaf) == expected.leaf[i], cells[i]
        label = expected.prediction[i]
        # Numbers are shown with four digits.
        label = float(f"{label:.4g}") if isinstance(label, float) else label
        assert said(answer, label) == label, cells[i]


TREES = {
    "example": lambda: kept("example"),
    "mixed": lambda: kept("mixed"),
    "breast mass": lambda: kept("breast_mass"),
    "chain of 50": lambda: chain(50),
    "64 intervals": many_intervals,
    "regression": regression,
    "hostile": hostile,
}


@pytest.mark.parametrize("name", TREES)
def test_the_form_gives_the_interpreters_answers(view, name):
    rules = TREES[name]()
    assert_answers(view(rules), rules, 400)


def test_the_form_gives_the_interpreters_answers_for_all_that_can_be_drawn(view):
    @settings(max_examples=30, phases=DRAWN)
    @given(rule_trees() | rule_trees(hostile=True))
    def holds(rules):
        page = view(rules)
        if rules.used:
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


# What it shows


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
    assert marked(page) == {"step-1"}
    assert outcome(page) == "Next: Serum lactate, in mmol/L (input B)"


def test_a_result_comes_with_what_to_do_and_why(view):
    page = view(kept("mixed"), MIXED_SHEET)
    fill(page, "4")
    choose(page, "not measured")
    assert outcome(page) == "R16: “intensive care”"
    assert page.locator("#reason").inner_text().split("\n") == [
        "What to do: Call the outreach team now (bleep 999)",
        "Of its training rows (95 %): 18 of 23, 78.3 % (58 to 90 %)",
        "Steps: 1, 11",
        "Because: B 4 or more; E yes (true), or missing",
    ]


def test_questions_come_in_the_order_of_the_steps_and_go_by_keyboard_alone(view):
    page = view(kept("mixed"), MIXED_SHEET)
    legends = page.locator("fieldset:visible legend")
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
        ("lactate", "31", "31 is outside the plausible range, 0.1 to 30. Check it."),
        ("lactate", "1,234", "“1,234” can be 1.234 or 1234. Write 1,2340 or 1234."),
        ("lactate", "-1,234", "“-1,234” can be -1.234 or -1234. Write -1,2340 or -1234."),
        ("lactate", "2.000", "“2.000” can be 2 or 2000. Write 2 or 2000."),
        ("lactate", "1,234.5", "Write no sign between thousands."),
        ("lactate", "1.234,5", "Write no sign between thousands."),
        ("lactate", "1,234,567", "Write no sign between thousands."),
        ("lactate", "31,5", "31,5 is outside the plausible range, 0.1 to 30. Check it."),
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
        ("rr", "-4", "-4 is outside the plausible range, 4 to 60. Check it."),
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
    page.locator("fieldset:visible").first.get_by_label("not measured").check()
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


def test_the_page_is_set_in_the_font_that_it_carries(view):
    pytest.importorskip("fontpkg_arimo")
    page = view(kept("mixed"), MIXED_SHEET)
    page.evaluate("document.fonts.ready")
    faces = page.evaluate("[...document.fonts].map(({ family, status }) => [family, status])")
    assert faces == [["mbndt Sans", "loaded"]] * 3


@pytest.mark.parametrize(
    "text, start",
    [("20.0", "R0: "), ("+20", "R0: "), (" 021 ", "Next: Serum lactate"), ("25.", "Next: AVPU")],
)
def test_whole_numbers_may_be_written_in_any_usual_way(view, text, start):
    page = view(kept("example"))
    fill(page, text)
    assert page.locator("fieldset:visible").first.get_by_role("alert").inner_text() == ""
    assert outcome(page).startswith(start)


def test_not_measured_takes_the_row_missing_and_closes_the_box(view):
    page = view(kept("mixed"), MIXED_SHEET)
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


# How it looks

SHOWN = {
    "breast mass": ("breast_mass", None),
    "mixed": ("mixed", MIXED_SHEET),
    "example": ("example", None),
}
sheets = pytest.mark.parametrize("name, sheet", SHOWN.values(), ids=SHOWN)


def print_on(paper, page):
    page.emulate_media(media="print", color_scheme="dark")
    return pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))


@sheets
@pytest.mark.parametrize("paper", PAPERS)
def test_it_prints_on_one_page_without_the_form(view, name, sheet, paper):
    printed = print_on(paper, view(kept(name), sheet))
    assert len(printed.pages) == 1
    size = [float(side) for side in printed.pages[0].mediabox[2:]]
    assert size == pytest.approx([side * MILLIMETRE for side in PAPERS[paper]], abs=1)
    text = printed.pages[0].extract_text()
    assert "Procedure" in text
    assert "Name and signature" in text
    assert "Fill in on screen" not in text


@pytest.mark.parametrize(
    "name, sheet, width, scheme",
    [
        ("mixed", MIXED_SHEET, 1200, "light"),
        ("example", None, 390, "light"),
        ("example", None, 1200, "dark"),
        ("mixed", MIXED_SHEET, 390, "dark"),
    ],
)
def test_it_is_accessible_in_light_and_dark_empty_refused_and_answered(
    view, name, sheet, width, scheme
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = view(kept(name), sheet)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.locator("summary").click()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    fill(page, "nothing")
    assert axe.run(page).response["violations"] == []
    asked(page).get_by_role("textbox").fill("")
    while not outcome(page).startswith("R"):
        choose(page, "not measured")
    assert axe.run(page).response["violations"] == []


CONTRAST = """
() => {
  const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = element => {
    const [r, g, b, a = 1] = rgb(getComputedStyle(element).backgroundColor);
    return a > 0 || !element.parentElement ? [r, g, b] : ground(element.parentElement);
  };
  return [...document.querySelectorAll("main *")].filter(element => element.checkVisibility()
    && [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    && !element.closest("title, :disabled")).map(element => {
      const style = getComputedStyle(element);
      const own = rgb(element instanceof SVGElement ? style.fill : style.color);
      const [low, high] = [light(own), light(ground(element))].sort((a, b) => a - b);
      return [(high + 0.05) / (low + 0.05), element.textContent];
    });
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(view, scheme):
    page = view(kept("example"))
    page.emulate_media(color_scheme=scheme)
    fill(page, "1")
    choose(page, "“alert”")
    choose(page, "not measured")
    assert outcome(page) == "R4: “intensive care”"
    found = page.evaluate(CONTRAST)
    assert len(found) > 100
    assert min(found)[0] >= 4.5, min(found)


@sheets
def test_nothing_is_wider_than_a_telephone(view, name, sheet):
    page = view(kept(name), sheet)
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 390


TEXTS = """
() => [...document.querySelectorAll(".tree text")].map(text => {
  const { x, y, width, height } = text.getBBox();
  return [x, y, x + width, y + height, text.textContent];
})
"""
SLACK = 2.3  # a line's box is higher than its letters


def overlapping(boxes):
    for i, (left, top, right, bottom, text) in enumerate(boxes):
        for a, b, c, d, other in boxes[:i]:
            wide, high = min(right, c) - max(left, a), min(bottom, d) - max(top, b)
            if wide > 0.5 and high > SLACK:
                yield text, other


@pytest.mark.parametrize("name", ["mixed", "breast mass", "example", "64 intervals", "regression"])
def test_no_text_of_the_drawing_lies_on_another(view, name):
    page = view(TREES[name]())
    boxes = page.evaluate(TEXTS)
    assert boxes
    assert [*overlapping(boxes)] == []
    width = page.evaluate("document.querySelector('.tree').viewBox.baseVal.width")
    assert all(box[0] >= 0 and box[2] <= width for box in boxes)


def test_no_text_of_the_drawing_lies_on_another_in_any_tree(view):
    @settings(max_examples=40, phases=DRAWN)
    @given(rule_trees())
    def holds(rules):
        assert [*overlapping(view(rules).evaluate(TEXTS))] == []

    holds()


@pytest.mark.parametrize("name", ["mixed", "breast mass", "example"])
def test_the_drawing_of_an_ordinary_tree_cuts_no_text(view, name):
    page = view(TREES[name]())
    assert "…" not in page.locator(".tree").inner_html()


def test_a_tree_too_large_to_read_is_not_drawn(view):
    assert view(chain(50)).locator(".tree").count() == 0
    assert view(chain(7)).locator(".tree").count() == 1


@pytest.mark.parametrize("paper", PAPERS)
def test_large_sheets_break_between_steps_and_rows(view, paper):
    texts = [page.extract_text() for page in print_on(paper, view(chain(50))).pages]
    assert 1 < len(texts) < 25
    for number in range(1, 50):  # each leads to a result and to the next
        (text,) = [text for text in texts if re.search(rf"Step {number}: \w+\?", text)]
        assert re.search(rf"go to step {number + 1}\b", text)
        assert f"R{number - 1}: " in text


@needs_poppler
def test_no_long_word_lies_on_another_in_print(view):
    @settings(max_examples=25, phases=DRAWN)
    @given(st.text(st.sampled_from("aiWM%éЖ漢"), min_size=1, max_size=70))
    @example("Pneumonoultramicroscopicsi")
    def holds(word):
        rules, sheet = long_words(word)
        for stated in (None, sheet):
            page = view(rules, stated)
            page.emulate_media(media="print", color_scheme="light")
            content = page.pdf(format="A4")
            assert overprinted(content) == []
            assert shown_beyond(content, 210) == []

    holds()


@pytest.mark.parametrize("tree", ["chain of 50", "mixed", "breast mass"])
def test_no_step_is_broken_between_two_columns(view, tree):
    page = view(TREES[tree]())
    parts = "[...document.querySelectorAll('.step')].map(step => step.getClientRects().length)"
    assert set(page.evaluate(parts)) == {1}
