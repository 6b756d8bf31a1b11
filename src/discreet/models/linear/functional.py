"""The functional mechanism (LR7): noise on the coefficients of the loss, pure ε."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.curator.task import Task
from discreet.models.linear.scaled_rows import features, target
from discreet.models.shared.linear_fit import Fit
from discreet.query import Batch, BoundedSum

Floats = NDArray[np.float64]

RIDGE = 3.0  # in lengths of the noise matrix's largest eigenvalues, about √d deviations of an entry
TRIM = 1.5  # directions of less curvature than so many of them are noise


def fit_functional(task: Task) -> Fit:
    """Least squares by a noisy loss: Laplace noise on the coefficients of the quadratic Σ (y - x'θ)², then its minimum.

    The coefficients are Σ x_i x_j, Σ x_i y and Σ y². One row moves the d(d + 1)/2 distinct entries of v v', v = (x, y)
    in the cube [-1, 1]^d, by at most d(d + 1)/2 in ℓ1, whether it is added or replaced. (The paper's bound is d² for
    coefficients 2 Σ x_i x_j off the diagonal: nearly the same noise there, and twice as much on the diagonal.) The
    noisy quadratic need not have a minimum: it is ridged, and directions in which it still does not curve upward are
    left out ("regularisation" and "spectral trimming").

    Notes
    -----
    ε-differential privacy for the budget's relation: one Laplace mechanism (`mechanisms/proofs/query.md`, the triangle
    of a box; `laplace.md`), the rest is post-processing.

    | data | what comes out |
    | --- | --- |
    | no rows, one row, too few rows | mostly zeros: the directions are trimmed |
    | constant or collinear columns | finite coefficients: such directions are ridged or trimmed |
    | δ > 0 | ValueError: the budget of this method is pure |

    References
    ----------
    Zhang, Zhang, Xiao, Yang & Winslett, "Functional mechanism: regression analysis under differential privacy",
    VLDB 2012.
    """
    if not task.budget.pure:
        raise ValueError(
            f"The functional mechanism is pure: its budget has delta = 0. Got delta = {task.budget.delta:g}."
        )
    bounds, (share,) = task.deal(1)
    x, y = features(bounds, task.intercept), target(bounds)

    # BOUND: (x, y) in the cube
    def v(rows: Batch) -> Floats:
        return np.column_stack([x(rows), y(rows)])

    # SUMMARISE: the coefficients of the loss
    loss = BoundedSum(v, v, norm=1, order=1, box=True, name="coefficients of the loss")

    # PRIVATISE
    noisy = task.curator.measure(loss, share)

    # SOLVE: the minimum of the ridged quadratic, where it curves upward
    return Fit(minimise_noisy_quadratic(noisy.value[:-1, :-1], noisy.value[:-1, -1], float(np.max(noisy.std))))


def minimise_noisy_quadratic(curvature: Floats, slope: Floats, noise: float) -> Floats:
    """Where a noisy quadratic is least, ridged and trimmed; `noise` is the deviation of its entries.

    >>> minimise_noisy_quadratic(np.eye(2), np.array([0.5, -1.0]), 0.0)
    array([ 0.5, -1. ])
    >>> minimise_noisy_quadratic(-np.eye(2), np.array([0.5, -1.0]), 0.1)
    array([0., 0.])
    """
    size = noise * math.sqrt(len(curvature))
    values, vectors = np.linalg.eigh(curvature)
    keep = values + RIDGE * size > TRIM * size
    inverse = np.divide(1.0, values + RIDGE * size, out=np.zeros(len(values)), where=keep)
    return np.asarray(vectors @ (inverse * (vectors.T @ slope)))
