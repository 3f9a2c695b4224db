"""FHIR R4: the Bundle with the Library that holds the CQL, and the PlanDefinition that asks it.

HL7 FHIR 4.0.1. Both resources have the fingerprint of the rules as version; nothing has a date, as
none is known. POST of the bundle to a server puts both there.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any, TypeAlias

from mbndt.emitters.base import identifier, provenance_line, visible
from mbndt.emitters.fhir.cql import cql
from mbndt.emitters.fhir.elm import ANSWER, ANSWERED, LEAF, STOPPED, Names, library, type_of
from mbndt.emitters.fhir.units import UCUM, ucum
from mbndt.rules import Feature, Rules, Target
from mbndt.rules.standing import EXTERNAL, validation_status
from mbndt.rules.values import label_text

Resource: TypeAlias = dict[str, Any]

CODES = "http://terminology.hl7.org/CodeSystem"


def bundle(rules: Rules) -> Resource:
    """Return the bundle; raises `TargetError` for numbers that CQL doesn't hold."""
    names = Names.of(rules)
    return {
        "resourceType": "Bundle",
        "type": "transaction",
        "entry": [
            {
                "fullUrl": resource["url"],
                "resource": resource,
                "request": {"method": "PUT", "url": f"{resource['resourceType']}/{resource['id']}"},
            }
            for resource in (_library(rules, names), _plan(rules, names))
        ],
    }


def _common(rules: Rules, names: Names, kind: str) -> Resource:
    """Return what both resources begin with."""
    standing = validation_status(rules)
    slug = identifier(rules.name).strip("_").replace("_", "-")[:47] or "m"
    return {
        "resourceType": kind,
        "id": f"{slug}-{rules.fingerprint[:16]}",
        "url": _url(rules, kind),
        "version": rules.fingerprint,
        "name": names.library,
        "title": visible(rules.name),
        # Ready for use is what was validated on rows of another source.
        "status": "active" if standing.startswith(EXTERNAL) else "draft",
        "description": f"{visible(standing)}. {provenance_line(rules)}",
    }


def _url(rules: Rules, kind: str) -> str:
    """Return what others call a resource by, the same for the same rules everywhere."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"mbndt:{kind}:{rules.fingerprint}").urn


def _library(rules: Rules, names: Names) -> Resource:
    elm = library(rules, names)
    remarks = {names.inputs[feature.name]: said(feature) for feature in rules.used}
    text = cql(elm, remarks, provenance_line(rules))
    units = [
        {
            "id": f"unit-{i}",
            "type": "Quantity",
            "codeFilter": [{"path": "code", "code": [{"system": UCUM, "code": code}]}],
        }
        for i, feature in enumerate(rules.used)
        if (code := ucum(feature.unit))
    ]
    return {
        **_common(rules, names, "Library"),
        "type": {"coding": [{"system": f"{CODES}/library-type", "code": "logic-library"}]},
        "parameter": [*_inputs(rules, names), *_outputs(rules, names)],
        **({"dataRequirement": units} if units else {}),
        "content": [
            {"contentType": "text/cql", "data": _data(text)},
            {"contentType": "application/elm+json", "data": _data(json.dumps(elm))},
        ],
    }


def _inputs(rules: Rules, names: Names) -> Iterator[Resource]:
    for i, feature in enumerate(rules.used):
        yield {
            "id": f"input-{i}",
            "name": names.inputs[feature.name],
            "use": "in",
            "min": 0,
            "max": "1",
            "documentation": said(feature) or visible(feature.name),
            "type": type_of(feature.type).lower(),
        }


def _outputs(rules: Rules, names: Names) -> Iterator[Resource]:
    answers = [(LEAF, "integer"), (ANSWER, type_of(rules.target.type).lower())]
    numbers = [(name, "decimal") for block in names.told.values() for name in block]
    for name, kind in [*answers, *numbers]:
        yield {"name": name, "use": "out", "min": 0, "max": "1", "type": kind}


def _plan(rules: Rules, names: Names) -> Resource:
    name = visible(rules.target.name)
    actions = [
        (f"{name}: {visible(label_text(label))}", condition)
        for label, condition in zip(rules.target.classes, names.outcomes, strict=True)
    ]
    if not rules.target.classes:
        actions.append((name, ANSWERED))
    if rules.stops:
        actions.append((f"{name}: no answer, as a value is missing or not known", STOPPED))
    usage = said(rules.target)
    return {
        **_common(rules, names, "PlanDefinition"),
        "type": {"coding": [{"system": f"{CODES}/plan-definition-type", "code": "eca-rule"}]},
        **({"usage": usage} if usage else {}),
        "library": [f"{_url(rules, 'Library')}|{rules.fingerprint}"],
        "action": [_action(title, condition) for title, condition in actions],
    }


def _action(title: str, condition: str) -> Resource:
    told = {"language": "text/cql-identifier", "expression": condition}
    return {"title": title, "condition": [{"kind": "applicability", "expression": told}]}


def said(of: Feature | Target) -> str:
    """Return what is known of a feature or a target beside its name, on one line."""
    parts = [getattr(of, "label", ""), of.unit and f"unit: {of.unit}", of.description]
    return ". ".join(visible(part) for part in parts if part)


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
