"""The sheet's page in a browser."""

import shutil
import tomllib
from pathlib import Path

import pytest
from hypothesis import Phase
from strategies import chain, many_intervals, regression

from mbndt.emitters import emit
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


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


DATA = Path(__file__).parents[1] / "data"


MIXED_SHEET = DATA / "mixed.sheet.toml"
# The same, but for a sheet that answers however few rows bear a missing value out.
UNSTOPPED = tomllib.loads(MIXED_SHEET.read_text(encoding="utf-8")) | {"least_rows": 0}


DRAWN = (Phase.explicit, Phase.generate)  # a browser is too slow to shrink in


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


def started_browser():
    """Yield a browser, for a fixture."""
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened_pages(browser, folder):
    """Yield what opens the page of some rules from disk, for a fixture; it must do so in silence,
    and load nothing. No exclusion holds, unless it is left to the caller to say which do.
    """
    page = browser.new_page()
    page.set_default_timeout(10_000)
    noise = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("dialog", lambda dialog: noise.append(dialog.message))
    page.on("request", lambda request: noise.append(request.url))
    path = folder / "sheet.html"

    def show(rules, sheet=None, excluded=False):
        path.write_text(emit(rules, "protocol", sheet=sheet).text, encoding="utf-8")
        page.set_viewport_size({"width": 1200, "height": 900})
        page.emulate_media(media="screen", color_scheme="light")
        noise.clear()
        page.goto(path.as_uri())
        assert noise == [path.as_uri()]
        noise.clear()
        if not excluded and page.locator("#exclusions").count():
            page.get_by_label("none of these").check()
        return page

    yield show
    assert noise == []
    page.close()


def asked(page):
    """Return the field asked last."""
    return page.locator("#" + page.locator(".input:visible").last.get_attribute("id"))


def fill(page, text):
    box = asked(page).get_by_role("textbox")
    box.fill(text)
    box.press("Tab")


def choose(page, text):
    asked(page).get_by_label(text, exact=text != "not measured").check()


def marked(page):
    """Return the ids of what stands out as the way that the case took."""
    return set(page.evaluate("[...document.querySelectorAll('.on')].map(element => element.id)"))


def outcome(page):
    return page.locator("#outcome").inner_text()


TREES = {
    "example": lambda: kept("example"),
    "mixed": lambda: kept("mixed"),
    "breast mass": lambda: kept("breast_mass"),
    "chain of 50": lambda: chain(50),
    "64 intervals": many_intervals,
    "regression": regression,
    "hostile": hostile,
}


SHOWN = {
    "breast mass": ("breast_mass", None),
    "mixed": ("mixed", MIXED_SHEET),
    "example": ("example", None),
}


sheets = pytest.mark.parametrize("name, sheet", SHOWN.values(), ids=SHOWN)
