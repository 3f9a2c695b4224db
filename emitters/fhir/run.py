"""Run a bundle over rows, for verification: cql-execution runs the library, and asks the plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mbndt.emitters.base import Artifact
from mbndt.emitters.fhir.elm import ANSWER, ANSWERED, LEAF, STOPPED, Names
from mbndt.emitters.fhir.numbers import held, numbers_of
from mbndt.emitters.node import answers_of, ask, node_version, packages
from mbndt.errors import EngineFailed
from mbndt.interpreter import Predictions
from mbndt.rules import Feature, FeatureType, Rules
from mbndt.tables.table import Table

PACKAGES = {"cql-execution": "3.3.2"}
DRIVER = Path(__file__).parents[2] / "templates" / "fhir" / "driver.mjs"


def engine() -> str:
    """Return the package and Node with their versions; raises `EngineMissing`."""
    return ", ".join([*map(str, packages(PACKAGES)), node_version()])


def run(artifact: Artifact, table: Table) -> Predictions:
    """Answer the rows of a table.

    Raises `EngineFailed` unless one action of the plan fits each, that of the answer.
    """
    rules = artifact.rules
    names, rows = Names.of(rules), held(rules, table)
    question = {
        "bundle": json.loads(artifact.text),
        "rows": table.n_rows,
        "columns": {names.inputs[f.name]: _column(rows, f) for f in rules.used},
        "outputs": [name for name, _ in _asked(names)],
    }
    told = ask(DRIVER, packages(PACKAGES), question)
    answers = [
        {key: value for (_, key), value in zip(_asked(names), row, strict=True)}
        for row in told["answers"]
    ]
    for i, (fits, answer) in enumerate(zip(told["fits"], answers, strict=True)):
        wanted = _condition(rules, names, answer["prediction"])
        if fits != [wanted]:
            raise EngineFailed(f"row {i + 1}: got actions {fits}, expected {wanted!r} of the plan")
    return answers_of(rules, answers)


def _asked(names: Names) -> list[tuple[str, str]]:
    """Return the definitions to ask for, and the keys of what they tell."""
    numbers = [
        (name, f"{block}_{i}")
        for block, listed in names.told.items()
        for i, name in enumerate(listed)
    ]
    return [(LEAF, "leaf"), (ANSWER, "prediction"), *numbers]


def _condition(rules: Rules, names: Names, label: Any) -> str:
    """Return the condition of the plan that an answer meets."""
    if label is None:
        return STOPPED
    classes = [*map(repr, rules.target.classes)]  # by text, as True equals 1
    return names.outcomes[classes.index(repr(label))] if classes else ANSWERED


def _column(table: Table, feature: Feature) -> list[object]:
    if feature.type == FeatureType.INTEGER or feature.type == FeatureType.FLOAT64:
        return [*numbers_of(table, feature)]
    values = [row[feature.name] for row in table.records([feature])]
    return [None if value is None or value != value else value for value in values]
