"""Sufficient-statistics perturbation: SSP (LR1) and AdaSSP (LR2), and the maps of rows that go with them (LR9)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet import accounting
from discreet.bounds import Bounds
from discreet.budget import Budget, inside
from discreet.curator.task import Task
from discreet.events import Composed, Gaussian
from discreet.models.linear.deviation_clipping import narrow_bounds
from discreet.models.linear.scaled_rows import features, target
from discreet.models.shared.linear_fit import Fit
from discreet.query import BITS, Batch, BoundedSum, Image, Lattice
from discreet.query.images import Scaled
from discreet.query.lipschitz import smallest_eigenvalue

Floats = NDArray[np.float64]
Noise = Literal["exact", "wang", "classical"]
Rows = Literal["max-norm", "row-norm", "row-norm-y"]


def ssp(task: Task, rows: Rows = "max-norm", clip: float | None = None) -> Fit:
    """Noise on X'X and X'y, half of the budget each, and the normal equations solved as they are.

    Where noise makes X'X nearly singular the answer is arbitrarily bad: that is the method (Vu & Slavkovic 2009).
    """
    bounds, (for_xx, for_xy) = narrow_bounds(task, clip, 1, 1)
    d = task.width

    # BOUND: rows in the unit ball, targets in [-1, 1]
    x, y = mapped(features(bounds, task.intercept), target(bounds), rows, d)

    # SUMMARISE + PRIVATISE
    xx, xy = task.curator.measure_together(
        (BoundedSum(x, x, norm=1, name="X'X"), for_xx, None), (BoundedSum(x, y, norm=1, name="X'y"), for_xy, None)
    )

    # SOLVE
    noise = float(xx.std[0, 0])
    return solved(xx.value, xy.value, 1e-6 * noise, length(rows, d), bounds)


def adassp(task: Task, rows: Rows = "max-norm", clip: float | None = None) -> Fit:
    """Noise on X'X, X'y and the smallest eigenvalue of X'X, and just enough ridge to be invertible (Wang 2018).

    The three are calibrated jointly and exactly, as the one Gaussian they are.
    """
    bounds, (for_smallest, for_xx, for_xy) = narrow_bounds(task, clip, inside(1), 1, 1)
    d = task.width

    # BOUND: rows in the unit ball, targets in [-1, 1]
    x, y = mapped(features(bounds, task.intercept), target(bounds), rows, d)

    # SUMMARISE: x x' and x y over all rows
    xx, xy = BoundedSum(x, x, norm=1, name="X'X"), BoundedSum(x, y, norm=1, name="X'y")

    # PRIVATISE: a third of μ² each
    smallest, moments, products = task.curator.measure_together(
        (xx, for_smallest, smallest_eigenvalue), (xx, for_xx, None), (xy, for_xy, None)
    )

    # SOLVE: ridge up to the size of the noise
    noise = float(moments.std[0, 0])
    floor = max(0.0, float(smallest.value) - 2 * smallest.std)
    ridge = max(0.0, noise * math.sqrt(d * math.log(2 * d**2 / 0.05)) - floor)
    return solved(moments.value + ridge * np.eye(d), products.value, noise, length(rows, d), bounds)


def solved(xx: Floats, xy: Floats, floor: float, scale: float, bounds: Bounds) -> Fit:
    """Solve with eigenvalues floored: finite whatever the draw. Nothing measured tells the size of the residuals."""
    values, vectors = np.linalg.eigh(xx)
    return Fit(vectors @ ((vectors.T @ xy) / np.maximum(values, floor)) / scale, bounds=bounds)


def length(rows: Rows, d: int) -> float:
    """What coefficients of mapped rows are divided by to be those of rows.

    A little more than the largest norm: on its grid, too, no row is then longer than 1, and none needs measuring.
    """
    return math.sqrt(d) * (1 + Lattice.for_norm(1.0, BITS, d).compute_rounding_margin(d)) if rows == "max-norm" else 1.0


def mapped(x: Scaled, y: Image, rows: Rows, d: int) -> tuple[Image, Image]:
    """Rows in the unit ball: by the largest norm the public bounds allow, or each by its own.

    "row-norm" divides each row by its length and leaves the target: another model than a linear one, which predicts
    from directions. "row-norm-y" divides the target too: a weighted least squares. Neither costs anything: the map is
    of one row alone.
    """

    def own(batch: Batch) -> Floats:
        values = batch.make_once(x, lambda: x(batch))
        squares = np.zeros(len(values))
        for column in values.T:  # in a fixed order: the same bits whatever the layout
            squares += column * column
        return np.maximum(np.sqrt(squares), 1e-6)

    def directed(batch: Batch) -> Floats:
        return np.asarray(
            batch.make_once(x, lambda: x(batch)) / batch.make_once((x, "length"), lambda: own(batch))[:, None]
        )

    def divided(batch: Batch) -> Floats:
        return np.asarray(y(batch) / batch.make_once((x, "length"), lambda: own(batch)))

    if rows == "max-norm":
        return x.multiply(1 / length(rows, d)), y
    return (directed, y) if rows == "row-norm" else (directed, divided)


def true_budget(budget: Budget, noise: Noise) -> Budget:
    """What the noise of the literature really promises, as AdaSSP's three releases together.

    Wang (2018) adds σ = √log(6/δ)/(ε/3) to each, the classical Gaussian mechanism √(2 log(3.75/δ))/(ε/3). Both add more
    than ε and δ ask for, unless ε is large: three Gaussians are one, and that one is better than the sum of its parts.
    Where they add too little, they are refused.
    """
    if noise == "exact":
        return budget
    wanted = math.log(6 / budget.delta) if noise == "wang" else 2 * math.log(3.75 / budget.delta)
    sigma = math.sqrt(wanted) / (budget.epsilon / 3)
    epsilon = accounting.epsilon(Composed((Gaussian(sigma),) * 3), budget.delta)
    if epsilon > budget.epsilon:
        raise ValueError(
            f"The {noise!r} noise does not promise ε = {budget.epsilon:g}: it is worth ε = {epsilon:.4g}, being "
            "proved for small ε only. Hint: noise='exact'."
        )
    return Budget.derive(epsilon, budget.delta, budget.neighbours, budget.unit)
