"""From noisy gradients to the next point: implicit gradient descent, GIGA, and following the regularised leader.

All of it is post-processing of what was released. f_t(w) is the mean loss of round t plus α/2·‖w‖², g its gradient's
first part; w stays in a ball of public radius. Each learner states a bound on its expected regret,
Σ f_t(w_t) - min Σ f_t(w), in public numbers; `mechanisms/proofs/online.md` derives them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.models.online.running_sums import Strategy

Floats = NDArray[np.float64]

# Steps are longer than the worst case asks for: ordinary data have mean gradients of a tenth of the bound, more in
# rounds of few rows; and noise is worth twice the step. Found on synthetic data of all sizes; the stated bound is that
# of the step taken.
ORDINARY, ALONE, NOISY = 0.01, 0.1, 0.25


@dataclass(frozen=True)
class Game:
    """What is public before the first round.

    Attributes
    ----------
    horizon : the number of rounds.
    batch : the rows of a round, about.
    radius : of the ball the points stay in.
    slope : a bound on a row's gradient.
    size : how many coefficients there are.
    noise : its standard deviation in each coefficient of one round's *mean* gradient, measured by itself.
    """

    horizon: int
    batch: float
    radius: float
    slope: float
    size: int
    noise: float

    def within(self, w: Floats) -> Floats:
        """The nearest point of the ball."""
        return np.asarray(w * min(1.0, self.radius / max(float(np.linalg.norm(w)), 1e-300)))

    @property
    def power(self) -> float:
        """The expected squared length of one round's noise."""
        return self.size * self.noise**2


@dataclass(frozen=True)
class Learner(ABC):
    """A rule for the next point. `alpha` is the strength of convexity."""

    game: Game
    alpha: float
    strategy: Strategy | None = None  # None: each round is measured by itself

    def implicit(self, t: int) -> tuple[float, float] | None:
        """(η, α) where gradients are taken at the end of the step."""
        return None

    @abstractmethod
    def step(self, w: Floats, answers: list[Floats]) -> Floats:
        """The point after w."""

    @abstractmethod
    def bound(self, rounds: int) -> float:
        """On the expected regret after so many rounds, for the sum over rounds of f_t."""

    def regret(self, rounds: int) -> float:
        """The same of the losses alone: what the best point pays for the penalty is added.

        It is never more than any points of the ball can regret: a row's steepest slope, all across the ball.
        """
        game = self.game
        return min(self.bound(rounds) + rounds / game.horizon * self.penalty, rounds * game.slope * 2 * game.radius)

    @property
    def steepest(self) -> float:
        """A bound on the gradient of f_t in the ball."""
        return self.game.slope + self.alpha * self.game.radius

    def tuned(self) -> Any:
        """With the α whose bound is the least, the price of the penalty included."""
        game = self.game
        candidates = (replace(self, alpha=float(alpha)) for alpha in game.slope / game.radius * np.logspace(-4, 3, 71))
        return min(candidates, key=lambda learner: learner.bound(game.horizon) + learner.penalty)

    @property
    def penalty(self) -> float:
        """What the best point may pay for the penalty."""
        return self.alpha / 2 * self.game.radius**2 * self.game.horizon


class Giga(Learner):
    """Generalised infinitesimal gradient ascent (Zinkevich 2003): w - ∇f_t(w)/(αt), projected."""

    def step(self, w: Floats, answers: list[Floats]) -> Floats:
        """Against the noisy gradient."""
        return self.game.within(w - (answers[-1][0] / self.game.batch + self.alpha * w) / (self.alpha * len(answers)))

    def bound(self, rounds: int) -> float:
        """(G² + noise²)/(2α)·Σ 1/t."""
        return (self.steepest**2 + self.game.power) / (2 * self.alpha) * _harmonic(rounds)


class Igd(Learner):
    """Implicit gradient descent (Kulis & Bartlett 2010): argmin ½‖w - w_t‖² + f_t(w)/(αt), projected."""

    def implicit(self, t: int) -> tuple[float, float]:
        """Steps of 1/(αt)."""
        return 1 / (self.alpha * t), self.alpha

    def step(self, w: Floats, answers: list[Floats]) -> Floats:
        """The minimiser, its gradient in place of the function's."""
        eta, alpha = self.implicit(len(answers))
        return self.game.within((w - eta / self.game.batch * answers[-1][0]) / (1 + eta * alpha))

    def bound(self, rounds: int) -> float:
        """α/2·radius² + G²/(2α)·Σ 1/t + noise²/(2α)·Σ 1/(t + 1)."""
        noise = self.game.power / (2 * self.alpha) * (_harmonic(rounds + 1) - 1)
        start = self.alpha / 2 * self.game.radius**2
        return start + self.steepest**2 / (2 * self.alpha) * _harmonic(rounds) + noise


@dataclass(frozen=True)
class Ftrl(Learner):
    """Follow the regularised leader (Kairouz et al. 2021): argmin Σ g·w + (1/η + αt)/2·‖w‖², from noisy sums."""

    eta: float = math.nan

    def step(self, w: Floats, answers: list[Floats]) -> Floats:
        """The minimiser, from the sum of all gradients so far."""
        assert self.strategy is not None
        total = self.strategy.prefix(answers) / self.game.batch
        return self.game.within(-total / (1 / self.eta + self.alpha * len(answers)))

    def bound(self, rounds: int) -> float:
        """radius²/(2η) + Σ G²/(2(1/η + αt)) + Σ G·‖noise before round t‖/(1/η + α(t - 1))."""
        pull = 1 / self.eta + self.alpha * np.arange(rounds + 1)
        noise = self._noise(rounds)
        start = self.game.radius**2 / (2 * self.eta)
        return float(start + (self.steepest**2 / 2 / pull[1:]).sum() + (self.steepest * noise / pull[:-1]).sum())

    def _noise(self, rounds: int) -> Floats:
        assert self.strategy is not None
        prices = np.array([self.strategy.price(t) if t else 0.0 for t in range(rounds)])
        return math.sqrt(self.game.power) * prices

    def paced(self) -> Ftrl:
        """With the η whose bound without a penalty would be the least on ordinary data."""
        slope, rounds = self.game.slope, self.game.horizon
        gradients = (ORDINARY + ALONE / self.game.batch) * rounds * slope**2
        noise = NOISY * 2 * slope * float(self._noise(rounds).sum())
        return replace(self, eta=self.game.radius / math.sqrt(gradients + noise))


def _harmonic(rounds: int) -> float:
    return float((1 / np.arange(1, rounds + 1)).sum())
