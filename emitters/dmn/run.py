"""Run a decision table over rows, for verification: dmn-moddle reads it, feelin tests its cells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbndt.emitters.base import Artifact
from mbndt.emitters.dmn.feel import names_of
from mbndt.emitters.node import ask, node_version, packages
from mbndt.errors import EngineFailed
from mbndt.interpreter import Predictions
from mbndt.rules import Label, Rules, TargetType
from mbndt.tables.table import Table

PACKAGES = {"feelin": "8.2.0", "dmn-moddle": "12.2.1"}
DRIVER = Path(__file__).parents[2] / "templates" / "dmn" / "driver.mjs"


def engine() -> str:
    """Return the packages and Node with their versions; raises `EngineMissing`."""
    return ", ".join([*map(str, packages(PACKAGES)), node_version()])


def run(artifact: Artifact, table: Table) -> Predictions:
    """Answer the rows of a table; raises `EngineFailed` unless one rule fits each of them."""
    rules = artifact.rules
    names = names_of(feature.name for feature in rules.used)
    records = list(table.records(rules.used))
    columns = {
        name: [_cell(record[feature.name]) for record in records]
        for name, feature in zip(names, rules.used, strict=True)
    }
    question = {"document": artifact.text, "rows": table.n_rows, "columns": columns}
    told = ask(DRIVER, packages(PACKAGES), question)
    return answers_of(
        rules, [told["answers"][_only(hits, i)] for i, hits in enumerate(told["hits"])]
    )


def answers_of(rules: Rules, rows: list[Mapping[str, Any]]) -> Predictions:
    """Return what outputs say by name: prediction, leaf, and the blocks by class."""
    whole = rules.target.type == TargetType.INTEGER and rules.task == "classification"
    blocks = {
        block: np.array(
            [[row[f"{block}_{i}"] for i in range(len(rules.target.classes))] for row in rows],
            np.float64,
        ).reshape(len(rows), len(rules.target.classes))
        for block in rules.outputs
    }
    leaf = np.array([row["leaf"] for row in rows], np.int64)
    labels = [_label(row["prediction"], whole) for row in rows]
    return Predictions(leaf, labels, blocks)


def _only(hits: list[int], row: int) -> int:
    if len(hits) != 1:
        raise EngineFailed(f"row {row + 1}: {len(hits)} rules fit it, expected one")
    return hits[0]


def _cell(value: object) -> object:
    return None if value != value else value


def _label(value: Any, whole: bool) -> Label | float | None:
    """Return a label as Python has it; JSON from JavaScript writes 2.0 as 2."""
    if isinstance(value, str | bool) or value is None:
        return value
    return int(value) if whole else float(value)
