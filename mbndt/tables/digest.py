"""A digest of typed rows that doesn't ask for their order: the same rows are known again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mbndt.arrays import Array
from mbndt.rules import Feature, FeatureType
from mbndt.rules.values import label_text
from mbndt.tables.table import Column
from mbndt.tables.target import Labels, Values

Hashes = npt.NDArray[np.uint64]
TARGET = ""  # no feature has this name; a table may name its target as it likes


def digest(hashes: Hashes) -> str:
    """Return the sum of rows' hashes [n] mod 2^64 as 16 hex digits.

    The order of the rows is no part of it; repeats are.
    """
    return f"{int(hashes.sum(dtype=np.uint64)):016x}"


def row_hashes(features: Mapping[Feature, Column], outcome: Labels | Values) -> Hashes:
    """Return a hash of each row, [n], of some columns in any order and a target."""
    rows = _mixed(_texts([TARGET])[0] + _outcome(outcome))
    for feature, column in features.items():
        rows += _mixed(_texts([feature.name])[0] + _values(feature, column))
    return _mixed(rows)


def _values(feature: Feature, column: Column) -> Hashes:
    if feature.type == FeatureType.CATEGORY:
        known = _texts([*feature.categories, "\0unseen"])
        found = known[column.values]
    elif feature.type == FeatureType.INTEGER:
        found = column.values.astype(np.int64).view(np.uint64)
    else:
        found = _bits(column.values)
    # Another constant than a hash of any value gives, but by chance.
    return np.where(column.missing, _texts(["\0missing"])[0], _mixed(found))


def _outcome(outcome: Labels | Values) -> Hashes:
    if isinstance(outcome, Values):
        return _bits(outcome.values)
    return _texts([str(label_text(label)) for label in outcome.target.classes])[outcome.codes]


def _bits(values: Array) -> Hashes:
    # Adding 0.0 makes one zero of the two.
    return (np.asarray(values, np.float64) + 0.0).view(np.uint64)


def _texts(texts: list[str]) -> Hashes:
    parts = [
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8) for text in texts
    ]
    return np.frombuffer(b"".join(part.digest() for part in parts), "<u8").astype(np.uint64)


def _mixed(x: Hashes) -> Hashes:
    """Return each number through the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
