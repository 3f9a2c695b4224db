"""The JSON form: written and read back equal, and refused where the schema refuses it."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import chain, rule_trees

from mbndt.errors import RulesError
from mbndt.interpreter import leaf_of
from mbndt.rules import Rules
from mbndt.rules.json import schema

DATA = Path(__file__).parents[1] / "data"
SCHEMA = jsonschema.Draft202012Validator(json.loads(schema()))
EXAMPLE = json.loads((DATA / "example.rules.json").read_text())


def refused(document: object, match: str | None = None) -> None:
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    with pytest.raises(RulesError, match=match):
        Rules.from_json(text)


def changed(path: str, value: object) -> dict:
    """Return the example with one place changed; the path's steps are split by dots."""
    document = copy.deepcopy(EXAMPLE)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = document
    for step in steps:
        place = place[step]
    place[last] = value
    return document


@given(rule_trees(hostile=True))
def test_rules_are_read_back_equal_and_the_schema_takes_them(rules):
    text = rules.to_json()
    assert Rules.from_json(text) == rules
    assert Rules.from_json(text.encode()).to_json() == text
    SCHEMA.validate(json.loads(text))


def test_the_example_keeps_every_key():
    assert json.loads(Rules.from_json(json.dumps(EXAMPLE)).to_json()) == EXAMPLE


SHORT = st.text(max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 5) | st.floats(allow_nan=False) | SHORT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT, inner, max_size=2),
    max_leaves=4,
)


def places(document, path=()):
    """Yield the paths of all places in a JSON document."""
    yield path
    if isinstance(document, (dict, list)):
        items = document.items() if isinstance(document, dict) else enumerate(document)
        for key, value in items:
            yield from places(value, (*path, key))


PLACES = [path for path in places(EXAMPLE) if path]


@given(st.sampled_from(PLACES), JSON, st.sampled_from(["replace", "delete", "add"]))
def test_what_the_schema_refuses_the_reader_refuses(path, value, action):
    document = copy.deepcopy(EXAMPLE)
    place = document
    for step in path[:-1]:
        place = place[step]
    if action == "replace":
        place[path[-1]] = value
    elif action == "delete":
        del place[path[-1]]
    elif isinstance(place, dict):
        place["extra key"] = value
    else:
        place.append(value)
    try:
        read = Rules.from_json(json.dumps(document))
    except RulesError as error:
        assert "\n" not in str(error)
    else:
        assert SCHEMA.is_valid(document)
        assert Rules.from_json(read.to_json()) == read


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_arbitrary_bytes_give_our_own_error_only(data):
    refused(data)


@pytest.mark.parametrize(
    "path, value, where",
    [
        ("root.intervals.0.below", "9", r"root\.intervals\[0\]\.below"),
        ("root.intervals.0.below", True, r"root\.intervals\[0\]\.below"),
        ("root.intervals.0.to", 2.0, r"root\.intervals\[0\]\.to"),
        ("root.intervals.0.to", True, r"root\.intervals\[0\]\.to"),
        ("root.missing", 9, "root: no child 9"),
        ("root.children.1.intervals.0.below", None, r"root\.children\[1\]\.intervals\[0\]\.below"),
        ("root.children.0.counts", [1, 2.0, 3], r"root\.children\[0\]\.counts\[1\]"),
        ("root.children.0.leaf", 0.0, r"root\.children\[0\]\.leaf"),
        ("version", 2, "version"),
        ("version", True, "version"),
        ("task", "ranking", "task"),
        ("task", "regression", "classes"),
        ("target.classes", [], "at least one"),
        ("target.classes", ["home", "ward", 3], r"target\.classes\[2\]"),
        ("features.0.type", "double", r"features\[0\]\.type"),
        ("features.3.type", "float64", r"features\[3\]\.categories"),
        ("provenance.note", "\ud800", r"provenance\.note"),
        ("provenance.\0", 1, "provenance"),
        ("root.childs", [], "did you mean 'children'"),
    ],
)
def test_a_wrong_place_is_named(path, value, where):
    refused(changed(path, value), where)


@pytest.mark.parametrize(
    "text, where",
    [
        ("", "not JSON"),
        ("[]", "expected an object"),
        ('{"format": "mbndt-rules", "format": "x"}', "duplicate key 'format'"),
        (json.dumps(changed("root.intervals.0.below", float("nan"))), "NaN"),
        (json.dumps(changed("root.intervals.0.below", float("-inf"))), "Infinity"),
        (json.dumps(EXAMPLE).replace("2.15", "1e999"), "finite"),
        (json.dumps(EXAMPLE).replace("2.15", "9" * 400), "finite"),
        (json.dumps(EXAMPLE).replace("2.15", "9" * 5000), "digits"),
        (b"\xff\xfe", "UTF-8"),
        ("[" * 100_000, "nested deeper"),
        (json.dumps(EXAMPLE)[:-1], "line 1"),
    ],
)
def test_a_wrong_text_is_refused_in_one_line(text, where):
    refused(text, where)


def test_depth_500_is_written_and_read_back():
    rules = chain(500)
    assert Rules.from_json(rules.to_json()).fingerprint == rules.fingerprint


def test_a_byte_order_mark_is_skipped():
    text = b"\xef\xbb\xbf" + json.dumps(EXAMPLE).encode()
    assert Rules.from_json(text) == Rules.from_json(text[3:])


@pytest.mark.parametrize(
    "written, x, below",
    [
        ("9007199254740993", 9007199254740992, True),
        ("9007199254740993", 9007199254740993, False),
        ("9007199254740992.5", 9007199254740992, True),
        ("9007199254740992.5", 9007199254740993, False),
        ("9.0000000000000000001", 9, True),
        ("9.0000000000000000001", 10, False),
        ("1e-30", 0, True),
        ("-1e-30", 0, False),
    ],
)
def test_a_threshold_on_integers_is_as_exact_as_it_is_written(written, x, below):
    text = json.dumps(changed("root.intervals.0.below", 12345)).replace("12345", written)
    inner = '{"below": 21, "to": 0}, {"below": 25, "to": 1}, '
    rules = Rules.from_json(text.replace(inner, '{"below": 1e19, "to": 0}, '))
    row = dict.fromkeys(rules.feature) | {"respiratory rate": x}
    assert (leaf_of(rules, row) != 0) == below
