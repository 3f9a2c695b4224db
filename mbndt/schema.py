"""What a table's columns are: types inferred from all of their values, or as a schema file says.

The rule for texts of a CSV: whole numbers are integers, other numbers float64, `true`/`false`
booleans, all else categories; digits with leading zeros are codes, so categories too. A column of
numbers with a few other texts is an error that names the first of them, as it is more often a
stray `n/a` than a category.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.errors import DataError, OptionError, nearest, shown
from mbndt.invariants import check_feature, check_target
from mbndt.rules import Feature, FeatureType, Label, Target, TargetType
from mbndt.rules_json import read_feature, read_target
from mbndt.table import Table
from mbndt.values import is_missing, read_cell, read_value

# A column with at least this share of numbers is meant to be one of numbers.
NUMBERS_MEANT = 0.9
WHOLE = re.compile(r"[+-]?[0-9]+")
CODE = re.compile(r"[+-]?0[0-9]+")


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
        try:
            text = path.read_text("utf-8")
            toml = path.suffix.lower() == ".toml"
            found = tomllib.loads(text) if toml else json.loads(text)
        except OSError as error:
            raise OptionError(f"--schema: {path}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise OptionError(f"--schema: {path}: {error}") from None
        return cls.of(found, f"--schema: {path}")

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
        if name != target
    )


def _feature(table: Table, name: str, declared: Mapping[str, Any]) -> Feature:
    if not name:
        raise DataError(f"{table.source}: a column has no name; name it, or --exclude ''")
    entry = {"name": name, **declared}
    if "type" not in entry:
        entry["type"] = (
            FeatureType.CATEGORY if "categories" in entry else infer_type(table, name)
        ).value
    if entry["type"] == FeatureType.CATEGORY and "categories" not in entry:
        entry["categories"] = _categories(table, name)
    where = (
        f"schema: feature {shown(name)}" if declared else f"{table.source}: column {shown(name)}"
    )
    feature = read_feature(entry, where)
    check_feature(feature, where)
    return feature


def _categories(table: Table, name: str) -> list[str]:
    found: set[str] = set()
    read = read_cell if table.text else read_value
    for row, value in enumerate(table.column(name), start=1):
        try:
            text = read(FeatureType.CATEGORY, value)
        except DataError as error:
            raise table.misfit(name, row, error) from None
        if text is not None:
            found.add(str(text))
    return sorted(found)


def infer_type(table: Table, name: str) -> FeatureType:
    """Return the type of a column; raises `DataError` that names a stray text among numbers."""
    column = table.column(name)
    if table.text:
        return _type_of_texts(table, name, column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        if column.dtype == np.float32:
            return FeatureType.FLOAT32
        kinds = {"f": FeatureType.FLOAT64, "b": FeatureType.BOOLEAN}
        return kinds.get(column.dtype.kind, FeatureType.INTEGER)
    values = [value for value in column if not is_missing(value)]
    for kind in (FeatureType.BOOLEAN, FeatureType.INTEGER, FeatureType.FLOAT64):
        if values and all(_fits(kind, value) for value in values):
            return kind
    if all(isinstance(value, str) for value in values):
        return FeatureType.CATEGORY if values else FeatureType.FLOAT64
    row = next(i for i, v in enumerate(column, 1) if not is_missing(v) and not isinstance(v, str))
    error = DataError(f"got {shown(column[row - 1])} of type {type(column[row - 1]).__name__},"
                      " expected all numbers, all texts or all booleans")  # fmt: skip
    raise table.misfit(name, row, error)


def _fits(kind: FeatureType, value: object) -> bool:
    is_bool = type(value).__name__ in ("bool", "bool_")
    if (kind == FeatureType.BOOLEAN) != is_bool:
        return False
    try:
        read_value(kind, value)
    except DataError:
        return False
    return True


def _type_of_texts(table: Table, name: str, cells: Sequence[str] | npt.NDArray[Any]) -> FeatureType:
    texts = {cell.strip() for cell in cells} - {""}
    if not texts:
        return FeatureType.FLOAT64
    if {text.lower() for text in texts} <= {"true", "false"}:
        return FeatureType.BOOLEAN
    if all(WHOLE.fullmatch(text) for text in texts):
        if any(CODE.fullmatch(text) for text in texts):
            return FeatureType.CATEGORY
        fit = all(_is_cell(FeatureType.INTEGER, text) for text in texts)
        return FeatureType.INTEGER if fit else FeatureType.FLOAT64
    strays = {text for text in texts if not _is_cell(FeatureType.FLOAT64, text)}
    if not strays:
        return FeatureType.FLOAT64
    filled = [cell.strip() for cell in cells if cell.strip()]
    numbers = sum(cell not in strays for cell in filled)
    if numbers >= NUMBERS_MEANT * len(filled):
        row = next(i for i, cell in enumerate(cells, 1) if cell.strip() in strays)
        error = DataError(f"got {shown(cells[row - 1])}, expected a number as in {numbers} other"
                          " rows; leave the cell empty if the value is missing, or declare the"
                          " column a category in --schema")  # fmt: skip
        raise table.misfit(name, row, error)
    return FeatureType.CATEGORY


def _is_cell(kind: FeatureType, text: str) -> bool:
    try:
        read_cell(kind, text)
    except DataError:
        return False
    return True


@dataclass(frozen=True)
class Labels:
    """The target and each row's class: `codes` [n], indices into `target.classes`."""

    target: Target
    codes: npt.NDArray[np.int64]


def missing_rows(table: Table, name: str) -> npt.NDArray[np.bool_]:
    """Tell for each row whether its target is missing, [n]."""
    column = table.column(name)
    if table.text:
        # In a column of numbers nan is missing; elsewhere it is a text like any other.
        blank = np.fromiter((not cell.strip() for cell in column), np.bool_, table.rows)
        nan = np.fromiter((cell.strip().lower() == "nan" for cell in column), np.bool_, table.rows)
        others = {cell for cell, gap in zip(column, blank | nan, strict=True) if not gap}
        numbers = bool(others) and all(_is_cell(FeatureType.FLOAT64, cell) for cell in others)
        return blank | nan if numbers else blank
    return np.fromiter((is_missing(v) or v == "" for v in column), np.bool_, table.rows)


def infer_labels(table: Table, name: str, schema: Schema) -> Labels:
    """Return the target of a classification and the rows' classes.

    Classes stand in rising order (or as declared), in the column's own type; whole numbers in a
    float column count as integers. Raises `DataError` for values that are no class label.
    """
    column = table.column(name)
    kind = FeatureType.CATEGORY
    if not table.text or not _declared_string(schema):
        kind = infer_type(table, name)
    if kind in (FeatureType.FLOAT64, FeatureType.FLOAT32):
        kind = FeatureType.INTEGER  # class codes that a frame holds as floats
    read = read_cell if table.text else read_value
    values: list[Label] = []
    for row, value in enumerate(column, start=1):
        try:
            label = read(kind, value)
        except DataError:
            error = DataError(f"got {shown(value)}, expected a class: a text, a whole number, or"
                              " a boolean")  # fmt: skip
            raise table.misfit(name, row, error) from None
        assert label is not None
        assert not isinstance(label, float)
        values.append(label)
    target = _target(name, kind, values, schema)
    place = {label: i for i, label in enumerate(target.classes)}
    for row, label in enumerate(values, start=1):
        if label not in place:
            raise table.misfit(name, row, DataError(f"got {shown(label)}, not one of the classes"))
    return Labels(target, np.array([place[label] for label in values], np.int64))


def _declared_string(schema: Schema) -> bool:
    return schema.target is not None and schema.target.get("type") == TargetType.STRING


def _target(name: str, kind: FeatureType, values: Iterable[Label], schema: Schema) -> Target:
    types = {FeatureType.INTEGER: TargetType.INTEGER, FeatureType.BOOLEAN: TargetType.BOOLEAN}
    entry = {
        "name": name,
        "type": types.get(kind, TargetType.STRING).value,
        "classes": sorted(set(values), key=lambda label: (type(label).__name__, label)),
        **(schema.target or {}),
    }
    target = read_target(entry, "classification")
    check_target(target)
    if target.name != name:
        raise OptionError(f"schema: target.name: got {shown(target.name)}, expected {shown(name)}")
    return target
