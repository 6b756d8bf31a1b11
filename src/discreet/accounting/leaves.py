"""A composition brought to its simplest equal form before it is composed numerically."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import product

from discreet.accounting.curves import root
from discreet.events import Composed, Either, Event, Gaussian, Repeated, Sampled, flatten

Leaves = tuple[tuple[Event, int], ...]

_FORKS = 6  # of an event, so that there are at most so many ways to add up


def whole(events: Event | Iterable[Event]) -> Event:
    """One event for one event or several."""
    return events if isinstance(events, Event) else Composed(tuple(events))


def gather(event: Event) -> Leaves:
    """Equal leaves counted together, and all Gaussians as one (their μ² add).

    >>> from discreet.events import Laplace
    >>> gather(Composed((Repeated(Gaussian(2.0), 4), Laplace(3.0), Laplace(3.0))))
    ((Laplace(scale=3.0), 2), (Gaussian(noise_multiplier=1.0), 1))
    """
    counts: Counter[Event] = Counter()
    for leaf, times in flatten(event):
        for part, inner in _simplified(leaf):
            counts[part] += times * inner
    return _merged(counts)


def _simplified(leaf: Event) -> Leaves:
    """Sampling at rate 1 is no sampling, at rate 0 no event; a sample of a sample is one sample."""
    if not isinstance(leaf, Sampled):
        return ((leaf, 1),)
    if leaf.rate in (0, 1):
        return gather(leaf.event) if leaf.rate else ()
    inner = gather(leaf.event)
    if len(inner) == 1 and inner[0][1] == 1 and isinstance(inner[0][0], Sampled):
        deeper = inner[0][0]
        return ((Sampled(_rate_of_both(leaf.rate, deeper.rate), deeper.event), 1),)
    return ((Sampled(leaf.rate, joined(inner)), 1),) if inner else ()


def ways_of(event: Event) -> tuple[Leaves, ...]:
    """The leaves of each way that an event with forks may have gone; of one without forks, of that alone.

    With many forks, each leaf `Either` stays as it is.
    """
    leaves = gather(event)
    forks = [leaf for leaf, times in leaves if isinstance(leaf, Either) for _ in range(times)]
    if not 0 < len(forks) <= _FORKS:
        return (leaves,)
    others = joined(tuple(pair for pair in leaves if not isinstance(pair[0], Either)))
    return tuple(gather(Composed((others, *ways))) for ways in product(*(fork.events for fork in forks)))


def joined(leaves: Leaves) -> Event:
    """The event of which these are the leaves."""
    parts = tuple(leaf if times == 1 else Repeated(leaf, times) for leaf, times in leaves)
    return parts[0] if len(parts) == 1 else Composed(parts)


def _rate_of_both(a: float, b: float) -> float:
    return min(1.0, math.nextafter(a * b, 1.0))  # a larger rate never costs less


def _merged(counts: Counter[Event]) -> Leaves:
    others, square = [], Fraction(0)
    for leaf, times in counts.items():
        if isinstance(leaf, Gaussian):
            square += times / Fraction(leaf.noise_multiplier) ** 2
        else:
            others.append((leaf, times))
    if square:
        others.append((Gaussian(_multiplier(square)), 1))
    return tuple(others)


def _multiplier(square: Fraction) -> float:
    """The largest double with 1/m² ≥ square, so that nothing is under-counted."""
    value = 1 / root(square)
    while 1 / Fraction(value) ** 2 < square:
        value = math.nextafter(value, 0.0)
    return value
