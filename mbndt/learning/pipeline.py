"""Learning from a table: the rows, the networks, pruning and refining."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbndt.arrays import Flags, Floats
from mbndt.errors import DataError
from mbndt.extras import needed
from mbndt.learning.holdout import evaluate, hold_out, stratified
from mbndt.learning.model import Model, with_figures
from mbndt.learning.network.encoding import fit_encoder, typed_columns
from mbndt.learning.network.pruning import prune
from mbndt.learning.provenance import learned
from mbndt.learning.refine.refine import refine
from mbndt.learning.settings import Settings
from mbndt.learning.short_thresholds import shorten
from mbndt.learning.suspicions import warn_of_columns, without_row_index
from mbndt.learning.training_set import TrainingSet, unit_weights
from mbndt.rules import Rules
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.table import Table
from mbndt.tables.target import Labels, Values, infer_target, missing_rows

if TYPE_CHECKING:
    from mbndt.learning.network.frozen import TrainedNetwork
    from mbndt.learning.network.loop import Progress

# The paper's own branching: networks that refining starts from need no more, and take longer.
START_BRANCHING = 3


def learn(
    table: Table,
    target: str,
    settings: Settings,
    *,
    schema: Schema | None = None,
    task: str = "auto",
    weights: Floats | None = None,
    holdout: float = 0.0,
    drop_missing_target: bool = False,
    progress: Progress | None = None,
) -> Model:
    """Learn rules that tell column `target` from all other columns.

    `task` is "classification", "regression" or "auto" (by the target's values); `weights` [n] are
    the rows' weights, not negative. `holdout` is the share of rows, stratified by class, that
    learning doesn't see and `held_out` reports on. Raises `DataError` for a table that can't be
    learned from.
    """
    labelled, dropped = prepare(
        table,
        target,
        settings,
        schema=schema,
        task=task,
        weights=weights,
        drop_missing_target=drop_missing_target,
    )
    among, held = hold_out(labelled, holdout, settings.seed)
    model = replace(fit(labelled.take(among), settings, progress), dropped=dropped)
    if not len(held):
        return model
    return with_figures(model, evaluate(model.rules, labelled.take(held)))


def prepare(
    table: Table,
    target: str,
    settings: Settings,
    *,
    schema: Schema | None = None,
    task: str = "auto",
    weights: Floats | None = None,
    drop_missing_target: bool = False,
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
    training = TrainingSet(features, typed, outcome, weights, balanced)
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


def fit(training: TrainingSet, settings: Settings, progress: Progress | None = None) -> Model:
    """Learn from all rows, holding none out."""
    repeated = training.repeated()
    model, starts = _networks(repeated, settings, progress)
    if settings.refine:
        found = refine(repeated, starts, settings)
        pairs = tuple(zip(found.before, found.after, strict=True))
        model = replace(model, rules=found.rules, starts=pairs, objective=found.objective)
    rules = model.rules if repeated is training else training.counted(model.rules)
    rules = replace(rules, provenance=learned(rules, training, settings))
    return replace(model, rules=rules, settings=settings)


def _networks(
    training: TrainingSet, settings: Settings, progress: Progress | None
) -> tuple[Model, list[Rules]]:
    """Train networks; return the model of the winner, and the rules of all restarts."""
    alone = replace(training, balanced=False).leaf(0, np.arange(training.n_rows))
    single = Rules(training.target.name, training.target, training.features, alone)
    if settings.restarts == 0:
        return Model(single, settings), []
    with needed("; `restarts` 0 learns without networks"):
        from mbndt.learning.network.loop import train
        from mbndt.learning.network.losses import make_loss
    training = _sample(training, settings)
    if settings.refine:
        settings = replace(settings, branching=min(settings.branching, START_BRANCHING))
    encoder, scores = fit_encoder(
        training.features, training.typed, training.numbers(), np.random.default_rng(settings.seed)
    )
    if not encoder.columns:
        return Model(single, settings, encoder), []
    outcome = training.numbers() if training.codes is None else training.codes
    trained = train(
        scores,
        make_loss(
            outcome, len(training.target.classes), training.weights, balanced=training.balanced
        ),
        training.codes,
        settings,
        progress,
    )
    encoded = encoder.encode(training.typed)

    def pruned(network: TrainedNetwork) -> Rules:
        return prune(
            network, encoder, encoded, training.features, training.target, training.network_leaf
        )

    model = Model(single, settings, encoder, trained.network, tuple(trained.history))
    if settings.refine:
        return model, [pruned(network) for network in trained.restarts]
    rules, moved = shorten(pruned(trained.network), training.typed)
    return replace(model, rules=rules, moved=moved), []


def _sample(training: TrainingSet, settings: Settings) -> TrainingSet:
    """Return the rows that networks train on: all, or a stratified sample of them."""
    if settings.sample is None or training.n_rows <= settings.sample:
        return training
    everything = np.arange(training.n_rows)
    strata = stratified(training.codes, everything, settings.sample)
    from sklearn.model_selection import train_test_split

    index, _ = train_test_split(
        everything, train_size=settings.sample, random_state=settings.seed, stratify=strata
    )
    return training.take(np.sort(index))
