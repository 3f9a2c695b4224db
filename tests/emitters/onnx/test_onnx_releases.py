"""Models answer alike in this environment's onnxruntime and in the oldest that this Python takes.

The oldest needs an older NumPy, so it gets an environment of its own, made here; a Python that has
it already is taken from MBNDT_OLD_ONNXRUNTIME.
"""

import base64
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chain, many_intervals, regression, rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import differences
from mbndt.emitters import emitter
from mbndt.emitters.base import Artifact
from mbndt.emitters.onnx.emit import Onnx
from mbndt.emitters.onnx.graph import NO_LABEL
from mbndt.emitters.onnx.run import BATCHES, inputs_of
from mbndt.errors import TargetError
from mbndt.interpreter import Predictions
from mbndt.rules import Rules
from mbndt.tables.table import Table

GIVEN = "MBNDT_OLD_ONNXRUNTIME"
OLDEST = {(3, 11): "1.15.0", (3, 12): "1.17.0", (3, 13): "1.20.0"}
# Cases come on stdin, answers go to stdout; JSON keeps numbers to the last bit.
REPLAY = """
import base64, json, sys
import numpy, onnxruntime

def answers(case, batches):
    model = base64.b64decode(case["model"])
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    feeds = {name: numpy.array(values, kind) for name, (kind, values) in case["feeds"].items()}
    rows, found = max(map(len, feeds.values())), []
    for size in batches:
        for start in range(0, rows, size):
            batch = {name: array[start : start + size] for name, array in feeds.items()}
            found.append(session.run(None, batch))
    joined = [numpy.concatenate(parts) for parts in zip(*found)]
    return [[str(array.dtype), array.tolist()] for array in joined]

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
given = json.load(sys.stdin)
found = [answers(case, given["batches"]) for case in given["cases"]]
json.dump({"release": onnxruntime.__version__, "answers": found}, sys.stdout)
"""


@pytest.fixture(scope="module")
def old_python(tmp_path_factory) -> str:
    """The Python of an environment that has the oldest release."""
    if given := os.environ.get(GIVEN):
        return given
    release = OLDEST.get(sys.version_info[:2])
    if release is None:
        pytest.skip(f"no oldest onnxruntime is known for Python {sys.version.split()[0]}")
    folder = tmp_path_factory.mktemp("onnxruntime")
    venv.create(folder, symlinks=os.name != "nt")
    python = str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
    # By this environment's pip; to run a model takes NumPy alone of all that a release depends on.
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--only-binary=:all:",
        "--retries=1",
        "numpy<2",
        f"onnxruntime=={release}",
    ]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or "no reason given").splitlines()[-1]
        pytest.skip(f"onnxruntime {release} can't be installed: {said}")
    return python


def drawn() -> list[tuple[Rules, int]]:
    found = []

    @settings(max_examples=40)
    @given(rule_trees(), st.integers(0, 10**6))
    def draw(rules, seed):
        found.append((rules, seed))

    draw()
    return found


def emitted(pairs: list[tuple[Rules, int]]) -> Iterator[tuple[Onnx, Artifact, Table]]:
    """Each variant's model of each rules that it takes, and rows."""
    for rules, seed in pairs:
        table = boundary_rows(rules, 150, seed)
        for options in Onnx.variants:
            tool = emitter("onnx", **options)
            try:
                yield tool, tool.emit(rules), table
            except TargetError:
                continue


def packed(tool: Onnx, artifact: Artifact, table: Table) -> dict:
    feeds = inputs_of(tool.form, artifact.rules, table)
    return {
        "model": base64.b64encode(artifact.content).decode(),
        "feeds": {name: [array.dtype.str, array.tolist()] for name, array in feeds.items()},
    }


def replay(python: str, cases: list[dict]) -> dict:
    done = subprocess.run(
        [python, "-I", "-c", REPLAY],
        input=json.dumps({"batches": BATCHES, "cases": cases}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def by_batch_size(rules: Rules, answers: list, rows: int) -> Iterator[Predictions]:
    """The answers to the same rows in batches of each size."""
    (_, answer), *rest, (_, leaf) = answers
    assert len(leaf) == rows * len(BATCHES)
    for start in range(0, len(leaf), rows):
        part = slice(start, start + rows)
        told = {
            name: np.array(numbers[part])
            for name, (_, numbers) in zip(rules.outputs, rest, strict=True)
        }
        none = NO_LABEL.get(rules.target.type) if rules.stops and rules.target.classes else None
        labels = [None if label != label or label == none else label for label in answer[part]]
        yield Predictions(np.array(leaf[part]), labels, told)


def test_the_oldest_release_answers_as_this_one_and_as_the_interpreter(old_python, example):
    by_hand = [example, chain(6), chain(50), many_intervals(), regression()]
    made = list(emitted([*((rules, 0) for rules in by_hand), *drawn()]))
    assert len(made) > 100
    cases = [packed(*each) for each in made]
    old, new = (replay(python, cases) for python in (old_python, sys.executable))
    assert new["release"] == onnxruntime.__version__ != old["release"]
    for (tool, artifact, table), there, here in zip(
        made, old["answers"], new["answers"], strict=True
    ):
        assert json.dumps(there) == json.dumps(here), (tool, artifact.rules)
        expected = tool.expected(artifact.rules, table)
        for got in by_batch_size(artifact.rules, there, table.n_rows):
            assert not differences(expected, got).any(), (tool, artifact.rules)
