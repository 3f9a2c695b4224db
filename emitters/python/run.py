"""Run a module in this Python over a table, for verification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbndt.emitters.base import Artifact, told_by_class
from mbndt.interpreter import Predictions
from mbndt.tables.table import Table


def run(artifact: Artifact, table: Table, functions: Mapping[str, str]) -> Predictions:
    """Answer the rows of a table by calling the module's functions, named by output."""
    rules = artifact.rules
    module: dict[str, Any] = {"__name__": artifact.name}
    exec(compile(artifact.text, f"{artifact.name}.py", "exec"), module)
    rows = list(table.records(rules.used))
    outputs = {
        name: told_by_class(rules, [module[functions[name]](row) for row in rows])
        for name in rules.outputs
    }
    leaf = np.array([module["leaf"](row) for row in rows], np.int64)
    return Predictions(leaf, [module["predict"](row) for row in rows], outputs)
