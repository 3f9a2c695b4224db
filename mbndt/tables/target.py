"""The column to learn: its task, its classes or values, its gaps, and the rows' weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mbndt.arrays import Flags, Floats, Ints
from mbndt.errors import DataError, OptionError, nearest, shown
from mbndt.rules import Feature, FeatureType, Label, Target, TargetType
from mbndt.rules.invariants import check_target
from mbndt.rules.json import read_target
from mbndt.rules.values import is_missing
from mbndt.tables.schema import Schema, infer_type, whole_numbers
from mbndt.tables.table import Table, distinct, floats
from mbndt.tables.text_columns import gap_texts, warn_of_nulls

# Whole numbers of at most so many values are taken for classes, of more for a regression's.
NUMERIC_CLASSES = 20
MAX_CLASSES = 1000
# The squares of this many rows' targets still have a finite sum.
LARGEST_TARGET = 1e150
TARGET_TYPES = {
    FeatureType.CATEGORY: TargetType.STRING,
    FeatureType.INTEGER: TargetType.INTEGER,
    FeatureType.BOOLEAN: TargetType.BOOLEAN,
}
CLASS = "a class: a text, a whole number, or a boolean; `task` regression learns numbers"
TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True)
class Labels:
    """A classification's target and each row's class: `codes` [n], indices into its classes."""

    target: Target
    codes: Ints


@dataclass(frozen=True)
class Values:
    """A regression's target and each row's value: `values` [n], all finite."""

    target: Target
    values: Floats


def missing_rows(table: Table, name: str) -> Flags:
    """Tell for each row whether its target is missing, [n]."""
    column = floats(table.column(name))
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        return np.asarray(column != column)
    cells, codes = distinct(column)
    if table.text:
        gaps = gap_texts(table, name)
        missing = [cell in gaps for cell in cells]
    else:
        missing = [is_missing(value) or (isinstance(value, str) and not value) for value in cells]
    return np.array(missing, np.bool_)[codes]


def infer_target(table: Table, name: str, schema: Schema, task: str = "auto") -> Labels | Values:
    """Return the target and the rows' classes or values; no row may lack one.

    With task `auto` the schema decides, else the values: numbers with a fraction or of more than
    `NUMERIC_CLASSES` values are a regression's. Raises `DataError` that names the row, and
    `OptionError` where task and schema differ.
    """
    if task not in TASKS:
        raise OptionError(f"task: got {shown(task)}{nearest(task, TASKS)}")
    declared = schema.target or {}
    said = None
    if "classes" in declared or declared.get("type") in TARGET_TYPES.values():
        said = "classification"
    elif declared.get("type") == TargetType.FLOAT64:
        said = "regression"
    if said and task not in ("auto", said):
        raise OptionError(f"task: got {shown(task)}, but the schema declares a target for {said}")
    if task == "auto":
        task = said or _task_of_values(table, name)
    if task == "regression":
        return _infer_values(table, name, schema)
    return infer_labels(table, name, schema)


def _task_of_values(table: Table, name: str) -> str:
    kind = infer_type(table, name)
    if not kind.numeric:
        return "classification"
    values = np.unique(table.typed(Feature(name, kind)).values)
    whole = kind == FeatureType.INTEGER or bool(whole_numbers(values).all())
    return "classification" if whole and len(values) <= NUMERIC_CLASSES else "regression"


def _infer_values(table: Table, name: str, schema: Schema) -> Values:
    values = table.typed(Feature(name, FeatureType.FLOAT64)).values
    fits = np.abs(values) <= LARGEST_TARGET
    if not fits.all():
        expected = f"a number from -{LARGEST_TARGET} to {LARGEST_TARGET}"
        raise _unfit(table, name, ~fits, expected)
    entry = {"name": name, "type": TargetType.FLOAT64.value, **(schema.target or {})}
    return Values(_target(name, entry, "regression"), values)


def infer_labels(table: Table, name: str, schema: Schema) -> Labels:
    """Return the target of a classification and the rows' classes.

    Classes stand in rising order (or as declared), in the column's own type; whole numbers in a
    float column count as integers. Raises `DataError` for values that can't be class labels.
    """
    kind = _declared_kind(schema) or infer_type(table, name)
    if kind.numeric and kind != FeatureType.INTEGER:  # a frame may hold class codes as floats
        column = table.typed(Feature(name, kind))
        fits = column.missing | whole_numbers(column.values)
        if not fits.all():
            raise _unfit(table, name, ~fits, CLASS)
        kind = FeatureType.INTEGER
    if table.text and kind == FeatureType.CATEGORY and schema.target is None:
        warn_of_nulls(table, name, outcome=True)
    labels, codes = table.distinct(name, kind)
    classes = [cast("Label", label) for label in labels if label is not None]
    if len(classes) < len(labels):
        raise _unfit(table, name, codes == labels.index(None), "a class")
    entry = {
        "name": name,
        "type": TARGET_TYPES[kind].value,
        "classes": sorted(set(classes)),  # all of one type
        **(schema.target or {}),
    }
    target = _target(name, entry, "classification")
    if len(target.classes) > MAX_CLASSES:
        raise DataError(
            f"{table.source}: column {shown(name)} has {len(target.classes)} classes,"
            f" expected at most {MAX_CLASSES}; row numbers and names are not"
            " classes"
        )
    place = {label: i for i, label in enumerate(target.classes)}
    found = np.array([place.get(label, -1) for label in classes], np.int64)[codes]
    if (found < 0).any():
        raise _unfit(table, name, found < 0, f"one of the classes {_listed(target.classes)}")
    return Labels(target, found)


def _declared_kind(schema: Schema) -> FeatureType | None:
    declared = schema.target or {}
    classes = declared.get("classes")
    texts = isinstance(classes, list) and all(isinstance(label, str) for label in classes)
    said = declared.get("type", TargetType.STRING if texts else None)
    return next((kind for kind, known in TARGET_TYPES.items() if known == said), None)


def _unfit(table: Table, name: str, rows: Flags, expected: str) -> DataError:
    row = int(np.argmax(rows))
    cell = table.column(name)[row]
    got = shown(cell.item() if isinstance(cell, np.generic) else cell)
    return table.misfit(name, row + 1, DataError(f"got {got}, expected {expected}"))


def _target(name: str, entry: Mapping[str, Any], task: str) -> Target:
    target = read_target(entry, task)
    check_target(target)
    if target.name != name:
        raise OptionError(f"schema: target.name: got {shown(target.name)}, expected {shown(name)}")
    return target


def read_weights(table: Table, name: str) -> Floats:
    """Return the rows' weights, [n]: finite, none below 0, not all 0.

    Raises `DataError` that names the row.
    """
    weights = table.typed(Feature(name, FeatureType.FLOAT64)).values
    fits = (weights >= 0) & (weights < np.inf)
    if not fits.all():
        raise _unfit(table, name, ~fits, "a finite weight of 0 or more")
    if not weights.any():
        raise DataError(f"{table.source}: column {shown(name)}: all weights are zero")
    return weights


def _listed(classes: tuple[Label, ...]) -> str:
    some = ", ".join(shown(label) for label in classes[:5])
    return some if len(classes) <= 5 else f"{some}, …"
