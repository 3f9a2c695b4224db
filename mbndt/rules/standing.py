"""What a validation says of rules, and which validations count: those of these very rules.

`mbndt validate` writes blocks to the provenance, each with the fingerprint of the rules that it
holds for. Rules that changed since are drafts again; a text that somebody wrote lifts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mbndt.rules.rules import Rules

DRAFT, INTERNAL, EXTERNAL = "DRAFT", "VALIDATED INTERNALLY", "VALIDATED on"
LEAST_ROWS = 20  # fewer answers than these say next to nothing


def validation_status(rules: Rules) -> str:
    """Return `DRAFT`, `VALIDATED INTERNALLY`, or `VALIDATED on …` with what it was done on."""
    found = validations(rules)
    places = [block["on"] for block in found if block["kind"] == "external"]
    if places:
        return f"{EXTERNAL} {'; '.join(dict.fromkeys(places))}"
    return INTERNAL if found else DRAFT


def validations(rules: Rules) -> list[Mapping[str, Any]]:
    """Return the validations in the provenance that hold for these rules, in their order."""
    blocks = rules.provenance.get("validation")
    if not isinstance(blocks, list):
        return []
    return [block for block in blocks if _holds(rules, block)]


def _holds(rules: Rules, block: object) -> bool:
    if not isinstance(block, Mapping) or block.get("rules") != rules.fingerprint:
        return False
    on, kind = block.get("on"), block.get("kind")
    named = isinstance(on, str) and bool(on.strip())
    if not (kind == "internal" or (kind == "external" and named)):
        return False
    return enough(rules, block.get("performance"))


def enough(rules: Rules, performance: object) -> bool:
    """Tell whether figures are of rows enough: `LEAST_ROWS` answered, and of classes to tell."""
    if not isinstance(performance, Mapping):
        return False
    rows = performance.get("rows")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < LEAST_ROWS:
        return False
    if not rules.target.classes:
        return True
    counts = performance.get("class_rows")
    if not isinstance(counts, list) or len(counts) != len(rules.target.classes):
        return False
    if not all(isinstance(count, int) for count in counts) or sum(counts) != rows:
        return False
    if rules.event is not None and not counts[rules.event]:
        return False
    return bool(max(counts) < rows)
