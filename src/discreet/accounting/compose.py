"""The (ε, δ) of a composition, never below the truth.

| composition | how |
| --- | --- |
| Gaussians only | closed form, exact |
| δ = 0 | ε adds |
| `Either` | δ adds over the ways that it may have gone: what each outcome adds to δ is part of its own way's |
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
from discreet.accounting.leaves import Leaves, joined, ways_of
from discreet.accounting.pairs import FINEST, GridTooLarge, extent, pairs
from discreet.accounting.tilt import Total, Window, window
from discreet.events import Event, Sampled

TOLERANCE = 1e-4
# the share of δ that may go to tails cut off; if δ is sought, it may be far below what is expected
_TAIL = {"delta": 1e-7, "epsilon": 1e-40}
_ROOM = 9.0  # Chernoff's bound may be e^9 times δ: the transform is 1e-14 of the bound, so 1e-10 of δ
_SMALLEST = 1e-280  # no δ below this is resolved


def epsilon(event: Event, delta: float) -> float:
    """An upper bound on the smallest ε at which the event is (ε, δ)-DP."""
    ways = ways_of(event)
    return max(_epsilon(leaves, delta / len(ways)) if leaves else 0.0 for leaves in ways)


def delta(event: Event, epsilon: float) -> float:
    """An upper bound on the smallest δ at which the event is (ε, δ)-DP."""
    return min(1.0, math.fsum(_delta(leaves, epsilon) for leaves in ways_of(event) if leaves))


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
        settled, best = found > 0.5 * best, min(best, found)
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
    step = _aligned(leaves, max(finest, _step(count, epsilon, spread)))
    while True:
        try:
            return [_window(total, epsilon, delta, tilt) for total in _totals(leaves, step, tail)]
        except GridTooLarge:
            step *= 2


def _expected(epsilon: float, delta: float) -> tuple[float, float]:
    """Saddle point λ and spread μ of the losses of a Gaussian that has this (ε, δ): (λ + ½) μ² = ε."""
    mu = gauss.mu_of(epsilon, min(delta, 0.5))
    return max(epsilon / mu**2 - 0.5, 0.1), mu


def _step(count: int, epsilon: float, spread: float) -> float:
    """A split over two points `step` apart adds up to (λ + 1) step² / 8 to ε ≈ (λ + ½) μ², and at most `step`."""
    return max(spread * min(0.01, math.sqrt(8 * TOLERANCE / count)), TOLERANCE * epsilon / count)


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
    if all(way[0] is way[1] for way, _ in both):
        return [remove]
    return [remove, Total([(way[1], times) for way, times in both])]


def _window(total: Total, epsilon: float, delta: float, start: float) -> Window:
    def chernoff(tilt: float) -> float:
        """A bound on log δ at ε."""
        gain = tilt * math.log(tilt) - (tilt + 1) * math.log1p(tilt)
        return gain + total.cumulant(tilt) - tilt * epsilon

    strong = _lowest(chernoff, start)
    return window(total, _weaker(chernoff, strong, math.log(delta) + _ROOM), strong, delta)


def _weaker(chernoff: Callable[[float], float], strong: float, enough: float) -> float:
    """The least tilt at which rounding is harmless, or the one at which it harms least.

    Any tilt is valid. A strong one stretches the far tail, which rare large losses make long.
    """
    if chernoff(strong) >= enough:
        return strong
    return math.exp(gauss.last(lambda log: chernoff(math.exp(log)) <= enough, math.log(strong), -12.0, 0.02))


def _lowest(function: Callable[[float], float], start: float) -> float:
    """Roughly where a function with one valley is lowest."""
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
