"""The trade-off of acting from some risk on."""

from dataclasses import replace

import numpy as np
import pytest
from validated import learned, others, regression

import mbndt
from mbndt import DataError, DataWarning, OptionError
from mbndt.interpreter import leaf_of
from mbndt.rules import Leaf
from mbndt.validation.points import trade_off


def test_each_risk_of_the_rules_is_listed_with_what_a_recount_gives():
    rules, table = learned(), others()
    found = trade_off(rules, table)
    event = rules.target.classes[rules.event]
    assert [p["act_at"] for p in found.points] == sorted(
        {e.risk[rules.event] for e in rules.leaves}
    )
    rows = zip(table.records(rules.used), table.columns["y"], strict=True)
    told = [(rules.leaves[leaf_of(rules, row)].risk[rules.event], y == event) for row, y in rows]
    for point in found.points:
        acts = [ill for risk, ill in told if risk >= point["act_at"]]
        rest = [ill for risk, ill in told if risk < point["act_at"]]
        assert (point["found"], point["needless"]) == (sum(acts), len(acts) - sum(acts))
        assert (point["missed"], point["spared"]) == (sum(rest), len(rest) - sum(rest))


def test_between_the_ends_acting_by_the_rules_beats_all_and_none_and_beyond_not():
    rules, table = learned(), others()
    found = trade_off(rules, table)
    low, high = found.useful
    event = rules.target.classes[rules.event]
    truth = np.array([y == event for y in table.columns["y"]])
    risk = mbndt.interpreter.leaf_ids(rules, table)
    risk = np.array([end.risk[rules.event] for end in rules.leaves])[risk]

    def gain(t):
        acts = risk >= t
        odds = t / (1 - t)
        own = (acts & truth).sum() - odds * (acts & ~truth).sum()
        return own - max(0, truth.sum() - odds * (~truth).sum())

    inside = np.linspace(low, high, 50)[1:-1]
    assert all(gain(t) > 0 for t in inside)
    assert gain(low - 1e-6) <= 0
    assert gain(high + 1e-6) <= 0


def test_rules_without_risks_rank_by_score_and_say_so():
    rules = learned().with_leaves(lambda leaf: replace(leaf, risk=None))
    with pytest.warns(DataWarning, match="scores rank rows but are no chances"):
        found = trade_off(rules, others())
    assert (found.by, found.useful) == ("score", None)
    assert {point["net_benefit"] for point in found.points} == {None}
    with pytest.warns(DataWarning, match="know scores and no risks"):
        told = mbndt.validate(rules, others()).performance
    assert "auc" in told
    assert not told.keys() & {"points", "calibration", "useful"}


def test_only_an_event_is_acted_on(example):
    with pytest.raises(OptionError, match="more than two classes and no event"):
        trade_off(example, others())
    with pytest.raises(OptionError, match="no classes"):
        trade_off(*regression())
    with pytest.raises(OptionError, match=r"^target: data has no column 'z'"):
        trade_off(learned(), others(), "z")


def test_rows_at_stops_count_for_nothing():
    rules, table = learned(), others()
    stopping = rules.with_leaves(lambda end: Leaf(0, None) if end.leaf == 0 else end)
    found, whole = trade_off(stopping, table), trade_off(rules, table)
    assert found.rows + found.unanswered == whole.rows == 200
    assert found.unanswered > 0
    at_stop = table.take(mbndt.interpreter.leaf_ids(rules, table) == 0)
    with pytest.raises(DataError, match="no row gets an answer"):
        trade_off(stopping, at_stop)


def test_rows_that_learning_has_seen_are_warned_of_as_their_figures_flatter():
    with pytest.warns(DataWarning, match="learned from these rows, or most of them; figures flat"):
        trade_off(learned(), others(300, 0))
