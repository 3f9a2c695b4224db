"""The command that tells two rules apart, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from mbndt.cli.options import (
    Decimal,
    Encoding,
    Missing,
    Query,
    Quiet,
    Separator,
    option,
    read,
)
from mbndt.errors import shown

if TYPE_CHECKING:
    from mbndt.measures.changes import Change, Changes
    from mbndt.rules import Rules

MOST = 20  # lines of a table; the JSON has them all


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="model file, or rules as JSON")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="what is to take its place")],
    data: Annotated[
        Path | None,
        option(help="table, to count the rows whose answer or risk changes", metavar="FILE"),
    ] = None,
    statements: Annotated[
        tuple[Path, Path] | None,
        option(
            "--sheets",
            help="the files of statements that the old and the new sheet were made with, to tell"
            " changed words, units and actions too",
            metavar="OLD NEW",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="print all that differs as JSON")] = False,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Print which inputs two rules answer differently, and what else differs; exit 1 if anything.

    It is exact: every input that is on no line gets the same answer from both.
    """
    from mbndt.checkpoint import load
    from mbndt.measures.changes import Changes, told

    before, after = load(old), load(new)
    found = Changes.between(before, after)
    table = read(data, query, separator, decimal, missing, encoding, after) if data else None
    rows = None if table is None else (found.rows(table), table.n_rows)
    lines = [*told(before, after), *_statements(statements, before, after)]
    if as_json:
        print(json.dumps(_plain(found, rows, lines), indent=2))
    elif not quiet:
        _print(found, rows, lines)
    if found.answers or found.risks or lines:
        raise typer.Exit(1)


Rows = tuple[tuple[list[int], list[int]], int]


def _print(found: Changes, rows: Rows | None, lines: Sequence[str]) -> None:
    from mbndt.cli.report import on_stdout, printable

    console = on_stdout()
    if not found.answers:
        console.print("Every input gets the same answer.")
    for i, (title, changes) in enumerate(_tables(found)):
        if not changes:
            continue
        counts = None if rows is None else rows[0][i]
        sized = "" if counts is None or rows is None else f": {sum(counts)} of {rows[1]} rows"
        console.print(f"{title}{sized}")
        _grid(found, changes, counts)
    for line in lines:
        console.print(Text(printable(line)))


def _tables(found: Changes) -> list[tuple[str, tuple[Change, ...]]]:
    return [
        ("The answer changes", found.answers),
        ("The answer stays, the risk moves by more than 1 in 100", found.risks),
    ]


def _grid(found: Changes, changes: Sequence[Change], counts: Sequence[int] | None) -> None:
    """Print changes, those of most rows first."""
    from mbndt.cli.report import on_stdout, printable

    order = range(len(changes))
    if counts is not None:
        order = sorted(order, key=lambda i: -counts[i])  # type: ignore[assignment]
    grid = Grid(box=None, pad_edge=False)
    for head in [*["rows"] * (counts is not None), "old", "new", "where"]:
        grid.add_column(head, justify="right" if head == "rows" else "left")
    for i in list(order)[:MOST]:
        cells = [*_ends(changes[i]), where(found, changes[i])]
        cells = cells if counts is None else [str(counts[i]), *cells]
        grid.add_row(*(Text(printable(cell)) for cell in cells))
    on_stdout().print(grid)
    if len(changes) > MOST:
        on_stdout().print(f"and {len(changes) - MOST} more: --json prints them")


def _ends(change: Change) -> Iterator[str]:
    """Yield what both rules answer, with the risk where it is known."""
    from mbndt.rules.values import label_text

    for label, risk in zip(change.labels, change.risks, strict=True):
        text = "no answer" if label is None else label_text(label)
        yield text if risk is None else f"{text} ({100 * risk:.3g} %)"


def where(found: Changes, change: Change) -> str:
    """Return in words which inputs a change is about."""
    from mbndt.rules.words import cells_text

    said = (
        f"{shown(name)} {cells_text(found.feature(name), found.space.cells[name], mask)}"
        for name, mask in found.conditions(change).items()
    )
    return "; ".join(said) or "everywhere"


def _plain(found: Changes, rows: Rows | None, lines: Sequence[str]) -> dict[str, Any]:
    def listed(changes: Sequence[Change], i: int) -> list[dict[str, Any]]:
        from mbndt.rules.words import cells_text

        return [
            {
                "where": {
                    name: cells_text(found.feature(name), found.space.cells[name], mask)
                    for name, mask in found.conditions(change).items()
                },
                "labels": list(change.labels),
                "risks": list(change.risks),
                "rows": None if rows is None else rows[0][i][j],
            }
            for j, change in enumerate(changes)
        ]

    return {
        "old": found.old.fingerprint,
        "new": found.new.fingerprint,
        "rows": None if rows is None else rows[1],
        "answers": listed(found.answers, 0),
        "risks": listed(found.risks, 1),
        "other": [*lines],
    }


def _statements(paths: tuple[Path, Path] | None, old: Rules, new: Rules) -> Iterator[str]:
    """Yield what differs between two files of statements, a line a key."""
    from mbndt.emitters.protocol.changed import words
    from mbndt.emitters.protocol.statements import Statements

    if paths is not None:
        pairs = zip(paths, (old, new), strict=True)
        yield from words(*(Statements.read(path, rules) for path, rules in pairs))
