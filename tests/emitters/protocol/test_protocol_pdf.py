"""The sheet as a PDF: front and back, tagged, the same bytes each time, nothing fetched for it."""

import io
import math
import subprocess
import sys
import tomllib
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from printed import NO_PDF, needs_poppler, overprinted, shown_beyond
from strategies import chain, many_intervals, regression, single_leaf
from unseen import with_evidence

from mbndt.emitters import emit
from mbndt.emitters.protocol import font
from mbndt.emitters.protocol.check import differences
from mbndt.emitters.protocol.pdf import pdf
from mbndt.emitters.protocol.words import say, speaking
from mbndt.errors import EngineMissing
from mbndt.rules import Rules

DATA = Path(__file__).parents[2] / "data"
MIXED_SHEET = DATA / "mixed.sheet.toml"
MILLIMETRE = 72 / 25.4
PAPERS = {"a4": (210, 297), "letter": (215.9, 279.4)}


def kept(name):
    return Rules.from_json((DATA / f"{name}.rules.json").read_bytes())


def needs_weasyprint():
    pytest.importorskip("weasyprint", reason=NO_PDF, exc_type=(ImportError, OSError))
    pytest.importorskip("fontpkg_arimo", reason=NO_PDF)
    return pytest.importorskip("pypdf")


def printed(rules, **options):
    return emit(rules, "protocol", format="pdf", **options).content


def opened(content):
    return needs_weasyprint().PdfReader(io.BytesIO(content))


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize(
    "name, sheet", [("breast_mass", None), ("mixed", MIXED_SHEET), ("example", None)]
)
def test_the_front_is_one_page_and_the_back_has_the_rest(name, sheet, paper):
    needs_weasyprint()
    front, *back = opened(printed(with_evidence(kept(name)), sheet=sheet, paper=paper)).pages
    size = [float(side) for side in front.mediabox[2:]]
    assert size == pytest.approx([side * MILLIMETRE for side in PAPERS[paper]], abs=1)
    text = front.extract_text()
    for part in ("Procedure", "Step 1: ", "What to do", "Name and signature"):
        assert part in text
    assert "Evidence" not in text
    rest = "\n".join(page.extract_text() for page in back)
    for part in ("Results", "Inputs", "Evidence", "Fingerprints (SHA-256)", "Columns"):
        assert part in rest
    assert "Fill in on screen" not in text + rest


@needs_poppler
@pytest.mark.parametrize("language", ["de", "fr", "es"])
@pytest.mark.parametrize(
    "name, stated", [("breast_mass", {}), ("mixed", tomllib.loads(MIXED_SHEET.read_text()))]
)
def test_longer_words_have_room_on_the_same_front_and_the_pdf_says_its_language(
    name, stated, language
):
    needs_weasyprint()
    content = printed(with_evidence(kept(name)), sheet={**stated, "language": language})
    reader = opened(content)
    assert reader.trailer["/Root"]["/Lang"] == language
    front, back = (reader.pages[i].extract_text() for i in (0, 1))
    with speaking(language):
        assert say("procedure") in front
        assert say("record_signature") in front
        assert say("results") in back
    assert overprinted(content) == []
    assert shown_beyond(content, PAPERS["a4"][0]) == []


@pytest.mark.parametrize("name, sheet", [("breast_mass", None), ("mixed", MIXED_SHEET)])
def test_no_letter_is_smaller_than_ten_points_but_eight_in_pictures(name, sheet):
    needs_weasyprint()
    sizes = letters(printed(with_evidence(kept(name)), sheet=sheet))
    assert min(sizes) >= 7.99
    assert sum(n for size, n in sizes.items() if size > 9.99) > 0.85 * sum(sizes.values())


def letters(content):
    """Return by size in points how many letters a PDF shows."""
    found = Counter()

    def count(text, user, matrix, font, size):
        a, b, *_ = mult(matrix, user)
        found[round(size * math.hypot(a, b), 2)] += len("".join(text.split()))

    for page in opened(content).pages:
        page.extract_text(visitor_text=count)
    return +found


def mult(one, other):
    """Return the product of two matrices of a PDF."""
    a, b, c, d, *_ = one
    e, f, g, h, *_ = other
    return a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h


@pytest.mark.parametrize("kind", ["pdf", "html"])
def test_a_printed_sheet_is_told_from_others(tmp_path, kind):
    needs_weasyprint()
    path = tmp_path / f"sheet.{kind}"
    content = emit(kept("mixed"), "protocol", format=kind, sheet=MIXED_SHEET).content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert differences(path, kept("mixed"), MIXED_SHEET) == []
    assert differences(path, kept("mixed"), None)[0].startswith("statements: ")


def elements(node):
    """Yield the structure elements under a node, depth first."""
    node = node.get_object()
    below = node.get("/K", [])
    for child in below if isinstance(below, list) else [below]:
        child = child.get_object()
        if hasattr(child, "get") and "/S" in child:
            yield child
            yield from elements(child)


def test_it_is_tagged_for_screen_readers():
    needs_weasyprint()
    reader = opened(printed(kept("mixed"), sheet=MIXED_SHEET))
    catalog = reader.root_object
    assert catalog["/MarkInfo"]["/Marked"]
    assert catalog["/Lang"] == "en"
    assert catalog["/ViewerPreferences"]["/DisplayDocTitle"]
    assert reader.metadata.title == "Where to send an adult with suspected infection"
    assert b"pdfuaid:part" in catalog["/Metadata"].get_object().get_data()
    found = list(elements(catalog["/StructTreeRoot"]))
    kinds = [element["/S"] for element in found]
    assert {"/H1", "/H2", "/H3", "/Table", "/TR", "/TH", "/TD", "/L", "/LI"} <= set(kinds)
    assert kinds.count("/H3") >= 11  # a heading a step
    figures = [element for element in found if element["/S"] == "/Figure"]
    assert "The same steps as a tree, from left to right" in [
        figure.get("/Alt") for figure in figures
    ]
    assert all(figure.get("/Alt") for figure in figures)


def test_the_same_rules_give_the_same_bytes_in_every_process():
    needs_weasyprint()
    code = (
        "import hashlib, pathlib, sys; from mbndt.emitters import emit; "
        "from mbndt.rules import Rules; rules = Rules.from_json(pathlib.Path(sys.argv[1])"
        ".read_bytes()); found = emit(rules, 'protocol', format='pdf').content; "
        "print(hashlib.sha256(found).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code, DATA / "example.rules.json"],
            check=True,
            text=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "TZ": zone},
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(found) == 1
    assert printed(kept("example")) != printed(kept("example"), sheet={"title": "another"})


def test_nothing_is_fetched_for_it(tmp_path):
    needs_weasyprint()
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

    style = tmp_path / "small.css"
    style.write_text("@page { size: 50mm 50mm }")
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        found = pdf(
            f'<html lang="en"><title>a</title><link rel="stylesheet" href="{style.as_uri()}">'
            f"<style>{font.faces('')} * {{ font-family: {font.FAMILY} }}</style>"
            f'<img alt="b" src="http://127.0.0.1:{server.server_port}/b.png">text',
        )
        server.shutdown()
    (page,) = opened(found).pages
    assert page.mediabox[2] > 100 * MILLIMETRE
    assert "text" in page.extract_text()
    assert asked == []


@pytest.mark.parametrize(
    "rules",
    [chain(10), many_intervals(16), regression(), single_leaf()],
    ids=["chain", "16 intervals", "regression", "single leaf"],
)
def test_sheets_of_any_size_can_be_printed(rules):
    needs_weasyprint()
    pages = opened(printed(rules, sheet={"least_rows": 0})).pages
    text = "\n".join(page.extract_text() for page in pages)
    assert "Name and signature" in text
    for leaf in rules.leaves:
        assert f"R{leaf.leaf}" in text


@pytest.mark.parametrize("error", [ImportError, OSError])
def test_without_weasyprint_the_error_names_what_to_install(monkeypatch, error):
    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "weasyprint":
                raise error("libpango-1.0.so.0: cannot open shared object file")

    for name in [name for name in sys.modules if name.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    with pytest.raises(EngineMissing, match=r"pip install 'mbndt\[pdf\]'") as caught:
        emit(single_leaf(), "protocol", format="pdf")
    assert "\n" not in str(caught.value)
