"""Accounting: pure functions from events to a guarantee.

Events say what ran (`discreet.events`); these functions say what it costs, never less than the truth.

>>> from discreet.events import Gaussian, Laplace, Repeated, Sampled
>>> round(epsilon(Repeated(Gaussian(10.0), 1000), delta=1e-5), 6)
17.856587
>>> round(epsilon(Repeated(Sampled(0.01, Gaussian(1.0)), 1000), delta=1e-5), 3)
1.828
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import arguments, compose, curves, gauss
from discreet.accounting.calibrate import noise_multiplier, scale, scaled
from discreet.accounting.convert import (
    advanced,
    basic,
    best_order,
    group,
    renyi_cap,
    to_add_remove,
    to_replace_one,
)
from discreet.accounting.leaves import whole
from discreet.accounting.loss import loss_distribution, privacy_loss
from discreet.events import Event

__all__ = [
    "advanced",
    "basic",
    "best_order",
    "curve",
    "delta",
    "epsilon",
    "group",
    "loss_distribution",
    "mu",
    "noise_multiplier",
    "privacy_loss",
    "renyi_cap",
    "scale",
    "scaled",
    "to_add_remove",
    "to_replace_one",
]


def epsilon(events: Event | Iterable[Event], delta: float = 1e-5) -> float:
    """The ε at which the events together are (ε, δ)-DP; never below the smallest such ε.

    | δ | what happens |
    | --- | --- |
    | 0 | ε adds; infinite if some event is not pure |
    | > 0 | exact for Gaussians, otherwise within about 0.1% down to δ = 1e-12 |

    >>> from discreet.events import Pure
    >>> epsilon([Pure(0.25), Pure(0.5)], delta=0.0)
    0.75
    """
    delta, event = arguments.probability("delta", delta), whole(events)
    if delta == 0:
        return curves.pure(event) if curves.slack(event) == 0 else math.inf
    return compose.epsilon(event, delta)


def delta(events: Event | Iterable[Event], epsilon: float = 1.0) -> float:
    """The δ at which the events together are (ε, δ)-DP; never below the smallest such δ.

    >>> from discreet.events import Gaussian, Pure
    >>> delta(Pure(0.5), epsilon=1.0), round(delta(Gaussian(1.0), epsilon=1.0), 6)
    (0.0, 0.126937)
    """
    return compose.delta(whole(events), arguments.non_negative("epsilon", epsilon))


def curve(events: Event | Iterable[Event], deltas: Iterable[float]) -> NDArray[np.float64]:
    """The ε at each of several δ.

    >>> from discreet.events import Gaussian
    >>> curve(Gaussian(4.0), [1e-6, 1e-5]).round(4)
    array([1.0607, 0.9263])
    """
    event = whole(events)
    return np.array([epsilon(event, delta) for delta in deltas], dtype=np.float64)


def mu(epsilon: float, delta: float) -> float:
    """The largest μ of which (ε, δ) is a consequence: what a Gaussian budget may spend; never above it.

    >>> round(1 / mu(1.0, 1e-5), 8)
    3.73063163
    """
    return gauss.mu_of(arguments.positive("epsilon", epsilon), arguments.probability("delta", delta, zero=False))
