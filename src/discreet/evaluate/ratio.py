"""The share of right in right and wrong, from noisy counts of both."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from discreet.events import Event
from discreet.stats.intervals import find_half_width


def share(
    right: float, wrong: float, std: float, event: Event, confidence: float, n: int | None = None
) -> tuple[float, float, tuple[float, float]]:
    """The share p, the noise of privacy in it, and an interval for the share in the population.

    The interval holds all p for which right·(1 - p) - wrong·p is as small as sampling and noise make it (Wilson 1927
    without noise, Fieller 1954 with it), so it stays within [0, 1], and is all of it where noise is all there is. With
    a public n both counts are moved to add up to it, which halves the variance.

    >>> from discreet.events import Gaussian
    >>> p, std, (low, high) = share(900.0, 100.0, 2.0, Gaussian(2.0), 0.95)
    >>> p, round(low, 3), round(high, 3)
    (0.9, 0.88, 0.917)
    """
    if n is not None:
        right, wrong, std = (n + right - wrong) / 2, (n - right + wrong) / 2, std / 2
    right, wrong = max(right, 0.0), max(wrong, 0.0)
    total = right + wrong
    p = right / total if total > 0 else 0.5

    def noises(q: float) -> tuple[float, ...]:
        return (std, std) if n is not None else (std * (1 - q), std * q)

    def beyond(q: float) -> float:
        spread = math.sqrt(max(total, 1.0) * q * (1 - q))
        return abs(right * (1 - q) - wrong * q) - float(find_half_width(confidence, spread, noises(q), event))

    noise = math.hypot(*noises(p)) / max(total, 1.0)
    return p, noise, (_end(p, 0.0, beyond), _end(p, 1.0, beyond))


def _end(inside: float, outside: float, beyond: Callable[[float], float]) -> float:
    """Where `beyond`, negative at `inside`, changes its sign on the way to `outside`."""
    if beyond(outside) <= 0:
        return outside
    return float(brentq(beyond, inside, outside, xtol=1e-7))
