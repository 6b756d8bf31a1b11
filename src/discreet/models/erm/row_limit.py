"""How many rows there may be: a public limit, given or paid for, that passes and tolerances follow from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import noise_multiplier
from discreet.budget import Budget, Part, Share, inside
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.curator.total_noise import FINE
from discreet.engines import Rows
from discreet.events import Event, Gaussian
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.models.erm.problem import MOST
from discreet.models.shared.classifier import TOO_FEW
from discreet.query import Batch, BoundedSum, OneHot
from discreet.query.images import find_missing
from discreet.release import Release

SURE = 40.0  # deviations: beyond is a part e^(-40²/2) < 1e-347 of all chances, and the smallest float is 5e-324
FOR_COUNT = 0.01  # of the plan, for a noisy count of the rows
FOR_COUNT_APART = 0.03  # the same, where the rest of the plan is an (ε, δ), which adds up less well
FEW = "perhaps too few rows for this budget, as their noisy count has it: what was learnt may be mostly noise"


def plan_count(task: Task, weight: float = FOR_COUNT) -> list[Part]:
    """What the limit costs, as the last part of a plan: nothing, where the number of rows is public."""
    if task.n is not None:
        if task.n > MOST:
            raise ValueError(f"The `n` of a minimum must be within 0 and 2^50. Got {task.n!r}.")
        return []
    if task.budget.pure:
        raise ValueError(
            "This method with delta = 0 needs an upper limit on the number of rows that is public. Hint: give n=... "
            "(with a `unit` the number of units, and no `max_rows_per_unit`), or choose delta > 0, or, of "
            'LogisticRegression, method="auto".'
        )
    return [inside(weight)]


def limit_rows(task: Task, shares: tuple[Share, ...]) -> tuple[float, tuple[Share, ...]]:
    """A limit that holds for the rows and for neighbours of them, and the shares but that of the count."""
    group = task.curator.group
    if task.n is not None:
        return float(max(1, task.n + (group if task.budget.neighbours == "add-remove" else 0))), shares
    *rest, share = shares
    count = task.curator.run(NoisyCount("count"), share)
    if float(count.value) < TOO_FEW * noise_multiplier(task.budget.epsilon, task.budget.delta):
        task.note(FEW)
    return bound_rows(count, group), tuple(rest)


def bound_rows(count: Release, group: int = 1) -> float:
    """The rows and `group` more are so many, or fewer, for all that can be told: `mechanisms/proofs/erm.md`, 3."""
    return float(max(1, math.ceil(float(count.value) + SURE * float(count.std) * (1 + 1e-9)) + 2 * group))


@dataclass(frozen=True)
class NoisyCount(Inside):
    """How many rows count, with noise: of the very rows that a procedure inside sees, which may be one of each unit."""

    name: str
    proof = "erm"
    pays = (Gaussian,)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The noisy number, and the deviation of its noise."""
        assert isinstance(event, Gaussian)
        noise = event.noise_multiplier
        fine = max(0, FINE - math.frexp(noise)[1])
        total = int(rows.sum(BoundedSum(OneHot(_code_whole_rows, 1), name=self.name))[0])
        (noisy,) = add_gaussian([total << fine], 1 << fine, event, rng)
        return math.ldexp(float(noisy), -fine), noise


def _code_whole_rows(batch: Batch) -> NDArray[np.int64]:
    """Rows without anything missing: the others count for nothing."""
    return np.where(find_missing(batch), -1, 0)
