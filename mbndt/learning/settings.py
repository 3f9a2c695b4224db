"""The settings of learning, and the presets of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mbndt.errors import OptionError, nearest, shown
from mbndt.extras import needed

# Option, least and greatest value.
WHOLE = (
    ("depth", 1, 4),
    ("branching", 2, 16),
    ("restarts", 0, 1000),
    ("seed", 0, 2**31),
    ("first_epochs", 1, 10**6),
    ("first_patience", 1, 10**6),
    ("epochs", 0, 10**6),
    ("patience", 1, 10**6),
    ("sample", 2, 2**31),
    ("greedy", 0, 2),
)
NUMBERS = (
    ("leaf_budget", 1.0, 1e9),
    ("penalty", 0.0, 1e9),
    ("thrift", 0.0, 1e9),
    ("smoothing", 0.0, 1.0),
    ("tau", 1e-3, 1e3),
    ("rate_selector", 1e-9, 1e3),
    ("rate_threshold", 1e-9, 1e3),
    ("rate_leaf", 1e-9, 1e3),
    ("rate_mask", 1e-9, 1e3),
)
WORDS = (
    ("device", ("cpu", "cuda")),
    ("monitor", ("score", "loss")),
    ("class_weight", ("balanced", "none")),
)
# Chosen by inner validation on the training parts of the paper's sets, but for PENALTY_SHARE, which
# bounds the leaves of larger tables, and FEWEST, for leaves that a reader can trust.
LEAST_PENALTY = 0.25
NOISE_PENALTY = 3.0
PENALTY = 1.5
PENALTY_SHARE = 1 / 4000
COMPACT = 3.0
SMOOTHED_ROWS = 10_000
# Out of so many rows one may stand alone in an interval; never are more than FEWEST asked.
ROWS_OF_ONE = 30
FEWEST = 3
# As many rows of a class suffer one of them alone to be a leaf's.
ROWS_OF_CLASS = 5
# None stands for a rule of their own.
OPTIONAL = ("sample", "penalty")


@dataclass(frozen=True)
class Settings:
    """The settings of learning; the defaults are the paper's recommended preset.

    Of the network: `tau`, the temperature of the soft bins on the score scale; the four rates are
    Adam's; `leaf_budget`, the target K of effective leaves; `monitor`, what the second stage stops
    by and keeps the best of, "score" (balanced accuracy, for numbers the squared error) or "loss";
    `sample`, the rows that networks train on at most, all where None; without `epochs` there is no
    second stage.

    Of refining: `refine`, whether it is done; `penalty`, the price of an interval in rows of mean
    weight (None: by the labels' noise, or the number of rows); `thrift`, a factor on it;
    `smoothing`, the forest's share in the labels; `greedy`, the starts besides the network's
    `restarts`; `regrow`, whether the best tree's subtrees are grown anew on larger tables.
    """

    depth: int = 4
    branching: int = 3
    leaf_budget: float = 36.0
    restarts: int = 5
    seed: int = 0
    device: str = "cpu"
    class_weight: str = "balanced"
    tau: float = 0.30716
    rate_selector: float = 0.010145
    rate_threshold: float = 0.009401
    rate_leaf: float = 0.020192
    rate_mask: float = 0.011648
    first_epochs: int = 40
    first_patience: int = 8
    epochs: int = 500
    patience: int = 25
    monitor: str = "score"
    sample: int | None = None
    refine: bool = False
    penalty: float | None = None
    thrift: float = 1.0
    smoothing: float = 0.0
    greedy: int = 0
    regrow: bool = False

    def __post_init__(self) -> None:
        for option, low, high in WHOLE:
            got = getattr(self, option)
            if got is None and option in OPTIONAL:
                continue
            if type(got) is not int or not low <= got <= high:
                raise _wrong(option, got, f"{low} to {high}")
        for option, least, most in NUMBERS:
            got = getattr(self, option)
            if got is None and option in OPTIONAL:
                continue
            if type(got) not in (int, float) or not least <= got <= most:
                raise _wrong(option, got, f"{least:g} to {most:g}")
        for option, choices in WORDS:
            got = getattr(self, option)
            if got not in choices:
                raise _wrong(option, got, f"{choices[0]!r} or {choices[1]!r}")
        for option in ("refine", "regrow"):
            if type(getattr(self, option)) is not bool:
                raise _wrong(option, getattr(self, option), "true or false")
        if self.device == "cuda":
            with needed():
                import torch

            if not torch.cuda.is_available():
                raise OptionError("--device: got 'cuda', but torch finds no such device here")
        if not self.refine and (self.penalty is not None or self.thrift != 1.0):
            raise OptionError(
                "--penalty, --compact: are for refining, which --no-refine and preset"
                " 'paper' leave out"
            )
        if self.restarts == 0 and not (self.refine and self.greedy):
            raise OptionError("--restarts: got 0, expected 1 or more where nothing else starts")

    def smooths(self, rows: float) -> bool:
        """Tell whether the labels of so many training rows are smoothed: one is noise to a few
        rows, and no longer to many.
        """
        return self.smoothing > 0 and rows <= SMOOTHED_ROWS

    def fewest(self, rows: float) -> int:
        """Return the rows that an interval must have at least, out of so many training rows."""
        return min(FEWEST, max(1, int(rows // ROWS_OF_ONE)))

    def least(self, rows: float) -> int:
        """Return the rows of a class that a leaf with this answer must have, out of so many."""
        return min(FEWEST, max(1, int(rows // ROWS_OF_CLASS)))

    def price(self, rows: float, noise: float | None, imbalance: float = 1.0) -> float:
        """Return the penalty of an interval for so many training rows whose labels are so noisy:
        in proportion to the noise, as Mallows' Cp has it, or to the rows where it isn't known; the
        more so by the `imbalance` of classes, as one row of a light class weighs many.
        """
        if self.penalty is not None:
            price = self.penalty
        elif noise is not None:
            own = max(LEAST_PENALTY, NOISE_PENALTY * noise)
            price = max(own * imbalance, PENALTY_SHARE * rows)
        else:
            price = max(PENALTY * imbalance, PENALTY_SHARE * rows)
        return price * self.thrift


def _wrong(option: str, got: object, expected: str) -> OptionError:
    return OptionError(f"--{option.replace('_', '-')}: got {shown(got)}, expected {expected}")


_DEFAULT = Settings(
    branching=6,
    restarts=2,
    first_epochs=15,
    first_patience=4,
    epochs=0,
    sample=10_000,
    refine=True,
    smoothing=0.6,
    greedy=2,
    regrow=True,
)

PRESETS = {
    "default": _DEFAULT,
    "paper": Settings(),
    "fast": replace(_DEFAULT, restarts=1, greedy=1, regrow=False),
}


def preset(name: str, *, compact: bool = False, **changes: Any) -> Settings:
    """Return a preset's settings with changes, and with more thrift where `compact`; raises
    `OptionError` that names the option.
    """
    if name not in PRESETS:
        raise OptionError(f"--preset: got {shown(name)}{nearest(name, PRESETS)}")
    known = [field.name for field in fields(Settings)]
    for option in changes:
        if option not in known:
            raise OptionError(f"no option {shown(option)}{nearest(option, known)}")
    # A search may hand numbers of NumPy's, which a model file can't hold.
    changes = {k: v.item() if isinstance(v, np.generic) else v for k, v in changes.items()}
    if compact:
        changes["thrift"] = COMPACT * changes.get("thrift", 1.0)
    return replace(PRESETS[name], **changes)
