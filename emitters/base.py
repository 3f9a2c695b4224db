"""What every target shares: the emitter's shape, the artefact, identifiers, templates."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mbndt._version import __version__
from mbndt.errors import OptionError
from mbndt.rules import Rules

if TYPE_CHECKING:
    from jinja2 import Environment

    from mbndt.arrays import Floats
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

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


ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# What the outputs tell of a row.
TELLS = {
    "risk": "the chance of each class among rows like it",
    "score": "the score of each class, of which the greatest is the label",
    "probability": "the probability of each class",
}


@dataclass(frozen=True)
class Artifact:
    """What an emitter made.

    It has the `content` (text, or bytes of a binary format), the `rules` it says, and `notes` for
    the user (a dropped interval, a chosen scale).
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
    """A target. A subclass is also that of its options: `class Sql(SqlOptions, Emitter)`.

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
        """Return lines about what an artefact takes where it runs.

        Raises `OptionError` for a target that has none.
        """
        raise OptionError(f"report: only for target c, got {self.target}")

    def unheld(self) -> tuple[int | float, ...]:
        """Return the whole numbers that no integer, and the doubles that no float can be there."""
        return ()

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return what `run` must give: the interpreter's answers."""
        from mbndt.interpreter import predict

        return predict(rules, table)


def told_by_class(rules: Rules, rows: Sequence[Sequence[float] | None]) -> Floats:
    """Return what an engine told of each class, [n, C]; NaN where it told nothing."""
    import numpy as np

    classes = len(rules.target.classes)
    nothing = (math.nan,) * classes
    listed = [nothing if row is None else row for row in rows]
    return np.array(listed, np.float64).reshape(len(rows), classes)


@cache
def templates(target: str, **settings: Any) -> Environment:
    """Return the Jinja environment over a target's template folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = Path(__file__).parent.parent / "templates" / target
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **settings,
    )


def provenance_line(rules: Rules) -> str:
    """Return the line that says where an artefact comes from, safe in any comment."""
    return f"Made by mbndt {__version__} from rules with SHA-256 {rules.fingerprint}."


def visible(text: str) -> str:
    """Return a text with escapes for all that isn't printed, which many formats may not hold."""
    return "".join(c if c.isprintable() else ESCAPES.get(c, f"\\U{ord(c):06x}") for c in text)


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
