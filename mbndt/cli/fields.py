"""Options of commands, made from the fields of dataclasses that say what they are."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from mbndt.cli.options import option, with_choices
from mbndt.emitters import TARGETS, options_class
from mbndt.learning.settings import PRESETS, Settings
from mbndt.options import name_of

Made = Mapping[str, inspect.Parameter]
LEARNING = "Learning"
BASIC = tuple(entry.name for entry in fields(Settings) if entry.metadata["basic"])


def with_options(made: Made) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command options in the place of its `**given`.

    The command's `given` are then those that the user gave.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def call(**values: Any) -> None:
            lacking = {name for name in made if values[name] in (None, [])}
            command(**{name: value for name, value in values.items() if name not in lacking})

        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        by_name = [p.replace(kind=p.KEYWORD_ONLY) for p in own]
        both = signature.replace(parameters=[*by_name, *made.values()])
        call.__signature__ = both  # type: ignore[attr-defined]
        return call

    return decorate


def target_options() -> Made:
    """Return the options of all targets; what several have by one name is one option."""
    holders: dict[str, dict[str, Field[Any]]] = {}
    kinds: dict[str, Any] = {}
    for target in TARGETS:
        options = options_class(target)
        kinds |= get_type_hints(options)
        for entry in fields(options):
            holders.setdefault(entry.name, {})[target] = entry
    return {name: _of_targets(held, kinds[name]) for name, held in holders.items()}


def _of_targets(held: Mapping[str, Field[Any]], kind: Any) -> inspect.Parameter:
    """Return the option of the targets that have it."""
    first, *others = held.values()
    panel = f"Options of {' and '.join(held)}"
    if all(entry.metadata == first.metadata for entry in others):
        return _parameter(first, kind, panel, _default(first))
    said = [f"{target}: {_said(entry)}" for target, entry in held.items()]
    return _parameter(first, kind, panel, _default(first), "; ".join(said))


def settings_options(names: Collection[str], **defaults: str) -> Made:
    """Return the options of settings of the learner, whose defaults are those of the presets."""
    kinds = get_type_hints(Settings)
    return {
        entry.name: _parameter(
            entry, kinds[entry.name], LEARNING, defaults.get(entry.name) or _of_presets(entry)
        )
        for entry in fields(Settings)
        if entry.name in names
    }


def _of_presets(entry: Field[Any]) -> str:
    """Return a setting's default, and those of the presets that have another."""
    own = {name: _text(entry, getattr(preset, entry.name)) for name, preset in PRESETS.items()}
    usual = own.pop("default")
    return "; ".join([usual, *(f"{name}: {text}" for name, text in own.items() if text != usual)])


def _default(entry: Field[Any]) -> str:
    return _text(entry, entry.default)


def _text(entry: Field[Any], value: object) -> str:
    """Return a default as the help says it."""
    if value in (None, (), ""):
        return _dashed(entry.metadata["otherwise"])
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _said(entry: Field[Any]) -> str:
    return with_choices(_dashed(entry.metadata["help"]), entry.metadata["choices"])


def _dashed(text: str) -> str:
    """Return a text with the names in it as the options that they are here."""
    return re.sub(r"`(\w+)`", lambda found: f"--{found[1].replace('_', '-')}", text)


def _parameter(
    entry: Field[Any], kind: Any, panel: str, default: str, said: str = ""
) -> inspect.Parameter:
    """Return the parameter of a command that is a field's option; None where it isn't given."""
    word = name_of(entry).replace("_", "-")
    names = f"--{word}/--no-{word}" if isinstance(entry.default, bool) else f"--{word}"
    metavar = entry.metadata["metavar"]
    info = option(names, help=said or _said(entry), default=default, panel=panel, metavar=metavar)
    return inspect.Parameter(
        entry.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[_on_the_command_line(kind), info],
    )


def _on_the_command_line(kind: Any) -> Any:
    """Return the type that an option has there: a path where a field takes one, lists of texts."""
    if Path in get_args(kind):
        return Path | None
    return list[str] | None if get_origin(kind) is Sequence else kind | None
