"""Make the example sheets of two clinical data sets: rules from the data, words from docs/sheets.

Writes a picture of the front and the back of each. What was not measured stands as 0 in diabetes.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import pandas as pd

import mbndt
from benchmarks.data import PAPER, TARGET, manifest
from mbndt.emitters import emit
from mbndt.emitters.protocol.statements import Statements
from mbndt.rounding import round_rules

SHEETS = Path(__file__).parents[1] / "docs" / "sheets"
EVENTS = {"hepatitis": "DIE", "diabetes": "tested_positive"}
UNMEASURED = {"diabetes": {name: {0: None} for name in ("plas", "pres", "skin", "insu", "mass")}}
OUTCOME = "outcome"
ACT_AT = 0.2
SIDES = ("front", "back")
DOTS = 100  # an inch


def pictures(name: str, table: pd.DataFrame, folder: Path) -> None:
    """Learn from a table, and draw the sheet's two sides into a folder."""
    words = SHEETS / f"{name}.toml"
    table = table.rename(columns={TARGET: OUTCOME})
    model = mbndt.learn(table, target=OUTCOME, event=EVENTS[name], act_at=ACT_AT, compact=True)
    rules = round_rules(model.rules, Statements.read(words, model.rules).decimals()).rules
    content = emit(rules, "protocol", format="pdf", sheet=words).content
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "sheet.pdf"
        path.write_bytes(content)
        for page, side in enumerate(SIDES, start=1):
            only = ["-f", str(page), "-l", str(page), "-singlefile"]
            target = folder / f"{name}-{side}"
            subprocess.run(["pdftoppm", "-png", "-r", str(DOTS), *only, path, target], check=True)


def main() -> None:
    """Make the sheets of those sets that the folder has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=SHEETS)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for key, entry in manifest(chosen.data).items():
        if (name := PAPER.get(key)) in EVENTS:
            table = pd.read_csv(chosen.data / entry["file"])
            pictures(name, table.replace(UNMEASURED.get(name, {})), chosen.out)
            print(chosen.out / name)


if __name__ == "__main__":
    main()
