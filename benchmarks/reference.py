"""Compare the preset `paper` with runs of the authors' program at the same settings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks import report
from benchmarks.data import choose, manifest, name_of
from benchmarks.methods import METHODS
from benchmarks.runner import parser, run_all, say

MOST = 20_000
SPLITS = [0, 1, 2]
THEIRS = {
    "openml_id": "set",
    "bal_acc": "score",
    "fit_cpu_s": "cpu_seconds",
}
FIGURES = ["score", "leaves", "path", "cpu_seconds"]


def main() -> None:
    options = parser(__doc__, "build/reference")
    options.set_defaults(splits=SPLITS)
    options.add_argument("--reference", type=Path, help="reference_runs.csv")
    args = options.parse_args()
    keys, _ = choose(args.sets, args.data)
    entries = manifest(args.data)
    file = args.reference or args.data.parent / "paper" / "reference_runs.csv"
    theirs = pd.read_csv(file, dtype={"openml_id": str}).rename(columns=THEIRS)
    theirs = theirs[theirs["split"].isin(args.splits)]
    known = set(theirs["set"])
    keys = [key for key in keys if key in known and int(entries[key]["rows"]) < MOST]
    methods = {"paper": METHODS["paper"]}
    records = run_all(keys, args.splits, methods, args.data, args.out, args.jobs)
    if not records:
        return
    # Only splits that both have run are compared.
    both = pd.merge(pd.DataFrame(records), theirs, on=["set", "split"], suffixes=(" ours", ""))
    both = both.rename(columns={figure: f"{figure} theirs" for figure in FIGURES})
    if len(both) < len(records):
        say(f"{len(records) - len(both)} runs have no counterpart")
    columns = [f"{figure} {whose}" for figure in FIGURES for whose in ("ours", "theirs")]
    means = both.groupby("set", sort=False)[columns].mean()
    means.index = means.index.map(name_of)
    means.loc["mean"] = means.mean()
    formats = {name: report.SHOWN[name.split()[0]] for name in columns}
    report.show(f"Preset paper, {len(both)} runs", report.texts(means, formats), "set")
    first = both[both["split"] == args.splits[0]]
    ours, others = (first[f"cpu_seconds {whose}"].sum() for whose in ("ours", "theirs"))
    report.console().print(
        f"CPU seconds of split {args.splits[0]}, {len(first)} sets: {ours:.1f}, theirs {others:.1f}"
    )


if __name__ == "__main__":
    main()
