"""The results of a decision sheet: what each rests on, how sure it is, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from mbndt.emitters.protocol.grammar import (
    CHANCES,
    Answer,
    Bounds,
    either,
    number_text,
    value_text,
)
from mbndt.emitters.protocol.text import brief, counted, not_stated, percent
from mbndt.emitters.protocol.unseen import Unseen
from mbndt.emitters.protocol.words import say
from mbndt.rules import Feature, FeatureType, Leaf, Rules
from mbndt.rules.boxes import Reason, Space, edge, reasons

FEW_ROWS = 20
CLASSES_A_TABLE = 3


def results(
    rules: Rules,
    leaves: list[Leaf],
    ways: Mapping[int, list[int]],
    titles: Mapping[str, str],
    unseen: Unseen,
) -> dict[str, Any]:
    """Return the table to look results up in: for each its risk, what bears it out, its reason.

    `ways` are the steps that lead to a result, by leaf id; `titles` go by feature name; `unseen` is
    the evidence of the rules before any stops.
    """
    because = _reasons(rules, titles)
    rows = [
        [
            f"R{leaf.leaf}",
            answer_text(rules, leaf),
            *unseen.cells(leaf),
            ", ".join(map(str, ways.get(leaf.leaf, ()))) or say("no_steps"),
            # Of none the steps on its way exclude one another.
            because.get(leaf.leaf) or say("reason_never"),
            _note(leaf, unseen),
        ]
        for leaf in leaves
    ]
    told = say("value" if rules.task == "regression" else "answer")
    more = [say(key) for key in ("steps", "because", "note")]
    return {"header": [say("result"), told, *unseen.head, *more], "rows": rows}


def training_table(rules: Rules, leaves: list[Leaf]) -> dict[str, Any]:
    """Return what auditors ask: the training rows of each result, which flatter it."""
    if rules.task == "regression":
        return _table(rules, leaves, ["value", "training_rows", "mean", "spread"], _spread)
    return _table(rules, leaves, ["answer", "training_support"], _support)


def exact_tables(rules: Rules, leaves: list[Leaf]) -> Iterator[dict[str, Any]]:
    """Yield all that is told of each class, in tables of a few; of a regression every value."""
    classes = rules.target.classes
    if not classes:
        values = [[f"R{leaf.leaf}", value_text(rules.label(leaf))] for leaf in leaves]
        yield {"header": [say("result"), say("exact_value")], "rows": values}
    for name, told in rules.outputs.items():
        for start in range(0, len(classes), CLASSES_A_TABLE):
            part = slice(start, start + CLASSES_A_TABLE)
            heads = [say(CHANCES[name], answer=value_text(label)) for label in classes[part]]
            table = _table(rules, leaves, ["answer"], partial(_chances, told=told, part=part))
            yield table | {"header": [*table["header"], *heads]}


def _table(
    rules: Rules, leaves: list[Leaf], keys: list[str], cells: Callable[[Leaf], list[str]]
) -> dict[str, Any]:
    """Return a table of results, with heads by the keys of messages."""
    rows = [[f"R{leaf.leaf}", answer_text(rules, leaf), *cells(leaf)] for leaf in leaves]
    return {"header": [say("result"), *map(say, keys)], "rows": rows}


def answer_text(rules: Rules, leaf: Leaf) -> str:
    """Return a leaf's answer as the steps print it; a regression's value with a few digits."""
    return value_text(rules.label(leaf)) if rules.target.classes else brief(float(leaf.value))  # type: ignore[arg-type]


def _support(leaf: Leaf) -> list[str]:
    """Return how many training rows had the answer."""
    if not leaf.counts or not leaf.size or leaf.stops:
        return [not_stated()]
    hits, n = leaf.counts[leaf.class_index], leaf.size
    return [say("training_share", hits=hits, n=n, share=percent(hits / n))]


def _spread(leaf: Leaf) -> list[str]:
    numbers = [not_stated() if x is None else brief(x) for x in (leaf.mean, leaf.std)]
    return [not_stated() if leaf.size is None else str(leaf.size), *numbers]


def _note(leaf: Leaf, unseen: Unseen) -> str:
    found = []
    cases = unseen.size(leaf)
    if cases is not None and cases < FEW_ROWS:
        found.append(say("few_cases"))
    if isinstance(leaf.value, tuple):
        if leaf.value.count(max(leaf.value)) > 1:
            found.append(say("tie"))
        common = leaf.risk or leaf.counts
        if common and common[leaf.class_index] < max(common):
            found.append(say("not_commonest"))
    return "; ".join(found)


def _chances(leaf: Leaf, told: Sequence[tuple[float, ...] | None], part: slice) -> list[str]:
    row = told[leaf.leaf]
    assert row is not None
    cells = [f"{percent(p)} ({number_text(p)})" for p in row[part]]
    if leaf.counts is None:
        return cells
    counts = [counted(n, "rows", "row_one") for n in leaf.counts[part]]
    return [f"{cell}, {rows}" for cell, rows in zip(cells, counts, strict=True)]


# Reasons


def _reasons(rules: Rules, titles: Mapping[str, str]) -> dict[int, str]:
    """Return by leaf id the conditions that suffice for its answer, in words."""
    space = Space.of(rules)
    return {
        reason.leaf.leaf: _because(rules, space, reason, titles) for reason in reasons(rules, space)
    }


def _because(rules: Rules, space: Space, reason: Reason, titles: Mapping[str, str]) -> str:
    said = [
        say("reason", title=titles[name], condition=condition(rules, feature, space, mask))
        for name, mask in reason.enough.items()
        for feature in [rules.feature[name]]
    ]
    return "; ".join(said) or say("reason_every")


def condition(rules: Rules, feature: Feature, space: Space, mask: int) -> str:
    """Return in words what a mask of a feature's cells takes in."""
    cells = space.cells[feature.name]
    inside = [bool(mask >> i & 1) for i in range(len(cells))]
    *known, missing = inside
    if not any(known):
        return say("not_known")
    if feature.type.numeric:
        said = " ".join(Answer(bounds=tuple(_runs(rules, feature, cells[:-1], known))).parts)
    else:
        texts = [value for value, chosen in zip(cells[:-1], known, strict=True) if chosen]
        if feature.categories and known[-1]:
            others = [v for v, chosen in zip(cells[:-2], known, strict=False) if not chosen]
            but = say("reason_but", values=either(map(value_text, others)))
            said = but if others else say("reason_any")
        else:
            said = either(map(value_text, texts))
    if missing and not all(known):
        return f"{said}, {say('or')} {say('not_known')}"
    return said


def _runs(rules: Rules, feature: Feature, cells: Any, known: list[bool]) -> Iterator[Bounds]:
    """Yield the half-open intervals that neighbouring cells make up, with ends as the steps say."""
    written = {edge(feature, t): t + 0.0 for t in rules.thresholds(feature)}
    if feature.type == FeatureType.INTEGER:
        written = {}
    low, open_ = None, False
    for i, chosen in enumerate(known):
        end = written.get(cells[i], cells[i])
        if chosen and not open_:
            low, open_ = (None if i == 0 else end), True
        elif open_ and not chosen:
            yield low, end
            open_ = False
    if open_:
        yield low, None
