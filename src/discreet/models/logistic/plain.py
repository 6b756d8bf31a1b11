"""Full-batch gradient descent in the coordinates of the bounds: the textbook method, for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.budget import radial
from discreet.images import Scaled
from discreet.models.linear.problem import ADAPTS
from discreet.models.logistic.counts import FEW, class_counts, too_few, total_rows
from discreet.models.logistic.directions import Directions
from discreet.models.logistic.problem import Fit, Problem, around_zero
from discreet.models.logistic.walk import Walk

Floats = NDArray[np.float64]

COUNTS, ROUNDS, ROUNDS_PURE = 0.02, 30, 5
STEP = 8.0  # for the average gradient of rows in the unit ball


def gradient_descent(problem: Problem) -> Fit:
    """Noisy gradients of all rows, features scaled into [-1, 1], from zero; the second half of the steps is averaged.

    References
    ----------
    Bassily, Smith & Thakurta, "Private empirical risk minimization", FOCS 2014 (without sampling).
    """
    rounds = problem.rounds or (ROUNDS_PURE if problem.budget.pure else ROUNDS)
    bounds, (for_counts, *for_steps) = problem.deal(radial(COUNTS), *[radial((1 - COUNTS) / rounds)] * rounds)
    bounds = bounds if problem.intercept else around_zero(bounds)

    # BOUND + SUMMARISE + PRIVATISE: the number of rows, then gradients, each at most as long as a row
    counts = class_counts(problem.curator, for_counts, problem.classes())
    rows = Directions(Scaled.by(bounds, problem.intercept), problem.width)
    walk = Walk(
        problem.curator, rows, math.sqrt(problem.width), total_rows(counts.total, problem.n), STEP / problem.width
    )
    classes = len(counts.value)
    theta, _ = walk.run(np.zeros((1 if classes == 2 else classes, problem.width)), for_steps)
    return Fit(theta, bounds, bounds, (ADAPTS, FEW) if too_few(counts, problem) else (ADAPTS,))
