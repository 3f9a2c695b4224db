"""Run a decision table over rows, for verification: dmn-moddle reads it, feelin tests its cells."""

from __future__ import annotations

from pathlib import Path

from mbndt.emitters.base import Artifact
from mbndt.emitters.dmn.feel import names_of
from mbndt.emitters.node import answers_of, ask, node_version, packages
from mbndt.errors import EngineFailed
from mbndt.interpreter import Predictions
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


def _only(hits: list[int], row: int) -> int:
    if len(hits) != 1:
        raise EngineFailed(f"row {row + 1}: {len(hits)} rules fit it, expected one")
    return hits[0]


def _cell(value: object) -> object:
    return None if value != value else value
