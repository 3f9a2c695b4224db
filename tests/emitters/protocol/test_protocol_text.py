"""Names, texts and numbers on the sheet: exact, visible, never markup, and within 80 columns."""

import itertools
import re
import unicodedata
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mixed_rules import STATED, mixed_rules
from rich.cells import cell_len
from sheets import read, sheet_text
from strategies import HOSTILE_TEXTS, chain, regression, rule_trees, single_leaf, texts
from test_protocol_paper import inline

from mbndt.emitters.protocol.grammar import number_text, quoted, unquoted
from mbndt.emitters.protocol.paper import read_sheet
from mbndt.emitters.protocol.text import filled, underlined
from mbndt.rules import Rules

slowly = settings(
    max_examples=15, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


# Texts and numbers can be read back


@given(st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(st.characters(exclude_categories=["Cs"]))))
@hypothesis.example("e\u0301")
@hypothesis.example("\u212b")
def test_a_quoted_text_is_visible_and_reads_back(text):
    said = quoted(text)
    assert unquoted(said) == text
    assert said.isprintable()
    # Two ways to write one letter never look the same in print.
    assert unicodedata.is_normalized("NFC", said)
    assert "  " not in said


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_exactly(x):
    assert float(number_text(x)) == x
    assert len(number_text(x)) <= 24


@slowly
@given(rule_trees(hostile=True))
def test_a_markdown_program_shows_the_same_sheet_as_the_page_and_no_text_becomes_markup(rules):
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(sheet_text(rules))
    assert read_sheet(page, html=True) == read(rules) == read(rules, "html")
    assert {tag for tag, _ in tags(page)} <= {
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "strong",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    found = tags(sheet_text(rules, "html"))
    known = {(tag, name) for tag, names in plain_page() for name in (*names, None)}
    assert {(tag, name) for tag, names in found for name in (*names, None)} - known <= {
        (tag, "class") for tag, _ in found
    }
    assert sum(tag == "script" for tag, _ in found) == 1
    for _, attributes in found:
        assert not {name for name in attributes if name.startswith("on") or name == "src"}
        assert re.fullmatch(r"#[\w-]*", attributes.get("href") or "#")


@cache
def plain_page() -> list[tuple[str, dict[str, str | None]]]:
    """Return the tags of harmless pages."""
    pages = [
        mixed_rules(),
        replace(mixed_rules(), provenance={}),
        regression(),
        single_leaf(),
        chain(40),
    ]
    return [tag for rules in pages for tag in tags(sheet_text(rules, "html"))]


@slowly
@given(rule_trees(hostile=True))
def test_the_sheet_states_every_name_and_category_exactly(rules):
    sheet = read(rules)
    assert [(f.name, f.type) for f in sheet.inputs.values()] == [
        (f.name, f.type) for f in rules.used
    ]
    said = {value for step in sheet.steps.values() for row in step.answers for value in row.values}
    assert said <= {False, True} | {c for f in rules.used for c in f.categories}
    assert all(
        result.answer in (*rules.target.classes, *map(rules.label, rules.leaves))
        for result in sheet.results.values()
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.found


def test_links_and_short_codes_of_markdown_stay_plain_text():
    name = "www.x.org https://x.org a@b.c :smile: #1 @you $x$ ~~no~~ ![i](u) <b> &amp; **b**"
    rules = replace(single_leaf(), name=name)
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    heading = page.render(sheet_text(rules)).split("</h1>")[0]
    assert not {tag for tag, _ in tags(heading)} & {"a", "b", "img", "s", "strong", "em"}
    first = sheet_text(rules).split("\n")[0]
    for sign in ("www\\.", "https\\://", "a\\@b", "\\:smile", "\\#1", "\\$x"):
        assert sign in first


# Plain text


@slowly
@given(rule_trees(hostile=True), st.data())
def test_no_line_of_the_text_passes_80_columns_and_none_hides_a_sign(rules, data):
    words = {key: data.draw(texts(True)) for key in ("title", "population", "author")}
    stated = {
        **words,
        "exclusions": [data.draw(texts(True))],
        "features": {
            feature.name: {"label": data.draw(texts(True)), "missing": data.draw(texts(True))}
            for feature in rules.features
        },
    }
    stated = {key: value for key, value in stated.items() if "\0" not in repr(value)}
    for text in (sheet_text(rules, "txt"), sheet_text(rules, "txt", sheet=stated)):
        assert max(map(cell_len, text.split("\n"))) <= 80
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "word", ["x" * 300, "漢字" * 100, "漢字" * 30, "é漢" * 90, "漢 " * 200, "😀" * 130]
)
def test_long_and_wide_texts_are_folded_and_nothing_is_lost(word):
    for text in (filled(word), filled(word, 8), filled(word, 2, "- "), underlined(word, "=")):
        lines = text.split("\n")
        assert max(map(cell_len, lines)) <= 80
        assert "".join(text.split()).removeprefix("-").rstrip("=") == word.replace(" ", "")
    *lines, rule = underlined(word, "=").split("\n")
    assert set(rule) == {"="}
    assert len(rule) == max(map(cell_len, lines))


@given(st.lists(st.text(st.sampled_from("aé漢😀"), min_size=1, max_size=90)), st.integers(0, 8))
def test_lines_are_as_full_as_they_can_be(words, indent):
    lines = filled(" ".join(words), indent).split("\n")
    assert " ".join(line.strip() for line in lines).replace(" ", "") == "".join(words)
    for line, following in itertools.pairwise(lines):
        first = following.split()[0]
        # The next word, or its next sign where it is a part of a long one, had no room.
        longest = first if first in words else first[0]
        assert cell_len(f"{line} {longest}") > 80 or first not in words
        assert line.startswith(" " * indent)


def squeezed(text: str) -> str:
    return "".join(text.split())


def shown_texts(text: str) -> list[str]:
    """Return what a Markdown program shows of a text, but for the heads of its tables."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [
        inline(token)
        for before, token in itertools.pairwise(tokens)
        if token.type == "inline" and before.type != "th_open"
    ]


def assert_same_content(rules: Rules, **options: object) -> None:
    document = sheet_text(rules, "md", **options)
    marked = shown_texts(document)
    plain = sheet_text(rules, "txt", **options)
    flat = squeezed(plain)
    for text in marked:
        assert squeezed(text) in flat, text
    # And the other way: without what Markdown shows, only names of cells and signs are left.
    for text in sorted({*map(squeezed, marked)}, key=len, reverse=True):
        flat = flat.replace(text, "\0")
    heads = "".join(re.findall(r"^\|.*\|$(?=\n\|---)", document, re.M))
    known = squeezed(re.sub(r"\\(.)", r"\1", heads))
    assert [piece for piece in {*re.split(r"[\0:*=_\[\]-]+", flat)} if piece not in known] == []


def test_markdown_and_text_carry_the_same_content(example):
    assert_same_content(example)
    assert_same_content(mixed_rules())
    assert_same_content(mixed_rules(), sheet=STATED | {"validation": "400 rows of 2025"})
    assert_same_content(regression())
    assert_same_content(single_leaf())


@slowly
@given(rule_trees(hostile=True))
def test_the_text_holds_all_that_the_markdown_shows(rules):
    flat = squeezed(sheet_text(rules, "txt"))
    for text in shown_texts(sheet_text(rules)):
        assert squeezed(text) in flat
