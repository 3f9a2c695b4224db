"""What the commands of the command line share: options, and the ways out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mbndt.rules import Rules
    from mbndt.tables.table import Table

Model = Annotated[Path, typer.Argument(help="model.pt, or a rules JSON file")]
Data = Annotated[
    Path, typer.Argument(help="CSV (also .gz), Parquet, DuckDB or SQLite file; - is stdin")
]
Query = Annotated[str | None, typer.Option(help="what to read from a DuckDB or SQLite file")]
Separator = Annotated[
    str | None, typer.Option(help="CSV: between cells (comma, ;, tab or | are told apart)")
]
Decimal = Annotated[str | None, typer.Option(help="CSV: the decimal mark, . or ,")]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="CSV: a text that means a missing value, besides NA, ?, …, and is kept with the rules"
    ),
]
Encoding = Annotated[str | None, typer.Option(help="CSV: cp1252, utf-16, … (utf-8)")]
Quiet = Annotated[bool, typer.Option("--quiet", help="print errors and warnings only")]
Output = Annotated[Path | None, typer.Option("-o", "--output-file", help="- is stdout")]


def read(
    data: Path,
    query: str | None,
    separator: str | None,
    decimal: str | None,
    missing: list[str] | None,
    encoding: str | None,
    rules: Rules | None = None,
) -> Table:
    """Read a table as the options of a command say, with the marks that rules were learned with."""
    from mbndt.tables.csv_format import CsvFormat, known_marks
    from mbndt.tables.files import read_table

    form = CsvFormat(separator, decimal, tuple(missing or ()), encoding)
    return read_table(data, query, form, known_marks(rules))


def note(text: str) -> None:
    """Print a note on stderr."""
    print(f"mbndt: note: {' '.join(text.split())}", file=sys.stderr)


def write(content: str | bytes, path: Path | None) -> None:
    """Write an artefact to a file, whole or not at all, or to stdout."""
    from mbndt.files import write_whole

    if path is not None and str(path) != "-":
        write_whole(path, content)
        return
    sys.stdout.buffer.write(content.encode() if isinstance(content, str) else content)
    sys.stdout.buffer.flush()
