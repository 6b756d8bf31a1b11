"""The choice among models fitted on disjoint blocks of the rows (CL13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.budget import Budget
from discreet.curator.procedures import Inside
from discreet.engines import Rows
from discreet.events import Approximate, Event, Pure
from discreet.mechanisms.choose import exponential
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models.selection.candidates import Found, candidate, fitted
from discreet.models.selection.prediction_losses import Losses

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

    Notes
    -----
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
        epsilon, delta = event.epsilon, event.delta if isinstance(event, Approximate) else 0.0
        models: list[Any] = []
        for block in rows.split_into_blocks(len(self.settings) + 1, Coins.draw_key(rng)):
            if len(models) < len(self.settings):
                models.append(fitted(self.on_block(self.settings[len(models)], epsilon, delta), block, rng))
            else:
                losses = Losses(tuple(models), **self.scale)
                index = choose(losses, block, self._first * epsilon, budget, rng)
        if not self.refit:
            return Found(index, models[index]), None
        return Found(index, fitted(self.on_all(self.settings[index], epsilon, delta), rows, rng)), None

    def on_block(self, setting: dict[str, Any], epsilon: float, delta: float) -> Any:
        """A candidate for one block, of the (ε, δ) of the whole.

        If n is public, it is told about how many rows a block has; but all n, which no block exceeds, where its promise
        rests on there being no more than it was told.
        """
        made = candidate(self.estimator, setting, self._first * epsilon, self._first * delta, self.n)
        return made if self.n is None or made._n_is_limit else made.set_params(n=self.n // (len(self.settings) + 1))

    def on_all(self, setting: dict[str, Any], epsilon: float, delta: float) -> Any:
        """The winner's setting, for a fit to all rows."""
        return candidate(self.estimator, setting, self.refit * epsilon, self.refit * delta, self.n)

    @property
    def _first(self) -> float:
        """The part of (ε, δ) for the choice."""
        return (1 - self.refit) * ROOM if self.refit else 1.0


def choose(losses: Losses, rows: Rows, epsilon: float, budget: Budget, rng: Keystream) -> int:
    """The place of a model with few errors on these rows: ε-DP by the exponential mechanism.

    A row that is added can only make losses larger, so under add-remove the scores are monotonic, which halves the
    price.
    """
    total, step = losses.add_up(rows)
    return exponential(-total, epsilon, step, rng, monotonic=budget.neighbours == "add-remove")
