"""What coded classes and values stand for, beside the code itself: `lives (“0”)`.

The code stays on the sheet, so that it is followed exactly; the paper reader drops the label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mbndt.emitters.protocol.grammar import TEXT as QUOTED
from mbndt.emitters.protocol.grammar import quoted, result_text, value_text
from mbndt.emitters.protocol.statements import Statements
from mbndt.emitters.protocol.text import not_stated
from mbndt.emitters.protocol.words import pattern, say
from mbndt.rules import Feature, FeatureType, Rules
from mbndt.rules.values import label_text


@dataclass(frozen=True)
class Labels:
    """Words by what stands on the sheet: of classes, and of a category's values by feature name."""

    classes: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, rules: Rules, stated: Statements) -> Labels:
        """Return what is stated of classes and categories."""
        classes = {
            value_text(label): words
            for label in rules.target.classes
            if (words := stated.label(label_text(label)))
        }
        values = {
            name: {quoted(code): words for code, words in entry.values.items() if words}
            for name, entry in stated.features.items()
            if rules.feature[name].type == FeatureType.CATEGORY
        }
        return cls(classes, values)

    def answer(self, text: str) -> str:
        """Return an answer as printed, `“0”`, with its label."""
        return f"{self.classes[text]} ({text})" if text in self.classes else text

    def then(self, text: str) -> str:
        """Return where a row leads, `R3: “0”`, with the answer's label."""
        found = re.fullmatch(pattern("result_is", leaf=r"(\d+)", answer="(.+)"), text)
        return result_text(found[1], self.answer(found[2])) if found else text

    def value(self, feature: str, text: str) -> str:
        """Return what a row says of a feature with the labels of all codes in it."""
        known = self.values.get(feature, {})

        def labelled(found: re.Match[str]) -> str:
            return f"{known[found[0]]} ({found[0]})" if found[0] in known else found[0]

        return re.sub(QUOTED, labelled, text) if known else text


def listed(feature: Feature, values: Mapping[str, str]) -> str:
    """Return in words what the codes of a number or a boolean stand for; nothing for a category."""
    if feature.type == FeatureType.CATEGORY:
        return ""
    boolean = feature.type == FeatureType.BOOLEAN
    codes = {"true": say("yes"), "false": say("no")} if boolean else {}
    told = {codes.get(code, code): words for code, words in values.items() if words}
    return ", ".join(say("pair", name=code, text=words) for code, words in told.items())


def spoken(
    view: dict[str, Any], labels: Labels, inputs: list[Feature], stated: Statements
) -> dict[str, Any]:
    """Return a view with the labels of codes beside them; `inputs` in the order of its fields."""
    if not labels.classes and not any(entry.values for entry in stated.features.values()):
        return view
    names = [feature.name for feature in inputs]
    of_step = {step["number"]: names[step["field"]] for step in view["steps"]}
    of_title = {view["titles"][name]: name for name in names}
    own = [stated.feature(feature).values for feature in inputs]
    meanings = [listed(feature, values) for feature, values in zip(inputs, own, strict=True)]
    return view | {
        "steps": [_step(step, of_step[step["number"]], labels) for step in view["steps"]],
        "examples": [_example(one, of_step, labels) for one in view["examples"]],
        "answers": [[labels.answer(name), *rest] for name, *rest in view["answers"]],
        "results": _results(view["results"], of_title, labels),
        "exact": [_answers(table, labels) for table in view["exact"]],
        "training": _answers(view["training"], labels),
        "inputs": [
            [*row[:3], _more(row[3], meaning), labels.value(name, row[4]), *row[5:]]
            for row, name, meaning in zip(view["inputs"], names, meanings, strict=True)
        ],
        "fields": [
            field
            | {"choices": [labels.value(name, choice) for choice in field["choices"]]}
            | {"what": _more(field["what"], meaning)}
            for field, name, meaning in zip(view["fields"], names, meanings, strict=True)
        ],
    }


def _more(text: str, meaning: str) -> str:
    return (
        "; ".join(part for part in (text if text != not_stated() else "", meaning) if part) or text
    )


def _step(step: dict[str, Any], name: str, labels: Labels) -> dict[str, Any]:
    rows = [
        row
        | {"parts": [labels.value(name, part) for part in row["parts"]]}
        | ({"then": labels.then(row["then"])} if row["leaf"] is not None else {})
        for row in step["rows"]
    ]
    return step | {"rows": rows}


def _example(one: dict[str, Any], of_step: Mapping[int, str], labels: Labels) -> dict[str, Any]:
    walk = [
        [
            number,
            title,
            labels.value(of_step[int(number)], value),
            labels.value(of_step[int(number)], fit),
            labels.then(then),
        ]
        for number, title, value, fit, then in one["walk"]
    ]
    return one | {"walk": walk}


def _answers(table: dict[str, Any], labels: Labels) -> dict[str, Any]:
    rows = [[leaf, labels.answer(answer), *rest] for leaf, answer, *rest in table["rows"]]
    return table | {"rows": rows}


def _results(table: dict[str, Any], of_title: Mapping[str, str], labels: Labels) -> dict[str, Any]:
    """Return the results with labels in their answers, heads and reasons."""
    # A condition, where title and values may quote anything, and the head of risks.
    condition = pattern("reason", title=f"({QUOTED}|[^:“]+?)", condition=f"((?:{QUOTED}|[^;“])*)")
    risk = re.compile(pattern("head_risk", answer="(.*)"))

    def reason(part: re.Match[str]) -> str:
        said = labels.value(of_title.get(part[2], ""), part[3])
        return part[1] + say("reason", title=part[2], condition=said)

    place = table["header"].index(say("because"))
    rows = [list(row) for row in _answers(table, labels)["rows"]]
    for row in rows:
        row[place] = re.sub(f"(^|; ){condition}", reason, row[place])
    heads = [
        risk.sub(lambda head: say("head_risk", answer=labels.answer(head[1])), head)
        for head in table["header"]
    ]
    return {"header": heads, "rows": rows}
