"""Labels drawn towards what rows like them have: a forest's out-of-bag view of each row.

A shallow tree fitted to single labels follows their noise. Each row's label is therefore blended
with the prediction of a random forest for it, from the trees alone that have not seen the row
(Breiman 2001, out-of-bag). Splits chosen for the blend vary less from sample to sample; the forest
itself is thrown away.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.problem import Floats

TREES = 50
LEAF_ROWS = 3
ROWS = 20_000  # rows that a tree of the forest is drawn from, at most
CELLS = 2_000_000  # rows times trees, at most: large tables are content with fewer trees


def smoothed(
    bins: npt.NDArray[Any], outcome: Floats, weights: Floats, share: float, seed: int
) -> Floats:
    """Return outcomes [n, K] (one column a class, or a single one of values) of which `share` is
    the forest's, for rows with bins [F, n] and weights [n].
    """
    rows = len(outcome)
    if share == 0.0 or rows < 10 or len(bins) == 0:
        return outcome
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    classes = outcome.shape[1] > 1
    kind: Any = RandomForestClassifier if classes else RandomForestRegressor
    forest = kind(
        min(TREES, max(10, CELLS // rows)), oob_score=True, min_samples_leaf=LEAF_ROWS,
        max_features="sqrt" if classes else 1 / 3, random_state=seed,
        max_samples=ROWS if rows > ROWS else None,
    )  # fmt: skip
    target = outcome.argmax(1) if classes else outcome[:, 0]
    with warnings.catch_warnings():
        # A row that every tree has seen has no out-of-bag prediction, and is left as it is.
        warnings.simplefilter("ignore")
        forest.fit(bins.T.astype(np.float32), target, sample_weight=weights)
    if not classes:
        view = forest.oob_prediction_[:, None]
    else:
        view = np.zeros(outcome.shape)
        view[:, forest.classes_] = forest.oob_decision_function_
    lacking = ~np.isfinite(view).all(1) | (classes & (view.sum(1) < 0.5))
    view[lacking] = outcome[lacking]
    blended: Floats = (1 - share) * outcome + share * view
    return blended
