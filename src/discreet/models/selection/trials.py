"""How many trials a search makes: a random number K, drawn exactly and never told.

| law | P(K = k) | f(x) = E[x^K] |
| --- | --- | --- |
| `Poisson` | ∝ m^k/k!, k = 0, 1, … | e^(m(x - 1)) |
| `NegativeBinomial` | ∝ (1 - γ)^k Π_{l<k} (l + η)/(l + 1), k = 1, 2, … | ((1 - (1 - γ)x)^-η - 1)/(γ^-η - 1) |

The second is the truncated negative binomial law: logarithmic for η = 0, geometric for η = 1. The Poisson law is the
more concentrated. `mechanisms/proofs/selection.md` has what a search with either costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from discreet.arguments import is_number
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.lazy import Lazy

MOST = 1000  # the largest mean: more trials would leave nothing for each
RARE = 2.0**-40  # a padded search takes longer than it shows with at most this probability


class Law(ABC):
    """The law of K; its parameters are public, K is not."""

    name: str

    @property
    @abstractmethod
    def expected(self) -> float:
        """E[K], rounded up."""

    @property
    @abstractmethod
    def none(self) -> float:
        """P(K = 0), rounded up."""

    @abstractmethod
    def weights(self) -> Iterator[tuple[int, Fraction]]:
        """Each k with a number in proportion to P(K = k), exactly."""

    @abstractmethod
    def total(self, digits: int) -> Decimal:
        """What the weights add up to, within a relative 10^-digits."""

    def draw(self, rng: Keystream) -> int:
        """K, of exactly this law: the k with S(k - 1) <= U·S(∞) < S(k), for the sums S of the weights and U uniform.

        U is known to some bits and S(∞) to some digits; where they do not decide, there are more of both.
        """
        u, below = Lazy(rng.bits(64), 64, rng), Fraction(0)
        for k, weight in self.weights():
            below += weight
            while True:
                digits = u.bits // 3 + 8
                slack, total = Fraction(1, 10**digits), _total(self, digits)
                low, high = u.bounds()
                if high * total * (1 + slack) <= below:
                    return k
                if low * total * (1 - slack) >= below:
                    break
                u.reveal()
        raise AssertionError("weights go on for ever")

    @cached_property
    def enough(self) -> int:
        """A number of trials that K exceeds with probability at most 2^-40."""
        most, below = _total(self, 30) * Fraction(1 - RARE), Fraction(0)
        for k, weight in self.weights():
            below += weight
            if below >= most:
                return k
        raise AssertionError("weights go on for ever")


@dataclass(frozen=True)
class Poisson(Law):
    """K of the Poisson law: possibly 0.

    >>> Poisson(Fraction(5)).enough
    28
    """

    mean: Fraction
    name = "Poisson"

    @property
    def expected(self) -> float:
        """E[K]."""
        return float(self.mean) * (1 + 1e-15)

    @property
    def none(self) -> float:
        """P(K = 0)."""
        return math.exp(-float(self.mean)) * (1 + 1e-12)

    def weights(self) -> Iterator[tuple[int, Fraction]]:
        """m^k/k!."""
        k, weight = 0, Fraction(1)
        while True:
            yield k, weight
            k, weight = k + 1, weight * self.mean / (k + 1)

    def total(self, digits: int) -> Decimal:
        """e^m."""
        wide = _wide(digits)
        return wide.exp(wide.divide(Decimal(self.mean.numerator), Decimal(self.mean.denominator)))


@dataclass(frozen=True)
class NegativeBinomial(Law):
    """K of the truncated negative binomial law of parameters η > -1 and 0 < γ < 1: at least 1.

    >>> law = NegativeBinomial.of_mean(10.0, 1.0)
    >>> law.gamma, round(law.expected, 3)
    (Fraction(52429, 524288), 10.0)
    """

    eta: Fraction
    gamma: Fraction
    name = "truncated negative binomial"
    none = 0.0

    @classmethod
    def of_mean(cls, mean: float, eta: float) -> NegativeBinomial:
        """The law whose mean is nearest, γ in steps of 2^-20."""
        exact = Fraction(eta).limit_denominator(1024)
        low, high = 1, 1 << 20
        while high - low > 1:  # the mean falls as γ grows
            middle = (low + high) // 2
            low, high = (middle, high) if cls(exact, Fraction(middle, 1 << 20)).expected > mean else (low, middle)
        return cls(exact, Fraction(min(high, (1 << 20) - 1), 1 << 20))

    @property
    def expected(self) -> float:
        """η(1 - γ)/(γ(1 - γ^η)), or (1 - γ)/(γ log(1/γ)) for η = 0."""
        return _mean(self.eta, self.gamma)

    def weights(self) -> Iterator[tuple[int, Fraction]]:
        """(1 - γ)^k Π_{0<l<k} (l + η)/(l + 1): the factor η of all of them is left out."""
        k, weight = 1, 1 - self.gamma
        while True:
            yield k, weight
            k, weight = k + 1, weight * (1 - self.gamma) * (k + self.eta) / (k + 1)

    def total(self, digits: int) -> Decimal:
        """(γ^-η - 1)/η, or log(1/γ)."""
        wide = _wide(digits)
        log = wide.ln(wide.divide(Decimal(self.gamma.denominator), Decimal(self.gamma.numerator)))
        if self.eta == 0:
            return log
        eta = wide.divide(Decimal(self.eta.numerator), Decimal(self.eta.denominator))
        return wide.divide(wide.subtract(wide.exp(wide.multiply(eta, log)), Decimal(1)), eta)


@lru_cache(maxsize=256)
def _total(law: Law, digits: int) -> Fraction:
    return Fraction(law.total(digits))


@lru_cache(maxsize=256)
def _mean(eta: Fraction, gamma: Fraction) -> float:
    weights = NegativeBinomial(eta, gamma)
    # Σ k·w_k = (1 - γ) Σ_{k>0} (1 - γ)^(k-1) Π_{0<l<k} (l + η)/l = (1 - γ)·γ^-(η+1)
    wide = _wide(30)
    top = wide.multiply(wide.exp(_times(eta + 1, gamma, wide)), _decimal(1 - gamma, wide))
    return float(wide.divide(top, weights.total(30))) * (1 + 1e-15)


def _times(power: Fraction, gamma: Fraction, wide: Context) -> Decimal:
    return wide.multiply(_decimal(power, wide), wide.ln(_decimal(1 / gamma, wide)))


def _decimal(value: Fraction, wide: Context) -> Decimal:
    return wide.divide(Decimal(value.numerator), Decimal(value.denominator))


def _wide(digits: int) -> Context:
    # `decimal` rounds exp and ln correctly; errors of arguments grow by less than 10^12 for what is used here
    return Context(prec=digits + 20, Emin=MIN_EMIN, Emax=MAX_EMAX)


def law_of(trials: float, eta: float | None) -> Law:
    """The law that a search is asked for: Poisson if `eta` is None.

    >>> law_of(10, None), law_of(10, 0.0).name
    (Poisson(mean=Fraction(10, 1)), 'truncated negative binomial')
    """
    if not is_number(trials) or not 1 < trials <= MOST:
        raise ValueError(f"The `trials` of PrivateSearchCV must be a number above 1, up to {MOST}. Got {trials!r}.")
    if eta is None:
        return Poisson(Fraction(trials).limit_denominator(1024))
    if not is_number(eta) or not -1 < eta <= 10:
        raise ValueError(f"The `eta` of PrivateSearchCV must be within (-1, 10], or None. Got {eta!r}.")
    return NegativeBinomial.of_mean(float(trials), float(eta))
