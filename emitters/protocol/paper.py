"""The paper reader: it follows a sheet's text from step to step, as a person does.

It knows nothing but the text, and is strict: a cell that it can't understand, or a value that fits
no row of a step or two, is a `ValueError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from mbndt.rules import Feature, FeatureType, Threshold

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

from mbndt.emitters.protocol.grammar import (
    BOOLEANS,
    CHANCES,
    STOPPED,
    TEXT,
    TYPES,
    Answer,
    Bounds,
    Result,
    Sheet,
    Step,
    match_of,
    unquoted,
)
from mbndt.emitters.protocol.stops import STOPS
from mbndt.emitters.protocol.words import (
    ENGLISH,
    language,
    languages,
    pattern,
    pointed,
    say,
    speaking,
)

# A code may have a label before it, which says nothing of the value: `lives (“0”)`.
_LABEL = r"[^“”(),:;]+"
_LABELLED = re.compile(rf"{_LABEL} \((.+)\)")
_EXACT = re.compile(r"[^(]+ % \(([^)]+)\).*")


class _Grammar:
    """The rows, headings and cells of a sheet in the language spoken, as regular expressions."""

    def __init__(self) -> None:
        n = rf"-?[\d{re.escape(say('decimal_sign'))}]+(?:e[+-]?\d+)?"
        ranges = (
            pattern("any_number"),
            pattern("below", high=f"(?P<below>{n})"),
            pattern("or_more", low=f"(?P<least>{n})"),
            pattern("to_below", low=f"(?P<low>{n})", high=f"(?P<high>{n})"),
        )
        self.range = re.compile("|".join(ranges))
        self.booleans = {say(key): value for value, key in BOOLEANS.items()}
        self.item = "|".join([TEXT, *map(re.escape, self.booleans)])
        item = rf"(?:{self.item}|{_LABEL} \({TEXT}\))"
        self.items = re.compile(f"{item}(?: {pattern('or')} {item})*")
        # The rows' parts; a quoted text may hold what parts them.
        self.parts = re.compile(rf"(?:{TEXT}|(?!, {pattern('or')} )[^“])+")
        self.step = re.compile(pattern("step", number=r"(\d+)", question=".*", letter="([A-Z]+)"))
        self.goal = re.compile(
            "|".join(
                [
                    pattern("go_to_step", number=r"(?P<step>\d+)"),
                    pattern("result_is", leaf=r"(?P<leaf>\d+)", answer="(?P<answer>.+)"),
                    f"(?P<stop>{'|'.join(pattern(key, own='.+') for key in STOPS)})",
                ]
            )
        )
        self.types = {say(key): kind for kind, key in TYPES.items()}
        self.chances = {name: pattern(key, answer=".*") for name, key in CHANCES.items()}


@cache
def _grammar_of(language: str) -> _Grammar:
    with speaking(language):
        return _Grammar()


def _grammar() -> _Grammar:
    return _grammar_of(language())


def answer_rows(sheet: Sheet, table: Table) -> Predictions:
    """Answer each row of a table by the sheet alone."""
    import numpy as np

    from mbndt.interpreter import Predictions

    leaf = [sheet.leaf(row) for row in table.records(tuple(sheet.inputs.values()))]
    first = next(iter(sheet.results.values()))
    nothing = {name: (math.nan,) * len(told) for name, told in first.outputs.items()}
    ends = {**sheet.results, STOPPED: Result(None, "", nothing)}
    found = [ends[i] for i in leaf]
    outputs = {
        name: np.array([one.outputs[name] for one in found], np.float64).reshape(-1, len(told))
        for name, told in first.outputs.items()
    }
    return Predictions(np.array(leaf, np.int64), [r.answer for r in found], outputs)


def read_sheet(text: str, *, html: bool = False) -> Sheet:
    """Return what a sheet says; raises `ValueError` for one that can't be followed."""
    with speaking(language_of(text, html=html)):
        return _read(text, html=html)


def _read(text: str, *, html: bool) -> Sheet:
    inputs: dict[str, Feature] = {}
    steps: dict[int, Step] = {}
    results: dict[int, Result] = {}
    tables = list(read_tables(text, html=html))
    for heading, rows in tables:
        if heading == say("columns"):
            inputs |= {row[say("input")]: _feature(row) for row in rows}
    for heading, rows in tables:
        if match := _grammar().step.fullmatch(heading):
            number, letter = int(match[1]), match[2]
            read = int if inputs[letter].type == FeatureType.INTEGER else float
            steps[number] = Step(number, letter, tuple(_answer(row, read) for row in rows))
        elif heading in (say("results"), say("exact_figures")):
            for row in rows:
                _add_result(results, row, exact=heading == say("exact_figures"))
    _check_goals(steps, results)
    return Sheet(inputs, steps, results)


def read_tables(text: str, *, html: bool = False) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield each table of a sheet as `(heading above it, rows)`."""
    return _html_tables(text) if html else _markdown_tables(text)


def language_of(text: str, *, html: bool = False) -> str:
    """Return the language that a sheet says it is in: `lang` of a page, the first line of Markdown.

    Raises `ValueError` for one that there are no words of.
    """
    named = r'<html\b[^>]*\blang="([^"]*)"' if html else r"\A<!-- lang: (.*) -->\n"
    found = re.search(named, text)
    if found and found[1] not in languages():
        raise ValueError(f"can't read a sheet in {found[1]!r}, but in {', '.join(languages())}")
    return found[1] if found else ENGLISH


def _check_goals(steps: Mapping[int, Step], results: Mapping[int, Result]) -> None:
    for step in steps.values():
        for goal in step.answers:
            if goal.leaf is not None and goal.says != results[goal.leaf].as_printed:
                raise ValueError(f"step {step.number}: R{goal.leaf} has two answers")
            if goal.step is not None and (goal.step not in steps or goal.step <= step.number):
                raise ValueError(f"step {step.number}: no way to step {goal.step}")


def _item(text: str) -> str | bool:
    known = _grammar().booleans
    return known[text] if text in known else unquoted(text)


def _feature(row: Mapping[str, str]) -> Feature:
    return Feature(unquoted(row[say("column")]), _grammar().types[row[say("type")]])


def _answer(row: Mapping[str, str], read: Callable[[str], Threshold]) -> Answer:
    text, goal = row[say("if_it_is")], match_of(_grammar().goal, row[say("then")])
    step, leaf = (int(goal[key]) if goal[key] else None for key in ("step", "leaf"))
    stop = STOPPED if goal["stop"] else None
    answer = Answer(step, leaf, stop, says=goal["answer"] or goal["stop"] or "")
    for part in _grammar().parts.findall(text):
        answer = _with_part(answer, part.removeprefix(f" {say('or')} ").strip(), read)
    return answer


def _with_part(answer: Answer, text: str, read: Callable[[str], Threshold]) -> Answer:
    if text == say("not_known"):
        return replace(answer, missing=True)
    if text == say("not_listed"):
        return replace(answer, other=True)
    if _grammar().items.fullmatch(text):
        items = (_item(item[0]) for item in re.finditer(_grammar().item, text))
        return replace(answer, values=(*answer.values, *items))
    return replace(answer, bounds=(*answer.bounds, _bounds(text, read)))


def _bounds(text: str, read: Callable[[str], Threshold]) -> Bounds:
    """Return the half-open interval that a text says."""
    parts = match_of(_grammar().range, text).groupdict()
    found = {key: read(pointed(part)) for key, part in parts.items() if part}
    return found.get("least", found.get("low")), found.get("below", found.get("high"))


def _add_result(results: dict[int, Result], row: Mapping[str, str], *, exact: bool) -> None:
    """Add a row of results, or of `exact` figures: classes past one table go on in the next."""
    leaf = int(match_of(r"R(\d+)", row[say("result")])[1])
    if value := row.get(say("value")):
        results[leaf] = Result(float(pointed(value)), value, {})
        return
    if value := row.get(say("exact_value")):
        results[leaf] = replace(results[leaf], answer=float(pointed(value)))
        return
    printed = row[say("answer")]
    outputs = dict(results[leaf].outputs) if leaf in results else {}
    for head, cell in row.items() if exact else ():
        for name, start in _grammar().chances.items():
            if re.fullmatch(start, head):
                told = float(pointed(match_of(_EXACT, cell)[1]))
                outputs[name] = (*outputs.get(name, ()), told)
    labelled = None if printed in _grammar().booleans else _LABELLED.fullmatch(printed)
    code = labelled[1] if labelled else printed
    answer = int(code) if re.fullmatch(r"-?\d+", code) else _item(code)
    results[leaf] = Result(answer, printed, outputs)


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
            # A title may say anything.
            heading = _unescaped(line.lstrip("#").strip()) if line.startswith("##") else ""


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
