"""Every registered target, in its real engine, answers as the interpreter does, to the last bit."""

import pytest
from drawn_tables import mixed_table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.emitters import TARGETS, emitter, emitter_class
from mbndt.emitters.base import Emitter
from mbndt.errors import TargetError
from mbndt.model import learn
from mbndt.settings import preset
from mbndt.table import Table
from mbndt.verify import boundary_rows, check

VARIANTS = [
    pytest.param(target, options, id=" ".join([target, *map(str, options.values())]))
    for target in TARGETS
    for options in emitter_class(target).variants
]
# Rules that a variant may refuse, with the reason in its error.
REFUSALS = {
    ("onnx", "single leaf"): "no features",
    ("int32", "regression"): "threshold 9007199254740993",
    ("matrix", "example"): "AVPU",
    ("matrix", "learned"): "categor",
    ("matrix", "deep"): "categor",
}


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
    found = check(rules, target, options, tables)
    for (word, tree), reason in REFUSALS.items():
        if tree == name and word in (target, *options.values()) and found.outcome == "refused":
            assert reason in found.note
            return
    assert found.outcome == "agrees", (found.note, found.first)
    assert found.rows >= 600


@pytest.mark.parametrize("target, options", VARIANTS)
def test_a_target_answers_as_the_interpreter_on_drawn_trees(target, options):
    ran = []

    @settings(max_examples=12 if target == "c" else 40)
    @given(rule_trees(), st.integers(0, 10**6))
    def agree(rules, seed):
        found = check(rules, target, options, [boundary_rows(rules, 40, seed)])
        ran.append(found.outcome == "agrees")
        assert found.outcome in ("agrees", "refused"), (found.note, found.first)

    agree()
    # Most drawn thresholds lie past 32 bits.
    assert sum(ran) > (0 if "int32" in options.values() else len(ran) / 8)


@pytest.mark.parametrize("target, options", VARIANTS)
def test_a_target_agrees_or_refuses_on_hostile_names_and_values(target, options):
    ran = []

    @settings(max_examples=12 if target == "c" else 40)
    @given(rule_trees(hostile=True, depth=3))
    def agree_or_refuse(rules):
        found = check(rules, target, options, [boundary_rows(rules, 40)])
        ran.append(found.outcome == "agrees")
        assert found.outcome in ("agrees", "refused"), (found.note, found.first)

    agree_or_refuse()
    assert any(ran)


@pytest.mark.parametrize("target", TARGETS)
def test_nobody_is_left_out(target):
    kind = emitter_class(target)
    assert issubclass(kind, Emitter)
    for options in kind.variants:
        assert emitter(target, **options).engine()


@pytest.mark.parametrize("target, options", VARIANTS)
def test_artefacts_are_the_same_bytes_each_time(target, options, trees):
    for name in ("example", "demo"):
        try:
            first, second = (emitter(target, **options).emit(trees[name][0]) for _ in "ab")
        except TargetError:
            continue
        assert first.content == second.content
