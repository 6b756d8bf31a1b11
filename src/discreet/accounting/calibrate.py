"""How little noise is enough: the largest common factor by which events may be scaled within (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, singledispatch

from discreet.accounting import arguments, bounds, compose, curves, gauss
from discreet.accounting.leaves import whole
from discreet.events import (
    Approximate,
    Choice,
    Composed,
    Either,
    Event,
    Gaussian,
    Laplace,
    Minimum,
    Pure,
    Repeated,
    Sampled,
)

RELATIVE = 1e-4
_WEAKEST = 1e-9  # no search goes on below this share of where it began


def scale(events: Event | Iterable[Event], epsilon: float, delta: float) -> float:
    """The largest factor c such that the events, each c times as costly, are together (ε, δ)-DP.

    Exact to a few units in the last place for Gaussians, and for pure events at δ = 0; otherwise within a relative
    1e-4 below the largest. Never above it.

    >>> round(1 / scale(Gaussian(1.0), 1.0, 1e-5), 8)
    3.73063163
    """
    epsilon, delta = arguments.positive("epsilon", epsilon), arguments.probability("delta", delta)
    return _scale(whole(events), epsilon, delta)


def scaled(events: Event | Iterable[Event], epsilon: float, delta: float) -> tuple[Event, ...]:
    """The events, scaled by `scale`.

    >>> scaled([Pure(1.0), Laplace(1.0)], 1.0, 0.0)
    (Pure(epsilon=0.5), Laplace(scale=2.0))
    """
    plan = (events,) if isinstance(events, Event) else tuple(events)
    factor = scale(Composed(plan), epsilon, delta)
    return tuple(times_as_costly(event, factor) for event in plan)


def noise_multiplier(epsilon: float, delta: float, *, rate: float = 1.0, rounds: int = 1) -> float:
    """The smallest noise multiplier with which `rounds` Gaussians, each on a sample at `rate`, are (ε, δ)-DP.

    Rounded up: by a few units in the last place without sampling, by at most 1e-4 with it.

    >>> round(noise_multiplier(1.0, 1e-5), 8)
    3.73063163
    """
    arguments.probability("delta", delta, zero=False)
    rounds = arguments.whole("rounds", rounds, 1)
    if not 0 < rate <= 1:
        raise ValueError(f"The `rate` must be within (0, 1]. Got {rate!r}.")
    unit = Gaussian(1.0)
    plan = Repeated(unit if rate == 1 else Sampled(rate, unit), rounds)
    return 1.0 / scale(plan, epsilon, delta)


# Scaling one event ---------------------------------------------------------------------------------


@singledispatch
def times_as_costly(event: Event, factor: float) -> Event:
    """The event with its noise divided, or its ε multiplied, by `factor`.

    >>> times_as_costly(Sampled(0.1, Laplace(2.0)), 2.0)
    Sampled(rate=0.1, event=Laplace(scale=1.0))
    """
    raise TypeError(f"The `event` must be an Event of discreet.events. Got {type(event).__name__}.")


@times_as_costly.register
def _(event: Gaussian | Minimum, factor: float) -> Event:
    return replace(event, noise_multiplier=event.noise_multiplier / factor)  # an excess is none of the noise's


@times_as_costly.register
def _(event: Laplace, factor: float) -> Event:
    return Laplace(event.scale / factor)


@times_as_costly.register
def _(event: Pure | Choice | Approximate, factor: float) -> Event:
    return replace(event, epsilon=event.epsilon * factor)


@times_as_costly.register
def _(event: Sampled | Repeated, factor: float) -> Event:
    return replace(event, event=times_as_costly(event.event, factor))


@times_as_costly.register
def _(event: Composed | Either, factor: float) -> Event:
    return replace(event, events=tuple(times_as_costly(part, factor) for part in event.events))


# The largest factor --------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _scale(event: Event, epsilon: float, delta: float) -> float:
    own = curves.slack(event)
    if own > 0 and own >= delta:
        raise ValueError(f"The `delta` must exceed what the events bring with them, {own:.3g}. Got {delta!r}.")
    if curves.mu(event) == 0:
        raise ValueError("The `events` must cost something: there is nothing to scale.")
    if delta == 0:
        return _exact(event, epsilon, curves.pure)
    if curves.excess(event) >= epsilon:
        raise ValueError(
            f"The `epsilon` must exceed the excess of the minima, {curves.excess(event):.6g}, which no noise takes "
            f"away. Got {epsilon!r}. Hint: a stronger regulariser has less excess."
        )
    if curves.only_gaussian(event):
        return _exact(event, gauss.mu_of(epsilon, delta), curves.mu)
    return _searched(event, epsilon, delta)


def _exact(event: Event, budget: float, cost: Callable[[Event], float]) -> float:
    """For a cost that scales with the factor: one division, and a step back if rounding overshot."""
    now = cost(event)
    if math.isinf(now):
        raise ValueError("The `delta` must be > 0: some of the `events` are not pure. Got 0.")
    factor = budget / now
    while cost(times_as_costly(event, factor)) > budget:
        factor *= 1 - 2.0**-52
    return factor


def _searched(event: Event, epsilon: float, delta: float) -> float:
    """First by the closed-form bounds, which are quick, then from there by the composition itself."""
    left = delta - curves.slack(event)
    start = gauss.mu_of(epsilon, left) / curves.mu(event) * (1 - 1e-9)
    quick = _largest(lambda c: bounds.epsilon(times_as_costly(event, c), delta), epsilon, start, 1e-2)
    return _largest(lambda c: compose.epsilon(times_as_costly(event, c), delta), epsilon, quick, RELATIVE)


def _largest(cost: Callable[[float], float], budget: float, good: float, relative: float) -> float:
    """A factor at which the cost was seen to fit, and a relative step above which it does not.

    Secants in the logarithms, aimed a little past the crossing so that both ends close in.
    """
    least = good * _WEAKEST
    while cost(good) > budget:
        good /= 2
        if good < least:
            raise ValueError(f"The `epsilon` is too close to what no noise takes away. Got {budget!r}.")
    bad = good * 1.25
    while cost(bad) <= budget:
        good, bad = bad, bad * 2
    for _ in range(60):
        if bad <= good * (1 + relative):
            break
        for aim in (1 - relative / 3, 1 + relative / 3):
            middle = min(max(_crossing(cost, budget, good, bad) * aim, good), bad)
            middle = middle if good < middle < bad else math.sqrt(good * bad)
            good, bad = (middle, bad) if cost(middle) <= budget else (good, middle)
    return good


def _crossing(cost: Callable[[float], float], budget: float, good: float, bad: float) -> float:
    low, high = cost(good), cost(bad)
    if not 0 < low < high < math.inf:
        return math.sqrt(good * bad)
    share = min(max(math.log(budget / low) / math.log(high / low), 0.0), 1.0)
    return good * math.exp(share * math.log(bad / good))
