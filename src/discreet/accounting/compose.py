"""The (ε, δ) of a composition, never below the truth.

| composition | how |
| --- | --- |
| Gaussians only | closed form, exact |
| δ = 0 | ε adds |
| anything else | the least of the closed-form bounds and of numerical composition of dominating pairs (`tilt`) |

Numerical composition chooses its grid for the answer it expects, within about `TOLERANCE`; if the answer is much
smaller it is computed again for that one. Whatever the grid, the answer is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from discreet.accounting import bounds, gauss
from discreet.accounting.curves import only_gaussian, pure
from discreet.accounting.leaves import Leaves, gather, joined
from discreet.accounting.pairs import FINEST, extent, pairs
from discreet.accounting.tilt import Total, Window, window
from discreet.events import Event, Sampled

TOLERANCE = 1e-4
# the share of δ that may go to tails cut off; if δ is sought, it may be far below what is expected
_TAIL = {"delta": 1e-7, "epsilon": 1e-40}
_SMALLEST = 1e-280  # no δ below this is resolved


def epsilon(event: Event, delta: float) -> float:
    """An upper bound on the smallest ε at which the event is (ε, δ)-DP."""
    leaves = gather(event)
    if not leaves:
        return 0.0
    return _epsilon(leaves, delta)


def delta(event: Event, epsilon: float) -> float:
    """An upper bound on the smallest δ at which the event is (ε, δ)-DP."""
    leaves = gather(event)
    if not leaves:
        return 0.0
    return _delta(leaves, epsilon)


@lru_cache(maxsize=1024)
def _epsilon(leaves: Leaves, delta: float) -> float:
    event = joined(leaves)
    best = bounds.epsilon(event, delta)
    if only_gaussian(event) or delta < _SMALLEST or not 0 < best < math.inf:
        return best
    for _ in range(4):
        found = max(one.epsilon(delta) for one in _windows(leaves, best, delta, fixed="delta"))
        settled, best = found > 0.7 * best, min(best, found)
        if settled or best <= 0:
            break
    return best


@lru_cache(maxsize=1024)
def _delta(leaves: Leaves, epsilon: float) -> float:
    event = joined(leaves)
    best = bounds.delta(event, epsilon)
    if only_gaussian(event) or pure(event) <= epsilon:
        return best
    for _ in range(10):
        if best < _SMALLEST:
            break
        found = max(one.delta(epsilon) for one in _windows(leaves, epsilon, best, fixed="epsilon"))
        settled, best = found > 1e-2 * best, min(best, found)
        if settled:
            break
    return best


# The grid ------------------------------------------------------------------------------------------


def _windows(leaves: Leaves, epsilon: float, delta: float, fixed: str) -> list[Window]:
    """The sums of losses around the expected (ε, δ), one for each direction that differs."""
    tilt, spread = _expected(epsilon, delta)
    count = sum(times for _, times in leaves)
    tail = max(delta * _TAIL[fixed] / count, 1e-300)
    finest = max(extent(leaf, tail) for leaf, _ in leaves) / FINEST
    step = _aligned(leaves, max(finest, min(spread / 100, _step(count, epsilon, tilt))))
    while True:
        found = [_window(total, epsilon, delta, tilt, fixed) for total in _totals(leaves, step, tail)]
        if all(one is not None for one in found):
            return [one for one in found if one is not None]
        step *= 2


def _expected(epsilon: float, delta: float) -> tuple[float, float]:
    """Saddle point λ and spread μ of the losses of a Gaussian that has this (ε, δ): (λ + ½) μ² = ε."""
    mu = gauss.mu_of(epsilon, min(delta, 0.5))
    return max(epsilon / mu**2 - 0.5, 0.1), mu


def _step(count: int, epsilon: float, tilt: float) -> float:
    """A split over two points `step` apart adds about (λ + 1) step² / 8 to ε, and at most `step`."""
    allowed = max(TOLERANCE * epsilon, 1e-3 / tilt)
    return max(math.sqrt(8 * allowed / (count * (tilt + 1))), TOLERANCE * epsilon / count)


def _aligned(leaves: Leaves, step: float) -> float:
    """A step not above this one that divides the ε of the most frequent pure event, whose points then need no split."""
    sizes = {leaf: times for leaf, times in leaves if not isinstance(leaf, Sampled) and 0 < pure(leaf) < math.inf}
    if not sizes:
        return step
    size = pure(max(sizes, key=lambda leaf: sizes[leaf]))
    return size / math.ceil(size / step)


def _totals(leaves: Leaves, step: float, tail: float) -> list[Total]:
    both = [(pairs(leaf, step, tail), times) for leaf, times in leaves]
    remove = Total([(way[0], times) for way, times in both])
    if not any(isinstance(leaf, Sampled) for leaf, _ in leaves):
        return [remove]
    return [remove, Total([(way[1], times) for way, times in both])]


def _window(total: Total, epsilon: float, delta: float, tilt: float, fixed: str) -> Window | None:
    def chernoff(tilt: float) -> float:
        gain = tilt * math.log(tilt) - (tilt + 1) * math.log1p(tilt) + total.cumulant(tilt)
        return (gain - math.log(delta)) / tilt if fixed == "delta" else gain - tilt * epsilon

    return window(total, _lowest(chernoff, tilt), delta)


def _lowest(function: Callable[[float], float], start: float) -> float:
    """Roughly where a function with one valley is lowest: any tilt is valid, a good one is tight."""
    here, value, factor = start, function(start), 2.0
    for _ in range(24):
        there = min((here * factor, here / factor), key=function)
        if function(there) < value:
            here, value = there, function(there)
        elif factor < 1.2:
            break
        else:
            factor = math.sqrt(factor)
    return here
