"""Learning from a table: which rows, the rules, and what unseen rows tell of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbndt.arrays import Flags, Floats
from mbndt.errors import DataError, OptionError, warn
from mbndt.learning.aim import Aim
from mbndt.learning.enough import check_enough
from mbndt.learning.fit import fit
from mbndt.learning.holdout import hold_out
from mbndt.learning.model import Model, with_evidence
from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.risk import with_risks
from mbndt.learning.settings import Settings
from mbndt.learning.suspicions import warn_of_columns, without_row_index
from mbndt.learning.training_set import TrainingSet, aimed, unit_weights
from mbndt.learning.unseen import cross_fitted, held_out, refits_of
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.table import Table
from mbndt.tables.target import Labels, Values, infer_target, missing_rows

if TYPE_CHECKING:
    from mbndt.learning.network.loop import Progress


def learn(
    table: Table,
    target: str,
    settings: Settings,
    *,
    schema: Schema | None = None,
    task: str = "auto",
    weights: Floats | None = None,
    refits: int | None = 0,
    holdout: float = 0.0,
    drop_missing_target: bool = False,
    aim: Aim | None = None,
    progress: Progress | None = None,
) -> Model:
    """Learn rules that tell column `target` from all other columns.

    `task` is "classification", "regression" or "auto" (by the target's values); `weights` [n] are
    the rows' weights, not negative; `aim` says what the answers are for. The model's evidence comes
    of learning again `refits` times without a part of the rows (None: as often as is useful for so
    many rows), or of a share `holdout` of the rows, stratified by class, that learning doesn't see.
    Raises `DataError` for a table that can't be learned from.
    """
    if holdout and refits:
        raise OptionError("refits, holdout: expected one of them, as both tell how rules do")
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
    model = replace(fit(training, settings, progress), dropped=dropped)
    if len(held):
        return with_evidence(model, held_out(model.rules, labelled.take(held)))
    count = refits_of(training.n_rows) if refits is None and not holdout else refits or 0
    return _cross_fitted(model, training, count, progress) if count else model


def _cross_fitted(
    model: Model, training: TrainingSet, refits: int, progress: Progress | None
) -> Model:
    if refits < 2:
        raise OptionError(f"refits: got {refits}, expected 0, or 2 and more")

    def told(done: int, all_: int) -> None:
        if progress:
            progress("refits", done, all_, math.nan)

    settings = model.settings
    found = cross_fitted(
        model.rules,
        training,
        refits,
        settings.seed,
        lambda part: fit(part, settings).rules,
        told,
    )
    if found is None:
        warn(
            "no row can be told by rules that have not seen it: too few rows of all classes but one"
        )
        return model
    if not settings.smooths(training.count):
        # No forest told how rows are seen by what has not seen them, so the refits do.
        model = replace(model, rules=with_risks(model.rules, training, found.view))
    return with_evidence(model, found.evidence)


def prepare(
    table: Table,
    target: str,
    settings: Settings,
    *,
    schema: Schema | None = None,
    task: str = "auto",
    weights: Floats | None = None,
    drop_missing_target: bool = False,
    aim: Aim | None = None,
) -> tuple[TrainingSet, int]:
    """Return the rows to learn from, and how many lacked a target; arguments as of `learn`."""
    schema = schema or Schema()
    weights = unit_weights(table.n_rows, weights)
    gaps = _gaps(table, target, drop_missing_target)
    # A row that weighs nothing says nothing.
    kept = ~gaps & (weights > 0)
    table, weights = (table, weights) if kept.all() else (table.take(kept), weights[kept])
    if table.n_rows < 2:
        raise DataError(
            f"{table.source}: {table.n_rows} rows with a value of {target!r}"
            " (and a weight), expected at least 2"
        )
    table = without_row_index(table, target, schema)
    features = infer_features(table, schema, target)
    outcome = infer_target(table, target, schema, task)
    _check_varies(table, outcome)
    # All rows are typed at once, so that a wrong value is told before the long part.
    typed = typed_columns(table, features)
    balanced = settings.class_weight == "balanced"
    training = aimed(TrainingSet(features, typed, outcome, weights, balanced), aim or Aim())
    warn_of_columns(table, training)
    return training, int(gaps.sum())


def _gaps(table: Table, target: str, drop: bool) -> Flags:
    """Return which rows lack a target; raises `DataError` that names them unless they drop."""
    missing = missing_rows(table, target)
    if missing.any() and not drop:
        row_numbers = table.take(missing).row_numbers
        assert row_numbers is not None
        more = f" and {len(row_numbers) - 5} more" if len(row_numbers) > 5 else ""
        listed = ", ".join(map(str, row_numbers[:5].tolist()))
        raise DataError(
            f"{table.source}: column {target!r} is missing in row {listed}{more};"
            " `drop_missing_target` leaves such rows out"
        )
    return missing


def _check_varies(table: Table, outcome: Labels | Values) -> None:
    if isinstance(outcome, Values):
        constant, expected = np.ptp(outcome.values) == 0, "different values"
    else:
        constant, expected = np.ptp(outcome.codes) == 0, "two classes or more"
    if constant:
        raise DataError(
            f"{table.source}: column {outcome.target.name!r} is constant, expected {expected}"
        )
