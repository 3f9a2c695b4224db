"""Speed and size of C headers beside m2cgen and emlearn, on the same trees of scikit-learn.

Needs gcc, m2cgen, emlearn, and for sizes a cross compiler; `python -m benchmarks.target_c`.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import show, speed
from mbndt import Rules
from mbndt.arrays import Floats
from mbndt.emitters import emit
from mbndt.emitters.c import size_report

ROUNDS = 301
ROWS = 1024
SETS = {"breast cancer, depth 4": (load_breast_cancer, 4), "digits, depth 8": (load_digits, 8)}

START = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define ROWS {rows}
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}}
"""
# Each contestant answers all rows in a function of its own; the sum keeps it from being left out.
CONTESTANT = """
static {type} rows_{name}[ROWS]{dims};
__attribute__((noinline)) static double run_{name}(void)
{{
    double sum = 0.0, out[{classes}];
    for (int i = 0; i < ROWS; i++) {{
        {call}
        sum += {result};
    }}
    return sum;
}}
"""
MAIN = """
int main(void)
{{
    static double (*const runs[])(void) = {{ {runs} }};
    enum {{ COUNT = sizeof runs / sizeof *runs }};
    FILE *file = fopen("rows", "rb");
    float row[{features}];
    double sum = 0.0, spent[COUNT];
    for (int i = 0; i < ROWS; i++) {{
        if (fread(row, sizeof row, 1, file) != 1) return 1;
        for (int f = 0; f < {features}; f++) {{
            {fill}
        }}
    }}
    for (int round = 0; round < {rounds}; round++) {{
        for (int k = 0; k < COUNT; k++) {{
            const int one = (k + round) % COUNT;
            const double start = now();
            sum += runs[one]();
            spent[one] = (now() - start) / ROWS;
        }}
        for (int k = 0; k < COUNT; k++) printf("%g ", spent[k]);
        puts("");
    }}
    fprintf(stderr, "%g", sum);
    return 0;
}}
"""
# What is called, and whose answers are compared: those from numbers of one type.
CALLS = {
    "class, float": ("m_float_input", "", "", "m_float_class(&rows_{name}[i])"),
    "class, double": ("m_double_input", "", "", "m_double_class(&rows_{name}[i])"),
    "probabilities, double": (
        "m_double_input",
        "",
        "m_double_proba(&rows_{name}[i], out);",
        "out[0]",
    ),
    "emlearn": ("float", "[{features}]", "", "tree_predict(rows_{name}[i], {features})"),
    "m2cgen": ("double", "[{features}]", "score(rows_{name}[i], out);", "out[0]"),
}
PEERS = {"class, float": "emlearn", "class, double": "m2cgen", "probabilities, double": "m2cgen"}


def measure() -> Iterator[dict[str, Any]]:
    """Yield a record for each tree, figure and peer: our figure, its, and how many times as fast,
    or as small, ours is.
    """
    for title, (load, depth) in SETS.items():
        X, y = load(return_X_y=True)  # noqa: N806
        for record in (*speeds(fitted(X, y, depth), X), *flash(X, y, depth)):
            yield {"tree": title, **record}


def fitted(X: Any, y: Any, depth: int) -> Any:  # noqa: N803
    """Return a fitted decision tree."""
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)


def speeds(tree: Any, X: Floats) -> Iterator[dict[str, Any]]:  # noqa: N803
    """Yield records of nanoseconds a row at gcc -O2: medians of rounds in which all take turns."""
    spent = dict(zip(CALLS, np.transpose(_rounds(_program(tree, X.shape[1]), X)), strict=True))
    for ours, peer in PEERS.items():
        ns, its = (round(float(np.median(spent[name])), 2) for name in (ours, peer))
        yield {
            "figure": f"{ours}, ns a row",
            "ours": ns,
            "peer": peer,
            "its": its,
            "speed": speed(spent[ours], spent[peer]),
        }


def _program(tree: Any, features: int) -> str:
    import m2cgen

    rules, size = Rules.from_sklearn(tree), len(tree.classes_)
    code = [START.format(rows=ROWS)]
    code += [
        str(emit(replace(rules, name=number), "c", number=number).content)
        for number in ("double", "float")
    ]
    code += [m2cgen.export_to_c(tree, function_name="score"), emlearn_header(tree, "float")]
    fill = []
    for i, (type_, *texts) in enumerate(CALLS.values()):
        name = f"contestant_{i}"
        dims, call, result = (text.format(name=name, features=features) for text in texts)
        code.append(
            CONTESTANT.format(
                name=name, type=type_, dims=dims, call=call, result=result, classes=size
            )
        )
        number = "float" if "float" in type_ else "double"
        # A struct of fields of one type lies as an array of them.
        fill.append(f"(({number} *)&rows_{name}[i])[f] = ({number})row[f];")
    runs = ", ".join(f"run_contestant_{i}" for i in range(len(CALLS)))
    code.append(MAIN.format(features=features, fill="\n".join(fill), rounds=ROUNDS, runs=runs))
    return "\n".join(code)


def _rounds(code: str, X: Floats) -> list[list[float]]:  # noqa: N803
    """Return nanoseconds a row, by round and contestant."""
    drawn = np.random.default_rng(0).integers(0, len(X), ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "code.c").write_text(code)
        (folder / "rows").write_bytes(X[drawn].astype(np.float32).tobytes())
        subprocess.run(["gcc", "-O2", "-w", "code.c", "-o", "program"], cwd=folder, check=True)
        run = subprocess.run([str(folder / "program")], cwd=folder, check=True, capture_output=True)
    return [[float(word) for word in line.split()] for line in run.stdout.decode().splitlines()][1:]


def flash(X: Any, y: Any, depth: int) -> Iterator[dict[str, Any]]:  # noqa: N803
    """Yield records of bytes of flash at -Os for the class alone. For int16 both take features that
    are scaled to whole numbers before training.
    """
    whole = np.round(X / np.abs(X).max(axis=0).clip(1e-9) * 30000)
    for number, values in (("float", X), ("int16", whole)):
        tree = fitted(values, y, depth)
        rules = replace(Rules.from_sklearn(tree), name="ours")
        scale = tuple(f"{one.name}=1" for one in rules.features) if number == "int16" else ()
        ours = str(emit(rules, "c", number=number, scale=scale).content)
        ours += "int f(const ours_input *x);\nint f(const ours_input *x) {return ours_class(x);}\n"
        theirs = emlearn_header(tree, "int16_t" if number == "int16" else "float")
        for core in size_report.cores():
            own, its = (size_report.measure(core, code).flash for code in (ours, theirs))
            yield {
                "figure": f"class, {number}, flash on {core.name}, {core.version}",
                "ours": own,
                "peer": "emlearn",
                "its": its,
                "speed": round(its / own, 2),
            }


def emlearn_header(tree: Any, type_: str) -> str:
    """Return emlearn's inline form of a tree, without its function for probabilities."""
    import emlearn

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "tree.h"
        model = emlearn.convert(tree, method="inline", dtype=type_)
        model.save(name="tree", format="c", inference=["inline"], file=str(path))
        text = path.read_text()
    return re.sub(r"int tree_predict_proba\(.*", "", text, flags=re.DOTALL)


if __name__ == "__main__":
    show(measure())
