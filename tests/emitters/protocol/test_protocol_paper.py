"""The Markdown sheet, re-parsed by a second reader of its own, routes as the interpreter does.

This reader shares nothing with the one in the package: a Markdown library finds the tables, and a
few regular expressions read the rows.
"""

import itertools
import re
import struct
from collections.abc import Iterator, Mapping

import pytest
from conftest import EXAMPLE
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mixed_rules import STATED, mixed_rules
from sheets import LABELS, NO, YES, languages
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
# What this reader knows of each language, by itself: patterns, with N for a number, and words.
SAID = {
    "en": {
        "step": r"Step (\d+): .*\? \(([A-Z]+)\)",
        "result": r"R(\d+): ",
        "stop": "stop, ",
        "go": "go to step ",
        "tables": ["Columns", "Inputs", "Results"],
        "because": "Because",
        "types": ["yes or no", "whole number", "number, rounded to float32", "category"],
        "or": " or ",
        "missing": "not known",
        "other": "not listed",
        "any": "any",
        "no": "no (false)",
        "yes": "yes (true)",
        "any number": "any number",
        "below": "below N",
        "or more": "N or more",
        "to below": "N to below N",
        "pair": ": ",
        "every": "every input has this answer",
        "never": "no input ends here",
    },
    "de": {
        "step": r"Schritt (\d+): .*\? \(([A-Z]+)\)",
        "result": r"R(\d+): ",
        "stop": "Halt, ",
        "go": "weiter mit Schritt ",
        "tables": ["Spalten", "Eingaben", "Ergebnisse"],
        "because": "Begründung",
        "types": ["ja oder nein", "ganze Zahl", "Zahl, auf float32 gerundet", "Kategorie"],
        "or": " oder ",
        "missing": "nicht bekannt",
        "other": "nicht aufgeführt",
        "any": "alle",
        "no": "nein (false)",
        "yes": "ja (true)",
        "any number": "jede Zahl",
        "below": "unter N",
        "or more": "N oder mehr",
        "to below": "N bis unter N",
        "pair": ": ",
        "every": "jede Eingabe hat diese Antwort",
        "never": "keine Eingabe endet hier",
    },
    "fr": {
        "step": r"Étape (\d+)\xa0: .*\xa0\? \(([A-Z]+)\)",
        "result": "R(\\d+)\xa0: ",
        "stop": "arrêt, ",
        "go": "aller à l’étape ",
        "tables": ["Colonnes", "Entrées", "Résultats"],
        "because": "Raison",
        "types": ["oui ou non", "nombre entier", "nombre, arrondi à float32", "catégorie"],
        "or": " ou ",
        "missing": "inconnu",
        "other": "hors liste",
        "any": "tout",
        "no": "non (false)",
        "yes": "oui (true)",
        "any number": "tout nombre",
        "below": "moins de N",
        "or more": "N ou plus",
        "to below": "de N à moins de N",
        "pair": "\xa0: ",
        "every": "toute entrée a cette réponse",
        "never": "aucune entrée n’arrive ici",
    },
    "es": {
        "step": r"Paso (\d+): ¿.*\? \(([A-Z]+)\)",
        "result": r"R(\d+): ",
        "stop": "alto, ",
        "go": "ir al paso ",
        "tables": ["Columnas", "Entradas", "Resultados"],
        "because": "Motivo",
        "types": ["sí o no", "número entero", "número, redondeado a float32", "categoría"],
        "or": " o ",
        "missing": "desconocido",
        "other": "fuera de la lista",
        "any": "todo",
        "no": "no (false)",
        "yes": "sí (true)",
        "any number": "cualquier número",
        "below": "menos de N",
        "or more": "N o más",
        "to below": "de N a menos de N",
        "pair": ": ",
        "every": "toda entrada tiene esta respuesta",
        "never": "ninguna entrada acaba aquí",
    },
}


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

    def __init__(self, text: str, language: str = "en") -> None:
        self.said = said = SAID[language]
        self.point = "." if language == "en" else ","
        columns, inputs, results_title = said["tables"]
        self.columns: dict[str, tuple[str, str]] = {}
        self.steps: dict[int, tuple[str, list[list[str]]]] = {}
        self.results: dict[int, dict[str, str]] = {}
        self.letters: dict[str, str] = {}
        for heading, rows in sections(text):
            if step := re.fullmatch(said["step"], heading):
                self.steps[int(step[1])] = step[2], rows[1:]
            elif heading == columns:
                self.columns = {row[0]: (unescaped(row[1][1:-1]), row[2]) for row in rows[1:]}
            elif heading == inputs:
                self.letters = {row[1]: row[0] for row in rows[1:]}
            elif heading == results_title:
                results = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
                self.results = {int(row[rows[0][0]][1:]): row for row in results}

    def leaf(self, row: Mapping[str, object]) -> int:
        """Follow the steps from 1 to the number of a result."""
        if not self.steps:
            return next(iter(self.results))
        number, seen = 1, set[int]()
        while number not in seen:
            seen.add(number)
            letter, rows = self.steps[number]
            column, kind = self.columns[letter]
            listed = {unescaped(t) for said, _ in rows for t in re.findall("“([^“”]*)”", said)}
            ends = {then for said, then in rows if self.fits(said, kind, row[column], listed)}
            assert len(ends) == 1, (number, row[column], rows)
            if result := re.match(self.said["result"], end := ends.pop()):
                return int(result[1])
            if self.said["stop"] in end:
                return STOP
            number = int(end.removeprefix(self.said["go"]))
        raise AssertionError(f"step {number} twice")

    def holds(self, leaf: int, row: Mapping[str, object]) -> bool:
        """Tell whether a row meets all that a result's reason says."""
        said = self.results[leaf][self.said["because"]]
        if said == self.said["every"]:
            return True
        if said == self.said["never"]:
            return False
        for part in re.findall("(?:“[^“”]*”|[^;“])+", said):
            title, condition = re.fullmatch(
                f"(“[^“”]*”|[^:“]+?){self.said['pair']}(.*)", part.strip()
            ).groups()
            column, kind = self.columns[self.letters[title]]
            if not self.fits(condition, kind, row[column], set()):
                return False
        return True

    def fits(self, said: str, kind: str, raw: object, listed: set[str]) -> bool:
        """Tell whether a raw value fits what a row says."""
        words = self.said
        yes_or_no, whole, rounded, category = words["types"]
        texts = [unescaped(text) for text in re.findall("“([^“”]*)”", said)]
        parts = re.sub("“[^“”]*”", "T", said).split("," + words["or"])
        if raw is None or raw == "" or raw != raw:
            return words["missing"] in parts
        if kind == category and parts[0].startswith(words["any"]):
            return raw not in texts
        if kind == category:
            return raw in texts or (words["other"] in parts and raw not in listed)
        if kind == yes_or_no:
            own = words["yes" if raw else "no"]
            return any(own in part.split(words["or"]) for part in parts)
        read = int if kind == whole else float
        value = single(raw) if kind == rounded else read(raw)
        return any(self.inside(part, value, read) for part in parts if part != words["missing"])

    def inside(self, part: str, x, read) -> bool:
        number = rf"(-?\d[\d{self.point}]*(?:e[+-]\d+)?)"
        if part == self.said["any number"]:
            return True
        for key, holds in {
            "below": lambda high: x < high,
            "or more": lambda low: low <= x,
            "to below": lambda low, high: low <= x < high,
        }.items():
            if found := re.fullmatch(self.said[key].replace("N", number), part):
                return holds(*(read(text.replace(self.point, ".")) for text in found.groups()))
        raise AssertionError(part)


def paper_of(rules: Rules, least: int = 0, language: str = "en", **stated: object) -> Paper:
    sheet = {**stated, "least_rows": least, "language": language}
    return Paper(emit(rules, "protocol", format="md", sheet=sheet).text, language)


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


@languages
@with_and_without_stops
@pytest.mark.parametrize("stated", [{}, STATED], ids=["bare", "stated"])
def test_a_thousand_rows_end_on_the_mixed_sheet_where_the_interpreter_ends(stated, least, language):
    rules = mixed_rules()
    assert len(rules.leaves) == 16
    assert_routes(rules, 1000, least, language=language, **stated)


@with_and_without_stops
def test_a_thousand_rows_end_on_the_example_sheet_where_the_interpreter_ends(least):
    assert_routes(Rules.from_json(EXAMPLE.read_bytes()), 1000, least)


@languages
@slowly
@given(rules=rule_trees(hostile=True), least=st.integers(0, 9))
def test_rows_end_on_any_sheet_where_the_interpreter_ends(rules, least, language):
    assert_routes(rules, 100, least, language=language)


def test_a_patient_of_whom_nothing_was_measured_gets_no_answer():
    for rules in (mixed_rules(), Rules.from_json(EXAMPLE.read_bytes())):
        unmeasured = dict.fromkeys(rules.feature)
        assert paper_of(rules, 5).leaf(unmeasured) == STOP


@languages
@slowly
@given(rules=rule_trees(hostile=True))
def test_the_printed_reason_holds_for_the_results_rows_and_forces_its_answer(rules, language):
    paper = paper_of(rules, language=language)
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
