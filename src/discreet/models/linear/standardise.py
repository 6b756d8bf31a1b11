"""Standardised rows and the private mean of the target: what a regression starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.curator.task import Task
from discreet.models.linear.scaled_rows import features, target
from discreet.models.linear.shrinkage import MEAN_VARIANCE
from discreet.models.shared.scaling import StandardisedRows, find_indicators, standardise_features
from discreet.query import Batch, BoundedSum
from discreet.query.images import find_missing
from discreet.query.moment_sums import MomentSums

Floats = NDArray[np.float64]

SQUARE_WEIGHT = 0.5  # weight of squares beside their values
NOISE_FLOOR = 1.5  # variances below so much of their noise are taken for it
USUAL_VARIANCE, VARIANCE_STD = (
    0.07,
    0.03,
)  # variance of a target scaled into [-1, 1], a priori, and how far it may be off
UNKNOWN_SHARE = 0.5  # deviations of a variance's noise
NEAR_BOUNDS = 0.8  # of the way to its bounds a value is near them

CLIPPED_NOTE = (
    "features were clipped at {:g} standard deviations from their means: coefficients are of the clipped values"
)


@dataclass(frozen=True, eq=False)
class StandardisedStart:
    """Standardised rows; the target's mean as a line, its noise, and the target's deviation; the features' means."""

    rows: StandardisedRows
    start: Floats
    start_std: float
    deviation: float
    mean: Floats
    notes: tuple[str, ...]


def standardise_rows(
    task: Task, bounds: Bounds, of_target: float, shares: tuple[Share | None, Share], n: float, n_std: float,
    clip: float | None,
) -> StandardisedStart:  # fmt: skip
    """Means and deviations of features and target, from noisy sums, and what follows from them.

    Parameters
    ----------
    of_target : the weight of the target's moments beside one feature's.
    shares : for the sum of the target alone, if that is measured, and for the sums of all columns and their squares.
    n, n_std : the number of rows, and the deviation of the noise in it.
    clip : at how many deviations features are clipped.
    """
    intercept, d = task.intercept, len(bounds.lower)

    # BOUND + SUMMARISE + PRIVATISE: one reading of the rows
    powers = MomentSums(
        features(bounds, False),
        target(bounds),
        weights=(1.0, 1.0, of_target, SQUARE_WEIGHT * of_target),
        name="means and squares",
    )
    alone = [] if shares[0] is None else [(_sum_target(bounds), shares[0], None)]
    *level, sums = task.curator.measure_together(*alone, (powers, shares[1], None))

    # SOLVE: means and deviations
    noise = float(sums.std) / n
    x, squares, (y, y_squared) = np.split(sums.value / n, [d, 2 * d])
    y, y_squared, y_noise = y / of_target, y_squared / (SQUARE_WEIGHT * of_target), noise / of_target
    mean = np.clip(shrink_means(x, noise), -1, 1) if intercept else np.zeros(d)
    known = [(float(y), y_noise), *((float(np.squeeze(one.value)) / n, float(one.std) / n) for one in level)]
    y_mean, y_std = _shrink_target_mean(known, n_std / n) if intercept else (0.0, 0.0)
    spread = np.sqrt(np.clip(squares - mean**2, max(NOISE_FLOOR * noise, 1e-6), 1.0))
    deviation = _shrink_deviation(float(y_squared) - y_mean**2, y_noise / SQUARE_WEIGHT)

    standard = standardise_features(bounds, intercept, clip, mean, spread)
    start = np.zeros(d + intercept)
    start[:intercept] = y_mean
    columns = task.curator.columns or tuple(f"x{i + 1}" for i in range(d))
    notes = _note_crowding(
        np.append(np.where(find_indicators(bounds, intercept), 0.0, squares), y_squared), noise, columns
    )
    if clip is not None and standard.clips_features:
        notes += (CLIPPED_NOTE.format(clip),)
    return StandardisedStart(standard, start, y_std, deviation, mean, notes)


def _sum_target(bounds: Bounds) -> BoundedSum:
    """The sum of the target over whole rows."""
    t = target(bounds)

    def values(rows: Batch) -> Floats:
        return np.where(find_missing(rows), np.nan, t(rows))

    return BoundedSum(values, norm=1.0, name="sum of the target")


def shrink_means(means: Floats, noise: float) -> Floats:
    """Noisy means shrunk towards their average, as far as they differ by noise alone (James & Stein).

    >>> shrink_means(np.array([0.1, -0.3, 0.5]), 1e-9).round(3), shrink_means(np.array([0.1, -0.3, 0.5]), 9.0).round(3)
    (array([ 0.1, -0.3,  0.5]), array([0.1, 0.1, 0.1]))
    """
    if len(means) < 3:
        return means
    average = float(means.mean())
    own = max(float(np.mean((means - average) ** 2)) - noise**2, 0.0)
    return np.asarray(average + (means - average) * own / (own + noise**2 + 1e-300))


def _shrink_target_mean(known: list[tuple[float, float]], rows_std: float) -> tuple[float, float]:
    """The mean of the target from one measurement or two, each by its precision, and the deviation of its noise.

    It is shrunk to the middle of the range, where it is mostly noise.
    """
    precision = sum(std**-2 for _, std in known)
    mean = min(max(sum(value * std**-2 for value, std in known) / precision, -1.0), 1.0)
    variance = 1 / precision + (mean * rows_std) ** 2
    kept = MEAN_VARIANCE / (MEAN_VARIANCE + variance)
    return mean * kept, math.sqrt(variance * kept)


def _shrink_deviation(variance: float, noise: float) -> float:
    """The target's deviation from a noisy variance, shrunk towards a usual one, and no less than what is not known."""
    kept = VARIANCE_STD**2 / (VARIANCE_STD**2 + noise**2)
    likely = kept * variance + (1 - kept) * USUAL_VARIANCE
    return math.sqrt(min(max(likely, UNKNOWN_SHARE * noise * math.sqrt(kept), 1e-6), 1.0))


def _note_crowding(squares: Floats, noise: float, columns: tuple[str, ...]) -> tuple[str, ...]:
    """A remark on columns, the target last, whose values lie at their bounds, as their noisy mean square has it.

    A mean square of s within [-1, 1] means that at least (s - q²)/(1 - q²) of the values are beyond q.
    """
    names = (*columns, "the target")
    shares = [(square - 2 * noise - NEAR_BOUNDS**2) / (1 - NEAR_BOUNDS**2) for square in squares]
    found = [f"{name} ({min(share, 1.0):.0%})" for name, share in zip(names, shares, strict=True) if share > 0.5]
    if not found:
        return ()
    return (
        f"values near their bounds or beyond, at least, by private estimate: {', '.join(found[:8])}"
        f"{' and more' if len(found) > 8 else ''}. Fine for a column of two values; otherwise clipping to the bounds "
        "costs accuracy: a slope is off by about as large a part as is clipped. Hint: wider bounds",
    )
