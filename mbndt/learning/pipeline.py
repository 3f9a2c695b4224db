"""Learning from a table: networks, pruning, refining; and the figures on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mbndt.errors import DataError, OptionError
from mbndt.extras import needed
from mbndt.interpreter import route
from mbndt.learning.network.encoding import Encoder, fit_encoder, typed_columns
from mbndt.learning.network.pruning import prune, redirected
from mbndt.learning.provenance import learned
from mbndt.learning.refine.problem import Floats, Indices
from mbndt.learning.refine.refine import refine
from mbndt.learning.settings import Settings
from mbndt.learning.short_thresholds import shorten
from mbndt.learning.suspicions import warn_of_columns, without_row_index
from mbndt.learning.training_set import Rows, unit_weights
from mbndt.measures.metrics import (
    balanced_accuracy,
    balanced_interval,
    path_lengths,
    squared_error_figures,
)
from mbndt.rules import Rules
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.table import Table
from mbndt.tables.target import Labels, Values, infer_target, missing_rows

if TYPE_CHECKING:
    from mbndt.learning.network.frozen import TrainedNetwork
    from mbndt.learning.network.loop import Progress

Codes = npt.NDArray[np.int64]

# The paper's own branching: networks that refining starts from need no more, and take longer.
START_BRANCHING = 3


@dataclass(frozen=True)
class Model:
    """The trained whole: rules, and what they came from.

    `network` is the winner of the restarts (None where no column varies or none was asked for) and
    `encoder` makes its scores; `history` has a record an epoch; `held_out` the figures on rows that
    learning did not see, empty where none were held out; `moved` counts the thresholds that became
    shorter, `dropped` the rows left out as they lacked a target; `starts` has the objectives that
    refining began and ended with, for each start, and `objective` that of the rules.
    """

    rules: Rules
    settings: Settings
    encoder: Encoder | None = None
    network: TrainedNetwork | None = None
    history: tuple[dict[str, Any], ...] = ()
    held_out: Mapping[str, Any] = field(default_factory=dict)
    moved: int = 0
    dropped: int = 0
    starts: tuple[tuple[float, float], ...] = ()
    objective: float | None = None


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
    rows, dropped = prepare(
        table,
        target,
        settings,
        schema=schema,
        task=task,
        weights=weights,
        drop_missing_target=drop_missing_target,
    )
    among, held = hold_out(rows, holdout, settings.seed)
    model = replace(fit(rows.take(among), settings, progress), dropped=dropped)
    if not len(held):
        return model
    return with_figures(model, evaluate(model.rules, rows.take(held)))


def with_figures(model: Model, figures: dict[str, Any]) -> Model:
    """Return a model that states, in its rules too, how it did on held-out rows."""
    provenance = {**model.rules.provenance, "held out": figures}
    return replace(model, held_out=figures, rules=replace(model.rules, provenance=provenance))


def prepare(
    table: Table,
    target: str,
    settings: Settings,
    *,
    schema: Schema | None = None,
    task: str = "auto",
    weights: Floats | None = None,
    drop_missing_target: bool = False,
) -> tuple[Rows, int]:
    """Return the rows to learn from, and how many lacked a target; arguments as of `learn`."""
    schema = schema or Schema()
    weights = unit_weights(table.rows, weights)
    gaps = _gaps(table, target, drop_missing_target)
    # A row that weighs nothing says nothing.
    kept = ~gaps & (weights > 0)
    table, weights = (table, weights) if kept.all() else (table.take(kept), weights[kept])
    if table.rows < 2:
        raise DataError(
            f"{table.source}: {table.rows} rows with a value of {target!r}"
            " (and a weight), expected at least 2"
        )
    table = without_row_index(table, target, schema)
    features = infer_features(table, schema, target)
    outcome = infer_target(table, target, schema, task)
    _check_varies(table, outcome)
    # All rows are typed at once, so that a wrong value is told before the long part.
    typed = typed_columns(table, features)
    balanced = settings.class_weight == "balanced"
    rows = Rows(features, typed, outcome, weights, balanced)
    warn_of_columns(table, rows)
    return rows, int(gaps.sum())


def _gaps(table: Table, target: str, drop: bool) -> npt.NDArray[np.bool_]:
    """Return which rows lack a target; raises `DataError` that names them unless they drop."""
    missing = missing_rows(table, target)
    if missing.any() and not drop:
        rows = table.take(missing).numbers
        assert rows is not None
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        listed = ", ".join(map(str, rows[:5].tolist()))
        raise DataError(
            f"{table.source}: column {target!r} is missing in row {listed}{more};"
            " --drop-missing-target leaves such rows out"
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


def hold_out(rows: Rows, holdout: float, seed: int) -> tuple[Indices, Indices]:
    """Return the rows to learn from and those held out, stratified by class; the only row of a
    class is learned from. Raises `OptionError` for a share that is none.
    """
    if not 0.0 <= holdout < 1.0:
        raise OptionError(f"--holdout: got {holdout}, expected a share from 0 to below 1")
    everything = np.arange(rows.rows)
    codes = rows.codes
    alone = np.zeros(rows.rows, np.bool_) if codes is None else np.bincount(codes)[codes] == 1
    among = everything[~alone]
    held = min(round(holdout * rows.rows), len(among) - 1)
    if held <= 0:
        return everything, everything[:0]
    strata = stratified(codes, among, held)
    from sklearn.model_selection import train_test_split

    kept, held_rows = train_test_split(among, test_size=held, random_state=seed, stratify=strata)
    return np.sort(np.append(kept, everything[alone])), np.sort(held_rows)


def fit(rows: Rows, settings: Settings, progress: Progress | None = None) -> Model:
    """Learn from all rows, holding none out."""
    model, starts = _networks(rows, settings, progress)
    if settings.refine:
        found = refine(rows, starts, settings)
        pairs = tuple(zip(found.before, found.after, strict=True))
        model = replace(model, rules=found.rules, starts=pairs, objective=found.objective)
    rules = replace(model.rules, provenance=learned(model.rules, rows, settings))
    return replace(model, rules=rules, settings=settings)


def _networks(
    rows: Rows, settings: Settings, progress: Progress | None
) -> tuple[Model, list[Rules]]:
    """Train networks; return the model of the winner, and the rules of all restarts."""
    alone = replace(rows, balanced=False).leaf(0, np.arange(rows.rows))
    single = Rules(rows.target.name, rows.target, rows.features, alone)
    if settings.restarts == 0:
        return Model(single, settings), []
    with needed("; --restarts 0 learns without networks"):
        from mbndt.learning.network.loop import train
        from mbndt.learning.network.losses import make_loss
    rows = _sample(rows, settings)
    if settings.refine:
        settings = replace(settings, branching=min(settings.branching, START_BRANCHING))
    encoder, scores = fit_encoder(
        rows.features, rows.typed, rows.numbers(), np.random.default_rng(settings.seed)
    )
    if not encoder.columns:
        return Model(single, settings, encoder), []
    outcome = rows.numbers() if rows.codes is None else rows.codes
    trained = train(
        scores,
        make_loss(outcome, len(rows.target.classes), rows.weights, balanced=rows.balanced),
        rows.codes,
        settings,
        progress,
    )
    encoded = encoder.encode(rows.typed)

    def pruned(network: TrainedNetwork) -> Rules:
        return prune(network, encoder, encoded, rows.features, rows.target, rows.network_leaf)

    model = Model(single, settings, encoder, trained.network, tuple(trained.history))
    if settings.refine:
        return model, [pruned(network) for network in trained.restarts]
    rules, moved = shorten(pruned(trained.network), rows.typed)
    return replace(model, rules=rules, moved=moved), []


def _sample(rows: Rows, settings: Settings) -> Rows:
    """Return the rows that networks train on: all, or a stratified sample of them."""
    if settings.sample is None or rows.rows <= settings.sample:
        return rows
    everything = np.arange(rows.rows)
    strata = stratified(rows.codes, everything, settings.sample)
    from sklearn.model_selection import train_test_split

    index, _ = train_test_split(
        everything, train_size=settings.sample, random_state=settings.seed, stratify=strata
    )
    return rows.take(np.sort(index))


def stratified(codes: Codes | None, among: Indices, size: int) -> Codes | None:
    """Return the classes [m] to stratify a draw of `size` rows of some [m] by, or None where a
    class or a part is too small for it.
    """
    if codes is None:
        return None
    counts = np.bincount(codes[among])
    counts = counts[counts > 0]
    fits = counts.min() >= 2 and len(counts) <= min(size, len(among) - size)
    return codes[among] if fits else None


def evaluate(rules: Rules, rows: Rows) -> dict[str, Any]:
    """Return the figures of rules on rows: mean path length, leaves, rows that pruning redirected;
    for classes balanced accuracy with a 95 % interval and accuracy, for numbers R squared, mean
    absolute and root mean squared error with a 95 % interval.
    """
    leaf = route(rules, rows.typed, rows.rows)
    figures: dict[str, Any] = {
        "rows": rows.rows,
        "mean_path": float(np.mean(path_lengths(rules)[leaf])),
        "leaves": len(rules.leaves),
        "redirected": redirected(rules, rows.typed, rows.rows),
    }
    if isinstance(rows.outcome, Values):
        values = np.array([entry.value for entry in rules.leaves], np.float64)
        return figures | squared_error_figures(rows.outcome.values, values[leaf])
    codes = rows.outcome.codes
    got = np.array([entry.class_index for entry in rules.leaves], np.int64)[leaf]
    return figures | {
        "balanced_accuracy": balanced_accuracy(codes, got),
        "balanced_accuracy_95": list(balanced_interval(codes, got)),
        "accuracy": float(np.mean(got == codes)),
        "class_rows": np.bincount(codes, minlength=len(rows.target.classes)).tolist(),
        "class_hits": np.bincount(codes[got == codes], minlength=len(rows.target.classes)).tolist(),
    }
