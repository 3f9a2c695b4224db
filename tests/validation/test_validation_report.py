"""The report as a page: complete, safe, and nothing but itself."""

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from validated import learned, others, regression

import mbndt
from mbndt.interpreter import leaf_ids
from mbndt.rules import Leaf
from mbndt.tables.table import Table
from mbndt.validation.pictures import SIDE, calibration_dots, decision_curve
from mbndt.validation.says import percent, useful

pytestmark = pytest.mark.filterwarnings("ignore::mbndt.DataWarning")
ATTACK = "\"'></title><script>pwned=1</script><img src=x onerror=pwned=1>"


class Page(HTMLParser):
    """Collect a page's tags, and fail where they are not balanced."""

    VOID = ("meta", "line", "circle", "rect", "polyline")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page_of(name):
    """Return a page of what may come: all figures, some, or none."""
    rules, table = learned(), others()
    match name:
        case "numbers":
            rules, table = regression()
        case "scores":
            rules = rules.with_leaves(lambda end: replace(end, risk=None))
        case "no facts":
            rules = replace(rules, provenance={})
        case "no answer":
            table = table.take(leaf_ids(rules, table) == 0)
            rules = rules.with_leaves(lambda end: Leaf(0, None) if end.leaf == 0 else end)
        case "one class":
            table = table.take(np.array(table.columns["y"]) == "no")
        case "one row":
            table = table.take(np.arange(1))
    return mbndt.validate(rules, table, by=["pair"]).to_html()


PICTURES = {"whole": 2, "no facts": 2, "one class": 2, "one row": 2}


@pytest.mark.parametrize("name", [*PICTURES, "numbers", "scores", "no answer"])
def test_every_page_is_whole_and_fetches_and_runs_nothing(name):
    text = page_of(name)
    found = Page(text)
    assert not {tag for tag, _ in found.tags} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"https?:|url\(|@import|\bNone\b|\bnan\b|\bUndefined\b", text)
    assert not any(key.startswith("on") for _, attrs in found.tags for key in attrs)
    pictures = [attrs for tag, attrs in found.tags if tag == "svg"]
    assert all(attrs["role"] == "img" and attrs["aria-labelledby"] for attrs in pictures)
    assert len(pictures) == PICTURES.get(name, 0)


def test_figures_of_the_page_are_those_of_the_validation():
    found = mbndt.validate(learned(), others(), by=["pair"], on="Hospital B")
    text = found.to_html()
    for key in ("accuracy", "sensitivity", "specificity", "ppv", "npv", "balanced_accuracy"):
        assert percent(found.performance[key]) in text
    for group in found.groups:
        assert percent(group["performance"]["sensitivity"]) in text
    for said in (found.rules.fingerprint, "VALIDATED on Hospital B", "200 rows of data"):
        assert said in text


def test_texts_of_the_data_can_not_run():
    rules = replace(learned(), name=ATTACK)
    pair = [ATTACK] * 100 + ["x"] * 100
    table = Table.of({**others().columns, "pair": pair})
    text = mbndt.validate(rules, table, by=["pair"], on=ATTACK).to_html()
    assert "<script" not in text
    assert "<img" not in text
    Page(text)


def test_dots_stand_at_the_shares_that_they_show():
    told = mbndt.validate(learned(), others()).performance
    for dot, group in zip(calibration_dots(told), told["calibration"]["groups"], strict=True):
        assert dot["x"] == pytest.approx(group["expected"] * SIDE)
        ends = [SIDE - dot[key] for key in ("y", "low", "high")]
        assert ends == pytest.approx([share * SIDE for share in group["observed"]])


def test_the_curve_is_net_benefit_by_the_risk_to_act_at():
    rules, table = learned(), others()
    told = mbndt.validate(rules, table).performance
    event = rules.target.classes[rules.event]
    truth = np.array([y == event for y in table.columns["y"]])
    risk = np.array([end.risk[rules.event] for end in rules.leaves])[leaf_ids(rules, table)]
    top = truth.mean() * 1.1
    curve = decision_curve(told)
    for name, acts_at in (("rules", lambda t: risk >= t), ("all", lambda t: risk > -1)):
        for pair in curve[name].split():
            x, y = map(float, pair.split(","))
            t = x / SIDE
            acts = acts_at(t)
            gain = ((acts & truth).mean()) - (acts & ~truth).mean() * t / (1 - t)
            height = SIDE - (gain + top / 4) / (top * 1.25) * SIDE
            assert y == pytest.approx(height, abs=0.06)


def test_the_page_is_accessible_in_light_and_dark(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    if not (chromium := shutil.which("chromium") or shutil.which("chromium-browser")):
        pytest.skip("Chromium isn't installed: apt-get install chromium")
    path = tmp_path / "report.html"
    path.write_text(mbndt.validate(learned(), others(), by=["pair"], on="B").to_html())
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme, width in (("light", 1200), ("dark", 390)):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto(path.as_uri())
            assert axe.run(page).response["violations"] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()


@pytest.mark.parametrize(
    "ends, said",
    [
        ([0.126, 0.794], "from 13 % to 79 %"),
        ([0.0301, 0.92], "from 4 % to 92 %"),
        ([0.101, 0.119], "from 10.1 % to 11.9 %"),
        ([0.0, 0.4], "from 0 % to 40 %"),
        ([0.00012, 0.00013], "from 0.012 % to 0.013 %"),
        (None, "At no risk to act at"),
    ],
)
def test_a_range_of_use_claims_no_more_than_it_holds(ends, said):
    assert said in useful(ends)
