"""Full-batch gradient descent in the coordinates of the bounds: the textbook method, for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.budget import radial
from discreet.images import Scaled
from discreet.models.fit import ADAPTS, Fit
from discreet.models.logistic.counts import FEW, class_counts, too_few, total_rows
from discreet.models.logistic.directions import Directions
from discreet.models.logistic.walk import Walk
from discreet.models.scaling import around_zero
from discreet.task import Task

Floats = NDArray[np.float64]

COUNTS, ROUNDS, ROUNDS_PURE = 0.02, 30, 5
STEP = 8.0  # for the average gradient of rows in the unit ball


def gradient_descent(task: Task, rounds: int | None = None) -> Fit:
    """Noisy gradients of all rows, features scaled into [-1, 1], from zero; the second half of the steps is averaged.

    References
    ----------
    Bassily, Smith & Thakurta, "Private empirical risk minimization", FOCS 2014 (without sampling).
    """
    rounds = rounds or (ROUNDS_PURE if task.budget.pure else ROUNDS)
    bounds, (for_counts, *for_steps) = task.deal(radial(COUNTS), *[radial((1 - COUNTS) / rounds)] * rounds)
    bounds = bounds if task.intercept else around_zero(bounds)

    # BOUND + SUMMARISE + PRIVATISE: the number of rows, then gradients, each at most as long as a row
    counts = class_counts(task.curator, for_counts, len(bounds.classes or ()))
    rows = Directions(Scaled.by(bounds, task.intercept), task.width)
    walk = Walk(task.curator, rows, math.sqrt(task.width), total_rows(counts.total, task.n), STEP / task.width)
    classes = len(counts.value)
    theta, _ = walk.run(np.zeros((1 if classes == 2 else classes, task.width)), for_steps)
    task.note(*((ADAPTS, FEW) if too_few(counts, task) else (ADAPTS,)))
    return Fit(theta, bounds=bounds, narrow=bounds)
