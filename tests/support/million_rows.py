"""Compare every target in every engine with the interpreter, on more than a million rows.

    python tests/support/million_rows.py [--sets 30] [--rows 4000] [--only WORD ...]

Rules are drawn as in the tests, plain and hostile in turn; each set of rules brings its own
boundary rows. Exits 1 where a row differs, an engine fails, or one is missing.
"""

import argparse
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table as Grid
from strategies import rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import Check, check
from mbndt.emitters import TARGETS, emitter_class


def compare(target: str, options: dict[str, object], sets: int, rows: int) -> list[Check]:
    """Return the checks of one variant over rules drawn alike for all variants."""
    found: list[Check] = []

    @seed(0)
    @settings(
        max_examples=sets,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(rule_trees(), rule_trees(hostile=True)), st.integers(0, 10**6))
    def draw(rules, number):
        if len(found) < sets:
            found.append(check(rules, target, options, [boundary_rows(rules, rows, number)]))

    draw()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--only", nargs="*", default=[])
    chosen = parser.parse_args()
    grid = Grid("target", "engine", "rules", "refused", "rows", "mismatches", "seconds", box=None)
    total, wrong, outcomes = 0, 0, Counter()
    for target in TARGETS:
        for options in emitter_class(target).variants:
            words = [target, *map(str, options.values())]
            if chosen.only and not set(chosen.only) & set(words):
                continue
            start = time.perf_counter()
            found = compare(target, options, chosen.sets, chosen.rows)
            outcomes.update(each.outcome for each in found)
            rows = sum(each.rows for each in found)
            bad = sum(each.mismatches for each in found)
            total, wrong = total + rows, wrong + bad
            engines = {each.engine for each in found if each.engine}
            refused = sum(each.outcome == "refused" for each in found)
            grid.add_row(
                " ".join(words),
                ", ".join(engines) or found[0].note,
                str(len(found)),
                str(refused),
                f"{rows:,}",
                str(bad),
                f"{time.perf_counter() - start:.0f}",
            )
            for each in found:
                if each.outcome in ("differs", "failed"):
                    print(each, file=sys.stderr)
    Console(width=140).print(grid)
    print(f"{total:,} rows compared with the interpreter, {wrong} mismatches; {dict(outcomes)}")
    sys.exit(bool(outcomes["differs"] + outcomes["failed"] + outcomes["not run"]))


if __name__ == "__main__":
    main()
