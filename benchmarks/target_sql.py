"""How fast the SQL target runs in DuckDB, beside orbital's SQL for the same tree, and a bare scan.

The tree is scikit-learn's on the breast cancer data, of depth 4; the rows are drawn evenly within
each feature's range. orbital is no requirement of this project: `pip install orbital`.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import warnings
from collections.abc import Mapping
from typing import Any

import duckdb
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from mbndt import Rules
from mbndt.emitters import emit

ROWS = 10_000_000
REPEATS = 7


def figures(rows: int = ROWS, repeats: int = REPEATS) -> dict[str, float]:
    """Return the median seconds of each query over `rows` rows, run in turn `repeats` times."""
    data = load_breast_cancer(as_frame=True)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(data.data, data.target)
    rules = Rules.from_sklearn(tree)
    with duckdb.connect() as engine:
        engine.execute("SELECT setseed(0.5)")
        engine.execute(_table(data.data, rows))
        queries = {**_ours(rules), **_orbital(tree, list(data.data.columns))}
        seconds: dict[str, list[float]] = {name: [] for name in queries}
        for _ in range(repeats):
            for name, query in queries.items():
                start = time.perf_counter()
                engine.execute(query).fetchall()
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def _table(frame: Any, rows: int) -> str:
    columns = ", ".join(
        f'{low} + random() * ({high} - {low}) AS "{name}"'
        for name, low, high in zip(frame.columns, frame.min(), frame.max(), strict=True)
    )
    return f"CREATE TABLE data AS SELECT {columns} FROM range({rows})"


def _ours(rules: Rules) -> Mapping[str, str]:
    scan = ", ".join(f'sum("{feature.name}")' for feature in rules.used)
    select = emit(rules, "sql").text.rstrip().rstrip(";")
    label = emit(rules, "sql", **{"as": "expression"}).text
    outputs = ("prediction", "leaf", "probability_0", "probability_1")
    sums = ", ".join(f"sum({name})" for name in outputs)
    return {
        "scan": f"SELECT {scan} FROM data",
        "select": f"SELECT {sums} FROM ({select})",
        "label": f"SELECT sum({label}) FROM data",
    }


def _orbital(tree: Any, names: list[str]) -> Mapping[str, str]:
    """Return orbital's query for the same tree, none where it isn't installed."""
    if importlib.util.find_spec("orbital") is None:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import orbital
        import orbital.types
        from sklearn.pipeline import Pipeline

        # It wants a pipeline, and takes columns by name.
        pipeline = Pipeline([("tree", tree)])
        kinds = {name: orbital.types.DoubleColumnType() for name in names}
        parsed = orbital.parse_pipeline(pipeline, features=kinds)
        query = orbital.export_sql("data", parsed, dialect="duckdb")
    outputs = ("output_label", "output_probability.0", "output_probability.1")
    sums = ", ".join(f'sum("{name}")' for name in outputs)
    return {"orbital": f"SELECT {sums} FROM ({query})"}


if __name__ == "__main__":
    found = figures()
    for name, seconds in found.items():
        print(f"{name:8} {seconds:7.3f} s {seconds / found['scan']:6.2f} x scan")
