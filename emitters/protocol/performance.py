"""How well answers fit cases that learning did not see, in figures and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mbndt.emitters.protocol import sound
from mbndt.emitters.protocol.grammar import range_text
from mbndt.emitters.protocol.text import brief, counted, not_stated, percent
from mbndt.emitters.protocol.unseen import no_interval
from mbndt.emitters.protocol.words import decimal, say

MOST_POINTS = 8
Pairs = Iterator[list[str]]


def performance(
    facts: Mapping[str, Any], classes: Sequence[str], event: int | None
) -> dict[str, Any]:
    """Return the block of a performance: pairs of names and words, tables, and a picture's points.

    `facts` follow the schema of `mbndt.measures.performance`; `classes` as they are printed.
    """
    pairs = _fit(facts) if not classes else _agreement(facts, classes, event)
    told = event is not None and facts.get("event") == event
    return {
        "pairs": [*pairs],
        "table": _table(facts, classes),
        "points": _points(facts.get("points")) if told else None,
        "calibration": calibration(facts.get("calibration")) if told else None,
    }


def _fit(facts: Mapping[str, Any]) -> Pairs:
    for key, most in (("r2", 1.0), ("mae", sound.MOST), ("rmse", sound.MOST)):
        least, found = -sound.MOST if key == "r2" else 0.0, facts.get(key)
        if sound.is_number(found) and least <= found <= most:
            yield [say(key), brief(found)]
        else:
            yield [say(key), _number(sound.estimate(found, least, most))]


def _agreement(facts: Mapping[str, Any], classes: Sequence[str], event: int | None) -> Pairs:
    if event is not None and facts.get("event") == event:
        yield from _finding(facts, classes, event)
    right, common = _share(facts.get("accuracy")), _share(facts.get("commonest"))
    yield [say("accuracy"), say("accuracy_said", share=right, common=common)]
    if event is None:
        yield [say("balanced"), _share(facts.get("balanced_accuracy"))]
    unanswered = facts.get("unanswered")
    if sound.is_count(unanswered) and unanswered:
        yield [say("unanswered"), counted(unanswered, "cases", "case_one")]


def _finding(facts: Mapping[str, Any], classes: Sequence[str], event: int) -> Pairs:
    name, table = classes[event], sound.table(facts.get("table"), len(classes), len(classes))
    cells = _four(table, event) if table else None
    found, missed, needless, spared = cells or (0, 0, 0, 0)
    others = needless + spared
    for key, counts in {
        "sensitivity": {"found": found, "all": found + missed, "missed": missed},
        "specificity": {"spared": spared, "all": others, "needless": needless},
        "ppv": {"found": found, "all": found + needless},
        "npv": {"spared": spared, "all": missed + spared},
    }.items():
        share = _share(facts.get(key))
        if cells:
            words = say(f"{key}_said", event=name, **counts)
            share = say("pair", name=share, text=words)
        yield [say(key, event=name), share]
    yield [say("auc"), _number(sound.estimate(facts.get("auc")), lambda x: decimal(f"{x:.2f}"))]
    yield [say("in_the_large"), _in_the_large(facts.get("calibration"), name)]
    yield [say("useful"), _useful(facts)]


def _four(table: list[list[int]], event: int) -> tuple[int, int, int, int]:
    """Return how many were found, missed, told needlessly and spared."""
    found = table[event][event]
    missed = sum(table[event]) - found
    needless = sum(row[event] for row in table) - found
    return found, missed, needless, sum(map(sum, table)) - found - missed - needless


def _in_the_large(facts: object, name: str) -> str:
    known = sound.mapping(facts)
    expected, observed = known.get("expected"), known.get("observed")
    told = percent(expected) if sound.is_share(expected) else not_stated()
    return say("in_the_large_said", expected=told, event=name, observed=_share(observed))


def _useful(facts: Mapping[str, Any]) -> str:
    """Return between which thresholds the rules do better than treating all or none."""
    if "useful" not in facts:
        return not_stated()
    if facts["useful"] is None:
        return say("useful_never")
    ends = sound.ends(facts["useful"])
    if ends is None:
        return not_stated()
    low, high = (percent(end, 0) for end in ends)
    return say("useful_between", low=low, high=high)


def _table(facts: Mapping[str, Any], classes: Sequence[str]) -> dict[str, Any] | None:
    """Return how many cases of each class were told what."""
    table = sound.table(facts.get("table"), len(classes), len(classes)) if classes else None
    if not table:
        return None
    return {
        "header": [say("had"), *(say("answered", answer=name) for name in classes)],
        "rows": [[name, *map(str, row)] for name, row in zip(classes, table, strict=True)],
    }


def _points(listed: object) -> dict[str, Any] | None:
    """Return the trade-off: what acting at each risk finds, misses, and does needlessly.

    Of many risks it has some, the least and the greatest among them.
    """
    found = []
    for point in listed if isinstance(listed, (list, tuple)) else ():
        facts = sound.mapping(point)
        numbers = [facts.get(key) for key in ("found", "missed", "needless", "spared")]
        at = facts.get("act_at")
        if not sound.is_share(at) or not all(map(sound.is_count, numbers)):
            return None
        found.append([say("act_at_share", share=percent(at)), *map(str, numbers)])
    if len(found) > MOST_POINTS:
        step = (len(found) - 1) / (MOST_POINTS - 1)
        found = [found[round(i * step)] for i in range(MOST_POINTS)]
    header = [say(key) for key in ("act_at", "found", "missed", "needless", "spared")]
    return {"header": header, "rows": found} if found else None


def calibration(facts: object) -> list[dict[str, Any]] | None:
    """Return the points of the calibration picture, as shares: expected, observed, and its ends."""
    listed = sound.mapping(facts).get("groups")
    points = []
    for group in listed if isinstance(listed, (list, tuple)) else ():
        known = sound.mapping(group)
        expected, observed = known.get("expected"), sound.estimate(known.get("observed"))
        if not sound.is_share(expected) or observed is None:
            return None
        share, ends = observed
        points.append({"expected": expected, "observed": share, "ends": ends or (share, share)})
    return points or None


def _share(value: object) -> str:
    """Return a share in percent with its interval."""
    found = sound.estimate(value)
    if found is None:
        return not_stated()
    share, ends = found
    return f"{percent(share)} ({_ends(ends)})"


def _ends(ends: sound.Ends | None) -> str:
    if ends is None:
        return no_interval()
    low, high = (percent(end, 0) for end in ends)
    return range_text(low.removesuffix(" %"), high)


def _number(found: sound.Estimate | None, written: Callable[[float], str] = brief) -> str:
    if found is None:
        return not_stated()
    figure, ends = found
    around = range_text(*map(written, ends)) if ends else no_interval()
    return f"{written(figure)} ({around})"
