"""The rows of a CSV text, whatever separates its cells; marks of a gap, and decimal commas.

A compiled Python module holds all below the imports as it stands, so that its script reads what
`mbndt predict` reads: standard library only, and Python 3.9.
"""

import collections
import csv
import io
import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# --- the part that compiled modules hold
SEPARATORS = ",;\t|"
# What other programs write where a number is missing: in any case, and in this one alone
# (a patient of "none" or "nil" drinks has 0, where Python's None has no number).
GAPS = {
    *("na", "n/a", "#n/a", "#na", "<na>", "n.a.", "nan", "-nan", "nat"),
    *("null", "(null)", "<null>", "missing", "unknown"),
    *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
}
GAPS_AS_WRITTEN = {"None", "\\N", "?", "??", ".", "..", "-", "--", "---", "\u2013", "\u2014"}
LONGEST_CELL = 2**31 - 1
CHUNK_ROWS = 100  # at a time: few enough that no garbage collection sets in
SEPARATOR_LINE = re.compile('"?sep=(.)"?[,;\t|]*(?=[\r\n])', re.IGNORECASE)
WHOLE_TEXT = re.compile("[+-]?[0-9]+")
COMMA_TEXT = re.compile("[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?")
POINT_TEXT = re.compile("[+-]?([0-9]+[.][0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
# 1,234 is 1.234 to some and 1234 to others; 0,234 is but one.
EITHER_TEXT = re.compile("[+-]?[1-9][0-9]{0,2},[0-9]{3}")
SWAPPED = {ord(","): ".", ord("."): ","}


def is_gap(text: str) -> bool:
    """Tell whether a cell is a mark of a missing number or truth value."""
    text = text.strip()
    return text in GAPS_AS_WRITTEN or text.lower() in GAPS


def gap_counts(texts: "Iterable[str]") -> "list[str]":
    """Return how often each mark of a gap stands in a column of numbers or truth values.

    Its nan is left out: that is the numbers' own word for it.
    """
    marks = collections.Counter(filter(is_gap, map(str.strip, texts)))
    told = [mark for mark in marks if mark.lower() not in ("nan", "-nan")]
    return [f"{marks[mark]} of {mark!r}" for mark in sorted(told)]


def with_point(text: str, decimal: str) -> str:
    """Return a number's text with a decimal point; no number where it had one and a comma is due.

    >>> with_point("1,5", ","), with_point("1.5", ",")
    ('1.5', '1,5')
    """
    return text.translate(SWAPPED) if decimal == "," else text


def read_columns(
    text: str, separator: str, decimal: str, missing: "Iterable[str]"
) -> "tuple[dict[str, list[str]], int, str, str]":
    """Return the columns of a CSV text, the number of rows, the decimal mark, and how it was told.

    A separator or decimal mark that is empty is told from the text. Cells that are one of `missing`
    come back empty. Raises `ValueError` for ragged rows, repeated names, and what can't be told.
    """
    known, text = find_separator(text, separator)
    rows = csv_rows(text, known)
    names = next(rows, None)
    if names is None:
        raise ValueError("empty, expected a line of column names")
    for name, count in collections.Counter(names).items():
        if count > 1:
            raise ValueError(f"duplicate column {name!r}")
    columns: list[list[str]] = [[] for _ in names]
    chunk = list(itertools.islice(rows, CHUNK_ROWS))
    while chunk:
        for column, cells in zip(columns, zip(*chunk)):  # noqa: B905 (3.10)
            column.extend(cells)
        chunk = list(itertools.islice(rows, CHUNK_ROWS))
    empty_missing(columns, missing)
    found = dict(zip(names, columns))  # noqa: B905 (3.10)
    why = ""
    if not decimal:
        decimal, why = find_decimal(found, known)
    return found, len(columns[0]), decimal, why


def empty_missing(columns: "list[list[str]]", missing: "Iterable[str]") -> None:
    """Empty the cells that are said to mean a missing value; -9 is found in -9.0 and -9,0 too."""
    texts = {mark.strip() for mark in missing}
    numbers = {plain_number(mark) for mark in texts} - {None}
    for column in columns if texts else []:
        hits = {cell for cell in set(column) if cell.strip() in texts}
        if numbers:
            hits |= {cell for cell in set(column) if plain_number(cell) in numbers}
        if hits:
            column[:] = ["" if cell in hits else cell for cell in column]


def plain_number(text: str) -> "float | None":
    """Return the number of a text with a point or a comma, None where it is none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def csv_rows(text: str, separator: str, below: int = 0) -> "Iterator[list[str]]":
    """Yield the rows of a CSV text, the line of names first.

    A blank line is no row, except in a table of one column: there it is an empty cell. Raises
    `ValueError` for ragged rows, whose cells are not as many as the names, or `below`.
    """
    limit = csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    width = number = 0
    try:
        for row in reader:
            if not row:
                if width != 1:
                    continue
                row = [""]
            if not number:
                width = below or len(row)
            elif len(row) != width:
                found = f"{len(row)} cells, expected {width}, separated by {separator!r}"
                raise ValueError(f"row {number} has {found}")
            number += 1
            yield row
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    finally:
        csv.field_size_limit(limit)


def find_separator(text: str, separator: str) -> "tuple[str, str]":
    """Return what separates the cells of a CSV text, and the text without a `sep=` line.

    A separator that isn't empty holds. Raises `ValueError` where more than one gives a table.
    """
    named = SEPARATOR_LINE.match(text)
    if named:  # the line stays, though blank, so that errors count lines as editors do
        text = text[named.end() :]
        separator = separator or named.group(1)
    if separator:
        return separator, text
    found = [separator for separator in SEPARATORS if names_count(text, separator) > 1]
    if found in ([], [","]):
        return ",", text
    even = [separator for separator in found if is_table(text, separator)]
    if len(even) > 1:
        listed = " or ".join(map(repr, even))
        raise ValueError(f"cells may be separated by {listed}; --separator says by which")
    # A name such as "dose; mg" of the only column, in whose rows nothing is separated.
    alone = not even and all(is_table(text, separator, 1) for separator in found)
    return (even or ([","] if alone or "," in found else found))[0], text


def names_count(text: str, separator: str) -> int:
    """Return the number of column names under a separator, 0 where they can't be read."""
    try:
        return len(next(csv_rows(text, separator), []))
    except ValueError:
        return 0


def is_table(text: str, separator: str, width: int = 0) -> bool:
    """Tell whether all rows have as many cells as there are names, or `width` below the names."""
    rows = csv_rows(text, separator, width)
    try:
        return sum(1 for _ in rows) > 0
    except ValueError:
        return False


def find_decimal(columns: "Mapping[str, Sequence[str]]", separator: str) -> "tuple[str, str]":
    """Return the decimal mark, and where it is a comma how that was told.

    In a table separated by commas it is a point. Raises `ValueError` where it can't be told.
    """
    if separator == ",":
        return ".", ""
    comma = {name: numbers_with(COMMA_TEXT, texts, ",") for name, texts in columns.items()}
    comma = {name: texts for name, texts in comma.items() if texts}
    if not comma:
        return ".", ""
    for name, texts in columns.items():
        found = [] if name in comma else numbers_with(POINT_TEXT, texts, ".")
        if found:
            other = next(iter(comma))
            raise ValueError(
                f"column {other!r} has {comma[other][0]!r}, and column {name!r}"
                f" {found[0]!r}; --decimal says which is a number"
            )
    for name, texts in comma.items():
        for text in texts:
            if not EITHER_TEXT.fullmatch(text):
                return ",", (
                    f"column {name!r}: {text!r} is read as a number with a decimal comma,"
                    " and so in all columns; --decimal , or --decimal . settles it"
                )
    name = next(iter(comma))
    raise ValueError(
        f"column {name!r}: {comma[name][0]!r} may have a decimal comma or one between"
        " thousands; --decimal , or --decimal . says which"
    )


def numbers_with(form: "re.Pattern[str]", texts: "Sequence[str]", mark: str) -> "list[str]":
    """Return the different texts of a form in a column of numbers, in order; else none."""
    if not any(mark in text for text in texts):
        return []
    different = dict.fromkeys(map(str.strip, texts))
    found = list(filter(form.fullmatch, different))
    others = [text for text in different.keys() - set(found) if text and not is_gap(text)]
    strays = sum(1 for text in others if not WHOLE_TEXT.fullmatch(text))
    return found if strays <= 0.1 * (len(found) + len(others)) else []
