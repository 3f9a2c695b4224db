"""Run a model in onnxruntime over a table, for verification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import cycle
from typing import Any

import numpy as np

from mbndt.arrays import Array
from mbndt.emitters.base import Artifact
from mbndt.emitters.onnx.graph import MATRIX, NO_LABEL
from mbndt.emitters.onnx.trees import INPUT_TYPES, NUMBERS, Format
from mbndt.errors import EngineMissing
from mbndt.interpreter import Predictions, predict
from mbndt.rules import INT64_MAX, Feature, FeatureType, Label, Rules
from mbndt.tables.table import Table

# Runs take these in turn: small and large batches go different ways through onnxruntime.
BATCHES = (1, 3, 60, 1000)


def run(artifact: Artifact, form: Format, table: Table) -> Predictions:
    """Answer the rows of a table on the CPU, in batches of different sizes."""
    session = _session(artifact)
    feeds = inputs_of(form, artifact.rules, table)
    found = [
        session.run(None, {name: array[rows] for name, array in feeds.items()})
        for rows in _batches(table.n_rows)
    ]
    answer, *rest, leaf = (np.concatenate(parts) for parts in zip(*found, strict=True))
    rules = artifact.rules
    told = zip(rules.outputs, rest, strict=True)
    outputs = {name: part.astype(np.float64) for name, part in told}
    labels = answer.tolist()
    if rules.stops:
        none = NO_LABEL.get(rules.target.type) if rules.target.classes else None
        labels = [None if x != x or x == none else x for x in labels]
    return Predictions(leaf, labels, outputs)


def expected(rules: Rules, form: Format, table: Table) -> Predictions:
    """Return the interpreter's answers to the rows as the inputs hold them."""
    if not form.matrix and form.number is NUMBERS["double"]:
        return predict(rules, table)
    held = {feature.name: _held(form, feature, table) for feature in rules.used}
    found = predict(rules, Table(held, table.n_rows))
    number = form.number
    if not found.outputs:
        values: list[Label | float | None] = [
            None if value is None else number.nearest(float(value)) for value in found.prediction
        ]
        return replace(found, prediction=values)
    rounded = {
        name: part.astype(number.numpy).astype("float64") for name, part in found.outputs.items()
    }
    return replace(found, outputs=rounded)


def inputs_of(form: Format, rules: Rules, table: Table) -> dict[str, Array]:
    """Return the inputs' arrays; a column that no split uses need not be in the table."""
    empty = Table({name: [None] * table.n_rows for name in rules.feature}, table.n_rows)
    used = set(rules.used)
    columns = {
        feature.name: _feed(form, feature, table if feature in used else empty)
        for feature in rules.features
    }
    if form.matrix:
        return {MATRIX: np.stack(list(columns.values()), axis=1)}
    return {name: array.reshape(-1, 1) for name, array in columns.items()}


def _feed(form: Format, feature: Feature, table: Table) -> Array:
    if feature.type == FeatureType.CATEGORY:
        return np.array(_texts(feature, table), object)
    if feature.type == FeatureType.FLOAT32:
        # Given as it came: to round it is the model's part.
        feature = replace(feature, type=FeatureType.FLOAT64)
    values, missing = _rounded(form, feature, table)
    gap = np.nan if form.rounds(feature) else INPUT_TYPES[feature.type][1]
    return np.where(missing, gap, values)


def _held(form: Format, feature: Feature, table: Table) -> list[Any]:
    """Return what the interpreter must be given for the input's values, None for missing."""
    if feature.type == FeatureType.CATEGORY:
        return _texts(feature, table)
    values, missing = _rounded(form, feature, table)
    held = values.tolist()
    if feature.type == FeatureType.INTEGER:
        # What rounds to 2^63 lies in the last interval, as the last int64 does.
        held = [min(int(value), INT64_MAX) for value in held]
    return [None if gone else x for x, gone in zip(held, missing, strict=True)]


def _rounded(form: Format, feature: Feature, table: Table) -> tuple[Array, Array]:
    """Return a column's values, as its input holds them, and what is missing."""
    column = table.typed(feature)
    if not form.rounds(feature):
        return column.values, column.missing
    with np.errstate(over="ignore"):
        return column.values.astype(form.number.numpy), column.missing


def _texts(feature: Feature, table: Table) -> list[str]:
    """Return a category column's own texts, empty where missing."""
    return [
        # A lone surrogate, which no category has, is not UTF-8.
        "" if gone else str(raw).encode(errors="backslashreplace").decode()
        for raw, gone in zip(table.column(feature.name), table.typed(feature).missing, strict=True)
    ]


def _batches(rows: int) -> Iterator[slice]:
    """Yield the rows in batches of different sizes; of no rows, one empty batch."""
    start, sizes = 0, cycle(BATCHES)
    while start < rows or start == 0:
        end = start + next(sizes)
        yield slice(start, end)
        start = end


def _session(artifact: Artifact) -> Any:
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    # Threads that wait actively cost more than these short runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(artifact.content, options, ["CPUExecutionProvider"])


def onnxruntime() -> Any:
    """Return the engine; raises `EngineMissing`."""
    try:
        return import_module("onnxruntime")
    except ImportError:
        raise EngineMissing("onnxruntime is not installed: pip install onnxruntime") from None
