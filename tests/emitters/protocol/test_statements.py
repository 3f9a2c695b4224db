"""Statements about a sheet: read and checked, and the template that asks for them."""

import json
import re
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from mixed_rules import STATED, mixed_rules
from sheets import sheet_text, two_way
from strategies import rule_trees

from mbndt.emitters.protocol.statements import (
    InputStatement,
    Missing,
    OutcomeStatement,
    Statements,
    template,
)
from mbndt.errors import OptionError
from mbndt.rules import Feature, FeatureType
from mbndt.rules.stopping import LEAST_ROWS


@given(rule_trees(hostile=True))
def test_the_template_reads_back_as_it_stands_and_says_what_the_rules_know(rules):
    stated = Statements.of(tomllib.loads(template(rules)), rules)
    assert set(stated.features) == {feature.name for feature in rules.used}
    for feature in rules.used:
        known = stated.features[feature.name]
        for said, ours in (
            (known.label, feature.label),
            (known.unit, feature.unit),
            (known.description, feature.description),
        ):
            assert said == " ".join(ours.split())
        assert (known.range, known.decimals, known.measured, known.missing) == (
            None,
            None,
            "",
            Missing(),
        )
    assert stated.references == ()
    assert len(stated.outcomes) == len(rules.target.classes)
    assert set(stated.outcomes.values()) <= {OutcomeStatement()}
    assert (stated.title, stated.validation, stated.exclusions) == ("", "", ())


@pytest.mark.parametrize("name", ["\x7f", 'a"b\\', "a\nb = 1", "]\n[x", "\x01\u2028", "a.b", "#"])
def test_no_name_breaks_out_of_the_template(name):
    rules = replace(two_way(Feature(name, FeatureType.FLOAT64, unit=name), 1.0), name=name)
    stated = Statements.of(tomllib.loads(template(rules)), rules)
    assert list(stated.features) == [name]


def test_an_unfilled_template_changes_nothing_on_the_sheet():
    rules = mixed_rules()
    assert sheet_text(rules, sheet=tomllib.loads(template(rules))) == sheet_text(
        rules, sheet={"least_rows": LEAST_ROWS}
    )


def test_the_commented_keys_of_the_template_are_keys_too():
    text = re.sub(r"# (range|decimals|values) =", r"\1 =", template(mixed_rules()))
    stated = Statements.of(tomllib.loads(text), mixed_rules())
    assert stated.features["lactate"].range == (0, 100)
    assert list(stated.features["avpu"].values) == ["alert", "voice", "pain", "none"]
    assert list(stated.features["oxygen"].values) == ["true", "false"]
    assert stated.features["age"].decimals is None  # whole numbers are recorded whole
    assert stated.decimals() == {"lactate": 1, "temp": 1, "weight": 1}


def test_toml_and_json_say_the_same(tmp_path):
    rules = mixed_rules()
    (tmp_path / "s.json").write_text(json.dumps({"title": "a  b\n", "date": "2026-11-01"}))
    (tmp_path / "s.TOML").write_text('title = """a\nb"""\ndate = 2026-11-01\n')
    found = [Statements.read(tmp_path / name, rules) for name in ("s.json", "s.TOML")]
    assert found[0] == found[1]
    assert (found[0].title, found[0].date) == ("a b", "2026-11-01")


def test_a_statement_goes_before_what_the_rules_say_and_gaps_are_filled_from_them():
    rules = mixed_rules()
    stated = Statements.of(STATED, rules)
    assert stated.feature(rules.feature["temp"]) == InputStatement(
        "Temperature", "degrees C", "of the ear drum", decimals=0
    )
    assert stated.feature(rules.feature["rr"]) == InputStatement("Respiratory rate", "breaths/min")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([], r"sheet: expected a table of keys, got \[\]"),
        ({"titel": "x"}, "unknown key 'titel'; did you mean 'title'"),
        ({"title": 2.1}, "title: expected a text, got 2.1"),
        ({"title": "a\0"}, "title: expected a text"),
        ({"title": "\ud800"}, "title: expected a text"),
        ({"exclusions": "pregnant"}, "exclusions: expected a list of texts"),
        ({"exclusions": [18]}, "exclusions: expected a text, got 18"),
        ({"features": []}, "features: expected a table for each"),
        ({"features": {"Age": {}}}, "features: unknown 'Age'; did you mean 'age'"),
        ({"features": {"age": "x"}}, "features: 'age': expected a table of keys"),
        (
            {"features": {"age": {"decimal": 1}}},
            "'age': unknown key 'decimal'; did you mean 'decimals",
        ),
        ({"features": {"age": {"range": [9, 1]}}}, r"'age': range: expected \[least, greatest\]"),
        ({"features": {"age": {"range": [1, 1]}}}, "'age': range: expected"),
        ({"features": {"age": {"range": [0, float("nan")]}}}, "'age': range: expected"),
        ({"features": {"age": {"range": [0, float("inf")]}}}, "'age': range: expected"),
        ({"features": {"age": {"range": [False, True]}}}, "'age': range: expected"),
        ({"features": {"age": {"range": [1, 2, 3]}}}, "'age': range: expected"),
        ({"features": {"age": {"decimals": 1.0}}}, "'age': decimals: expected a whole number"),
        ({"features": {"age": {"decimals": True}}}, "'age': decimals: expected a whole number"),
        (
            {"features": {"age": {"decimals": 16}}},
            "decimals: expected a whole number from -15 to 15",
        ),
        (
            {"features": {"avpu": {"range": [0, 1]}}},
            "'avpu': range: only for numbers, got a category",
        ),
        ({"features": {"oxygen": {"decimals": 0}}}, "decimals: only for numbers, got a boolean"),
        ({"outcomes": {"Home": {}}}, "outcomes: unknown 'Home'; did you mean 'home'"),
        ({"outcomes": {"home": {"pattern": "red"}}}, "'home': pattern: got 'red'"),
        ({"outcomes": {"home": {"action": ["x"]}}}, "'home': action: expected a text"),
    ],
)
def test_a_wrong_statement_is_one_line_that_names_its_key(said, message):
    with pytest.raises(OptionError, match=f"^sheet: .*{message}|^{message}") as caught:
        Statements.of(said, mixed_rules())
    assert "\n" not in str(caught.value)


def test_a_file_that_cant_be_read_is_named(tmp_path):
    for name, text in (("s.toml", "title = "), ("s.json", "{"), ("n.json", "[" * 99_999)):
        (tmp_path / name).write_text(text)
        with pytest.raises(OptionError, match=f"sheet: .*{name}"):
            Statements.read(tmp_path / name, mixed_rules())
    with pytest.raises(OptionError, match=r"sheet: .*none\.toml: No such file"):
        Statements.read(tmp_path / "none.toml", mixed_rules())


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ({"outcomes": {"home": {"label": "home (or not)"}}}, "'home': label: a label has none"),
        ({"features": {"AVPU": {"values": {"alert": "a, or b"}}}}, "'alert': a label has none"),
        ({"features": {"AVPU": {"values": {"allert": "a"}}}}, "unknown 'allert'; did you mean"),
        ({"features": {"AVPU": {"values": ["a"]}}}, "values: expected a table of codes"),
        ({"features": {"lactate": {"values": {"1.5": "a"}}}}, "'1.5', expected whole numbers"),
        ({"outcomes": {"home": {"pattern": "dots"}, "ward": {"pattern": "dots"}}}, "one pattern"),
    ],
)
def test_statements_that_would_mislead_are_refused(example, statements, message):
    with pytest.raises(OptionError, match=message):
        Statements.of(statements, example)


def test_outcomes_without_a_pattern_get_those_that_are_left(example):
    sheet = {"outcomes": {"ward": {"pattern": "plain"}}}
    text = sheet_text(example, "html", sheet=sheet)
    marks = re.findall(r'<svg class="swatch".*?</svg>', text)
    assert len(marks) == len({re.sub(r"id=.*?>", "", mark) for mark in marks}) == 3
