"""SQL: one expression, `SELECT`, view or function that gives each row its answer, in any dialect.

All is built as sqlglot's trees, which quote names and texts by the dialect's rules. What dialects
say differently stands in `dialects`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from mbndt.emitters.base import Artifact, Emitter, identifier, provenance_line
from mbndt.emitters.sql.case import Writer, column, quoted
from mbndt.emitters.sql.dialects import Answers, Dialect, dialect
from mbndt.emitters.sql.engines.base import ENGINES, engine
from mbndt.emitters.sql.function import FUNCTIONS, create_function
from mbndt.emitters.sql.options import SqlOptions
from mbndt.emitters.sql.unfit import UNFIT
from mbndt.errors import OptionError, TargetError, nearest, shown
from mbndt.options import choose
from mbndt.rules import Feature, FeatureType, Rules, TargetType, deep_recursion

if TYPE_CHECKING:
    from mbndt.emitters.sql.dialects import Expr
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

TEXT = r"[^\0\ud800-\udfff]"
NAME = rf'"(?:""|(?!"){TEXT})+"|(?:(?![".]){TEXT})+'


# The forms that an option is for.
_FORMS = {
    "table": ("expression", "select", "view"),
    "view": ("view",),
    "function": ("function",),
    "output": ("expression", "function"),
    "prefix": ("select", "view"),
}


class Sql(SqlOptions, Emitter):
    """Emit SQL: a select, a view, or an expression or function with one output."""

    target = "sql"
    variants = tuple({"dialect": name} for name in ENGINES)

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, forms in _FORMS.items():
            if getattr(self, option) not in (None, "") and self.as_ not in forms:
                listed = " or ".join(forms)
                raise OptionError(f"{option}: only for `as` {listed}, got {self.as_}")
        if self.as_ == "function" and self.dialect not in FUNCTIONS:
            listed = ", ".join(FUNCTIONS)
            raise OptionError(f"as: function is only for `dialect` {listed}, got {self.dialect}")
        if not isinstance(self.prefix, str) or not re.fullmatch(f"{TEXT}*", self.prefix):
            raise OptionError(f"prefix: got {shown(self.prefix)}, expected text")
        for option in ("table", "view", "function"):
            _table(option, getattr(self, option), "data")

    def emit(self, rules: Rules) -> Artifact:
        """Return the SQL text, with a semicolon at its end unless it is an expression."""
        table = _table("table", self.table, "data")
        bare = self.as_ in ("expression", "function") and self.table is None
        words = dialect(self.dialect)
        qualifier = table.name if words.qualified and not bare else None
        typed = self.as_ == "function" and FUNCTIONS[self.dialect].returns
        write = Writer(words, rules, self.prefix, qualifier, self._columns(rules), typed)
        # A function has all features as its parameters: rules learned anew, which may ask about
        # others, are then called as these are.
        _check_columns(write, rules.features if self.as_ == "function" else rules.used)
        if self.as_ in ("expression", "function"):
            output = self._chosen(write)
            tree = write.route(output)
            if self.as_ == "expression":
                return _artifact(write, tree, end="")
            name = _table("function", self.function, identifier(rules.name))
            _check_length("function", name, words)
            text = _layout(tree, self.dialect)
            columns = write.columns
            tree = create_function(rules, columns, self.dialect, name, output, tree, text)
            return _artifact(write, tree, end=";")
        _check_outputs(write)
        lists = write.words.answers == Answers.LISTS
        tree = _select_lists(write, table) if lists else _select_join(write, table)
        if self.as_ == "view":
            view = _table("view", self.view, identifier(rules.name))
            _check_length("view", view, words)
            tree = exp.Create(this=view, kind="VIEW", expression=tree)
        return _artifact(write, tree, end=";", joined=True)

    def _columns(self, rules: Rules) -> dict[str, str]:
        """Return each feature's column."""
        folded = {"lower": str.lower, "upper": str.upper}
        fold = folded.get(self.names, str)
        found = {name: fold(name) for name in rules.feature}
        for text in self.map:
            feature, equals, name = text.rpartition("=")
            if not equals or feature not in found or not re.fullmatch(f"{TEXT}+", name):
                expected = f"FEATURE=COLUMN{nearest(feature, list(found))}"
                raise OptionError(f"map: got {shown(text)}, expected {expected}")
            found[feature] = name
        return found

    def _chosen(self, write: Writer) -> int:
        """Return the place, among the outputs, of what the expression gives."""
        label = "label" if write.rules.target.classes else "value"
        names = [label, *write.outputs[1:]]
        output = label if self.output is None else self.output
        choose("output", output, names)
        return names.index(output)

    def engine(self) -> str:
        """Return the name and version of the dialect's engine; raises `EngineMissing`."""
        return engine(self.dialect).version()

    def unheld(self) -> tuple[int | float, ...]:
        """Return the infinities where the dialect's columns hold none."""
        return () if dialect(self.dialect).infinity else (-math.inf, math.inf)

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by running the select over a table in the dialect's engine.

        Raises `EngineMissing` for a dialect without engine here, `OptionError` for another form
        or a table in a schema, `DataError` for a column that doesn't fit.
        """
        from mbndt.emitters.sql.run import run

        name = _table("table", self.table, "data")
        if self.names != "exact" or self.map:
            raise OptionError("names, map: only columns named as their features can be run")
        if self.as_ != "select" or name.args.get("db"):
            raise OptionError("as: only a select over a table without schema can be run")
        return run(artifact, name, dialect(self.dialect), table)


def _select_lists(write: Writer, table: exp.Table) -> Expr:
    """Return a select that looks each output up in a list, by the leaf of a derived table.

    The union adds no row: BY NAME refuses a table with a column that is named as an output.
    """
    name, leaf = table.name, write.outputs[1]
    own = [write.route(1) if output == leaf else exp.Null() for output in write.outputs]
    rows = exp.select(_all_of(name), *map(_named, own, write.outputs), copy=False)
    none = exp.select(_named(exp.Null(), leaf), copy=False).where(exp.false(), copy=False)
    union = exp.Union(
        this=rows.from_(_source(table), copy=False), expression=none, distinct=False, by_name=True
    )
    answers = zip(*write.answers(), strict=True)
    looked_up = [
        _named(_by_leaf(column(leaf, name), listed), output)
        for output, listed in zip(write.outputs, answers, strict=True)
        if output != leaf
    ]
    source = exp.Subquery(this=union, alias=exp.TableAlias(this=quoted(name)))
    return exp.select(_all_of(name, replace=looked_up), copy=False).from_(source, copy=False)


def _by_leaf(leaf: Expr, answers: Sequence[Expr]) -> Expr:
    """Return a look-up in a list, which takes DuckDB half the time of a CASE, and counts from 1."""
    place = exp.Add(this=leaf, expression=exp.Literal.number(1))
    return exp.Bracket(this=exp.Array(expressions=list(answers)), expressions=[place], offset=1)


def _select_join(write: Writer, table: exp.Table) -> Expr:
    """Return a select that joins each row with the answers of its leaf.

    SQLite keeps the order of the rows in a left join. The outputs stand without a table, so that
    engines refuse them as ambiguous where the table has such a column too.
    """
    answers, leaf = _other_name("answers", table, write), write.route(1)
    columns = [quoted(name) for name in write.outputs]
    alias = exp.TableAlias(this=quoted(answers), columns=columns)
    select = exp.select(_all_of(table.name), *map(column, write.outputs), copy=False)
    select = select.from_(_source(table), copy=False)
    rows = write.answers()
    values = exp.Values(expressions=[exp.Tuple(expressions=row) for row in rows])
    source: Expr = exp.Table(this=quoted(answers))
    match write.words.answers:
        case Answers.LATERAL:
            found = _other_name("found", table, write)
            select = select.with_(alias, as_=values, copy=False)
            select = select.join(_lateral(leaf, found), join_type="cross", copy=False)
            leaf = column("value", found)
        case Answers.DUAL:
            listed = [exp.select(*map(_named, row, write.outputs)).from_("DUAL") for row in rows]
            union = exp.union(*listed, distinct=False, copy=False) if listed[1:] else listed[0]
            source = exp.Subquery(this=union, alias=exp.TableAlias(this=quoted(answers)))
        case Answers.TYPED:
            source = exp.alias_(_typed_values(write, values), quoted(answers), table=True)
        case _:
            values.set("alias", alias)
            source = values
    same = exp.EQ(this=column(write.outputs[1], answers), expression=leaf)
    select.set("settings", write.words.settings())
    return select.join(source, on=same, join_type="left", copy=False)


def _typed_values(write: Writer, values: exp.Values) -> exp.Table:
    """Return ClickHouse's function that gives a table of values."""
    target = write.rules.target
    types = {TargetType.STRING: "String", TargetType.INTEGER: "Int64", TargetType.BOOLEAN: "Bool"}
    # A regression over whole numbers has values that are none.
    label = types[target.type] if target.classes else "Float64"
    told = ["Float64"] * len(write.rules.output_columns)
    kinds = [label, "Int64", *told]
    if write.rules.stops:
        kinds = [kind if i == 1 else f"Nullable({kind})" for i, kind in enumerate(kinds)]
    names = [quoted(name).sql(dialect=write.words.name) for name in write.outputs]
    columns = ", ".join(map(" ".join, zip(names, kinds, strict=True)))
    arguments = [exp.Literal.string(columns), *values.expressions]
    return exp.Table(this=exp.Anonymous(this="values", expressions=arguments))


def _lateral(leaf: Expr, name: str) -> exp.Table:
    """Return SQLite's one lateral table, without which it finds the leaf for each answer anew."""
    array = exp.Anonymous(this="JSON_ARRAY", expressions=[leaf])
    rows = exp.Anonymous(this="JSON_EACH", expressions=[array])
    return exp.Table(this=rows, alias=exp.TableAlias(this=quoted(name)))


def _other_name(name: str, table: exp.Table, write: Writer) -> str:
    """Return a name for a second table, none that a column's name with dots might begin with."""
    taken = {table.name.casefold()}
    taken |= {write.columns[f.name].split(".")[0].casefold() for f in write.rules.used}
    while name in taken:
        name += "_"
    return name


def _table(option: str, text: object, default: str) -> exp.Table:
    """Return the table that an option names; raises `OptionError` for what is no name."""
    text = default if text is None else text
    if not isinstance(text, str) or not re.fullmatch(rf"({NAME})(\.({NAME})){{0,2}}", text):
        raise OptionError(
            f"{option}: got {shown(text)}, expected a name, with dots between catalog, schema"
            ' and table, and "quotes" around a part that holds dots'
        )
    parts = [
        quoted(part[1:-1].replace('""', '"') if part.startswith('"') else part)
        for part in re.findall(NAME, text)
    ]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))


def _source(table: exp.Table) -> Expr:
    """Return the table, under the name that qualifies its columns."""
    if not table.args.get("db") and "." not in table.name:
        return table
    return exp.alias_(table, quoted(table.name), table=True, copy=False)


def _all_of(table: str, **changes: list[exp.Alias]) -> exp.Column:
    return exp.Column(this=exp.Star(**changes), table=quoted(table))


def _named(value: Expr, name: str) -> exp.Alias:
    return exp.Alias(this=value, alias=quoted(name))


def _check_columns(write: Writer, features: Iterable[Feature]) -> None:
    seen: dict[str, str] = {}
    for feature in features:
        name = write.columns[feature.name]
        if re.search(write.words.no_name, name, re.DOTALL):
            raise TargetError(f"sql: in {write.words.name} no column can be named {shown(name)}")
        twin = seen.setdefault(write.words.fold(name), feature.name)
        if twin != feature.name:
            raise TargetError(
                f"sql: {write.words.name} takes the columns {shown(twin)} and"
                f" {shown(feature.name)} for one"
            )


def _check_length(option: str, name: exp.Table, words: Dialect) -> None:
    limit, unit, size = words.longest(name.name, name.db)
    if size > limit:
        raise TargetError(
            f"sql: `{option}`: {shown(name.name)} has {size} {unit}, and {words.name} takes {limit}"
        )


def _check_outputs(write: Writer) -> None:
    fold = write.words.fold
    names = (write.columns[feature.name] for feature in write.rules.used)
    columns = {fold(name): name for name in names}
    for output in write.outputs:
        if fold(output) in columns:
            raise TargetError(
                f"sql: the column {shown(columns[fold(output)])} and the output {shown(output)}"
                " clash; `prefix` gives the outputs other names"
            )
    if len({fold(output) for output in write.outputs}) < len(write.outputs):
        raise TargetError(f"sql: `prefix` is so long that {write.words.name} cuts off what follows")


def _check_variables(write: Writer, tree: Expr) -> None:
    names = tree.find_all(exp.Identifier) if write.words.variables else ()
    for name in names:
        if "${" in name.name:
            raise TargetError(
                f"sql: {write.words.name} reads the name of a variable in {shown(name.name)},"
                " whatever stands around it"
            )


def _artifact(write: Writer, tree: Expr, end: str, *, joined: bool = False) -> Artifact:
    rules = write.rules
    _check_variables(write, tree)
    notes = _notes(write)
    lines = [f"{rules.name!a}. {provenance_line(rules)}"]
    if joined:
        lines.append("A table that has a column named as an output is an error: see --prefix.")
    elif write.words.name == "sqlite" and write.table is None and rules.used:
        said = "SQLite takes a quoted name that is no column for a text, unless --table is set"
        notes = (*notes, said)
    # Without an asterisk no text can end the comment, or open one within it; nor name a variable.
    header = "\n   ".join([*lines, *notes]).replace("*", "\\x2a").replace("$", "\\x24")
    text = f"/* {header} */\n{_layout(tree, write.words.name)}{end}\n"
    return Artifact(identifier(rules.name), ".sql", text, rules, notes)


def _notes(write: Writer) -> tuple[str, ...]:
    """Return what the dialect does with some columns, where the rules ask for such."""
    words = write.words
    kinds = {feature.type for feature in write.rules.used}
    notes = []
    if words.nulls and kinds & set(UNFIT[words.name]):
        notes.append(
            "a value that is none of its feature's type raises no error: the answers to"
            " its row are NULL"
        )
    if words.trims and FeatureType.CATEGORY in kinds:
        notes.append(
            "blanks at the end of a CHAR(n) count only where the feature has a category"
            " with such; those of other texts always do"
        )
    return tuple(notes)


def _layout(tree: Expr, name: str) -> str:
    # sqlglot's layout writes this word for a line break, which would change a text that has it.
    word = sqlglot.Generator.SENTINEL_LINE_BREAK
    texts = tree.find_all(exp.Identifier, exp.Literal, exp.National)
    pretty = not any(word in node.name for node in texts)
    try:
        with deep_recursion():
            return tree.sql(
                dialect=name,
                identify=True,
                pretty=pretty,
                copy=False,
                unsupported_level=sqlglot.ErrorLevel.RAISE,
            )
    except sqlglot.UnsupportedError as error:
        raise TargetError(f"sql: {name}: {' '.join(str(error).split())}") from None
