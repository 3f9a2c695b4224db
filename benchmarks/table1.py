"""Compare mbndt with other learners on the paper's data sets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks import report
from benchmarks.data import APART, choose, name_of
from benchmarks.methods import ENSEMBLES, METHODS, OURS
from benchmarks.runner import SPLITS, parser, run_all, say

QUICK_SETS = ["55", "27", "56", "1464"]
OURS_AND_CART = [*OURS, "CART", "CART-leaves"]


def main() -> None:
    options = parser(__doc__, "build/table1")
    options.add_argument("--methods", help=f"some of {', '.join(METHODS)}")
    options.add_argument("--quick", action="store_true", help="four small sets, one split")
    options.add_argument("--paper", type=Path, help="table1_per_dataset.csv; found beside --data")
    args = options.parse_args()
    if args.quick:
        args.sets, args.splits = ",".join(QUICK_SETS), [0]
    keys, absent = choose(args.sets, args.data)
    for name in absent:
        say(f"skipped: {name}: not in the data folder")
    own = args.sets in ("sklearn", "bands")
    names = OURS_AND_CART if args.quick or own else list(METHODS)
    names = args.methods.split(",") if args.methods else names
    unknown = [name for name in names if name not in [*METHODS, *OURS]]
    if unknown:
        options.error(f"--methods: unknown {', '.join(unknown)}")
    methods = {name: METHODS[name] for name in names if name in METHODS}
    records = run_all(keys, args.splits, methods, args.data, args.out, args.jobs)
    if not records:
        return
    summary = report.summed_up(records)
    paper = args.paper or (args.data and args.data.parent / "paper" / "table1_per_dataset.csv")
    if not own and paper and (args.paper or paper.exists()):
        summary = pd.concat([summary, report.of_paper(paper, summary["set"].unique())])
        if args.splits != SPLITS:
            say("the paper's figures are means over five splits")
    summary.assign(name=summary["set"].map(name_of)).to_csv(args.out / "summary.csv", index=False)
    if own:
        # Their scores differ in kind, so no means are taken over them.
        report.show_sets(summary)
        for key, part in summary.groupby("set", sort=False):
            report.show_means(name_of(key), part)
        return
    apart = summary["set"] == APART
    if not apart.all():
        tell(summary[~apart], names[0], args.out)
    if apart.any():
        report.show_means(f"{name_of(APART)}, whose test rows repeat training rows", summary[apart])


def tell(summary: pd.DataFrame, reference: str, out: Path) -> None:
    """Print all tables of some sets, and draw the plot."""
    report.show_sets(summary)
    report.show_means("Means over sets", summary)
    report.show_ranks(summary, reference, ENSEMBLES)
    report.show_sizes(summary)
    report.plot(summary, out / "accuracy_by_leaves.png")


if __name__ == "__main__":
    main()
