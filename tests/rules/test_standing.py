"""What rules may be called: only a validation of these very rules lifts the stamp."""

from dataclasses import replace

import pytest

from mbndt.rules import Rules
from mbndt.rules.standing import validation_status, validations


def figures(rules: Rules, rows: int = 40) -> dict[str, object]:
    few = [1] * (len(rules.target.classes) - 1)
    return {"rows": rows, "class_rows": [rows - len(few), *few]}


def block(of: Rules, **changes: object) -> dict[str, object]:
    found = {"rules": of.fingerprint, "kind": "internal", "on": None}
    return {**found, "performance": figures(of), **changes}


def status(rules: Rules, validation: object) -> str:
    return validation_status(
        replace(rules, provenance={**rules.provenance, "validation": validation})
    )


def test_rules_are_drafts_until_they_are_validated(example):
    assert validation_status(example) == "DRAFT"
    assert status(example, [block(example)]) == "VALIDATED INTERNALLY"
    there = block(example, kind="external", on="Hospital B, 2025")
    assert status(example, [there]) == "VALIDATED on Hospital B, 2025"


def test_what_was_done_elsewhere_counts_for_more_and_is_named_once(example):
    places = [block(example, kind="external", on=name) for name in ("B", "C", "B")]
    assert status(example, [block(example), *places]) == "VALIDATED on B; C"


@pytest.mark.parametrize(
    "validation",
    ["internal only", "0", "pending", 1, True, None, {}, ["internal"], [None], [[]], [{}]],
)
def test_no_text_lifts_the_stamp(example, validation):
    assert status(example, validation) == "DRAFT"


@pytest.mark.parametrize(
    "changes",
    [
        {"rules": "0" * 64},
        {"rules": None},
        {"kind": "validated"},
        {"kind": ["internal"]},
        {"kind": "external"},
        {"kind": "external", "on": "  "},
        {"kind": "external", "on": 3},
        {"performance": None},
        {"performance": {}},
        {"performance": {"rows": 40}},
        {"performance": {"rows": "40"}},
        {"performance": {"rows": True, "class_rows": [1, 0, 0]}},
        {"performance": {"rows": 40, "class_rows": "abc"}},
        {"performance": {"rows": 40, "class_rows": [20, "10", 10]}},
        {"performance": {"rows": 40, "class_rows": [1, 1, 1]}},
        {"performance": {"rows": 40, "class_rows": [40, 0, 0]}},
        {"performance": {"rows": 19, "class_rows": [17, 1, 1]}},
    ],
)
def test_a_block_that_is_unsound_or_of_other_rules_lifts_nothing(example, changes):
    assert status(example, [block(example)]) != "DRAFT"
    assert status(example, [block(example, **changes)]) == "DRAFT"


def test_rules_that_changed_since_are_drafts_again(example):
    kept = replace(example, provenance={"validation": [block(example)]})
    other = replace(kept, provenance={"validation": [block(kept)]})
    assert len(validations(other)) == 1
    assert validation_status(replace(other, name="another")) == "DRAFT"
