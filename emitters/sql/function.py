"""Rules as a function of SQL, with one parameter for each feature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from mbndt.emitters.sql.case import type_of
from mbndt.emitters.sql.dialects import TYPES
from mbndt.errors import TargetError
from mbndt.rules import Rules

if TYPE_CHECKING:
    from mbndt.emitters.sql.dialects import Expr


def _in_dollars(text: str) -> Expr:
    """Return a text as it stands between two marks that it doesn't hold."""
    tags: Iterator[str] = (f"body{n}" if n else "" for n in count())
    tag = next(tag for tag in tags if f"${tag}" not in text)
    return exp.Heredoc(this=f"\n{text}\n", tag=tag)


def _in_dollars_or_quotes(text: str) -> Expr:
    return exp.Literal.string(text) if "$$" in text else exp.Heredoc(this=f"\n{text}\n")


@dataclass(frozen=True)
class Functions:
    """How a dialect creates functions.

    That is what they are called, their most parameters, the body as a text or as it is, and, where
    the result's type is declared, what else is.
    """

    kind: str = "FUNCTION"
    parameters: int | None = None
    before: str = ""  # what makes a statement of the body
    body: Callable[[str], Expr] | None = None  # None: no text
    returns: bool = True
    promises: str = ""


FUNCTIONS = {
    "duckdb": Functions("MACRO", returns=False),
    "postgres": Functions(
        parameters=100,
        before="SELECT ",
        body=_in_dollars,
        promises="LANGUAGE sql IMMUTABLE PARALLEL SAFE",
    ),
    "bigquery": Functions(parameters=256),
    "snowflake": Functions(parameters=500, body=_in_dollars_or_quotes, promises="IMMUTABLE"),
}


def create_function(
    rules: Rules,
    columns: Mapping[str, str],
    dialect: str,
    name: exp.Table,
    output: int,
    body: Expr,
    text: str,
) -> Expr:
    """Return the statement that creates a function which gives one of the outputs, by its place.

    `body` is its expression over the parameters, the columns of all features, and `text` that in
    the dialect. Raises `TargetError` for more parameters than the dialect takes.
    """
    form = FUNCTIONS[dialect]
    if form.parameters is not None and len(rules.features) > form.parameters:
        raise TargetError(
            f"sql: a function of {dialect} takes {form.parameters} parameters at most, and the"
            f" rules have {len(rules.features)} features: see `as` expression, select or view"
        )
    parameters = [
        exp.ColumnDef(
            this=exp.Identifier(this=columns[feature.name], quoted=True),
            kind=exp.DataType.build(TYPES[feature.type]),
        )
        for feature in rules.features
    ]
    result = exp.DataType.build(type_of(rules, output))
    given = [exp.ReturnsProperty(this=result)] if form.returns else []
    promised = [exp.StabilityProperty(this=exp.Literal.string(form.promises))]
    return exp.Create(
        this=exp.UserDefinedFunction(this=name, expressions=parameters, wrapped=True),
        kind=form.kind,
        expression=form.body(form.before + text) if form.body else exp.Paren(this=body),
        properties=exp.Properties(expressions=given + (promised if form.promises else [])),
    )
