"""Figures of answers, recounted from the rows one by one and by scikit-learn."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score

from mbndt.measures.calibration import calibration
from mbndt.measures.decisions import (
    net_benefit_interval,
    net_benefits,
    of_answers,
    points,
    useful,
)
from mbndt.measures.discrimination import area
from mbndt.measures.performance import performance, performance_of_numbers

LEVELS = (0.0, 0.02, 0.1, 0.25, 0.5, 0.8, 1.0)


@st.composite
def rows(draw):
    """Draw true classes, answers and risks of a few rows of two classes."""
    n = draw(st.integers(1, 40))
    truth = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    answer = np.array(draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n)))
    first = np.array(draw(st.lists(st.sampled_from(LEVELS), min_size=n, max_size=n)))
    return truth, answer, np.column_stack([first, 1 - first])


@given(rows())
def test_figures_are_those_of_a_recount(drawn):
    truth, answer, risk = drawn
    found = performance(2, truth, answer, risk, 0)
    told = [(t, a) for t, a in zip(truth.tolist(), answer.tolist(), strict=True) if a != -1]
    assert found["unanswered"] == len(truth) - len(told)
    assert found["rows"] == len(told)
    for t in (0, 1):
        for a in (0, 1):
            assert found["table"][t][a] == told.count((t, a))
    for name, of, hit in (
        ("sensitivity", [(0, 0), (0, 1)], (0, 0)),
        ("specificity", [(1, 0), (1, 1)], (1, 1)),
        ("ppv", [(0, 0), (1, 0)], (0, 0)),
        ("npv", [(0, 1), (1, 1)], (1, 1)),
        ("accuracy", [(0, 0), (0, 1), (1, 0), (1, 1)], None),
    ):
        every = sum(told.count(pair) for pair in of)
        hits = told.count(hit) if hit else told.count((0, 0)) + told.count((1, 1))
        if not every:
            assert found[name] is None
            continue
        value, low, high = found[name]
        assert value == hits / every
        assert 0 <= low <= value <= high <= 1
    if told:
        most = max(sum(t == k for t, _ in told) for k in (0, 1))
        assert found["commonest"][0] == most / len(told)


@given(rows())
def test_the_area_is_that_of_all_pairs(drawn):
    truth, _, risk = drawn
    event, chance = truth == 0, risk[:, 0]
    found = area(event, chance)
    if event.all() or not event.any():
        assert found is None
        return
    pairs = [(a > b) + (a == b) / 2 for a in chance[event] for b in chance[~event]]
    assert found[0] == pytest.approx(np.mean(pairs))
    assert found[0] == pytest.approx(roc_auc_score(event, chance))
    assert 0 <= found[1] <= found[0] <= found[2] <= 1


def test_the_area_is_held_by_its_interval_about_as_often_as_it_says():
    draw = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        event = draw.random(80) < 0.3
        event[:2] = [True, False]
        number = np.round(draw.normal(event * 1.0, 1), 1)
        _, low, high = area(event, number)
        held += low <= 0.7602 <= high  # of two normals a unit apart: Phi(1 / sqrt 2)
    assert 0.92 <= held / 400 <= 0.985


@given(rows())
def test_points_and_their_net_benefit_are_those_of_a_recount(drawn):
    truth, _, risk = drawn
    event, chance = truth == 0, risk[:, 0]
    for point in points(event, chance):
        t = point["act_at"]
        acted = [e for e, r in zip(event, chance, strict=True) if r >= t]
        spared = [e for e, r in zip(event, chance, strict=True) if r < t]
        assert point["found"] == sum(acted)
        assert point["needless"] == len(acted) - sum(acted)
        assert point["missed"] == sum(spared)
        assert point["spared"] == len(spared) - sum(spared)
        if t < 1:
            expected = (sum(acted) - (len(acted) - sum(acted)) * t / (1 - t)) / len(event)
            assert point["net_benefit"] == pytest.approx(expected)


@given(rows())
def test_rules_are_useful_just_where_they_beat_all_and_none(drawn):
    truth, _, risk = drawn
    event, chance = truth == 0, risk[:, 0]
    grid = (np.arange(1, 1000) - 0.5) / 1000
    beats = []
    for t in grid:
        own, every = net_benefits(event, chance >= t, t)
        beats.append(own > max(0.0, every) + 1e-12)
    found = useful(event, chance)
    if found is None:
        assert not any(beats)
        return
    inside = (grid > found[0]) & (grid < found[1])
    assume(inside.any())
    assert all(np.array(beats)[inside])
    runs = np.diff(np.flatnonzero(np.diff([0, *beats, 0])))[::2]
    assert inside.sum() >= runs.max() - 1


@given(rows())
def test_groups_of_calibration_hold_all_rows_and_part_no_risk(drawn):
    truth, _, risk = drawn
    event, chance = truth == 0, risk[:, 0]
    found = calibration(event, chance)
    assert found["expected"] == pytest.approx(chance.mean())
    assert found["observed"][0] == event.mean()
    assert sum(group["rows"] for group in found["groups"]) == len(event)
    means = [group["expected"] for group in found["groups"]]
    assert means == sorted(means)
    assert len(means) <= len(set(chance.tolist()))
    hits = sum(group["observed"][0] * group["rows"] for group in found["groups"])
    assert hits == pytest.approx(event.sum())


def test_many_classes_are_a_table_of_truth_and_answer():
    draw = np.random.default_rng(1)
    truth, answer = draw.integers(0, 4, (2, 300))
    found = performance(4, truth, answer)
    assert found["table"] == confusion_matrix(truth, answer).tolist()
    assert found["balanced_accuracy"][0] == pytest.approx(balanced_accuracy_score(truth, answer))
    assert "sensitivity" not in found
    of_one = performance(4, truth, answer, event=2)
    assert of_one["sensitivity"][0] == np.mean(answer[truth == 2] == 2)
    assert of_one["specificity"][0] == np.mean(answer[truth != 2] != 2)


def test_rows_that_tell_nothing_have_no_figures():
    nothing = np.zeros(0, np.int64)
    found = performance(2, nothing, nothing, np.zeros((0, 2)), 1)
    assert found["rows"] == 0
    assert found["accuracy"] is found["balanced_accuracy"] is found["sensitivity"] is None
    assert performance_of_numbers(np.ones(2), np.full(2, np.nan))["unanswered"] == 2


def test_the_interval_of_net_benefit_holds_it_in_about_95_of_100_samples():
    draw = np.random.default_rng(5)
    for found, needless, t, rows in (
        (0.1, 0.2, 0.3, 100),
        (0.02, 0.5, 0.05, 300),
        (0.3, 0.01, 0.8, 60),
    ):
        truth = found - needless * t / (1 - t)
        counts = draw.multinomial(rows, [found, needless, 1 - found - needless], size=800)
        held = [
            low <= truth <= high
            for a, b, _ in counts.tolist()
            for low, high in [net_benefit_interval(a, b, rows, t)]
        ]
        assert 0.93 <= np.mean(held) <= 0.99


@given(rows(), st.sampled_from([0.05, 0.3, 0.9]))
def test_the_net_benefit_of_answers_is_that_of_acting_on_those_told_the_event(drawn, t):
    truth, answer, risk = drawn
    table = performance(2, truth, answer, risk, 0)["table"]
    found = of_answers(table, 0, t)
    told = answer != -1
    if not told.any():
        assert found is None
        return
    own, every = net_benefits(truth[told] == 0, answer[told] == 0, t)
    value, low, high = found["net_benefit"]
    assert (value, found["treat_all"]) == (pytest.approx(own), pytest.approx(every))
    assert low <= value <= high
    assert low < high
