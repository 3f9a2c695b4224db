"""The names in a C header: legal, unique, and none that another header may have taken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from mbndt.emitters.base import identifier
from mbndt.emitters.c.numbers import MAX_CATEGORIES, Format
from mbndt.errors import TargetError, shown
from mbndt.rules import Rules

LONGEST_NAME = 56  # C99 grants names of 63 letters

# Words that headers before this one may have defined as macros, or that it needs as types.
TAKEN_FIELDS = frozenset(
    "int8_t int16_t int32_t int64_t uint8_t uint16_t linux unix i386 errno complex imaginary"  # noqa: SIM905
    " noreturn near far interface small".split()
)
TAKEN_MACROS = frozenset(
    f"{sign}INT_{kind}{bits}_{end}"
    for sign in ("", "U")
    for kind in ("FAST", "LEAST")
    for bits in (8, 16, 32, 64)
    for end in ("MIN", "MAX")
) | {"SIG_ATOMIC_MIN", "SIG_ATOMIC_MAX"}


def _unique(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return names with a number after those that are taken already."""
    used, tries, found = set(taken), Counter[str](), []
    for name in names:
        one = name
        while one in used:
            tries[name] += 1
            one = f"{name.rstrip('_')}_{tries[name] + 1}"
        used.add(one)
        found.append(one)
    return found


def field_names(rules: Rules, ident: str) -> dict[str, str]:
    """Return the field of each feature in the input's struct."""
    names = [identifier(feature.name)[:LONGEST_NAME] for feature in rules.features]
    unique = _unique(names, TAKEN_FIELDS | {f"{ident}_input"})
    return {feature.name: name for feature, name in zip(rules.features, unique, strict=True)}


def macro_names(rules: Rules, ident: str, fields: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the macro of each category, by feature and category."""
    keys, names = [], []
    for feature in rules.features:
        if len(feature.categories) > MAX_CATEGORIES:
            raise TargetError(
                f"{shown(feature.name)}: {len(feature.categories)} categories, expected at most"
                f" {MAX_CATEGORIES}"
            )
        for category in feature.categories:
            keys.append((feature.name, category))
            name = re.sub("_+", "_", f"{fields[feature.name]}_{_word(category)}").rstrip("_")
            names.append(f"{ident}_{name}".upper())
    own = ("MISSING", "VALUE_SCALE", "NO_ANSWER", "NO_VALUE")
    taken = {f"{ident.upper()}_{word}" for word in own}
    return dict(zip(keys, _unique(names, TAKEN_MACROS | taken), strict=True))


def _word(text: str) -> str:
    """Return a text as the end of a macro's name, where digits and keywords need no letter."""
    word = identifier(text)
    plain = word.removeprefix("m_")
    return (plain if plain and identifier(plain) == word else word)[:LONGEST_NAME]


def guard(ident: str, form: Format) -> str:
    """Return the include guard: another header of the same name must clash, not be skipped."""
    import hashlib

    content = repr((form.rules.fingerprint, form.number.field, form.scales))
    return f"{ident}_{hashlib.sha256(content.encode()).hexdigest()[:8]}_H".upper()
