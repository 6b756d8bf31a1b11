"""Farthest: of models that stay inside the curator, values at a few public points leave, and a guess that fits them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import scaled
from discreet.curator.total_noise import FINE, deviation_of, perturbed
from discreet.events import Approximate, Choice, Event, Gaussian, Laplace, Pure, Repeated
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.keystream import Keystream

Floats = NDArray[np.float64]

ROUNDS = 20
CANDIDATES = 200  # public points to pick from


@dataclass(frozen=True, eq=False)
class Farthest:
    """Values, with noise, of linear models at public points where a guess is far from them.

    The guess starts at zero. In each round the exponential mechanism picks, among all points of all models, one where
    model and guess are far apart; the model's value there leaves with noise; and the guess is fitted to all values so
    far. Jain & Thakurta (2013) correct the guess by a step towards the point where the noisy difference exceeds a
    threshold; the fit, a ridge regression with the known noise, uses small differences as well.

    Parameters
    ----------
    points : one line each, of length at most 1; public.
    rounds : how many are picked, of all models together.
    reach : how long the guess takes the coefficients of a model to be, about.
    models : how many there are.
    """

    points: Floats
    rounds: int
    reach: float
    models: int = 1

    def __call__(self, theta: Floats, radius: float, move: Fraction, event: Event, rng: Keystream) -> Floats:
        """One line per round: which point of which model, the value there, and the deviation of its noise.

        Parameters
        ----------
        theta : the coefficients, one line per model.
        radius : of the ball that holds those of each.
        move : how far those of a model can be from its neighbour's.
        event : what all rounds together may cost.
        """
        choice, noise = rounds_of(event, self.rounds)
        step = self.step(radius, move)
        exponent = math.frexp(deviation_of(noise, 1) * float(step))[1] - FINE
        exact = self._whole(theta, exponent)
        steps = step / Fraction(2) ** exponent + 1  # rounding moves either neighbour by at most ½
        picked = np.zeros((self.rounds, 3))
        for i in range(self.rounds):
            guess = self._whole(self.guess(picked[:i]), exponent)
            spot = exponential(abs(exact - guess), choice.epsilon, steps, rng)
            value = perturbed(exact[[spot]], steps, noise, rng)
            std = deviation_of(noise, 1) * math.ldexp(float(steps), exponent)
            picked[i] = spot, np.ldexp(value.astype(np.float64), exponent)[0], std
        return picked

    def step(self, radius: float, move: Fraction) -> Fraction:
        """How far the value at a point can move: as far as the coefficients, and the float error of the product."""
        d = self.points.shape[1]
        return move * (1 + Fraction(1, 2**40)) + Fraction(16 * d, 2**53) * Fraction(radius)

    def guess(self, picked: Floats) -> Floats:
        """Coefficients that fit the values, each as far as its noise allows: ridge regressions, of public numbers."""
        d = self.points.shape[1]
        model, point = np.divmod(picked[:, 0].astype(int), len(self.points))
        made = np.empty((self.models, d))
        for k in range(self.models):
            of = model == k
            x, value, weight = self.points[point[of]], picked[of, 1], picked[of, 2] ** -2
            made[k] = np.linalg.solve((x.T * weight) @ x + np.eye(d) * (d / self.reach**2), x.T @ (weight * value))
        return made

    def _whole(self, theta: Floats, exponent: int) -> NDArray[Any]:
        values = np.ldexp((self.points @ theta.T).T.ravel(), -exponent)
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
