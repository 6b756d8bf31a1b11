"""Other libraries, out of the box, with the bounds as their documentation asks for them; runs in their environment."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from diffprivlib import models, tools
from interpret.privacy import DPExplainableBoostingClassifier
from opendp import prelude as dp
from tasks import DELTA, Table, run, tell

dp.enable_features("contrib")


def scaled(table: Table, X: Any) -> Any:
    """Features within [-1, 1], by the public bounds."""
    return 2 * (X - table.low) / (table.high - table.low) - 1


def logistic(table: Table, epsilon: float, seed: int) -> Any:
    norm = float(np.sqrt(table.X.shape[1]))
    model = models.LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=1000, random_state=seed)
    return model.fit(scaled(table, table.X), table.y).predict(scaled(table, table.test_X))


def linear(table: Table, epsilon: float, seed: int) -> Any:
    bounds = {"bounds_X": (table.low, table.high), "bounds_y": (table.y.min(), table.y.max())}
    return (
        models.LinearRegression(epsilon=epsilon, random_state=seed, **bounds)
        .fit(table.X, table.y)
        .predict(table.test_X)
    )


def boosted(table: Table, epsilon: float, seed: int) -> Any:
    model = DPExplainableBoostingClassifier(epsilon=epsilon, delta=DELTA, random_state=seed)
    return model.fit(table.X, table.y).predict(table.test_X)


def histogram(table: Table, epsilon: float, seed: int) -> Any:
    return tools.histogram(table.X, epsilon=epsilon, bins=10, range=(table.low, table.high), random_state=seed)[0]


def opendp_mean(table: Table, epsilon: float, seed: int) -> float:
    """Clamped, resized and averaged with Laplace noise (its own generator: no seed)."""
    low, high, n = table.low, table.high, len(table.X)
    space = dp.vector_domain(dp.atom_domain(bounds=(low, high), nan=False), size=n), dp.symmetric_distance()
    average = space >> dp.t.then_mean()
    noisy = dp.binary_search_chain(lambda scale: average >> dp.m.then_laplace(scale), 2, epsilon)
    return noisy(table.X.tolist())


LIBRARIES = {
    "diffprivlib": {
        "mean of 1,000 ages: error in years": lambda t, e, s: tools.mean(
            t.X, epsilon=e, bounds=(t.low, t.high), random_state=s
        ),
        "median of 1,000 ages: error in years": lambda t, e, s: tools.median(
            t.X, epsilon=e, bounds=(t.low, t.high), random_state=s
        ),
        "histogram of 1,000 ages: share misplaced": histogram,
        "linear, diabetes: R²": linear,
        "linear, 10,000 x 10: R²": linear,
        "logistic, breast cancer: accuracy": logistic,
        "logistic, digits: accuracy": logistic,
    },
    "opendp": {"mean of 1,000 ages: error in years": opendp_mean},
    "boosted additive models": {"logistic, breast cancer: accuracy": boosted},
}

if __name__ == "__main__":
    tell(run(LIBRARIES, "--quick" in sys.argv))
