"""Columns that number or name the rows, or hold the answer, are told of; good ones are not."""

import re
import uuid
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

from mbndt.errors import DataWarning
from mbndt.learning.apart import apart
from mbndt.learning.pipeline import prepare
from mbndt.learning.settings import preset
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.files import read_table
from mbndt.tables.table import Table

ROWS = 400


def told(columns: dict | pd.DataFrame | Table, target: str = "y") -> dict[str, str]:
    """The warnings about a table, by column."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        prepare(Table.of(columns), target, preset("fast"))
    assert all(entry.category is DataWarning for entry in found)
    texts = [str(entry.message) for entry in found]
    return {text.split("'")[1]: text.partition("' ")[2] for text in texts}


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def y(draw) -> np.ndarray:
    return draw.integers(0, 2, ROWS)


def test_a_column_that_alone_tells_the_target_is_named_with_its_share(draw, y):
    noise = draw.normal(size=ROWS)
    columns = {
        "copy": np.where(y == 1, "yes", "no"),
        "offset": y * 3 + draw.random(ROWS),
        "gap": np.where(y == 1, np.nan, noise),
        "strong": y + draw.normal(0, 0.3, ROWS),
        "noise": noise,
        "flag": y == 1,
        "banded": (y + 2 * draw.integers(0, 9, ROWS)).astype(float),
        "empty": np.full(ROWS, np.nan),
        "y": y,
    }
    found = told(columns)
    assert found.keys() == {"copy", "offset", "gap", "flag", "banded"}
    for text in found.values():
        assert re.match(r"alone tells 'y' in (99|100)\.\d% of rows; check that it is known", text)


def test_the_share_of_rows_is_right(draw):
    y = np.repeat([0, 1], 1000)
    x = np.where(np.arange(2000) % 100 == 0, 1 - y, y)  # wrong in one of a hundred
    assert "in 99.0% of rows" in told({"x": x, "y": y})["x"]
    assert told({"x": np.where(np.arange(2000) % 25 == 0, 1 - y, y), "y": y}) == {}


def test_a_rare_class_counts_as_much_as_the_other(draw):
    y = (np.arange(2000) % 50 == 0).astype(int)
    assert told({"x": draw.normal(size=2000), "y": y}) == {}  # though .98 of rows are 0
    assert "x" in told({"x": y + 0.5 * draw.random(2000), "y": y})


def test_a_column_that_tells_a_number_is_named(draw):
    y = draw.normal(size=ROWS)
    columns = {"pounds": 2.2 * y, "near": y + draw.normal(0, 0.3, ROWS), "y": y}
    found = told(columns)
    assert found.keys() == {"pounds"}
    assert found["pounds"].startswith("alone tells 'y' (R squared of the ranks 1.000); check")


@pytest.mark.parametrize("kind", ["int64", "float64", "Int64", "int32"])
def test_numbers_of_rows_are_named_in_every_type(draw, y, kind):
    orders = {
        "up": np.arange(ROWS),
        "down": -np.arange(ROWS),
        "mixed": draw.permutation(ROWS) + 5,
        "gaps": np.cumsum(draw.integers(1, 9, ROWS)),
    }
    usual = {"age": draw.integers(0, 90, ROWS), "pay": draw.integers(0, 10**8, ROWS)}
    frame = pd.DataFrame(orders | usual).astype(kind).assign(y=y)
    found = told(frame)
    assert found.keys() == orders.keys()
    assert all(text.startswith("numbers the rows, which says little") for text in found.values())


def test_rows_sorted_by_the_target_are_told_of():
    y = np.arange(ROWS) >= 150
    (text,) = told({"id": np.arange(ROWS), "y": y}).values()
    said = r"numbers the rows and alone tells 'y' in (99|100)\.\d% of rows, as if they had been"
    assert re.fullmatch(said + r" sorted by it; leave it out \(`exclude`\)", text)
    order = np.random.default_rng(1).permutation(ROWS)
    (other,) = told({"id": order, "y": y[order]}).values()
    assert other.startswith("numbers the rows and alone tells 'y' in ")


def test_columns_of_names_and_uuids_are_named(draw, y):
    people = draw.integers(0, 80, ROWS)
    uuids = [str(uuid.UUID(int=int(n) * 2**90)) for n in people]
    names = [f"name {i}" for i in range(ROWS)]
    columns = {"name": names, "person": uuids, "town": [f"t{n}" for n in people], "y": y}
    found = told(columns)
    assert found.keys() == {"name", "person"}
    assert found["name"].startswith("has 400 different texts in 400 rows: it names rows")
    assert found["person"].startswith(f"holds {len(set(uuids))} UUIDs in 400 rows")
    lines = [f"{person},{label}" for person, label in zip(uuids, y, strict=True)]
    assert told(parse_csv("\n".join(["person,y", *lines]))).keys() == {"person"}


def test_numbers_and_dates_kept_as_texts_are_named(draw, y):
    ages = [str(n) for n in draw.integers(0, 90, ROWS)]
    columns = {
        "age": ages,
        "part": [*ages[:300], *["NA"] * 100],
        "few": ["NA"] * 300 + ages[:100],
        "zip": [f"0{n}" for n in ages],
        "day": pd.Series(["2026-01-0" + str(i % 9) for i in y]),
        "class": pd.Categorical(ages),
        "label": pd.Categorical([*map(int, ages)]),
        "e": [f"e{n}" for n in ages],
        "y": y,
    }
    found = told(columns)
    assert found.keys() == {"age", "part", "day"}
    assert found["age"].startswith("holds numbers as texts, in 400 of 400 rows")
    assert found["part"].startswith("holds numbers as texts, in 300 of 400 rows")
    assert found["day"].startswith("holds dates as texts, in 400 of 400 rows")


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_strong_predictors_of_known_sets_are_not_suspected(name):
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    assert told(frame, "target") == {}


def test_values_that_stand_apart_at_an_end_are_named(draw, y):
    def with_(value, rows, values):
        found = np.array(values, float)
        found[:rows] = value
        return found

    sugar = draw.normal(120, 30, ROWS).round().clip(50, 200)
    columns = {
        "zeros": with_(0, 5, sugar),
        "nines": with_(999, 3, sugar),
        "lowest": with_(-1, 9, sugar),
        "single": with_(55, 1, draw.integers(0, 7, ROWS)),
        "one zero": with_(0, 1, sugar),
        "spent": with_(0, 200, draw.lognormal(3, 1, ROWS)),
        "visits": draw.poisson(1, ROWS),
        "skewed": draw.lognormal(0, 1, ROWS),
        "large": with_(1.7e308, 1, -1.7e308 * draw.random(ROWS)),
        "y": y,
    }
    found = told(columns)
    assert found.keys() == {"zeros", "nines", "lowest", "single"}
    least, most = sugar[9:].min(), sugar[9:].max()
    assert found["zeros"].startswith("has 0 in 5 of 400 rows, far from all other values (5")
    assert found["lowest"] == (
        f"has -1 in 9 of 400 rows, far from all other values ({least:g} to {most:g}); if it stands"
        " for a missing or a wrong one, leave such cells empty"
    )
    assert found["single"].startswith("has 55 in 1 of 400 rows, far from all other values (0 to 6)")


@pytest.mark.parametrize("rows", [60, 300, 2000])
def test_tails_of_ordinary_columns_hold_nothing_apart(rows):
    draw = np.random.default_rng(3)
    kinds = {
        "normal": lambda: draw.normal(size=rows),
        "skewed": lambda: draw.lognormal(0, 1, rows),
        "waiting": lambda: draw.exponential(size=rows),
        "counts": lambda: draw.poisson(3, rows),
        "mostly none": lambda: draw.exponential(size=rows) * (draw.random(rows) < 0.4),
        "whole": lambda: draw.integers(0, 100, rows),
        "student": lambda: draw.standard_t(3, rows),
        "in steps": lambda: np.round(draw.lognormal(3, 1, rows)),
    }
    alarms = [apart(kind().astype(float)) is not None for kind in kinds.values() for _ in range(99)]
    assert np.mean(alarms) < 0.005


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=99), st.booleans())
def test_what_stands_apart_is_an_end_of_the_column(values, twice):
    column = np.array(values * 60 if twice else values, float)
    found = apart(column)
    assert apart(np.array([])) is None
    if found is not None:
        value, count, low, high = found
        others = column[column != value]
        assert (count, low, high) == (np.sum(column == value), others.min(), others.max())
        assert value < low or value > high


def test_small_tables_and_classes_of_few_rows_are_left_alone():
    assert told({"x": np.arange(40), "y": np.arange(40) > 20}) == {}
    letters = [f"c{i // 10}" for i in range(60)]
    assert told({"x": np.arange(60) // 10, "y": letters}) == {}


def test_the_row_index_of_pandas_is_left_out_unless_asked_for(tmp_path, draw, y):
    frame = pd.DataFrame({"x": draw.normal(size=ROWS), "y": y}).sort_values("y")
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    with pytest.warns(DataWarning, match="'__index_level_0__' is left out: it was the row index"):
        rows, _ = prepare(table, "y", preset("fast"))
    assert [feature.name for feature in rows.features] == ["x"]
    frame.set_index("y").to_parquet(tmp_path / "t.parquet")
    rows, _ = prepare(read_table(tmp_path / "t.parquet"), "y", preset("fast"))
    assert [feature.name for feature in rows.features] == ["x"]
