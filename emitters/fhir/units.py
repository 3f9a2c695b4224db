"""Which units are codes of UCUM, as people write them; others stay words.

The Unified Code for Units of Measure, case sensitive. Only units of wards and laboratories are
known here: a text that could mean another unit than the code (`F`, `C`, `G`) is left alone.
"""

from __future__ import annotations

import re

UCUM = "http://unitsofmeasure.org"
METRIC = "g|L|l|mol|eq|osm|U|[IU]|kat|m|m2|m3|s|Pa|J|cal|Hz|W|V|m[H2O]|m[Hg]|bar"
PLAIN = (
    "%|[pH]|[degF]|Cel|K|min|h|d|wk|mo|a|[in_i]|[ft_i]|[lb_av]|[oz_av]|kcal|10*3|10*6|10*9|10*12"
)
PREFIXES = "k|d|c|m|u|n|p|f"
# What is written so means but one thing.
SPELLINGS = {
    "mmHg": "mm[Hg]",
    "cmH2O": "cm[H2O]",
    "°C": "Cel",
    "°F": "[degF]",
    "year": "a",
    "years": "a",
    "months": "mo",
    "weeks": "wk",
    "days": "d",
    "hours": "h",
    "minutes": "min",
    "bpm": "/min",
    "IU": "[IU]",
    "IU/L": "[IU]/L",
    "mIU/L": "m[IU]/L",
    "pH": "[pH]",
    "percent": "%",
}


def _either(listed: str) -> str:
    return "|".join(re.escape(unit) for unit in sorted(listed.split("|"), key=len, reverse=True))


ATOM = f"(?:(?:{PREFIXES})?(?:{_either(METRIC)})|{_either(PLAIN)})"
CODE = re.compile(rf"(?:{ATOM}(?:\.{ATOM})*)?(?:/{ATOM})*")


def ucum(unit: str) -> str | None:
    """Return the code of a unit, None of one that isn't known.

    >>> ucum("mmol/L"), ucum("µg/mL"), ucum("kg/m²"), ucum("mmHg"), ucum("points")
    ('mmol/L', 'ug/mL', 'kg/m2', 'mm[Hg]', None)
    """
    plain = unit.strip().translate({0xB5: "u", 0x3BC: "u", 0xB2: "2", 0xB3: "3"})
    code = SPELLINGS.get(plain, plain)
    return code if code and CODE.fullmatch(code) else None
