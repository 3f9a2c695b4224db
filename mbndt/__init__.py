"""mbndt: a compiler for decision rules that people can follow and machines can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbndt._version import __version__

__all__ = ["MBNDTClassifier", "MBNDTRegressor", "Rules", "__version__", "equivalent", "load"]

if TYPE_CHECKING:
    from mbndt.boxes import equivalent
    from mbndt.checkpoint import load
    from mbndt.estimator import MBNDTClassifier, MBNDTRegressor
    from mbndt.rules import Rules

_HOMES = {
    "MBNDTClassifier": "mbndt.estimator",
    "MBNDTRegressor": "mbndt.estimator",
    "Rules": "mbndt.rules",
    "equivalent": "mbndt.boxes",
    "load": "mbndt.checkpoint",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: only learning needs torch."""
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'mbndt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
