"""Measure what the parts of the learner do: branching, masks, leaf budget, and the default's."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import report
from benchmarks.data import APART, choose
from benchmarks.methods import DEFAULT, Method, of, unpruned
from benchmarks.runner import parser, run_all, say
from mbndt.learning.settings import PRESETS

PAPER = PRESETS["paper"]
FROZEN = replace(PAPER, rate_mask=1e-9)
TABLES: dict[str, dict[str, Method]] = {
    "IV: branching (preset paper)": {f"B={b}": of(replace(PAPER, branching=b)) for b in (2, 3, 4)},
    # Masks that stay as they start are all equal, and equal masks decide nothing.
    "V: masks and pruning (preset paper)": {
        "masks, pruned": of(PAPER),
        "masks, whole": replace(of(PAPER), run=unpruned),
        "masks frozen, pruned": of(FROZEN),
        "masks frozen, whole": replace(of(FROZEN), run=unpruned),
    },
    "VI: leaf budget (preset paper)": {
        "K none": of(replace(PAPER, leaf_budget=1e9)),
        **{f"K={k}": of(replace(PAPER, leaf_budget=float(k))) for k in (64, 32, 16, 8, 4)},
    },
    "Parts of the default": {
        "default": of(DEFAULT),
        "no networks": of(replace(DEFAULT, restarts=0)),
        "no greedy starts": of(replace(DEFAULT, greedy=0)),
        "no looking ahead": of(replace(DEFAULT, greedy=1)),
        "no growing anew": of(replace(DEFAULT, regrow=False)),
        "no refining": of(replace(DEFAULT, refine=False)),
        "no smoothing": of(replace(DEFAULT, smoothing=0.0)),
        "one-hot categories": of(DEFAULT, transform="one-hot"),
        "missing filled": of(DEFAULT, transform="filled"),
    },
}


def main() -> None:
    options = parser(__doc__, "build/ablations")
    options.set_defaults(sets="small")
    options.add_argument("--tables", help="some of IV, V, VI, Parts, by commas")
    args = options.parse_args()
    keys, absent = choose(args.sets, args.data)
    for name in absent:
        say(f"skipped: {name}: not in the data folder")
    for title, methods in TABLES.items():
        if args.tables and title.split(":")[0].split()[0] not in args.tables.split(","):
            continue
        kept = [key for key in keys if key != APART]
        records = run_all(kept, args.splits, methods, args.data, args.out, args.jobs)
        if not records:
            continue
        summary = report.summed_up(records)
        report.show_means(title, summary)
        report.show_ranks(summary, summary["method"].iloc[0], ())


if __name__ == "__main__":
    main()
