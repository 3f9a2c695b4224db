"""Learn a tree from real data, compile it to every target, and prove each one in its engine.

The Wisconsin breast cancer data come with scikit-learn: 569 patients, 30 measurements of cell
nuclei. The commands `mbndt train`, `compile` and `verify` go the same way.

    python examples/01_train_and_compile.py build/demo
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from mbndt.checkpoint import save
from mbndt.emitters import TARGETS, emit
from mbndt.model import learn
from mbndt.report import held_out_line, print_checks, progress_bar
from mbndt.schema import Schema
from mbndt.settings import preset
from mbndt.table import Table
from mbndt.verify import verify
from mbndt.writing import write_whole


def patients() -> Table:
    """Return the patients, with the diagnosis in words."""
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map(dict(enumerate(map(str, data.target_names))))
    return Table.of(data.data.assign(diagnosis=diagnosis))


def main(folder: Path) -> None:
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    table = patients()
    schema = Schema.of({"target": {"description": "histology of the breast mass"}}, "schema")
    with progress_bar(quiet=False) as progress:
        model = learn(
            table, "diagnosis", preset("default"), schema=schema, holdout=0.2, progress=progress
        )
    model = replace(model, rules=replace(model.rules, name="breast mass"))
    save(model, folder / "model.pt")
    write_whole(folder / "rules.json", model.rules.to_json())
    for target in TARGETS:
        artifact = emit(model.rules, target)
        write_whole(folder / f"{artifact.name}{artifact.suffix}", artifact.content)
    sheet = emit(model.rules, "protocol", format="md")
    write_whole(folder / f"{sheet.name}{sheet.suffix}", sheet.content)

    print(held_out_line(model))
    print("written to", folder, ", ".join(sorted(path.name for path in folder.iterdir())))
    checks = verify(model.rules, table)
    print_checks(checks)
    print(f"{sum(check.rows for check in checks)} rows compared with the interpreter,"
          f" {sum(check.mismatches for check in checks)} mismatches,"
          f" {time.perf_counter() - start:.1f} s in all")  # fmt: skip
    if any(check.outcome in ("differs", "failed") for check in checks):
        sys.exit("a target disagrees, or its engine failed")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
