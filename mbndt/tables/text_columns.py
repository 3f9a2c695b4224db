"""What the columns of a CSV are, by all of their texts.

Whole numbers are integers, other numbers float64, `true`/`false` booleans, all else categories;
digits with leading zeros are codes, so categories too. Marks of a gap don't count. A column of
numbers with a few other texts is an error that names the first of them, as it is more often a
stray `n/a` than a category; where more of them are not numeric, it is a category with a warning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from mbndt.errors import DataError, shown, warn
from mbndt.rules import INT64_MAX, INT64_MIN, FeatureType
from mbndt.rules.csv_rows import is_gap, with_point
from mbndt.tables.table import Table, distinct, plain_numbers

# A column with at least this share of numbers is meant to be one of numbers, and with less than
# the other not at all.
NUMBERS_MEANT = 0.9
NUMBERS_DOUBTED = 0.1
DATES_MEANT = 0.5
# So many rows of which nearly all have a text of their own are named, not sorted, by them.
NAMED_ROWS = 20
NAMES_MEANT = 0.9
INT64_DIGITS = 20  # with a sign
WHOLE = re.compile(r"[+-]?[0-9]+")
CODE = re.compile(r"[+-]?0[0-9]+")
# Numbers as people write them: 1,234 or 1'234.5, <5, 12 %, € 3.
WRITTEN = re.compile(
    r"[<>=≤≥~±$€£]{0,2}\s*[+-]?\d[\d.,'\u2019\u00a0\u202f ]*([eE][+-]?\d+)?\s*[%‰$€£]?|[+-]?[.,]\d+"
)
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{8}T\d{4,6}"
    r"|\d{1,2}[- ](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[- ,]+(\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?",
    re.IGNORECASE,
)
INDEX = re.compile(r"Unnamed: [0-9]+(\.[0-9]+)?")
# What programs write for NULL and people hardly for anything else.
NULLS = ("\\N", "<NA>", "(null)", "<null>", "NULL", "#N/A")
MARK = "`missing` TEXT"
WAYS = "leave it out (`exclude`), or declare its type (`schema`)"


def text_type(table: Table, name: str, *, flags: bool = False) -> FeatureType:
    """Return the type of a CSV's column; raises `DataError` that names a stray among numbers.

    With `flags` the texts t and f alone are the booleans that PostgreSQL writes.
    """
    written = {cell.strip() for cell in set(table.column(name))} - {""}
    known = {text for text in written if not is_gap(text)}
    if not written or (not known and all(text.lower() == "nan" for text in written)):
        return FeatureType.FLOAT64
    if not known:  # nothing but marks: what of cannot be told
        return FeatureType.CATEGORY
    if all(text.lower() in ("true", "false") for text in known) or (flags and known == {"t", "f"}):
        return FeatureType.BOOLEAN
    if all(WHOLE.fullmatch(text) for text in known):
        if any(CODE.fullmatch(text) for text in known):
            return FeatureType.CATEGORY
        # Who writes nan has floats, of which the rows to come may be no whole ones.
        fit = all(len(t) <= INT64_DIGITS and INT64_MIN <= int(t) <= INT64_MAX for t in known)
        fit &= not any(text.lower() in ("nan", "-nan") for text in written)
        return FeatureType.INTEGER if fit else FeatureType.FLOAT64
    if plain_numbers((with_point(text, table.decimal) for text in known), float) is not None:
        return FeatureType.FLOAT64
    cells = _known_cells(table, name)
    strays = {text for text in cells if not _is_number(table, text)}
    numbers = cells.total() - sum(cells[text] for text in strays)
    if numbers < NUMBERS_MEANT * cells.total():
        return FeatureType.CATEGORY
    row, text = _first(table, name, strays)
    error = DataError(
        f"got {shown(text)}, expected a number as in {numbers} other rows; if the value is missing,"
        f" leave the cell empty or name the mark ({MARK}); else declare the type (`schema`)"
    )
    raise table.misfit(name, row, error)


def gap_texts(table: Table, name: str) -> set[str]:
    """Return the different cells of a CSV's column that are missing by what the others are."""
    cells = set(table.column(name))
    known = {cell for cell in cells if cell.strip() and not is_gap(cell)}
    try:
        kind = text_type(table, name) if known else FeatureType.CATEGORY
    except DataError:  # told in a better place
        kind = FeatureType.CATEGORY
    marks = kind != FeatureType.CATEGORY
    return {cell for cell in cells if not cell.strip() or (marks and is_gap(cell))}


def _known_cells(table: Table, name: str) -> Counter[str]:
    """Return how often each text stands that is neither empty nor a mark of a gap."""
    cells = Counter(cell.strip() for cell in table.column(name))
    return Counter({text: n for text, n in cells.items() if text and not is_gap(text)})


def _is_number(table: Table, text: str) -> bool:
    return plain_numbers([with_point(text, table.decimal)], float) is not None


def _first(table: Table, name: str, texts: Iterable[str]) -> tuple[int, str]:
    """Return the first row, counted from 1, whose cell is one of some texts, and its cell."""
    wanted = {*texts}
    return next(
        (row, cell)
        for row, cell in enumerate(table.column(name), start=1)
        if cell.strip() in wanted
    )


def warn_of_type(table: Table, name: str, kind: FeatureType) -> None:
    """Warn of a CSV's column whose inferred type is perhaps not what was meant."""
    where = f"{table.source}: column {shown(name)}"
    if kind != FeatureType.CATEGORY:
        return
    warn_of_nulls(table, name)
    cells = _known_cells(table, name)
    rows = cells.total()
    codes = sum(n for text, n in cells.items() if CODE.fullmatch(text))
    numbers = {text for text in cells if _is_number(table, text)}
    number_rows = sum(cells[text] for text in numbers)
    # Few of many texts are the ends of named ranges: <100, 100 to 200, 200 to 500, >500.
    numberlike = {text for text in cells if WRITTEN.fullmatch(text)}
    written = sum(cells[text] for text in numberlike)
    dates = sum(n for text, n in cells.items() if DATE.fullmatch(text))
    if rows and number_rows == rows:
        _, text = _first(table, name, [text for text in numbers if CODE.fullmatch(text)])
        warn(
            f"{where} is read as a category of codes, as {codes} of {rows} texts start with 0,"
            f" first {shown(text)}; `schema` can declare numbers"
        )
    elif number_rows > NUMBERS_DOUBTED * rows:
        row, text = _first(table, name, cells.keys() - numbers)
        warn(
            f"{where} is read as a category, as {rows - number_rows} of {rows} texts are not"
            f" numeric, first {shown(text)} in row {row}; if they mean a missing value, name them"
            f" ({MARK}); else declare the type (`schema`)"
        )
    elif dates >= DATES_MEANT * rows > 0:
        _, text = _first(table, name, [text for text in cells if DATE.fullmatch(text)])
        warn(
            f"{where} is read as a category, though {dates} of {rows} texts are dates or times,"
            f" as {shown(text)}; turn them into numbers (days since …), or {WAYS}"
        )
    elif written >= DATES_MEANT * rows > 0 and len(numberlike) >= DATES_MEANT * len(cells):
        _, text = _first(table, name, numberlike)
        warn(
            f"{where} is read as a category, though {written} of {rows} texts look like"
            f" numbers, as {shown(text)}; write them as plain numbers, or {WAYS}"
        )
    elif rows >= NAMED_ROWS and len(cells) >= NAMES_MEANT * rows:
        warn(
            f"{where} is read as a category, though nearly every row has its own text"
            f" ({len(cells)} of {rows} differ), as names and identifiers do; {WAYS}"
        )


def warn_of_flags(table: Table, names: Iterable[str]) -> None:
    """Warn of a CSV's boolean columns that hold t and f, all in one."""
    short = [n for n in names if {cell.strip() for cell in set(table.column(n))} >= {"t", "f"}]
    if short:
        listed = ", ".join(map(shown, short[:5])) + (", …" if len(short) > 5 else "")
        warn(
            f"{table.source}: t and f are read as true and false in column{'s' * (len(short) > 1)}"
            f" {listed}; `schema` can declare a category"
        )


def warn_of_nulls(table: Table, name: str, *, outcome: bool = False) -> None:
    """Warn of texts in a CSV's category that are perhaps missing values, and of escapes.

    In the column to learn any mark of a gap would be a class.
    """
    cells = Counter(table.column(name))
    where = f"{table.source}: column {shown(name)}"
    for text in sorted(filter(is_gap, cells)) if outcome else NULLS:
        if text in cells and text.strip():
            warn(
                f"{where}: {cells[text]} cells hold the text"
                f" {shown(text)}; `missing` '{text}' reads them as missing"
            )
    escaped = sum(n for text, n in cells.items() if "\\\\" in text)
    if escaped:
        warn(
            f"{where}: {escaped} cells hold a doubled backslash, as MySQL's INTO OUTFILE writes a"
            " single one; they are read as they stand (FIELDS ESCAPED BY '' exports them plain)"
        )


def is_row_number(table: Table, name: str) -> bool:
    """Tell whether a column is the row index that pandas or R writes.

    It is unnamed, and of whole numbers that all differ; a frame may be made of such a CSV.
    """
    if not (INDEX.fullmatch(name) or (name == "" and next(iter(table.columns)) == "")):
        return False
    cells, _ = distinct(table.column(name))
    if not table.text:
        whole = all(type(cell) is int for cell in cells)
        return 0 < len(cells) == table.n_rows and whole
    texts = {cell.strip() for cell in cells}
    return 0 < len(texts) == table.n_rows and all(map(WHOLE.fullmatch, texts))
