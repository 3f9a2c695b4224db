"""What a table's columns are: types inferred from all of their values, or as a schema file says.

The rule for texts of a CSV stands in `text_columns.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from mbndt.errors import DataError, OptionError, nearest, shown, warn
from mbndt.files import read_plain
from mbndt.rules import Feature, FeatureType, Label, Rules, Target, TargetType
from mbndt.rules.invariants import check_feature, check_target
from mbndt.rules.json import read_feature, read_target
from mbndt.rules.values import is_missing, read_value
from mbndt.tables.declared import declared_type, is_wide, kind_of
from mbndt.tables.table import Categories, Table, distinct, floats
from mbndt.tables.text_columns import (
    gap_texts,
    is_row_number,
    text_type,
    warn_of_nulls,
    warn_of_type,
)

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
CLASS = "a class: a text, a whole number, or a boolean; --task regression learns numbers"
TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True)
class Schema:
    """What a user declares: features by name (a missing type is inferred), and the target."""

    features: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    target: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a JSON or TOML file with `features` and `target`, both optional.

        Raises `OptionError` that names the file.
        """
        return cls.of(read_plain(path, "schema"), f"--schema: {path}")

    @classmethod
    def of_target(cls, rules: Rules) -> Schema:
        """Return the schema under which a table's target is read as that of rules."""
        target = rules.target
        if not target.classes:
            return cls(target={"type": TargetType.FLOAT64.value})
        return cls(target={"type": target.type.value, "classes": list(target.classes)})

    @classmethod
    def of(cls, found: object, source: str) -> Schema:
        """Take a schema's plain values; raises `OptionError` that starts with `source`."""
        if not isinstance(found, dict):
            raise OptionError(f"{source}: expected an object with 'features' and 'target'")
        for key in found:
            if key not in ("features", "target"):
                choices = nearest(key, ["features", "target"])
                raise OptionError(f"{source}: unknown key {shown(key)}{choices}")
        listed = found.get("features", [])
        if not isinstance(listed, list) or not all(
            isinstance(item, dict) and isinstance(item.get("name"), str) for item in listed
        ):
            raise OptionError(f"{source}: features: expected a list of objects with a 'name'")
        names = [item["name"] for item in listed]
        for name in names:
            if names.count(name) > 1:
                raise OptionError(f"{source}: features: {shown(name)} stands twice")
        target = found.get("target")
        if target is not None and not isinstance(target, dict):
            raise OptionError(f"{source}: target: expected an object")
        return cls({item["name"]: item for item in listed}, target)


def infer_features(table: Table, schema: Schema, target: str) -> tuple[Feature, ...]:
    """Return a feature for each column but the target, in the table's order.

    Raises `DataError` for a column whose type can't be told, and for declared features that the
    table lacks.
    """
    for name in schema.features:
        table.column(name)
        if name == target:
            raise OptionError(f"schema: features: {shown(name)} is the target")
    return tuple(
        _feature(table, name, schema.features.get(name, {}))
        for name in table.columns
        if name != target and (name in schema.features or not _is_index(table, name))
    )


def _is_index(table: Table, name: str) -> bool:
    """Tell whether a column only numbers the rows, and say that it is left out."""
    index = is_row_number(table, name)
    if index:
        warn(
            f"{table.source}: column {shown(name)} numbers the rows, and is left out; name it,"
            " or declare it in --schema, to learn from it"
        )
    return index


def _feature(table: Table, name: str, declared: Mapping[str, Any]) -> Feature:
    if not name:
        raise DataError(f"{table.source}: a column has no name; name it, or --exclude ''")
    entry = {"name": name, **declared}
    if "type" not in entry:
        named = "categories" in entry or _has_levels(table.column(name))
        entry["type"] = (FeatureType.CATEGORY if named else _feature_type(table, name)).value
    if entry["type"] == FeatureType.CATEGORY and "categories" not in entry:
        entry["categories"] = _categories(table, name)
    where = (
        f"schema: feature {shown(name)}" if declared else f"{table.source}: column {shown(name)}"
    )
    feature = read_feature(entry, where)
    check_feature(feature, where)
    return feature


def _has_levels(column: Any) -> bool:
    """Tell whether a column has categories whatever their labels are, but for booleans."""
    return isinstance(column, Categories) and any(
        not (is_missing(label) or isinstance(label, bool | np.bool_)) for label in column
    )


def _feature_type(table: Table, name: str) -> FeatureType:
    """Return the inferred type of a column that is no target; warn where it is in doubt."""
    if not table.text:
        return infer_type(table, name)
    kind = text_type(table, name, flags=True)
    warn_of_type(table, name, kind)
    return kind


def _categories(table: Table, name: str) -> list[str]:
    found, _ = table.distinct(name, FeatureType.CATEGORY)
    return sorted({str(text) for text in found if text is not None})


def infer_type(table: Table, name: str) -> FeatureType:
    """Return the type of a column: as its source declares it, else by all of its values.

    Raises `DataError` that names a stray text among numbers.
    """
    column = table.column(name)
    if table.text:
        return text_type(table, name)
    declared = table.declared.get(name) or declared_type(column)
    if declared is not None and (kind_declared := kind_of(declared)):
        if is_wide(declared):
            _check_int64(table, name, declared)
        return kind_declared
    quick = floats(column)
    if isinstance(quick, np.ndarray) and quick.dtype == np.float64:
        filled = quick[~np.isnan(quick)]
        whole = len(filled) > 0 and bool(_whole(filled).all())
        return FeatureType.INTEGER if whole else FeatureType.FLOAT64
    cells, codes = distinct(column)
    values = [value for value in cells if not is_missing(value)]
    for kind in (FeatureType.BOOLEAN, FeatureType.INTEGER, FeatureType.FLOAT64):
        if values and all(_fits(kind, value) for value in values):
            return kind
    if all(isinstance(value, str) for value in values):
        return FeatureType.CATEGORY if values else FeatureType.FLOAT64
    at, odd = next((i, v) for i, v in enumerate(cells) if not (is_missing(v) or isinstance(v, str)))
    error = DataError(
        f"got {shown(odd)} of type {type(odd).__name__},"
        " expected all numbers, all texts or all booleans; --exclude leaves a"
        " column out"
    )
    raise table.misfit(name, int(np.argmax(codes == at)) + 1, error)


def _check_int64(table: Table, name: str, declared: str) -> None:
    try:
        table.typed(Feature(name, FeatureType.INTEGER))
    except DataError as error:
        raise DataError(
            f"{error} in a column of type {declared}; --schema can declare it float64"
        ) from None


def _fits(kind: FeatureType, value: object) -> bool:
    is_bool = type(value).__name__ in ("bool", "bool_")
    if (kind == FeatureType.BOOLEAN) != is_bool:
        return False
    try:
        read_value(kind, value)
    except DataError:
        return False
    return True


@dataclass(frozen=True)
class Labels:
    """A classification's target and each row's class: `codes` [n], indices into its classes."""

    target: Target
    codes: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Values:
    """A regression's target and each row's value: `values` [n], all finite."""

    target: Target
    values: npt.NDArray[np.float64]


def missing_rows(table: Table, name: str) -> npt.NDArray[np.bool_]:
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
        raise OptionError(f"--task: got {shown(task)}{nearest(task, TASKS)}")
    declared = schema.target or {}
    said = None
    if "classes" in declared or declared.get("type") in TARGET_TYPES.values():
        said = "classification"
    elif declared.get("type") == TargetType.FLOAT64:
        said = "regression"
    if said and task not in ("auto", said):
        raise OptionError(f"--task: got {shown(task)}, but the schema's target is one of a {said}")
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
    whole = kind == FeatureType.INTEGER or bool(_whole(values).all())
    return "classification" if whole and len(values) <= NUMERIC_CLASSES else "regression"


def _whole(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Tell which doubles are 64-bit whole numbers, [n]."""
    fits = (values >= -(2.0**63)) & (values < 2.0**63)
    return np.asarray(fits & (values == np.floor(values)))


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
    float column count as integers. Raises `DataError` for values that are no class label.
    """
    kind = _declared_kind(schema) or infer_type(table, name)
    if kind.numeric and kind != FeatureType.INTEGER:  # a frame may hold class codes as floats
        column = table.typed(Feature(name, kind))
        fits = column.missing | _whole(column.values)
        if not fits.all():
            raise _unfit(table, name, ~fits, CLASS)
        kind = FeatureType.INTEGER
    if table.text and kind == FeatureType.CATEGORY and schema.target is None:
        warn_of_nulls(table, name)
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
            f" expected at most {MAX_CLASSES}; a number or a name of each row is no"
            " class"
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


def _unfit(table: Table, name: str, rows: npt.NDArray[np.bool_], expected: str) -> DataError:
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


def read_weights(table: Table, name: str) -> npt.NDArray[np.float64]:
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
