"""Tables from CSV texts: UTF-8, one line of column names, every row as long as it."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from mbndt.errors import DataError
from mbndt.table import Table, check_names

CHUNK_ROWS = 100  # of a CSV at a time: few enough rows that no garbage collection sets in


def read_csv(path: Path, zipped: bool) -> Table:
    """Read a CSV file; raises `DataError` that names the file, and the byte, row or line."""
    try:
        data = gzip.decompress(path.read_bytes()) if zipped else path.read_bytes()
        data.decode("utf-8-sig")  # here an error tells its place in the file, below in a buffer
        with io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="") as lines:
            return _parse(lines, str(path))
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text at byte {error.start}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: {error}") from None


def parse_csv(text: str, source: str = "data") -> Table:
    """Return the table of a CSV text; raises `DataError` for ragged rows and repeated names."""
    return _parse(io.StringIO(text, newline=""), source)


def _parse(lines: Iterable[str], source: str) -> Table:
    reader = csv.reader(lines, strict=True)
    filled = filter(None, reader)
    try:
        header = next(filled, None)
        if header is None:
            raise DataError(f"{source}: empty, expected a line of column names")
        check_names(header, source)
        columns: list[list[str]] = [[] for _ in header]
        rows = 0
        while chunk := list(islice(filled, CHUNK_ROWS)):
            for number, row in enumerate(chunk, start=rows + 1):
                if len(row) != len(header):
                    raise DataError(f"{source}: row {number} has {len(row)} cells,"
                                    f" expected {len(header)}")  # fmt: skip
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                column.extend(cells)
            rows += len(chunk)
    except csv.Error as error:
        raise DataError(f"{source}: line {reader.line_num}: {error}") from None
    return Table(dict(zip(header, columns, strict=True)), rows, text=True, source=source)
