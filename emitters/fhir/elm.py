"""ELM, the form of CQL that engines run: the rules as a library of parameters and expressions.

Expression Logical Model release 1 (CQL 1.5, appendices B to D), as plain JSON values, nothing in it
but what `cql.py` writes as text. The leaf comes of nested cases; all else is looked up by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, partial, reduce
from typing import Any, TypeAlias

from mbndt.emitters.base import identifier, visible
from mbndt.emitters.fhir.numbers import cut, rounded, whole
from mbndt.emitters.nested import NESTING, pieces
from mbndt.errors import shown
from mbndt.rules import Feature, FeatureType, Label, Leaf, Node, Rules, TargetType
from mbndt.rules.cuts import Arm, Range, arms
from mbndt.rules.values import label_text

Elm: TypeAlias = dict[str, Any]

SYSTEM = "urn:hl7-org:elm-types:r1"
TYPES = {
    FeatureType.BOOLEAN: "Boolean",
    FeatureType.CATEGORY: "String",
    FeatureType.INTEGER: "Integer",
    TargetType.BOOLEAN: "Boolean",
    TargetType.STRING: "String",
}
LEAF, ANSWER, ANSWERED, STOPPED = "Leaf", "Answer", "Has an answer", "Has no answer"
# The last is no name of an own property in JavaScript, where engines run.
OWN = (LEAF, ANSWER, ANSWERED, STOPPED, "__proto__")


@dataclass(frozen=True)
class Names:
    """What things are called in a library, all different: the definitions, then the parameters.

    `parts` are those of subtrees, `outcomes` tell for each class whether it is the answer, `told`
    has what is told of each class by block, `inputs` the parameters in the order of `rules.used`.
    """

    rules: Rules
    _taken: set[str] = field(default_factory=lambda: {*OWN})

    def __post_init__(self) -> None:
        # In this order, so that what comes first keeps its name.
        assert self.outcomes is not None
        assert self.told is not None
        assert self.inputs is not None

    @property
    def library(self) -> str:
        """Return the library's name, as FHIR and CQL both take it."""
        return "".join(word.capitalize() for word in identifier(self.rules.name).split("_"))[:255]

    @cached_property
    def outcomes(self) -> list[str]:
        """Return a definition a class, which tells whether it is the answer."""
        return [self._new(f"Answer is {label_text(c)}") for c in self.rules.target.classes]

    @cached_property
    def told(self) -> dict[str, list[str]]:
        """Return a definition a class for each block of numbers."""
        return {
            block: [
                self._new(f"{block.capitalize()} of {label_text(c)}")
                for c in self.rules.target.classes
            ]
            for block in self.rules.outputs
        }

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Return a parameter by feature."""
        return {feature.name: self._new(feature.name) for feature in self.rules.used}

    def _new(self, text: str) -> str:
        """Return a text as FHIR takes a name: printed, no blanks but single ones within."""
        base, number = " ".join(visible(text).split()) or "value", 1
        name = base
        while name in self._taken:
            number += 1
            name = f"{base} ({number})"
        self._taken.add(name)
        return name


def library(rules: Rules, names: Names) -> Elm:
    """Return the library; raises `TargetError` for numbers that CQL doesn't hold."""
    parameters = [
        {
            "name": names.inputs[feature.name],
            "accessLevel": "Public",
            "parameterTypeSpecifier": {"type": "NamedTypeSpecifier", "name": _type(feature)},
        }
        for feature in rules.used
    ]
    statements = [
        {"name": name, "context": "Unfiltered", "accessLevel": "Public", "expression": expression}
        for name, expression in _definitions(rules, names)
    ]
    return {
        "library": {
            "identifier": {"id": names.library, "version": rules.fingerprint},
            "schemaIdentifier": {"id": "urn:hl7-org:elm", "version": "r1"},
            "usings": {"def": [{"localIdentifier": "System", "uri": SYSTEM}]},
            "parameters": {"def": parameters},
            "statements": {"def": statements},
        }
    }


def type_of(of: FeatureType | TargetType) -> str:
    """Return CQL's type of a feature's or a label's values."""
    return TYPES.get(of, "Decimal")


def _type(feature: Feature) -> str:
    return f"{{{SYSTEM}}}{type_of(feature.type)}"


def _definitions(rules: Rules, names: Names) -> Iterator[tuple[str, Elm]]:
    """Yield each definition after those that it refers to."""
    tops = pieces(rules.root, NESTING)
    parts = {key: f"{LEAF} (part {i})" if i else LEAF for i, key in enumerate(tops)}
    for key, node in reversed(tops.items()):
        yield parts[key], _node(rules, names, parts, node, top=True)
    labels = [rules.label(leaf) for leaf in rules.leaves]
    yield ANSWER, _by_leaf(labels, partial(_answer, rules))
    answer = reference(ANSWER)
    for name, label in zip(names.outcomes, rules.target.classes, strict=True):
        # A stop's answer is null, so is its comparison, which tells nobody false or true.
        yield name, unary("IsTrue", operation("Equal", answer, _answer(rules, label)))
    if not rules.target.classes:
        yield ANSWERED, unary("Not", unary("IsNull", answer))
    if rules.stops:
        yield STOPPED, unary("IsNull", answer)
    for block, rows in rules.outputs.items():
        for i, name in enumerate(names.told[block]):
            yield name, _by_leaf([row and row[i] for row in rows], decimal)


def _node(
    rules: Rules, names: Names, parts: dict[int, str], node: Node, *, top: bool = False
) -> Elm:
    if isinstance(node, Leaf):
        return integer(node.leaf)
    if not top and id(node) in parts:
        return reference(parts[id(node)])
    feature = rules.feature[node.feature]
    value: Elm = {"type": "ParameterRef", "name": names.inputs[node.feature]}
    *tested, rest = arms(rules, node, cut)
    return case(
        [(_test(arm, feature, value), _node(rules, names, parts, arm.child)) for arm in tested],
        _node(rules, names, parts, rest.child),
    )


def _test(arm: Arm, feature: Feature, value: Elm) -> Elm:
    """Return what is true of the values that take an arm, false or null of others."""
    tests = []
    if arm.missing:
        tests.append(unary("IsNull", value))
        if feature.type == FeatureType.CATEGORY:
            tests.append(operation("Equal", value, text("")))
    number = integer if feature.type == FeatureType.INTEGER else decimal
    tests += [_within(value, part, number) for part in arm.ranges]
    if feature.type == FeatureType.BOOLEAN:
        tests += [unary("IsTrue" if truth else "IsFalse", value) for truth in arm.values]
    elif len(arm.values) == 1:
        tests.append(operation("Equal", value, text(str(arm.values[0]))))
    elif arm.values:
        listed = [text(str(own)) for own in arm.values]
        tests.append(operation("In", value, {"type": "List", "element": listed}))
    return _all("Or", tests)


def _within(value: Elm, part: Range, number: Callable[[Any], Elm]) -> Elm:
    ends = [("GreaterOrEqual", part.low), ("Less", part.high)]
    return _all("And", [operation(op, value, number(x)) for op, x in ends if x is not None])


def _all(operator: str, parts: Sequence[Elm]) -> Elm:
    return reduce(partial(operation, operator), parts)


def _by_leaf(values: Sequence[Any], literal: Callable[[Any], Elm]) -> Elm:
    """Return a look-up by leaf; those without a value have null."""
    items = [(integer(i), literal(x)) for i, x in enumerate(values) if x is not None]
    return case(items, {"type": "Null"}, comparand=reference(LEAF))


def _answer(rules: Rules, label: Label | float) -> Elm:
    match label:
        case bool():
            return _literal("Boolean", label_text(label))
        case str():
            return text(label)
        case int() if rules.target.classes:
            return integer(whole(label, f"an answer of {shown(rules.target.name)}"))
        case _:
            return decimal(label)


def case(items: Iterable[tuple[Elm, Elm]], rest: Elm, comparand: Elm | None = None) -> Elm:
    """Return the choice among items by their tests, or by what equals the comparand."""
    listed = [{"when": when, "then": then} for when, then in items]
    if not listed:
        return rest
    own = {} if comparand is None else {"comparand": comparand}
    return {"type": "Case", **own, "caseItem": listed, "else": rest}


def reference(name: str) -> Elm:
    """Return what refers to a definition."""
    return {"type": "ExpressionRef", "name": name}


def unary(operator: str, operand: Elm) -> Elm:
    """Return an operator on one operand."""
    return {"type": operator, "operand": operand}


def operation(operator: str, left: Elm, right: Elm) -> Elm:
    """Return an operator between two operands."""
    return {"type": operator, "operand": [left, right]}


def integer(value: int) -> Elm:
    """Return the literal of a whole number; CQL has none below zero, but a sign."""
    return unary("Negate", integer(-value)) if value < 0 else _literal("Integer", str(value))


def decimal(value: float) -> Elm:
    """Return the literal of a number, rounded to CQL's places."""
    value = rounded(float(value))
    return unary("Negate", decimal(-value)) if value < 0 else _literal("Decimal", digits(value))


def digits(value: float) -> str:
    """Return a decimal in full, with a point, which tells it from a whole number.

    >>> digits(1e-07), digits(21.0), digits(1e19)
    ('0.0000001', '21.0', '10000000000000000000.0')
    """
    found = format(Decimal(repr(value)), "f")
    return found if "." in found else f"{found}.0"


def text(value: str) -> Elm:
    r"""Return the literal of a text.

    In two where a backslash stands before a quote: cql-execution takes them for one escape.
    """
    halves = [value]
    for quote in "'\"":
        halves = [
            half
            for part in halves
            for half in part.replace(f"\\{quote}", f"\\\0{quote}").split("\0")
        ]
    return _all("Concatenate", [_literal("String", half) for half in halves])


def _literal(kind: str, value: str) -> Elm:
    return {"type": "Literal", "valueType": f"{{{SYSTEM}}}{kind}", "value": value}
