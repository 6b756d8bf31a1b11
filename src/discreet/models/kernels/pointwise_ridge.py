"""The test-data-independent learner (CL8) of numbers: a ridge regression that stays inside the curator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, approximate, inside, radial
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.curator.total_noise import deviation_of
from discreet.engines import Rows
from discreet.errors import NotSupported
from discreet.events import Approximate, Event, Pure
from discreet.mechanisms.keystream import Keystream
from discreet.models.kernels.public_points import ROUNDS, Farthest, rounds_of
from discreet.models.linear.linear_model import LinearModel
from discreet.models.linear.output import BallMinimiser, choose_ridge, count_rows, exact_sum, minimise_on_ball
from discreet.models.linear.scaled_rows import features, target
from discreet.models.linear.statistics import Statistics
from discreet.models.shared.linear_fit import Fit
from discreet.models.shared.parameters import estimator
from discreet.query import Batch, BoundedSum

Floats = NDArray[np.float64]

FOR_COUNT = 0.02  # of the budget, where the number of rows is not public


@estimator
class PointwiseRegression(LinearModel):
    """Ridge regression of features, known through its values at a few public points alone.

    The exact model stays inside the curator; `Farthest` tells values of it.

    `method="output"` on the same features releases all of it, with noise in every direction: with `LandmarkFeatures`,
    the same as its values at all landmarks with noise correlated like the kernel. This one spends on picking, and knows
    the model at `rounds` points. It is here to compare with: "output", and "auto" by far, were more accurate wherever
    measured.

    Parameters
    ----------
    rounds : how many points are picked.

    Attributes
    ----------
    candidates : features of the public points to pick from.

    Notes
    -----
    That of the budget, whatever the rows, float error charged: `mechanisms/proofs/pointwise.md`.

    References
    ----------
    P. Jain & A. Thakurta, "Differentially private learning with kernels", ICML 2013.
    """

    rounds: int = ROUNDS
    fit_intercept: bool = field(default=True, init=False)
    candidates: Any = field(default=None, init=False)

    def _fit(self, task: Task) -> None:
        curator = task.curator
        main = inside(radial(1 - FOR_COUNT)) if task.budget.pure else approximate(1 - FOR_COUNT)
        bounds, shares = task.deal(*([main] if task.n is not None else [FOR_COUNT, main]))
        cube, y, d = features(bounds, True), target(bounds), task.width

        # BOUND: rows in the unit ball, targets in [-1, 1]
        def x(rows: Batch) -> Floats:
            return cube(rows) / math.sqrt(d)

        # SUMMARISE: x x' and x y over all rows
        xx, _ = curator.expect(BoundedSum(x, x, norm=1, name="X'X"))
        xy, _ = curator.expect(BoundedSum(x, y, norm=1, name="X'y"))

        # PRIVATISE: the number of rows, if need be; then points, and the model's values there
        n = task.n if task.n is not None else float(count_rows(task, shares[0]).value[0])
        points = x(Batch(np.asarray(self.candidates, np.float64)))
        _, noise = rounds_of(curator.buys(shares[-1]), self.rounds)
        ridge, radius = choose_ridge(n, deviation_of(noise, 1))
        farthest = Farthest(points, self.rounds, radius)
        picked = curator.run(FarthestPoints("points", xx, xy, ridge, radius, farthest), shares[-1]).value

        # SOLVE: the guess that fits them
        self._set_coefficients(bounds, Fit(farthest.guess(picked)[0] / math.sqrt(d)))
        self.statistics_: Statistics | None = None

    def _solve_statistics(self, statistics: Statistics) -> Fit:
        raise NotSupported("This method releases values at points, and no moments to solve.")


@dataclass(frozen=True, eq=False)
class FarthestPoints(Inside):
    """Values, with noise, of the ridge regression over a ball at points where a guess is far from it."""

    name: str
    xx: BoundedSum
    xy: BoundedSum
    ridge: float
    radius: float
    farthest: Farthest
    proof = "pointwise"
    pays = (Approximate, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """One line per round; see `Farthest`."""
        S, step_S = exact_sum(self.xx, rows, budget)
        b, step_b = exact_sum(self.xy, rows, budget)
        ball = BallMinimiser(self.name, self.xx, self.xy, self.ridge, self.radius)
        theta, move = minimise_on_ball(S, b, self.ridge, self.radius), ball.sensitivity(step_S, step_b, len(b))
        return self.farthest(theta[None], self.radius, move, event, rng), None
