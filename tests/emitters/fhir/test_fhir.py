"""The bundle: its CQL text answers as the rules do, its resources are those of FHIR R4."""

import base64
import json
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from cql_text import Library
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_rules import mixed_rules
from strategies import chain, regression, rule_trees, single_leaf

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import differences
from mbndt.emitters import emit, emitter
from mbndt.emitters.base import Artifact
from mbndt.emitters.fhir.elm import Names
from mbndt.emitters.fhir.emit import Fhir
from mbndt.emitters.fhir.numbers import cut, rounded
from mbndt.emitters.fhir.run import run
from mbndt.emitters.fhir.units import METRIC, PLAIN, PREFIXES, SPELLINGS, ucum
from mbndt.emitters.node import packages, run_node
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

REFUSED = "CQL's (whole numbers end|decimals end)|one in CQL's 8 decimals"
CODE = re.compile(r"[^\s]+(\s[^\s]+)*")  # FHIR's type of a name


@pytest.fixture
def engine():
    try:
        return emitter("fhir").engine()
    except EngineMissing as error:
        pytest.skip(str(error))


def one_split(
    kind=FeatureType.FLOAT64, cuts=(0.5,), classes=("no", "yes"), middle=(0.5, 0.5), name="x"
):
    rest = (0.0,) * (len(classes) - 2)
    leaves = tuple(Leaf(i, (1.0 - i % 2, float(i % 2), *rest)) for i in range(len(cuts) + 1))
    ends = [Interval(below, i) for i, below in enumerate([*cuts, None])]
    split = NumericSplit(name, tuple(ends), len(ends), (*leaves, Leaf(len(ends), middle)))
    target = TargetType.INTEGER if isinstance(classes[0], int) else TargetType.STRING
    return Rules("one split", Target("y", target, classes), (Feature(name, kind),), split)


def resources(artifact):
    library, plan = (entry["resource"] for entry in json.loads(artifact.text)["entry"])
    return library, plan


def content(library, kind):
    (found,) = (own["data"] for own in library["content"] if own["contentType"] == kind)
    return base64.b64decode(found, validate=True).decode()


def text_of(rules):
    return content(resources(emit(rules, "fhir"))[0], "text/cql")


def decimal(feature, value):
    """Return a value as a system of CQL's decimals holds it, `...` where it holds none."""
    match feature.type:
        case FeatureType.BOOLEAN | FeatureType.CATEGORY:
            return value
        case _ if value is None:
            return None
        case FeatureType.INTEGER:
            return value if abs(value) < 2**31 else ...
        case _:
            return Decimal(repr(round(value, 8))) if abs(value) < 1e20 else ...


def answers_by(rules, leaf):
    """Return what the definitions say of a leaf, by name."""
    names = Names.of(rules)
    leaf = rules.leaves[leaf]
    label = rules.label(leaf)
    exact = Decimal(repr(rounded(label))) if isinstance(label, float) else label
    found = {"Leaf": leaf.leaf, "Answer": exact}
    for name, own in zip(names.outcomes, rules.target.classes, strict=True):
        found[name] = label is not None and own == label
    for block, rows in rules.outputs.items():
        for i, name in enumerate(names.told[block]):
            row = rows[leaf.leaf]
            found[name] = None if row is None else Decimal(repr(round(row[i], 8)))
    if rules.stops:
        found["Has no answer"] = label is None
    if not rules.target.classes:
        found["Has an answer"] = label is not None
    return found


@settings(max_examples=80, deadline=None)
@given(rule_trees(hostile=True, depth=3), st.integers(0, 999))
def test_the_text_answers_in_decimals_as_the_rules_do(rules, seed):
    try:
        library = Library(text_of(rules))
    except TargetError as error:
        assert re.search(REFUSED, str(error))
        return
    names = Names.of(rules)
    assert (library.name, library.version) == (names.library, rules.fingerprint)
    for row in boundary_rows(rules, 40, seed).records(rules.used):
        values = {names.inputs[f.name]: decimal(f, row[f.name]) for f in rules.used}
        if ... in values.values():
            continue
        held = {
            f.name: float(value) if isinstance(value, Decimal) else value
            for f, value in zip(rules.used, values.values(), strict=True)
        }
        told = library.answer(values)
        wanted = answers_by(rules, leaf_of(rules, held))
        assert {name: told[name] for name in wanted} == wanted, row
        assert [*map(type, (told[name] for name in wanted))] == [*map(type, wanted.values())]


def test_deep_rules_are_written_in_parts_that_the_text_joins():
    rules = chain(50)
    text = text_of(rules)
    library = Library(text)
    parts = [name for name in library.definitions if name.startswith("Leaf")]
    assert parts == ["Leaf (part 3)", "Leaf (part 2)", "Leaf (part 1)", "Leaf"]
    assert max(len(line) - len(line.lstrip()) for line in text.splitlines()) < 80
    for row in boundary_rows(rules, 300).records(rules.used):
        values = {f.name: decimal(f, row[f.name]) for f in rules.used}
        if ... not in values.values():
            held = {**row, "x": None if values["x"] is None else float(values["x"])}
            assert library.answer(values)["Leaf"] == leaf_of(rules, held)


@given(
    st.sampled_from([FeatureType.FLOAT64, FeatureType.FLOAT32]),
    st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3) | st.integers(-9999, 9999).map(lambda i: i / 1e3),
)
def test_decimals_beside_a_threshold_take_the_side_that_the_rules_give_them(kind, threshold):
    rules = one_split(kind, (threshold,))
    own = Decimal(repr(cut(rules.features[0], threshold)))
    library = Library(text_of(rules))
    for step in (-2, -1, 0, 1, 2):
        value = own + step * Decimal("1e-8")
        assert library.answer({"x": value})["Leaf"] == leaf_of(rules, {"x": float(value)})


@settings(max_examples=60, deadline=None)
@given(rule_trees(hostile=True, depth=2))
def test_resources_have_the_shape_of_r4(rules):
    r4 = pytest.importorskip("fhir.resources.R4B.bundle")
    try:
        artifact = emit(rules, "fhir")
    except TargetError:
        return
    bundle = json.loads(artifact.text)
    read = r4.Bundle.model_validate(bundle)
    assert json.loads(read.model_dump_json()) == bundle
    library, plan = resources(artifact)
    for own in (library, plan):
        assert re.fullmatch(r"[A-Z]\w{0,254}", own["name"], re.ASCII)
        assert re.fullmatch(r"[A-Za-z0-9.-]{1,64}", own["id"])
        assert own["version"] == rules.fingerprint
        assert own["status"] == "draft"
        assert "date" not in own
    assert all(CODE.fullmatch(own["name"]) for own in library["parameter"])
    elm = json.loads(content(library, "application/elm+json"))["library"]
    defined = [own["name"] for own in elm["statements"]["def"]]
    listed = [own["name"] for own in elm["parameters"]["def"]]
    assert len({*defined, *listed}) == len(defined) + len(listed)
    assert {own["name"] for own in library["parameter"]} <= {*defined, *listed}
    conditions = [own["condition"][0]["expression"]["expression"] for own in plan["action"]]
    assert set(conditions) <= set(defined)
    assert len(set(conditions)) == len(conditions) == len(rules.target.classes or "1") + rules.stops


def test_a_foreign_shape_is_found():
    r4 = pytest.importorskip("fhir.resources.R4B.bundle")
    bundle = json.loads(emit(one_split(), "fhir").text)
    bundle["entry"][1]["resource"]["action"][0]["condition"][0]["kind"] = 7
    with pytest.raises(ValueError, match="kind"):
        r4.Bundle.model_validate(bundle)


def test_only_a_validation_elsewhere_makes_a_plan_ready_for_use():
    rules = one_split()
    performance = {"rows": 40, "class_rows": [20, 20]}
    block = {"rules": rules.fingerprint, "on": "another ward", "performance": performance}
    status = {}
    for kind in ("internal", "external"):
        known = replace(rules, provenance={"validation": [{**block, "kind": kind}]})
        status[kind] = [own["status"] for own in resources(emit(known, "fhir"))]
    assert status == {"internal": ["draft"] * 2, "external": ["active"] * 2}


def test_known_units_are_codes_and_others_words():
    features = (
        Feature("x", FeatureType.FLOAT64, label="Serum lactate", unit="mmol/L"),
        Feature("n", FeatureType.FLOAT64, unit="points"),
    )
    split = one_split().root
    inner = replace(split, feature="n", children=tuple(Leaf(i, (1.0, 0.0)) for i in range(3)))
    root = replace(split, children=(inner, Leaf(3, (1.0, 0.0)), Leaf(4, (0.0, 1.0))))
    library, _ = resources(emit(replace(one_split(), features=features, root=root), "fhir"))
    documented = [own["documentation"] for own in library["parameter"] if own["use"] == "in"]
    assert documented == ["Serum lactate. unit: mmol/L", "unit: points"]
    (unit,) = library["dataRequirement"]
    assert unit["id"] == "unit-0"
    system = {"system": "http://unitsofmeasure.org", "code": "mmol/L"}
    assert unit["codeFilter"] == [{"path": "code", "code": [system]}]


def test_codes_of_units_are_valid(engine):
    units = [*METRIC.split("|"), *PLAIN.split("|"), *SPELLINGS, "kg/m²", "mL/min", "µg/kg/min"]
    units += [p + unit for p in PREFIXES.split("|") for unit in METRIC.split("|")]
    codes = [ucum(unit) for unit in units]
    assert None not in codes
    assert not any(map(ucum, ["", "F", "C", "G", "points", "breaths/min", "mg /", "/"]))
    url = packages({"@lhncbc/ucum-lhc": "7"})[0].url
    script = f"""
        import({json.dumps(url)}).then(({{ default: ucum }}) => {{
          const utils = ucum.UcumLhcUtils.getInstance();
          const codes = {json.dumps(codes)};
          const bad = codes.filter((c) => utils.validateUnitString(c).status !== "valid");
          console.log(JSON.stringify(bad));
        }});
    """
    assert json.loads(run_node("-e", script)) == []


def test_a_stop_answers_null_and_meets_an_action_of_its_own(engine):
    rules = one_split(middle=None)
    artifact = emit(rules, "fhir")
    found = run(artifact, Table.of({"x": [0.0, 1.0, None]}))
    assert found.leaf.tolist() == [0, 1, 2]
    assert found.prediction == ["no", "yes", None]
    assert [own["title"] for own in resources(artifact)[1]["action"]] == [
        "y: no",
        "y: yes",
        "y: no answer, as a value is missing or not known",
    ]


def test_all_things_in_a_library_have_names_of_their_own():
    rules = one_split(name="Leaf", classes=("no", " no", "no (2)"), middle=(0.5, 0.5, 0.0))
    library = Library(text_of(rules))  # which refuses a name that comes twice
    assert [*library.parameters] == ["Leaf (2)"]
    assert [*library.definitions][2:5] == [
        "Answer is no",
        "Answer is no (2)",
        "Answer is no (2) (2)",
    ]


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "Leaf", "Answer is no"])
def test_names_that_mean_something_there_are_inputs_like_others(name, engine):
    rules = one_split(name=name)
    table = Table.of({name: [0.0, 1.0, None]})
    assert run(emit(rules, "fhir"), table).leaf.tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["\\'", '\\"', "\\\\'", "a\\'b\\\"", "'", "\\"])
def test_backslashes_before_quotes_stay(text, engine):
    rules = one_split(classes=(text, "yes"))
    assert run(emit(rules, "fhir"), Table.of({"x": [0.0]})).prediction == [text]
    assert Library(text_of(rules)).answer({"x": Decimal(0)})["Answer"] == text


@pytest.mark.parametrize(
    "rules, said",
    [
        (one_split(FeatureType.INTEGER, (2**31,)), "threshold 2147483648 of 'x': CQL's whole"),
        (one_split(cuts=(-1e20,)), r"threshold -1e\+20 of 'x': CQL's decimals end at 10\^20"),
        (one_split(cuts=(1e-9, 2e-9)), "thresholds of 'x' near 2e-09 are one in CQL's 8 decimals"),
        (one_split(classes=(1, 2**31)), "2147483648 as an answer of 'y', CQL's whole"),
        (replace(regression(), root=Leaf(0, 1e20)), r"1e\+20 as an answer, CQL's decimals"),
    ],
)
def test_numbers_past_those_of_cql_are_refused_by_name(rules, said):
    with pytest.raises(TargetError, match=said):
        emit(rules, "fhir")


def test_notes_tell_of_thresholds_that_moved_and_of_rounded_numbers():
    (moved,) = emit(one_split(cuts=(0.5, 0.123456789012)[::-1]), "fhir").notes
    assert "1 thresholds became" in moved
    assert "of 'x' 0.123456789012: 0.12345679" in moved
    (told,) = emit(one_split(middle=(1 / 3, 2 / 3)), "fhir").notes
    assert "rounded to CQL's 8 places" in told
    assert not emit(one_split(), "fhir").notes


def test_rules_that_ask_for_nothing_answer(engine):
    rules = single_leaf()
    assert run(emit(rules, "fhir"), Table({}, 2)).prediction == [False, False]


def changed(artifact, where, old, new):
    """Return an artefact with something else in its ELM, or in its resources."""
    bundle = json.loads(artifact.text)
    if where == "elm":
        own = bundle["entry"][0]["resource"]["content"][1]
        text = base64.b64decode(own["data"]).decode()
        assert old in text
        own["data"] = base64.b64encode(text.replace(old, new, 1).encode()).decode()
        text = json.dumps(bundle)
    else:
        assert old in json.dumps(bundle)
        text = json.dumps(bundle).replace(old, new)
    return Artifact(artifact.name, artifact.suffix, text, artifact.rules)


TABLE = Table.of({"x": [0.45, 0.6, None]})


@pytest.mark.parametrize(
    "where, old, new, said",
    [
        ("elm", '"Less"', '"Lesser"', "node"),
        ("elm", '"Answer is no"', '"Answer is not"', "no definition Answer is no"),
        ("elm", '"IsTrue"', '"IsNull"', "row 1: got actions .* expected 'Answer is no'"),
        ("bundle", '"expression": "Answer is yes"', '"expression": "Answer is no"', "got actions"),
        ("bundle", '"library": ["urn', '"library": ["url', "another library"),
    ],
)
def test_a_broken_bundle_fails(where, old, new, said, engine):
    with pytest.raises(EngineFailed, match=said):
        run(changed(emit(one_split(), "fhir"), where, old, new), TABLE)


@pytest.mark.parametrize("old, new", [("0.5", "0.65"), ('"value": "0.5"', '"value": "0.50000001"')])
def test_another_answer_differs(old, new, engine):
    artifact = emit(one_split(), "fhir")
    if old != "0.5":  # what is told of the last leaf comes after the threshold
        artifact = changed(artifact, "elm", '"value": "0.5"', '"value": "0.55"')
    found = run(changed(artifact, "elm", old, new), TABLE)
    assert differences(Fhir().expected(one_split(), TABLE), found).sum() == 1


def test_mixed_rules_agree_on_values_that_were_typed_as_texts(engine):
    rules, tool = mixed_rules(), emitter("fhir")
    table = boundary_rows(rules, 300, 7)
    infinite = (float("inf"), float("-inf"))
    texts = {
        name: ["" if x is None else str(x if x not in infinite else 0.0) for x in column]
        for name, column in table.columns.items()
    }
    own = Table(texts, table.n_rows, text=True)
    assert not differences(tool.expected(rules, own), tool.run(tool.emit(rules), own)).any()
