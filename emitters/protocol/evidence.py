"""What a decision sheet rests on: its cases, how they were answered, and how answers are chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mbndt.emitters.protocol import sound
from mbndt.emitters.protocol.grammar import number_text, value_text
from mbndt.emitters.protocol.labels import Labels
from mbndt.emitters.protocol.performance import performance
from mbndt.emitters.protocol.statements import OutcomeStatement, Statements
from mbndt.emitters.protocol.text import NOT_STATED, percent, plain, said
from mbndt.emitters.protocol.unseen import CROSS_FITTED, HELD_OUT
from mbndt.rules import Feature, Label, Rules, deep_recursion
from mbndt.rules.monotone import promised
from mbndt.rules.standing import validations
from mbndt.rules.values import label_text

# What the blocks of the sheet say in words.
SAID = {
    "training rows",
    "class rows",
    "features",
    "held out",
    "evidence",
    "operating point",
    "prevalence",
    "monotone",
    "validation",
}


def answer_table(rules: Rules, stated: Statements) -> list[list[str]]:
    """Return a row for each class: its answer as printed, and what to do."""
    outcomes = [
        stated.outcomes.get(label_text(label), OutcomeStatement()) for label in rules.target.classes
    ]
    return [
        [value_text(label), said(outcome.action)]
        for label, outcome in zip(rules.target.classes, outcomes, strict=True)
    ]


# Inputs


def seen(rules: Rules, feature: Feature) -> str:
    """Return what the training saw of a feature: its range, and how much was missing."""
    ends = seen_range(rules, feature)
    found = [] if ends is None else [" to ".join(map(number_text, ends))]
    missing: Any = _facts(rules, feature).get("missing")
    if sound.is_share(missing):
        found.append(f"{percent(missing)} not known")
    return ", ".join(found) or NOT_STATED


def seen_range(rules: Rules, feature: Feature) -> tuple[float, float] | None:
    """Return the least and greatest value of a number in training, where the rules know it."""
    return sound.ends(_facts(rules, feature).get("range"), -sound.MOST, sound.MOST)


def _facts(rules: Rules, feature: Feature) -> Any:
    return sound.mapping(sound.mapping(rules.provenance.get("features")).get(feature.name))


# Evidence


def evidence(rules: Rules, stated: Statements, labels: Labels) -> list[dict[str, Any]]:
    """Return the blocks of evidence: that of learning, then each validation, the latest first."""
    classes = [labels.answer(value_text(label)) for label in rules.target.classes]
    facts = sound.mapping(rules.provenance.get("evidence"))
    known = facts if facts.get("kind") in (HELD_OUT, CROSS_FITTED) else {}
    shown = performance(sound.mapping(known.get("performance")), classes, rules.event)
    intro = [*_learning(rules, stated), *_how_chosen(rules), *_order(rules, labels)]
    intro += _unseen(rules, known)
    older = _held_out(rules.provenance.get("held out"))
    if not known and older != NOT_STATED:
        intro.append(["Held-out cases of the same data", older])
    blocks = [{"title": "Evidence", "intro": intro, **shown}]
    for block in reversed(validations(rules)):
        elsewhere = block["kind"] == "external"
        blocks.append(
            {
                "title": "Validation elsewhere" if elsewhere else "Validation",
                "intro": [["On", _validated(block)]],
                **performance(block["performance"], classes, rules.event),
            }
        )
    return blocks


def _learning(rules: Rules, stated: Statements) -> Iterator[list[str]]:
    rows = rules.provenance.get("training rows")
    shares = _shares(rules)
    yield ["Learned from", f"{rows} cases{shares}" if sound.is_count(rows) else NOT_STATED]
    yield ["Data", said(stated.data)]
    yield ["Sites", said(stated.sites)]


def _shares(rules: Rules) -> str:
    classes = rules.target.classes
    total = sound.counts(rules.provenance.get("class rows"), len(classes))
    if not total or not sum(total):
        return ""
    return ", of these " + _told(classes, [n / sum(total) for n in total])


def _told(classes: Sequence[Label], shares: Sequence[float]) -> str:
    """Return the share of each class in words."""
    told = zip(map(value_text, classes), map(percent, shares), strict=True)
    return ", ".join(map(" ".join, told))


def _how_chosen(rules: Rules) -> Iterator[list[str]]:
    """Yield how the answer follows from the risk, and for what prevalence risks are told."""
    if not rules.target.classes:
        return
    yield ["How the answer is chosen", operating_point(rules)]
    stated = sound.mapping(rules.provenance.get("prevalence"))
    shares = sound.shares([stated.get(label_text(label)) for label in rules.target.classes])
    if shares:
        told = _told(rules.target.classes, shares)
        yield ["Risks, but not counts of cases, are for a share of", told]


def _order(rules: Rules, labels: Labels) -> Iterator[list[str]]:
    """Yield what was asked of the answers' order, and holds for every case."""
    if not (signs := promised(rules)):
        return
    what = plain(rules.target.name)
    if rules.event is not None:
        what = f"the risk of {labels.answer(value_text(rules.target.classes[rules.event]))}"
    turns = {"+": "falls", "-": "rises"}
    said = [f"never {turns[sign]} as {plain(name)} rises" for name, sign in signs.items()]
    yield ["All else equal", f"{what} {', and '.join(said)}"]


def operating_point(rules: Rules) -> str:
    """Return in words how the answer follows from scores or risks."""
    facts = sound.mapping(rules.provenance.get("operating point"))
    act_at, cost = facts.get("act_at"), sound.mapping(facts.get("cost"))
    if sound.is_share(act_at) and rules.event is not None:
        event = value_text(rules.target.classes[rules.event])
        return f"{event} where its risk is {percent(act_at)} or more"
    missed, false = cost.get("missed"), cost.get("false")
    if sound.is_number(missed) and sound.is_number(false) and min(missed, false) > 0:
        return f"one missed costs {number_text(missed)}, one told needlessly {number_text(false)}"
    if cost:
        return "the answer of least cost: " + plain(json.dumps(cost, ensure_ascii=False))
    if any(leaf.risk for leaf in rules.leaves):
        return "classes weigh equally, however common they are; so the answer may be the rarer one"
    return NOT_STATED


def _unseen(rules: Rules, facts: Any) -> Iterator[list[str]]:
    """Yield which kind of evidence the figures are, in plain words."""
    rows, folds = facts.get("rows"), facts.get("folds")
    if not sound.is_count(rows):
        yield ["Figures from", NOT_STATED]
    elif facts["kind"] == HELD_OUT:
        yield ["Figures from", f"{rows} cases held out, not used to make this sheet"]
    elif sound.is_count(folds) and folds > 1:
        yield [
            "Figures from",
            f"all {rows} cases, in {folds} parts (cross-fitted): each part was judged by rules"
            " learned in the same way from the other parts, which are not these very rules",
        ]
    else:
        yield ["Figures from", NOT_STATED]
    if "rounded from" in rules.provenance:
        yield ["Take care", "the figures are from before thresholds were rounded"]
    yield from _stability(sound.mapping(facts.get("first question")))


def _stability(facts: Any) -> Iterator[list[str]]:
    name, refits, alike = (facts.get(key) for key in ("feature", "refits", "alike"))
    sane = isinstance(name, str) and sound.is_count(refits) and sound.is_count(alike)
    if sane and refits and alike <= refits:
        yield ["First question", f"{plain(name)} came first in {alike} of {refits} refits"]


def _validated(block: Mapping[str, Any]) -> str:
    """Return on what cases, when and how many a validation was done."""
    on, day = block["on"], block.get("date")
    return "; ".join(
        [
            plain(on) if isinstance(on, str) else "cases that learning has not seen",
            plain(day) if isinstance(day, str) else f"date {NOT_STATED}",
            f"{block['performance']['rows']} cases",
        ]
    )


def provenance(rules: Rules) -> Iterator[list[str]]:
    """Yield what else the rules know of their making."""
    yield ["Rules", plain(rules.name)]
    with deep_recursion():
        for key, value in rules.provenance.items():
            if key not in SAID:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield [plain(key), plain(text)]


def _held_out(figures: object) -> str:
    """Return the figures of rules that know of their held-out cases no more."""
    facts = sound.mapping(figures)
    if not sound.is_count(facts.get("rows")):
        return NOT_STATED
    found = [f"{facts['rows']} cases"]
    for key, name in (
        ("balanced_accuracy", "balanced accuracy"),
        ("r2", "R squared"),
        ("rmse", "root mean squared error"),
    ):
        value, ends = facts.get(key), sound.ends(facts.get(f"{key}_95"), -sound.MOST, sound.MOST)
        if sound.is_number(value):
            found.append(f"{name} {value:.3g}")
            if ends:
                found[-1] += f" (95 % {ends[0]:.3g} to {ends[1]:.3g})"
    return ", ".join(found)
