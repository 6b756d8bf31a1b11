"""Closed-form upper bounds on the (ε, δ) of a composition: quick, always valid, sometimes exact."""

from __future__ import annotations

import math

from discreet.accounting import gauss
from discreet.accounting.curves import mu, only_gaussian, pure, renyi, slack
from discreet.events import Event

ORDERS = (*range(2, 17), 20, 24, 32, 48, 64, 96, 128, 192, 256, 512)


def epsilon(event: Event, delta: float) -> float:
    """The least of what pure, Gaussian and Rényi accounting say.

    >>> from discreet.events import Gaussian
    >>> round(epsilon(Gaussian(1.0), 1e-5), 4)
    4.3772
    """
    left = math.nextafter(delta - slack(event), -1.0) if slack(event) > 0 else delta
    plain = pure(event) if slack(event) <= delta else math.inf
    if left <= 0:
        return plain
    normal = gauss.epsilon_of(mu(event), left)
    if only_gaussian(event):
        return normal
    return min(plain, normal, *(from_renyi(order, renyi(event, order), left) for order in ORDERS))


def delta(event: Event, epsilon: float) -> float:
    """The same the other way round."""
    own = slack(event)
    if pure(event) <= epsilon:
        return own
    best = gauss.delta_of(mu(event), epsilon)
    if not only_gaussian(event):
        best = min(best, *(delta_from_renyi(order, renyi(event, order), epsilon) for order in ORDERS))
    return min(1.0, (best + own) * (1 + 1e-15))


def from_renyi(order: int, cost: float, delta: float) -> float:
    """The ε that a Rényi divergence of this order implies (Canonne, Kamath & Steinke 2020).

    >>> round(from_renyi(4, 0.5, 1e-5), 4)
    3.5879
    """
    value = cost + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(0.0, value + 1e-15 * (cost - math.log(delta) + 10))


def delta_from_renyi(order: int, cost: float, epsilon: float) -> float:
    """The δ that a Rényi divergence of this order implies at ε."""
    exponent = (order - 1) * (cost - epsilon + math.log1p(-1 / order)) - math.log(order)
    return math.exp(min(0.0, exponent + 1e-15 * (abs(exponent) + order * (cost + epsilon + 1))))
