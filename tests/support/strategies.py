"""Hypothesis strategies that draw whole, valid rules from everything that the format can say."""

import itertools
import math
from dataclasses import replace

from hostile import HOSTILE_TEXTS
from hypothesis import strategies as st

from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)
from mbndt.rules.stopping import stopping

PLAIN_TEXTS = ["low", "middle", "high", "very high", "none", "other"]
PLAIN_NAMES = ["age", "heart rate", "lactate", "on oxygen", "alertness", "ward", "day", "dose"]

finite = st.floats(allow_nan=False, allow_infinity=False)
float_thresholds = st.one_of(
    finite,
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(
        [
            0.1,
            0.07,
            2.15,
            -0.5,
            0.0,
            0.03499004043054443,
            17.44188601917004,
            5.739533395205902,
            1e22,
            1e23,
            9007199254740993.0,
            5e-324,
            2.2250738585072014e-308,
            1.7976931348623157e308,
            -1.7976931348623157e308,
            3.4028234663852886e38,
            3.4028235677973366e38,
            1e39,
            1e-46,
            1.401298464324817e-45,
            16777217.0,
        ]
    ),
    st.integers(-20, 20).map(float),
    st.integers(-2000, 2000).map(lambda i: i / 100),
)
integer_thresholds = st.one_of(
    st.integers(-20, 20),
    st.integers(INT64_MIN, INT64_MAX),
    st.sampled_from([2**53, 2**53 + 1, 2**53 - 1, INT64_MAX, INT64_MIN, INT64_MAX + 1, 10**19]),
    st.integers(-40, 40).map(lambda i: i / 2),
)


def texts(hostile: bool) -> st.SearchStrategy[str]:
    """Draw names and values; hostile ones hold what breaks out of some language's quotes."""
    if not hostile:
        return st.sampled_from(PLAIN_TEXTS)
    one = st.sampled_from(HOSTILE_TEXTS)
    drawn = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
    )
    return st.one_of(one, st.lists(one, min_size=2, max_size=3).map("".join), drawn)


def twins(found: list[str]) -> list[str]:
    """Return texts with one more that differs from the first in case alone, if any does."""
    return list(dict.fromkeys([*found, found[0].swapcase()]))


def several(texts: st.SearchStrategy[str], hostile: bool, **size: int) -> st.SearchStrategy:
    """Draw different texts, hostile ones also as twins."""
    found = st.lists(texts, unique=True, **size)
    return found | found.map(twins) if hostile and size.get("min_size") else found


def remarks(hostile: bool) -> st.SearchStrategy[str]:
    """Draw a label, unit or description, often none."""
    return st.just("") | st.sampled_from(["%", "mg/L"]) | texts(hostile)


@st.composite
def features(
    draw: st.DrawFn, hostile: bool, kinds: list[FeatureType], most: int = 5
) -> tuple[Feature, ...]:
    """Draw one to `most` features (of hostile names one more) with different names."""
    names = texts(True) if hostile else st.sampled_from(PLAIN_NAMES)
    found = []
    for name in draw(several(names, hostile, min_size=1, max_size=most)):
        kind = draw(st.sampled_from(kinds))
        categories: list[str] = []
        if kind == FeatureType.CATEGORY:
            categories = draw(several(texts(hostile), hostile, min_size=1, max_size=6))
        label, unit, description = (draw(remarks(hostile)) for _ in range(3))
        found.append(Feature(name, kind, tuple(categories), label, unit, description))
    return tuple(found)


@st.composite
def targets(draw: st.DrawFn, hostile: bool, taken: set[str]) -> Target:
    """Draw a target: a regression, or one to a dozen classes of text, integers or booleans."""
    names = texts(True) if hostile else st.just("outcome")
    name = draw(names.filter(lambda text: text not in taken))
    kind = draw(st.sampled_from(list(TargetType)))
    size = {"min_size": 1, "max_size": draw(st.sampled_from([4, 4, 12]))}
    classes: list[str] | list[int] | list[bool] = []
    match kind:
        case TargetType.STRING:
            classes = draw(several(texts(hostile), hostile, **size))
        case TargetType.INTEGER if draw(st.integers(0, 4)):  # else a regression of whole numbers
            classes = draw(st.lists(st.integers(INT64_MIN, INT64_MAX), unique=True, **size))
        case TargetType.BOOLEAN:
            classes = draw(st.lists(st.booleans(), min_size=1, max_size=2, unique=True))
    event = draw(st.none() | st.sampled_from(classes)) if classes else None
    words = draw(remarks(hostile)), draw(remarks(hostile))
    return Target(name, kind, tuple(classes), *words, event)


def provenances(hostile: bool) -> st.SearchStrategy[dict[str, object]]:
    """Draw plain JSON values under some names."""
    value = st.none() | st.booleans() | st.integers(-9, 9) | finite | texts(hostile)
    some = st.lists(value, max_size=2) | st.dictionaries(texts(hostile), value, max_size=2)
    return st.just({}) | st.dictionaries(texts(hostile), value | some, max_size=3)


@st.composite
def rule_trees(
    draw: st.DrawFn,
    *,
    depth: int = 4,
    hostile: bool = False,
    kinds: tuple[FeatureType, ...] = tuple(FeatureType),
    most: int = 5,
    stops: bool = True,
) -> Rules:
    """Draw rules of at most `depth` over at most `most` features of the given kinds.

    Some know risks, and with `stops` some give no answer to values that too few rows bear out.
    """
    inputs = draw(features(hostile, list(kinds), most))
    target = draw(targets(hostile, {feature.name for feature in inputs}))
    ids = itertools.count()

    def leaf() -> Leaf:
        if not target.classes:
            recorded = draw(st.booleans())
            extra = {"n": draw(st.integers(0, 99)), "mean": draw(finite), "std": 1.5}
            return Leaf(next(ids), draw(finite), **(extra if recorded else {}))
        parts = draw(
            st.lists(
                st.integers(0, 12), min_size=len(target.classes), max_size=len(target.classes)
            ).filter(any)
        )
        counts = tuple(parts) if draw(st.booleans()) else None
        return Leaf(next(ids), tuple(part / sum(parts) for part in parts), counts)

    def node(level: int) -> Leaf | NumericSplit | SetSplit:
        if level == 0 or draw(st.integers(0, 3)) == 0:
            return leaf()
        feature = draw(st.sampled_from(inputs))
        count = draw(st.integers(1, 4))
        some_child = st.integers(0, count - 1)
        missing = draw(some_child)

        def sources() -> int | None:
            return draw(st.none() | st.integers(0, 5))

        if feature.type.numeric:
            pool = integer_thresholds if feature.type == "integer" else float_thresholds
            cuts = sorted(draw(st.lists(pool, min_size=count - 1, max_size=7, unique=True)))
            # Each child once, in any order, then any: so that nothing stays unreached.
            ends = draw(st.permutations(range(count)))
            ends = [*ends, *(draw(some_child) for _ in range(len(cuts) + 1 - count))]
            parts = tuple(
                Interval(below, to, sources())
                for below, to in zip([*cuts, None], ends, strict=True)
            )
            return NumericSplit(feature.name, parts, missing, children(count, level))
        if feature.type == "boolean":
            first, second = draw(some_child), draw(some_child)
            groups = [Group((False,), first, sources()), Group((True,), second, sources())]
            if first == second and draw(st.booleans()):
                groups = [Group((True, False), first)]
            unseen = None
        else:
            chosen = draw(st.lists(st.sampled_from(feature.categories), min_size=1, unique=True))
            cut = draw(st.integers(0, len(chosen) - 1))
            groups = [
                Group(tuple(part), draw(some_child), sources())
                for part in (chosen[:cut], chosen[cut:])
                if part
            ]
            unseen = draw(some_child)
        ends = [*(group.to for group in groups), missing]
        ends += [] if unseen is None else [unseen]
        # Renumber, so that the children are just those that something leads to.
        place = {to: i for i, to in enumerate(dict.fromkeys(ends))}
        return SetSplit(
            feature.name,
            tuple(Group(g.values, place[g.to], g.redirected_from) for g in groups),
            place[missing],
            children(len(place), level),
            None if unseen is None else place[unseen],
        )

    def children(count: int, level: int) -> tuple[Leaf | NumericSplit | SetSplit, ...]:
        return tuple(node(level - 1) for _ in range(count))

    name = draw(texts(True)) if hostile else "drawn rules"
    rules = Rules(name, target, inputs, node(depth), draw(provenances(hostile)))
    if target.classes and draw(st.booleans()):
        size = len(target.classes)
        chances = st.lists(st.integers(0, 9), min_size=size, max_size=size)
        rules = rules.with_leaves(lambda leaf: replace(leaf, risk=_risk(draw(chances), leaf)))
    return stopping(counted(rules, draw)) if stops and draw(st.integers(0, 2)) == 0 else rules


def _risk(parts: list[int], leaf: Leaf) -> tuple[float, ...]:
    """Return chances in proportion to some parts; of no parts at all the leaf's own scores."""
    assert isinstance(leaf.value, tuple)
    parts = parts[: len(leaf.value)]
    return tuple(part / sum(parts) for part in parts) if any(parts) else leaf.value


def counted(rules: Rules, draw: st.DrawFn) -> Rules:
    """Return rules that record how many training rows went the ways of what isn't known."""
    counts = st.none() | st.integers(0, 9)

    def node(old: Node) -> Node:
        if isinstance(old, Leaf):
            return old
        children = tuple(map(node, old.children))
        old = replace(old, children=children, missing_rows=draw(counts))
        if isinstance(old, SetSplit) and old.unseen is not None:
            return replace(old, unseen_rows=draw(counts))
        return old

    return replace(rules, root=node(rules.root))


def chain(depth: int, name: str = "deep") -> Rules:
    """Return rules of a given depth: a chain that asks about four features in turn."""
    inputs = (
        Feature("x", FeatureType.FLOAT64),
        Feature("n", FeatureType.INTEGER),
        Feature("flag", FeatureType.BOOLEAN),
        Feature("c", FeatureType.CATEGORY, ("a", "b", "é")),
    )
    node: Leaf | NumericSplit | SetSplit = Leaf(depth, (0.25, 0.75))
    for level in reversed(range(depth)):
        end = Leaf(level, (1.0, 0.0) if level % 3 else (1 / 3, 2 / 3))
        # Booleans and categories are soon used up: then only numbers can tell rows apart.
        match level % 4 if level < 4 else level % 2:
            case 0:
                cut = 100.0 - level
                node = NumericSplit(
                    "x",
                    (Interval(cut, 1), Interval(cut + 0.25, 0), Interval(None, 1)),
                    1,
                    (end, node),
                )
            case 1:
                node = NumericSplit("n", (Interval(level, 0), Interval(None, 1)), 1, (end, node))
            case 2:
                groups = (Group((True,), 0), Group((False,), 1))
                node = SetSplit("flag", groups, 1, (end, node))
            case _:
                node = SetSplit("c", (Group(("é",), 0), Group(("a",), 1)), 1, (end, node), 1)
    return Rules(name, Target("y", TargetType.STRING, ("no", "yes")), inputs, node)


def many_intervals(count: int = 64) -> Rules:
    """Return one split with `count` intervals that go to three children in turn, and missing
    values to a fourth."""
    cuts = [math.sqrt(i) - 3.0 for i in range(1, count)]
    parts = tuple(Interval(b, i % 3) for i, b in enumerate([*cuts, None]))
    leaves = tuple(Leaf(i, (i / 4, 1 - i / 4)) for i in range(4))
    return Rules(
        "many intervals",
        Target("y", TargetType.INTEGER, (-1, 1)),
        (Feature("x", FeatureType.FLOAT64),),
        NumericSplit("x", parts, 3, leaves),
    )


def single_leaf() -> Rules:
    """Return rules that ask nothing."""
    return Rules(
        "one leaf", Target("y", TargetType.BOOLEAN, (False, True)), (), Leaf(0, (0.5, 0.5), (3, 3))
    )


def regression() -> Rules:
    """Return a regression over a float32 and an integer feature, with a non-adjacent child."""
    inputs = (Feature("x", FeatureType.FLOAT32), Feature("n", FeatureType.INTEGER))
    inner = NumericSplit(
        "n",
        (Interval(2**53 + 1, 0), Interval(None, 1)),
        0,
        (Leaf(0, 0.1, n=5, mean=0.1, std=0.0), Leaf(1, -1.5)),
    )
    root = NumericSplit(
        "x", (Interval(0.1, 0), Interval(0.3, 1), Interval(None, 0)), 1, (inner, Leaf(2, 2.0))
    )
    return Rules("a regression", Target("y", TargetType.FLOAT64, unit="mg"), inputs, root)
