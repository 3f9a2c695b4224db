"""mbndt: a compiler for decision rules that people can follow and machines can run.

What stands in `__all__` is public; all else may change from one release to the next.
"""

from typing import TYPE_CHECKING

from mbndt._version import __version__

__all__ = [
    "Check",
    "CheckpointError",
    "DataError",
    "DataWarning",
    "EngineFailed",
    "EngineMissing",
    "MBNDTClassifier",
    "MBNDTRegressor",
    "MbndtError",
    "Model",
    "OptionError",
    "OutputError",
    "Predictions",
    "Rules",
    "RulesError",
    "TargetError",
    "Validation",
    "__version__",
    "equivalent",
    "learn",
    "load",
    "save",
    "validate",
    "verify",
]

if TYPE_CHECKING:
    from mbndt.api import learn, save, validate, verify
    from mbndt.checkpoint import load
    from mbndt.conformance.verify import Check
    from mbndt.errors import (
        CheckpointError,
        DataError,
        DataWarning,
        EngineFailed,
        EngineMissing,
        MbndtError,
        OptionError,
        OutputError,
        RulesError,
        TargetError,
    )
    from mbndt.estimator import MBNDTClassifier, MBNDTRegressor
    from mbndt.interpreter import Predictions
    from mbndt.learning.model import Model
    from mbndt.rules import Rules
    from mbndt.rules.boxes import equivalent
    from mbndt.validation.validate import Validation

_HOMES = {
    "Check": "mbndt.api",
    "MBNDTClassifier": "mbndt.estimator",
    "MBNDTRegressor": "mbndt.estimator",
    "Model": "mbndt.learning.model",
    "Predictions": "mbndt.interpreter",
    "Rules": "mbndt.rules",
    "Validation": "mbndt.validation.validate",
    "equivalent": "mbndt.rules.boxes",
    "learn": "mbndt.api",
    "load": "mbndt.checkpoint",
    "save": "mbndt.api",
    "validate": "mbndt.api",
    "verify": "mbndt.api",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: only learning needs torch."""
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'mbndt' has no attribute {name!r}")
    try:
        home = importlib.import_module(_HOMES.get(name, "mbndt.errors"))
    except ModuleNotFoundError as error:
        from mbndt.extras import lacking

        if (message := lacking(error)) is None:
            raise
        raise ModuleNotFoundError(f"{name}: {message}", name=error.name) from None
    found: object = getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
