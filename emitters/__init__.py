"""The targets: rules in, artefact out. A new target is one module and one line of `TARGETS`."""

from __future__ import annotations

import importlib
import keyword
from dataclasses import fields

from mbndt.emitters.base import Artifact, Emitter
from mbndt.errors import OptionError, nearest, shown
from mbndt.rules import Rules

__all__ = ["TARGETS", "Artifact", "Emitter", "emit", "emitter", "emitter_class"]

TARGETS = {
    "python": "mbndt.emitters.python.emit:Python",
    "sql": "mbndt.emitters.sql.emit:Sql",
    "c": "mbndt.emitters.c.emit:C",
    "onnx": "mbndt.emitters.onnx.emit:Onnx",
    "javascript": "mbndt.emitters.javascript.emit:JavaScript",
    "protocol": "mbndt.emitters.protocol.emit:Protocol",
}


def emitter_class(target: str) -> type[Emitter]:
    """Return the class of a target's emitter; raises `OptionError` for an unknown target."""
    if target not in TARGETS:
        raise OptionError(f"--target: got {shown(target)}{nearest(target, TARGETS)}")
    module, name = TARGETS[target].split(":")
    found: type[Emitter] = getattr(importlib.import_module(module), name)
    return found


def emitter(target: str, **options: object) -> Emitter:
    """Return a target's emitter set to `options`; raises `OptionError` for one it lacks."""
    kind = emitter_class(target)
    known = {entry.name.rstrip("_") for entry in fields(kind)}  # type: ignore[arg-type]
    # In Python `as` is written `as_`.
    chosen = {o[:-1] if keyword.iskeyword(o[:-1]) else o: v for o, v in options.items()}
    for option in chosen:
        if option not in known:
            choices = nearest(option, known) if known else "; it takes no options"
            raise OptionError(f"--{option}: not an option of target '{target}'{choices}")
    return kind(**{f"{o}_" if keyword.iskeyword(o) else o: v for o, v in chosen.items()})


def emit(rules: Rules, target: str, **options: object) -> Artifact:
    """Return the artefact of rules for a target.

    Raises `OptionError` for an unknown target or option, `TargetError` for rules that the target
    can't hold.
    """
    return emitter(target, **options).emit(rules)
