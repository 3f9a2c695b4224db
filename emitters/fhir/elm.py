"""ELM, the form of CQL that engines run: the rules as a library of parameters and expressions.

Expression Logical Model release 1 (CQL 1.5, appendices B to D), as plain JSON values, nothing in it
but what `cql.py` writes as text. The leaf comes of nested cases; all else is looked up by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from itertools import chain, count
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


@dataclass(frozen=True)
class Names:
    """What things are called in a `library`, all different.

    `parts` are subtrees by `id(node)`, the root first; `outcomes` tell for each class whether it is
    the answer; `told` has numbers of each class by block; `inputs` are parameters by feature.
    """

    library: str
    parts: Mapping[int, str]
    outcomes: Sequence[str]
    told: Mapping[str, Sequence[str]]
    inputs: Mapping[str, str]

    @classmethod
    def of(cls, rules: Rules) -> Names:
        """Return the names for rules; of equals those that come first stay as they are."""
        taken = {LEAF, ANSWER, ANSWERED, STOPPED}

        def new(text: str) -> str:
            # As FHIR takes a name: printed, no blanks but single ones within.
            base = " ".join(visible(text).split()) or "value"
            numbered = (f"{base} ({number})" for number in count(2))
            name = next(name for name in chain([base], numbered) if name not in taken)
            taken.add(name)
            return name

        classes = [label_text(label) for label in rules.target.classes]
        root, *tops = pieces(rules.root, NESTING)
        return cls(
            "".join(word.capitalize() for word in identifier(rules.name).split("_"))[:255],
            {root: LEAF, **{top: new(f"{LEAF} (part {i})") for i, top in enumerate(tops, 1)}},
            [new(f"Answer is {text}") for text in classes],
            {
                block: [new(f"{block.capitalize()} of {text}") for text in classes]
                for block in rules.outputs
            },
            {feature.name: new(feature.name) for feature in rules.used},
        )


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
    for key, node in reversed(pieces(rules.root, NESTING).items()):
        yield names.parts[key], _node(rules, names, node, top=True)
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


def _node(rules: Rules, names: Names, node: Node, *, top: bool = False) -> Elm:
    if isinstance(node, Leaf):
        return integer(node.leaf)
    if not top and id(node) in names.parts:
        return reference(names.parts[id(node)])
    feature = rules.feature[node.feature]
    value: Elm = {"type": "ParameterRef", "name": names.inputs[node.feature]}
    *tested, rest = arms(rules, node, cut)
    return case(
        [(_test(arm, feature, value), _node(rules, names, arm.child)) for arm in tested],
        _node(rules, names, rest.child),
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
