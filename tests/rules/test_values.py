"""What one raw value means: frames' values and CSV cells of each type."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbndt.errors import DataError
from mbndt.rules.values import is_missing, read_cell, read_value, to_float32

MISSING = [
    None,
    float("nan"),
    np.nan,
    np.float32("nan"),
    pd.NA,
    pd.NaT,
    Decimal("nan"),
    Decimal("sNaN"),
]
TYPES = ["float64", "float32", "integer", "boolean", "category"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_is_missing_in_every_type(kind, value):
    assert is_missing(value)
    assert read_value(kind, value) is None


@pytest.mark.parametrize(
    "kind, value, read",
    [
        ("float64", 1, 1.0),
        ("float64", np.int64(3), 3.0),
        ("float64", np.float32(0.1), 0.10000000149011612),
        ("float64", Decimal("0.1"), 0.1),
        ("float64", Fraction(1, 4), 0.25),
        ("float64", float("-inf"), float("-inf")),
        ("float32", 0.1, 0.10000000149011612),
        ("float32", 1e300, float("inf")),
        ("float32", 16777217, 16777216.0),
        ("integer", 3.0, 3),
        ("integer", np.float64(-2.0), -2),
        ("integer", 2**53 + 1, 2**53 + 1),
        ("integer", np.uint64(2**63 - 1), 2**63 - 1),
        ("integer", Decimal(9007199254740993), 9007199254740993),
        ("boolean", True, True),
        ("boolean", np.bool_(False), False),
        ("boolean", 0, False),
        ("boolean", 1.0, True),
        ("category", "a", "a"),
        ("category", "NaN", "NaN"),
        ("category", "", None),
        ("category", np.str_("b "), "b "),
    ],
)
def test_a_value_of_the_type_is_read(kind, value, read):
    found = read_value(kind, value)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    "kind, value",
    [
        ("float64", "1"),
        ("float64", True),
        ("float64", np.bool_(True)),
        ("float64", 1j),
        ("float64", 10**400),
        ("float64", b"1"),
        ("float64", [1]),
        ("float32", "x"),
        ("float32", False),
        ("integer", Fraction(2 * 10**17 + 1, 2)),
        ("integer", np.timedelta64(1, "s")),
        ("float64", np.timedelta64(1, "s")),
        ("integer", 3.5),
        ("integer", True),
        ("integer", "3"),
        ("integer", 2**63),
        ("integer", 1e300),
        ("integer", float("inf")),
        ("integer", np.uint64(2**63)),
        ("boolean", 2),
        ("boolean", "true"),
        ("boolean", 0.5),
        ("boolean", -1),
        ("category", 1),
        ("category", True),
        ("category", b"a"),
        ("category", 1.5),
    ],
)
def test_a_value_of_another_type_is_refused(kind, value):
    with pytest.raises(DataError, match="expected"):
        read_value(kind, value)


@pytest.mark.parametrize(
    "kind, cell, read",
    [
        ("float64", "", None),
        ("float64", "nan", None),
        ("float64", "NaN", None),
        ("float64", " 1.5 ", 1.5),
        ("float64", "-inf", float("-inf")),
        ("float64", "1e400", float("inf")),
        ("float32", "0.1", 0.10000000149011612),
        ("integer", "3", 3),
        ("integer", "3.0", 3),
        ("integer", "9007199254740993.0", 2**53 + 1),
        ("integer", "-9223372036854775808", -(2**63)),
        ("integer", "1e3", 1000),
        ("integer", "", None),
        ("boolean", "TRUE", True),
        ("boolean", "False", False),
        ("boolean", "1", True),
        ("boolean", "0", False),
        ("boolean", "", None),
        ("boolean", "t", True),
        ("boolean", "null", None),
        ("float64", "NA", None),
        ("integer", "\\N", None),
        ("float32", " n/a ", None),
        ("float64", "None", None),
        ("float64", "-", None),
        ("category", "NA", "NA"),
        ("category", "nan", "nan"),
        ("category", "null", "null"),
        ("category", "", None),
        ("category", " ", " "),
    ],
)
def test_a_csv_cell_is_read(kind, cell, read):
    found = read_cell(kind, cell)
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    "kind, cell",
    [
        ("float64", "abc"),
        ("float64", "1_000"),
        ("float64", "١"),
        ("float64", "1,5"),
        ("float64", "none"),
        ("float64", "true"),
        ("integer", "3.5"),
        ("integer", "inf"),
        ("integer", "9223372036854775808"),
        ("integer", "1e30"),
        ("integer", "x"),
        ("boolean", "yes"),
        ("boolean", "2"),
        ("boolean", "1.0"),
    ],
)
def test_a_csv_cell_of_another_type_is_refused(kind, cell):
    with pytest.raises(DataError, match="expected"):
        read_cell(kind, cell)


@given(st.floats(allow_nan=False))
def test_float32_rounding_is_numpys(x):
    with np.errstate(over="ignore"):
        assert to_float32(x) == float(np.float32(x))
