"""What each trial of a repeated search may spend, so that the best of them is worth the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting import curves, gauss
from discreet.budget import Budget
from discreet.errors import NotSupported
from discreet.events import Composed, Event, Gaussian, Laplace
from discreet.mechanisms.keystream import default
from discreet.models.selection.candidates import candidate, fitted
from discreet.models.selection.rehearsal import Schema
from discreet.models.selection.renyi import Trial, affordable, epsilon_of
from discreet.models.selection.trials import Law

TRIES = 10  # halvings of what a fit may spend, where its cost is not known in closed form
LESS = 0.95  # of μ, again and again, where all settings together turn out too dear
ROUNDS = 40


@dataclass(frozen=True)
class Plan:
    """(ε, δ) of the fit of each setting, the event that it then runs, and the noise of every score."""

    epsilons: tuple[float, ...]
    delta: float
    fits: tuple[Event, ...]
    score: Gaussian | Laplace

    def cost(self, law: Law) -> float:
        """The ε of the best of K such trials, whichever settings they have."""
        return epsilon_of(Trial(tuple({Composed((fit, self.score)) for fit in self.fits})), law, self.delta)


@dataclass(frozen=True, eq=False)
class Planner:
    """Settings of an estimator, rehearsed on no rows: public, and free.

    Attributes
    ----------
    estimator, settings, n : what will be fitted.
    budget, law : what the best of K trials is to be worth.
    schema : the table without its rows.
    share : of a trial's budget, for its score.
    """

    estimator: Any
    settings: tuple[dict[str, Any], ...]
    n: int | None
    budget: Budget
    law: Law
    schema: Schema
    share: float

    def plan(self) -> Plan:
        """The plan: of Gaussian fits exactly the budget; of others nearly."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        if self.budget.pure:
            one = affordable(self.law, epsilon, 0.0)
            epsilons = (one * (1 - self.share) * (1 - 1e-12),) * len(self.settings)
            return Plan(epsilons, 0.0, self._events(epsilons), Laplace(1 / (one * self.share)))
        mu = affordable(self.law, epsilon, delta) * (1 - 1e-6)
        found = self._shared(mu)
        if found.cost(self.law) <= epsilon:
            return found
        # noise of another kind: each setting by itself, beside Gaussian ones, at whole orders
        mu = affordable(self.law, epsilon, delta, True)
        for _ in range(ROUNDS):
            found = self._apart(mu)
            if found.cost(self.law) <= epsilon:
                return found
            mu *= LESS
        raise ValueError("The budget is too small for so many trials of this estimator.")

    def _shared(self, mu: float) -> Plan:
        epsilons = (gauss.epsilon_of(mu * math.sqrt(1 - self.share), self.budget.delta),) * len(self.settings)
        return self._plan(epsilons, self._events(epsilons), mu)

    def _apart(self, mu: float) -> Plan:
        most = gauss.epsilon_of(mu * math.sqrt(1 - self.share), self.budget.delta)
        pairs = [self._largest(setting, most, mu) for setting in self.settings]
        return self._plan(tuple(epsilon for epsilon, _ in pairs), tuple(event for _, event in pairs), mu)

    def _plan(self, epsilons: tuple[float, ...], fits: tuple[Event, ...], mu: float) -> Plan:
        return Plan(epsilons, self.budget.delta, fits, Gaussian(1 / (mu * math.sqrt(self.share))))

    def _largest(self, setting: dict[str, Any], most: float, mu: float) -> tuple[float, Event]:
        """The largest ε found at which a fit costs no more than Gaussian noise of this μ would."""
        limit = epsilon_of(Trial((Gaussian(1 / mu),), whole=True), self.law, self.budget.delta)

        def event(epsilon: float) -> Event:
            return self._event(setting, epsilon, self.budget.delta)

        def fine(found: Event) -> bool:
            both = Composed((found, Gaussian(1 / (mu * math.sqrt(self.share))))), Gaussian(1 / mu)
            return epsilon_of(Trial(both, whole=True), self.law, self.budget.delta) <= limit * (1 + 1e-6)

        best, low, high = (most, event(most)), 0.0, most
        if fine(best[1]):
            return best
        for _ in range(TRIES):
            middle = (low + high) / 2
            found = event(middle)
            low, high, best = (middle, high, (middle, found)) if fine(found) else (low, middle, best)
        if low == 0.0:
            raise ValueError("The budget is too small for so many trials of this estimator.")
        return best

    def _events(self, epsilons: Sequence[float]) -> tuple[Event, ...]:
        pairs = zip(self.settings, epsilons, strict=True)
        return tuple(self._event(setting, epsilon, self.budget.delta) for setting, epsilon in pairs)

    def _event(self, setting: dict[str, Any], epsilon: float, delta: float) -> Event:
        """What the fit of a setting runs."""
        made = candidate(self.estimator, setting, epsilon, delta, self.n)
        event: Event = fitted(made, self.schema, default()).release_.event
        if delta and curves.slack(event):
            raise NotSupported(
                'strategy="repeats" needs fits whose Rényi divergence is known; of this one only (ε, δ) is. '
                'Hint: strategy="subsets".'
            )
        return event
