"""Options as fields of frozen dataclasses: what each is for, its default, choices and bounds.

The checks are made from these fields, and so are the options of the command line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any

from mbndt.errors import OptionError, nearest, shown


def option(
    default: Any,
    help: str,  # noqa: A002
    *,
    choices: Iterable[str] = (),
    bounds: tuple[float, float] | None = None,
    otherwise: str = "",
    metavar: str | None = None,
    basic: bool = True,
) -> Any:
    """Return the field of an option.

    `choices` are all texts that it may be; `bounds` are the least and the greatest number, a whole
    one where they are whole. `otherwise` says what holds where the default is None or nothing.
    The command line has those options that are `basic`.
    """
    metadata = {
        "help": help,
        "choices": tuple(choices),
        "bounds": bounds,
        "otherwise": otherwise,
        "metavar": metavar,
        "basic": basic,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Options:
    """Options that are checked as they are set: `OptionError` names the one that is wrong."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            check(entry, getattr(self, entry.name))


def name_of(entry: Field[Any]) -> str:
    """Return an option's name; in Python `as` is written `as_`."""
    return entry.name.removesuffix("_")


def choose(option: str, value: object, choices: Iterable[str]) -> None:
    """Raise `OptionError` that names the nearest choice unless `value` is one of `choices`."""
    if value not in (known := list(choices)):
        raise OptionError(f"{option}: got {shown(value)}{nearest(str(value), known)}")


def check(entry: Field[Any], value: object) -> None:
    """Raise `OptionError` for a value that is none of an option's choices, or past its bounds."""
    name, choices, bounds = name_of(entry), entry.metadata["choices"], entry.metadata["bounds"]
    if value is None and entry.default is None:
        return
    if choices:
        choose(name, value, choices)
    elif bounds:
        low, high = bounds
        kinds = (int,) if isinstance(low, int) else (int, float)
        if type(value) not in kinds or not low <= value <= high:
            form = "" if isinstance(low, int) else "g"
            expected = f"{low:{form}} to {high:{form}}"
            raise OptionError(f"{name}: got {shown(value)}, expected {expected}")
    elif isinstance(entry.default, bool) and type(value) is not bool:
        raise OptionError(f"{name}: got {shown(value)}, expected true or false")
