"""The sheet's own font: the same paper on every machine, and no sign that isn't there."""

import base64
import hashlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from printed import NO_PDF, absent, needs_poppler, overprinted, shown_beyond
from sheets import long_words, two_way
from strategies import single_leaf

from mbndt.emitters import emit
from mbndt.emitters.protocol import font as protocol_font
from mbndt.emitters.protocol.identity import NO_CODE
from mbndt.errors import EngineMissing, OptionError
from mbndt.rules import Feature, FeatureType, Rules

pytest.importorskip("weasyprint", reason=NO_PDF, exc_type=(ImportError, OSError))
pytest.importorskip("fontpkg_arimo", reason=NO_PDF)
ttlib = pytest.importorskip("fontTools.ttLib")

DATA = Path(__file__).parents[2] / "data"
FONTS = {
    "Liberation": "<dir>/usr/share/fonts/truetype/liberation</dir>",
    "DejaVu": "<dir>/usr/share/fonts/truetype/dejavu</dir>",
    "none": "",
}
# What a fresh process prints: of each text, the sheet whose input has it as its label.
CHILD = """
import cffi, hashlib, io, json, pathlib, sys
if sys.argv[1] == "without":
    opened = cffi.FFI.dlopen
    def dlopen(self, name, *flags):
        if "harfbuzz-subset" in name:
            raise OSError(name)
        return opened(self, name, *flags)
    cffi.FFI.dlopen = dlopen
import pypdf
from mbndt.emitters import emit
from mbndt.errors import OptionError
from mbndt.rules import Rules
found = []
for text in json.load(sys.stdin):
    try:
        content = emit(Rules.from_json(text), "protocol", format="pdf").content
    except OptionError as error:
        found.append(str(error))
    else:
        pages = len(pypdf.PdfReader(io.BytesIO(content)).pages)
        found.append([pages, hashlib.sha256(content).hexdigest()])
from weasyprint.text import ffi
assert (ffi.harfbuzz_subset is None) or sys.argv[1] == "with"
print(json.dumps(found))
"""


def on_machine(folder: Path, fonts: str, subset: str, *rules: Rules) -> list:
    """Return pages and hash of each sheet, or why there is none, on a machine of some fonts."""
    config = folder / f"{fonts}.conf"
    config.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd"><fontconfig>'
        f"{FONTS[fonts]}<cachedir>{folder}/cache</cachedir></fontconfig>"
    )
    done = subprocess.run(
        [sys.executable, "-c", CHILD, subset],
        text=True,
        capture_output=True,
        input=json.dumps([one.to_json() for one in rules]),
        env=os.environ | {"FONTCONFIG_FILE": str(config)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def labelled(label: str) -> Rules:
    return two_way(Feature("x", FeatureType.FLOAT64, label=label), 1.0)


def kept(name: str) -> Rules:
    return Rules.from_json((DATA / f"{name}.rules.json").read_bytes())


# The same on every machine


def test_a_sheet_has_the_same_pages_and_bytes_whatever_fonts_and_libraries_there_are(tmp_path):
    found = [
        on_machine(tmp_path, fonts, subset, kept("breast_mass"))
        for fonts in FONTS
        for subset in ("with", "without")
    ]
    assert found[0][0][0] > 1
    assert all(one == found[0] for one in found), found


def test_fonts_of_the_machine_are_cut_without_a_clock(tmp_path):
    rules = labelled("a ☐ to tick")
    (first,), (second,) = (on_machine(tmp_path, "DejaVu", "without", rules) for _ in range(2))
    assert first == second
    assert first[0] > 1 or "fonts-noto" in first  # a machine may have no DejaVu


# Signs that aren't there

SCRIPTS = {
    "住院": "fonts-noto-cjk",
    "回家": "fonts-noto-cjk",
    "한국어": "fonts-noto-cjk",
    "ひらカタ": "fonts-noto-cjk",
    "กลับบ้าน": "fonts-noto-core",
    "हिन्दी": "fonts-noto-core",
    "عربي": "fonts-noto-core",
    "😀": "fonts-noto-color-emoji",
}


def test_what_no_font_has_is_refused_by_name_with_its_place_and_the_way_out(tmp_path):
    found = on_machine(tmp_path, "none", "with", *map(labelled, SCRIPTS))
    for (word, package), said in zip(SCRIPTS.items(), found, strict=True):
        assert f"no font here has {word[0]} (U+{ord(word[0]):04X})" in said
        assert word in said.partition("as in")[2]
        assert f"Debian: {package})" in said
        assert "write `format` html" in said
        assert "\n" not in said


@pytest.mark.parametrize("word", ["naïve Ωμ Жук", "≥ 5 µg/l ± 1 °C → €", "a\u0301\u0302\u0303"])
def test_the_font_has_what_european_sheets_say(word):
    assert protocol_font.lacking(word) in ([], ["\u0302", "\u0303"])
    content = emit(labelled(word), "protocol", format="pdf").content
    assert absent(content) == []


words = st.lists(st.sampled_from([*SCRIPTS, "é", "W" * 30, "☐", "𝔘", "עברית"]), max_size=3)
slowly = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@slowly
@given(words.map("".join).filter(bool))
def test_every_sign_of_a_pdf_is_in_its_font_or_the_pdf_is_refused(word):
    try:
        content = emit(labelled(word), "protocol", format="pdf").content
    except OptionError as error:
        assert "no font here has" in str(error)
    else:
        assert absent(content) == []


def notes_on_fonts(rules):
    return [note for note in emit(rules, "protocol").notes if note != NO_CODE]


def test_a_page_says_which_signs_its_reader_must_have_a_font_for():
    (note,) = notes_on_fonts(labelled("住院 é"))
    assert "no 住 (U+4F4F), 院 (U+9662):" in note
    assert notes_on_fonts(labelled("é Ω Ж")) == []
    assert emit(labelled("住院"), "protocol", format="md").notes == ()


# Long words


@needs_poppler
@pytest.mark.parametrize(
    ("word", "paper", "width"),
    [("Pneumonoultramicroscopicsi", "a4", 210), ("W" * 39, "letter", 215.9)],
)
def test_no_long_word_lies_on_another_or_leaves_the_page(word, paper, width):
    rules, sheet = long_words(word)
    content = emit(rules, "protocol", format="pdf", sheet=sheet, paper=paper).content
    assert overprinted(content) == []
    assert shown_beyond(content, width) == []


@needs_poppler
@slowly
@given(st.text(st.sampled_from("aiWM%éЖ"), min_size=1, max_size=70))
def test_no_word_of_any_length_lies_on_another_or_leaves_the_page(word):
    rules, sheet = long_words(word)
    content = emit(rules, "protocol", format="pdf", sheet=sheet).content
    assert overprinted(content) == []
    assert shown_beyond(content, 210) == []


# What the page carries


def carried(text: str) -> list:
    """Return the fonts inside a page."""
    found = re.findall(r"data:font/woff2;base64,([\w+/=]+)\)", text)
    return [ttlib.TTFont(io.BytesIO(base64.b64decode(data))) for data in found]


def test_a_page_carries_the_signs_that_it_uses_and_few_more():
    rules = replace(labelled("Größe Ω"), name="≥ ☐")
    text = emit(rules, "protocol").text
    upright, bold, italic = carried(text)
    for font in (upright, bold):
        held = {*map(chr, font.getBestCmap())}
        assert {*"Größe Ω≥“”…"} <= held
        assert "Ж" not in held
        assert {*text} - held <= {"\n", "☐"}
    assert {*map(chr, italic.getBestCmap())} == {*"NOT STATED"}
    assert [font["OS/2"].usWeightClass for font in (upright, bold)] == [400, 700]
    whole = protocol_font._font(protocol_font.UPRIGHT)
    assert {font["head"].modified for font in (upright, bold)} == {whole["head"].modified}
    assert "openfontlicense.org" in upright["name"].getDebugName(14)
    assert sum(map(len, re.findall(r"base64,([\w+/=]+)", text))) < 24_000


def test_a_page_is_the_same_in_every_process():
    code = (
        "import sys; from mbndt.emitters import emit; from mbndt.rules import Rules; "
        "print(emit(Rules.from_json(sys.stdin.read()), 'protocol').text)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=kept("example").to_json(),
            text=True,
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert {hashlib.sha256(text.encode()).hexdigest() for text in found} == {
        hashlib.sha256(f"{emit(kept('example'), 'protocol').text}\n".encode()).hexdigest()
    }


@pytest.mark.parametrize("missing", protocol_font.NEEDED)
def test_without_the_font_a_page_takes_its_readers_and_says_so_and_a_pdf_is_refused(
    monkeypatch, missing
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else find(name)
    )
    page = emit(single_leaf(), "protocol")
    assert "@font-face" not in page.text
    assert "Liberation Sans, Arimo, Arial" in page.text
    assert notes_on_fonts(single_leaf()) == [
        "the page is set in each reader's own fonts; pip install 'mbndt[pdf]' brings one that it"
        " carries",
    ]
    with pytest.raises(EngineMissing, match=r"its font: pip install 'mbndt\[pdf\]'"):
        emit(single_leaf(), "protocol", format="pdf")
