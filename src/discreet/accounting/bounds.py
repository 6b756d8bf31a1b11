"""Closed-form upper bounds on the (ε, δ) of a composition: quick, always valid, sometimes exact."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.accounting import gauss
from discreet.accounting.curves import excess, mu, only_gaussian, pure, renyi, root, slack
from discreet.events import Event, Gaussian, Minimum, flatten

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
    return min(
        plain, normal, _minima_epsilon(event, left), *(from_renyi(order, renyi(event, order), left) for order in ORDERS)
    )


def delta(event: Event, epsilon: float) -> float:
    """The same the other way round."""
    own = slack(event)
    if pure(event) <= epsilon:
        return own
    best = gauss.delta_of(mu(event), epsilon)
    if not only_gaussian(event):
        best = min(
            best,
            _minima_delta(event, epsilon),
            *(delta_from_renyi(order, renyi(event, order), epsilon) for order in ORDERS),
        )
    return min(1.0, (best + own) * (1 + 1e-15))


def _minima_epsilon(event: Event, delta: float) -> float:
    """Minima and Gaussians: the ε of all noise together, and the excesses on top. Infinite if anything else ran.

    Exact for one minimum alone. If it has two sides, its δ is twice that of the noise from an ε of μ²/2 on.
    """
    noise, sides = _noise_of_minima(event)
    if not sides:
        return math.inf
    least = noise * noise / 2 if sides == 2 else 0.0
    return (max(least, gauss.epsilon_of(noise, delta / sides)) + excess(event)) * (1 + 1e-15)


def _minima_delta(event: Event, epsilon: float) -> float:
    """The same the other way round."""
    noise, sides = _noise_of_minima(event)
    left = (epsilon - excess(event)) * (1 - 1e-15)
    if not sides or left < (noise * noise / 2 * (1 + 1e-15) if sides == 2 else 0.0):
        return 1.0
    return sides * gauss.delta_of(noise, left)


def _noise_of_minima(event: Event) -> tuple[float, int]:
    """The μ of all noise together, and 1, or 2 for one two-sided minimum alone; 0 if nothing is known."""
    leaves = list(flatten(event))
    known = all(isinstance(leaf, Gaussian | Minimum) for leaf, _ in leaves)
    double = [leaf for leaf, _ in leaves if isinstance(leaf, Minimum) and leaf.two_sided]
    if not known or (double and (len(leaves), leaves[0][1]) != (1, 1)):
        return math.inf, 0
    square = sum(
        (
            times / Fraction(leaf.noise_multiplier) ** 2
            for leaf, times in leaves
            if isinstance(leaf, Gaussian | Minimum)
        ),
        Fraction(0),
    )
    return root(square), 2 if double else 1


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
