"""The methods of `Rules` that lead out of the rules: to files, answers, learning and targets.

They stand apart because they are the only place where what is below may look up: each imports what
it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.rules.rules import Rules


class Doors:
    """What a `Rules` object can be asked for beyond its own parts; the base of `Rules` alone."""

    @property
    def _rules(self) -> Rules:
        return cast("Rules", self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Rules:
        """Read rules from JSON, strictly; raises `RulesError` that says where."""
        from mbndt.rules.json import read

        return read(text)

    def to_json(self, *, indent: int | None = 1) -> str:
        """Return the JSON form, which `from_json` reads back as equal rules."""
        from mbndt.rules.json_writer import write

        return write(self._rules, indent=indent)

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the canonical JSON form (compact, keys sorted), in hex."""
        import hashlib

        from mbndt.rules.json_writer import canonical

        return hashlib.sha256(canonical(self._rules).encode()).hexdigest()

    def predict(self, data: object) -> Predictions:
        """Answer each row of a data frame, mapping of columns, or `Table`, by the interpreter.

        Raises `DataError` for a lacking column or a value of the wrong type.
        """
        from mbndt.interpreter import predict
        from mbndt.tables.table import Table

        rules = self._rules
        return predict(rules, Table.of(data, [feature.name for feature in rules.used]))

    def refine(
        self,
        X: object,  # noqa: N803
        y: object,
        *,
        sample_weight: object = None,
        **options: Any,
    ) -> Rules:
        """Return the rules made better and smaller over rows X [n, F] with the true answers y [n].

        `options` are settings of the default preset (`branching`, `penalty`, `smoothing`, …).
        Raises `DataError` for rows that don't fit the rules, `OptionError` for a wrong option.
        """
        from mbndt.learning.refine.refine import refine_rules
        from mbndt.learning.settings import preset
        from mbndt.learning.training_set import row_weights, with_target
        from mbndt.tables.table import Table

        table = Table.of(X)
        whole, target = with_target(table, y)
        weights = row_weights(table, sample_weight)
        return refine_rules(self._rules, whole, target, preset("default", **options), weights).rules

    @classmethod
    def from_sklearn(
        cls, tree: object, *, feature_names: Sequence[str] | None = None, name: str = "target"
    ) -> Rules:
        """Return the rules of a fitted decision tree of scikit-learn, with its very answers.

        The tree rounds its inputs to float32, so the features are float32; they are named as in
        training, or `x0`, `x1`, … Raises `RulesError` for what is no single-output tree.
        """
        from mbndt.importers.sklearn import rules_of_tree

        return rules_of_tree(tree, feature_names, name)

    def compile(
        self, target: str, *, strict_missing: bool = False, **options: object
    ) -> str | bytes:
        """Return the artefact of a target: text, or bytes for binary formats.

        With `strict_missing` it gives no answer to a missing or unlisted value that too few
        training rows had where it is asked for. Raises `OptionError` for an unknown target or
        option, `TargetError` for rules that the target can't hold.
        """
        from mbndt.emitters import emit

        return emit(self._rules, target, strict_missing=strict_missing, **options).content
