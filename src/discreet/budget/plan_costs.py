"""Prices: what each share of a plan buys."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from discreet.accounting import noise_multiplier, scaled
from discreet.budget.budget import Budget, Part, Plan
from discreet.events import (
    Approximate,
    Choice,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Minimum,
    Pure,
    Repeated,
    Sampled,
)

PURE = {"noise": lambda w: Laplace(1 / w), "radial": Pure, "counts": Pure, "choice": Choice}


def deal(plan: Plan) -> tuple[Event, ...]:
    """What each share of a plan buys: the plan as a whole costs its budget, exactly."""
    return _calibrate(plan.budget, plan.parts, plan.rounds, plan.rate, plan.sampled)


@lru_cache(maxsize=256)
def _calibrate(*of_plan: Any) -> tuple[Event, ...]:
    """The events of a plan, kept: they follow from what is public, and every fit makes its plan anew."""
    plan = Plan(*of_plan)
    epsilon, delta = plan.budget.epsilon, plan.budget.delta
    pairs = list(zip(plan.parts, plan.weights, strict=True))
    if any(part.kind == "minimum" for part in plan.parts):
        _refuse_minima(plan)
    if all(part.kind == "approximate" for part in plan.parts) and not plan.budget.pure and plan.rounds == 1:
        room = 1.0 if len(pairs) == 1 else 1 - 1e-12  # ε adds, δ adds
        return tuple(Approximate(weight * room * epsilon, weight * room * delta) for _, weight in pairs)
    if plan.budget.pure:
        if any(part.kind == "approximate" for part in plan.parts):
            raise ValueError("This method is known as (ε, δ)-private only: it needs delta > 0. Got delta = 0.")
        return scaled(tuple(PURE[part.kind](weight) for part, weight in pairs), epsilon, 0.0)
    if all(part.kind == "choice" for part in plan.parts) and len(pairs) == 1:
        return (Choice(epsilon),)
    templates = tuple(_template(part, weight, _base(plan), plan.budget) for part, weight in pairs)
    room = epsilon * (1 - 1e-9)  # for the accountant to round upward
    if plan.rate == 1:
        rounds = tuple(Repeated(event, plan.rounds) for event in templates) if plan.rounds > 1 else templates
        return tuple(event.event if isinstance(event, Repeated) else event for event in scaled(rounds, room, delta))
    (whole,) = scaled((Repeated(Sampled(plan.rate, Composed(templates)), plan.rounds),), room, delta)
    assert isinstance(whole, Repeated) and isinstance(whole.event, Sampled) and isinstance(whole.event.event, Composed)
    return whole.event.event.events


def as_one(plan: Plan, events: tuple[Event, ...]) -> Event:
    """All that a plan may do, as one event, given what each share buys."""
    one = events[0] if len(events) == 1 else Composed(events)
    whole = one if plan.rate == 1 else Sampled(plan.rate, one)
    return whole if plan.rounds == 1 else Repeated(whole, plan.rounds)


def _refuse_minima(plan: Plan) -> None:
    """Raise where the privacy of a minimum is not known."""
    if plan.budget.pure:
        raise ValueError("The minimum of a perturbed objective needs delta > 0. Got delta = 0.")
    if plan.budget.neighbours != "add-remove":
        raise ValueError(
            "The privacy of a minimum is stated for add-remove neighbours, not for 'replace-one'. Hint: with "
            "approximate(weight) in its place, an ε and a δ proved for replace-one can be used."
        )
    if plan.rounds > 1 or plan.sampled:
        raise ValueError("The minimum of a perturbed objective is found once, on all rows: not on sampled lots.")


def _base(plan: Plan) -> float:
    """The noise multiplier of a part of weight 1; parts known as (ε, δ) only get their shares of those first."""
    rest = math.fsum(w for part, w in zip(plan.parts, plan.weights, strict=True) if part.kind != "approximate")
    if rest > 1 - 1e-9:
        return 1.0
    return noise_multiplier(rest * plan.budget.epsilon, rest * plan.budget.delta) * math.sqrt(rest)


def _template(part: Part, weight: float, base: float, budget: Budget) -> Event:
    if part.kind == "approximate":
        return Approximate(weight * budget.epsilon, weight * budget.delta)
    if part.kind == "minimum":
        return Minimum(base / math.sqrt(weight), part.excess, part.two_sided)
    # equal weights are equal shares of zero-concentrated privacy: μ²/2 for noise, ε²/8 for a choice
    return Choice(2 * math.sqrt(weight) / base) if part.kind == "choice" else Gaussian(base / math.sqrt(weight))
