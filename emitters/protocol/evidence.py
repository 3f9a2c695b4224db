"""What a decision sheet rests on: its cases, how they were answered, and how answers are chosen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mbndt.emitters.protocol import sound
from mbndt.emitters.protocol.grammar import number_text, range_text, value_text
from mbndt.emitters.protocol.labels import Labels
from mbndt.emitters.protocol.performance import performance
from mbndt.emitters.protocol.statements import OutcomeStatement, Statements
from mbndt.emitters.protocol.text import not_stated, percent, plain, said
from mbndt.emitters.protocol.unseen import CROSS_FITTED, HELD_OUT
from mbndt.emitters.protocol.words import decimal, say
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
    found = [] if ends is None else [range_text(*map(number_text, ends))]
    missing: Any = _facts(rules, feature).get("missing")
    if sound.is_share(missing):
        found.append(say("share_not_known", share=percent(missing)))
    return ", ".join(found) or not_stated()


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
    if not known and older != not_stated():
        intro.append([say("held_out"), older])
    blocks = [{"title": say("evidence"), "intro": intro, **shown}]
    for block in reversed(validations(rules)):
        elsewhere = block["kind"] == "external"
        blocks.append(
            {
                "title": say("validation_elsewhere" if elsewhere else "validation"),
                "intro": [[say("validated_with"), _validated(block)]],
                **performance(block["performance"], classes, rules.event),
            }
        )
    return blocks


def _learning(rules: Rules, stated: Statements) -> Iterator[list[str]]:
    rows = rules.provenance.get("training rows")
    learned, shares = not_stated(), _shares(rules)
    if sound.is_count(rows):
        learned = say("cases", n=rows)
        if shares:
            learned = say("of_these", cases=learned, shares=shares)
    yield [say("learned_from"), learned]
    yield [say("data"), said(stated.data)]
    yield [say("sites"), said(stated.sites)]


def _shares(rules: Rules) -> str:
    classes = rules.target.classes
    total = sound.counts(rules.provenance.get("class rows"), len(classes))
    if not total or not sum(total):
        return ""
    return _told(classes, [n / sum(total) for n in total])


def _told(classes: Sequence[Label], shares: Sequence[float]) -> str:
    """Return the share of each class in words."""
    told = zip(map(value_text, classes), map(percent, shares), strict=True)
    return ", ".join(map(" ".join, told))


def _how_chosen(rules: Rules) -> Iterator[list[str]]:
    """Yield how the answer follows from the risk, and for what prevalence risks are told."""
    if not rules.target.classes:
        return
    yield [say("chosen"), operating_point(rules)]
    stated = sound.mapping(rules.provenance.get("prevalence"))
    shares = sound.shares([stated.get(label_text(label)) for label in rules.target.classes])
    if shares:
        told = _told(rules.target.classes, shares)
        yield [say("prevalence"), told]


def _order(rules: Rules, labels: Labels) -> Iterator[list[str]]:
    """Yield what was asked of the answers' order, and holds for every case."""
    if not (signs := promised(rules)):
        return
    what = plain(rules.target.name)
    if rules.event is not None:
        event = labels.answer(value_text(rules.target.classes[rules.event]))
        what = say("risk_is_of", answer=event)
    turns = {"+": "never_falls", "-": "never_rises"}
    said = [say(turns[sign], name=plain(name)) for name, sign in signs.items()]
    yield [say("all_else_equal"), f"{what} {', '.join(said)}"]


def operating_point(rules: Rules) -> str:
    """Return in words how the answer follows from scores or risks."""
    facts = sound.mapping(rules.provenance.get("operating point"))
    act_at, cost = facts.get("act_at"), sound.mapping(facts.get("cost"))
    if sound.is_share(act_at) and rules.event is not None:
        event = value_text(rules.target.classes[rules.event])
        return say("chosen_at", event=event, share=percent(act_at))
    missed, false = cost.get("missed"), cost.get("false")
    if sound.is_number(missed) and sound.is_number(false) and min(missed, false) > 0:
        costs = {"missed": number_text(missed), "needless": number_text(false)}
        return say("chosen_by_cost", **costs)
    if cost:
        return say("chosen_by_costs", costs=plain(json.dumps(cost, ensure_ascii=False)))
    if any(leaf.risk for leaf in rules.leaves):
        return say("chosen_evenly")
    return not_stated()


def _unseen(rules: Rules, facts: Any) -> Iterator[list[str]]:
    """Yield which kind of evidence the figures are, in plain words."""
    rows, folds = facts.get("rows"), facts.get("folds")
    source = not_stated()
    if sound.is_count(rows) and facts["kind"] == HELD_OUT:
        source = say("figures_held_out", cases=say("cases", n=rows))
    elif sound.is_count(rows) and sound.is_count(folds) and folds > 1:
        source = say("figures_cross_fitted", cases=say("cases", n=rows), folds=folds)
    yield [say("figures_from"), source]
    if "rounded from" in rules.provenance:
        yield [say("take_care"), say("before_rounding")]
    yield from _stability(sound.mapping(facts.get("first question")))


def _stability(facts: Any) -> Iterator[list[str]]:
    name, refits, alike = (facts.get(key) for key in ("feature", "refits", "alike"))
    sane = isinstance(name, str) and sound.is_count(refits) and sound.is_count(alike)
    if sane and refits and alike <= refits:
        first = say("came_first", name=plain(name), alike=alike, refits=refits)
        yield [say("first_question"), first]


def _validated(block: Mapping[str, Any]) -> str:
    """Return on what cases, when and how many a validation was done."""
    on, day = block["on"], block.get("date")
    return "; ".join(
        [
            plain(on) if isinstance(on, str) else say("validated_unseen"),
            plain(day) if isinstance(day, str) else say("no_date", not_stated=not_stated()),
            say("cases", n=block["performance"]["rows"]),
        ]
    )


def provenance(rules: Rules) -> Iterator[list[str]]:
    """Yield what else the rules know of their making."""
    yield [say("rules"), plain(rules.name)]
    with deep_recursion():
        for key, value in rules.provenance.items():
            if key not in SAID:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield [plain(key), plain(text)]


def _held_out(figures: object) -> str:
    """Return the figures of rules that know of their held-out cases no more."""
    facts = sound.mapping(figures)
    if not sound.is_count(facts.get("rows")):
        return not_stated()
    found = [say("cases", n=facts["rows"])]
    for key, message in (
        ("balanced_accuracy", "held_out_balanced"),
        ("r2", "held_out_r2"),
        ("rmse", "held_out_rmse"),
    ):
        value, ends = facts.get(key), sound.ends(facts.get(f"{key}_95"), -sound.MOST, sound.MOST)
        if sound.is_number(value):
            figure, *around = (decimal(f"{x:.3g}") for x in (value, *(ends or ())))
            told = say(message, figure=figure)
            found.append(say("with_ends", figure=told, ends=range_text(*around)) if ends else told)
    return ", ".join(found)
