"""Every registered target, in its real engine, answers as the interpreter does, to the last bit."""

import json

import pytest
from drawn_tables import mixed_table
from hostile import HOSTILE, HOSTILE_TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import TARGETS, emitter, emitter_class
from mbndt.emitters.base import Emitter
from mbndt.errors import EngineMissing, TargetError
from mbndt.learning.pipeline import learn
from mbndt.learning.settings import preset
from mbndt.rules.json import schema as rules_schema
from mbndt.tables.table import Table

VARIANTS = [
    pytest.param(target, options, id=" ".join([target, *map(str, options.values())]))
    for target in TARGETS
    for options in emitter_class(target).variants
]
# Engines that the package or its tests need anyway, so that none of them may be missing.
ALWAYS_HERE = ("python", "duckdb", "sqlite", "onnx", "protocol")
# How many drawn rules each engine is asked about, where one takes long to start or compile.
EXAMPLES = {
    "c": 12,
    "javascript": 12,
    "dmn": 12,
    "postgres": 12,
    "mysql": 12,
    "clickhouse": 12,
    "spark": 5,
}
# Rules that a variant may refuse, with the reason in its error.
REFUSALS = {
    ("onnx", "single leaf"): "no features",
    ("dmn", "single leaf"): "needs an input",
    ("dmn", "regression"): "whole number 9007199254740993",
    ("fhir", "regression"): "threshold 9007199254740993",
    ("int32", "regression"): "threshold 9007199254740993",
    ("int16", "regression"): "threshold 9007199254740993",
    ("int8", "regression"): "threshold 9007199254740993",
    ("int8", "demo"): "threshold",
    ("matrix", "example"): "AVPU",
    ("matrix", "learned"): "categor",
    ("matrix", "deep"): "categor",
}


def words(target, options):
    """Return the words that name a variant in the tables above."""
    return (target, *map(str, options.values()))


def examples(target, options):
    return min(EXAMPLES.get(word, 40) for word in words(target, options))


def run(rules, target, options, tables):
    """Check a target; an engine that isn't installed skips the test."""
    found = check(rules, target, options, tables)
    if found.outcome == "not run":
        pytest.skip(found.note)
    return found


@pytest.fixture(scope="session")
def trees(example):
    frame = load_breast_cancer(as_frame=True).frame
    demo = learn(Table.of(frame), "target", preset("fast", seed=1))
    learned = learn(mixed_table(300), "y", preset("fast"))
    return {
        "example": (example, None),
        "demo": (demo.rules, Table.of(frame)),
        "learned": (learned.rules, mixed_table(300)),
        "single leaf": (single_leaf(), None),
        "64 intervals": (many_intervals(), None),
        "regression": (regression(), None),
        "deep": (chain(50), None),
    }


TREES = ["example", "demo", "learned", "single leaf", "64 intervals", "regression", "deep"]


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("target, options", VARIANTS)
def test_a_target_answers_as_the_interpreter(target, options, name, trees):
    rules, table = trees[name]
    tables = [boundary_rows(rules, 600), *([table] if table else [])]
    found = run(rules, target, options, tables)
    for (word, tree), reason in REFUSALS.items():
        if tree == name and word in words(target, options) and found.outcome == "refused":
            assert reason in found.note
            return
    assert found.outcome == "agrees", (found.note, found.first)
    assert found.rows >= 600


@pytest.mark.parametrize("target, options", VARIANTS)
def test_a_target_answers_as_the_interpreter_on_drawn_trees(target, options):
    ran = []

    @settings(max_examples=examples(target, options))
    @given(rule_trees(), st.integers(0, 10**6))
    def agree(rules, seed):
        found = run(rules, target, options, [boundary_rows(rules, 40, seed)])
        ran.append(found.outcome == "agrees")
        assert found.outcome in ("agrees", "refused"), (found.note, found.first)

    agree()
    # Most drawn thresholds lie past the reach of whole numbers of 32 bits and fewer.
    narrow = str(options.get("number")).startswith("int")
    assert sum(ran) > (0 if narrow else len(ran) / 8)


@pytest.mark.parametrize("target, options", VARIANTS)
def test_a_target_agrees_or_refuses_on_hostile_names_and_values(target, options):
    ran = []

    @settings(max_examples=examples(target, options))
    @given(rule_trees(hostile=True, depth=3))
    def agree_or_refuse(rules):
        found = run(rules, target, options, [boundary_rows(rules, 40)])
        ran.append(found.outcome == "agrees")
        assert found.outcome in ("agrees", "refused"), (found.note, found.first)
        assert "\n" not in found.note

    agree_or_refuse()
    assert any(ran)


@pytest.mark.parametrize("target, options", VARIANTS)
def test_nobody_is_left_out(target, options):
    assert issubclass(emitter_class(target), Emitter)
    try:
        assert emitter(target, **options).engine()
    except EngineMissing as error:
        assert not set(ALWAYS_HERE) & set(words(target, options)), error
        assert "install" in str(error)  # a message says what to do about it
        pytest.skip(str(error))


@pytest.mark.parametrize("target, options", VARIANTS)
def test_artefacts_are_the_same_bytes_each_time(target, options, trees):
    for name in ("example", "demo"):
        try:
            first, second = (emitter(target, **options).emit(trees[name][0]) for _ in "ab")
        except TargetError:
            continue
        assert first.content == second.content


def said(document, path=""):
    """Yield each key of a document with its path, and values that are chosen from a few."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from said(value, key)
    elif isinstance(document, list):
        for value in document:
            yield from said(value, path)
    elif path in ("task", "type"):
        yield document


def sayable(schema):
    """Yield each key that a JSON schema knows, and values that it lists."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        listed = schema.get("enum", [])
        yield from listed
        for value in schema.values():
            yield from sayable(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from sayable(value)


def test_drawn_rules_say_all_that_the_schema_knows_and_hold_every_hostile_text():
    schema = json.loads(rules_schema())
    seen, names = set(), ""

    @settings(max_examples=300)
    @given(rule_trees(hostile=True, depth=2))
    def draw(rules):
        nonlocal names
        seen.update(said(json.loads(rules.to_json())))
        parts = [rules.name, *rules.feature, *map(str, rules.target.classes)]
        names += "".join([*parts, *(c for f in rules.features for c in f.categories)])

    draw()
    assert set(sayable(schema)) <= seen
    met = {kind: [text for text in group if text in names] for kind, group in HOSTILE.items()}
    assert all(met.values()), [kind for kind, texts in met.items() if not texts]
    assert sum(map(len, met.values())) > len(HOSTILE_TEXTS) / 2
