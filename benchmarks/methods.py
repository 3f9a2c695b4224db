"""The methods that are compared: by name a function and its options."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import data, rivals
from benchmarks.figures import Figures, figures_of, figures_of_rules
from mbndt.learning.fit import fit
from mbndt.learning.settings import PRESETS, Settings
from mbndt.learning.training_set import TrainingSet

# The setting of the default's smaller variant.
COMPACT = {"thrift": 3.0}
TRANSFORMS = {"one-hot": data.one_hot, "filled": data.filled}


def ours(
    train: TrainingSet,
    test: TrainingSet,
    seed: int,
    *,
    transform: str | None = None,
    **settings: Any,
) -> Figures:
    """Learn rules by some settings, on rows that may be transformed before."""
    if transform:
        train, test = TRANSFORMS[transform](train, test)
    start = time.process_time()
    model = fit(train, Settings(seed=seed, **settings), None)
    return figures_of_rules(model.rules, train, test, time.process_time() - start)


def unpruned(train: TrainingSet, test: TrainingSet, seed: int, **settings: Any) -> Figures:
    """Learn a network and let it answer whole, rare branches included; its leaves are those that
    training or test rows reach.
    """
    start = time.process_time()
    model = fit(train, Settings(seed=seed, **settings))
    seconds = time.process_time() - start
    network, encoder = model.network, model.encoder
    everything = np.ones((network.shape.nodes, network.shape.branching), np.bool_)
    _, leaf = network.route(encoder.encode(test.typed), everything)
    _, known = network.route(encoder.encode(train.typed), everything)
    outputs = network.leaves[leaf]
    got = outputs[:, 0] >= 0 if outputs.shape[1] == 1 else outputs.argmax(1)
    depth = np.full(len(leaf), network.shape.depth)
    return figures_of(
        test.outcome,
        got,
        leaves=len(np.union1d(leaf, known)),
        thresholds=network.cuts.size,
        path=depth,
        features=depth,
        seconds=seconds,
        note="network",
    )


@dataclass(frozen=True)
class Method:
    """A function of (training rows, test rows, seed, **options), and what it is run with.

    `most` is the number of a set's rows up to which it is run; `like` names the method whose
    leaves it gets as `max_leaf_nodes`.
    """

    run: Callable[..., Figures]
    options: dict[str, Any]
    most: float = float("inf")
    like: str | None = None
    package: str | None = None

    @property
    def available(self) -> bool:
        """Tell whether the package that it needs is installed."""
        return self.package is None or find_spec(self.package) is not None


def of(settings: Settings, **more: Any) -> Method:
    """Return our method with some settings; the run's seed takes the place of theirs."""
    options = asdict(settings)
    del options["seed"]
    # Hundreds of epochs over all of a million rows take hours.
    most = 100_000 if settings.sample is None else float("inf")
    return Method(ours, {**options, **more}, most)


DEFAULT = PRESETS["default"]
METHODS = {
    "default": of(DEFAULT),
    "compact": of(replace(DEFAULT, **COMPACT)),
    "paper": of(PRESETS["paper"]),
    "no-refine": of(replace(DEFAULT, refine=False)),
    "CART": Method(rivals.cart, {"max_depth": DEFAULT.depth}),
    "CART-leaves": Method(rivals.cart, {}, like="default"),
    "LicketySPLIT": Method(
        rivals.licketysplit,
        {"thresholds": 16, "lambda_leaf": 0.002, "depth_budget": 4},
        package="licketysplit",
    ),
    "ConTree": Method(
        rivals.contree, {"max_depth": 3, "time_limit": 60}, most=6_000, package="pycontree"
    ),
    "XGBoost": Method(rivals.xgboost, {}, package="xgboost"),
}
OURS = ("default", "compact", "paper", "no-refine")
ENSEMBLES = ("XGBoost", "paper's XGBoost")
# These sets ask for another shape of the tree.
SHAPES = {"bands": {"depth": 2, "branching": data.BANDS}}


def fitted(method: Method, key: str) -> Method:
    """Return a method with the shape that a set asks for."""
    shape = SHAPES.get(key, {})
    if "max_depth" in method.options and shape:
        return replace(method, options={**method.options, "max_depth": shape["depth"]})
    own = method.run in (ours, unpruned)
    return replace(method, options={**method.options, **shape}) if own else method
