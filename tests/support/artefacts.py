"""Keep the hashes of what every target emits for the tests' rules, and compare them with others.

    python tests/support/artefacts.py keep FILE       write the rules and the hashes
    python tests/support/artefacts.py compare FILE    exits 1 where an artefact's bytes have changed

For changes that must move no byte: keep before, compare after.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from mixed_rules import mixed_rules
from strategies import chain, many_intervals, regression, rule_trees, single_leaf

from mbndt.emitters import TARGETS, emit, emitter_class
from mbndt.errors import MbndtError
from mbndt.rules import Rules

DRAWN = 60
MORE = (
    *(("sql", {"dialect": d, "as": "view"}) for d in ("bigquery", "oracle", "snowflake", "tsql")),
    *(("sql", {"dialect": d, "as": "function"}) for d in ("duckdb", "postgres", "bigquery")),
    *(("sql", {"dialect": d, "as": "expression"}) for d in ("duckdb", "sqlite", "spark")),
    ("protocol", {"format": "txt"}),
)


def all_rules() -> Iterator[tuple[str, Rules]]:
    """Yield the tests' rules by name, made by hand and drawn."""
    yield (
        "example",
        Rules.from_json((Path(__file__).parents[1] / "data/example.rules.json").read_text()),
    )
    for make in (mixed_rules, single_leaf, many_intervals, regression):
        yield make.__name__, make()
    yield "chain", chain(50)
    drawn: list[Rules] = []

    @seed(0)
    @settings(
        max_examples=DRAWN,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(rule_trees(), rule_trees(hostile=True)))
    def draw(rules: Rules) -> None:
        drawn.append(rules)

    draw()
    for number, rules in enumerate(drawn):
        yield f"drawn {number}", rules


def hashes(all_rules: dict[str, str]) -> dict[str, str]:
    """Return the hash of each artefact of rules (JSON by name), or of the words that refuse it."""
    variants = [(t, dict(o)) for t in TARGETS for o in emitter_class(t).variants]
    found = {}
    for name, text in all_rules.items():
        for target, options in [*variants, *MORE]:
            try:
                content = emit(Rules.from_json(text), target, **options).content
            except MbndtError as error:
                content = f"refused: {error}"
            data = content.encode(errors="surrogatepass") if isinstance(content, str) else content
            key = " ".join([name, target, *map(str, options.values())])
            found[key] = hashlib.sha256(data).hexdigest()
    return found


def main() -> None:
    action, path = sys.argv[1], Path(sys.argv[2])
    if action == "keep":
        # With the rules themselves, as draws change with the code that is there to draw from.
        rules = {name: tree.to_json() for name, tree in all_rules()}
        path.write_text(json.dumps({"rules": rules, "hashes": hashes(rules)}))
        return
    kept = json.loads(path.read_text())
    before, found = kept["hashes"], hashes(kept["rules"])
    changed = [key for key in before if before[key] != found.get(key)]
    print(*changed[:40], f"{len(before)} artefacts, {len(changed)} changed", sep="\n")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
