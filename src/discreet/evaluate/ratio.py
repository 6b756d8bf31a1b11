"""The share of correct answers, from noisy counts of right and wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from discreet.events import Event
from discreet.stats.intervals import find_half_width


def estimate_share(
    right: float, wrong: float, std: float, event: Event, confidence: float, n: int | None = None
) -> tuple[float, float, tuple[float, float]]:
    """The share p, the standard deviation of its privacy noise, and an interval for the share in the population.

    The interval holds all p for which |right·(1 - p) - wrong·p| is within the margin of sampling and noise (Wilson 1927
    without noise, Fieller 1954 with noise). So it stays within [0, 1], and is [0, 1] where noise dominates. With a
    public n both counts are adjusted to add up to it, which halves the variance.

    >>> from discreet.events import Gaussian
    >>> p, std, (low, high) = estimate_share(900.0, 100.0, 2.0, Gaussian(2.0), 0.95)
    >>> p, round(low, 3), round(high, 3)
    (0.9, 0.88, 0.917)
    """
    if n is not None:
        right, wrong, std = (n + right - wrong) / 2, (n - right + wrong) / 2, std / 2
    right, wrong = max(right, 0.0), max(wrong, 0.0)
    total = right + wrong
    p = right / total if total > 0 else 0.5

    def weigh_noises(q: float) -> tuple[float, ...]:
        return (std, std) if n is not None else (std * (1 - q), std * q)

    def exceed_margin(q: float) -> float:
        spread = math.sqrt(max(total, 1.0) * q * (1 - q))
        return abs(right * (1 - q) - wrong * q) - float(find_half_width(confidence, spread, weigh_noises(q), event))

    noise = math.hypot(*weigh_noises(p)) / max(total, 1.0)
    return p, noise, (_find_end(p, 0.0, exceed_margin), _find_end(p, 1.0, exceed_margin))


def _find_end(inside: float, outside: float, beyond: Callable[[float], float]) -> float:
    """The point between `inside` and `outside` where `beyond` changes its sign; it is negative at `inside`."""
    if beyond(outside) <= 0:
        return outside
    return float(brentq(beyond, inside, outside, xtol=1e-7))
