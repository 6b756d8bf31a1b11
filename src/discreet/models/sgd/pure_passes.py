"""Passes over disjoint mini-batches: each row is in one batch of a pass, so a pass costs what one batch does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget
from discreet.curator.procedures import Inside
from discreet.curator.total_noise import FINE, deviation_of, perturbed, size_of
from discreet.engines import Rows
from discreet.events import Event, Gaussian, Pure
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models.sgd.row_gradients import BITS, RowGradients
from discreet.models.sgd.schedule import Descent
from discreet.query import BoundedSum, Exact

Floats = NDArray[np.float64]
Batches = Literal["constant", "growing", "shrinking"]


def ignore_descent(descent: Descent) -> None:
    """What nobody watches."""


@dataclass(frozen=True, eq=False)
class BatchPasses(Inside):
    """Descent by noisy gradients of mini-batches that do not overlap, in one pass over the rows or several.

    Before each pass every row is dealt into one of Σ`sizes` blocks by a coin of its own; batch i is the next `sizes`[i]
    of them. The gradients of a batch are clipped, added up and noised: of gamma radius under `Pure`, Gaussian under
    `Gaussian`. With a single batch, passes are descent on all rows.

    Notes
    -----
    That of the event, for all steps together, add-remove or replace-one: `mechanisms/proofs/passes.md`.

    | rows | what comes out |
    | --- | --- |
    | none, or none in some batch | noise alone, of the same law |
    | with something missing | count for nothing |

    Parameters
    ----------
    design : what a row adds, mapped by `design.polar`.
    start : where the descent starts; public, and not changed.
    clip : the norm that every row's gradient is clipped to.
    sizes : of the batches of a pass, as parts of their sum.
    passes : how many.
    rows : about how many rows there are: public, or released before.
    watch : is shown the descent after each step: a function of the noisy sums so far.

    References
    ----------
    Song, Chaudhuri & Sarwate, "Stochastic gradient descent with differentially private updates", GlobalSIP 2013;
    McSherry, "Privacy integrated queries", SIGMOD 2009, for parallel composition.
    """

    name: str
    design: RowGradients
    start: Descent
    clip: float
    sizes: tuple[int, ...]
    passes: int
    rows: float
    watch: Callable[[Descent], None] = ignore_descent
    proof = "passes"
    pays = (Gaussian, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The noisy sum of the gradients of every batch, in order, and its standard deviation."""
        descent, left = self.start.copy(), []
        each = self.split_event(event)
        deviation = 0.0
        for _ in range(self.passes):
            for batch, size in zip(self._draw_batches(rows, rng), self.sizes, strict=True):
                value, deviation = measure_batch(
                    self.design.sum_gradients(descent.theta, self.clip), batch, each, budget, rng
                )
                self.take_step(descent, value, size)
                left.append(value)
                self.watch(descent)
        return np.stack(left), deviation

    def split_event(self, event: Event) -> Event:
        """What one pass runs under: ε/passes, or √passes times the noise, so that all of them make up the event."""
        if isinstance(event, Gaussian):
            return Gaussian(event.noise_multiplier * math.sqrt(self.passes) * (1 + 2.0**-50))
        assert isinstance(event, Pure)
        return Pure(event.epsilon / self.passes * (1 - 2.0**-50))

    def take_step(self, descent: Descent, total: Floats, size: int) -> None:
        """What becomes of a noisy sum of a batch: a step down the mean gradient. Post-processing."""
        descent.step(total / max(1.0, self.rows * size / sum(self.sizes)))

    def _draw_batches(self, rows: Rows, rng: Keystream) -> Iterator[list[Rows]]:
        if self.sizes == (1,):
            yield [rows]
            return
        blocks = rows.split_into_blocks(sum(self.sizes), Coins.draw_key(rng))
        for size in self.sizes:
            yield list(islice(blocks, size))


def measure_batch(
    query: BoundedSum, batch: list[Rows], event: Event, budget: Budget, rng: Keystream
) -> tuple[Floats, float]:
    """The gradient of some blocks of rows, with noise of its sensitivity; and the deviation of the noise."""
    widths = query.read_widths(batch[0].make_empty_batch())
    query = replace(query, fixed=widths).coarsen_grid(size_of(event), widths)
    total: Exact = np.sum([block.sum(query).astype(object) for block in batch], axis=0)
    sensitivity, exponent = query.sensitivity(widths, budget.neighbours), query.exponent(widths)
    fine = max(0, FINE - math.frexp(size_of(event) * float(sensitivity))[1])
    noisy = perturbed(total * (1 << fine), sensitivity * (1 << fine), event, rng)
    std = deviation_of(event, total.size) * math.ldexp(float(sensitivity), exponent - BITS)
    return np.ldexp(noisy.astype(np.float64), exponent - fine - BITS), std


def batch_sizes(batch: Batches, count: int) -> tuple[int, ...]:
    """The sizes of so many batches: all alike, or in equal steps up or down.

    >>> batch_sizes("constant", 3), batch_sizes("growing", 3), batch_sizes("shrinking", 3)
    ((1, 1, 1), (1, 2, 3), (3, 2, 1))
    """
    if batch == "constant":
        return (1,) * count
    growing = tuple(range(1, count + 1))
    return growing if batch == "growing" else growing[::-1]
