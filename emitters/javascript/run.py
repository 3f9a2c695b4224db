"""Run a module in Node over a table, for verification."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mbndt.emitters.base import Artifact, told_by_class
from mbndt.emitters.node import run_node
from mbndt.rules import Feature, FeatureType, Label, TargetType

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

DRIVER = Path(__file__).parents[2] / "templates" / "javascript" / "driver.mjs"
# How the driver reads the cells of a feature: numbers as text, as JSON has neither NaN nor bigints.
KINDS = {FeatureType.BOOLEAN: "plain", FeatureType.CATEGORY: "plain", FeatureType.INTEGER: "whole"}


def run(artifact: Artifact, table: Table, functions: Mapping[str, str]) -> Predictions:
    """Answer the rows of a table by calling the module's functions, named by output."""
    import numpy as np

    from mbndt.interpreter import Predictions

    rules = artifact.rules
    kinds = [KINDS.get(feature.type, "number") for feature in rules.used]
    rows = [
        [_cell(feature, row[feature.name]) for feature in rules.used]
        for row in table.records(rules.used)
    ]
    names = [feature.name for feature in rules.used]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rules.mjs").write_text(artifact.text, "ascii")
        shutil.copy(DRIVER, folder)
        told = [functions[name] for name in rules.outputs]
        question = json.dumps({"names": names, "kinds": kinds, "told": told, "rows": rows})
        answers = json.loads(run_node("driver.mjs", stdin=question, folder=folder))
    whole = rules.target.type == TargetType.INTEGER and rules.task == "classification"
    labels = [_label(kind, text, whole) for _, kind, text, _ in answers]
    outputs = {
        name: told_by_class(rules, [answer[3][i] for answer in answers])
        for i, name in enumerate(rules.outputs)
    }
    return Predictions(np.array([answer[0] for answer in answers], np.int64), labels, outputs)


def _cell(feature: Feature, value: object) -> object:
    if value is None or feature.type in (FeatureType.BOOLEAN, FeatureType.CATEGORY):
        return value if value == value else None
    return repr(float(value)) if isinstance(value, float) else str(value)


def _label(kind: str, text: str, whole: bool) -> Label | float | None:
    """Return a label as Python has it; JavaScript's numbers don't tell integers from doubles."""
    if kind == "object":
        return None
    if kind == "boolean":
        return text == "true"
    if kind in ("number", "bigint"):
        return int(text) if whole else float(text)
    return text
