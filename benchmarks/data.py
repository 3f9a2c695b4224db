"""The data sets and their splits, as rows of typed raw columns."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Feature, FeatureType
from mbndt.tables.files import read_table
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.table import Column, Table
from mbndt.tables.target import Labels, infer_target

TARGET = "target"
# The paper's data sets by their OpenML ids.
PAPER = {
    "55": "hepatitis",
    "27": "colic",
    "56": "vote",
    "15": "breast-w",
    "1464": "blood-transfusion",
    "37": "diabetes",
    "45557": "mammographic-mass",
    "31": "credit-g",
    "1494": "qsar-biodeg",
    "1462": "banknote-authentication",
    "1504": "steel-plates-fault",
    "3": "kr-vs-kp",
    "44": "spambase",
    "1489": "phoneme",
    "24": "mushroom",
    "1120": "MagicTelescope",
    "1461": "bank-marketing",
    "151": "electricity",
    "1590": "adult",
    "1597": "creditcard",
    "162": "SEA(50000)",
}
APART = "162"  # its rows repeat, so training and test rows are the same ones
SMALL = 1_000
SKLEARN = ("iris", "wine", "digits", "diabetes")
BANDS, BANDS_ROWS, BANDS_NOISE, BANDS_CUT = 5, 2_000, 0.05, 0.5
DIGITS_NOTE = "read them as text: "


def manifest(folder: Path) -> dict[str, dict[str, str]]:
    """Return the entries of the folder's manifest whose file is there, by OpenML id."""
    with (folder / "MANIFEST.csv").open(newline="") as file:
        entries = {entry["openml_id"]: entry for entry in csv.DictReader(file)}
    return {key: entry for key, entry in entries.items() if (folder / entry["file"]).exists()}


def choose(chosen: str, folder: Path | None) -> tuple[list[str], list[str]]:
    """Return the keys of the sets that `chosen` names, and the names of those that are absent."""
    if chosen == "sklearn":
        return [f"sklearn-{name}" for name in SKLEARN], []
    if chosen == "bands":
        return ["bands"], []
    if folder is None:
        raise SystemExit("--data: expected the folder of the data sets")
    entries = manifest(folder)
    wanted = list(PAPER) if chosen in ("small", "all") else chosen.split(",")
    found = [key for key in wanted if key in entries]
    absent = [f"{PAPER.get(key, '')} ({key})" for key in wanted if key not in entries]
    if chosen == "small":
        found = [key for key in found if int(entries[key]["rows"]) <= SMALL]
    return found, absent


def name_of(key: str) -> str:
    """Return the name of a set."""
    return PAPER.get(key, key)


def whole(key: str, folder: Path | None) -> TrainingSet:
    """Return all rows of a set."""
    return _sklearn(key) if key.startswith("sklearn-") else _read(key, folder)


def parts(key: str, split: int, folder: Path | None) -> tuple[TrainingSet, TrainingSet]:
    """Return a set's training and test rows of an outer split."""
    if key == "bands":
        # Every split draws rows of its own.
        rows = _bands(np.random.default_rng(split))
        return rows.take(np.arange(BANDS_ROWS)), rows.take(np.arange(BANDS_ROWS, rows.n_rows))
    rows = whole(key, folder)
    labels = isinstance(rows.outcome, Labels)
    splitter = (StratifiedShuffleSplit if labels else ShuffleSplit)(
        n_splits=split + 1, test_size=0.2, random_state=0
    )
    codes = rows.outcome.codes if labels else None
    train, test = list(splitter.split(np.zeros((rows.n_rows, 1)), codes))[split]
    return rows.take(np.sort(train)), rows.take(np.sort(test))


def _rows(table: Table, schema: Schema) -> TrainingSet:
    features = infer_features(table, schema, TARGET)
    outcome = infer_target(table, TARGET, schema)
    return TrainingSet(features, typed_columns(table, features), outcome, np.ones(table.n_rows))


def _read(key: str, folder: Path | None) -> TrainingSet:
    assert folder is not None
    entry = manifest(folder)[key]
    names = entry["notes"].partition(DIGITS_NOTE)[2].split()
    schema = Schema({name: {"name": name, "type": "category"} for name in names})
    return _rows(read_table(folder / entry["file"]), schema)


def _sklearn(key: str) -> TrainingSet:
    load = getattr(datasets, "load_" + key.removeprefix("sklearn-"))
    return _rows(Table.of(load(as_frame=True).frame), Schema())


def _bands(draw: np.random.Generator) -> TrainingSet:
    x1, x2 = draw.random((2, 2 * BANDS_ROWS))
    odd = np.floor(BANDS * x1).astype(int) % 2
    wrong = draw.random(len(x1)) < BANDS_NOISE
    return _rows(Table.of({"x1": x1, "x2": x2, TARGET: odd ^ (x2 > BANDS_CUT) ^ wrong}), Schema())


def one_hot(train: TrainingSet, test: TrainingSet) -> tuple[TrainingSet, TrainingSet]:
    """Return the rows with a boolean column for each category; a missing value is in none."""

    def changed(rows: TrainingSet) -> TrainingSet:
        typed = {}
        for feature in rows.features:
            column = rows.typed[feature.name]
            if feature.type != FeatureType.CATEGORY:
                typed[feature] = column
                continue
            for i, category in enumerate(feature.categories):
                here = ((column.values == i) & ~column.missing).astype(np.int64)
                each = Feature(f"{feature.name} is {category}", FeatureType.BOOLEAN)
                typed[each] = Column(here, np.zeros(rows.n_rows, np.bool_))
        named = {feature.name: column for feature, column in typed.items()}
        return replace(rows, features=tuple(typed), typed=named)

    return changed(train), changed(test)


def filled(train: TrainingSet, test: TrainingSet) -> tuple[TrainingSet, TrainingSet]:
    """Return the rows with missing values replaced by the training rows' median, or their most
    frequent category.
    """

    def changed(rows: TrainingSet) -> TrainingSet:
        typed = {}
        for feature in rows.features:
            column = rows.typed[feature.name]
            values = np.where(column.missing, usual(feature, train), column.values)
            none = np.zeros(rows.n_rows, np.bool_)
            typed[feature.name] = Column(values.astype(column.values.dtype), none)
        return replace(rows, typed=typed)

    return changed(train), changed(test)


def usual(feature: Feature, train: TrainingSet) -> float:
    """Return the training rows' median of a feature, or their most frequent category or truth."""
    column = train.typed[feature.name]
    values = column.values[~column.missing]
    if feature.type.numeric:
        return float(np.median(values)) if len(values) else 0.0
    return float(np.argmax(np.bincount(values[values >= 0].astype(np.int64), minlength=1)))
