"""Running sums over rounds, each row in one of them: noise that grows with a logarithm, not with the root of time.

A strategy fixes which weighted sums of the rounds' totals are measured, round by round, each with fresh noise; how much
one round weighs in all of them together is its sensitivity. From their noisy answers every prefix sum follows.

| strategy | noise of a prefix of T rounds, in that of one round |
| --- | --- |
| fresh noise per round | √T: 32 at T = 1000 |
| `Tree`: sums over dyadic intervals | up to log₂ T + 1: 10 |
| `Roots`: the square root of the summing matrix | about (ln T + 3.35)/π: 3.3 |
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, Neighbours
from discreet.curator.procedures import Inside
from discreet.curator.total_noise import FINE, deviation_of, perturbed
from discreet.engines import Rows
from discreet.errors import LedgerError
from discreet.events import Event, Gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.query import BoundedSum, Exact, Ints, root_above

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Strategy(ABC):
    """What is measured at the end of each of `horizon` rounds."""

    horizon: int
    bits = 0  # weights are whole numbers in units of 2^-bits

    @abstractmethod
    def weights(self, t: int) -> Ints:
        """One row per sum measured in round t (the first is 1): the weights of the latest rounds, the newest last."""

    @property
    @abstractmethod
    def squares(self) -> int:
        """A bound on the sum of squares of one round's weights over all that is ever measured."""

    @abstractmethod
    def prefix(self, answers: list[Floats]) -> Floats:
        """The sum of all rounds so far, from the answers of each."""

    @abstractmethod
    def spread(self, t: int) -> float:
        """The noise of the prefix of t rounds, relative to the noise added to one measured sum."""

    def price(self, t: int) -> float:
        """The same relative to the noise of one round measured by itself."""
        return self.spread(t) * math.sqrt(self.squares) * 2.0**-self.bits


class Tree(Strategy):
    """Sums over the dyadic intervals that end now: a round is in one of each length.

    Dwork et al. (2010); Chan et al. (2011).

    >>> Tree(8).weights(4).tolist()
    [[0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1]]
    """

    def weights(self, t: int) -> Ints:
        """Ones, over the last 1, 2, 4 … rounds."""
        lengths = [1 << k for k in range(_twos(t) + 1)]
        return np.array([[0] * (lengths[-1] - length) + [1] * length for length in lengths])

    @property
    def squares(self) -> int:
        """The number of lengths."""
        return self.horizon.bit_length()

    def prefix(self, answers: list[Floats]) -> Floats:
        """One interval for each binary digit of the number of rounds."""
        total, t = np.zeros(answers[0].shape[1:]), len(answers)
        while t:
            total = total + answers[t - 1][-1]  # the longest that ends at t
            t -= 1 << _twos(t)
        return total

    def spread(self, t: int) -> float:
        """The root of the number of intervals."""
        return math.sqrt(t.bit_count())


class Roots(Strategy):
    """The square root of the summing matrix: weights 1, 1/2, 3/8 … of rounds ever longer ago.

    They are the coefficients of (1 - x)^-1/2 (Fichtenberger et al. 2023), rounded to a grid, so that sums are exact.

    >>> Roots(100).weights(3) / 2**Roots.bits
    array([[0.375, 0.5  , 1.   ]])
    """

    bits = 12

    @cached_property
    def _coefficients(self) -> Ints:
        ratios = np.arange(1, 2 * self.horizon - 1, 2) / np.arange(2, 2 * self.horizon, 2)
        return np.rint(np.concatenate([[1.0], np.cumprod(ratios)]) * 2.0**self.bits).astype(np.int64)

    @cached_property
    def _summing(self) -> Floats:
        """The coefficients of 1/(1 - x) over those of the weights: from answers to prefix sums."""
        weights = self._coefficients * 2.0**-self.bits
        left, found = np.ones(self.horizon), np.empty(self.horizon)
        for k in range(self.horizon):
            found[k] = left[k]
            left[k:] -= found[k] * weights[: self.horizon - k]
        return found

    def weights(self, t: int) -> Ints:
        """All rounds so far."""
        return self._coefficients[:t][None, ::-1]

    @cached_property
    def squares(self) -> int:
        """Of all the weights: about (ln T + 3.35)/π in their units."""
        return sum(int(weight) ** 2 for weight in self._coefficients)

    def prefix(self, answers: list[Floats]) -> Floats:
        """The answers, weighted."""
        return np.asarray(np.tensordot(self._summing[: len(answers)][::-1], np.concatenate(answers), 1))

    def spread(self, t: int) -> float:
        """The root of the sum of squares of those weights."""
        return math.sqrt(float(np.square(self._summing[:t]).sum()))


class Past:
    """The exact totals of the rounds so far: they stay inside, and end with the stream."""

    def __init__(self) -> None:
        self._totals: list[Exact] = []
        self._terms: Any = None

    def __len__(self) -> int:
        return len(self._totals)

    def open(self, strategy: Strategy, *terms: Any) -> None:
        """Raise, before a row is read, if the rounds are over, or if this one is on other terms than the first."""
        self._terms = self._terms or (strategy, *terms)
        if self._terms != (strategy, *terms) or len(self) >= strategy.horizon:
            raise LedgerError("A running sum has one strategy, one grid and one noise, and as many rounds as planned.")

    def add(self, total: Exact) -> None:
        """One more round."""
        self._totals.append(total)

    def weighted(self, weights: Ints) -> Exact:
        """Weighted sums of the latest rounds, exact: Python integers where int64 might overflow."""
        latest = np.stack(self._totals[-weights.shape[1] :])
        if latest.dtype == object or float(np.abs(latest).max(initial=0)) * float(weights.sum(axis=1).max()) > 2.0**62:
            return np.asarray(np.tensordot(weights.astype(object), latest.astype(object), 1))
        return np.asarray(np.tensordot(weights, latest, 1)).astype(object)

    def __deepcopy__(self, memo: object) -> Past:
        return self  # one stream has one past

    def __reduce__(self) -> NoReturn:
        raise TypeError("Exact totals are not pickled: they stay where they are.")

    def __repr__(self) -> str:
        return "<Past>"


@dataclass(frozen=True)
class RunningSum(Inside):
    """What a strategy measures in this round, of the sums of a query over the rows of each round."""

    name: str
    query: BoundedSum
    widths: tuple[int, int]
    strategy: Strategy
    past: Past
    proof = "online"
    pays = (Gaussian,)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """One noisy sum per row of the strategy's weights, in the units of the data."""
        assert isinstance(event, Gaussian)
        sensitivity = self.sensitivity(budget.neighbours)
        exponent = self.query.exponent(self.widths) - self.strategy.bits
        self.past.open(self.strategy, self.query.choose_lattices(self.widths), sensitivity, event)
        self.past.add(rows.sum(self.query))
        total = self.past.weighted(self.strategy.weights(len(self.past)))

        noise = deviation_of(event, 1, float(sensitivity))
        fine = max(0, FINE - math.frexp(noise)[1])
        noisy = perturbed(total * (1 << fine), sensitivity * (1 << fine), event, rng)
        return np.ldexp(noisy.astype(np.float64), exponent - fine), math.ldexp(noise, exponent)

    def sensitivity(self, neighbours: Neighbours) -> Fraction:
        """How far all that is measured, in all rounds, can move, in steps of the grid."""
        return self.query.sensitivity(self.widths, neighbours) * root_above(self.strategy.squares)


def _twos(t: int) -> int:
    """How often 2 divides t."""
    return (t & -t).bit_length() - 1
