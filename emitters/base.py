"""What every target shares: the emitter's shape, the artefact, identifiers, thresholds, arms."""

from __future__ import annotations

import keyword
import math
import re
import struct
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, assert_never

from mbndt import __version__
from mbndt.errors import OptionError, nearest, shown
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
    Split,
    Threshold,
    walk,
)

if TYPE_CHECKING:
    from jinja2 import Environment

    from mbndt.interpreter import Predictions
    from mbndt.table import Table

C_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename
    typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Artifact:
    """What an emitter made: `content` (text, or bytes of a binary format), the `rules` it says,
    and `notes` for the user (a dropped interval, a chosen scale).
    """

    name: str
    suffix: str
    content: str | bytes
    rules: Rules
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the content of a textual artefact."""
        assert isinstance(self.content, str)
        return self.content


class Emitter(ABC):
    """A target. Subclasses are frozen dataclasses whose fields are the target's options.

    `variants` lists the option sets that verification runs, each in its own engine.
    """

    target: ClassVar[str]
    variants: ClassVar[tuple[Mapping[str, object], ...]] = ({},)

    @abstractmethod
    def emit(self, rules: Rules) -> Artifact:
        """Return the artefact; raises `TargetError` for rules that the target can't hold."""

    @abstractmethod
    def engine(self) -> str:
        """Return the engine's name and version; raises `EngineMissing` where there is none."""

    @abstractmethod
    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows of a table by running the artefact in its engine.

        Raises `EngineMissing` where the engine isn't installed.
        """

    def report(self, artifact: Artifact) -> list[str]:
        """Return lines about what an artefact takes where it runs; raises `OptionError` for a
        target that has none.
        """
        raise OptionError(f"--report: only for target c, got {self.target}")

    def unheld(self) -> tuple[int | float, ...]:
        """Return the whole numbers that no integer, and the doubles that no float can be there."""
        return ()

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return what `run` must give: the interpreter's answers."""
        from mbndt.interpreter import predict

        return predict(rules, table)


def choose(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise `OptionError` that names the nearest choice unless `value` is one of `choices`."""
    if value not in (known := list(choices)):
        raise OptionError(f"--{option}: got {shown(value)}{nearest(str(value), known)}")


@cache
def templates(target: str, **settings: Any) -> Environment:
    """Return the Jinja environment over a target's template folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = Path(__file__).parent.parent / "templates" / target
    return Environment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, **settings,
    )  # fmt: skip


def provenance_line(rules: Rules) -> str:
    """Return the line that says where an artefact comes from, safe in any comment."""
    return f"Made by mbndt {__version__} from rules with SHA-256 {rules.fingerprint}."


def identifier(name: str) -> str:
    """Make a name an identifier of C, C++, Python and file systems.

    >>> identifier("Früh-Warnung 2"), identifier("class"), identifier("7 days")
    ('fruh_warnung_2', 'm_class', 'm_7_days')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9]+", "_", plain)
    # Soft keywords (match, type) are legal Python names; all hard ones are lower case but three.
    if not word or not word[0].isalpha() or word in C_KEYWORDS or keyword.iskeyword(word):
        word = f"m_{word}"
    return word


def double_cut(feature: Feature, threshold: Threshold) -> Threshold:
    """Return c such that `x < c` in doubles (integers: in int64) decides `value < threshold`.

    For a float32 feature x is the double before rounding: c is the midpoint of the float32
    threshold and its predecessor, or the double above it where the midpoint itself rounds down.
    For an integer feature c is a whole number, or infinite where int64 leaves nothing to compare.
    """
    match feature.type:
        case FeatureType.INTEGER:
            whole = math.ceil(threshold)
            if whole <= INT64_MIN:
                return -math.inf
            return whole if whole <= INT64_MAX else math.inf
        case FeatureType.FLOAT32:
            return _float32_cut(float(threshold))
        case _:
            return float(threshold)


def float32_above(t: float) -> float:
    """Return the smallest float32 that is >= t.

    `x < t` and `x < float32_above(t)` are the same for every float32 x.
    """
    from mbndt.values import to_float32

    near = to_float32(t)
    return near if near >= t else _float32_step(near, up=True)


def _float32_step(x: float, *, up: bool) -> float:
    """Return the float32 next to the float32 x."""
    if x == 0.0:
        return math.copysign(2.0**-149, 1.0 if up else -1.0)
    (bits,) = struct.unpack("<i", struct.pack("<f", x))
    bits += 1 if (bits >= 0) == up else -1
    return float(struct.unpack("<f", struct.pack("<i", bits))[0])


def _float32_cut(t: float) -> float:
    above = float32_above(t)
    below = _float32_step(above, up=False)
    # Past the ends of the range rounding goes to infinity as if the next number were 2^128.
    ends = [math.copysign(2.0**128, x) if math.isinf(x) else x for x in (below, above)]
    middle = (ends[0] + ends[1]) / 2
    below_is_even = struct.pack("<f", below)[0] % 2 == 0
    return math.nextafter(middle, math.inf) if below_is_even else middle


Cut: TypeAlias = Callable[[Feature, Threshold], Threshold]


@dataclass(frozen=True)
class Range:
    """An interval `[low, high)` of a numeric feature, None for an open end, and its child."""

    low: Threshold | None
    high: Threshold | None
    to: int


def ranges(rules: Rules, split: NumericSplit, cut: Cut = double_cut) -> tuple[Range, ...]:
    """Return a split's intervals in ascending order, those that no value reaches dropped and
    neighbours with one child merged. `cut` turns a threshold into the target's own number;
    infinity is below nothing, or above all values, and ends no range.
    """
    feature = rules.feature[split.feature]
    found: list[Range] = []
    low: Threshold | None = None
    for part in split.intervals:
        high = None if part.below is None else cut(feature, part.below)
        if high is not None and (high == -math.inf or (low is not None and high <= low)):
            continue
        if high == math.inf:
            high = None
        if found and found[-1].to == part.to:
            found[-1] = Range(found[-1].low, high, part.to)
        else:
            found.append(Range(low, high, part.to))
        if high is None:
            break
        low = high
    return tuple(found)


@dataclass(frozen=True)
class Arm:
    """One way out of a split, to be tested in the order of `arms`.

    The row takes the first arm for which its value is missing and `missing` is set, or lies in one
    of `ranges`, or is one of `values`; the last arm (`rest`) takes what the others left. A range
    whose lower end is already settled by the arms before it has `low` None.
    """

    child: Node
    missing: bool = False
    rest: bool = False
    ranges: tuple[Range, ...] = ()
    values: tuple[str | bool, ...] = ()


def arms(rules: Rules, split: Split, cut: Cut = double_cut) -> tuple[Arm, ...]:
    """Return a split's arms, one a child that some value reaches, in the order of their tests.

    The arm for missing values comes first, so that no later test sees one; then ranges ascend.
    A category split whose missing values go with the unseen ones needs no test for missing: they
    are in no group and fall to the last arm.
    """
    match split:
        case NumericSplit():
            parts = ranges(rules, split, cut)
            order = _first_seen([split.missing, *(part.to for part in parts)])
            found = []
            for k, to in enumerate(order):
                own = tuple(part for part in parts if part.to == to)
                if k > 0:
                    # What lies below a child's first range went to an earlier arm.
                    own = (Range(None, own[0].high, to), *own[1:])
                found.append(Arm(split.children[to], to == split.missing, ranges=own))
        case SetSplit():
            groups = [(group.to, group.values) for group in split.groups]
            last = split.unseen if split.unseen is not None else groups[-1][0]
            first = [] if split.missing == split.unseen else [split.missing]
            order = [to for to in _first_seen([*first, *(to for to, _ in groups)]) if to != last]
            # The last arm takes missing values without a test, if that is where they belong.
            found = [
                Arm(split.children[to], to == split.missing,
                    values=tuple(v for target, vs in groups if target == to for v in vs))
                for to in [*order, last]
            ]  # fmt: skip
        case _:
            assert_never(split)
    end = found[-1]
    return (*found[:-1], Arm(end.child, end.missing, True, end.ranges, end.values))


def _first_seen(items: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(items))


def pieces(root: Node, depth: int) -> dict[int, Node]:
    """Cut a deep tree for languages that limit nesting: `{id(node): node}` of the root and of
    each split whose depth is a multiple of `depth`, in depth-first order.
    """
    return {
        id(node): node
        for _, level, node in walk(root)
        if level % depth == 0 and (level == 0 or not isinstance(node, Leaf))
    }
