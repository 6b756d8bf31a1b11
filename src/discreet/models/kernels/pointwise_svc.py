"""The test-data-independent learner (CL8) of classes: a support vector machine that stays inside the curator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, approximate, inside, radial
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.curator.total_noise import deviation_of
from discreet.engines import Rows
from discreet.events import Approximate, Event, Pure
from discreet.mechanisms.keystream import Keystream
from discreet.models.erm.accelerated import Minimiser
from discreet.models.erm.output import NoisyMinimum, minimum_tolerance
from discreet.models.erm.passes import cap_passes
from discreet.models.erm.problem import UNIT, WEAKEST, Objective, UnitVectors, count_changed_rows, count_columns
from discreet.models.erm.row_limit import FOR_COUNT_APART, limit_rows, plan_count
from discreet.models.kernels.public_points import ROUNDS, Farthest, rounds_of
from discreet.models.svm import LinearSVC
from discreet.query import Batch

Floats = NDArray[np.float64]

NOISE = 0.4  # of a score, where Λ follows the rule: scores are about 1 where a class is clear


class PointwiseSVC(LinearSVC):
    """Support vector machine of features, known through its scores at a few public points alone.

    The machine of `LinearSVC` stays inside the curator; `Farthest` tells scores of it, of all classes together. One row
    moves a score by at most 1/Λ, however many features there are, and Λ is a public rule of the noise: a score is off
    by about 0.4. The score of a class is a machine of that class against the rest; for two classes there is one.

    Parameters are those of `LinearSVC`; how the minimum is released, and Λ, are not among them.

    Attributes
    ----------
    rounds : how many points are picked per machine.
    candidates : features of the public points to pick from.

    Notes
    -----
    That of the budget, whatever the rows, float error charged: `mechanisms/proofs/pointwise.md`. For δ = 0, `n`, or an
    upper limit of it, has to be public.

    References
    ----------
    P. Jain & A. Thakurta, "Differentially private learning with kernels", ICML 2013.
    """

    rounds: int = ROUNDS
    candidates: Any = None

    def _find_coefficients(self, task: Task, objective: Objective) -> Floats:
        main: Any = radial if task.budget.pure else approximate
        bounds, shares = task.deal(inside(main(1 - FOR_COUNT_APART)), *plan_count(task, FOR_COUNT_APART))
        columns, radius = count_columns(len(bounds.classes or ())), float(objective.radius)

        # BOUND: rows in the unit ball, the public points among them
        image = UnitVectors.from_bounds(bounds)
        points = image(Batch(np.asarray(self.candidates, np.float64))) * UNIT
        farthest = Farthest(points, self.rounds * columns, math.sqrt(image.width), columns)

        # SUMMARISE and PRIVATISE: how many rows there may be; the minimum, inside the curator; then points, and scores
        rows, (share,) = limit_rows(task, shares)
        noise = count_changed_rows(task.budget) * deviation_of(
            rounds_of(task.curator.buys(share), farthest.rounds)[1], 1
        )
        strength = max(noise / NOISE, WEAKEST)
        exact = Minimiser(image, objective.loss, columns, strength, radius, minimum_tolerance(strength), rows)
        picked = task.curator.run(FarthestMargins("points", cap_passes(exact, task, objective), farthest), share).value

        # SOLVE: the guess that fits them
        return farthest.guess(picked)


@dataclass(frozen=True, eq=False)
class FarthestMargins(Inside):
    """Scores, with noise, of support vector machines at points where a guess is far from them."""

    name: str
    minimiser: Minimiser
    farthest: Farthest
    proof = "pointwise"
    pays = (Approximate, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """One line per round; see `Farthest`."""
        minimiser = self.minimiser
        theta = minimiser(rows, np.zeros((minimiser.columns, minimiser.image.width)))
        move = NoisyMinimum(self.name, minimiser).sensitivity(budget)
        return self.farthest(theta, minimiser.radius, move, event, rng), None
