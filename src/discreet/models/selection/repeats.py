"""The best of a random number of private trials on all rows (CL13)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.budget import Budget
from discreet.curator.procedures import Inside
from discreet.engines import Rows
from discreet.errors import NotSupported
from discreet.events import Approximate, Event, Gaussian, Pure
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.laplace import add_laplace
from discreet.models.selection.candidates import Found, candidate, fitted
from discreet.models.selection.prediction_losses import Losses
from discreet.models.selection.rehearsal import Schema
from discreet.models.selection.trial_plan import Plan
from discreet.models.selection.trials import Law


@dataclass(frozen=True, eq=False)
class Repeats(Inside):
    """Draw K; K times draw a candidate, fit it and score it, both privately, on all rows; the best alone leaves.

    Attributes
    ----------
    estimator, settings, scale, n : as in `Subsets`.
    law : of K.
    plan : what each trial spends, from `Planner.plan`.
    schema : the table without its rows, for the case that K = 0.
    pad : whether trials that do not count are made, up to a public number, so that time does not tell K.

    Notes
    -----
    (ε, δ)-DP for the event's ε and δ, within which the plan is: `mechanisms/proofs/selection.md`. K is not released.
    """

    name: str
    estimator: Any
    settings: tuple[dict[str, Any], ...]
    scale: dict[str, Any]
    n: int | None
    law: Law
    plan: Plan
    schema: Schema
    pad: bool
    proof = "selection"
    pays = (Approximate, Pure)

    def check(self, event: Event) -> None:
        """Raise, before anything is charged, if the best of the trials costs more than was paid for."""
        super().check(event)
        assert isinstance(event, (Approximate, Pure))
        delta = event.delta if isinstance(event, Approximate) else 0.0
        if self.plan.delta > delta or self.plan.cost(self.law) > event.epsilon:
            raise ValueError("The trials that were planned cost more than was paid for.")

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The best trial."""
        counted = self.law.draw(rng)
        best, found = -math.inf, self._trial(self.schema, rng, ran=False)
        for number in range(max(counted, self.law.enough if self.pad else 0)):
            trial = self._trial(rows, rng)
            score = self._score(trial.model, rows, rng)
            if number < counted and score > best:
                best, found = score, trial
        return found, None

    def _trial(self, rows: Any, rng: Keystream, ran: bool = True) -> Found:
        index = below(len(self.settings), rng)
        made = candidate(self.estimator, self.settings[index], self.plan.epsilons[index], self.plan.delta, self.n)
        model = fitted(made, rows, rng)
        if model.release_.event != self.plan.fits[index]:
            raise NotSupported("A search repeats estimators whose charges do not depend on rows; this one's do.")
        return Found(index, model, ran)

    def _score(self, model: Any, rows: Rows, rng: Keystream) -> int:
        total, step = Losses((model,), **self.scale).add_up(rows)
        noise = self.plan.score
        add = add_gaussian if isinstance(noise, Gaussian) else add_laplace
        return -int(add(total, step, noise, rng)[0])  # type: ignore[arg-type]


def below(count: int, rng: Keystream) -> int:
    """A whole number uniform on 0 .. count - 1, exactly.

    >>> below(1, Keystream()), below(3, Keystream()) in (0, 1, 2)
    (0, True)
    """
    while True:
        index = rng.bits((count - 1).bit_length())
        if index < count:
            return index
