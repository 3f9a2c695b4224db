"""Texts of CSV cells, how they may be written, and the rule for their type, cell by cell."""

import csv
import re

from hypothesis import strategies as st

from mbndt.errors import DataError
from mbndt.rules import FeatureType
from mbndt.rules.csv_rows import GAPS, GAPS_AS_WRITTEN
from mbndt.rules.values import read_cell

MARKS = sorted({*GAPS, *GAPS_AS_WRITTEN, "NA", "N/A", "#N/A", "NULL", "Null", "Missing"})
word = st.text(st.sampled_from("ab1,;|\t \"'\n\r.é"), max_size=5)
dialects = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(",;\t|"),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
        "lineterminator": st.sampled_from(["\n", "\r\n"]),
    }
)


def cell_is(kind: str, text: str) -> bool:
    try:
        return read_cell(FeatureType(kind), text) is not None
    except DataError:
        return False


def meant_type(cells: list[str]) -> str | None:
    """The rule for texts, cell by cell; None where a stray text is an error."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    texts = [text for text in filled if text.lower() not in ("nan", "na")]
    if not texts:
        return "category" if "NA" in filled else "float64"
    if all(text.lower() in ("true", "false") for text in texts):
        return "boolean"
    if all(re.fullmatch("[+-]?[0-9]+", text) for text in texts):
        if any(re.fullmatch("[+-]?0[0-9]+", text) for text in texts):
            return "category"
        whole = all(cell_is("integer", text) for text in texts) and set(filled) <= {*texts, "NA"}
        return "integer" if whole else "float64"
    numbers = sum(cell_is("float64", text) for text in texts)
    if numbers == len(texts):
        return "float64"
    return None if numbers >= 0.9 * len(texts) else "category"


texts = st.sampled_from(
    [
        "",
        " ",
        "0",
        "1",
        " 2",
        "+7",
        "-3",
        "007",
        "2.5",
        "1e3",
        "1e400",
        "nan",
        "NaN",
        "inf",
        "true",
        "FALSE",
        "NA",
        "abc",
        "1_0",
        "٣",
        "9007199254740993",
        "9223372036854775807",
        "-00",
        "3.0",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "1" * 5000,
    ]
)
