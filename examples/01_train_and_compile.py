"""Learn a tree from real data, compile it to every target, and prove each one in its engine.

The Wisconsin breast cancer data come with scikit-learn: 569 patients, 30 measurements of cell
nuclei. The commands `mbndt train`, `compile` and `verify` go the same way.

    python examples/01_train_and_compile.py build/demo
"""

import sys
import time
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from mbndt import learn, save, verify
from mbndt.cli.report import evidence_line, print_checks, progress_bar

FILES = {
    "breast_mass.py": ("python", {}),
    "breast_mass.sql": ("sql", {"dialect": "duckdb"}),
    "breast_mass.h": ("c", {}),
    "breast_mass.onnx": ("onnx", {}),
    "breast_mass.mjs": ("javascript", {}),
    "breast_mass.html": ("protocol", {}),
    "breast_mass.md": ("protocol", {"format": "md"}),
}


def main(folder: Path) -> None:
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map(dict(enumerate(map(str, data.target_names))))
    patients = data.data.assign(diagnosis=diagnosis)
    schema = {"target": {"description": "histology of the breast mass"}}
    print("learns from", len(patients), "patients, which takes some 10 s", flush=True)
    with progress_bar(quiet=False) as progress:
        model = learn(patients, "diagnosis", schema=schema, name="breast mass", progress=progress)
    save(model, folder / "model.pt")
    save(model, folder / "rules.json")
    for name, (target, options) in FILES.items():
        content = model.rules.compile(target, **options)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    print(evidence_line(model))
    print("written to", folder, ", ".join(sorted(path.name for path in folder.iterdir())))
    print("proves each target in its engine, which takes some 20 s", flush=True)
    checks = verify(model.rules, patients)
    print_checks(checks)
    print(
        f"{sum(check.rows for check in checks)} rows compared with the interpreter,"
        f" {sum(check.mismatches for check in checks)} mismatches,"
        f" {time.perf_counter() - start:.1f} s in all"
    )
    if any(check.outcome in ("differs", "failed") for check in checks):
        sys.exit("a target disagrees, or its engine failed")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo"))
