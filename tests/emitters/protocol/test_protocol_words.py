"""The sheet in other languages: all of its words are messages, and each is followed on paper."""

import json
import re
import string
from html.parser import HTMLParser

import pytest
from greek_rules import CASES, greek, numbers
from mixed_rules import mixed_rules
from sheets import languages, sheet_text

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check, verify
from mbndt.emitters import emit
from mbndt.emitters.protocol import words
from mbndt.emitters.protocol.check import differences
from mbndt.emitters.protocol.form import script
from mbndt.emitters.protocol.identity import Identity
from mbndt.emitters.protocol.paper import read_sheet
from mbndt.emitters.protocol.statements import Statements
from mbndt.emitters.protocol.text import plain
from mbndt.emitters.protocol.words import ENGLISH, messages, pattern, say, speaking
from mbndt.errors import OptionError
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

TRANSLATED = ["de", "fr", "es"]
UNPRINTED = {"decimal_sign", "own_words"}


def fields(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


# The messages


def test_there_are_words_in_four_languages():
    assert words.languages() == sorted(["en", *TRANSLATED])


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_language_has_the_messages_of_english_with_the_same_fields(language):
    english, own = messages(ENGLISH), messages(language)
    assert list(own) == list(english)
    assert [key for key in own if fields(own[key]) != fields(english[key])] == []


@languages
def test_messages_can_stand_in_attributes_scripts_and_style_sheets(language):
    for key, text in messages(language).items():
        signs = "\"'`$<>&\n" if key != "drawn_between" else "\"'`$>&\n"
        assert not set(signs) & set(text), key
        assert "\\" not in text or key == "read_escape"
        assert text.strip() or key == "form_and"


@languages
def test_what_messages_quote_stands_on_the_sheet(language):
    with speaking(language):
        known = [*messages(language).values(), say("below", high=4), say("or_more", low=4)]
        text = " ".join(text for key, text in messages(language).items() if key[:5] != "form_")
    quoted = re.findall(r"[“„](\w[^“”„{]*)[”“]|«\s?(\w[^»{]*?)\s?»", text)
    assert len(quoted) > 10
    for pair in quoted:
        assert any(own.startswith("".join(pair)) for own in known), pair


@languages
def test_the_decimal_sign_tells_numbers_from_lists(language):
    with speaking(language):
        number = r"-?[\d,.]+"
        row = f"{say('below', high='35')}, {say('or')} {say('or_more', low=words.decimal('38.5'))}"
        first, second = row.split(f", {say('or')} ")
        assert re.fullmatch(pattern("below", high=f"({number})"), first)[1] == "35"
        found = re.fullmatch(pattern("or_more", low=f"({number})"), second)[1]
        assert found == ("38.5" if language == "en" else "38,5")
        assert words.pointed(found) == "38.5"


# No word of the sheet stands anywhere else: what rules and people say is Greek here, and each
# message of a language made up stands in brackets.


class Words(HTMLParser):
    """Collects what a page says, in texts and in attributes that are read aloud."""

    def __init__(self):
        super().__init__()
        self.found, self.within = [], ""

    def handle_starttag(self, tag, attrs):
        self.within = tag
        self.found += [text for name, text in attrs if name in ("aria-label", "data-head", "title")]

    def handle_endtag(self, tag):
        self.within = ""

    def handle_data(self, data):
        cut = data.endswith("…")  # for want of room in the drawing, where its title says it all
        if self.within not in ("script", "style") and not cut:
            self.found.append(data)


@pytest.fixture
def pseudo(monkeypatch, tmp_path):
    """Bring a language whose messages stand in brackets."""
    made = {key: text if key in UNPRINTED else f"⟦{text}⟧" for key, text in messages("en").items()}
    lines = [f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in made.items()]
    (tmp_path / "xx.toml").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "en.toml").write_bytes((words.FOLDER / "en.toml").read_bytes())
    monkeypatch.setattr(words, "FOLDER", tmp_path)


def left_over(text):
    """Return the Latin letters outside brackets, but for signs that are the same everywhere."""
    while (shorter := re.sub("⟦[^⟦⟧]*⟧", "", text)) != text:
        text = shorter
    signs = r"\\u\{\w+\}|\b(?:rules|statements)-[0-9a-f]{64}\b|\b[0-9a-f]{12,64}\b|R\d+|\b[A-Z]\b"
    return re.findall(r"[A-Za-z]\S*", re.sub(signs + r"|<!-- lang: xx -->|\(xx\)", "", text))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("kind", ["md", "txt", "html"])
def test_every_word_of_the_sheet_is_a_message(pseudo, kind, case):
    rules, stated = case
    for least in (0, 20):
        sheet = {**stated, "language": "xx", "least_rows": least}
        text = sheet_text(rules, kind, sheet=sheet)
        if kind == "html":
            page = Words()
            page.feed(text)
            text = "\n".join(page.found)
        assert text.count("⟦") > 50
        assert left_over(text) == []


def test_every_text_of_the_forms_script_is_a_message(pseudo):
    rules = greek()
    with speaking("xx"):
        code = script(
            rules, rules.used, {feature.name: feature.name for feature in rules.used}
        ).split("// The form: ")[1]
    code = re.sub(r"\\u([0-9a-f]{4})", lambda sign: chr(int(sign[1], 16)), code)
    code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))
    texts = re.findall(r'"([^"\n]*)"|`([^`\n]*)`', code)
    said = [text for text in map("".join, texts) if re.search(r"[A-Za-z]{2,} [a-z]{2,}", text)]
    marks = r"^[#.]|tbody|thead|^input|textContent"  # of selectors and code
    plain = [text for text in said if "⟦" not in text and not re.search(marks, text)]
    assert len(said) > 20
    assert plain == []


# Followed on paper


def texts_of(language):
    """Return what the sheet says itself, with numbers and words in place of fields."""
    with speaking(language):
        filled = {key: dict.fromkeys(fields(text), "9") for key, text in messages(language).items()}
        return [say(key, **given) for key, given in filled.items()]


@languages
@pytest.mark.parametrize("start", range(5))
def test_names_that_are_the_sheets_own_words_mislead_nobody(language, start):
    own = texts_of(language)
    for at in range(start * 7, len(own) - 4, 35):
        text, *values = own[at : at + 5]
        groups = tuple(Group((value,), i) for i, value in enumerate(dict.fromkeys(values)))
        leaves = (Leaf(2 + i, (float(i % 2), float(1 - i % 2))) for i in range(len(groups) + 1))
        sets = SetSplit("c", groups, 0, tuple(leaves), len(groups))
        parts = (Interval(1.5, 0), Interval(9.0, 1), Interval(None, 2))
        one, two = Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0))
        root = NumericSplit(text, parts, 2, (one, two, sets))
        x = Feature(text, FeatureType.FLOAT64, label=text, unit=text, description=text)
        c = Feature("c", FeatureType.CATEGORY, tuple(dict.fromkeys(values)), label=values[0])
        rules = Rules(
            text, Target(f"{text} y", TargetType.STRING, (text, f"{text}?")), (x, c), root
        )
        for title in ("", text):
            sheet = {"language": language, "title": title, "least_rows": 0}
            for kind in ("md", "html"):
                options = {"format": kind, "sheet": sheet}
                found = check(rules, "protocol", options, [boundary_rows(rules, 50)])
                assert found.mismatches == 0, found


@languages
@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_title_that_is_a_heading_of_the_sheet_misleads_nobody(language, kind):
    with speaking(language):
        headings = [say(key) for key in ("columns", "results", "exact_figures", "answers")]
        headings.append(say("step", number=1, question="ξ", letter="A"))
    wanted = read_sheet(
        sheet_text(numbers(), kind, sheet={"language": language}), html=kind != "md"
    )
    for title in headings:
        text = sheet_text(numbers(), kind, sheet={"language": language, "title": title})
        assert read_sheet(text, html=kind == "html") == wanted


@languages
def test_names_that_are_words_of_the_language_stand_in_quotes(language):
    own = messages(language)["own_words"].split(", ")
    assert len(own) > 8
    with speaking(language):
        for word in own:
            assert plain(word) == f"“{word}”"
            assert plain(f"λ {word.upper()} λ") == f"“λ {word.upper()} λ”"
        assert plain("λ") == "λ"


@languages
@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_sheet_with_a_number_of_another_language_is_refused(language, kind):
    text = sheet_text(numbers(), kind, sheet={"language": language})
    assert read_sheet(text, html=kind == "html").steps[1].ends == {1.5}
    own, other = ("1.5", "1,5") if language == "en" else ("1,5", "1.5")
    with pytest.raises(ValueError, match="can't read"):
        read_sheet(text.replace(own, other), html=kind == "html")


@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_sheet_in_a_language_without_words_is_refused(kind):
    text = sheet_text(numbers(), kind, sheet={"language": "de"})
    text = text.replace("lang: de", "lang: it").replace('lang="de"', 'lang="it"')
    with pytest.raises(ValueError, match=r"'it'.*de, en, es, fr"):
        read_sheet(text, html=kind == "html")


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("kind", ["md", "html", "txt"])
def test_all_numbers_for_people_have_a_decimal_comma(language, kind):
    for rules, stated in CASES.values():
        text = sheet_text(rules, kind, sheet={**stated, "language": language})
        if kind == "html":
            page = Words()
            page.feed(text)
            text = "\n".join(page.found)
        assert re.findall(r"(?<!\d\.)\b\d+\.\d+\b(?!\.\d)", text) == []
        assert re.search(r"\d,\d", text)


# What is stated


def test_a_language_without_words_is_refused_with_the_choices():
    with pytest.raises(OptionError, match=r"sheet: language: got 'it'.*'de', 'en', 'es', 'fr'"):
        sheet_text(mixed_rules(), sheet={"language": "it"})
    with pytest.raises(OptionError, match=r"language: got 'DE'.*'de'"):
        sheet_text(mixed_rules(), sheet={"language": "DE"})


def test_english_is_spoken_where_nothing_is_stated_and_another_language_is_another_sheet():
    rules = mixed_rules()
    for kind in ("md", "html", "txt"):
        assert sheet_text(rules, kind, sheet={"language": "en"}) == sheet_text(rules, kind)
    marks = {
        Identity.of(rules, Statements.of({"language": language}, rules)).mark
        for language in ("", "en", *TRANSLATED)
    }
    assert len(marks) == 4


def test_the_option_goes_before_the_language_that_is_stated():
    rules = mixed_rules()
    for stated in ({}, {"language": "fr"}):
        text = sheet_text(rules, sheet=stated, language="de")
        assert text == sheet_text(rules, sheet={"language": "de"})
        assert sheet_text(rules, sheet=stated, language="en") == sheet_text(rules)
    with pytest.raises(OptionError, match="language: got 'it'"):
        sheet_text(rules, language="it")


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("kind", ["md", "txt", "html"])
def test_a_sheet_in_any_language_is_that_of_statements_without_one(language, kind, tmp_path):
    rules, sheet = mixed_rules(), tmp_path / f"sheet.{kind}"
    sheet.write_text(emit(rules, "protocol", format=kind, language=language).text, "utf-8")
    assert differences(sheet, rules, None) == []
    stated = tmp_path / "stated.json"
    for other in {"en", *TRANSLATED} - {language}:
        stated.write_text(json.dumps({"language": other}), "utf-8")
        assert len(differences(sheet, rules, stated)) == 1


def test_verify_follows_the_sheet_in_every_language():
    found = verify(greek(), targets=["protocol"], rows=100)
    followed = {each.options.get("language", "en") for each in found if each.rows >= 100}
    assert followed == {"en", *TRANSLATED}
    assert all(each.outcome == "agrees" for each in found)


@languages
@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_sheet_is_told_from_one_that_was_changed_in_every_language(language, kind, tmp_path):
    rules = mixed_rules()
    statements, sheet = tmp_path / "sheet.json", tmp_path / f"sheet.{kind}"
    actions = {"ward": {"action": "Admit"}}
    stated = {"outcomes": actions, "language": language, "least_rows": 0}
    statements.write_text(json.dumps(stated), encoding="utf-8")
    text = sheet_text(rules, kind, sheet=stated)
    sheet.write_text(text, encoding="utf-8")
    assert differences(sheet, rules, statements) == []
    with speaking(language):
        row = say("or_more", low=words.decimal("4.15"))
    for before, after in ((row, row.replace("4", "5")), ("Admit", "Discharge")):
        assert before in text
        sheet.write_text(text.replace(before, after), encoding="utf-8")
        assert len(differences(sheet, rules, statements)) == 1
