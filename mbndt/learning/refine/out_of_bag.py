"""What rows like a row have: a random forest's view of each row that it has not seen.

A shallow tree fitted to single labels follows their noise. Labels are therefore blended with the
prediction of a random forest for each row, from the trees alone that have not seen it (Breiman
2001, out-of-bag): splits chosen for the blend vary less from sample to sample. The same view tells
how noisy labels are, and so what an interval must gain to be worth its place. The forest itself is
thrown away.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mbndt.arrays import Array, Floats

TREES = 50
LEAF_ROWS = 3
FEWEST_ROWS = 10
OWN_SHARE = 0.51


def forest_view(bins: Array, outcome: Floats, weights: Floats, seed: int) -> Floats | None:
    """Return the forest's view of outcomes [n, K], [n, K]; None where there are too few rows.

    Outcomes are one column a class, or a single one of values, of rows with bins [F, n] and weights
    [n].
    """
    if len(outcome) < FEWEST_ROWS or len(bins) == 0:
        return None
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    classes = outcome.shape[1] > 1
    kind: Any = RandomForestClassifier if classes else RandomForestRegressor
    forest = kind(
        TREES,
        oob_score=True,
        min_samples_leaf=LEAF_ROWS,
        random_state=seed,
        max_features="sqrt" if classes else 1 / 3,
    )
    target = outcome.argmax(1) if classes else outcome[:, 0]
    with warnings.catch_warnings():
        # A row that every tree has seen has no such view, and keeps its own label.
        warnings.simplefilter("ignore")
        # By its base class, as trackers patch a forest's own fit, and would record it as the model.
        super(kind, forest).fit(bins.T.astype(np.float32), target, sample_weight=weights)
    view = np.zeros(outcome.shape)
    if classes:
        view[:, forest.classes_] = forest.oob_decision_function_
        lacking = ~(view.sum(1) > 0.5)
    else:
        view[:, 0] = forest.oob_prediction_
        lacking = forest.oob_prediction_ == 0.0
    view[lacking] = outcome[lacking]
    return view


def blended(outcome: Floats, view: Floats, share: float) -> Floats:
    """Return outcomes [n, K] of which `share` is the view's.

    A row's own is never outvoted, so that what can be told apart without error is.
    """
    if outcome.shape[1] == 1:
        share = min(share, 0.5)
    found = (1 - share) * outcome + share * view
    if outcome.shape[1] == 1:
        return found
    own = outcome.argmax(1)[:, None]
    kept = np.take_along_axis(found, own, axis=1)
    lifted = np.maximum(kept, OWN_SHARE)
    # What the others have is scaled to the rest.
    found *= np.divide(1 - lifted, 1 - kept, out=np.ones_like(kept), where=kept < 1)
    np.put_along_axis(found, own, lifted, axis=1)
    return found
