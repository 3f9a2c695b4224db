"""Rows that learning has seen are known again, all of them or many."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from validated import FAST, learned, others

import mbndt
from mbndt import DataError, DataWarning
from mbndt.tables.table import Table

SEEN = "seem to be among those that the rules were learned from"


@pytest.mark.filterwarnings("ignore::mbndt.DataWarning")
def test_the_rows_of_the_training_validate_nothing_in_any_order_or_form(tmp_path):
    frame = pd.DataFrame({name: list(c) for name, c in others(300, 0).columns.items()})
    rules = learned()
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "same.csv", index=False)
    for same in (frame, frame[::-1].assign(more=1), tmp_path / "same.csv"):
        with pytest.raises(DataError, match="learned from these very rows"):
            mbndt.validate(rules, same)
    mbndt.validate(rules, frame.assign(y=frame.y[::-1].to_numpy()))


@pytest.mark.filterwarnings("ignore::mbndt.DataWarning")
def test_rows_of_the_training_with_those_held_out_validate_nothing():
    table = others(300, 0)
    rules = mbndt.learn(table, "y", **{**FAST, "holdout": 0.2}).rules
    with pytest.raises(DataError, match="learned from most of these very rows"):
        mbndt.validate(rules, table)


def together(*parts: Table) -> Table:
    columns = {
        name: np.array([cell for part in parts for cell in part.columns[name]], object)
        for name in parts[0].columns
    }
    return Table.of(columns)


def told(rules, table):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", DataWarning)
        mbndt.validate(rules, table)
    return [str(each.message) for each in found if SEEN in str(each.message)]


def test_a_table_that_grew_since_the_training_is_refused_and_so_is_a_part_of_it():
    rules, old = learned(), others(300, 0)
    for table in (together(old, others(60)), old.take(np.arange(0, 300, 3))):
        with pytest.raises(DataError, match=f"{SEEN}, which can't validate them"):
            mbndt.validate(rules, table)


def test_some_rows_of_the_training_among_others_are_warned_of():
    mixed = together(others(300, 0).take(np.arange(150)), others(250))
    (said,) = told(learned(), mixed)
    assert 5 <= int(said.split("%")[0]) <= 150 / 400 * 100


def test_new_rows_are_hardly_ever_taken_for_old_ones():
    assert sum(bool(told(learned(), others(200, seed))) for seed in range(20, 60)) <= 1


def test_rows_that_are_all_alike_prove_nothing():
    draw = np.random.default_rng(0)

    def table(rows):
        a, b = draw.random((2, rows)) < 0.5
        return Table.of({"a": a, "b": b, "y": np.where(a & b, "yes", "no").astype(object)})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        rules = mbndt.learn(table(200), "y", **FAST).rules
    assert told(rules, table(150)) == []


@pytest.mark.parametrize(
    "known",
    [
        {},
        None,
        "x",
        {"digest": 3},
        {"columns": ["x"]},
        {"columns": ["zz"], "digest": "0"},
        {"columns": [["x"]]},
    ],
)
def test_rules_that_know_no_rows_of_their_training_are_warned_of(known):
    rules = replace(learned(), provenance={"training data": known})
    with pytest.warns(DataWarning, match="don't tell which rows"):
        mbndt.validate(rules, others())


@pytest.mark.filterwarnings("ignore::mbndt.DataWarning")
@pytest.mark.parametrize("sketch", [None, {}, {"bits": "?"}, {"bits": "", "one in": 1}, 7])
def test_a_sketch_that_can_not_be_read_is_as_none(sketch):
    rules = learned()
    known = {**rules.provenance["training data"], "sketch": sketch}
    evidence = {"digest": "no number"}
    provenance = {**rules.provenance, "training data": known, "evidence": evidence}
    assert mbndt.validate(replace(rules, provenance=provenance), others()).data["digest"]


@pytest.mark.filterwarnings("ignore::mbndt.DataWarning")
def test_refined_rules_know_the_rows_of_both_trainings():
    first, second = others(300, 0), others(250, 3)
    frames = [pd.DataFrame({n: list(c) for n, c in t.columns.items()}) for t in (first, second)]
    rules = learned()
    for frame in (frames[1], frames[1][:200]):
        rules = rules.refine(frame.drop(columns="y"), frame["y"])
    assert len(rules.provenance["earlier training data"]) == 2
    for frame in frames:
        with pytest.raises(DataError, match="learned from"):
            mbndt.validate(rules, frame)
    mbndt.validate(rules, others())
