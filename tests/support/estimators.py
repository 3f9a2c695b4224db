"""Small tables and quick estimators for the tests of estimators."""

import numpy as np
import pandas as pd

from mbndt import MBNDTClassifier


def fast(**options):
    return MBNDTClassifier(preset="fast", restarts=0, **options)


def pair(n=60):
    X = pd.DataFrame({"a": np.arange(float(n)), "b": np.arange(float(n))[::-1] % 7})
    return X, np.where(X["a"] > n / 2, "high", "low")
