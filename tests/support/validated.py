"""Rules and rows for validation: learned from some rows of a table, held against others."""

from functools import cache

from drawn_tables import mixed_table

from mbndt.api import learn
from mbndt.rules import Rules
from mbndt.tables.table import Table

FAST = {"restarts": 0, "greedy": 1, "depth": 2, "refits": 0}


@cache
def learned() -> Rules:
    """Return rules of two classes with risks."""
    return learn(mixed_table(300), "y", **FAST).rules


def others(rows: int = 200, seed: int = 7) -> Table:
    """Return rows that they were not learned from."""
    return mixed_table(rows, seed)


def regression() -> tuple[Rules, Table]:
    """Return rules that tell a number, and other rows."""
    return learn(mixed_table(300), "single", task="regression", **FAST).rules, others()
