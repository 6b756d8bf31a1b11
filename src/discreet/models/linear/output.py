"""Output perturbation (LR8): the exact ridge regression on a ball, plus noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, inside, radial
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.curator.total_noise import FINE, deviation_of, perturbed, size_of
from discreet.engines import Rows
from discreet.events import Event, Gaussian, Pure
from discreet.mechanisms.keystream import Keystream
from discreet.models.linear.scaled_rows import features, target
from discreet.models.shared.linear_fit import Fit
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release

Floats = NDArray[np.float64]

ROWS = 2.0**32  # totals are projected onto what so many rows can add up to, so that float error has a public bound
STEPS = 64  # halvings of the interval that holds the multiplier: public, and beyond what float error leaves
FOR_COUNT = 0.02  # of the budget, where the number of rows is not public


def fit_output_perturbation(task: Task) -> Fit:
    """Ridge regression over a ball, with noise as large as one row can move it.

    The loss is Σ ½(y - x'θ)² + Λ/2·‖θ‖² over ‖θ‖ <= B, rows in the unit ball and |y| <= 1. Its slope changes by at most
    1 + B when a row is added, so its minimum moves by at most (1 + B)/Λ. The noise is Gaussian for δ > 0 and of gamma
    radius for δ = 0. Λ and B follow a public rule of the number of rows (paid for where it is not public), the number
    of coefficients and the budget; see `strength`.

    Notes
    -----
    That of the budget, add-remove or replace-one, whatever the rows, float error charged:
    `mechanisms/proofs/output.md`.

    | data | what comes out |
    | --- | --- |
    | no rows, one row | zeros and noise |
    | constant or collinear columns | finite coefficients: Λ > 0 |

    References
    ----------
    Wu, Fredrikson, Wu, Jha & Naughton, "Revisiting differentially private regression", arXiv 1512.06388 (2015);
    Chaudhuri, Monteleoni & Sarwate, "Differentially private empirical risk minimization", JMLR 2011.
    """
    d = task.width
    main = inside(radial(1 - FOR_COUNT))
    parts = [main] if task.n is not None else [FOR_COUNT, main]
    bounds, shares = task.deal(*parts)
    cube, y = features(bounds, task.intercept), target(bounds)

    # BOUND: rows in the unit ball, targets in [-1, 1]
    def x(rows: Batch) -> Floats:
        return cube(rows) / math.sqrt(d)

    # SUMMARISE: x x' and x y over all rows
    xx, _ = task.curator.expect(BoundedSum(x, x, norm=1, name="X'X"))
    xy, _ = task.curator.expect(BoundedSum(x, y, norm=1, name="X'y"))

    # PRIVATISE: the number of rows, if need be; then the minimum
    n = task.n if task.n is not None else float(count_rows(task, shares[0]).value[0])
    event = task.curator.buys(shares[-1])
    ridge, radius = choose_ridge(n, deviation_of(event, d))
    theta = task.curator.run(BallMinimiser("coefficients", xx, xy, ridge, radius), shares[-1])

    # SOLVE: in the units of the cube
    return Fit(np.asarray(theta.value) / math.sqrt(d))


def choose_ridge(n: float, noise: float) -> tuple[float, float]:
    """Ridge and radius for so many rows and noise of so many sensitivities: a public rule.

    The ridge keeps the noise of a coefficient below a tenth, and lower the more rows there are; the radius grows with
    them.

    >>> ridge, radius = choose_ridge(1000, 4.0)
    >>> round(ridge), radius
    (105, 1.5)
    """
    n = max(n, 1.0)
    radius = min(max(1.5 * (n / noise / 500) ** 0.3, 1.5), 8.0)
    return (1 + radius) * (10 * noise + 0.03 * math.sqrt(n * noise)), radius


def count_rows(task: Task, share: Any) -> Release:
    """The noisy number of rows; those with something missing do not count."""

    def there(rows: Batch) -> NDArray[np.int64]:
        return np.where(np.isfinite(rows.X).all(axis=1), 0, -1)

    return task.curator.measure(BoundedSum(OneHot(there, 1), name="count"), share)


@dataclass(frozen=True)
class BallMinimiser(Inside):
    """The θ of norm at most `radius` that minimises ½θ'Sθ - b'θ + ridge/2·‖θ‖², with noise; S and b are exact sums."""

    name: str
    xx: BoundedSum
    xy: BoundedSum
    ridge: float
    radius: float
    proof = "output"
    pays = (Gaussian, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The minimiser plus noise of its sensitivity."""
        S, step_S = exact_sum(self.xx, rows, budget)
        b, step_b = exact_sum(self.xy, rows, budget)
        theta = minimise_on_ball(S, b, self.ridge, self.radius)
        sensitivity = self.sensitivity(step_S, step_b, len(b))
        exponent = math.frexp(size_of(event) * float(sensitivity))[1] - FINE
        unit = Fraction(2) ** exponent
        total = np.array([round(value) for value in np.ldexp(theta, -exponent).tolist()], dtype=object)
        steps = sensitivity / unit + math.isqrt(len(b)) + 1  # rounding moves either neighbour by at most √d/2 units
        noisy = perturbed(total, steps, event, rng)
        return np.ldexp(noisy.astype(np.float64), exponent), deviation_of(event, len(b)) * float(steps * unit)

    def sensitivity(self, step_S: Fraction, step_b: Fraction, d: int) -> Fraction:
        """How far the minimiser can move when S moves by `step_S` and b by `step_b`, float error on both sides."""
        ridge, radius = Fraction(self.ridge), Fraction(self.radius)
        move = (radius * step_S + step_b) / ridge
        error = ERROR * d * (radius * (Fraction(ROWS) * step_S + ridge) + Fraction(ROWS) * step_b) / ridge
        return move + 2 * error


# Float error of `minimiser` relative to the size of the task, per coefficient: see mechanisms/proofs/output.md
ERROR = Fraction(128, 2**53)


def exact_sum(query: BoundedSum, rows: Rows, budget: Budget) -> tuple[Floats, Fraction]:
    """The total in the units of the data, projected onto what 2^32 rows can add up to; and its sensitivity."""
    assert query.fixed is not None
    step = query.sensitivity(query.fixed, budget.neighbours) * Fraction(2) ** query.exponent(query.fixed)
    total = np.ldexp(rows.sum(query).astype(np.float64), query.exponent(query.fixed))
    return total * min(1.0, ROWS * float(step) / max(_vector_length(total), 1e-300)), step


def minimise_on_ball(S: Floats, b: Floats, ridge: float, radius: float) -> Floats:
    """The θ with ‖θ‖ <= radius that minimises ½θ'Sθ - b'θ + ridge/2·‖θ‖², S positive semidefinite.

    One eigendecomposition, and a bisection of the multiplier of the norm in a fixed number of steps.

    >>> minimise_on_ball(np.eye(2), np.array([3.0, 4.0]), 1.0, 1.0).round(12)
    array([0.6, 0.8])
    >>> minimise_on_ball(np.eye(2), np.array([1.0, 0.0]), 1.0, 1.0)
    array([0.5, 0. ])
    """
    values, vectors = np.linalg.eigh(S)
    curvature, along = np.maximum(values, 0.0) + ridge, vectors.T @ b
    low, high = 0.0, _vector_length(b) / radius
    inside = _vector_length(along / curvature) <= radius
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _vector_length(along / (curvature + middle)) > radius else (low, middle)
    return np.asarray(vectors @ (along / (curvature + (0.0 if inside else high))))


def _vector_length(vector: Floats) -> float:
    return float(np.linalg.norm(vector))
