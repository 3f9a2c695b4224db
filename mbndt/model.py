"""Learning from a table: encode, train, prune, shorten the thresholds; report on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from mbndt import __version__
from mbndt.encoding import Encoder, Floats, fit_encoder, typed_columns
from mbndt.errors import DataError, OptionError
from mbndt.interpreter import route
from mbndt.metrics import balanced_accuracy, balanced_interval, path_lengths
from mbndt.network import TrainedNetwork
from mbndt.pruning import prune
from mbndt.rounding import shorten
from mbndt.rules import Feature, Leaf, Rules
from mbndt.schema import Labels, Schema, infer_features, infer_labels, missing_rows
from mbndt.table import Column, Table
from mbndt.training import BalancedLogistic, Progress, Settings, train

Codes = npt.NDArray[np.int64]
Columns = dict[str, Column]


@dataclass(frozen=True)
class Model:
    """The trained whole: rules, and what they came from.

    `network` is None where no column varies; `held_out` has the figures on rows that learning did
    not see, empty where none were held out; `moved` counts the thresholds that became shorter,
    `dropped` the rows left out as they lacked a target.
    """

    rules: Rules
    settings: Settings
    encoder: Encoder
    network: TrainedNetwork | None
    history: list[dict[str, Any]]
    held_out: Mapping[str, Any]
    moved: int
    dropped: int = 0


def learn(
    table: Table,
    target: str,
    settings: Settings,
    *,
    schema: Schema | None = None,
    holdout: float = 0.0,
    drop_missing_target: bool = False,
    progress: Progress | None = None,
) -> Model:
    """Learn rules that tell the two classes of column `target` from all other columns.

    `holdout` is the share of rows, stratified by class, that learning doesn't see and `held_out`
    reports on. Raises `DataError` for a table that can't be learned from.
    """
    if not 0.0 <= holdout < 1.0:
        raise OptionError(f"--holdout: got {holdout}, expected a share from 0 to below 1")
    schema = schema or Schema()
    before = table.rows
    table = _with_target(table, target, drop_missing_target)
    features = infer_features(table, schema, target)
    labels = infer_labels(table, target, schema)
    _check_classes(table, target, labels)
    # All rows are typed at once, so that a wrong value is told before the long part.
    typed = typed_columns(table, features)
    fit, held = _split(labels.codes, holdout, settings.seed)
    some = replace(labels, codes=labels.codes[fit])
    model = _fit(_take(typed, fit), features, some, settings, progress)
    model = replace(model, dropped=before - table.rows)
    if len(held) == 0:
        return model
    held_out = evaluate(model.rules, _take(typed, held), labels.codes[held])
    return replace(model, held_out=held_out)


def _take(typed: Columns, rows: npt.NDArray[np.intp]) -> Columns:
    return {name: column.take(rows) for name, column in typed.items()}


def _with_target(table: Table, target: str, drop: bool) -> Table:
    missing = missing_rows(table, target)
    if missing.any() and not drop:
        rows = table.take(missing).numbers
        assert rows is not None
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        listed = ", ".join(map(str, rows[:5].tolist()))
        raise DataError(f"{table.source}: column {target!r} is missing in row {listed}{more};"
                        " --drop-missing-target leaves such rows out")  # fmt: skip
    table = table.take(~missing) if missing.any() else table
    if table.rows < 2:
        raise DataError(f"{table.source}: {table.rows} rows with a value of {target!r},"
                        " expected at least 2")  # fmt: skip
    return table


def _check_classes(table: Table, target: str, labels: Labels) -> None:
    present = len(np.unique(labels.codes))
    if present == 1:
        raise DataError(f"{table.source}: column {target!r} is constant, expected two classes")
    if len(labels.target.classes) > 2:
        raise DataError(f"{table.source}: column {target!r} has {len(labels.target.classes)}"
                        " different values, expected two classes")  # fmt: skip


def _split(
    codes: Codes, holdout: float, seed: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    rows = np.arange(len(codes))
    counts = np.bincount(codes)
    held = round(holdout * len(codes))
    if held == 0:
        return rows, rows[:0]
    if counts.min() < 2 or held < len(counts) or len(codes) - held < len(counts):
        raise DataError(f"too few rows to hold out a share of {holdout} of each class:"
                        f" {counts.tolist()} rows; --holdout 0 learns from all")  # fmt: skip
    fit, held_rows = train_test_split(rows, test_size=held, random_state=seed, stratify=codes)
    return np.sort(fit), np.sort(held_rows)


def _fit(
    typed: Columns,
    features: tuple[Feature, ...],
    labels: Labels,
    settings: Settings,
    progress: Progress | None,
) -> Model:
    draw = np.random.default_rng(settings.seed)
    encoder, scores = fit_encoder(features, typed, labels.codes, draw)
    provenance = {
        "learned by": f"mbndt {__version__}", "training rows": len(labels.codes),
        "depth": settings.depth, "branching": settings.branching, "seed": settings.seed,
    }  # fmt: skip

    def make_leaf(leaf: int, outputs: Floats, rows: npt.NDArray[np.intp]) -> Leaf:
        p = 1 / (1 + math.exp(-float(outputs[0])))
        return Leaf(leaf, (1.0 - p, p), counts=_counts(labels.codes[rows]))

    if not encoder.columns:
        counts = _counts(labels.codes)
        share = counts[1] / sum(counts)
        root = Leaf(0, (1.0 - share, share), counts)
        rules = Rules(labels.target.name, labels.target, features, root, provenance)
        return Model(rules, settings, encoder, None, [], {}, 0)

    trained = train(
        scores,
        lambda rows, device: BalancedLogistic(labels.codes, rows, device),
        labels.codes, settings, progress,
    )  # fmt: skip
    pruned = prune(
        trained.network, encoder, encoder.encode(typed), features, labels.target, make_leaf
    )
    rules, moved = shorten(pruned, typed)
    rules = replace(rules, provenance=provenance)
    return Model(rules, settings, encoder, trained.network, trained.history, {}, moved)


def _counts(codes: Codes) -> tuple[int, int]:
    zeros, ones = np.bincount(codes, minlength=2).tolist()
    return zeros, ones


def evaluate(rules: Rules, typed: Columns, codes: Codes) -> dict[str, Any]:
    """Return the figures of rules on rows, given as typed columns, whose class indices are
    `codes` [n]: balanced accuracy with a 95 % interval, accuracy, mean path length, leaves.
    """
    leaf = route(rules, typed, len(codes))
    got = np.array([entry.class_index for entry in rules.leaves], np.int64)[leaf]
    return {
        "rows": len(codes),
        "balanced_accuracy": balanced_accuracy(codes, got),
        "balanced_accuracy_95": list(balanced_interval(codes, got)),
        "accuracy": float(np.mean(got == codes)),
        "mean_path": float(np.mean(path_lengths(rules)[leaf])),
        "leaves": len(rules.leaves),
    }
