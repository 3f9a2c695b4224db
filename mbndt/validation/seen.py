"""Rows that learning has seen validate nothing: they are known again, all of them or many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mbndt.errors import DataError, warn
from mbndt.learning.provenance import earlier_data, mapping
from mbndt.measures.overlap import share_seen
from mbndt.tables.digest import Hashes, digest, row_hashes
from mbndt.validation.answers import Answered

UNKNOWN = (
    "the rules don't tell which rows they were learned from: figures of those very rows would"
    " flatter"
)
SOME, MOST = 0.05, 0.5  # shares of rows from which they are told of, and refused
ALIKE = 0.2  # where more rows than these equal another, likeness proves little


def refuse_seen(found: Answered) -> list[str]:
    """Return remarks on rows that learning, or an earlier learning, may have seen.

    Raises `DataError` where it has seen them all, or most of them.
    """
    remarks = []
    for known in earlier_data(found.rules) or [{}]:
        remarks += _refuse(found, mapping(known))
    return list(dict.fromkeys(remarks))


def warn_seen(found: Answered) -> None:
    """Warn of rows most of which learning has seen, whose figures flatter."""
    try:
        refuse_seen(found)
    except DataError:
        source = found.table.source
        warn(f"{source}: the rules were learned from these rows, or most of them; figures flatter")


def _refuse(found: Answered, known: Mapping[str, Any]) -> list[str]:
    """Do that for the rows of one learning."""
    hashes, learned = _hashes(found, known.get("columns")), known.get("digest")
    if hashes is None or not isinstance(learned, str):
        return [UNKNOWN]
    source, own = found.table.source, digest(hashes)
    if own == learned:
        raise DataError(
            f"{source}: the rules were learned from these very rows, which can't validate them;"
            " give rows that learning has not seen"
        )
    if own == _sum(learned, mapping(found.rules.provenance.get("evidence")).get("digest")):
        raise DataError(
            f"{source}: the rules were learned from most of these very rows, which can't validate"
            " them; what they do on those held out stands in their evidence"
        )
    return _many(source, share_seen(mapping(known.get("sketch")), hashes))


def _hashes(found: Answered, columns: object) -> Hashes | None:
    """Return the hashes of the rows by the columns that a learning took; None if unknown."""
    rules = found.rules
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        return None
    if not all(name in rules.feature and name in found.table for name in columns):
        return None
    features = [rules.feature[name] for name in columns]
    typed = {f: found.typed.get(f.name) or found.table.typed(f) for f in features}
    return row_hashes(typed, found.outcome)


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
    said = f"{least:.0%} of the rows or more seem to be among those that the rules were"
    said += " learned from"
    if least > MOST and alike < ALIKE:
        raise DataError(f"{source}: {said}, which can't validate them; leave those out")
    return [f"{said}, whose figures flatter"]
