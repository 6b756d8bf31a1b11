"""From one guarantee to another: groups, relations, Rényi orders, and composition theorems for comparison."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from discreet.accounting import arguments, curves
from discreet.errors import NotSupported
from discreet.events import Event

_MOST_ORDERS = 10**6


def group(epsilon: float, delta: float, k: int) -> tuple[float, float]:
    """What (ε, δ) for one unit means for k of them: (kε, k e^((k−1)ε) δ) (Dwork & Roth 2014).

    >>> group(0.5, 0.0, 3)
    (1.5, 0.0)
    """
    epsilon, delta = arguments.non_negative("epsilon", epsilon), arguments.probability("delta", delta)
    k = arguments.whole("k", k, 1)
    if delta == 0 or k == 1:
        return k * epsilon, delta
    return k * epsilon, math.exp(min(0.0, math.log(k * delta) + (k - 1) * epsilon + 1e-12))


def to_replace_one(epsilon: float, delta: float) -> tuple[float, float]:
    """What (ε, δ) under add/remove means under replace-one: a replacement is one removal and one addition.

    >>> to_replace_one(0.5, 0.0)
    (1.0, 0.0)
    """
    return group(epsilon, delta, 2)


def to_add_remove(epsilon: float, delta: float) -> NoReturn:
    """Never possible: replace-one neighbours have equal size, so nothing follows when the size changes.

    Publishing the exact number of rows is 0-DP under replace-one, and has no finite ε under add/remove.
    """
    raise NotSupported(
        "A replace-one guarantee implies none under add/remove (the number of rows may be public in the one and "
        "not in the other), so it can never be converted. State the sensitivity under add/remove instead."
    )


def basic(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """Composition by adding up; for comparison.

    >>> basic(0.25, 0.0, 4)
    (1.0, 0.0)
    """
    epsilon, delta = arguments.non_negative("epsilon", epsilon), arguments.probability("delta", delta)
    times = arguments.whole("times", times, 0)
    return times * epsilon, min(1.0, times * delta)


def advanced(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """Advanced composition (Dwork, Rothblum & Vadhan 2010; constants of Kairouz, Oh & Viswanath 2015).

    For comparison: `discreet.accounting.epsilon` is never worse.

    >>> round(advanced(0.1, 0.0, 100, 1e-5)[0], 4)
    5.2981
    """
    epsilon, delta = arguments.non_negative("epsilon", epsilon), arguments.probability("delta", delta)
    times, slack = arguments.whole("times", times, 0), arguments.probability("slack", slack, zero=False)
    drift = times * epsilon * math.tanh(epsilon / 2)
    noise = epsilon * math.sqrt(2 * times * math.log(1 / slack))
    return min(times * epsilon, drift + noise), min(1.0, times * delta + slack)


def renyi_cap(epsilon: float, delta: float, order: int) -> float:
    """The largest Rényi divergence of this order that still implies (ε, δ); 0 if none does. Rounded down.

    >>> round(renyi_cap(3.0, 1e-5, 8), 6)
    1.785891
    """
    epsilon, delta = arguments.positive("epsilon", epsilon), arguments.probability("delta", delta, zero=False)
    order = arguments.whole("order", order, 2)
    cost = epsilon - math.log1p(-1 / order) + (math.log(delta) + math.log(order)) / (order - 1)
    return max(0.0, cost - 1e-15 * (epsilon - math.log(delta) + 10))


def best_order(epsilon: float, delta: float, event: Event | None = None) -> int:
    """The whole order at which an event fits most often within (ε, δ); without one, Gaussian noise.

    >>> from discreet.events import Gaussian, Sampled
    >>> best_order(1.0, 1e-5), best_order(2.0, 1e-5, Sampled(0.01, Gaussian(1.0)))
    (18, 8)
    """
    epsilon, delta = arguments.positive("epsilon", epsilon), arguments.probability("delta", delta, zero=False)
    most = min(_MOST_ORDERS, 64 + math.ceil(8 * math.log(1 / delta) / epsilon))
    orders = np.arange(2, most + 1)
    caps = epsilon - np.log1p(-1 / orders) + (math.log(delta) + np.log(orders)) / (orders - 1)
    if event is None:
        return int(orders[np.argmax(caps / orders)])
    useful = orders[caps > 0][:256]
    return int(max(useful, key=lambda order: renyi_cap(epsilon, delta, int(order)) / curves.renyi(event, int(order))))
