"""The grammar of the decision sheet, both ways, and the paper reader that follows a sheet's text.

The reader goes from step to step as a person does, and knows nothing but the text. It is strict: a
cell that it can't understand, or a value that fits no row of a step or two, is a `ValueError`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from html.parser import HTMLParser
from typing import TYPE_CHECKING, TypeAlias

from mbndt.rules import Feature, FeatureType, Label, Threshold
from mbndt.rules.values import Value, read_value

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

TYPES = {
    "number": FeatureType.FLOAT64,
    "number, rounded to float32": FeatureType.FLOAT32,
    "whole number": FeatureType.INTEGER,
    "yes or no": FeatureType.BOOLEAN,
    "category": FeatureType.CATEGORY,
}
BOOLEANS = {"no (false)": False, "yes (true)": True}
MISSING, OTHER, ANY = "missing", "not listed", "any number"
PROBABILITY = "Probability of "
EXACT, EXACT_VALUE = "Exact figures", "Exact value"

_BOOLEAN_WORDS = {value: words for words, value in BOOLEANS.items()}

_N = r"-?[\d.]+(?:e[+-]?\d+)?"
_RANGE = re.compile(
    rf"{ANY}|below (?P<below>{_N})|(?P<least>{_N}) or more|(?P<low>{_N}) to below (?P<high>{_N})"
    rf"|(?P<first>{_N})(?: to (?P<last>{_N}))?"
)
_TEXT = r"“[^“”]*”"
_ITEM = f"{_TEXT}|{'|'.join(map(re.escape, BOOLEANS))}"
_ITEMS = re.compile(f"(?:{_ITEM})(?: or (?:{_ITEM}))*")
_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")
_STEP = re.compile(r"Step (\d+): .*\(([A-Z]+)\)")
_GOAL = re.compile(r"go to step (?P<step>\d+)|R(?P<leaf>\d+): (?P<answer>.+)")
# The rows' parts; a quoted text may hold what parts them.
_PARTS = re.compile(rf"(?:{_TEXT}|(?!, or )[^“])+")
_EXACT = re.compile(r"[^(]+ % \(([^)]+)\).*")

Bounds: TypeAlias = tuple[Threshold | None, Threshold | None]


@dataclass(frozen=True)
class Answer:
    """One row of a step: all values that lead to one step or result (a leaf id).

    `bounds` are half-open `[low, high)`, None for an open end; `says` is the answer that stands
    beside a result.
    """

    step: int | None = None
    leaf: int | None = None
    bounds: tuple[Bounds, ...] = ()
    values: tuple[str | bool, ...] = ()
    missing: bool = False
    other: bool = False
    says: str = ""

    @property
    def parts(self) -> list[str]:
        """Return what fits, as it is printed, each interval by itself."""
        found = [*map(_bounds_text, self.bounds)]
        if self.values:
            found.append(" or ".join(map(value_text, self.values)))
        found += [OTHER] * self.other + [MISSING] * self.missing
        return [*(f"{text}, or" for text in found[:-1]), found[-1]]

    @property
    def then(self) -> str:
        """Return where it leads, as it is printed."""
        if self.leaf is None:
            return f"go to step {self.step}"
        return f"R{self.leaf}: {self.says}"

    def names(self, value: Value) -> bool:
        """Tell whether this row names the value; a row for what isn't listed names nothing."""
        if value is None or isinstance(value, (str, bool)):
            return self.missing if value is None else value in self.values
        return any(
            (low is None or value >= low) and (high is None or value < high)
            for low, high in self.bounds
        )


@dataclass(frozen=True)
class Step:
    """One question: the letter of the input it asks for, and its answers."""

    number: int
    letter: str
    answers: tuple[Answer, ...]

    @property
    def ends(self) -> set[Threshold]:
        """Return the ends of its intervals."""
        return {low for answer in self.answers for low, _ in answer.bounds if low is not None}

    def pick(self, value: Value) -> Answer:
        """Return the one row that fits; raises `ValueError` where none or two do."""
        fits = [answer for answer in self.answers if answer.names(value)]
        if not fits and value is not None:
            fits = [answer for answer in self.answers if answer.other]
        if len(fits) != 1:
            raise ValueError(f"step {self.number}: {len(fits)} rows fit {value!r}")
        return fits[0]


@dataclass(frozen=True)
class Result:
    """A printed result: the answer, also `as_printed`, and its probabilities by class index.

    A regression has None of them.
    """

    answer: Label | float
    as_printed: str
    probabilities: tuple[float, ...] | None


@dataclass(frozen=True)
class Sheet:
    """What a person takes from the paper: inputs by letter, steps and results by number."""

    inputs: Mapping[str, Feature]
    steps: Mapping[int, Step]
    results: Mapping[int, Result]

    def follow(self, row: Mapping[str, object]) -> Iterator[tuple[Step, Answer]]:
        """Yield the steps that a row of raw values takes, each with the answer that fits."""
        number = 1 if self.steps else None
        while number is not None:
            step = self.steps[number]
            feature = self.inputs[step.letter]
            answer = step.pick(read_value(feature.type, row[feature.name]))
            yield step, answer
            number = answer.step

    def leaf(self, row: Mapping[str, object]) -> int:
        """Return the number of the result that a row of raw values ends in."""
        route = list(self.follow(row))
        (leaf,) = {route[-1][1].leaf} if route else self.results
        assert leaf is not None
        return leaf


def quoted(text: str) -> str:
    r"""Return a text in quotes, from which it can be read back exactly.

    >>> print(quoted("two\nlines"))
    “two\u{a}lines”
    """
    return f"“{_escaped(text)}”"


def _escaped(text: str) -> str:
    r"""Write what print would hide as `\u{…}`: controls, odd blanks, quotes, look-alikes."""
    composed = unicodedata.normalize("NFC", text) == text
    last = len(text) - 1

    def safe(i: int, c: str) -> bool:
        if c == " ":
            return 0 < i < last and text[i - 1] != " "
        shown = c not in "\\“”" and unicodedata.category(c)[0] not in "CZ"
        return shown and (composed or c.isascii())

    return "".join(c if safe(i, c) else f"\\u{{{ord(c):x}}}" for i, c in enumerate(text))


def unquoted(text: str) -> str:
    r"""Return the text that a quoted text stands for.

    >>> unquoted(r"“a\u{a}b”")
    'a\nb'
    """
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), _match(_TEXT, text)[0][1:-1])


def number_text(x: Threshold) -> str:
    """Return the shortest text that reads back as the same number, without exponent if short."""
    if isinstance(x, int):
        return str(x)
    digits = format(Decimal(repr(x)), "f").removesuffix(".0")
    return digits if len(digits) <= 20 else repr(x)


def value_text(value: Value) -> str:
    """Return a label or a value of an input as it stands on the sheet."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return _BOOLEAN_WORDS[value]
    return quoted(value) if isinstance(value, str) else number_text(value)


def _bounds_text(bounds: Bounds) -> str:
    low, high = bounds
    if low is None:
        return ANY if high is None else f"below {number_text(high)}"
    if high is None:
        return f"{number_text(low)} or more"
    if isinstance(high, int):
        return f"{low} to {high - 1}" if low < high - 1 else f"{low}"
    return f"{number_text(low)} to below {number_text(high)}"


def answer_rows(sheet: Sheet, table: Table) -> Predictions:
    """Answer each row of a table by the sheet alone."""
    import numpy as np

    from mbndt.interpreter import Predictions

    leaf = [sheet.leaf(row) for row in table.records(tuple(sheet.inputs.values()))]
    found = [sheet.results[i] for i in leaf]
    probabilities = None
    listed = [result.probabilities for result in sheet.results.values()]
    if (first := listed[0]) is not None:
        rows = [result.probabilities for result in found]
        probabilities = np.array(rows, np.float64).reshape(len(rows), len(first))
    return Predictions(np.array(leaf, np.int64), [r.answer for r in found], probabilities)


def read_sheet(text: str, *, html: bool = False) -> Sheet:
    """Return what a sheet says; raises `ValueError` for one that can't be followed."""
    inputs: dict[str, Feature] = {}
    steps: dict[int, Step] = {}
    results: dict[int, Result] = {}
    tables = list(_html_tables(text) if html else _markdown_tables(text))
    for heading, rows in tables:
        if heading == "Columns":
            inputs |= {row["Input"]: _feature(row) for row in rows}
    for heading, rows in tables:
        if match := _STEP.fullmatch(heading):
            number, letter = int(match[1]), match[2]
            read = int if inputs[letter].type == FeatureType.INTEGER else float
            steps[number] = Step(number, letter, tuple(_answer(row, read) for row in rows))
        elif heading in ("Results", EXACT):
            for row in rows:
                _add_result(results, row)
    _check_goals(steps, results)
    return Sheet(inputs, steps, results)


def _check_goals(steps: Mapping[int, Step], results: Mapping[int, Result]) -> None:
    for step in steps.values():
        for goal in step.answers:
            if goal.leaf is not None and goal.says != results[goal.leaf].as_printed:
                raise ValueError(f"step {step.number}: R{goal.leaf} has two answers")
            if goal.step is not None and (goal.step not in steps or goal.step <= step.number):
                raise ValueError(f"step {step.number}: no way to step {goal.step}")


def _match(pattern: str | re.Pattern[str], text: str) -> re.Match[str]:
    if found := re.fullmatch(pattern, text):
        return found
    raise ValueError(f"can't read {text!r}")


def _item(text: str) -> str | bool:
    return BOOLEANS[text] if text in BOOLEANS else unquoted(text)


def _feature(row: Mapping[str, str]) -> Feature:
    return Feature(unquoted(row["Column"]), TYPES[row["Type"]])


def _answer(row: Mapping[str, str], read: Callable[[str], Threshold]) -> Answer:
    text, goal = row["If it is"], _match(_GOAL, row["Then"])
    step, leaf = (int(goal[key]) if goal[key] else None for key in ("step", "leaf"))
    answer = Answer(step, leaf, says=goal["answer"] or "")
    for part in (found[0].removeprefix(" or ").strip() for found in _PARTS.finditer(text)):
        answer = _with_part(answer, part, read)
    return answer


def _with_part(answer: Answer, text: str, read: Callable[[str], Threshold]) -> Answer:
    if text == MISSING:
        return replace(answer, missing=True)
    if text == OTHER:
        return replace(answer, other=True)
    if _ITEMS.fullmatch(text):
        items = (_item(item[0]) for item in re.finditer(_ITEM, text))
        return replace(answer, values=(*answer.values, *items))
    return replace(answer, bounds=(*answer.bounds, _bounds(text, read)))


def _bounds(text: str, read: Callable[[str], Threshold]) -> Bounds:
    """Return the half-open interval that a text says."""
    found = {key: read(part) for key, part in _match(_RANGE, text).groupdict().items() if part}
    if "first" in found:
        # Only whole numbers have a last one.
        if read is not int:
            raise ValueError(f"can't read {text!r}")
        return found["first"], found.get("last", found["first"]) + 1
    return found.get("least", found.get("low")), found.get("below", found.get("high"))


def _add_result(results: dict[int, Result], row: Mapping[str, str]) -> None:
    """Add a row of results; classes that don't fit one table go on in the next."""
    leaf = int(_match(r"R(\d+)", row["Result"])[1])
    if "Value" in row:
        results[leaf] = Result(float(row["Value"]), row["Value"], None)
        return
    if EXACT_VALUE in row:
        results[leaf] = replace(results[leaf], answer=float(row[EXACT_VALUE]))
        return
    printed = row["Answer"]
    before = results[leaf].probabilities if leaf in results else ()
    assert before is not None
    here = tuple(
        float(_match(_EXACT, cell)[1]) for head, cell in row.items() if head.startswith(PROBABILITY)
    )
    answer = int(printed) if re.fullmatch(r"-?\d+", printed) else _item(printed)
    results[leaf] = Result(answer, printed, before + here)


def _records(table: list[list[str]]) -> list[dict[str, str]]:
    header, *rows = table
    return [dict(zip(header, row, strict=True)) for row in rows]


def _markdown_tables(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield each table of a Markdown text as `(heading above it, rows)`, escapes undone."""
    heading, table = "", list[list[str]]()
    for line in [*text.split("\n"), ""]:
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.findall(r"((?:\\.|[^|\\])*)\|", line[1:])]
            if not all(re.fullmatch(":?-+", cell) for cell in cells):
                table.append([_unescaped(cell) for cell in cells])
        elif table:
            yield heading, _records(table)
            table = []
        if line.startswith("#"):
            heading = _unescaped(line.lstrip("#").strip())


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _html_tables(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield each table of a page as `(heading above it, rows)`, entities undone."""
    page = _Page()
    page.feed(text)
    page.close()
    for heading, table in page.tables:
        yield heading, _records(table)


class _Page(HTMLParser):
    """Collects the tables of a page, each with the heading above it."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self._heading = self._text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self.tables.append((self._heading, []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("h1", "h2", "h3", "th", "td"):
            self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        text = " ".join(self._text.split())
        if tag in ("h1", "h2", "h3"):
            self._heading = text
        elif tag in ("th", "td"):
            self.tables[-1][1][-1].append(text)
