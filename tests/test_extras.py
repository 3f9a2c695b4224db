"""What only learning needs is asked of nothing else, and told in a line where it lacks."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import EXAMPLE

from mbndt import load
from mbndt.rules.json_writer import canonical

LEARNING = ("torch", "sklearn", "scipy", "joblib", "optuna")


BLOCK = """
import sys
class Block:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {lacks!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block)
"""
MAIN = """
sys.argv = ["mbndt", *{words!r}]
from mbndt.cli.main import main
main()
"""


def run(words, without, folder):
    """Run a command in an interpreter that can't import some modules."""
    code = BLOCK.format(lacks=set(without)) + MAIN.format(words=[str(word) for word in words])
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def data(tmp_path):
    draw = np.random.default_rng(0)
    path = tmp_path / "data.csv"
    # Noise in the labels, as a column that tells all is warned of.
    pairs = zip(draw.normal(size=120), draw.normal(size=120) / 2, strict=True)
    rows = [f"{x:.2f},{'hi' if x + noise > 0.5 else 'lo'}" for x, noise in pairs]
    path.write_text("\n".join(["x,y", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["compile", EXAMPLE, "--target", "python"],
        ["compile", EXAMPLE, "--target", "onnx", "-o", "m.onnx"],
        ["compile", EXAMPLE, "--target", "protocol", "--format", "html"],
        ["show", EXAMPLE, "--metrics"],
        ["round", EXAMPLE, "--decimals", "respiratory rate=0", "--decimals", "lactate=2"],
        ["verify", EXAMPLE, "--target", "python", "--target", "onnx", "--rows", "50"],
    ],
)
def test_what_learns_nothing_runs_without_what_learning_needs(words, tmp_path):
    code, _, err = run(words, LEARNING, tmp_path)
    assert code == 0, err


def test_refining_and_learning_without_networks_run_without_torch(data, tmp_path):
    words = ["train", data, "--target", "y", "-o", "m.pt", "--restarts", "0"]
    code, _, err = run(words, ["torch"], tmp_path)
    assert code == 0, err
    code, out, err = run(["predict", "m.pt", data], LEARNING, tmp_path)
    assert code == 0, err
    assert out.count("\n") == 121
    for name in ("r.json", "r.pt"):
        words = ["refine", "m.pt", data, "--target", "y", "-o", name]
        code, _, err = run(words, ["torch"], tmp_path)
        assert code == 0, err
    assert canonical(load(tmp_path / "r.pt")) == canonical(load(tmp_path / "r.json"))
    torch = pytest.importorskip("torch")
    found = torch.load(tmp_path / "r.pt", weights_only=True)
    assert found["format"] == "mbndt-model"
    assert found["settings"]["refine"] is True
    assert found["weights"] == {}


@pytest.mark.parametrize(
    "words, lacks, said",
    [
        (
            ["train"],
            "torch",
            "torch isn't installed: pip install 'mbndt[learn]'; --restarts 0 learns"
            " without networks",
        ),
        (["train"], "sklearn", "sklearn isn't installed: pip install 'mbndt[learn]', or"),
        (["train"], "scipy", "scipy isn't installed: pip install 'mbndt[learn]', or"),
        (["tune", "--minutes", "1"], "optuna", "optuna isn't installed: pip install 'mbndt[tune]'"),
    ],
)
def test_what_lacks_is_told_in_a_line(words, lacks, said, data, tmp_path):
    code, out, err = run([*words, data, "--target", "y", "-o", "m.pt"], [lacks], tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith(f"mbndt: error: {said}")
    assert err.count("\n") == 1
    assert not (tmp_path / "m.pt").exists()


def test_the_estimators_tell_what_they_lack():
    code = BLOCK.format(lacks={"sklearn"}) + "from mbndt import MBNDTClassifier"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MBNDTClassifier: sklearn isn't installed: pip install" in done.stderr
