"""Columns that are too good to be of use: they number or name the rows, or hold the answer.

Whatever is found is only told, as a column may well be that good: nobody but the user knows
whether it is there before the answer is.
"""

from __future__ import annotations

import re

import numpy as np

from mbndt.arrays import Flags, Floats, Ints
from mbndt.errors import shown, warn
from mbndt.learning.apart import apart
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Feature, FeatureType
from mbndt.tables.schema import Schema
from mbndt.tables.table import Categories, Column, Table
from mbndt.tables.target import Values

LEAST_ROWS = 50  # of fewer too many things look alike
LEAST_OF_CLASS = 20
SAMPLE = 10_000  # rows that are looked at, as many of each class
BINS = 128
# Ordinary strong predictors stay below: the best column of iris tells .96, of breast-w .92.
TELLING = 0.98  # mean share of a class's held-out rows
TELLING_NUMBER = 0.99  # R squared on held-out rows
DIFFERENT = 0.9  # share of different texts in a column that names rows
MOSTLY = 0.5  # share of rows
UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
MEANT = {  # digits after a zero are codes
    "numbers": re.compile(r"\s*[+-]?((0|[1-9]\d*)([.,]\d+)?|\.\d+)(e[+-]?\d+)?\s*", re.IGNORECASE),
    "dates": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}.*"),
}
CATEGORIES = re.compile(r"category|enum|dictionary", re.IGNORECASE)  # texts that are meant to be
NAMES = "it names rows rather than grouping them; leave it out (`exclude`)"


def without_row_index(table: Table, target: str, schema: Schema) -> Table:
    """Return the table without what was the row index of a frame, and tell so.

    The schema may ask for it.
    """
    found = [n for n in table.row_index if n in table and n != target and n not in schema.features]
    for name in found:
        warn(
            f"{table.source}: column {shown(name)} is left out: it was the row index of the pandas"
            " frame; to learn from it, declare it in `schema`"
        )
    return table.without(found)


def warn_of_columns(table: Table, training: TrainingSet) -> None:
    """Warn of columns that number or name the rows, lack a better type, or alone tell the target.

    Or that have a value which stands apart.

    `training` has the columns of `table`, typed.
    """
    if training.n_rows < LEAST_ROWS:
        return
    index, halves = _sample(training)
    for feature in training.features:
        column = training.typed[feature.name]
        cells = _cells(feature, column.take(index))
        told = _told(training, index, halves, cells, feature.type.numeric)
        message = _worded(table, feature, column) or _numbered(feature, column, training, told)
        message = message or (
            told
            and f"alone tells {shown(training.target.name)} {told}; check that"
            " it is known before the answer is"
        )
        message = message or _apart(feature, column)
        if message:
            warn(f"{table.source}: column {shown(feature.name)} {message}")


def _numbered(feature: Feature, column: Column, training: TrainingSet, told: str) -> str:
    if not (feature.type.numeric and _is_running(column)):
        return ""
    if told:
        target = shown(training.target.name)
        return (
            f"numbers the rows and alone tells {target} {told}, as if they had been sorted by"
            " it; leave it out (`exclude`)"
        )
    return "numbers the rows, which says little about new ones; leave it out (`exclude`)"


def _is_running(column: Column) -> bool:
    """Tell whether whole numbers rise or fall from row to row, or number the rows in any order."""
    values = column.values
    if column.some_missing or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    rises = values[1:] > values[:-1]
    if rises.all() or (values[1:] < values[:-1]).all():
        return True
    low = values.min()
    if int(values.max()) - int(low) != len(values) - 1:
        return False
    return bool(np.bincount((values - low).astype(np.int64)).max() == 1)


def _apart(feature: Feature, column: Column) -> str:
    """Tell of a value that stands apart at an end, as a code for a missing one does."""
    if not feature.type.numeric:
        return ""
    values = column.values[~column.missing].astype(np.float64)
    found = apart(values[np.isfinite(values)])
    if found is None:
        return ""
    value, low, high = (f"{number:,.6g}" for number in (found[0], *found[2:]))
    return (
        f"has {value} in {found[1]:,} of {column.values.size:,} rows, far from all other values"
        f" ({low} to {high}); if it stands for a missing or a wrong one, leave such cells empty"
    )


def _worded(table: Table, feature: Feature, column: Column) -> str:
    """Tell what is odd about a column of texts; readers of CSV have told of theirs."""
    if feature.type != FeatureType.CATEGORY:
        return ""
    present = column.values[~column.missing & (column.values >= 0)]
    counts = np.bincount(present, minlength=len(feature.categories))
    n_rows, different = len(present), int(np.count_nonzero(counts))
    named = different >= LEAST_ROWS
    pandas = isinstance(table.column(feature.name), Categories)
    meant = pandas or CATEGORIES.match(table.declared.get(feature.name, ""))
    if not n_rows or meant or (table.text and different >= DIFFERENT * n_rows):
        return ""
    if named and all(UUID.fullmatch(text) for text in feature.categories):
        return f"holds {different:,} UUIDs in {n_rows:,} rows: {NAMES}"
    if table.text:
        return ""
    for what, pattern in MEANT.items():
        fits = [pattern.fullmatch(text) is not None for text in feature.categories]
        share = int(counts[fits].sum())
        if share >= MOSTLY * n_rows:
            return (
                f"holds {what} as texts, in {share:,} of {n_rows:,} rows: they are read as"
                " categories; convert the column, or leave it out (`exclude`)"
            )
    if named and different >= DIFFERENT * n_rows:
        return f"has {different:,} different texts in {n_rows:,} rows: {NAMES}"
    return ""


def _sample(training: TrainingSet) -> tuple[Ints, Flags]:
    """Return rows [m], as many of each class that isn't too small, and which half each is in."""
    draw = np.random.default_rng(0)
    if isinstance(training.outcome, Values):
        index = draw.permutation(training.n_rows)[:SAMPLE]
        return index, np.arange(len(index)) % 2 == 0
    order = draw.permutation(training.n_rows)
    order = order[np.argsort(training.outcome.codes[order], kind="stable")]
    counts = np.bincount(training.outcome.codes, minlength=len(training.target.classes))
    before = np.cumsum(counts) - counts
    place = np.arange(training.n_rows) - np.repeat(before, counts)  # in its class
    size = np.repeat(counts, counts)
    kept = (place < SAMPLE // int(np.count_nonzero(counts))) & (size >= LEAST_OF_CLASS)
    return order[kept], place[kept] % 2 == 0


def _told(training: TrainingSet, index: Ints, halves: Flags, cells: Ints, ordered: bool) -> str:
    """Return how well cells tell the outcome of each half from the other half.

    The cells [m] are those of the rows at `index`. "" where that is no cause for suspicion. An
    empty cell among `ordered` ones is as the one before.
    """
    if isinstance(training.outcome, Values):
        values = training.outcome.values[index]
        # Of the ranks, as a few huge values would decide it.
        fit = _fit(
            cells, np.searchsorted(np.sort(values), values).astype(np.float64), halves, ordered
        )
        return f"(R squared of the ranks {fit:.3f})" if fit >= TELLING_NUMBER else ""
    codes = training.outcome.codes
    there = np.unique(codes[index])
    if len(there) < 2:
        return ""
    hits = np.zeros(len(index), np.bool_)
    for half in (halves, ~halves):
        classes = _classes(cells[half], codes[index][half], int(cells.max()), ordered)
        hits[~half] = classes[cells[~half]] == codes[index][~half]
    counts = np.bincount(codes[index])[there]
    shares = np.bincount(codes[index], hits)[there] / counts
    told = np.average(shares, weights=np.bincount(codes)[there])
    return f"in {told:.1%} of rows" if shares.mean() >= TELLING else ""


def _fit(cells: Ints, values: Floats, halves: Flags, ordered: bool) -> float:
    """Return R squared of each half's values by the other half's means."""
    wrong = np.empty(len(values))
    for half in (halves, ~halves):
        means = _means(cells[half], values[half], int(cells.max()), ordered)
        wrong[~half] = means[cells[~half]] - values[~half]
    spread = np.sum((values - values.mean()) ** 2)
    return float(1 - np.sum(wrong**2) / spread) if spread else 0.0


def _cells(feature: Feature, column: Column) -> Ints:
    """Return the rows' cells: categories, or bins of about equal size; one for missing values."""
    values, missing = column.values, column.missing
    if not feature.type.numeric:
        return np.where(missing, values.max(initial=0) + 1, np.maximum(values, 0))
    present = np.sort(values[~missing])
    if not len(present):
        return np.zeros(len(values), np.int64)
    ends = np.unique(present[np.linspace(0, len(present), BINS, endpoint=False, dtype=int)])
    return np.where(missing, len(ends) + 1, np.searchsorted(ends, values, side="right"))


def _classes(cells: Ints, codes: Ints, last: int, ordered: bool) -> Ints:
    """Return each cell's class if classes weigh the same, -1 for a cell without rows."""
    counts = np.zeros((last + 1, codes.max() + 1))
    np.add.at(counts, (cells, codes), 1.0 / np.bincount(codes)[codes])
    there = np.asarray(counts.any(1))
    return np.where(there, counts.argmax(1), -1)[_filled(there, ordered)]


def _means(cells: Ints, values: Floats, last: int, ordered: bool) -> Floats:
    """Return each cell's mean value, that of all rows for a cell without rows."""
    counts = np.bincount(cells, minlength=last + 1)
    sums = np.bincount(cells, values, last + 1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), values.mean())
    return means[_filled(np.asarray(counts > 0), ordered)]


def _filled(there: Flags, ordered: bool) -> Ints:
    """Return which cell each cell is as: itself, or the one before that has rows."""
    places = np.arange(len(there))
    return np.maximum.accumulate(np.where(there, places, 0)) if ordered else places
