"""What the commands of the command line share: options, and the ways in and out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbndt.errors import OptionError

if TYPE_CHECKING:
    from mbndt.rules import Rules
    from mbndt.tables.table import Table


def option(
    *names: str,
    help: str,  # noqa: A002
    choices: Sequence[str] = (),
    default: object = None,
    panel: str | None = None,
    **more: Any,
) -> Any:
    """Return an option whose help lists its choices and its default, each in the one form."""
    said = with_choices(help, choices)
    if default is not None:
        said += rf" [dim]\[default: {default}][/dim]"
    return typer.Option(*names, help=said, show_default=False, rich_help_panel=panel, **more)


def with_choices(text: str, choices: Sequence[str]) -> str:
    """Return an option's help with all that it may be."""
    return f"{text}; one of {', '.join(choices)}" if choices else text


READING = "Reading the table"

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="model file (model.pt), or rules as JSON")
]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV file (also .gz), Parquet, DuckDB or SQLite file; - for CSV from standard input",
    ),
]
Query = Annotated[
    str | None,
    option(help="DuckDB, SQLite: the SELECT that gives the table", panel=READING),
]
Separator = Annotated[
    str | None,
    option(
        help="CSV: character between cells, or the word tab",
        default="found: comma, semicolon, tab or |",
        panel=READING,
    ),
]
Decimal = Annotated[
    str | None,
    option(help="CSV: decimal mark, a point or a comma", default="found", panel=READING),
]
Missing = Annotated[
    list[str] | None,
    option(
        help="CSV: text that stands for a missing value, besides NA, ?, … in columns of numbers;"
        " the rules keep it; can be given several times",
        metavar="TEXT",
        panel=READING,
    ),
]
Encoding = Annotated[
    str | None,
    option(help="CSV: encoding, such as cp1252 or utf-16", default="utf-8", panel=READING),
]
Quiet = Annotated[bool, option("--quiet", help="print only errors and warnings")]
Output = Annotated[
    Path | None, option("-o", "--output-file", help="file to write", default="standard output")
]


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


def check_outputs(data: Path, *paths: Path | None) -> None:
    """Refuse, before the long part, outputs that can't be written or would overwrite each other."""
    from mbndt.files import check_writable

    taken = {data.resolve()}
    for path in paths:
        if path is not None and str(path) != "-":
            check_writable(path)
            if path.resolve() in taken:
                raise OptionError(f"{path}: would be overwritten; give another name")
            taken.add(path.resolve())


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
