"""The steps of a decision sheet: splits numbered in the order of the printed rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mbndt.emitters.protocol.grammar import Answer, Sheet, Step
from mbndt.emitters.protocol.results import answer_text
from mbndt.emitters.protocol.stops import stop_of, stop_text
from mbndt.rules import Leaf, Node, NumericSplit, Rules, Split, cuts


def steps_of(rules: Rules, words: Mapping[str, str] | None = None) -> Sheet:
    """Number the splits depth-first, in the order of the printed rows.

    So the first row that leads on leads to the step below, and none leads back. `words` say by
    feature what to do where the sheet stops for want of it.
    """
    order: list[Split] = []
    work: list[Node] = [rules.root]
    while work:
        node = work.pop()
        if not isinstance(node, Leaf) and stop_of(node) is None:
            order.append(node)
            ways = dict.fromkeys(to for to, _ in _rows(rules, node))
            work.extend(node.children[to] for to in reversed(ways))
    numbers = {id(split): i for i, split in enumerate(order, start=1)}
    asked = {split.feature for split in order}
    inputs = [feature for feature in rules.used if feature.name in asked]
    letters = {feature.name: letter(i) for i, feature in enumerate(inputs)}
    steps = {}
    for number, split in enumerate(order, start=1):
        own = (words or {}).get(split.feature, "")
        answers = (
            _leading(rules, split.children[to], row, numbers, own)
            for to, row in _rows(rules, split)
        )
        steps[number] = Step(number, letters[split.feature], tuple(answers))
    return Sheet({letter: rules.feature[name] for name, letter in letters.items()}, steps, {})


def _rows(rules: Rules, split: Split) -> list[tuple[int, Answer]]:
    """Return a split's rows with their children, one a child in the order of its first value."""
    found: dict[int, Answer] = {}

    def row(to: int) -> Answer:
        return found.get(to, Answer())

    if isinstance(split, NumericSplit):
        for part in cuts.ranges(rules, split, cuts.written_cut):
            bounds = (*row(part.to).bounds, (part.low, part.high))
            found[part.to] = replace(row(part.to), bounds=bounds)
    else:
        for group in split.groups:
            values = (*row(group.to).values, *group.values)
            found[group.to] = replace(row(group.to), values=values)
        if split.unseen is not None:
            found[split.unseen] = replace(row(split.unseen), other=True)
    found[split.missing] = replace(row(split.missing), missing=True)
    return [*found.items()]


def _leading(
    rules: Rules, child: Node, row: Answer, numbers: Mapping[int, int], own: str
) -> Answer:
    if (stop := stop_of(child)) is not None:
        return replace(row, stop=stop, says=stop_text(row, own))
    if isinstance(child, Leaf):
        return replace(row, leaf=child.leaf, says=answer_text(rules, child))
    return replace(row, step=numbers[id(child)])


def letter(i: int) -> str:
    """Return A to Z, then AA, AB, …"""
    return (letter(i // 26 - 1) if i >= 26 else "") + chr(ord("A") + i % 26)


def ways(sheet: Sheet) -> dict[int, list[int]]:
    """Return by leaf id the numbers of the steps that lead to it."""
    found: dict[int, list[int]] = {}
    reached: dict[int, list[int]] = {1: []} if sheet.steps else {}
    for number, step in sheet.steps.items():  # which lead forward
        way = [*reached[number], number]
        for answer in step.answers:
            if answer.leaf is not None:
                found[answer.leaf] = way
            elif answer.step is not None:
                reached[answer.step] = way
    return found
