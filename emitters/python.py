"""Python: one module, standard library only, that an auditor can read from top to bottom."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mbndt.emitters.base import (
    Arm,
    Artifact,
    Emitter,
    Range,
    arms,
    identifier,
    pieces,
    provenance_line,
    templates,
)
from mbndt.rules import Feature, Leaf, Node, Rules, Threshold

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.table import Table

# Python refuses 100 levels of indentation; past this depth a subtree gets a function of its own.
NESTING = 16


@dataclass(frozen=True)
class Python(Emitter):
    """Emit a module with `predict`, `predict_proba`, `leaf`, `FEATURES` and `CLASSES`."""

    target = "python"

    def emit(self, rules: Rules) -> Artifact:
        """Return the module's text."""
        tops = pieces(rules.root, NESTING)
        numbers = {key: i for i, key in enumerate(tops)}
        template = templates("python").get_template("module.py.jinja")
        text = template.render(
            rules=rules,
            origin=provenance_line(rules),
            literal=ascii,
            readers=sorted({feature.type.value for feature in rules.used}),
            pieces=[_view(rules, node, numbers, top=True) for node in tops.values()],
            labels=[rules.label(leaf) for leaf in rules.leaves],
        )
        return Artifact(identifier(rules.name), ".py", text, rules)

    def engine(self) -> str:
        """Return the running Python's name and version."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by calling the module's functions."""
        import numpy as np

        from mbndt.interpreter import Predictions

        rules = artifact.rules
        module: dict[str, Any] = {"__name__": artifact.name}
        exec(compile(artifact.text, f"{artifact.name}.py", "exec"), module)
        rows = list(table.records(rules.used))
        probabilities = None
        if rules.task == "classification":
            listed = [module["predict_proba"](row) for row in rows]
            shape = (len(rows), len(rules.target.classes))
            probabilities = np.array(listed, np.float64).reshape(shape)
        leaf = np.array([module["leaf"](row) for row in rows], np.int64)
        return Predictions(leaf, [module["predict"](row) for row in rows], probabilities)


def _view(rules: Rules, node: Node, numbers: dict[int, int], *, top: bool) -> dict[str, Any]:
    """Return what the template shows of a node."""
    if isinstance(node, Leaf):
        return {"leaf": node.leaf}
    if not top and id(node) in numbers:
        return {"call": numbers[id(node)]}
    feature = rules.feature[node.feature]
    steps = arms(rules, node, cut=_as_written)
    return {
        "number": numbers.get(id(node)),
        "feature": feature,
        "note": ", ".join(ascii(text)[1:-1] for text in (feature.label, feature.unit) if text),
        "arms": [
            {
                "word": "else" if arm.rest else "elif" if i else "if",
                "condition": None if arm.rest else _condition(arm),
                "child": _view(rules, arm.child, numbers, top=False),
            }
            for i, arm in enumerate(steps)
        ],
    }


def _as_written(feature: Feature, threshold: Threshold) -> Threshold:
    """Keep thresholds: the module rounds float32 values itself, and Python's integers and doubles
    compare exactly.
    """
    return threshold


def _condition(arm: Arm) -> str:
    tests = ["x is None"] if arm.missing else []
    tests += [_between(part) for part in arm.ranges]
    if len(arm.values) == 1:
        tests.append(f"x == {arm.values[0]!a}")
    elif arm.values:
        tests.append(f"x in ({', '.join(ascii(value) for value in arm.values)})")
    return " or ".join(tests)


def _between(part: Range) -> str:
    if part.low is None:
        return f"x < {part.high!r}"
    return f"x >= {part.low!r}" if part.high is None else f"{part.low!r} <= x < {part.high!r}"
