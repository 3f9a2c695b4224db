"""The targets: rules in, artefact out. A new target is one folder and one line of `TARGETS`.

Its module `options` holds the class `<Name>Options` and imports nothing heavy, as the command line
asks it for its options; `emit` holds the class `<Name>`, both of those options and an `Emitter`.
"""

from __future__ import annotations

import importlib
import keyword
from dataclasses import fields, replace

from mbndt.emitters.base import Artifact, Emitter
from mbndt.errors import OptionError, nearest
from mbndt.options import Options, choose, name_of
from mbndt.rules import Rules
from mbndt.rules.stopping import LEAST_ROWS, stopping

__all__ = [
    "TARGETS",
    "Artifact",
    "Emitter",
    "emit",
    "emitter",
    "emitter_class",
    "options_class",
    "strictly",
]

# The folder of each target, and the name of its class.
TARGETS = {
    "python": "Python",
    "sql": "Sql",
    "c": "C",
    "onnx": "Onnx",
    "javascript": "JavaScript",
    "dmn": "Dmn",
    "fhir": "Fhir",
    "protocol": "Protocol",
}


def emitter_class(target: str) -> type[Emitter]:
    """Return the class of a target's emitter; raises `OptionError` for an unknown target."""
    choose("target", target, TARGETS)
    module = importlib.import_module(f"{__name__}.{target}.emit")
    kind: type[Emitter] = getattr(module, TARGETS[target])
    return kind


def options_class(target: str) -> type[Options]:
    """Return the class of a target's options; raises `OptionError` for an unknown target."""
    choose("target", target, TARGETS)
    module = importlib.import_module(f"{__name__}.{target}.options")
    kind: type[Options] = getattr(module, f"{TARGETS[target]}Options")
    return kind


def emitter(target: str, **options: object) -> Emitter:
    """Return a target's emitter set to `options`; raises `OptionError` for one it lacks."""
    known = {name_of(entry) for entry in fields(options_class(target))}
    # In Python `as` is written `as_`.
    chosen = {o[:-1] if keyword.iskeyword(o[:-1]) else o: v for o, v in options.items()}
    for option in chosen:
        if option not in known:
            # In backquotes, which the command line turns into dashes.
            choices = nearest(option, known).replace("'", "`") if known else "; it takes no options"
            raise OptionError(f"{option}: not an option of target '{target}'{choices}")
    return emitter_class(target)(
        **{f"{o}_" if keyword.iskeyword(o) else o: v for o, v in chosen.items()}
    )


def emit(rules: Rules, target: str, *, strict_missing: bool = False, **options: object) -> Artifact:
    """Return the artefact of rules for a target.

    With `strict_missing` a missing or unlisted value that too few training rows had where it is
    asked for gets no answer. Raises `OptionError` for an unknown target or option, `TargetError`
    for rules that the target can't hold.
    """
    tool = emitter(target, **options)
    return strictly(tool, rules) if strict_missing else tool.emit(rules)


def strictly(tool: Emitter, rules: Rules) -> Artifact:
    """Return the artefact of rules that stop where too few training rows bear a value out."""
    stopped = stopping(rules)
    found = tool.emit(stopped)
    ways = sum(leaf.stops for leaf in stopped.leaves)
    said = (
        f"no answer at {ways} leaves, to which missing or unlisted values lead that fewer than"
        f" {LEAST_ROWS} training rows had there"
    )
    return replace(found, notes=(*found.notes, said))
