"""What the commands of the command line share: options, and the ways out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="model.pt, or a rules JSON file")]
Data = Annotated[Path, typer.Argument(help="CSV (also .gz), Parquet, DuckDB or SQLite file")]
Query = Annotated[str | None, typer.Option(help="what to read from a DuckDB or SQLite file")]
Quiet = Annotated[bool, typer.Option("--quiet", help="print errors and warnings only")]
Output = Annotated[Path | None, typer.Option("-o", "--output-file", help="- is stdout")]


def note(text: str) -> None:
    """Print a note on stderr."""
    print(f"mbndt: note: {' '.join(text.split())}", file=sys.stderr)


def write(content: str | bytes, path: Path | None) -> None:
    """Write an artefact to a file, whole or not at all, or to stdout."""
    from mbndt.writing import write_whole

    if path is not None and str(path) != "-":
        write_whole(path, content)
        return
    sys.stdout.buffer.write(content.encode() if isinstance(content, str) else content)
    sys.stdout.buffer.flush()
