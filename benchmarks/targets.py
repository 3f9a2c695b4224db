"""The emitted code beside what others emit for the same trees of scikit-learn: one table.

    python -m benchmarks.targets [--only python,c] [--rows 10000000] [--markdown]

`speed` is how many times as fast as the peer (for sizes: how many times as small). Each pair is
measured in one run, in turn, and the figure is a median; the modules `target_*` say how.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as Grid

TREES = ("breast cancer, depth 4", "digits, depth 8")


class Line(NamedTuple):
    """One comparison, as it is printed."""

    target: str
    tree: str
    figure: str
    ours: float
    peer: str
    its: float

    @property
    def speed(self) -> float:
        """Return how many times as fast, or as small, ours is."""
        return self.its / self.ours


def tree_of(record: dict[str, Any]) -> str:
    return f"{record['set']}, depth {record['depth']}"


def python(_: argparse.Namespace) -> Iterator[Line]:
    from benchmarks import target_python

    found = {(tree_of(r), r["function"]): r["ns_per_row"] for r in target_python.measure()}
    peers = {
        "m2cgen, a row as a dict": "m2cgen score, row from a dict",
        "m2cgen, a row as a list": "m2cgen score",
    }
    for tree in TREES:
        for peer, key in peers.items():
            ours, its = found[tree, "predict_proba"], found[tree, key]
            yield Line("python", tree, "ns a row, predict_proba", ours, peer, its)


def interpreter(_: argparse.Namespace) -> Iterator[Line]:
    from benchmarks import target_interpreter

    found = {(tree_of(r), r["call"]): r["ms"] for r in target_interpreter.measure()}
    for tree in TREES:
        ours = found[tree, "mbndt, frame of doubles"]
        for form in ("frame of doubles", "float32 array"):
            its = found[tree, f"scikit-learn, {form}"]
            figure = "ms for 100,000 rows of a frame"
            yield Line("interpreter", tree, figure, ours, f"scikit-learn, {form}", its)


def onnx(_: argparse.Namespace) -> Iterator[Line]:
    from benchmarks import target_onnx

    found = target_onnx.measure()
    by_key = {(tree_of(r), r["inputs"], r["batch"], r["model"]): r["us"] for r in found}
    for (tree, inputs, batch, model), us in by_key.items():
        if model == "mbndt float" and tree in TREES:
            for peer in ("skl2onnx", "skl2onnx with leaf"):
                its = by_key[tree, inputs, batch, peer]
                yield Line("onnx", tree, f"µs a call, {inputs}, batch {batch:,}", us, peer, its)


def c(_: argparse.Namespace) -> Iterator[Line]:
    from benchmarks import target_c

    for r in target_c.measure():
        yield Line("c", r["tree"], r["figure"], r["ours"], r["peer"], r["its"])


def sql(options: argparse.Namespace) -> Iterator[Line]:
    from benchmarks import target_sql

    for tree, rows, found in target_sql.measure(options.rows):
        for figure in ("select", "label"):
            for peer in ("orbital", "scan"):
                if peer in found:
                    yield Line(
                        "sql",
                        tree,
                        f"s for {rows:,} rows in DuckDB, {figure}",
                        found[figure],
                        peer,
                        found[peer],
                    )


TARGETS: dict[str, Callable[[argparse.Namespace], Iterator[Line]]] = {
    "c": c,
    "python": python,
    "onnx": onnx,
    "sql": sql,
    "interpreter": interpreter,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(TARGETS))
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    lines = [line for name in options.only.split(",") for line in TARGETS[name](options)]
    head = ("target", "tree", "figure", "ours", "peer", "its", "speed")
    cells = [
        (*line[:3], f"{line.ours:g}", line.peer, f"{line.its:g}", f"{line.speed:.2f}")
        for line in lines
    ]
    if options.markdown:
        for row in (head, ["---"] * len(head), *cells):
            print(f"| {' | '.join(row)} |")
        return
    grid = Grid(*head, box=None)
    for row in cells:
        grid.add_row(*row)
    Console(width=160).print(grid)


if __name__ == "__main__":
    main()
