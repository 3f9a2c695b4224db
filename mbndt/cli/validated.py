"""What the commands of validation print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from mbndt.cli.report import on_stdout, printable
from mbndt.rules.values import label_text
from mbndt.validation import says

if TYPE_CHECKING:
    from mbndt.rules import Rules
    from mbndt.validation.deployed import Deployed
    from mbndt.validation.points import TradeOff
    from mbndt.validation.validate import Validation


def _print(console: Console, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table whose first column is text and whose others are figures."""
    grid = Grid(box=None, pad_edge=False)
    for i, head in enumerate(heads):
        grid.add_column(head, justify="right" if i else "left")
    for row in rows:
        grid.add_row(*(Text(printable(str(cell))) for cell in row))
    console.print(grid)


def print_points(found: TradeOff) -> None:
    """Print the trade-off of acting from each risk (or score) on."""
    console = on_stdout()
    event = printable(label_text(found.event))
    console.print(
        f"{found.rows} rows, {found.events} with {event}"
        + (f"; {found.unanswered} more got no answer" if found.unanswered else "")
    )
    heads = [f"act at {found.by}", "found", "missed", "needless", "spared"]
    if found.by == "risk":
        heads.append("net benefit")
    _print(console, heads, (_point(point, found.by) for point in found.points))
    if found.by == "risk":
        console.print(says.useful(found.useful))


def _point(point: dict[str, Any], by: str) -> list[object]:
    level = says.percent(point["act_at"]) if by == "risk" else says.number(point["act_at"])
    counts = [point[key] for key in ("found", "missed", "needless", "spared")]
    return [level, *counts, *([says.number(point["net_benefit"], 4)] if by == "risk" else [])]


def print_validation(found: Validation) -> None:
    """Print what a validation found: figures, groups, and what has moved."""
    console, told = on_stdout(), found.performance
    console.print(Text(printable(f"{found.status}: {told['rows']} rows of {found.on or 'own'}")))
    for sentence in says.sentences(found.rules, told):
        console.print(Text(printable(sentence)))
    _print(console, ["", "figure (95 %)"], says.figures(told))
    if found.groups:
        _print(console, *says.by_group(found.groups))
    heads = ["input", "missing", "outside or unknown", "PSI", "moved"]
    _print(console, heads, map(_input, found.inputs))
    moved = found.leaves["drift"] or "not known"
    console.print(f"leaves: PSI {says.number(found.leaves['psi'])}, moved: {moved}")


def _input(entry: dict[str, Any]) -> list[object]:
    outside = entry.get("outside", entry.get("unlisted"))
    figures = [entry["missing"], outside]
    shares = [says.percent(None if each is None else each[0]) for each in figures]
    return [entry["name"], *shares, says.number(entry["psi"]), entry["drift"] or "not known"]


def print_deployed(rules: Rules, found: Deployed) -> None:
    """Print how many rows of a deployed object agree, and where they are."""
    console = on_stdout()
    console.print(Text(printable(f"{found.where}: {found.rows} rows, {found.mismatches} differ")))
    for name, text in (found.first or {}).items():
        console.print(Text(printable(f"{name}: {text}")))
    heads = ["answer", "leaf", "rows"]
    rows = [
        ("no answer" if end.stops else label_text(rules.label(end)), end.leaf, count)
        for end, count in zip(rules.leaves, found.by_leaf, strict=True)
    ]
    _print(console, heads, rows)
    if rules.target.classes:
        _print(console, ["answer", "rows"], found.by_class.items())
