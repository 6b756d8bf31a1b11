"""A private ridge regression of your own, in four steps, checked like the library's own models.

    python examples/own_model.py

It takes some ten seconds, most of them for the audit. The page `docs/extend.md` explains it line by line.
"""

from __future__ import annotations

import numpy as np

from discreet.budget import radial
from discreet.checks import check_private_estimator
from discreet.curator.task import Task
from discreet.datasets import HOSPITAL, hospital
from discreet.models import PrivateRegressor, estimator
from discreet.query import Batch, BoundedSum


@estimator
class PrivateRidge(PrivateRegressor):
    """Ridge regression with a fixed, public penalty; pure ε or (ε, δ)."""

    penalty: float = 1.0

    def _fit(self, task: Task) -> None:
        bounds, (for_xx, for_xy) = task.deal(radial(1), radial(1))
        curator, d = task.curator, task.width

        # BOUND: rows in the unit ball, intercept included; targets in [-1, 1]
        def x(rows: Batch) -> np.ndarray:
            return np.column_stack([np.ones(len(rows)), bounds.scale(rows.X)]) / np.sqrt(d)

        def y(rows: Batch) -> np.ndarray:
            return bounds.scale_target(rows.y)

        # SUMMARISE: x x' and x y over all rows
        xx = BoundedSum(x, x, norm=1, name="X'X")
        xy = BoundedSum(x, y, norm=1, name="X'y")

        # PRIVATISE: half of the budget each
        moments, products = curator.measure(xx, for_xx), curator.measure(xy, for_xy)

        # SOLVE: eigenvalues floored at the size of the noise, so that the answer is finite whatever the draw
        noise = float(np.max(moments.std)) * np.sqrt(d)
        values, vectors = np.linalg.eigh((moments.value + moments.value.T) / 2)
        theta = vectors @ (vectors.T @ products.value / np.maximum(values + self.penalty, noise)) / np.sqrt(d)
        middle, half = bounds.target_scale
        self.coef_ = half * theta[1:] / bounds.half
        self.intercept_ = float(middle + half * theta[0] - self.coef_ @ bounds.centre)


def main() -> None:
    """Fit it, then check it."""
    columns, cost = hospital(20_000)
    unseen, their_cost = hospital(5_000, seed=1)
    X, X_unseen = (np.column_stack(list(table.values())) for table in (columns, unseen))
    for delta in (1e-6, 0.0):
        model = PrivateRidge(epsilon=2.0, delta=delta, bounds=HOSPITAL).fit(X, cost)
        print(f"R² on unseen patients, {model.release_.budget}: {model.score(X_unseen, their_cost):.3f}")
    print()
    print(model.release_)
    print("\nChecking: what is spent, hostile rows, what is kept, the stated noise, an attack ...")
    check_private_estimator(PrivateRidge(epsilon=4.0))
    print("Every check passed.")


if __name__ == "__main__":
    main()
