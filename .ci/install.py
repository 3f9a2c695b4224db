"""Install the wheel as a user does, without what only tests need, and run its commands.

`pip install mbndt` has no torch: it compiles, predicts, verifies and shows. `mbndt[learn]` trains.
Prints the size of each installation. Named Pythons are other releases, which get the former; one
that isn't on this machine is said to be left out.

    .venv/bin/python .ci/install.py python3.12 python3.13
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULES = ROOT / "tests" / "data" / "breast_mass.rules.json"
CLASSES = ("benign", "malignant")
# Paths of this machine's own would let another copy of the package in.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def main(others: list[str]) -> None:
    """Prove the wheel on this Python with and without the learner, on others without."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = built(Path(folder, "dist"))
        data = Path(folder, "data.csv")
        data.write_text(drawn())
        own = Environment(sys.executable, Path(folder, "own"))
        own.install(str(wheel))
        own.answers(data)
        own.install(f"{wheel}[learn]")
        own.learns(data)
        for name in others:
            if not runs(name):
                print(f"{name} is left out: it isn't installed", flush=True)
                continue
            other = Environment(name, Path(folder, Path(name).name))
            other.install(str(wheel))
            other.answers(data)


class Environment:
    """A new environment of one Python, and nothing in it but what is installed here."""

    def __init__(self, python: str, folder: Path) -> None:
        call([python, "-m", "venv", "--clear", folder])
        self.folder = folder
        self.python = folder / "bin" / "python"

    def install(self, what: str) -> None:
        """Install by pip, with the releases of constraints.txt, and print what it takes."""
        quiet = ("-qq", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
        call([self.python, "-m", "pip", "install", *quiet, what])
        (site,) = self.folder.glob("lib/python*/site-packages")
        count = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
        asked = what[what.rindex(".whl") + len(".whl") :]
        release = site.parent.name
        print(f"{release}: mbndt{asked} takes {count / 1e6:.0f} MB of site-packages", flush=True)

    def mbndt(self, *words: object) -> str:
        """Return what a command prints."""
        return call([self.folder / "bin" / "mbndt", *words], cwd=self.folder)

    def answers(self, data: Path) -> None:
        """Run what needs no torch, and see that none came."""
        found = call([self.python, "-m", "pip", "list", "--format", "json"])
        names = {package["name"] for package in json.loads(found)}
        assert not names & {"torch", "scikit-learn", "pytest"}, names
        assert "def predict(row):" in self.mbndt("compile", RULES, "--target", "python")
        assert self.mbndt("predict", RULES, data).count("\n") == 201
        assert "malignant" in self.mbndt("show", RULES)
        assert "differs" not in self.mbndt("verify", RULES, "--rows", 200)

    def learns(self, data: Path) -> None:
        """Learn a tree, and use it."""
        self.mbndt("train", data, "--target", "diagnosis", "--preset", "fast", "-o", "model.pt")
        assert "CASE" in self.mbndt("compile", "model.pt", "--target", "sql")
        assert self.mbndt("predict", "model.pt", data).count("\n") == 201
        assert "diagnosis" in self.mbndt("show", "model.pt")


def built(folder: Path) -> Path:
    """Return the wheel, built from the sdist."""
    call([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT])
    (wheel,) = folder.glob("*.whl")
    return wheel


def drawn() -> str:
    """Return rows for the rules as CSV, with a target that two of the features tell."""
    draw = random.Random(0)
    names = [feature["name"] for feature in json.loads(RULES.read_text())["features"]]
    lines = [",".join([*names, "diagnosis"])]
    for _ in range(200):
        cells = [draw.uniform(0, 200) for _ in names]
        told = cells[0] + cells[1] + draw.gauss(0, 40) > 200
        lines.append(",".join([*(f"{cell:.2f}" for cell in cells), CLASSES[told]]))
    return "\n".join(lines) + "\n"


def runs(python: str) -> bool:
    """Tell whether a Python is there and can make environments."""
    return (
        bool(shutil.which(python))
        and not subprocess.run(
            [python, "-c", "import ensurepip"], capture_output=True, env=ENVIRONMENT
        ).returncode
    )


def call(words: list[object], **where: Path) -> str:
    """Return what a program prints; ends with its complaints where it fails."""
    done = subprocess.run(
        [str(word) for word in words], env=ENVIRONMENT, capture_output=True, text=True, **where
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


main(sys.argv[1:])
