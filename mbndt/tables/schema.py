"""What a table's columns are: types inferred from all of their values, or as a schema file says.

The rule for texts of a CSV stands in `text_columns.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mbndt.arrays import Flags, Floats
from mbndt.errors import DataError, OptionError, nearest, shown, warn
from mbndt.files import read_plain
from mbndt.rules import Feature, FeatureType, Rules, TargetType
from mbndt.rules.invariants import check_feature
from mbndt.rules.json import read_feature
from mbndt.rules.values import is_missing, read_value
from mbndt.tables.declared import declared_type, is_wide, kind_of
from mbndt.tables.table import Categories, Table, distinct, floats
from mbndt.tables.text_columns import is_row_number, text_type, warn_of_flags, warn_of_type


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
        return cls.of(read_plain(path, "schema"), f"schema: {path}")

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
                raise OptionError(f"{source}: features: duplicate feature {shown(name)}")
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
    features = tuple(
        _feature(table, name, schema.features.get(name, {}))
        for name in table.columns
        if name != target and (name in schema.features or not _is_index(table, name))
    )
    if table.text:
        flags = [f.name for f in features if f.type == FeatureType.BOOLEAN]
        warn_of_flags(
            table, [name for name in flags if "type" not in schema.features.get(name, {})]
        )
    return features


def _is_index(table: Table, name: str) -> bool:
    """Tell whether a column only numbers the rows, and say that it is left out."""
    index = is_row_number(table, name)
    if index:
        warn(
            f"{table.source}: column {shown(name)} only numbers the rows and is left out; to learn"
            " from it, name it or declare it in `schema`"
        )
    return index


def _feature(table: Table, name: str, declared: Mapping[str, Any]) -> Feature:
    if not name:
        raise DataError(
            f"{table.source}: a column has no name; name it, or leave it out (`exclude` '')"
        )
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
        whole = len(filled) > 0 and bool(whole_numbers(filled).all())
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
        " expected all numbers, all texts or all booleans; `exclude` leaves a column out"
    )
    raise table.misfit(name, int(np.argmax(codes == at)) + 1, error)


def _check_int64(table: Table, name: str, declared: str) -> None:
    try:
        table.typed(Feature(name, FeatureType.INTEGER))
    except DataError as error:
        raise DataError(
            f"{error} in a column of type {declared}; `schema` can declare it float64"
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


def whole_numbers(values: Floats) -> Flags:
    """Tell which doubles are 64-bit whole numbers, [n]."""
    fits = (values >= -(2.0**63)) & (values < 2.0**63)
    return np.asarray(fits & (values == np.floor(values)))
