"""How fast the SQL target runs in DuckDB, beside orbital's SQL for the same tree, and a bare scan.

The trees are scikit-learn's; the rows are drawn evenly within each feature's range. orbital is no
requirement of this project: `pip install orbital`.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.tree import DecisionTreeClassifier

from mbndt import Rules
from mbndt.emitters import emit

REPEATS = 7
# Sets by columns: a table of all columns has to fit in memory, so the wide one has fewer rows.
SETS = {
    "breast cancer, depth 4": (load_breast_cancer, 4, 1.0),
    "wine, depth 4": (load_wine, 4, 1.0),
    "digits, depth 8": (load_digits, 8, 0.2),
}


def measure(
    rows: int = 10_000_000, repeats: int = REPEATS
) -> Iterator[tuple[str, int, dict[str, float]]]:
    """Yield for each tree its rows and the median seconds of each query, run in turn."""
    for title, (load, depth, share) in SETS.items():
        count = int(rows * share)
        yield title, count, _seconds(load(as_frame=True), depth, count, repeats)


def _seconds(data: Any, depth: int, rows: int, repeats: int) -> dict[str, float]:
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.data, data.target)
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
    classes = range(len(rules.target.classes))
    outputs = ("prediction", "leaf", *(f"probability_{k}" for k in classes))
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
    outputs = ("output_label", *(f"output_probability.{k}" for k in range(len(tree.classes_))))
    sums = ", ".join(f'sum("{name}")' for name in outputs)
    return {"orbital": f"SELECT {sums} FROM ({query})"}


if __name__ == "__main__":
    for tree, rows, found in measure():
        for name, seconds in found.items():
            ratio = seconds / found["scan"]
            print(f"{tree}, {rows} rows: {name:8} {seconds:7.3f} s {ratio:6.2f} x scan")
