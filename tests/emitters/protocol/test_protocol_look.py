"""How the page looks: in print, on a telephone, in dark, and its drawing."""

import io
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pages import (
    CHROMIUM,
    DRAWN,
    MIXED_SHEET,
    TREES,
    UNSTOPPED,
    asked,
    choose,
    fill,
    kept,
    opened_pages,
    outcome,
    sheets,
    started_browser,
)
from printed import needs_poppler, overprinted, shown_beyond
from sheets import long_words
from strategies import chain, rule_trees
from unseen import with_evidence

pypdf = pytest.importorskip("pypdf")


pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"
)


TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RULES = {"runOnly": {"type": "tag", "values": TAGS}}
MILLIMETRE = 72 / 25.4


PAPERS = {"A4": (210, 297), "Letter": (215.9, 279.4)}


@pytest.fixture(scope="module")
def browser():
    yield from started_browser()


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    yield from opened_pages(browser, tmp_path_factory.mktemp("page"))


def test_the_page_is_set_in_the_font_that_it_carries(view):
    pytest.importorskip("fontpkg_arimo")
    page = view(kept("mixed"), MIXED_SHEET)
    page.evaluate("document.fonts.ready")
    faces = page.evaluate("[...document.fonts].map(({ family, status }) => [family, status])")
    assert faces == [["mbndt Sans", "loaded"]] * 3


def print_on(paper, page):
    page.emulate_media(media="print", color_scheme="dark")
    return pypdf.PdfReader(io.BytesIO(page.pdf(format=paper)))


@sheets
@pytest.mark.parametrize("paper", PAPERS)
def test_it_prints_a_front_and_a_back_without_the_form(view, name, sheet, paper):
    front, *back = print_on(paper, view(with_evidence(kept(name)), sheet)).pages
    size = [float(side) for side in front.mediabox[2:]]
    assert size == pytest.approx([side * MILLIMETRE for side in PAPERS[paper]], abs=1)
    text = front.extract_text()
    assert "Procedure" in text
    assert "Name and signature" in text
    assert "Fill in on screen" not in text
    rest = "".join(page.extract_text() for page in back)
    for part in ("Results", "Inputs", "Evidence", "Columns", "Training rows"):
        assert part in rest


@pytest.mark.parametrize(
    "name, sheet, width, scheme, end",
    [
        ("mixed", MIXED_SHEET, 1200, "light", "S"),
        ("example", {"least_rows": 0}, 390, "light", "R"),
        ("example", None, 1200, "dark", "S"),
        ("mixed", UNSTOPPED, 390, "dark", "R"),
    ],
)
def test_it_is_accessible_in_light_and_dark_empty_refused_and_answered(
    view, name, sheet, width, scheme, end
):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = view(with_evidence(kept(name)), sheet)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.locator("summary").click()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    fill(page, "nothing")
    assert axe.run(page, options=RULES).response["violations"] == []
    asked(page).get_by_role("textbox").fill("")
    while outcome(page).startswith("Next: "):
        choose(page, "not measured")
    assert outcome(page)[0] == end
    assert axe.run(page, options=RULES).response["violations"] == []


@pytest.mark.parametrize("width", [390, 1200])
def test_letters_of_the_drawing_are_legible_on_every_screen(view, width):
    page = view(with_evidence(kept("mixed")), MIXED_SHEET)
    page.set_viewport_size({"width": width, "height": 900})
    scale = page.evaluate(
        "(t => t.getBoundingClientRect().width / t.viewBox.baseVal.width)"
        "(document.querySelector('.tree'))"
    )
    assert scale * 11.2 >= 11  # pixels
    assert page.evaluate("document.documentElement.scrollWidth") == width


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
    page = view(kept("example"), {"least_rows": 0})
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
