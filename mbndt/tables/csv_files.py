"""Tables from CSV texts: one line of column names, every row as long as it."""

from __future__ import annotations

import re

from mbndt.errors import DataError, warn
from mbndt.rules.csv_rows import read_columns
from mbndt.tables.csv_format import CsvFormat
from mbndt.tables.table import Table


def parse_csv(text: str, source: str = "data", form: CsvFormat | None = None) -> Table:
    """Return the table of a CSV text.

    Raises `DataError` for ragged rows, repeated names, and a separator or decimal mark that can't
    be told.
    """
    form = form or CsvFormat()
    try:
        columns, rows, decimal, why = read_columns(
            text, form.separator or "", form.decimal or "", form.missing
        )
    except ValueError as error:
        raise DataError(f"{source}: {_as_parameters(str(error))}") from None
    if why:
        warn(f"{source}: {_as_parameters(why)}")
    return Table(columns, rows, text=True, source=source, decimal=decimal)


def _as_parameters(message: str) -> str:
    # `csv_rows` stands in emitted modules too, which have a command line of their own.
    return re.sub(r"--(\w+)", r"`\1`", message)
