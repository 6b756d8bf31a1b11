"""Robust private linear regression (LR3): every coordinate clipped, Laplace noise on X'X, X'y and y'y."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.curator.task import Task
from discreet.models.linear.auxiliary_data import (
    BudgetSplit,
    choose_split,
    choose_thresholds,
    clipped_second_moment,
    normal_share,
)
from discreet.models.linear.scaled_rows import features, target
from discreet.models.shared.linear_fit import ADAPTS, Fit
from discreet.query import Batch, BoundedSum
from discreet.release import Release

Floats = NDArray[np.float64]
Image = Callable[[Batch], Floats]

FOR_SCALES = 0.2  # of ε, for means and standard deviations
TURNS = 50  # of the fixed-point iteration for the precisions
SHAPE = RATE = 2.0  # of the Gamma priors of the precisions


def fit_robust(task: Task) -> Fit:
    """Bayesian linear regression on noisy second moments of clipped, privately standardised data, under pure ε.

    A fifth of ε buys means and standard deviations (and the number of rows, unless it is public). The rest buys X'X,
    X'y and y'y of the standardised rows, each coordinate clipped at a threshold. The split of ε and the thresholds are
    chosen on auxiliary data (`auxiliary.choose_split`), which costs nothing. Where the number of rows is not public the
    split, part of the plan, is that for a typical number, and only the thresholds follow the noisy count.

    Notes
    -----
    ε-differential privacy, δ = 0, by composition of four Laplace mechanisms. The thresholds and scales of the later
    ones are functions of earlier releases; their sensitivity is that of the clipped sums, whatever the scales are. See
    `mechanisms/proofs/query.md` for that of the upper triangle of X'X in a box, d(d + 1)/2·B².

    | data | what comes out |
    | --- | --- |
    | no rows, one row, noise above the signal | coefficients near zero: the posterior falls back on its prior |
    | constant columns | finite coefficients: a standard deviation is at least the size of its noise |
    | no intercept | nothing is centred, columns are only scaled |

    Reference: A. Honkela, M. Das, A. Nieminen, O. Dikmen, S. Kaski, "Efficient differentially private learning improves
    drug sensitivity prediction", Biology Direct 13, 2018. Unlike there, nothing is read off the data unpaid, the noise
    of X'X is half, and the posterior knows of the noise.
    """
    if not task.budget.pure:
        raise ValueError(
            f"Robust linear regression adds Laplace noise and promises pure ε. Got delta = {task.budget.delta:g}. "
            "Hint: delta=0."
        )
    curator, d, epsilon = task.curator, task.curator.width, (1 - FOR_SCALES) * task.budget.epsilon
    split = _plan_split(task, d, epsilon)
    bounds, shares = task.deal(FOR_SCALES, *((1 - FOR_SCALES) * share for share in split[:3]))
    for_scales, for_xx, for_xy, for_yy = shares

    # BOUND: features and target in [-1, 1], then standardised by private scales
    raw_x, raw_y = features(bounds, False), target(bounds)
    weights = _weigh_moments(d, task.n is None)
    scales = _estimate_scales(curator.measure(_sum_moments(raw_x, raw_y, weights), for_scales), weights, task)
    choice = split if task.n is not None else choose_thresholds(scales.n, d, epsilon, split.p1, task.budget.neighbours)
    x = _standardise_image(raw_x, scales.centre[:-1], scales.half[:-1])
    y = _standardise_image(_drop_with_features(raw_y, raw_x), scales.centre[-1:], scales.half[-1:])
    limit_x, limit_y = map(min, scales.largest_values, choice[3:])

    # SUMMARISE: x x', x y and y y over all rows, each coordinate within its limit
    xx = BoundedSum(x, x, norm=limit_x**2, order=1, box=True, name="X'X")
    xy = BoundedSum(x, y, norm=limit_x * limit_y, left_norm=limit_x, order=1, box=True, name="X'y")
    yy = BoundedSum(y, y, norm=limit_y**2, order=1, box=True, name="y'y")

    # PRIVATISE: Laplace noise on each
    noisy = curator.measure(xx, for_xx), curator.measure(xy, for_xy), curator.measure(yy, for_yy)

    # SOLVE: the posterior mean, then back to the scaled units
    posterior = _solve_posterior(*noisy, scales.n)
    return _restore_units(posterior, scales, choice, task)


def _plan_split(task: Task, d: int, epsilon: float) -> BudgetSplit:
    """The split: for n rows where that is public, else for as many as the method needs to say something."""
    n = 200 * d**2 / epsilon if task.n is None else task.n
    return choose_split(n, d, epsilon, task.budget.neighbours)


def _sum_moments(x: Image, y: Image, weights: Floats) -> BoundedSum:
    """First and second moments of all columns in one vector, and the number of rows where it is not known.

    Each has a weight; noise on it is the sum of weights over its own. An error of the target's mean is one of all
    predictions, that of a feature's mean counts by its coefficient, about 1/√d; squares are needed less exactly. Least
    squared error altogether is at weights of the cube roots of such importances.
    """

    def image(rows: Batch) -> Floats:
        z = np.concatenate([x(rows), y(rows)[:, None]], axis=1)
        return np.concatenate([z, z**2, np.ones((len(z), 1))], axis=1)[:, : len(weights)] * weights

    return BoundedSum(image, norm=float(weights.sum()), order=1, name="means and squares")


def _weigh_moments(d: int, count: bool) -> Floats:
    mean = np.append(np.full(d, d ** (-1 / 3)), 1.0)
    return np.concatenate([mean, 0.5 * mean, np.full(int(count), 0.5)])


@dataclass(frozen=True)
class ColumnScales:
    """What standardises the columns, the target last: released values and how uncertain they are."""

    n: float
    centre: Floats
    half: Floats
    spread: Floats  # standard deviation of the noise of the centres

    @property
    def largest_values(self) -> tuple[float, float]:
        """The largest standardised value there can be, of a feature and of the target."""
        reach = (1 + np.abs(self.centre)) / self.half
        return float(reach[:-1].max()), float(reach[-1])

    def clipping_bias(self, choice: BudgetSplit) -> float:
        """How far clipping may bend a coefficient, relative to it: half of what is clipped of a normal law.

        A guess of the size of a bias, which on normal data is far less; nothing is bent where nothing is clipped.
        """
        pairs = zip(self.largest_values, (choice.omega_x, choice.omega_y), strict=True)
        return (1 - math.prod(normal_share(omega) for reach, omega in pairs if omega < reach)) / 2


def _estimate_scales(noisy: Release, weights: Floats, task: Task) -> ColumnScales:
    """Means and standard deviations from noisy sums; finite, and at least as large as what the noise could fake."""
    k = task.curator.width + 1
    value = noisy.value / weights
    n = max(1.0, float(value[-1] if task.n is None else task.n))
    noise = float(noisy.std) / weights[:k] / n
    # a mean within [-1, 1] has variance 1/3, if nothing else is known of it: the noisy one is shrunk accordingly
    centre = np.clip(value[:k] / n / (1 + 3 * noise**2), -1, 1) * float(task.intercept)
    variance = np.clip(value[k : 2 * k] / n - centre**2, np.minimum(1.0, 2 * noise), 1.0)
    return ColumnScales(n, centre, np.sqrt(variance), np.minimum(noise * np.sqrt(1 + centre**2), 1.0) * task.intercept)


def _drop_with_features(y: Image, x: Image) -> Image:
    """The target, lost where a feature is: a row counts in all of the sums or in none."""

    def whole(rows: Batch) -> Floats:
        return np.where(np.isfinite(x(rows)).all(axis=1), y(rows), np.nan)

    return whole


def _standardise_image(image: Image, centre: Floats, half: Floats) -> Image:
    def z(rows: Batch) -> Floats:
        return np.asarray((image(rows) - centre) / half)

    return z


@dataclass(frozen=True)
class RobustPosterior:
    """Mean and covariance of the coefficients, and the variance of the residuals, all standardised."""

    mean: Floats
    covariance: Floats
    residual: float


def _solve_posterior(xx: Release, xy: Release, yy: Release, n: float) -> RobustPosterior:
    """The posterior given noisy moments, by a fixed number of turns of variational EM.

    X'y = X'X·θ + noise, of variance σ²·X'X (sampling) + τ² (privacy): τ² = var(X'y) + var(X'X)·‖θ‖². With a prior
    N(0, 1/λ0), in the eigenbasis of X'X, θ_i = s_i b_i / (s_i² + λ0 (σ² s_i + τ²)). λ0 and 1/σ² are Gamma(2, 2).
    Directions whose eigenvalue the noise made negative tell nothing.
    """
    values, vectors = np.linalg.eigh(xx.value)
    s, b, d = np.maximum(values, 0.0), vectors.T @ xy.value, len(values)
    prior, sigma2, length2 = 1.0, 1.0, 1.0
    for _ in range(TURNS):
        noise = sigma2 * s + float(xy.std) ** 2 + float(xx.std) ** 2 * length2
        theta = s * b / (s**2 + prior * noise)
        spread = noise / (s**2 + prior * noise)
        length2 = float(theta @ theta + spread.sum())
        prior = (SHAPE + d / 2) / (RATE + length2 / 2)
        misfit = float(yy.value) - 2 * theta @ b + s @ (theta**2 + spread)
        sigma2 = (RATE + min(max(misfit, 0.0), n) / 2) / (SHAPE + n / 2)
        length2 = min(length2, 1.0)  # no more than all of a standardised target is explained
    return RobustPosterior(vectors @ theta, (vectors * spread) @ vectors.T, sigma2)


def _restore_units(posterior: RobustPosterior, scales: ColumnScales, choice: BudgetSplit, task: Task) -> Fit:
    """Coefficients of the columns scaled to [-1, 1]; the intercept's error is that of the means too, to first order."""
    ratio = scales.half[-1] / scales.half[:-1]
    slopes = ratio * posterior.mean
    # clipping shrinks the target, and its residuals with it
    shrunk = clipped_second_moment(choice.omega_y) if choice.omega_y < scales.largest_values[1] else 1.0
    residual = math.sqrt(posterior.residual / shrunk) * float(scales.half[-1])
    turn = np.vstack([-scales.centre[:-1], np.eye(len(slopes))])[0 if task.intercept else 1 :]
    theta = turn @ slopes
    inner = posterior.covariance * np.outer(ratio, ratio) + np.diag((scales.clipping_bias(choice) * slopes) ** 2)
    covariance = turn @ inner @ turn.T
    if task.intercept:
        theta[0] += scales.centre[-1]
        covariance[0, 0] += residual**2 / scales.n + np.append(slopes, -1) ** 2 @ scales.spread**2
    note = (
        f"a fifth of ε paid for means and standard deviations; thresholds of {choice.omega_x:g} (features) and "
        f"{choice.omega_y:g} (target) of these, and the split of ε, were chosen on auxiliary data"
    )
    task.note(ADAPTS, note)
    return Fit(theta, covariance, residual)
