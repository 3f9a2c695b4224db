"""Rows that learning has seen validate nothing: they are known again, all of them or many."""

from __future__ import annotations

from mbndt.errors import DataError
from mbndt.learning.provenance import mapping
from mbndt.measures.overlap import share_seen
from mbndt.rules import Rules
from mbndt.tables.digest import Hashes, digest, row_hashes
from mbndt.validation.answers import Answered

UNKNOWN = (
    "the rules don't tell which rows they were learned from: figures of those very rows would"
    " flatter"
)
SOME, MOST = 0.05, 0.5  # shares of rows from which they are told of, and refused
ALIKE = 0.2  # where more rows than these equal another, likeness proves little


def refuse_seen(found: Answered) -> tuple[str | None, list[str]]:
    """Return the digest of a table's rows and remarks on those that learning may have seen.

    Raises `DataError` where it has seen them all, or most of them.
    """
    rules, hashes = found.rules, _hashes(found)
    known = mapping(rules.provenance.get("training data"))
    if hashes is None or not isinstance(known.get("digest"), str):
        return None, [UNKNOWN]
    own = digest(hashes)
    _refuse_all(rules, found.table.source, own, known["digest"])
    return own, _many(found.table.source, share_seen(mapping(known.get("sketch")), hashes))


def _hashes(found: Answered) -> Hashes | None:
    """Return the hashes of the rows by the columns that training took; None if unknown."""
    rules = found.rules
    columns = mapping(rules.provenance.get("training data")).get("columns")
    if not isinstance(columns, list) or not all(name in rules.feature for name in columns):
        return None
    if not all(name in found.table for name in columns):
        return None
    features = [rules.feature[name] for name in columns]
    typed = {f: found.typed.get(f.name) or found.table.typed(f) for f in features}
    return row_hashes(typed, found.outcome)


def _refuse_all(rules: Rules, source: str, own: str, learned: str) -> None:
    held = mapping(rules.provenance.get("evidence")).get("digest")
    if own == learned:
        raise DataError(
            f"{source}: the rules were learned from these very rows, which can't validate them;"
            " give rows that learning has not seen"
        )
    if own == _sum(learned, held):
        raise DataError(
            f"{source}: the rules were learned from most of these very rows, which can't validate"
            " them; what they do on those held out stands in their evidence"
        )


def _sum(*digests: object) -> str | None:
    """Return the digest of the rows of some digests together; None where one can't be read."""
    try:
        return f"{sum(int(str(each), 16) for each in digests) % 2**64:016x}"
    except ValueError:
        return None


def _many(source: str, seen: tuple[float, float] | None) -> list[str]:
    if seen is None or seen[0] < SOME:
        return []
    least, alike = seen
    said = (
        f"{least:.0%} of the rows or more seem to be among those that the rules were learned from"
    )
    if least > MOST and alike < ALIKE:
        raise DataError(f"{source}: {said}, which can't validate them; leave those out")
    return [f"{said}, whose figures flatter"]
