"""Learning from prepared rows: networks, pruning, refining, risks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbndt.arrays import Floats
from mbndt.extras import needed
from mbndt.learning.enough import enough
from mbndt.learning.holdout import stratified
from mbndt.learning.joining import joined
from mbndt.learning.model import Model
from mbndt.learning.network.encoding import fit_encoder
from mbndt.learning.network.pruning import prune
from mbndt.learning.provenance import learned
from mbndt.learning.refine.refine import refine
from mbndt.learning.risk import with_risks
from mbndt.learning.settings import Settings
from mbndt.learning.short_thresholds import shorten
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Rules

if TYPE_CHECKING:
    from mbndt.learning.network.frozen import TrainedNetwork
    from mbndt.learning.network.loop import Progress

# The paper's own branching: networks that refining starts from need no more, and take longer.
START_BRANCHING = 3


def fit(training: TrainingSet, settings: Settings, progress: Progress | None = None) -> Model:
    """Learn from all rows, holding none out."""
    repeated = training.repeated()
    model, starts = _networks(repeated, settings, progress)
    view: Floats | None = None
    if settings.refine:
        found = refine(repeated, starts, settings)
        pairs = tuple(zip(found.before, found.after, strict=True))
        model = replace(model, rules=found.rules, starts=pairs, objective=found.objective)
        view = found.view
    rules = enough(model.rules, repeated, settings)
    rules = with_risks(training.counted(rules), repeated, view)
    while training.aim.monotone and (fewer := joined(rules, repeated)) is not rules:
        # What was pooled to be monotone is one leaf.
        rules = with_risks(training.counted(fewer), repeated, view)
    rules = replace(rules, provenance=learned(rules, training, settings))
    return replace(model, rules=rules, settings=settings)


def _networks(
    training: TrainingSet, settings: Settings, progress: Progress | None
) -> tuple[Model, list[Rules]]:
    """Train networks; return the model of the winner, and the rules of all restarts."""
    alone = training.single_leaf()
    single = Rules(training.target.name, training.target, training.features, alone)
    if settings.restarts == 0:
        return Model(single, settings), []
    with needed("; `restarts` 0 learns without networks"):
        from mbndt.learning.network.loop import train
        from mbndt.learning.network.losses import make_loss
    training = _sample(training, settings)
    if settings.refine:
        settings = replace(settings, branching=min(settings.branching, START_BRANCHING))
    encoder, scores = fit_encoder(
        training.features, training.typed, training.numbers(), np.random.default_rng(settings.seed)
    )
    if not encoder.columns:
        return Model(single, settings, encoder), []
    outcome = training.numbers() if training.codes is None else training.codes
    weights, balanced = training.weights, training.balanced
    if training.costs is not None:
        weights, balanced = weights * training.class_weights()[training.codes], False
    trained = train(
        scores,
        make_loss(outcome, len(training.target.classes), weights, balanced=balanced),
        training.codes,
        settings,
        progress,
    )
    encoded = encoder.encode(training.typed)

    def pruned(network: TrainedNetwork) -> Rules:
        return prune(
            network, encoder, encoded, training.features, training.target, training.network_leaf
        )

    model = Model(single, settings, encoder, trained.network, tuple(trained.history))
    if settings.refine:
        return model, [pruned(network) for network in trained.restarts]
    rules, moved = shorten(pruned(trained.network), training.typed)
    return replace(model, rules=rules, moved=moved), []


def _sample(training: TrainingSet, settings: Settings) -> TrainingSet:
    """Return the rows that networks train on: all, or a stratified sample of them."""
    if settings.sample is None or training.n_rows <= settings.sample:
        return training
    everything = np.arange(training.n_rows)
    strata = stratified(training.codes, everything, settings.sample)
    from sklearn.model_selection import train_test_split

    index, _ = train_test_split(
        everything, train_size=settings.sample, random_state=settings.seed, stratify=strata
    )
    return training.take(np.sort(index))
