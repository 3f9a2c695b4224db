"""Rules, the form that everything else reads: a decision tree over raw, typed columns.

A `Rules` object is immutable and always valid: building one checks every invariant, and a
broken one raises `RulesError` with the path of the node (`root.children[1].intervals[0].below`).
"""

from mbndt.rules.nodes import (
    INT64_MAX,
    INT64_MIN,
    MAX_DEPTH,
    MAX_NODES,
    Feature,
    FeatureType,
    Group,
    Interval,
    Label,
    Leaf,
    Node,
    NumericSplit,
    SetSplit,
    Split,
    Target,
    TargetType,
    Threshold,
    deep_recursion,
    walk,
)
from mbndt.rules.rules import Rules

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "MAX_DEPTH",
    "MAX_NODES",
    "Feature",
    "FeatureType",
    "Group",
    "Interval",
    "Label",
    "Leaf",
    "Node",
    "NumericSplit",
    "Rules",
    "SetSplit",
    "Split",
    "Target",
    "TargetType",
    "Threshold",
    "deep_recursion",
    "walk",
]
