"""The Markdown sheet, re-parsed by a second reader of its own, routes as the interpreter does.

This reader shares nothing with the one in the package: a Markdown library finds the tables, and a
few regular expressions read the rows.
"""

import itertools
import re
import struct
from collections.abc import Callable, Iterator, Mapping

import pytest
from conftest import EXAMPLE
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mixed_rules import STATED, mixed_rules
from sheets import LABELS, NO, YES
from strategies import rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters import emit
from mbndt.interpreter import leaf_ids
from mbndt.rules import Feature, FeatureType, Interval, Leaf, NumericSplit, Rules
from mbndt.rules.stopping import stopping
from mbndt.tables.table import Table

# A sheet takes so long to make that to shrink a failure would take minutes.
slowly = settings(
    max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
STOP = -1
N = r"(-?\d[\d.]*(?:e[+-]\d+)?)"


def inline(token) -> str:
    """Return a token's text as a program shows it, without markup."""
    return "".join(child.content for child in token.children or ())


def sections(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each heading of a Markdown text with the rows of the tables below it."""
    heading, rows = "", list[list[str]]()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in itertools.pairwise(tokens):
        if before.type == "heading_open":
            yield heading, rows
            heading, rows = inline(token), []
        elif token.type == "tr_open":
            rows.append([])
        elif before.type in ("td_open", "th_open"):
            rows[-1].append(inline(token))
    yield heading, rows


def unescaped(text: str) -> str:
    return re.sub(r"\\u\{(\w+)\}", lambda code: chr(int(code[1], 16)), text)


def single(x: float) -> float:
    """Return the nearest float32; numbers past the greatest become infinite."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return x * float("inf")


class Paper:
    """What one takes from the text: each input's column and type, each step's rows."""

    def __init__(self, text: str) -> None:
        self.columns: dict[str, tuple[str, str]] = {}
        self.steps: dict[int, tuple[str, list[list[str]]]] = {}
        self.results: dict[int, dict[str, str]] = {}
        self.letters: dict[str, str] = {}
        for heading, rows in sections(text):
            if step := re.fullmatch(r"Step (\d+): .*\? \(([A-Z]+)\)", heading):
                self.steps[int(step[1])] = step[2], rows[1:]
            elif heading == "Columns":
                self.columns = {row[0]: (unescaped(row[1][1:-1]), row[2]) for row in rows[1:]}
            elif heading == "Inputs":
                self.letters = {row[1]: row[0] for row in rows[1:]}
            elif heading == "Results":
                results = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
                self.results = {int(row["Result"][1:]): row for row in results}

    def leaf(self, row: Mapping[str, object]) -> int:
        """Follow the steps from 1 to the number of a result."""
        if not self.steps:
            return next(iter(self.results))
        number, seen = 1, set[int]()
        while number not in seen:
            seen.add(number)
            letter, rows = self.steps[number]
            column, kind = self.columns[letter]
            ends = {then for test, then in map(split_row(rows, kind), rows) if test(row[column])}
            assert len(ends) == 1, (number, row[column], rows)
            if result := re.match(r"R(\d+): ", end := ends.pop()):
                return int(result[1])
            if "stop, " in end:
                return STOP
            number = int(end.removeprefix("go to step "))
        raise AssertionError(f"step {number} twice")

    def holds(self, leaf: int, row: Mapping[str, object]) -> bool:
        """Tell whether a row meets all that a result's reason says."""
        said = self.results[leaf]["Because"]
        if said == "every input has this answer":
            return True
        if said == "no input ends here":
            return False
        for part in re.findall("(?:“[^“”]*”|[^;“])+", said):
            title, condition = re.fullmatch("(“[^“”]*”|[^:“]+): (.*)", part.strip()).groups()
            column, kind = self.columns[self.letters[title]]
            if not fits(condition, kind, row[column], set()):
                return False
        return True


Test = Callable[[object], bool]


def split_row(rows: list[list[str]], kind: str) -> Callable[[list[str]], tuple[Test, str]]:
    listed = {unescaped(t) for said, _ in rows for t in re.findall("“([^“”]*)”", said)}
    return lambda cells: (lambda raw: fits(cells[0], kind, raw, listed), cells[1])


def fits(said: str, kind: str, raw: object, listed: set[str]) -> bool:
    """Tell whether a raw value fits what a row says."""
    texts = [unescaped(text) for text in re.findall("“([^“”]*)”", said)]
    parts = re.sub("“[^“”]*”", "T", said).split(", or ")
    if raw is None or raw == "" or raw != raw:
        return "not known" in parts
    if kind == "category" and parts[0].startswith("any"):
        return raw not in texts
    if kind == "category":
        return raw in texts or ("not listed" in parts and raw not in listed)
    if kind == "yes or no":
        return any(("yes (true)" if raw else "no (false)") in part.split(" or ") for part in parts)
    read = int if kind == "whole number" else float
    value = single(raw) if kind == "number, rounded to float32" else read(raw)
    return any(inside(part, value, read) for part in parts if part != "not known")


def inside(part: str, x, read) -> bool:
    if part == "any number":
        return True
    if end := re.fullmatch(f"below {N}", part):
        return x < read(end[1])
    if end := re.fullmatch(f"{N} or more", part):
        return x >= read(end[1])
    if ends := re.fullmatch(f"{N} to below {N}", part):
        return read(ends[1]) <= x < read(ends[2])
    raise AssertionError(part)


def paper_of(rules: Rules, least: int = 0, **stated: object) -> Paper:
    sheet = {**stated, "least_rows": least}
    return Paper(emit(rules, "protocol", format="md", sheet=sheet).text)


def ends_of(rules: Rules, table: Table) -> list[int]:
    """Return where the interpreter sends rows, all stops alike: on paper they have no number."""
    ids = leaf_ids(rules, table).tolist()
    return [STOP if rules.leaves[i].stops else i for i in ids]


def assert_routes(rules: Rules, rows: int, least: int, **stated: object) -> None:
    paper = paper_of(rules, least, **stated)
    table = boundary_rows(rules, rows)
    assert table.n_rows >= rows
    got = [paper.leaf(row) for row in table.records(rules.used)]
    assert got == ends_of(stopping(rules, least), table)


with_and_without_stops = pytest.mark.parametrize("least", [0, 5])


@with_and_without_stops
@pytest.mark.parametrize("stated", [{}, STATED], ids=["bare", "stated"])
def test_a_thousand_rows_end_on_the_mixed_sheet_where_the_interpreter_ends(stated, least):
    rules = mixed_rules()
    assert len(rules.leaves) == 16
    assert_routes(rules, 1000, least, **stated)


@with_and_without_stops
def test_a_thousand_rows_end_on_the_example_sheet_where_the_interpreter_ends(least):
    assert_routes(Rules.from_json(EXAMPLE.read_bytes()), 1000, least)


@slowly
@given(rules=rule_trees(hostile=True), least=st.integers(0, 9))
def test_rows_end_on_any_sheet_where_the_interpreter_ends(rules, least):
    assert_routes(rules, 100, least)


def test_a_patient_of_whom_nothing_was_measured_gets_no_answer():
    for rules in (mixed_rules(), Rules.from_json(EXAMPLE.read_bytes())):
        unmeasured = dict.fromkeys(rules.feature)
        assert paper_of(rules, 5).leaf(unmeasured) == STOP


@slowly
@given(rule_trees(hostile=True))
def test_the_printed_reason_holds_for_the_results_rows_and_forces_its_answer(rules):
    paper = paper_of(rules)
    table = boundary_rows(rules, 100)
    labels = {leaf.leaf: rules.label(leaf) for leaf in rules.leaves}
    rows = table.records(rules.used)
    for row, leaf in zip(rows, ends_of(rules, table), strict=True):
        if leaf == STOP:
            continue
        assert paper.holds(leaf, row)
        for other in paper.results:
            assert not paper.holds(other, row) or labels[other] == labels[leaf]


def test_a_reason_names_whole_numbers_and_zero_as_the_step_does():
    x, n = Feature("x", FeatureType.FLOAT64), Feature("n", FeatureType.INTEGER)
    inner = NumericSplit("n", (Interval(8.5, 0), Interval(None, 1)), 0, (Leaf(0, NO), Leaf(1, YES)))
    root = NumericSplit("x", (Interval(-0.0, 0), Interval(None, 1)), 0, (inner, Leaf(2, NO)))
    paper = paper_of(Rules("r", LABELS, (x, n), root))
    assert [row["Because"] for row in paper.results.values()] == [
        "n: below 9, or not known",
        "x: below 0, or not known; n: 9 or more",
        "x: 0 or more",
    ]


def test_what_only_missing_values_lead_to_has_them_as_its_reason():
    parts = (Interval(1.0, 0), Interval(None, 0))
    split = NumericSplit("x", parts, 1, (Leaf(0, NO), Leaf(1, YES)))
    paper = paper_of(Rules("r", LABELS, (Feature("x", FeatureType.FLOAT64),), split))
    assert [row["Because"] for row in paper.results.values()] == ["x: any number", "x: not known"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("| 9 to below 21 |", "| 9 to below 20 |"),
        ("| below 2.15, or not known |", "| below 2.15 |"),
        ("go to step 3", "go to step 4"),
        ("| 2.15 or more |", "| above 2.15 |"),
    ],
)
def test_this_reader_sees_a_sheet_that_was_changed(before, after):
    rules = Rules.from_json(EXAMPLE.read_bytes())
    text = emit(rules, "protocol", format="md", sheet={"least_rows": 0}).text
    assert before in text
    paper = Paper(text.replace(before, after))
    table = boundary_rows(rules, 300)
    expected = leaf_ids(rules, table).tolist()
    with pytest.raises(AssertionError):
        assert [paper.leaf(row) for row in table.records(rules.used)] == expected
