"""Settings that suit a table: a search by cross validation that many processes can share.

The search is Optuna's TPE. Without refining its space is that of the paper's experiments; with
refining, the tree's bounds, the thrift and the smoothing join it. The first trial is the settings
as given, so that a search never ends below them on its own score.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.distributions import FloatDistribution as Reals
from optuna.distributions import IntDistribution as Whole
from optuna.study import Study
from optuna.trial import TrialState

from mbndt._version import __version__
from mbndt.arrays import Floats
from mbndt.errors import DataError, OptionError, shown
from mbndt.learning.aim import Aim
from mbndt.learning.enough import check_enough
from mbndt.learning.fit import fit
from mbndt.learning.holdout import Folds, evaluate, folds, hold_out
from mbndt.learning.model import Model, with_evidence
from mbndt.learning.pipeline import prepare
from mbndt.learning.settings import SMOOTHED_ROWS, Settings
from mbndt.learning.studies import completed, opened
from mbndt.learning.training_set import TrainingSet
from mbndt.learning.unseen import held_out
from mbndt.tables.schema import Schema
from mbndt.tables.table import Table
from mbndt.tables.target import Labels

if TYPE_CHECKING:
    from mbndt.learning.network.loop import Progress

# The paper's branching, depth and leaf budgets, in a word each as a storage holds no tuples.
SHAPES = tuple(
    f"{branching} {depth} {leaves}"
    for branching, depth, budgets in (
        (3, 1, (2, 3)),
        (4, 1, (2, 3, 4)),
        (3, 2, (3, 6, 9)),
        (4, 2, (4, 8, 12, 16)),
        (3, 3, (6, 12, 18, 24)),
        (4, 3, (8, 12, 16, 24, 32)),
        (3, 4, (12, 24, 36, 48)),
        (4, 4, (16, 24, 32, 48, 64)),
    )
    for leaves in budgets
)
RATES = ("rate_selector", "rate_threshold", "rate_leaf", "rate_mask")


@dataclass(frozen=True)
class Tuned:
    """The model of the best settings, and the study that found them.

    Of the study its completed trials, the best one's number, and its score (over the folds: mean
    less half the standard deviation).
    """

    model: Model
    trials: int
    best: int
    score: float


def tune(
    table: Table,
    target: str,
    settings: Settings,
    *,
    minutes: float,
    trials: int | None = None,
    folds: int = 5,
    storage: str | None = None,
    study: str | None = None,
    schema: Schema | None = None,
    task: str = "auto",
    weights: Floats | None = None,
    holdout: float = 0.0,
    drop_missing_target: bool = False,
    aim: Aim | None = None,
    progress: Progress | None = None,
) -> Tuned:
    """Search for the best settings by cross validation, and learn with them from all rows.

    The search ends after `minutes`, or `trials` of this call; Ctrl-C ends it too. `settings` give
    what isn't searched, and with refining the most branches and depth. `storage` is a file or an
    Optuna URL that other processes may use at the same time, `study` a name in it (else the
    target's); a study found there goes on. Other arguments as of `learn`; rows held out take no
    part in the search. Raises `OptionError` for a wrong option or a study of something else,
    `DataError` for a table that can't be learned from.
    """
    if not minutes > 0:
        raise OptionError(f"minutes: got {minutes}, expected a number above 0")
    if trials is not None and trials < 1:
        raise OptionError(f"trials: got {trials}, expected at least 1")
    labelled, dropped = prepare(
        table,
        target,
        settings,
        schema=schema,
        task=task,
        weights=weights,
        drop_missing_target=drop_missing_target,
        aim=aim,
    )
    among, held = hold_out(labelled, holdout, settings.seed)
    training = labelled.take(among)
    check_enough(settings, training)
    parts = _folds(training, folds, settings.seed)
    space = _space(settings, training.n_rows)
    name = study or target
    with opened(storage, name, settings.seed, _facts(training, folds, settings)) as found:
        _search(found, space, training, parts, settings, minutes, trials, progress)
        count, best, score = len(completed(found)), found.best_trial, found.best_value
    model = fit(training, _chosen(settings, best.params), progress)
    if len(held):
        model = with_evidence(model, held_out(model.rules, labelled.take(held)))
    return Tuned(replace(model, dropped=dropped), count, best.number, score)


def _folds(training: TrainingSet, count: int, seed: int) -> Folds:
    """Return each fold's training rows and test rows; raises `OptionError` for too many of them."""
    if not 2 <= count <= max(2, training.n_rows // 2):
        raise OptionError(
            f"folds: got {count}, expected 2 to {max(2, training.n_rows // 2)}, half of the rows"
        )
    return folds(training.codes, training.n_rows, count, seed)


def _space(settings: Settings, n_rows: int) -> dict[str, BaseDistribution]:
    log = partial(Reals, log=True)
    network = {"tau": log(0.08, 1.2), **{rate: log(1e-3, 1e-1) for rate in RATES}}
    if not settings.refine:
        shapes = {shape: None for shape in SHAPES if int(shape.split()[1]) <= settings.depth}
        return network | {"shape": CategoricalDistribution([*shapes | {_shape(settings): None}])}
    # Refining, not the leaf budget, sizes the tree, so the budget needs no tie to its shape.
    tree: dict[str, BaseDistribution] = {
        "depth": Whole(1, settings.depth),
        "branching": Whole(2, settings.branching),
        "thrift": log(0.2, 10.0),
    }
    if n_rows <= SMOOTHED_ROWS:
        tree["smoothing"] = Reals(0.0, 0.9)
    return tree | ({"leaf_budget": log(2.0, 64.0)} | network if settings.restarts else {})


def _shape(settings: Settings) -> str:
    return f"{settings.branching} {settings.depth} {settings.leaf_budget:g}"


def _given(settings: Settings, space: dict[str, BaseDistribution]) -> dict[str, Any]:
    """Return the settings as a trial, as near as the space has them."""
    own = asdict(settings) | {"shape": _shape(settings)}
    return {
        name: min(max(own[name], kind.low), kind.high)
        if isinstance(kind, Reals | Whole)
        else own[name]
        for name, kind in space.items()
    }


def _chosen(settings: Settings, params: dict[str, Any]) -> Settings:
    params = dict(params)
    if shape := params.pop("shape", None):
        branching, depth, budget = shape.split()
        params |= {"branching": int(branching), "depth": int(depth), "leaf_budget": float(budget)}
    return replace(settings, **params)


def _facts(training: TrainingSet, folds: int, settings: Settings) -> dict[str, Any]:
    """Return what a study's scores depend on besides its trials."""
    digest = hashlib.sha256(repr((training.features, training.target)).encode())
    for column in training.typed.values():
        digest.update(column.values.tobytes() + column.missing.tobytes())
    digest.update(training.numbers().tobytes() + training.weights.tobytes())
    digest.update(repr(training.aim.stated()).encode())
    measure = "balanced accuracy" if isinstance(training.outcome, Labels) else "R squared"
    fixed = {name: value for name, value in asdict(settings).items() if name != "device"}
    return {
        "target": training.target.name,
        "data": digest.hexdigest()[:16],
        "folds": folds,
        "objective": f"mean - 0.5 sd of {measure}",
        "version": __version__,
        **fixed,
    }


def _search(
    study: Study,
    space: dict[str, BaseDistribution],
    training: TrainingSet,
    parts: Folds,
    settings: Settings,
    minutes: float,
    trials: int | None,
    progress: Progress | None,
) -> None:
    """Run trials until their number, the time or Ctrl-C ends it; raises where none completed."""
    end = time.monotonic() + 60 * minutes
    if all(trial.state == TrialState.FAIL for trial in study.trials):
        study.enqueue_trial(_given(settings, space))
    ran, failure = 0, ""
    try:
        while (trials is None or ran < trials) and time.monotonic() < end:
            score, trial = None, study.ask(space)
            try:
                score = _score(training, parts, _chosen(settings, trial.params), end)
            except DataError as error:
                failure = str(error)
            finally:
                # A trial out of time fails: to be pruned would count against its settings.
                study.tell(trial, score, TrialState.FAIL if score is None else None)
            ran += 1
            if progress:
                scores = [trial.value or 0.0 for trial in completed(study)]
                progress("trials", ran, trials or 0, max(scores, default=math.nan))
    except KeyboardInterrupt:
        if not completed(study):
            raise
    if not completed(study):
        if failure:
            raise DataError(f"no settings could be scored: {failure}")
        raise OptionError(f"minutes: got {minutes:g}, too few for a trial of {len(parts)} folds")


def _score(training: TrainingSet, parts: Folds, settings: Settings, end: float) -> float | None:
    """Return the score of settings; None where the time ends before the last fold."""
    scores = []
    for part, test in parts:
        if time.monotonic() >= end:
            return None
        figures = evaluate(fit(training.take(part), settings).rules, training.take(test))
        score = figures["balanced_accuracy" if "balanced_accuracy" in figures else "r2"]
        if score is None:
            raise DataError(f"column {shown(training.target.name)} is constant in a fold")
        scores.append(score)
    return float(np.mean(scores) - 0.5 * np.std(scores, ddof=1))
