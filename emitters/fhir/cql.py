"""CQL, for people: the text of a library of ELM, expression for expression.

Clinical Quality Language 1.5; what `elm.py` makes and no more. Texts are written in what is
printed, all else by its code.
"""

from __future__ import annotations

from collections.abc import Mapping

from mbndt.emitters.fhir.elm import SYSTEM, Elm

BETWEEN = {
    "And": "and",
    "Concatenate": "+",
    "Equal": "=",
    "GreaterOrEqual": ">=",
    "In": "in",
    "Less": "<",
    "Or": "or",
}
AFTER = {"IsFalse": "is false", "IsNull": "is null", "IsTrue": "is true"}


def cql(library: Elm, remarks: Mapping[str, str], title: str) -> str:
    """Return the text of a library; `remarks` are what to say before a parameter."""
    own = library["library"]
    identity = own["identifier"]
    # In quotes, as some types are words of the language (`List`).
    named = f"library {quoted(identity['id'], mark=chr(34))} version {quoted(identity['version'])}"
    lines = [f"// {title}", named, ""]
    for parameter in own["parameters"]["def"]:
        kind = parameter["parameterTypeSpecifier"]["name"].removeprefix(f"{{{SYSTEM}}}")
        if remark := remarks.get(parameter["name"]):
            lines.append(f"// {remark}")
        lines.append(f"parameter {quoted(parameter['name'], mark=chr(34))} {kind}")
    lines += ["", "context Unfiltered"]
    for statement in own["statements"]["def"]:
        name = quoted(statement["name"], mark='"')
        lines += ["", f"define {name}:", f"  {expression(statement['expression'], '  ')}"]
    return "\n".join([*lines, ""])


def expression(of: Elm, indent: str = "") -> str:
    """Return the text of an expression whose later lines are indented."""
    match of["type"]:
        case "Literal":
            value: str = of["value"]
            return quoted(value) if of["valueType"].endswith("}String") else value
        case "Null":
            return "null"
        case "ParameterRef" | "ExpressionRef":
            return quoted(of["name"], mark='"')
        case "List":
            return f"{{ {', '.join(map(expression, of['element']))} }}"
        case "Case":
            return _case(of, indent)
        case "Negate":
            return f"-{expression(of['operand'])}"
        case "Not":
            return f"not ({expression(of['operand'])})"
        case kind if kind in AFTER:
            return f"{_within(of['operand'], kind)} {AFTER[kind]}"
        case kind:
            left, right = of["operand"]
            return f"{_within(left, kind)} {BETWEEN[kind]} {_within(right, kind)}"


def _within(of: Elm, operator: str) -> str:
    """Return an operand, in parentheses where it would be read otherwise, or by people could."""
    joins = operator in ("And", "Or")
    loose = of["type"] in ("And", "Or") and of["type"] != operator
    compares = of["type"] == "Equal" and not joins
    return f"({expression(of)})" if loose or compares else expression(of)


def _case(of: Elm, indent: str) -> str:
    inner = f"{indent}  "
    head = f"case {expression(of['comparand'])}" if "comparand" in of else "case"
    lines = [head]
    for item in of["caseItem"]:
        lines.append(f"{inner}when {expression(item['when'])} then{_then(item['then'], inner)}")
    lines += [f"{inner}else{_then(of['else'], inner)}", f"{indent}end"]
    return "\n".join(lines)


def _then(of: Elm, indent: str) -> str:
    """Return what follows `then` or `else`, on lines of its own where it asks further."""
    inner = f"{indent}  "
    found = expression(of, inner)
    return f"\n{inner}{found}" if of["type"] == "Case" else f" {found}"


def quoted(value: str, mark: str = "'") -> str:
    r"""Return a text in quotes, or a name in double ones.

    >>> quoted("it's\n"), quoted('a "b"', mark='"')
    ("'it\\'s\\n'", '"a \\"b\\""')
    """
    return f"{mark}{''.join(_escaped(c, mark) for c in value)}{mark}"


def _escaped(character: str, mark: str) -> str:
    if character in (mark, "\\"):
        return f"\\{character}"
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    if character in short:
        return short[character]
    # Codes have four digits; what lies past them stands as it is.
    coded = not character.isprintable() and ord(character) < 2**16
    return f"\\u{ord(character):04x}" if coded else character
