"""What SQL dialects say differently: a table of their words, limits and ways to write values.

Templates are written in the dialect itself, with `x` for the column or the literal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

import sqlglot
from sqlglot import exp

from mbndt.emitters.sql.unfit import MISTYPED, UNFIT
from mbndt.rules import INT64_MIN, FeatureType

if TYPE_CHECKING:
    Expr: TypeAlias = exp.Expr
# What holds every value of a feature's type, in sqlglot's words; rules round a float32's doubles.
TYPES = {
    FeatureType.FLOAT64: "DOUBLE",
    FeatureType.FLOAT32: "DOUBLE",
    FeatureType.INTEGER: "BIGINT",
    FeatureType.BOOLEAN: "BOOLEAN",
    FeatureType.CATEGORY: "TEXT",
}


class Answers(Enum):
    """How `select` and `view` look up what belongs to a row's leaf."""

    VALUES = auto()  # left join with a table of values
    TYPED = auto()  # left join with a function that is told the types of the values
    DUAL = auto()  # left join with a union of selects from DUAL
    LATERAL = auto()  # left join with a common table expression, after a lateral one for the leaf
    LISTS = auto()  # a list by leaf, where a join would lose the order of the rows


def exact(name: str) -> str:
    """Return a column's name as dialects see it that tell all names apart."""
    return name


def any_case(name: str) -> str:
    """Return a column's name as dialects see it that ignore case."""
    return name.casefold()


def java_case(name: str) -> str:
    """Return a column's name as Java ignores case, for which all sorts of the letter i are one."""
    return name.upper().casefold().replace("i\u0307", "i")


def ascii_case(name: str) -> str:
    """Return a column's name as dialects see it that ignore case in ASCII letters only."""
    return name.encode().lower().decode()


def mysql_case(name: str) -> str:
    """Return a column's name as MySQL sees it, to which İ is an i without another dot."""
    return name.replace("İ", "i").casefold()


def first_63_bytes(name: str) -> str:
    """Return a column's name as PostgreSQL cuts it."""
    return name.encode()[:63].decode(errors="ignore")


def of_any_length(name: str, _: str) -> tuple[float, str, int]:
    """Return the limit of a name, its unit, and how much of it the name has: here there's none."""
    return math.inf, "characters", len(name)


def of_64_characters(name: str, _: str) -> tuple[float, str, int]:
    """Return that of MySQL."""
    return 64, "characters", len(name)


def of_63_bytes(name: str, _: str) -> tuple[float, str, int]:
    """Return that of PostgreSQL, which cuts what is longer."""
    return 63, "bytes", len(name.encode())


def of_a_file(name: str, schema: str) -> tuple[float, str, int]:
    """Return that of ClickHouse, in whose files' names other bytes than letters take three."""
    sizes = [
        sum(3 - 2 * ((chr(b).isalnum() and b < 128) or b == 95) for b in text.encode())
        for text in (name, schema or "default")
    ]
    return 213 - sizes[1], "characters as a file's name", sizes[0]


def plain(text: str) -> Expr:
    """Return a text in quotes, with escapes where the dialect has them."""
    return exp.Literal.string(text)


def with_escapes(text: str) -> Expr:
    """Return a text whose backslashes PostgreSQL reads alike, whatever its settings."""
    return exp.ByteString(this=text) if "\\" in text else plain(text)


def in_utf8mb4(text: str) -> Expr:
    """Return a text that MySQL reads alike, whatever its settings and the connection's characters.

    Beyond ASCII it is the bytes that come, and where it would be spelt with a backslash, digits.
    """
    digits = "\\" in plain(text).sql(dialect="mysql")
    if text.isascii() and not digits:
        return plain(text)
    spelt = exp.HexString(this=text.encode().hex().upper()) if digits else plain(text)
    kind = exp.DataType(this=exp.DataType.Type.CHARACTER_SET, kind=exp.Var(this="utf8mb4"))
    # The cast, as a bare literal can have the connection's collation against it in a union.
    return exp.cast(exp.Introducer(this="_utf8mb4", expression=spelt), kind)


def in_pieces(text: str) -> Expr:
    """Return a text that Spark reads alike, whatever its settings.

    What some would take for an escape stands by its number, and no variable's name in one piece.
    """
    parts = [part for part in re.split(r"([\\'\"\x00-\x1f\x7f])|(?<=\$)(?=\{)", text) if part]
    pieces = [
        exp.Anonymous(this="CHR", expressions=[exp.Literal.number(ord(part))])
        if re.fullmatch(r"[\\'\"\x00-\x1f\x7f]", part)
        else plain(part)
        for part in parts
    ]
    if len(pieces) > 1:
        return exp.Concat(expressions=pieces)
    return pieces[0] if pieces else plain(text)


def sqlite_reads(digits: str) -> float:
    """Return the double that SQLite takes digits for: about 1 in 10,000 is one ulp off."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(":memory:")) as engine:
        return float(engine.execute(f"SELECT {digits}").fetchone()[0])


@dataclass(frozen=True)
class Dialect:
    """The words and limits of one dialect; the defaults hold for those that aren't listed."""

    name: str = ""
    nan: str = ""  # the test for NaN, empty where no column holds one
    nan_below: bool = False  # whether a NaN may stand below all numbers, besides above them
    gaps: bool = False  # whether `nan` is the test for a gap in a column of booleans too
    raises: bool = False  # whether a test for unfit values has to give something, and never does
    nulls: bool = False  # whether unfit values make the row's answers NULL, as nothing can raise
    number: str = "x"  # a column of numbers to compare with a literal
    digits: str = "{}"  # the spelling of a double, from digits with an exponent
    double: str = "x"  # a literal as a double, where its spelling alone gives a decimal
    reads: Callable[[str], float] | None = None  # the dialect's own reader, where it errs
    text: str = "x"  # a text column compared by code point, where its collation may fold
    # That where a category of the column has the pattern: it might be compared otherwise.
    special: tuple[str, str] = (r"(?!)", "x")
    word: str = "x"  # a text literal to compare with that
    # Whether a CHAR(n) shows its blanks but not its type, which only the plain comparison knows.
    hides_char: bool = False
    trims: bool = False  # whether blanks at the end of a CHAR(n) don't count
    literal: Callable[[str], Expr] = plain
    typed_null: bool = False  # whether a CASE of nothing but NULLs would be a text
    variables: bool = False  # ${...} is replaced in the whole text before it is read
    true: str = "TRUE"
    false: str = "FALSE"
    fold: Callable[[str], str] = any_case
    # The limit of a view's or function's name in a schema, its unit, and how much the name has.
    longest: Callable[[str, str], tuple[float, str, int]] = of_any_length
    no_name: str = r"(?!)"  # the pattern of names that no column can have
    nesting: int = 32  # levels of CASE; a deeper tree is written as flat path conditions
    answers: Answers = Answers.VALUES
    infinity: bool = True  # whether columns hold infinite numbers
    setting: str = ""  # of a select that joins
    qualified: bool = True  # whether columns stand with their table

    def settings(self) -> list[Expr]:
        """Return what a select that joins sets."""
        return [_parsed(self.setting, self.name).copy()] if self.setting else []

    def is_nan(self, column: Expr) -> list[Expr]:
        """Return the test for NaN, none where the dialect has no NaN."""
        return [self._fill(self.nan, column)] if self.nan else []

    def unfit(self, kind: FeatureType, column: Expr) -> list[Expr]:
        """Return the test for values that are none of a feature's type, none where it is needless.

        It raises, or is true for such a value: see `sql_unfit`.
        """
        test = UNFIT.get(self.name, {}).get(kind)
        return [self._fill(test, column)] if test else []

    def mistyped(self, kind: FeatureType, column: Expr) -> list[Expr]:
        """Return the test that raises where a column's type is none for a feature's."""
        test = MISTYPED.get(self.name, {}).get(kind)
        return [self._fill(test, column)] if test else []

    def as_number(self, column: Expr) -> Expr:
        """Return a column as it is compared with numbers."""
        return self._fill(self.number, column)

    def is_text(self, column: Expr, texts: list[str], categories: Iterable[str]) -> Expr:
        """Return the test that a column of these categories is one of some texts, by code point."""
        words = [self._fill(self.word, self.say(text)) for text in texts]
        pattern, special = self.special
        found = any(re.search(pattern, text) for text in categories)
        test = one_of(self._fill(special if found else self.text, column), words)
        if self.hides_char and not found:
            plain = one_of(column.copy(), [self.say(text) for text in texts])
            return exp.and_(plain, test, copy=False)
        return test

    def say(self, value: str | bool | int | float) -> Expr:
        """Return a literal that the dialect reads as exactly this value, in its own type."""
        match value:
            case str():
                return self.literal(value)
            case bool():
                return self._fill(self.true if value else self.false)
            case int():
                found = _signed(exp.Literal.number(str(abs(value))), value)
                # The digits alone of the least integer are beyond its type.
                return exp.cast(found, "BIGINT") if value == INT64_MIN else found
            case _:
                return _signed(self._double(abs(value)), value)

    def _double(self, value: float) -> Expr:
        digits = repr(value).upper()
        digits = self.digits.format(digits if "E" in digits else f"{digits}E0")
        if self.reads is None or self.reads(digits) == value:
            return self._fill(self.double, exp.Literal.number(digits))
        return exp.Paren(this=sqlglot.parse_one(_of_integers(value), dialect=self.name))

    def _fill(self, template: str, x: Expr | None = None) -> Expr:
        """Return the expression of a template, with a copy of `x` in its place."""
        if template == "x" and x is not None:
            return x.copy()
        tree = _parsed(template, self.name).copy()
        for column in list(tree.find_all(exp.Column)):
            if column.name == "x" and x is not None:
                column.replace(x.copy())
        return tree


def one_of(value: Expr, choices: list[Expr]) -> Expr:
    """Return the test that a value is one of the choices."""
    if len(choices) == 1:
        return exp.EQ(this=value, expression=choices[0])
    return exp.In(this=value, expressions=choices)


def _signed(literal: Expr, value: float) -> Expr:
    return exp.Neg(this=literal) if math.copysign(1.0, value) < 0 else literal


@cache
def _parsed(text: str, dialect: str) -> Expr:
    return sqlglot.parse_one(text, dialect=dialect)


def _of_integers(value: float) -> str:
    """Return a positive double as a product or quotient of integers, exact at every step.

    >>> _of_integers(0.75), _of_integers(2.0**54)
    ('1.0 * 3 / 4', '1.0 * 4503599627370496 * 4')
    """
    above, below = value.as_integer_ratio()
    excess = max(above.bit_length() - 53, 0)
    sign, twos = ("*", excess) if excess else ("/", below.bit_length() - 1)
    steps = [min(62, twos - done) for done in range(0, twos, 62)]
    return " ".join(["1.0 *", str(above >> excess), *(f"{sign} {2**step}" for step in steps)])


_LIKE_POSTGRES = Dialect(
    typed_null=True, nan="x = CAST('NaN' AS DOUBLE PRECISION)", double="CAST(x AS DOUBLE PRECISION)"
)
_LIKE_TSQL = Dialect(
    # Every collation ignores blanks at the end; bytes don't.
    text="CAST(CAST(x AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
    word="CAST(x AS VARBINARY(MAX))",
    literal=lambda text: exp.National(this=text),  # as the code page lacks most characters
    true="CAST(1 AS BIT)",
    false="CAST(0 AS BIT)",
    nesting=9,
)

_SPARK2 = Dialect(
    nan="ISNAN(x)",
    digits="{}D",  # old versions make a decimal of an exponent alone
    text="CAST(x AS BINARY)",
    word="CAST(x AS BINARY)",
    literal=in_pieces,
    variables=True,
    fold=java_case,
)
_LIKE_SPARK = replace(
    _SPARK2,
    # Compared plainly with a literal, a CHAR(n) is taken without its blanks.
    text="CAST(IF(TYPEOF(x) = 'string', RTRIM(x), x) AS BINARY)",
    special=(r" \Z", "CAST(x AS BINARY)"),
    hides_char=True,
    trims=True,
)

_DIALECTS = {
    "athena": Dialect(nan="IS_NAN(x)"),
    "bigquery": Dialect(nan="IS_NAN(x)"),
    "clickhouse": Dialect(
        # isNaN takes no decimals and no wide integers; of dates and enums there is no product.
        nan="x * 1 <> x",
        longest=of_a_file,
        raises=True,
        special=(r"\A\s*[-+]?\d+\s*\Z", "toString(x)"),  # which an Enum takes for its numbers
        fold=exact,
        answers=Answers.TYPED,  # a union of selects gets too large a plan at 1,000 leaves
        qualified=False,  # it takes `t`.`a` for a column of the name `t.a` where there is one
        # Else it takes the table's column where an output has the same name.
        setting="single_join_prefer_left_table = 0",
    ),
    "databricks": _LIKE_SPARK,
    "datafusion": Dialect(nan="ISNAN(x)", nan_below=True, fold=exact),
    "duckdb": Dialect(
        nan="ISNAN(x)",
        text='CAST(x AS TEXT) COLLATE "C"',  # the cast, as an ENUM takes no collation
        fold=ascii_case,
        answers=Answers.LISTS,
    ),
    "fabric": _LIKE_TSQL,
    "materialize": replace(_LIKE_POSTGRES, fold=exact),
    "mysql": Dialect(
        nulls=True,
        number="x + 0",  # as a YEAR is compared with 61 as if that were 2061
        # Binary collations differ between MySQL and MariaDB, and some ignore blanks at the end.
        text="CAST(CAST(x AS CHAR CHARACTER SET utf8mb4) AS BINARY)",
        literal=in_utf8mb4,
        true="1",
        false="0",
        fold=mysql_case,
        no_name=r".{65}|[ \t-\r]\Z|[\U00010000-\U0010ffff]",
        longest=of_64_characters,
        infinity=False,
    ),
    "oracle": Dialect(
        nan="x = TO_BINARY_DOUBLE('NaN')",
        digits="{}D",
        true="1",
        false="0",
        fold=exact,
        no_name='"',
        answers=Answers.DUAL,
    ),
    "postgres": replace(
        _LIKE_POSTGRES,
        text='CAST(x AS TEXT) COLLATE "C"',
        # As a CHAR(n) is written, with its blanks; the cast drops them.
        special=(r" \Z", '(CASE WHEN NOT x IS NULL THEN CONCAT(x) END) COLLATE "C"'),
        trims=True,
        literal=with_escapes,
        fold=first_63_bytes,
        longest=of_63_bytes,
        no_name=r"\A(tableoid|ctid|[cx]m(in|ax))\Z",  # which are columns of every table
    ),
    "presto": Dialect(nan="IS_NAN(x)"),
    "redshift": _LIKE_POSTGRES,
    "risingwave": replace(_LIKE_POSTGRES, fold=exact),
    "singlestore": Dialect(text="CAST(x AS BINARY)"),
    "snowflake": Dialect(nan="x = CAST('NaN' AS DOUBLE)", double="CAST(x AS DOUBLE)", fold=exact),
    "spark": _LIKE_SPARK,
    "spark2": _SPARK2,
    "sqlite": Dialect(
        nan="x = ''",  # as .import leaves a gap, which stands above all numbers like a NaN
        gaps=True,
        nulls=True,
        reads=sqlite_reads,
        text="x COLLATE BINARY",
        # Which a column of numbers takes for a number, so that '9.0' would be 9.
        special=(r"\A\s*[-+]?\.?\d", "CAST(x AS TEXT) COLLATE BINARY"),
        true="1",  # TRUE would be the column of that name where there is one
        false="0",
        fold=ascii_case,
        nesting=10,  # its parser overflows at 13 to 24 levels
        answers=Answers.LATERAL,
    ),
    "trino": Dialect(nan="IS_NAN(x)"),
    "tsql": _LIKE_TSQL,
}


def dialect(name: str) -> Dialect:
    """Return the words of a known dialect."""
    if name == "datafusion":
        import_module("mbndt.emitters.sql.datafusion")
    return replace(_DIALECTS.get(name, Dialect()), name=name)
