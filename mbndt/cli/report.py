"""What the command line prints: tables, outlines, progress, and the CSV of predictions."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text
from rich.tree import Tree

from mbndt.measures.explanation import answered_share, explanations, sizes
from mbndt.rules import Leaf, Node, Rules, deep_recursion
from mbndt.rules.monotone import not_monotone, promised
from mbndt.rules.values import label_text

if TYPE_CHECKING:
    from mbndt.conformance.verify import Check
    from mbndt.interpreter import Predictions
    from mbndt.learning.model import Model
    from mbndt.learning.network.loop import Progress
    from mbndt.learning.refine.refine import Refined
    from mbndt.rounding import Rounded
    from mbndt.tables.table import Table


# What `explanations` measures, as it is printed.
MEASURES = {
    "explanation size": "features tested for an answer (mean)",
    "largest explanation": "features tested for an answer (most)",
    "conditions": "conditions met for an answer (mean)",
    "enough": "features needed for an answer (mean)",
    "redundant paths": "fraction of paths that test more than is needed",
    "redundant paths by rows": "fraction of rows on such paths",
    "removable conditions": "fraction of tested features that are not needed",
}


class _Console(Console):
    """A console that leaves a broken pipe to the command line."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def on_stdout() -> Console:
    """Return a console that prints plain text."""
    # Piped output is never folded to a terminal's width.
    return _Console(width=None if sys.stdout.isatty() else 10_000, highlight=False, markup=False)


def printable(text: str) -> str:
    """Return a text whose control characters, which could drive a terminal, stand as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def predictions_csv(rules: Rules, found: Predictions) -> str:
    """Return predictions as CSV text: `prediction`, `leaf`, `risk_0`, … one line a row.

    Cells are empty where there is no answer.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    columns = rules.output_columns
    writer.writerow(["prediction", "leaf", *columns])
    answers = []
    for leaf, *told in zip(rules.leaves, *columns.values(), strict=True):
        label = rules.label(leaf)
        answers.append(["" if label is None else label_text(label), leaf.leaf, *told])
    writer.writerows(answers[leaf] for leaf in found.leaf.tolist())
    return out.getvalue()


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Progress | None]:
    """Give a callback that draws a bar on stderr, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    layout = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*layout, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def update(stage: str, epoch: int, epochs: int, best: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=epochs or None)
            bars.update(tasks[stage], completed=epoch, description=f"{stage} (best {best:.4f})")

        yield update


def print_model(model: Model, path: Path) -> None:
    """Print what was learned and how it does on rows it has not seen."""
    console = on_stdout()
    summary = _counted(model.rules)
    if model.starts:
        how = f"objective {model.objective:.1f}, the best of {len(model.starts)} starts refined"
    else:
        how = f"{model.moved} thresholds moved to short decimals"
    console.print(f"{path}: {summary}; {how}")
    if model.evidence:
        console.print(evidence_line(model))
    for line in monotone_lines(model.rules):
        console.print(Text(line))


def evidence_line(model: Model) -> str:
    """Return in a line how the rules do on rows that they were not learned from."""
    found, told = model.evidence, model.evidence["performance"]
    if "rmse" in told:
        value, low, high = told["rmse"]
        r2 = "not defined" if told["r2"] is None else f"{told['r2']:.3f}"
        figures = f"R squared {r2}, root mean squared error {value:.4g}"
        figures += f" (95 % {low:.4g} to {high:.4g})"
    else:
        value, low, high = told["balanced_accuracy"]
        figures = f"balanced accuracy {value:.3f} (95 % {low:.3f} to {high:.3f})"
    how = f"held out {found['rows']} rows"
    if "folds" in found:
        how = f"{found['rows']} rows, each told by rules of the other {found['folds'] - 1} of"
        how += f" {found['folds']} parts"
    return f"{how}: {figures}; {len(model.rules.leaves)} leaves, mean path {found['mean_path']:.2f}"


def refined_line(before: Rules, found: Refined) -> str:
    """Return in a line what refining did."""
    return (
        f"objective {found.before[0]:.1f} refined to {found.objective:.1f},"
        f" {len(before.leaves)} leaves to {len(found.rules.leaves)}"
    )


def model_json(model: Model) -> str:
    """Return the training report as JSON: settings, sizes, evidence, history."""
    document = {
        "settings": asdict(model.settings),
        "rules": {"sha256": model.rules.fingerprint, **sizes(model.rules)},
        "evidence": dict(model.evidence),
        "monotone": dict(promised(model.rules)),
        "not monotone": not_monotone(model.rules),
        "objective": model.objective,
        "starts": [{"before": before, "after": after} for before, after in model.starts],
        "thresholds moved": model.moved,
        "rows without a target": model.dropped,
        "history": list(model.history),
    }
    return json.dumps(document, indent=1) + "\n"


def print_checks(checks: Sequence[Check]) -> None:
    """Print the table target x rows x mismatches, and the first differing row of each target."""
    grid = Grid(box=None, pad_edge=False)
    for title, justify in (
        ("target", "left"),
        ("engine", "left"),
        ("rows", "right"),
        ("mismatches", "right"),
    ):
        grid.add_column(title, justify=justify)  # type: ignore[arg-type]
    for check in checks:
        ran = check.engine is not None
        cells = [str(check.rows), str(check.mismatches)] if ran else ["-", "-"]
        said = check.engine or check.outcome
        grid.add_row(Text(check.title), Text(said), *cells)
    console = on_stdout()
    console.print(grid)
    for check in checks:
        if check.note:
            console.print(Text(f"{check.title}: {check.outcome}: {check.note}"))
        for name, text in (check.first or {}).items():
            console.print(f"{check.title}: {name}: {text}")


def checks_json(checks: Sequence[Check], rules: Rules) -> str:
    """Return the outcome of a verification as JSON."""
    document = {
        "rules": rules.fingerprint,
        "checks": [vars(check) | {"options": dict(check.options)} for check in checks],
    }
    return json.dumps(document, indent=1) + "\n"


def _counted(rules: Rules) -> str:
    """Return the sizes of rules in words."""
    single = {"leaves": "leaf", "splits": "split", "thresholds": "threshold"}
    single["features used"] = "feature used"
    return ", ".join(
        f"{number} {single[name] if number == 1 else name}" for name, number in sizes(rules).items()
    )


def monotone_lines(rules: Rules) -> Iterator[str]:
    """Yield along which features answers were learned to be ordered, and along which they turn."""
    if signs := promised(rules):
        event = (
            "" if rules.event is None else f" (for {label_text(rules.target.classes[rules.event])})"
        )
        yield printable("monotone: " + ", ".join(f"{k} {v}" for k, v in signs.items()) + event)
    if names := not_monotone(rules):
        yield printable("not monotone: " + ", ".join(names))


def print_rules(rules: Rules) -> None:
    """Print rules as an outline with their measures."""
    console = on_stdout()
    console.print(Text(printable(f"{rules.name}: {rules.task} of {rules.target.name}")))
    console.print(Text(f"{_counted(rules)}, depth {rules.depth}, SHA-256 {rules.fingerprint}"))
    for line in monotone_lines(rules):
        console.print(Text(line))
    with deep_recursion():
        tree = Tree(_title(rules, rules.root))
        _grow(rules, rules.root, tree)
        console.print(tree)


def _title(rules: Rules, node: Node) -> Text:
    if isinstance(node, Leaf):
        label = Text(printable(label_text(rules.label(node))), style="bold")
        if isinstance(node.value, tuple):
            label.append(f" {max(node.value):.3f}", style="not bold")
        size = "" if node.size is None else f", n {node.size}"
        if isinstance(node.value, tuple) and node.counts and node.size:
            # The score above counts classes by their weights; this counts rows.
            size += f", {node.counts[node.class_index] / node.size:.0%} of them"
        return label.append(f" (leaf {node.leaf}{size})", style="dim not bold")
    feature = rules.feature[node.feature]
    return Text(printable(feature.name + (f" [{feature.unit}]" if feature.unit else "")))


def _grow(rules: Rules, node: Node, tree: Tree) -> None:
    if isinstance(node, Leaf):
        return
    from mbndt.rules.words import answers

    for answer in answers(rules, node):
        branch = tree.add(Text(f"{answer.text}: ").append(_title(rules, answer.child)))
        _grow(rules, answer.child, branch)


def metric_lines(rules: Rules, table: Table | None) -> list[str]:
    """Return lines on how much an explanation asks of a reader, and what is redundant.

    With a table, also what its rows with missing values leave answered.
    """
    lines = [f"{MEASURES[name]}: {value:.3g}" for name, value in explanations(rules).items()]
    if table is not None:
        rows, share = answered_share(rules, table)
        lines.append(
            f"rows that lack a value in use: {rows} of {table.n_rows}, of which {share:.1%}"
            " are answered alike by all leaves that remain"
        )
    return lines


def rounded_lines(found: Rounded) -> Iterator[str]:
    """Yield what became of each threshold that was rounded, and of the training rows."""
    for move in found.moves:
        yield f"{move.feature}: {move.before!r} is now {move.after!r}"
    if found.rows is None:
        yield "no training row changes leaf: each threshold stays between the same two values"
        return
    said = f"{found.changed} of {found.rows} rows change leaf"
    if found.before is not None and found.after is not None:
        measure = "R squared" if found.rules.task == "regression" else "balanced accuracy"
        said += f"; {measure} {found.before:.4f} before, {found.after:.4f} after"
    yield said
    yield from found.warnings
