"""How well answers fit cases that learning did not see, in figures and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mbndt.emitters.protocol import sound
from mbndt.emitters.protocol.text import NOT_STATED, brief, percent

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
    for key, name, most in (
        ("r2", "R squared", 1.0),
        ("mae", "Mean absolute error", sound.MOST),
        ("rmse", "Root mean squared error", sound.MOST),
    ):
        least, found = -sound.MOST if key == "r2" else 0.0, facts.get(key)
        if sound.is_number(found) and least <= found <= most:
            yield [name, brief(found)]
        else:
            yield [name, _number(sound.estimate(found, least, most))]


def _agreement(facts: Mapping[str, Any], classes: Sequence[str], event: int | None) -> Pairs:
    if event is not None and facts.get("event") == event:
        yield from _finding(facts, classes, event)
    right, common = _share(facts.get("accuracy")), _share(facts.get("commonest"))
    yield ["Right answers (accuracy)", f"{right}; always the commonest: {common}"]
    if event is None:
        yield ["Mean over the classes", _share(facts.get("balanced_accuracy"))]
    unanswered = facts.get("unanswered")
    if sound.is_count(unanswered) and unanswered:
        yield ["Without an answer", _cases(unanswered)]


def _finding(facts: Mapping[str, Any], classes: Sequence[str], event: int) -> Pairs:
    name, table = classes[event], sound.table(facts.get("table"), len(classes), len(classes))
    cells = _four(table, event) if table else None
    found, missed, needless, spared = cells or (0, 0, 0, 0)
    others = needless + spared
    said = {
        "sensitivity": f"found {found} of {found + missed} with {name}; {missed} missed",
        "specificity": f"spared {spared} of {others} others; {needless} alarmed needlessly",
        "ppv": f"{found} of {found + needless} answered {name} had it",
        "npv": f"{spared} of {missed + spared} answered otherwise had not",
    }
    for key, title in (
        ("sensitivity", "Found (sensitivity)"),
        ("specificity", "Spared (specificity)"),
        ("ppv", f"If answered {name} (PPV)"),
        ("npv", "If answered otherwise (NPV)"),
    ):
        yield [title, _share(facts.get(key)) + (f": {said[key]}" if cells else "")]
    yield ["Ranking (AUC)", _number(sound.estimate(facts.get("auc")), "{:.2f}".format)]
    yield ["Calibration in the large", _in_the_large(facts.get("calibration"), name)]
    yield ["Worth using", _useful(facts, name)]


def _four(table: list[list[int]], event: int) -> tuple[int, int, int, int]:
    """Return how many were found, missed, told needlessly and spared."""
    found = table[event][event]
    missed = sum(table[event]) - found
    needless = sum(row[event] for row in table) - found
    return found, missed, needless, sum(map(sum, table)) - found - missed - needless


def _in_the_large(facts: object, name: str) -> str:
    known = sound.mapping(facts)
    expected, observed = known.get("expected"), known.get("observed")
    told = percent(expected) if sound.is_share(expected) else NOT_STATED
    return f"{told} expected to have {name}; {_share(observed)} had it"


def _useful(facts: Mapping[str, Any], name: str) -> str:
    """Return between which thresholds the rules do better than treating all or none."""
    if "useful" not in facts:
        return NOT_STATED
    if facts["useful"] is None:
        return "at no threshold better than treating all or none"
    ends = sound.ends(facts["useful"])
    if ends is None:
        return NOT_STATED
    low, high = (percent(end, 0) for end in ends)
    return f"better than treating all or none, if one would act at a risk from {low} to {high}"


def _table(facts: Mapping[str, Any], classes: Sequence[str]) -> dict[str, Any] | None:
    """Return how many cases of each class were told what."""
    table = sound.table(facts.get("table"), len(classes), len(classes)) if classes else None
    if not table:
        return None
    return {
        "header": ["Had", *(f"Answered {name}" for name in classes)],
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
        found.append([f"{percent(at)} or more", *map(str, numbers)])
    if len(found) > MOST_POINTS:
        step = (len(found) - 1) / (MOST_POINTS - 1)
        found = [found[round(i * step)] for i in range(MOST_POINTS)]
    header = ["Act at a risk of", "Found", "Missed", "Needless", "Spared"]
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
        return NOT_STATED
    share, ends = found
    return f"{percent(share)} ({_ends(ends)})"


def _ends(ends: sound.Ends | None) -> str:
    if ends is None:
        return f"interval {NOT_STATED}"
    low, high = (percent(end, 0) for end in ends)
    return f"{low.removesuffix(' %')} to {high}"


def _number(found: sound.Estimate | None, say: Callable[[float], str] = brief) -> str:
    if found is None:
        return NOT_STATED
    figure, ends = found
    around = " to ".join(map(say, ends)) if ends else f"interval {NOT_STATED}"
    return f"{say(figure)} ({around})"


def _cases(n: int) -> str:
    return f"{n} case" if n == 1 else f"{n} cases"
