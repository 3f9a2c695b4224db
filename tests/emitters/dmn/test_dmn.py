"""The DMN document: one rule for each input, in doubles and in decimals, whatever the texts are."""

import re
import shutil
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_rules import mixed_rules
from strategies import rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import differences
from mbndt.emitters import emit, emitter
from mbndt.emitters.base import Artifact, visible
from mbndt.emitters.dmn.feel import literal, names_of
from mbndt.emitters.dmn.run import run
from mbndt.emitters.node import packages
from mbndt.errors import EngineFailed, EngineMissing, TargetError
from mbndt.interpreter import leaf_of
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)
from mbndt.tables.table import Table

DMN = "{https://www.omg.org/spec/DMN/20191111/MODEL/}"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,()]+')


@pytest.fixture
def engine():
    try:
        return emitter("dmn").engine()
    except EngineMissing as error:
        pytest.skip(str(error))


def one_split(kind=FeatureType.FLOAT64, cut=0.5, classes=("no", "yes"), middle=(0.5, 0.5)):
    leaves = (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0)), Leaf(2, middle))
    split = NumericSplit("x", (Interval(cut, 0), Interval(None, 1)), 2, leaves)
    target = TargetType.INTEGER if isinstance(classes[0], int) else TargetType.STRING
    return Rules("one split", Target("y", target, classes), (Feature("x", kind),), split)


def document(rules):
    return ElementTree.fromstring(emit(rules, "dmn").text)


def passes(test, value):
    """Tell whether a value passes unary tests, as an engine of decimals reads them."""
    if test == "-":
        return True
    if test.startswith("not("):
        return not passes(test[4:-1], value)
    tokens = iter(TOKEN.findall(test))
    return any(_one(token, tokens, value) for token in tokens)


def _one(token, tokens, value):
    if token in ("<", ">="):
        bound = Decimal(next(tokens))
        number = isinstance(value, Decimal)
        return number and (value < bound if token == "<" else value >= bound)
    if token[0] == "[":
        low, high = map(Decimal, token[1:].split(".."))
        return isinstance(value, Decimal) and low <= value < high
    return token == (literal(value) if not isinstance(value, Decimal) else None)


def decimal(feature, value):
    """Return a value as a system of decimals holds it: a double by its shortest text."""
    if value is None or value != value or not feature.type.numeric:
        return None if value != value else value
    return Decimal(repr(value))


@settings(max_examples=60)
@given(rule_trees(hostile=True, depth=3), st.integers(0, 999))
def test_exactly_one_rule_fits_each_row_of_decimals_too(rules, seed):
    try:
        table = document(rules).find(f".//{DMN}decisionTable")
    except TargetError as error:
        assert re.search("needs an input|whole number", str(error))
        return
    tests = [[e.text for e in rule.iterfind(f"{DMN}inputEntry/{DMN}text")] for rule in table]
    tests = [row for row in tests if row]
    leaves = [int(rule.get("id").removeprefix("rule_")) for rule in table.iterfind(f"{DMN}rule")]
    rows = boundary_rows(rules, 30, seed)
    for row in rows.records(rules.used):
        if any(value in (float("inf"), float("-inf")) for value in row.values()):
            continue
        values = [decimal(feature, row[feature.name]) for feature in rules.used]
        hits = [
            leaf
            for leaf, own in zip(leaves, tests, strict=True)
            if all(passes(test, value) for test, value in zip(own, values, strict=True))
        ]
        assert hits == [leaf_of(rules, row)], row


@given(rule_trees(hostile=True, depth=2))
def test_labels_units_and_descriptions_stand_in_the_document(rules):
    try:
        root = document(rules)
    except TargetError:
        return
    inputs = root.findall(f"{DMN}inputData")
    assert [node.get("label") for node in inputs] == [visible(f.name) for f in rules.used]
    assert [node.get("name") for node in inputs] == names_of(f.name for f in rules.used)
    for node, feature in zip(inputs, rules.used, strict=True):
        told = node.findtext(f"{DMN}description", "")
        assert all(visible(t) in told for t in (feature.label, feature.unit, feature.description))
    assert rules.fingerprint in root.findtext(f"{DMN}description")
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))


def test_each_cell_says_what_the_rules_say(example):
    rules = document(example).iter(f"{DMN}rule")
    tests = [[e.text for e in rule.iterfind(f"{DMN}inputEntry/{DMN}text")] for rule in rules]
    assert tests == [
        ["[9..21)", "-", "-", "-"],
        ["null, [21..25)", "null, < 2.15", "-", "-"],
        ["null, [21..25)", ">= 2.15", "-", "-"],
        ["< 9, >= 25", "-", "false", '"alert", "voice"'],
        ["< 9, >= 25", "-", "null, true", '"alert", "voice"'],
        ["< 9, >= 25", "-", "-", 'not("alert", "voice")'],
    ]


def test_a_stop_answers_null(engine):
    rules = one_split(middle=None)
    artifact = emit(rules, "dmn")
    found = run(artifact, Table.of({"x": [0.0, 1.0, None]}))
    assert found.leaf.tolist() == [0, 1, 2]
    assert found.prediction == ["no", "yes", None]
    assert found.probabilities.tolist()[:2] == [[1, 0], [0, 1]]
    assert found.probabilities[2].tolist() != found.probabilities[2].tolist()


def test_risks_stand_beside_scores():
    rules = one_split().with_leaves(lambda leaf: Leaf(leaf.leaf, leaf.value, risk=(0.25, 0.75)))
    columns = [node.get("name") for node in document(rules).iter(f"{DMN}output")]
    assert columns == ["prediction", "leaf", "risk_0", "risk_1", "score_0", "score_1"]
    cells = [node.findtext(f"{DMN}text") for node in document(rules).iter(f"{DMN}outputEntry")]
    assert cells[:6] == ['"no"', "0", "0.25", "0.75", "1", "0"]


@pytest.mark.parametrize("cut", [2**53, 2**53 + 1, -(2**53)])
def test_whole_numbers_that_doubles_confuse_are_refused_by_name(cut):
    with pytest.raises(TargetError, match=f"{cut}.* less than 2\\^53 .* threshold of 'x'"):
        emit(one_split(FeatureType.INTEGER, cut), "dmn")
    with pytest.raises(TargetError, match=f"{cut}.* answer of 'y'"):
        emit(one_split(classes=(1, cut)), "dmn")


def test_rules_that_ask_for_nothing_are_refused():
    with pytest.raises(TargetError, match="ask for nothing"):
        emit(single_leaf(), "dmn")


def changed(artifact, old, new):
    assert artifact.text.count(old) >= 1, artifact.text
    text = artifact.text.replace(old, new, 1)
    return Artifact(artifact.name, artifact.suffix, text, artifact.rules)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("&lt; 0.5", "&lt; 0.4", "row 1: 0 rules fit"),
        ("&lt; 0.5", "-", "row 2: 2 rules fit"),
        (">null<", "><", "feelin"),
        ('"UNIQUE"', '"FIRST"', "hit policy FIRST"),
        ("inputEntry", "inputEntri", "node"),
    ],
)
def test_a_table_with_gaps_overlaps_or_foreign_words_fails(old, new, said, engine):
    broken = changed(emit(one_split(), "dmn"), old, new)
    with pytest.raises(EngineFailed, match=said):
        run(broken, Table.of({"x": [0.45, 0.6, None]}))


def test_another_answer_differs(engine):
    table = Table.of({"x": [0.45, 0.6, None]})
    artifact = emit(one_split(), "dmn")
    for old, new in [("&#34;yes&#34;", "&#34;no&#34;"), (">0.5<", ">0.5000000000000001<")]:
        found = differences(run(artifact, table), run(changed(artifact, old, new), table))
        assert found.sum() == 1


@pytest.mark.parametrize("value", [5e-324, 1.7976931348623157e308, 0.1, 2.0**53, 1e22, -1e23])
def test_numbers_have_no_exponents_and_keep_their_value(value):
    text = literal(value)
    assert re.fullmatch(r"-?\d+(\.\d+)?", text)
    assert float(text) == value
    assert Decimal(text) == Decimal(repr(value))


def test_lacking_packages_are_named_with_the_command_that_brings_them(tmp_path, monkeypatch):
    if shutil.which("node") is None:
        pytest.skip("no node on PATH")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineMissing, match=r"npm install no-such-package-here@1\.2\.3"):
        packages({"no-such-package-here": "1.2.3"})


def test_mixed_rules_agree_on_values_that_were_typed_as_texts(engine):
    rules = mixed_rules()
    table = boundary_rows(rules, 300, 7)
    tool = emitter("dmn")
    held = {
        name: [x if x not in (float("inf"), float("-inf")) else 0.0 for x in column]
        for name, column in table.columns.items()
    }
    own = Table.of(held)
    assert not differences(tool.expected(rules, own), tool.run(tool.emit(rules), own)).any()
