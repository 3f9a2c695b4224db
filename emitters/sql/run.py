"""Run a select in its engine over a table, for verification."""

from __future__ import annotations

import numpy as np
from sqlglot import exp

from mbndt.emitters.base import Artifact
from mbndt.emitters.sql.dialects import Dialect
from mbndt.emitters.sql.engines.base import Data, engine
from mbndt.errors import DataError
from mbndt.interpreter import Predictions
from mbndt.rules import Feature, FeatureType, Rules, TargetType
from mbndt.rules.values import Value
from mbndt.tables.table import Table


def run(artifact: Artifact, name: exp.Table, words: Dialect, table: Table) -> Predictions:
    """Answer the rows of a table, which the engine knows by `name`."""
    rules = artifact.rules
    # No order is asked of the engine: each row comes with its number, in the first column.
    types = {_row_number(rules, words): FeatureType.INTEGER}
    types |= {feature.name: feature.type for feature in rules.used}
    cells = [range(table.n_rows), *(_cells(table, feature) for feature in rules.used)]
    rows = engine(words.name).ask(Data(name, types, cells), artifact.text)
    answers = [row[len(types) :] for row in sorted(rows, key=lambda row: row[0])]
    labels = [row[0] for row in answers]
    if rules.target.type == TargetType.BOOLEAN and words.true == "1":
        labels = [{0: False, 1: True}.get(label, label) for label in labels]
    classes = len(rules.target.classes)
    outputs = {}
    for i, output in enumerate(rules.outputs):
        told = [row[2 + i * classes :][:classes] for row in answers]
        outputs[output] = np.array(told, np.float64).reshape(len(answers), classes)
    return Predictions(np.array([row[1] for row in answers], np.int64), labels, outputs)


def _row_number(rules: Rules, words: Dialect) -> str:
    row = "row"
    while any(words.fold(row) == words.fold(feature.name) for feature in rules.used):
        row += "_"
    return row


def _cells(table: Table, feature: Feature) -> list[Value]:
    """Return a column's values, gaps as they came: NULL or NaN, NULL or the empty text.

    A float32 column keeps its doubles: to round them is the select's part.
    """
    kind = FeatureType.FLOAT64 if feature.type == FeatureType.FLOAT32 else feature.type
    found: list[Value] = []
    for row, cell in enumerate(table.column(feature.name), start=1):
        try:
            value = table.value(kind, cell)
        except DataError as error:
            raise table.misfit(feature.name, row, error) from None
        gap = kind == FeatureType.FLOAT64 and isinstance(cell, float)
        gap |= kind == FeatureType.CATEGORY and cell == ""
        found.append(cell if value is None and gap else value)
    return found
