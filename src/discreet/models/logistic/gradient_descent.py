"""Full-batch gradient descent in the coordinates of the bounds: the textbook method, for comparison."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.budget import radial
from discreet.curator.task import Task
from discreet.models.logistic.class_counts import FEW_NOTE, count_classes, estimate_rows, has_too_few_rows
from discreet.models.logistic.directions import RowDirections, binary_residuals, multiclass_residuals, sum_gradients
from discreet.models.shared.linear_fit import ADAPTS, Fit
from discreet.models.shared.scaling import centre_at_zero
from discreet.query.images import Scaled

Floats = NDArray[np.float64]

COUNTS, ROUNDS, ROUNDS_PURE = 0.02, 30, 5
STEP = 8.0  # for the average gradient of rows in the unit ball


def fit_gradient_descent(task: Task, rounds: int | None = None) -> Fit:
    """Noisy gradients of all rows, features scaled into [-1, 1], from zero; the second half of the steps is averaged.

    References
    ----------
    Bassily, Smith & Thakurta, "Private empirical risk minimization", FOCS 2014 (without sampling).
    """
    rounds = rounds or (ROUNDS_PURE if task.budget.pure else ROUNDS)
    bounds, (for_counts, *for_steps) = task.deal(radial(COUNTS), *[radial((1 - COUNTS) / rounds)] * rounds)
    bounds = bounds if task.intercept else centre_at_zero(bounds)

    # BOUND + SUMMARISE + PRIVATISE: the number of rows, then gradients, each at most as long as a row
    counts = count_classes(task.curator, for_counts, len(bounds.classes or ()))
    rows = RowDirections(Scaled.from_bounds(bounds, task.intercept), task.width)
    n, classes = estimate_rows(counts.total, task.n), len(counts.value)
    theta, places = np.zeros((1 if classes == 2 else classes, task.width)), []
    task.curator.keep()
    for i, share in enumerate(for_steps, 1):
        query = sum_gradients(
            rows, theta, math.sqrt(task.width), binary_residuals if classes == 2 else multiclass_residuals, f"round {i}"
        )
        found = task.curator.measure(query, share)
        theta = theta + STEP / task.width * centre_gradients(np.asarray(found.value).reshape(task.width, -1).T) / n
        places.append(theta)

    # SOLVE: the second half of the steps, averaged
    theta = np.mean(places[rounds // 2 :], axis=0)
    task.note(*((ADAPTS, FEW_NOTE) if has_too_few_rows(counts, task) else (ADAPTS,)))
    return Fit(theta, bounds=bounds, narrow=bounds)


def centre_gradients(move: Floats) -> Floats:
    """Gradients of all classes add up to zero: what does not is noise."""
    return move if len(move) == 1 else np.asarray(move - move.mean(axis=0))
