"""The decision sheet: numbered steps that a person follows by hand, on paper or on a screen.

`protocol_reader` owns the grammar of the steps and follows them back.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

from mbndt.emitters import base
from mbndt.emitters import protocol_reader as paper
from mbndt.emitters.base import Artifact, Emitter
from mbndt.emitters.protocol_reader import Answer, Sheet, Step, number_text, quoted, value_text
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Split,
    Threshold,
    deep_recursion,
)
from mbndt.values import Value, read_value, to_float32

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from mbndt.interpreter import Predictions
    from mbndt.table import Table

FORMATS = {"html": ".html", "md": ".md"}
NOT_STATED, NOT_APPLICABLE = "NOT STATED", "-"
STATEMENTS = (
    "Population, setting, user", "Do not use if", "Validation", "Owner, date, next review",
)  # fmt: skip
FEW_ROWS = 20
CLASSES_A_TABLE = 3

_TYPE_WORDS = {kind: words for words, kind in paper.TYPES.items()}

# What can be misread: characters that aren't plain, lone numbers, and the sheet's own words.
_PLAIN = re.compile(r"(?=.*[^\W\d]|.*[%°])[\w %°·/.,()+^'-]+")
_OWN_WORDS = re.compile(r"\b(steps?|results?|inputs?|rows?|missing|not|below|go to)\b", re.I)
_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~$#@]|:(?=\S)|(?<=www)\.", re.I)

Pools: TypeAlias = dict[str, list[Value]]


@dataclass(frozen=True)
class Protocol(Emitter):
    """Emit a sheet of inputs, numbered steps, results and worked examples, to print and follow.

    `format` is `html` (one page without script or network) or `md`.
    """

    format: str = "html"

    target = "protocol"
    variants = ({"format": "md"}, {"format": "html"})

    def __post_init__(self) -> None:
        base.choose("format", self.format, FORMATS)

    def emit(self, rules: Rules) -> Artifact:
        """Return the sheet's text."""
        sheet = _sheet(rules)
        inputs, steps, titles = sheet.inputs, sheet.steps.values(), _titles(rules)
        reached = {answer.leaf for step in steps for answer in step.answers}
        leaves = [leaf for leaf in rules.leaves if leaf.leaf in reached or not steps]
        unreached = sorted({leaf.leaf for leaf in rules.leaves} - {leaf.leaf for leaf in leaves})
        view = {
            "title": plain(rules.name),
            "decision": list(_decision(rules)),
            "inputs": [_input(letter, entry, titles) for letter, entry in inputs.items()],
            "unused": [quoted(entry.name) for entry in rules.features if entry not in rules.used],
            "steps": [_step_view(step, inputs[step.letter], titles) for step in steps],
            "results": list(_result_tables(rules, leaves)),
            "unreached": unreached,
            "examples": list(_examples(sheet, titles)),
        }
        text = _template(self.format).render(
            view,
            format=self.format,
            origin=base.provenance_line(rules),
            mark=rules.fingerprint[:12],
            regression=rules.task == "regression",
            types={entry.type.value for entry in inputs.values()},
            few=FEW_ROWS,
            escapes=r"\\u{" in repr(view),
        )
        notes = tuple(f"leaf {i} is on no path and not on the sheet" for i in unreached)
        return Artifact(base.identifier(rules.name), FORMATS[self.format], text, rules, notes)

    def engine(self) -> str:
        """Return the name of the reader that follows the sheet."""
        return f"paper reader ({'Markdown' if self.format == 'md' else 'HTML'})"

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by following the sheet's text, and nothing else."""
        sheet = paper.read_sheet(artifact.text, html=artifact.suffix == ".html")
        return paper.answer_rows(sheet, table)


@cache
def _template(kind: str) -> Template:
    page = base.templates("protocol", autoescape=True, finalize=FINALIZE[kind])
    return page.get_template("sheet.jinja")


def _sheet(rules: Rules) -> Sheet:
    """Number the splits depth-first, in the order of the printed rows.

    So the first row that leads on leads to the step below, and none leads back.
    """
    order: list[Split] = []
    work: list[Node] = [rules.root]
    while work:
        node = work.pop()
        if not isinstance(node, Leaf):
            order.append(node)
            ways = dict.fromkeys(to for to, _ in _rows(rules, node))
            work.extend(node.children[to] for to in reversed(ways))
    numbers = {id(split): i for i, split in enumerate(order, start=1)}
    letters = {feature.name: _letter(i) for i, feature in enumerate(rules.used)}
    steps = {}
    for number, split in enumerate(order, start=1):
        answers = (_leading(rules, split.children[to], row, numbers) for to, row in
                   _rows(rules, split))  # fmt: skip
        steps[number] = Step(number, letters[split.feature], tuple(answers))
    return Sheet({letter: rules.feature[name] for name, letter in letters.items()}, steps, {})


def _rows(rules: Rules, split: Split) -> list[tuple[int, Answer]]:
    """Return a split's rows with their children: one a child, then not listed, then missing."""
    bounds: dict[int, list[paper.Bounds]] = {}
    values: dict[int, list[str | bool]] = {}
    if isinstance(split, NumericSplit):
        for part in base.ranges(rules, split, _cut):
            bounds.setdefault(part.to, []).append((part.low, part.high))
    else:
        for group in split.groups:
            values.setdefault(group.to, []).extend(group.values)
    found = [(to, Answer(bounds=tuple(own))) for to, own in bounds.items()]
    found += [(to, Answer(values=tuple(own))) for to, own in values.items()]
    if not isinstance(split, NumericSplit) and split.unseen is not None:
        found.append((split.unseen, Answer(other=True)))
    return [*found, (split.missing, Answer(missing=True))]


def _leading(rules: Rules, child: Node, row: Answer, numbers: Mapping[int, int]) -> Answer:
    if isinstance(child, Leaf):
        return replace(row, leaf=child.leaf, says=value_text(rules.label(child)))
    return replace(row, step=numbers[id(child)])


def _cut(feature: Feature, threshold: Threshold) -> Threshold:
    """Keep thresholds as written, but whole ones for whole numbers, and no negative zero."""
    whole = feature.type == FeatureType.INTEGER
    return base.double_cut(feature, threshold) if whole else float(threshold) + 0.0


def _letter(i: int) -> str:
    """Return A to Z, then AA, AB, …"""
    return (_letter(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


# Texts and numbers


def plain(text: str) -> str:
    """Return a text as it is, in quotes where it could be misread; `NOT STATED` for none."""
    if not text:
        return NOT_STATED
    harmless = _PLAIN.fullmatch(text) and not _OWN_WORDS.search(text)
    return text if harmless and quoted(text)[1:-1] == text else quoted(text)


def _markdown(value: object) -> Markup:
    """Return what a template inserts as Markdown: what is no markup yet loses its special signs."""
    from markupsafe import Markup

    return value if isinstance(value, Markup) else Markup(_SPECIAL.sub(r"\\\g<0>", str(value)))


# HTML is escaped by the template engine itself.
FINALIZE = {"html": None, "md": _markdown}


def _percent(p: float) -> str:
    if 0.0 < p < 0.001:
        return "below 0.1 %"
    if 0.999 < p < 1.0:
        return "above 99.9 %"
    return f"{100.0 * p:.1f}".removesuffix(".0") + " %"


# What the template shows


def _decision(rules: Rules) -> Iterator[list[str]]:
    """Yield what the sheet says of itself; what nobody stated stays visible."""
    target = rules.target
    classes = " or ".join(map(value_text, target.classes))
    answer = f"one of {classes}" if classes else "a number"
    unit = NOT_APPLICABLE if classes and not target.unit else plain(target.unit)
    yield from (["Decision", plain(target.name)], ["Description", plain(target.description)])
    yield from (["Answer", answer], ["Unit", unit])
    yield from ([item, NOT_STATED] for item in STATEMENTS)
    with deep_recursion():
        for key, value in rules.provenance.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield [f"Provenance: {plain(key)}", plain(text)]


def _titles(rules: Rules) -> dict[str, str]:
    """Return each feature's label, or its name where another goes by the same label."""
    count = Counter([feature.label for feature in rules.features] + [*rules.feature])
    return {
        name: plain(feature.label if feature.label and count[feature.label] == 1 else name)
        for name, feature in rules.feature.items()
    }


def _input(letter: str, feature: Feature, titles: Mapping[str, str]) -> list[str]:
    number = feature.type.numeric
    categories = " or ".join(map(quoted, feature.categories))
    return [
        letter,
        titles[feature.name],
        quoted(feature.name),
        _TYPE_WORDS[feature.type],
        plain(feature.unit) if number or feature.unit else NOT_APPLICABLE,
        plain(feature.description),
        categories or NOT_APPLICABLE,
    ]


def _step_view(step: Step, feature: Feature, titles: Mapping[str, str]) -> dict[str, Any]:
    single = feature.type == FeatureType.FLOAT32
    return {
        "number": step.number,
        "letter": step.letter,
        "title": titles[feature.name],
        "unit": feature.unit and plain(feature.unit),
        "type": feature.type.value,
        "description": feature.description and plain(feature.description),
        "rows": [
            {"parts": row.parts, "then": row.then, "step": row.step} for row in step.answers
        ],
        # A value written exactly as such an end falls below it.
        "falling": [
            (number_text(end), number_text(to_float32(end)))
            for end in sorted(_ends(step)) if single and to_float32(end) < end
        ],
    }  # fmt: skip


def _result_tables(rules: Rules, leaves: list[Leaf]) -> Iterator[dict[str, Any]]:
    """Yield the results to look up, then every probability, in tables of a few classes each."""
    if rules.task == "regression":
        head = ["Value", "Training rows", "Mean", "Standard deviation", "Note"]
        yield _result_table(rules, leaves, head, _spread)
        return
    head = ["Answer", "Its probability", "Training rows", "Note"]
    yield _result_table(rules, leaves, head, _support)
    classes = rules.target.classes
    for start in range(0, len(classes), CLASSES_A_TABLE):
        part = slice(start, start + CLASSES_A_TABLE)
        head = ["Answer", *(paper.PROBABILITY + value_text(label) for label in classes[part])]
        yield _result_table(rules, leaves, head, partial(_chances, part=part))


def _result_table(
    rules: Rules, leaves: list[Leaf], head: list[str], cells: Callable[[Leaf], list[str]]
) -> dict[str, Any]:
    rows = [[f"R{leaf.leaf}", value_text(rules.label(leaf)), *cells(leaf)] for leaf in leaves]
    return {"header": ["Result", *head], "rows": rows}


def _support(leaf: Leaf) -> list[str]:
    assert isinstance(leaf.value, tuple)
    greatest = max(leaf.value)
    tie = "a tie: the first of the classes counts" if leaf.value.count(greatest) > 1 else ""
    return [_percent(greatest), _size(leaf), "; ".join(filter(None, (tie, _few(leaf))))]


def _spread(leaf: Leaf) -> list[str]:
    numbers = [NOT_STATED if x is None else number_text(x) for x in (leaf.mean, leaf.std)]
    return [_size(leaf), *numbers, _few(leaf)]


def _size(leaf: Leaf) -> str:
    return NOT_STATED if leaf.size is None else str(leaf.size)


def _few(leaf: Leaf) -> str:
    few = leaf.size is not None and leaf.size < FEW_ROWS
    return f"fewer than {FEW_ROWS} rows" if few else ""


def _chances(leaf: Leaf, part: slice) -> list[str]:
    assert isinstance(leaf.value, tuple)
    cells = [f"{_percent(p)} ({number_text(p)})" for p in leaf.value[part]]
    if leaf.counts is None:
        return cells
    counts = [f"{n} row" if n == 1 else f"{n} rows" for n in leaf.counts[part]]
    return [f"{cell}, {rows}" for cell, rows in zip(cells, counts, strict=True)]


# Worked examples


def _examples(sheet: Sheet, titles: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a row that takes many steps, and one exactly on a boundary, each walked through."""
    for edge in (False, True):
        pools = _narrowed(sheet, edge) if sheet.steps else None
        if pools is None:
            continue
        row = {sheet.inputs[letter].name: pool[0] for letter, pool in pools.items()}
        walk = []
        for step, answer in sheet.follow(row):
            feature = sheet.inputs[step.letter]
            asked = [f"Step {step.number}", titles[feature.name], value_text(row[feature.name])]
            walk.append([*asked, _reason(answer, feature, row[feature.name]), answer.then])
        yield {"edge": edge, "walk": walk}


def _reason(answer: Answer, feature: Feature, raw: Value) -> str:
    """Return the one part of a row that the value fits."""
    value = read_value(feature.type, raw)
    own = [replace(answer, bounds=(bounds,)) for bounds in answer.bounds]
    own += [replace(answer, values=(known,)) for known in answer.values]
    return next((part.parts[0] for part in own if part.names(value)), answer.parts[0])


def _narrowed(sheet: Sheet, edge: bool) -> Pools | None:
    """Return candidate values by letter, narrowed to those that take one way from step 1.

    Where there is a choice the way takes known values and more steps; with `edge` it meets an end
    of an interval exactly (None where there is none on it).
    """
    pools = _pools(sheet)
    cutting = {number for number, step in sheet.steps.items() if _ends(step)}
    for step in reversed([*sheet.steps.values()]):
        cutting |= {step.number for answer in step.answers if answer.step in cutting}
    number: int | None = 1
    while number is not None:
        step = sheet.steps[number]
        pool = pools[step.letter]
        if edge and (exact := [value for value in pool if value in _ends(step)]):
            pool, edge = [exact[0]], False
        kept: dict[Answer, list[Value]] = {}
        for value in pool:
            answer = step.pick(read_value(sheet.inputs[step.letter].type, value))
            kept.setdefault(answer, []).append(value)
        wanted = cutting if edge else sheet.steps.keys()
        answer = max(kept, key=lambda row: (kept[row][0] is not None, row.step in wanted))
        pools[step.letter], number = kept[answer], answer.step
    return None if edge else pools


def _ends(step: Step) -> set[Threshold]:
    return {low for answer in step.answers for low, _ in answer.bounds if low is not None}


def _pools(sheet: Sheet) -> Pools:
    """Return candidate values of each input by letter: inside each interval, each end, missing."""
    ends: dict[str, set[Threshold]] = {letter: set() for letter in sheet.inputs}
    for step in sheet.steps.values():
        ends[step.letter] |= _ends(step)
    pools: Pools = {}
    for letter, feature in sheet.inputs.items():
        pools[letter] = [*feature.categories]
        if feature.type == FeatureType.BOOLEAN:
            pools[letter] = [False, True]
        elif feature.type.numeric:
            cuts = sorted(ends[letter])
            pools[letter] = [*map(_between, [None, *cuts], [*cuts, None]), *cuts]
        pools[letter].append(None)
    return pools


def _between(low: Threshold | None, high: Threshold | None) -> Threshold:
    """Return a short number of the interval, its lower end where there is none between."""
    if low is None and high is None:
        return 1
    if low is None:
        assert high is not None
        low = high - max(1, abs(high) // 2)
    elif high is None:
        high = low + max(1, abs(low) // 2)
    assert high is not None
    if isinstance(low, int) and isinstance(high, int):
        return min(max((low + high) // 2, INT64_MIN), INT64_MAX)
    middle = low / 2 + high / 2
    short = (float(f"{middle:.{digits}g}") for digits in range(1, 18))
    return next((x for x in short if low < x < high), low)
