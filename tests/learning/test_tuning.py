"""Tuning: what is searched, repeated, resumed, refused, and kept from the search."""

import logging
import time
from dataclasses import asdict, replace

import numpy as np
import optuna
import pytest
from drawn_tables import mixed_table
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mbndt.errors import DataError, OptionError
from mbndt.learning import tuning
from mbndt.learning.holdout import hold_out
from mbndt.learning.pipeline import learn, prepare
from mbndt.learning.settings import preset
from mbndt.learning.tuning import tune
from mbndt.tables.table import Table

# Toy tables number their rows, and one column tells the target.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{words}:mbndt.errors.DataWarning")
    for words in ("numbers the rows", "alone tells", "holds numbers as texts")
]

QUICK = preset("fast", restarts=0)
TABLE = mixed_table(120)


def tuned(table=TABLE, settings=QUICK, target="y", **options):
    return tune(table, target, settings, **{"minutes": 5, "trials": 3, "folds": 2, **options})


def trials_of(path, name="y"):
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    storage = optuna.storages.JournalStorage(backend)
    return optuna.load_study(study_name=name, storage=storage).trials


def by_smoothing_and_depth(rows, parts, settings, end):
    return settings.smoothing - settings.depth


def drawn(trials):
    return [(trial.params, trial.value) for trial in trials]


def test_the_same_number_of_trials_gives_the_same_model(tmp_path):
    found = [tuned(storage=str(tmp_path / name), trials=2) for name in "ab"]
    assert found[0].model.rules == found[1].model.rules
    assert found[0].score == found[1].score
    assert drawn(trials_of(tmp_path / "a")) == drawn(trials_of(tmp_path / "b"))
    tuned(settings=replace(QUICK, seed=1), storage=str(tmp_path / "c"), trials=2)
    assert trials_of(tmp_path / "c")[1].params != trials_of(tmp_path / "a")[1].params


def test_the_search_starts_with_the_settings_as_given(tmp_path):
    given = replace(QUICK, thrift=3.0, smoothing=0.25, depth=3)
    tuned(settings=given, storage=str(tmp_path / "s"), trials=1)
    (first,) = trials_of(tmp_path / "s")
    assert first.params == {"depth": 3, "branching": 6, "thrift": 3.0, "smoothing": 0.25}


def test_a_study_goes_on_as_if_it_had_not_stopped(tmp_path, monkeypatch):
    # More trials than TPE starts with at random, so scored without learning.
    monkeypatch.setattr(tuning, "_score", by_smoothing_and_depth)
    assert tuned(storage=str(tmp_path / "whole"), trials=14).trials == 14
    assert tuned(storage=str(tmp_path / "parts"), trials=5).trials == 5
    assert tuned(storage=str(tmp_path / "parts"), trials=9).trials == 14
    trials = trials_of(tmp_path / "parts")
    assert drawn(trials_of(tmp_path / "whole")) == drawn(trials)
    assert len({str(trial.params) for trial in trials}) == 14


def test_the_model_is_that_of_the_best_settings(monkeypatch):
    monkeypatch.setattr(tuning, "_score", by_smoothing_and_depth)
    found = tuned(trials=6)
    assert found.best > 0
    assert found.score == found.model.settings.smoothing - found.model.settings.depth
    assert found.model.rules == learn(TABLE, "y", found.model.settings).rules


def test_an_optuna_url_holds_a_study_too(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "_score", by_smoothing_and_depth)
    url = f"sqlite:///{tmp_path}/studies.db"
    first = tuned(storage=url, study="one", trials=2)
    assert tuned(storage=url, study="one", trials=1).trials == 3
    optuna.load_study(study_name="one", storage=url)._storage.remove_session()
    assert first.trials == 2


def test_a_study_of_something_else_is_refused(tmp_path):
    place = str(tmp_path / "s")
    tuned(storage=place, study="s", trials=1)
    x = np.array(TABLE.column("single"))
    changed = Table({**TABLE.columns, "single": np.where(np.arange(120) == 7, 9.5, x)}, 120)
    for what, options in {
        "data": {"table": changed},
        "target": {"target": "pair", "drop_missing_target": True},
        "folds": {"folds": 3},
        "class_weight": {"settings": replace(QUICK, class_weight="none")},
    }.items():
        with pytest.raises(OptionError, match=f"^study: 's' was made for {what} .*, not "):
            tuned(storage=place, study="s", **options)
    tuned(storage=place, study="t", trials=1, folds=3)


def test_a_study_that_others_made_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    study = optuna.create_study(storage=url, study_name="y", direction="minimize")
    with pytest.raises(OptionError, match=r"^study: 'y' was made for target None, not 'y'"):
        tuned(storage=url)
    study._storage.remove_session()


def test_a_file_of_another_kind_is_refused_and_stays(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,y")
    with pytest.raises(OptionError, match=r"^storage: .*data\.csv: expected a study's file"):
        tuned(storage=str(path))
    assert path.read_text() == "x,y"


@pytest.mark.parametrize("storage", ["none://me:secret@host/db", "/no/such/folder/s", "/"])
def test_a_storage_that_fails_is_told_in_a_line_without_its_password(storage):
    with pytest.raises(OptionError, match=r"^storage: [^\n]+$") as caught:
        tuned(storage=storage)
    assert "secret" not in str(caught.value)


def test_an_interrupt_keeps_the_best(tmp_path):
    def stop(stage, number, most, best):
        if number == 2:
            raise KeyboardInterrupt

    found = tuned(trials=50, progress=stop, storage=str(tmp_path / "s"))
    assert found.trials == 2
    assert found.model.rules == tuned(trials=2).model.rules


def test_an_interrupt_before_a_trial_is_whole_goes_through(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "_score", stop)
    with pytest.raises(KeyboardInterrupt):
        tuned(storage=str(tmp_path / "s"))
    assert [trial.state.name for trial in trials_of(tmp_path / "s")] == ["FAIL"]


def test_the_time_ends_a_trial_between_folds(tmp_path, monkeypatch):
    real, calls = tuning.evaluate, []

    def slow(rules, rows):
        calls.append(rows.n_rows)
        if len(calls) == 5:
            time.sleep(0.5)
        return real(rules, rows)

    tuned(trials=1)  # whatever is slow at first
    monkeypatch.setattr(tuning, "evaluate", slow)
    monkeypatch.setattr(tuning, "fit", lambda rows, *_: learned)
    learned = learn(TABLE, "y", QUICK)
    found = tuned(trials=None, minutes=0.4 / 60, folds=4, storage=str(tmp_path / "s"))
    assert len(calls) == 5
    assert found.trials == 1
    assert [trial.state.name for trial in trials_of(tmp_path / "s")] == ["COMPLETE", "FAIL"]


def test_too_little_time_is_told():
    with pytest.raises(OptionError, match=r"^minutes: got 1e-09, too few for a trial of 2 folds"):
        tuned(minutes=1e-9)


def test_trials_that_fail_leave_the_study_alive(monkeypatch):
    real, calls = tuning._score, []

    def fails_first(*args):
        calls.append(args)
        if len(calls) == 1:
            raise DataError("this fold is too small")
        return real(*args)

    monkeypatch.setattr(tuning, "_score", fails_first)
    assert tuned().trials == 2
    monkeypatch.setattr(tuning, "_score", lambda *_: fails_first(calls.clear()))
    with pytest.raises(DataError, match="no settings could be scored: this fold is too small"):
        tuned()


def test_held_out_rows_take_no_part(tmp_path):
    def told(name, table):
        return tuned(table, holdout=0.25, storage=str(tmp_path / name))

    whole = told("a", TABLE)
    assert whole.model.evidence["rows"] == 30
    again = learn(TABLE, "y", whole.model.settings, holdout=0.25)
    assert again.rules == whole.model.rules
    assert again.evidence == whole.model.evidence
    # Labels decide which rows are held out, so the poison goes into their numbers.
    typed, _ = prepare(TABLE, "y", QUICK)
    _, held = hold_out(typed, 0.25, QUICK.seed)
    single = np.array(TABLE.column("single"))
    single[held] = np.where(np.array(TABLE.column("y"))[held] == "yes", 50, -50)
    poisoned = told("b", Table({**TABLE.columns, "single": single}, 120))
    assert drawn(trials_of(tmp_path / "a")) == drawn(trials_of(tmp_path / "b"))
    assert poisoned.model.rules == whole.model.rules


class Learner(ClassifierMixin, BaseEstimator):
    """Learns from the rows of `TABLE` that X [n, 1] names."""

    def __init__(self, settings=None):
        self.settings = settings

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rules_ = learn(TABLE.take(X[:, 0]), "y", self.settings).rules
        return self

    def predict(self, X):
        return np.array(self.rules_.predict(TABLE.take(X[:, 0])).prediction, object)


def test_the_score_is_that_of_scikit_learn():
    found = tuned(folds=3)
    folds = StratifiedKFold(3, shuffle=True, random_state=111)
    scores = cross_val_score(
        Learner(found.model.settings),
        np.arange(120)[:, None],
        np.array(TABLE.column("y")),
        cv=folds,
        scoring="balanced_accuracy",
    )
    assert found.score == pytest.approx(scores.mean() - 0.5 * scores.std(ddof=1), abs=1e-12)


def test_a_regression_is_scored_by_r_squared():
    draw = np.random.default_rng(0)
    x = draw.normal(size=120)
    table = Table.of({"x": x, "y": 3.0 * (x > 0) + draw.normal(0, 0.1, 120)})
    found = tuned(table, trials=2)
    assert 0.9 < found.score < 1.0
    assert found.model.rules.task == "regression"


def test_without_refining_the_space_is_the_papers():
    space = tuning._space(preset("paper"), 1000)
    assert sorted(space) == [
        "rate_leaf",
        "rate_mask",
        "rate_selector",
        "rate_threshold",
        "shape",
        "tau",
    ]
    assert len(space["shape"].choices) == 30
    assert tuning._given(preset("paper"), space)["shape"] == "3 4 36"
    chosen = tuning._chosen(preset("paper"), {"shape": "4 3 24", "tau": 0.5})
    assert (chosen.branching, chosen.depth, chosen.leaf_budget, chosen.tau) == (4, 3, 24, 0.5)


def test_settings_bound_the_space():
    space = tuning._space(preset("default", depth=2, branching=3, tau=50.0), 20_000)
    assert (space["depth"].high, space["branching"].high) == (2, 3)
    assert "smoothing" not in space
    given = tuning._given(preset("default", depth=2, branching=3, tau=50.0, compact=True), space)
    assert (given["tau"], given["thrift"]) == (1.2, 3.0)
    assert set(given) == set(space) <= set(asdict(preset("default")))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"minutes": 0}, "^minutes: got 0, expected a number above 0"),
        ({"minutes": float("nan")}, "^minutes: got nan"),
        ({"trials": 0}, "^trials: got 0, expected at least 1"),
        ({"folds": 1}, "^folds: got 1, expected 2 to"),
        ({"folds": 100}, "^folds: got 100, expected 2 to .* half of the rows"),
        ({"holdout": 1.0}, "^holdout: got 1.0"),
    ],
)
def test_a_wrong_option_is_told(options, message):
    with pytest.raises(OptionError, match=message):
        tuned(**options)


@pytest.mark.parametrize("rare", [1, 3, 7])
def test_classes_of_fewer_rows_than_folds_are_shared_out(rare):
    labels = ["a", "b"] * 30 + ["c"] * rare + ["d"] * 3
    table = Table.of({"x": np.arange(float(len(labels))), "y": labels})
    rows, _ = prepare(table, "y", QUICK)
    parts = tuning._folds(rows, 5, 0)
    tested = np.sort(np.concatenate([test for _, test in parts]))
    assert np.array_equal(tested, np.arange(len(labels)))
    assert max(len(test) for _, test in parts) - min(len(test) for _, test in parts) <= 3
    assert tuned(table, folds=5, trials=1).trials == 1


def test_optunas_log_is_silent_and_its_level_restored(monkeypatch):
    before, said = optuna.logging.get_verbosity(), []
    monkeypatch.setattr(logging.Logger, "callHandlers", lambda _, record: said.append(record))
    tuned(trials=1)
    assert optuna.logging.get_verbosity() == before
    assert said == []


def test_progress_tells_trials_and_the_best():
    seen = []
    found = tuned(progress=lambda *told: seen.append(told))
    assert [told[:3] for told in seen] == [("trials", i, 3) for i in (1, 2, 3)]
    assert seen[-1][3] == found.score
