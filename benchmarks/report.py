"""Results summed up: tables, tests and a plot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from benchmarks.data import name_of
from benchmarks.figures import FIGURES
from benchmarks.runner import Record

TIE = 0.0005
SIZES = ((0, 1_000, "to 1,000 rows"), (1_000, 10_000, "to 10,000 rows"), (10_000, np.inf, "more"))
# The figures of a summary with their formats.
SHOWN = {
    "score": ".4f",
    "leaves": ".1f",
    "thresholds": ".1f",
    "path": ".2f",
    "features": ".2f",
    "cpu_seconds": ".3f",
    "peak_mb": ".0f",
}
PAPER_FIGURES = {
    "bal_acc_mean": "score",
    "leaves_mean": "leaves",
    "path_mean": "path",
    "fit_sec_mean": "cpu_seconds",
    "bal_acc_std": "score_sd",
}


def summed_up(records: list[Record]) -> pd.DataFrame:
    """Return a row for each set and method: the mean over splits of each figure, the deviation
    of the score, the number of runs.
    """
    frame = pd.DataFrame(records)
    groups = frame.groupby(["set", "method"], sort=False)
    means = groups[[*FIGURES, "peak_mb", "rows"]].mean()
    return means.assign(score_sd=groups["score"].std(), runs=groups.size()).reset_index()


def of_paper(file: Path, keys: Iterable[str]) -> pd.DataFrame:
    """Return the paper's own figures of some sets in the same form."""
    frame = pd.read_csv(file, dtype={"openml_id": str}).rename(columns=PAPER_FIGURES)
    frame = frame.rename(columns={"openml_id": "set"})
    frame = frame[frame["set"].isin(list(keys)) & (frame["method"] != "MBNDT-raw")]
    frame["method"] = "paper's " + frame["method"]
    return frame.drop(columns="dataset")


def pivot(summary: pd.DataFrame, figure: str = "score") -> pd.DataFrame:
    """Return a figure by set (rows) and method (columns), both in order of appearance."""
    wide = summary.pivot(index="set", columns="method", values=figure)
    return wide.loc[summary["set"].unique(), summary["method"].unique()]


def console() -> Console:
    """Return a console that is as wide as needed where no one looks at a terminal."""
    found = Console()
    return found if found.is_terminal else Console(width=1000)


def show(title: str, frame: pd.DataFrame, index: str) -> None:
    """Print a frame of texts."""
    screen = console()
    screen.print(title, style="bold")
    table = Table(box=SIMPLE if screen.is_terminal else None)
    table.add_column(index)
    for name in frame.columns:
        table.add_column(str(name), justify="right")
    for name, row in frame.iterrows():
        table.add_row(str(name), *row)
    screen.print(table)
    screen.print()


def texts(frame: pd.DataFrame, formats: dict[str, str] | str) -> pd.DataFrame:
    """Return the numbers of a frame as texts, by one format or a format for each column."""
    return pd.DataFrame(
        {
            name: [
                ""
                if pd.isna(value)
                else format(value, formats if isinstance(formats, str) else formats[name])
                for value in frame[name]
            ]
            for name in frame.columns
        },
        index=frame.index,
    )


def show_sets(summary: pd.DataFrame) -> None:
    """Print each set's score with its deviation, and its leaves, for each method."""
    named = summary.assign(set=summary["set"].map(name_of))
    score = texts(pivot(named), ".4f")
    deviation = texts(pivot(named, "score_sd"), ".3f")
    both = score.where(deviation == "", score + " ± " + deviation)
    show("Score (balanced accuracy, for numbers R²), mean ± sd over splits", both, "set")
    leaves = pivot(named, "leaves").dropna(axis=1, how="all")
    show("Leaves that training rows reach", texts(leaves, ".1f"), "set")


def show_means(title: str, summary: pd.DataFrame) -> None:
    """Print the mean over sets of each figure for each method."""
    means = summary.groupby("method", sort=False)[list(SHOWN)].mean()
    frame = texts(means, SHOWN)
    sets = summary["set"].nunique()
    frame["sets"] = [f"{count} of {sets}" for count in summary.groupby("method", sort=False).size()]
    show(title, frame, "method")


def show_ranks(summary: pd.DataFrame, reference: str, others: Iterable[str]) -> None:
    """Print average ranks with Friedman's test, and wins, ties, losses and Wilcoxon's test, after
    Holm, of `reference` against each method; `others` have no part in the ranks.
    """
    if summary["set"].nunique() < 2 or summary["method"].nunique() < 2:
        return
    # Only means over all splits are compared.
    full = summary["runs"].isna() | (summary["runs"] == summary["runs"].max())
    wide = pivot(summary[full]).round(12)
    scores = wide.dropna(axis=1)
    ranked = scores.drop(columns=[name for name in others if name in scores])
    if len(ranked) > 1 and len(ranked.columns) > 2:
        ranks = pd.Series(rankdata(-ranked.to_numpy(), axis=1).mean(0), ranked.columns)
        test = friedmanchisquare(*ranked.to_numpy().T)
        show(
            f"Average ranks over {len(ranked)} sets",
            texts(ranks.sort_values().to_frame("rank"), ".3f"),
            "method",
        )
        console().print(f"Friedman's test: chi² {test.statistic:.2f}, p {test.pvalue:.3g}\n")
    if reference not in wide:
        return
    rows, found = {}, []
    for name in wide.columns.drop(reference):
        difference = (wide[reference] - wide[name]).dropna()
        wins, losses = (difference >= TIE).sum(), (difference <= -TIE).sum()
        ties = len(difference) - wins - losses
        rows[name] = [f"{wins}/{ties}/{losses}", f"{difference.mean():+.4f}"]
        found.append(wilcoxon(difference).pvalue if (difference != 0).any() else 1.0)
    frame = pd.DataFrame.from_dict(rows, "index", columns=["win/tie/loss", "mean difference"])
    frame["p"] = [f"{p:.3g}" for p in found]
    frame["p (Holm)"] = [f"{p:.3g}" for p in holm(found)]
    show(f"{reference} against each; Wilcoxon's signed rank test over sets", frame, "against")


def holm(values: list[float]) -> list[float]:
    """Return p values corrected by Holm's method."""
    order = np.argsort(values)
    steps = np.asarray(values)[order] * (len(values) - np.arange(len(values)))
    found = np.empty(len(values))
    found[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return found.tolist()


def show_sizes(summary: pd.DataFrame) -> None:
    """Print path, leaves and CPU seconds by the sets' sizes for each method."""
    rows = summary.groupby("set")["rows"].transform("max")
    parts = {}
    for low, high, name in SIZES:
        part = summary[(rows > low) & (rows <= high)]
        if len(part):
            means = part.groupby("method", sort=False)[["path", "leaves", "cpu_seconds"]].mean()
            formats = {figure: SHOWN[figure] for figure in means.columns}
            parts |= {f"{f} {name}": column for f, column in texts(means, formats).items()}
    frame = pd.DataFrame(parts).reindex(summary["method"].unique()).fillna("")
    show("Path, leaves and CPU seconds a fit by size of set", frame, "method")


def plot(summary: pd.DataFrame, file: Path, leaves_at_most: float = 200.0) -> None:
    """Draw the mean score of each method against its mean leaves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # Means over other sets are no equals.
    groups = summary.groupby("method", sort=False)
    summary = groups.filter(lambda part: len(part) == summary["set"].nunique())
    means = summary.groupby("method", sort=False)[["leaves", "score"]].mean().dropna()
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for name, row in means[means["leaves"] <= leaves_at_most].iterrows():
        filled = "none" if name.startswith("paper's") else "C0"
        axes.scatter(row["leaves"], row["score"], facecolors=filled, edgecolors="C0", zorder=2)
        axes.annotate(
            name,
            (row["leaves"], row["score"]),
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_xlabel("leaves that training rows reach, mean over sets")
    axes.set_ylabel("balanced accuracy, mean over sets")
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)
