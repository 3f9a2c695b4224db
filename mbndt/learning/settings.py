"""The settings of learning, and the presets of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from mbndt.errors import OptionError, nearest, shown
from mbndt.extras import needed
from mbndt.options import Options, choose, option

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
RATES = (1e-9, 1e3)


@dataclass(frozen=True)
class Settings(Options):
    """The settings of learning; the defaults are the paper's recommended preset."""

    depth: int = option(4, "most splits on a path", bounds=(1, 4))
    branching: int = option(3, "most branches of a split", bounds=(2, 16))
    leaf_budget: float = option(
        36.0, "number of effective leaves that the network aims at", bounds=(1.0, 1e9)
    )
    restarts: int = option(5, "number of networks to start from", bounds=(0, 1000))
    seed: int = option(0, "what random numbers are drawn by", bounds=(0, 2**31))
    device: str = option("cpu", "where networks are trained", choices=("cpu", "cuda"))
    class_weight: str = option(
        "balanced",
        "whether classes weigh equally, or as their rows do",
        choices=("balanced", "none"),
    )
    tau: float = option(
        0.30716,
        "temperature of the soft bins on the score scale",
        bounds=(1e-3, 1e3),
        basic=False,
    )
    rate_selector: float = option(
        0.010145, "Adam's rate for the selectors", bounds=RATES, basic=False
    )
    rate_threshold: float = option(
        0.009401, "Adam's rate for the thresholds", bounds=RATES, basic=False
    )
    rate_leaf: float = option(0.020192, "Adam's rate for the leaves", bounds=RATES, basic=False)
    rate_mask: float = option(0.011648, "Adam's rate for the masks", bounds=RATES, basic=False)
    first_epochs: int = option(40, "most epochs of the first stage", bounds=(1, 10**6), basic=False)
    first_patience: int = option(
        8, "epochs without gain that end the first stage", bounds=(1, 10**6), basic=False
    )
    epochs: int = option(
        500, "most epochs of the second stage; 0 leaves it out", bounds=(0, 10**6), basic=False
    )
    patience: int = option(
        25, "epochs without gain that end the second stage", bounds=(1, 10**6), basic=False
    )
    monitor: str = option(
        "score",
        "what the second stage stops by and keeps the best of: balanced accuracy (for numbers, the"
        " squared error), or the loss; only preset paper has that stage",
        choices=("score", "loss"),
    )
    sample: int | None = option(
        None,
        "most rows that networks train on",
        bounds=(2, 2**31),
        otherwise="all",
        basic=False,
    )
    refine: bool = option(False, "whether the rules are re-split exactly after pruning")
    penalty: float | None = option(
        None,
        "price of an interval, in rows of mean weight",
        bounds=(0.0, 1e9),
        otherwise="by the noise of the labels, or the number of rows",
    )
    min_rows: int | None = option(
        None,
        "least training rows of a leaf",
        bounds=(1, 10**9),
        otherwise="3, or fewer where there are fewer than 90 rows",
    )
    min_events: int | None = option(
        None,
        "least training rows of the event in a leaf, unless it has as many rows as hold so many at"
        " the overall share, so that few events are a finding",
        bounds=(1, 10**9),
        otherwise="no minimum",
    )
    thrift: float = option(1.0, "factor on the penalty", bounds=(0.0, 1e9), basic=False)
    smoothing: float = option(
        0.0, "weight of a forest's answers in the labels", bounds=(0.0, 1.0), basic=False
    )
    greedy: int = option(
        0, "number of greedy starts besides the networks", bounds=(0, 2), basic=False
    )
    regrow: bool = option(
        False, "whether subtrees of the best tree are grown anew on larger tables", basic=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.device == "cuda":
            with needed():
                import torch

            if not torch.cuda.is_available():
                raise OptionError("device: got 'cuda', but torch finds no such device here")
        if not self.refine and (self.penalty is not None or self.thrift != 1.0):
            raise OptionError(
                "`penalty` and `compact` act in refining only, which is off here; `refine` turns it"
                " on in preset 'paper' too"
            )
        if self.restarts == 0 and not (self.refine and self.greedy):
            raise OptionError("restarts: got 0, expected 1 or more where nothing else starts")

    def smooths(self, rows: float) -> bool:
        """Tell whether the labels of so many training rows are smoothed.

        One is noise to a few rows, and no longer to many.
        """
        return self.smoothing > 0 and rows <= SMOOTHED_ROWS

    def fewest(self, rows: float) -> int:
        """Return the rows that an interval must have at least, out of so many training rows."""
        return self.min_rows or min(FEWEST, max(1, int(rows // ROWS_OF_ONE)))

    def least(self, rows: float) -> int:
        """Return the rows of a class that a leaf with this answer must have, out of so many."""
        return min(FEWEST, max(1, int(rows // ROWS_OF_CLASS)))

    def price(self, rows: float, noise: float | None, imbalance: float = 1.0) -> float:
        """Return the penalty of an interval for so many training rows whose labels are so noisy.

        It is in proportion to the noise, as Mallows' Cp has it, or to the rows where it isn't
        known; the more so by the `imbalance` of classes, as one row of a light class weighs many.
        """
        if self.penalty is not None:
            price = self.penalty
        elif noise is not None:
            own = max(LEAST_PENALTY, NOISE_PENALTY * noise)
            price = max(own * imbalance, PENALTY_SHARE * rows)
        else:
            price = max(PENALTY * imbalance, PENALTY_SHARE * rows)
        return price * self.thrift


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
    """Return a preset's settings with changes, and with more thrift where `compact`.

    Raises `OptionError` that names the option.
    """
    choose("preset", name, PRESETS)
    chosen = PRESETS[name]
    known = [field.name for field in fields(Settings)]
    for setting in changes:
        if setting not in known:
            raise OptionError(f"no option {shown(setting)}{nearest(setting, known)}")
    # A search may hand numbers of NumPy's, which a model file can't hold.
    changes = {k: v.item() if hasattr(v, "item") else v for k, v in changes.items()}
    if compact:
        changes["thrift"] = COMPACT * changes.get("thrift", 1.0)
    return replace(chosen, **changes)
