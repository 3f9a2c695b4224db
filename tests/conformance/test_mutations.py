"""The guards bite: an artefact with a typical emitter's error is caught for every target.

An emitter that writes `<=` for `<`, sends missing values to the wrong child, or prints thresholds
with 15 digits makes of these rules just what a right emitter makes of the changed rules.
"""

import math
from dataclasses import replace

import pytest
from test_conformance import VARIANTS

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import differences, holdable
from mbndt.emitters import emitter
from mbndt.errors import EngineMissing
from mbndt.rules import (
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)
from mbndt.rules.values import to_float32


def rules_with(
    cut: float, whole: int, missing: int, unseen: int = 1, categories: bool = True
) -> Rules:
    """Return rules over every type of feature with a few free choices."""
    leaves = tuple(Leaf(i, (i / 16, 1 - i / 16)) for i in range(8))
    inner = NumericSplit("n", (Interval(whole, 0), Interval(None, 1)), 1 - missing, leaves[:2])
    flag = SetSplit("flag", (Group((False,), 1), Group((True,), 0)), missing, leaves[2:4])
    last = NumericSplit("z", (Interval(cut, 0), Interval(None, 1)), missing, leaves[6:])
    if categories:
        groups = (Group(("a",), 0), Group(("b",), 1))
        last = SetSplit("c", groups, missing, leaves[6:], unseen)
    single = NumericSplit("f", (Interval(0.1, 0), Interval(None, 1)), missing, leaves[4:6])
    parts = (Interval(-cut, 0), Interval(cut, 1), Interval(9.5, 2), Interval(None, 3))
    root = NumericSplit("x", parts, 2 * missing, (inner, flag, single, last))
    features = (
        Feature("x", FeatureType.FLOAT64),
        Feature("n", FeatureType.INTEGER),
        Feature("flag", FeatureType.BOOLEAN),
        Feature("f", FeatureType.FLOAT32),
        Feature("c", FeatureType.CATEGORY, ("a", "b"))
        if categories
        else Feature("z", FeatureType.FLOAT64),
    )
    return Rules("guarded", Target("y", TargetType.STRING, ("no", "yes")), features, root)


LONG = 0.1 + 0.2  # 0.30000000000000004, which 15 digits make 0.3
MUTATIONS = {
    "none": {},
    "<= for <": {"cut": math.nextafter(LONG, 1)},
    "15 digits": {"cut": float(f"{LONG:.15g}")},
    "<= for < on integers": {"whole": 2**53 + 2},
    "integers compared as doubles": {"whole": 2**53},
    "missing to the wrong child": {"missing": 1},
    "unseen to the wrong child": {"unseen": 0},
}


# The same errors where numbers are narrower: floats, whole numbers of 32 bits, a matrix of doubles,
# whole numbers that are doubles, decimals of 8 places.
NARROW = {
    "dmn": {"none": {"whole": 1000}},
    "fhir": {
        "none": {"cut": 0.25, "whole": 1000},
        "<= for <": {"cut": 0.25000001},
        "15 digits": None,
    },
    "matrix": {"none": {"whole": 1000}, "unseen to the wrong child": None},
    "float": {
        "none": {"cut": to_float32(LONG), "whole": 1000},
        "<= for <": {"cut": math.nextafter(to_float32(LONG), 1)},
        "15 digits": {"cut": float(f"{to_float32(LONG):.6g}")},
    },
    "int32": {
        "none": {"cut": 0.25, "whole": 1000},
        "<= for <": {"cut": 0.26},
        "15 digits": None,
    },
    "int16": {
        "none": {"cut": 0.25, "whole": 1000},
        "<= for <": {"cut": 0.26},
        "15 digits": None,
    },
    "int8": {
        "none": {"cut": 2.5, "whole": 100},
        "<= for <": {"cut": 2.6},
        "15 digits": None,
        "<= for < on integers": {"whole": 101},
    },
}
FOR_INTEGERS = {"<= for < on integers": {"whole": 1001}, "integers compared as doubles": None}


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("target, options", VARIANTS)
def test_a_typical_error_is_caught(target, options, mutation):
    changes = dict(MUTATIONS)
    for word, own in NARROW.items():
        if word in (target, *options.values()):
            changes |= FOR_INTEGERS | own
    if changes[mutation] is None:
        pytest.skip("numbers of this width can't tell")
    base = {"cut": LONG, "whole": 2**53 + 1, "missing": 0} | changes["none"]
    base["categories"] = options.get("inputs") != "matrix"
    true, wrong = rules_with(**base), rules_with(**base | changes[mutation])
    # A sheet would stop at values that no row is known to have had.
    unstopped = {"sheet": {"least_rows": 0}} if target == "protocol" else {}
    tool = emitter(target, **options, **unstopped)
    try:
        tool.engine()
    except EngineMissing as error:
        pytest.skip(str(error))
    artifact = replace(tool.emit(wrong), rules=true)
    table, _ = holdable(true, tool, boundary_rows(true, 400))
    wrong_rows = differences(tool.expected(true, table), tool.run(artifact, table))
    assert wrong_rows.any() == (mutation != "none")
