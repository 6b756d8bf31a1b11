"""What the best of K private trials costs, for a random K (Papernot & Steinke 2022).

With a trial of Rényi curve ε(λ) and privacy profile δ(ε), both for either direction of neighbours, the best of K trials
has a Rényi divergence of order λ of at most

    truncated negative binomial    ε(λ) + (1 + η)((1 - 1/λ̂)·ε(λ̂) + log(1/γ)/λ̂) + log(E[K])/(λ - 1),  any λ̂ > 1
    Poisson, mean m                log(e^-m + m·e^((λ - 1)(ε(λ) + m·δ(ε̂))))/(λ - 1),  ε̂ = log(1 + 1/(λ - 1))

`mechanisms/proofs/selection.md` has the proofs. (The e^-m is the chance of no trial at all.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.accounting import bounds, curves, gauss
from discreet.events import Event, Gaussian, Pure
from discreet.models.selection.trials import Law, NegativeBinomial

UP = 1 + 1e-9  # exceeds the rounding error of what is added up here
SMOOTH = tuple((1 + np.logspace(-1.5, 4, 160)).tolist())
WHOLE = (*range(2, 33), 40, 48, 64, 80, 96, 128, 192, 256, 384, 512)
SEARCHED = 40  # halvings


@dataclass(frozen=True)
class Trial:
    """What one trial costs at most: for each of some events that it may be, the dearest of them.

    `whole` looks at whole orders only, as where there is other than Gaussian noise.
    """

    events: tuple[Event, ...]
    whole: bool = False

    @property
    def orders(self) -> Sequence[float]:
        """At which orders its Rényi curve is known: all, for Gaussian noise, else whole ones."""
        smooth = all(curves.only_gaussian(event) for event in self.events) and not self.whole
        return SMOOTH if smooth else WHOLE

    def renyi(self, order: float) -> float:
        """ε(λ)."""
        return max(_renyi(event, order) for event in self.events)

    def delta(self, epsilon: float) -> float:
        """δ(ε)."""
        return max(_delta(event, epsilon) for event in self.events)


@lru_cache(maxsize=1 << 14)
def _renyi(event: Event, order: float) -> float:
    if curves.only_gaussian(event):
        return order * curves.mu(event) ** 2 / 2 * UP
    return curves.renyi(event, int(order))


@lru_cache(maxsize=1 << 14)
def _delta(event: Event, epsilon: float) -> float:
    if curves.only_gaussian(event):
        return gauss.delta_of(curves.mu(event), epsilon)
    if isinstance(event, Pure):  # randomised response is the worst
        tilt = math.tanh(event.epsilon / 2)
        return max(0.0, (1 + tilt) / 2 - math.exp(epsilon) * (1 - tilt) / 2) * UP
    return bounds.delta(event, epsilon)


def epsilon_of(trial: Trial, law: Law, delta: float) -> float:
    """The ε at which the best of K trials is (ε, δ)-DP, never below the truth.

    >>> from discreet.events import Gaussian, Pure
    >>> from discreet.models.selection.trials import law_of
    >>> round(epsilon_of(Trial((Gaussian(6.5),)), law_of(5, None), 1e-6), 2)
    0.97
    >>> round(epsilon_of(Trial((Pure(0.5),)), law_of(100, 1.0), 0.0), 6)
    1.5
    """
    if delta == 0:
        return pure_of(trial, law)
    plus = _plus(trial, law)
    return min(_converted(order, divergence(trial, law, order, plus), delta) for order in trial.orders)


def divergence(trial: Trial, law: Law, order: float, plus: float | None = None) -> float:
    """The Rényi divergence of this order of the best of K trials."""
    one, more = trial.renyi(order), math.log(law.expected) / (order - 1)
    if isinstance(law, NegativeBinomial):
        return (one + (_plus(trial, law) if plus is None else plus) + more) * UP
    far = trial.delta(math.log1p(1 / (order - 1)) * (1 - 1e-15))
    most = one + law.expected * far + more
    return (most + math.log1p(law.none * math.exp(-(order - 1) * most)) / (order - 1)) * UP


def _plus(trial: Trial, law: Law) -> float:
    """The middle term of the truncated negative binomial law, at its best λ̂."""
    if not isinstance(law, NegativeBinomial):
        return 0.0
    log = -math.log(law.gamma)
    return float(1 + law.eta) * min((1 - 1 / order) * trial.renyi(order) + log / order for order in trial.orders)


def pure_of(trial: Trial, law: Law) -> float:
    """The limit of all orders growing: (2 + η)·ε, or ε + m·δ(0)."""
    one = max(curves.pure(event) for event in trial.events)
    if isinstance(law, NegativeBinomial):
        return float(2 + law.eta) * one * UP
    return (one + law.expected * trial.delta(0.0)) * UP


def _converted(order: float, cost: float, delta: float) -> float:
    # Canonne, Kamath & Steinke 2020
    value = cost + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(0.0, value + 1e-12 * (cost - math.log(delta) + 10))


@lru_cache(maxsize=256)
def affordable(law: Law, epsilon: float, delta: float, whole: bool = False) -> float:
    """What each trial may cost if the best of K is to be (ε, δ)-DP: μ of Gaussian noise; for δ = 0 its own ε.

    >>> from discreet.models.selection.trials import law_of
    >>> round(affordable(law_of(100, 1.0), 3.0, 0.0), 6)
    1.0
    """
    if delta == 0:
        return largest(lambda x: epsilon_of(Trial((Pure(x),)), law, 0.0) <= epsilon, epsilon)
    full = gauss.mu_of(epsilon, delta)
    return largest(lambda x: epsilon_of(Trial((Gaussian(1 / x),), whole), law, delta) <= epsilon, full)


def largest(fits: Callable[[float], bool], start: float) -> float:
    """The largest number found for which `fits` holds, which it does for all smaller ones.

    >>> round(largest(lambda x: x <= 0.3, 8.0), 9)
    0.3
    """
    low, high = 0.0, start
    while low == 0.0:
        low, high = (high, high) if fits(high) else (0.0, high / 2)
        if high < 1e-12:
            raise ValueError("The budget is too small for so many trials.")
    high = 2 * low
    for _ in range(SEARCHED):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
