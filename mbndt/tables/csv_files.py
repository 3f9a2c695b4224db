"""Tables from CSV texts: one line of column names, every row as long as it."""

from __future__ import annotations

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
        raise DataError(f"{source}: {error}") from None
    if why:
        warn(f"{source}: {why}")
    return Table(columns, rows, text=True, source=source, decimal=decimal)
