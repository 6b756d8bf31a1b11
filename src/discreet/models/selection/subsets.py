"""The choice among models fitted on disjoint blocks of the rows (CL13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.budget import Budget
from discreet.engines import Rows
from discreet.events import Approximate, Event, Pure
from discreet.inside import Inside
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models.selection.candidates import Found, candidate, fitted
from discreet.models.selection.losses import Losses

ROOM = 1 - 1e-12  # two parts of a budget add up to no more than it


@dataclass(frozen=True, eq=False)
class Subsets(Inside):
    """Deal the rows to blocks, fit each candidate on its own, and choose by the errors on the last.

    Attributes
    ----------
    estimator, settings : what to fit.
    scale : `classes` or `target`, what losses are counted in.
    n : the number of rows, where it is public.
    refit : the share of (ε, δ) kept for a fit of the winner to all rows; 0 to return the winner as it is.

    Guarantee
    ---------
    (ε, δ)-DP for the event's ε and δ: `mechanisms/proofs/selection.md`. A row is in one block, so what is paid on each
    is not added up.
    """

    name: str
    estimator: Any
    settings: tuple[dict[str, Any], ...]
    scale: dict[str, Any]
    n: int | None
    refit: float
    proof = "selection"
    pays = (Approximate, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The winner."""
        assert isinstance(event, (Approximate, Pure))
        whole = event.epsilon, event.delta if isinstance(event, Approximate) else 0.0
        first, second = ((1 - self.refit) * ROOM, self.refit) if self.refit else (1.0, 0.0)
        epsilon, delta = first * whole[0], first * whole[1]

        count = len(self.settings) + 1
        models: list[Any] = []
        for block in rows.blocks(count, Coins.fresh(rng)):
            if len(models) < len(self.settings):
                made = on_block(self.estimator, self.settings[len(models)], epsilon, delta, self.n, count)
                models.append(fitted(made, block, rng))
            else:
                index = choose(Losses(tuple(models), **self.scale), block, epsilon, budget, rng)
        if not self.refit:
            return Found(index, models[index]), None
        last = candidate(self.estimator, self.settings[index], second * whole[0], second * whole[1], self.n)
        return Found(index, fitted(last, rows, rng)), None


def on_block(estimator: Any, setting: dict[str, Any], epsilon: float, delta: float, n: int | None, blocks: int) -> Any:
    """A candidate for one of several blocks of n rows, if n is public.

    It is told about how many rows a block has; but all n, which no block exceeds, where its promise rests on there
    being no more than it was told.
    """
    made = candidate(estimator, setting, epsilon, delta, n)
    return made if n is None or made._n_is_limit else made.set_params(n=n // blocks)


def choose(losses: Losses, rows: Rows, epsilon: float, budget: Budget, rng: Keystream) -> int:
    """The place of a model with few errors on these rows: ε-DP by the exponential mechanism.

    A row that is added can only make losses larger, so under add-remove the scores are monotonic, which halves the
    price.
    """
    total, step = losses.add_up(rows)
    return exponential(-total, epsilon, step, rng, monotonic=budget.neighbours == "add-remove")
