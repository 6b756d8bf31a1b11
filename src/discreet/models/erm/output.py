"""Output perturbation (CL1, CL3): the minimum of a regularised sum of losses, plus noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, inside, radial
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.curator.total_noise import FINE, deviation_of, perturbed, size_of
from discreet.engines import Rows
from discreet.events import Event, Gaussian, Pure
from discreet.mechanisms.keystream import Keystream
from discreet.models.erm.accelerated import Minimiser
from discreet.models.erm.passes import cap_passes, refuse_weak_penalty
from discreet.models.erm.problem import WEAKEST, Objective, UnitVectors, count_changed_rows, count_columns
from discreet.models.erm.row_limit import FOR_COUNT, limit_rows, plan_count

Floats = NDArray[np.float64]

SLIGHT = 2.0**-10  # the tolerance of the minimum, as a part of what one row moves it by
LENGTH = 2.5  # of the noise in the coefficients of a class, where Λ follows the rule


def output(task: Task, objective: Objective) -> Floats:
    """Coefficients of least regularised loss, with noise as large as one row can move them.

    The objective is Σ loss(±u·θ) + Λ/2·‖θ‖² over a ball, rows u in the unit ball, slopes of the loss within -1 and 0.
    One row changes its gradient by at most 1, so its minimum moves by at most 1/Λ (2/Λ where a row is replaced). The
    objective is a sum, so Λ owes nothing to the number of rows. The noise is Gaussian for δ > 0, of gamma radius for
    δ = 0, and covers all classes together. Λ, unless given, makes the noise of a class about 2.5 long.

    Notes
    -----
    That of the budget, add-remove or replace-one, whatever the rows, float error charged: `mechanisms/proofs/erm.md`.
    The number of passes over the rows follows from a public limit on their number: n where that is public (then for
    data of at most n rows), else a noisy count with 1 to 3% of the budget, for δ > 0.

    Returns
    -------
    One line per class (of two classes: one line, for the second), for rows u = (z, 1)/‖(z, 1)‖.

    | data | what comes out |
    | --- | --- |
    | no rows, one row, one class | zeros, or nearly, and noise |
    | constant or collinear columns, separable classes | finite coefficients: Λ > 0 |

    References
    ----------
    Chaudhuri, Monteleoni & Sarwate, "Differentially private empirical risk minimization", JMLR 2011, algorithm 1.
    """
    refuse_weak_penalty(task, objective)
    bounds, shares = task.deal(inside(radial(1 - FOR_COUNT)), *plan_count(task))
    columns, event = count_columns(len(bounds.classes or ())), task.curator.buys(shares[0])

    # BOUND: rows in the unit ball
    image = UnitVectors.from_bounds(bounds)

    # SUMMARISE and PRIVATISE: how many rows there may be; the minimum, inside the curator; then noise
    rows, (share,) = limit_rows(task, shares)
    noise = count_changed_rows(task.budget) * noise_length(event, columns, image.width)
    strength = float(objective.strength or max(noise / LENGTH, WEAKEST))
    radius, finest = float(objective.radius), minimum_tolerance(strength)
    minimiser = Minimiser(image, objective.loss, columns, strength, radius, finest, rows)
    noisy = NoisyMinimum("coefficients", cap_passes(minimiser, task, objective))
    return np.asarray(task.curator.run(noisy, share).value)


def minimum_tolerance(strength: float) -> float:
    """How exact a minimum should be where one row moves it by 1/Λ."""
    return min(max(SLIGHT / strength, 2.0**-16), 2.0**-8)


def noise_length(event: Event, columns: int, width: int) -> float:
    """About how long the noise in a class's coefficients is, where one row moves those of each of `columns` by 1."""
    return deviation_of(event, columns * width) * math.sqrt(columns * width)


@dataclass(frozen=True, eq=False)
class NoisyMinimum(Inside):
    """The minimum of every class, with noise."""

    name: str
    minimiser: Minimiser
    proof = "erm"
    pays = (Gaussian, Pure)

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """The coefficients plus noise of their sensitivity."""
        minimiser = self.minimiser
        theta = minimiser(rows, np.zeros((minimiser.columns, minimiser.image.width)))
        return add_coefficient_noise(theta, self.sensitivity(budget), event, rng)

    def sensitivity(self, budget: Budget) -> Fraction:
        """How far the coefficients of a class can move, the tolerance of the minimum on both sides."""
        return count_changed_rows(budget) / Fraction(self.minimiser.strength) + 2 * Fraction(self.minimiser.tolerance)


def add_coefficient_noise(theta: Floats, each: Fraction, event: Event, rng: Keystream) -> tuple[Floats, float]:
    """Coefficients with noise, where those of every line can move by `each`; and its deviation."""
    assert isinstance(event, Gaussian | Pure)  # noise of the ℓ2 norm
    sensitivity = each * (math.isqrt((len(theta) << 64) - 1) + 1) / 2**32  # all lines together: √(their number)
    exponent = math.frexp(size_of(event) * float(sensitivity))[1] - FINE
    unit = Fraction(2) ** exponent
    whole = np.array([round(value) for value in np.ldexp(theta, -exponent).ravel().tolist()], dtype=object)
    steps = sensitivity / unit + math.isqrt(theta.size) + 1  # rounding moves either neighbour by at most √size/2 units
    noisy = perturbed(whole, steps, event, rng)
    value = np.ldexp(noisy.astype(np.float64), exponent).reshape(theta.shape)
    return value, deviation_of(event, theta.size) * float(steps * unit)
