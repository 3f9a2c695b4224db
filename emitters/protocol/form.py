"""The form of a decision sheet: its fields, and the script that follows the rules with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mbndt.emitters import base
from mbndt.emitters.protocol.grammar import digits, quoted, value_text
from mbndt.emitters.protocol.inputs import Inputs
from mbndt.emitters.protocol.results import condition
from mbndt.emitters.protocol.stops import trimmed
from mbndt.emitters.protocol.text import plain, said
from mbndt.emitters.protocol.words import say
from mbndt.rules import Feature, FeatureType, Rules
from mbndt.rules.boxes import Space, reasons, unseen_text


def field(inputs: Inputs, letter: str, feature: Feature) -> dict[str, Any]:
    """Return a field of the form: its choices as they are shown, or the range that guards it."""
    entry = inputs.known[feature.name]
    limits = inputs.limits(feature)
    choices = [quoted(text) for text in feature.categories]
    if feature.type == FeatureType.BOOLEAN:
        choices = [value_text(False), value_text(True)]
    missing = entry.missing.text
    return {
        "letter": letter,
        "title": inputs.titles[feature.name],
        "type": feature.type.value,
        "unit": entry.unit and plain(entry.unit),
        "units": [[plain(other.unit), format(other.factor, "f")] for other in entry.other_units],
        "choices": choices,
        "range": limits and [*map(digits, limits)],
        "signed": limits is None or limits[0] < 0,
        "what": "; ".join(plain(text) for text in (entry.description, entry.measured) if text),
        "missing": say("form_not_measured_do", text=said(missing))
        if missing
        else say("form_not_measured"),
    }


def script(rules: Rules, features: Iterable[Feature], titles: Mapping[str, str]) -> str:
    """Return the page's script: the JavaScript target's module, and what drives the form by it.

    The rules are those with stops; `features` are the form's fields, in their order.
    """
    from mbndt.emitters.javascript.emit import JavaScript, literal

    short, goals = trimmed(rules)
    module = JavaScript().emit(short).text
    asked = [*features]
    fields = [
        {
            "name": feature.name,
            "title": titles[feature.name],
            "type": feature.type.value,
            "known": list(feature.categories),
            "other": unseen_text(feature.categories),
        }
        for feature in asked
    ]

    def data(value: object) -> str:
        return json.dumps(value).replace("<", literal("<")[1:-1])

    driver = base.templates("protocol").get_template("form.mjs.jinja")
    reasons = data(_reasons(rules, asked))
    said = driver.render(fields=data(fields), goals=data(goals), reasons=reasons, say=say)
    return f"{module}\n{said}"


def _reasons(rules: Rules, asked: list[Feature]) -> dict[str, list[tuple[int, str]]]:
    """Return by a result's id the fields that suffice for its answer, with what holds of each."""
    space = Space.of(rules)
    places = {feature.name: i for i, feature in enumerate(asked)}
    return {
        f"result-{reason.leaf.leaf}": [
            (places[name], condition(rules, rules.feature[name], space, mask))
            for name, mask in reason.enough.items()
        ]
        for reason in reasons(rules, space)
        if not reason.leaf.stops
    }
