"""Small rules that the tests of SQL ask about, and their SQL."""

from dataclasses import replace

from mbndt.emitters import emit
from mbndt.emitters.sql import dialects as sql_dialects
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

X = Feature("x", FeatureType.FLOAT64)


def one_split(feature, thresholds, missing=1, target=None):
    """Return rules with one numeric split, whose leaf ids count its intervals."""
    parts = tuple(Interval(t, k) for k, t in enumerate([*thresholds, None]))
    leaves = tuple(Leaf(k, (k / 8, 1 - k / 8)) for k in range(len(parts)))
    target = target or Target("y", TargetType.STRING, ("no", "yes"))
    return Rules(
        "one split", target, (feature,), NumericSplit(feature.name, parts, missing, leaves)
    )


def one_group(name, values, categories=(), missing=1, unseen=1):
    """Return rules that send some texts to leaf 0, all else to leaf 1."""
    split = SetSplit(
        name, (Group(values, 0),), missing, (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0))), unseen
    )
    feature = Feature(name, FeatureType.CATEGORY, categories or values)
    return Rules("one group", Target("y", TargetType.STRING, ("in", "out")), (feature,), split)


def twins(first, second):
    """Return rules over two columns, whose leaf ids rise with both."""
    inner = NumericSplit(
        second, (Interval(0.0, 0), Interval(None, 1)), 0, (Leaf(0, 1.0), Leaf(1, 2.0))
    )
    root = NumericSplit(first, (Interval(0.0, 0), Interval(None, 1)), 0, (inner, Leaf(2, 3.0)))
    inputs = (Feature(first, FeatureType.FLOAT64), Feature(second, FeatureType.FLOAT64))
    return Rules("twins", Target("y", TargetType.FLOAT64), inputs, root)


def sql(rules, dialect="duckdb", **options):
    return emit(rules, "sql", dialect=dialect, **options).text


def nesting(monkeypatch, levels):
    """Let every dialect nest so deep and no deeper: most trees are written as path conditions."""
    words = {name: replace(own, nesting=levels) for name, own in sql_dialects._DIALECTS.items()}
    monkeypatch.setattr(sql_dialects, "_DIALECTS", words)
