"""The test-data-independent learner (CL8): a public guess, corrected where the exact model disagrees with it most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import scaled
from discreet.bounds import Bounds
from discreet.budget import Budget, Neighbours, approximate, radial
from discreet.curator import Curator
from discreet.engines import Rows
from discreet.errors import NotSupported
from discreet.events import Approximate, Choice, Event, Gaussian, Laplace, Pure, Repeated
from discreet.inside import Inside
from discreet.ledger import Ledger
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.laplace import add_laplace
from discreet.models.linear.model import LinearModel
from discreet.models.linear.output import FINE, BallMinimiser, counted, exact_sum, minimiser, strength
from discreet.models.linear.problem import Fit, features, target
from discreet.models.linear.statistics import Statistics
from discreet.query import Batch, BoundedSum

Floats = NDArray[np.float64]

FOR_COUNT = 0.02  # of the budget, where the number of rows is not public
ROUNDS = 20


class PointwiseRegression(LinearModel):
    """Ridge regression of features, known through its values at a few public points alone.

    The exact model f stays inside the curator. A guess g starts at zero; in each of a public number of rounds the
    exponential mechanism picks, among public candidates, one where |f - g| is large, its value f(z) leaves with noise,
    and g is fitted to all values so far. Jain & Thakurta (2013) correct g by a step towards z where the noisy
    difference exceeds a threshold; the fit, a ridge regression with the known noise, uses small differences as well.

    `method="output"` on the same features releases all of f, with noise in every direction: with `LandmarkFeatures`,
    the same as its values at all landmarks with noise correlated like the kernel. This one spends on picking, and knows
    f at `rounds` points. It is here to compare with: "output", and "auto" by far, were more accurate wherever measured.

    Parameters
    ----------
    rounds : how many points are picked.
    candidates : features of the public points to pick from.

    Guarantee
    ---------
    That of the budget, whatever the rows, float error charged: `mechanisms/proofs/pointwise.md`.

    References
    ----------
    P. Jain & A. Thakurta, "Differentially private learning with kernels", ICML 2013.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        rounds: int = ROUNDS,
        candidates: Any = None,
        neighbours: Neighbours = "add-remove",
        unit: Any = None,
        max_rows_per_unit: int | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rounds = rounds
        self.candidates = candidates
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows_per_unit = max_rows_per_unit
        self.n = n
        self.bounds = bounds
        self.ledger = ledger
        self.random_state = random_state

    fit_intercept = True

    def _fit(self, curator: Curator) -> None:
        problem = self._problem(curator)
        main = radial(1 - FOR_COUNT) if problem.budget.pure else approximate(1 - FOR_COUNT)
        bounds, shares = problem.deal(*([main] if problem.n is not None else [FOR_COUNT, main]))
        cube, y, d = features(bounds, True), target(bounds), problem.width

        # BOUND: rows in the unit ball, targets in [-1, 1]
        def x(rows: Batch) -> Floats:
            return cube(rows) / math.sqrt(d)

        # SUMMARISE: x x' and x y over all rows
        xx, _ = curator.expect(BoundedSum(x, x, norm=1, name="X'X"))
        xy, _ = curator.expect(BoundedSum(x, y, norm=1, name="X'y"))

        # PRIVATISE: the number of rows, if need be; then points, and the model's values there
        n = problem.n if problem.n is not None else float(counted(problem, shares[0]).value[0])
        points = x(Batch(np.asarray(self.candidates, np.float64)))
        _, noise = rounds_of(curator.buys(shares[-1]), self.rounds)
        ridge, radius = strength(n, _spread(noise))
        picked = curator.run(FarthestPoints("points", xx, xy, ridge, radius, points, self.rounds), shares[-1]).value

        # SOLVE: the guess that fits them
        self._accept(bounds, Fit(fitted(points, picked, radius) / math.sqrt(d)))
        self.statistics_: Statistics | None = None

    def _solve(self, statistics: Statistics) -> Fit:
        raise NotSupported("This method releases values at points, and no moments to solve.")


@dataclass(frozen=True, eq=False)
class FarthestPoints(Inside):
    """Values, with noise, of the ridge regression over a ball at points where a guess is far from it."""

    name: str
    xx: BoundedSum
    xy: BoundedSum
    ridge: float
    radius: float
    points: Floats
    rounds: int
    proof = "pointwise"
    pays = (Approximate, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """One line per round: which point, the value there, and the deviation of its noise."""
        S, step_S = exact_sum(self.xx, rows, budget)
        b, step_b = exact_sum(self.xy, rows, budget)
        theta = minimiser(S, b, self.ridge, self.radius)
        choice, noise = rounds_of(event, self.rounds)
        step = self.step(step_S, step_b)
        exponent = math.frexp(_spread(noise) * float(step))[1] - FINE
        exact = self._whole(theta, exponent)
        steps = step / Fraction(2) ** exponent + 1  # rounding moves either neighbour by at most ½
        picked = np.zeros((self.rounds, 3))
        for i in range(self.rounds):
            guess = self._whole(fitted(self.points, picked[:i], self.radius), exponent)
            spot = exponential(abs(exact - guess), choice.epsilon, steps, rng)
            add: Any = add_gaussian if isinstance(noise, Gaussian) else add_laplace
            value = add([exact[spot]], steps, noise, rng)
            std = _spread(noise) * math.ldexp(float(steps), exponent)
            picked[i] = spot, np.ldexp(value.astype(np.float64), exponent)[0], std
        return picked, None

    def step(self, step_S: Fraction, step_b: Fraction) -> Fraction:
        """How far the value at a point can move: as far as the minimiser, and the float error of the product."""
        d = self.points.shape[1]
        move = BallMinimiser(self.name, self.xx, self.xy, self.ridge, self.radius).sensitivity(step_S, step_b, d)
        return move * (1 + Fraction(1, 2**40)) + Fraction(16 * d, 2**53) * Fraction(self.radius)

    def _whole(self, theta: Floats, exponent: int) -> NDArray[Any]:
        values = np.ldexp(self.points @ theta, -exponent)
        return np.array([round(value) for value in values.tolist()], dtype=object)


def rounds_of(event: Event, rounds: int) -> tuple[Choice, Gaussian | Laplace]:
    """The choice and the noise of each round, that all rounds together cost the event."""
    if isinstance(event, Pure):
        each = event.epsilon * (1 - 1e-12) / (2 * rounds)
        return Choice(each), Laplace(1 / each)
    assert isinstance(event, Approximate)
    # equal shares of zero-concentrated privacy: ε²/8 for a choice, μ²/2 for noise
    plan = (Repeated(Choice(2.0), rounds), Repeated(Gaussian(1.0), rounds))
    choices, noises = scaled(plan, event.epsilon * (1 - 1e-9), event.delta)
    assert isinstance(choices, Repeated) and isinstance(noises, Repeated)
    choice, noise = choices.event, noises.event
    assert isinstance(choice, Choice) and isinstance(noise, Gaussian)
    return choice, noise


def fitted(points: Floats, picked: Floats, radius: float) -> Floats:
    """The θ that fits values at points, each as far as its noise allows: a ridge regression, from public numbers."""
    d = points.shape[1]
    x, value, std = points[picked[:, 0].astype(int)], picked[:, 1], picked[:, 2]
    weight = 1 / std**2
    return np.asarray(np.linalg.solve((x.T * weight) @ x + np.eye(d) * (d / radius**2), x.T @ (weight * value)))


def _spread(noise: Gaussian | Laplace) -> float:
    return noise.noise_multiplier if isinstance(noise, Gaussian) else math.sqrt(2) * noise.scale
