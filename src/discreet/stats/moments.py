"""Sums, means, variances and covariances, from clipped power sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.query import Batch, BoundedSum
from discreet.release import Release
from discreet.stats.intervals import find_half_width
from discreet.stats.mean_vectors import release_table_mean
from discreet.stats.statistic import Options, Question, Range, allow_retry, ask

Floats = NDArray[np.float64]
MEAN, VARIANCE = (0.35, 1.0, 0.15), (0.35, 0.7, 1.0)  # weights of (1, z, z²), which divide the noise among them


@allow_retry
def sum(x: Any, bounds: Range = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]) -> Release:
    """The sum of a column, clipped to its bounds; for a table, of each column.

    The interval is for the sum over these data, so it has no sampling error. With a `unit` and no limit on its rows,
    the sum over a unit's rows is scaled down until it is no longer than a single row may be.

    Examples
    --------
    >>> import numpy as np
    >>> answer = sum(np.full(1000, 2.0), bounds=(0, 4), epsilon=1.0)
    >>> bool(abs(answer.value - 2000) < 200)
    True
    """
    question = ask("sum", x, epsilon, delta, options, wider=math.inf if bounds is None else math.sqrt)
    found, (share,) = question.deal(bounds, 1)
    whole = question.curator.sharing
    known = question.n is not None and not whole
    centre = found.centre if known else np.zeros(len(found.lower))
    largest = found.half if known else np.maximum(np.abs(found.lower), np.abs(found.upper))

    # BOUND: clipped to the bounds, each column in units of the largest value that a row can add
    def scale_rows(rows: Batch) -> Floats:
        return (found.scale(rows.X) * found.half + (found.centre - centre)) / largest

    # SUMMARISE
    width = len(largest)
    norm = width if question.order == 1 else np.sqrt(width)
    query = BoundedSum(scale_rows, norm=norm, order=question.order, whole=whole, name="sum")
    # PRIVATISE
    noisy = question.curator.measure(query, share)
    # SOLVE
    value, std = noisy.value * largest + (question.n or 0) * centre * known, noisy.std * largest
    half = find_half_width(question.confidence, 0.0, (std,), noisy.event)
    value, std, half = (_unwrap_single(part) for part in (value, std, half))
    return question.answer("sum", value, std, (value - half, value + half))


@dataclass(frozen=True)
class NoisyPowers:
    """Noisy count, sum and sum of squares of a column scaled to [-1, 1], with the standard deviation of each."""

    n: float
    sums: Floats
    std: Floats
    noisy: Release

    @property
    def mean(self) -> float:
        return float(np.clip(self.sums[0] / self.rows, -1, 1))

    @property
    def mean_square(self) -> float:
        return float(np.clip(self.sums[1] / self.rows, 0, 1))

    @property
    def variance(self) -> float:
        # of unclipped moments: clipping each separately would keep their noises from cancelling
        return float(np.clip(self.sums[1] / self.rows - (self.sums[0] / self.rows) ** 2, 0, 1))

    @property
    def rows(self) -> float:
        return max(self.n, 1.0)

    @property
    def fewest_rows(self) -> float:
        """A lower bound of the number of rows, two standard deviations below the estimate."""
        return max(self.n - 2 * float(self.std[0]), 1.0)

    @property
    def most_variance(self) -> float:
        """An upper bound of the variance, two standard deviations above the estimate."""
        slack = 2 * float(np.hypot(self.std[2], 2 * self.mean * self.std[1])) / self.fewest_rows
        return min(self.variance + slack, 1.0)


def _bound_l1_factor(weights: tuple[float, ...], bounds: Range, options: Options) -> float:
    """An upper bound of ‖·‖1/‖·‖2 of a row's powers; infinite where bounds are not given."""
    dealt = weights if options.get("n") is None else weights[1:]
    return math.inf if bounds is None else float(np.linalg.norm(dealt, 1) / np.linalg.norm(dealt))


def _release_powers(
    question: Question, bounds: Range, weights: tuple[float, float, float]
) -> tuple[Bounds, NoisyPowers]:
    """The bounds, and (1, z, z²) of one column in one release; the weights divide the noise among them."""
    if question.curator.width != 1:
        raise ValueError("This statistic is of one column. Hint: `covariance` takes a table.")
    found, (share,) = question.deal(bounds, 1)
    return found, measure_powers(question, found, share, weights)


def measure_powers(
    question: Question, found: Bounds, share: Share, weights: tuple[float, float, float], trimmed: bool = False
) -> NoisyPowers:
    """The sums of (1, z, z²) of one column scaled to its bounds.

    Values outside the bounds are clipped; with `trimmed`, their rows are left out.
    """
    known = question.n is not None and not trimmed
    dealt = np.array(weights[1:] if known else weights)

    # BOUND: z in [-1, 1]
    def compute_powers(rows: Batch) -> Floats:
        z = found.scale(rows.X)
        if trimmed:
            z = np.where((found.lower <= rows.X) & (found.upper >= rows.X), z, np.nan)
        return np.asarray(np.hstack([z, z * z] if known else [np.ones_like(z), z, z * z]) * dealt)

    # SUMMARISE
    norm = float(np.linalg.norm(dealt, question.order))
    query = BoundedSum(compute_powers, norm=norm, order=question.order, name="powers")
    # PRIVATISE
    noisy = question.curator.measure(query, share)
    # SOLVE
    value, std = noisy.value / dealt, noisy.std / dealt
    if question.n is not None and known:
        return NoisyPowers(float(question.n), value, np.array([0.0, *std]), noisy)
    return NoisyPowers(float(value[0]), value[1:], std, noisy)


@allow_retry
def mean(x: Any, bounds: Range = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]) -> Release:
    """The mean of a column; for a table, of each column.

    Bounds that are not given are estimated. For a table without bounds that has enough rows, private quartiles then
    give the centre of each column, and rows are clipped by their distance from it.

    The interval is for the mean of the population the rows were drawn from. It accounts for the privacy noise and for
    the sampling, whose variance is measured with a small part of the same release.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 100, 10_000)
    >>> answer = mean(x, bounds=(0, 100), epsilon=1.0)
    >>> bool(abs(answer.value - 50) < 3)
    True
    """
    alone = _bound_l1_factor(MEAN, bounds, options)
    question = ask("mean", x, epsilon, delta, options, wider=lambda width: alone if width == 1 else math.inf)
    if question.curator.width > 1:
        return release_table_mean(question, bounds)
    found, power = _release_powers(question, bounds, MEAN)
    value, std, interval = estimate_mean(power, found, question.confidence)
    return question.answer("mean", value, std, interval)


def estimate_mean(power: NoisyPowers, bounds: Bounds, confidence: float) -> tuple[float, float, tuple[float, float]]:
    """The mean, the standard deviation of its noise, and its interval, from noisy powers scaled by these bounds."""
    # the error of S/N to first order: (noise of S - mean × noise of N) / N
    noises = (power.std[1] / power.fewest_rows, power.mean * power.std[0] / power.fewest_rows)
    half = find_half_width(confidence, np.sqrt(power.most_variance / power.fewest_rows), noises, power.noisy.event)
    scale, centre = float(bounds.half[0]), float(bounds.centre[0])
    low, high = np.clip([power.mean - half, power.mean + half], -1, 1) * scale + centre
    return centre + scale * power.mean, float(np.hypot(*noises)) * scale, (float(low), float(high))


@allow_retry
def variance(
    x: Any, bounds: Range = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]
) -> Release:
    """The variance of a column (divided by n).

    The interval is for the variance of the population. Its sampling error is bounded by the range of the values.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 12, 20_000)
    >>> bool(abs(variance(x, bounds=(0, 12), epsilon=1.0).value - 12) < 1)
    True
    """
    question = ask("variance", x, epsilon, delta, options, wider=_bound_l1_factor(VARIANCE, bounds, options))
    found, power = _release_powers(question, bounds, VARIANCE)
    m, q, v = power.mean, power.mean_square, power.most_variance
    noises = (
        power.std[2] / power.fewest_rows,
        2 * m * power.std[1] / power.fewest_rows,
        (2 * m * m - q) * power.std[0] / power.fewest_rows,
    )
    # w = (z - m)² lies in [0, W] and has mean v: its variance is at most v (W - v)
    widest = (1 + abs(m)) ** 2
    sampling = np.sqrt(v * max(widest - v, 0.0) / power.fewest_rows)
    half = find_half_width(question.confidence, sampling, noises, power.noisy.event)
    scale = float(found.half[0]) ** 2
    low, high = np.clip([power.variance - half, power.variance + half], 0, 1) * scale
    std = float(np.linalg.norm(noises)) * scale
    return question.answer("variance", power.variance * scale, std, (float(low), float(high)))


@allow_retry
def covariance(
    X: Any, bounds: Range = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]
) -> Release:
    """The covariance matrix of a table (divided by n), made positive semi-definite.

    The interval is for each covariance of the population separately. Its sampling error is bounded by the range.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> covariance(X, bounds=(-1, 1), epsilon=1.0, delta=1e-6).value.shape
    (2, 2)
    """
    question = ask("covariance", X, epsilon, delta, options)
    found, (share,) = question.deal(bounds, 1)
    d = len(found.lower) + 1

    # BOUND: (1, z), z in [-1, 1]
    def scale_rows(rows: Batch) -> Floats:
        return np.column_stack([np.ones(len(rows)), found.scale(rows.X)])

    # SUMMARISE: the second moments of (1, z)
    query = BoundedSum(
        scale_rows, scale_rows, norm=d if question.order == 2 else d**2, order=question.order, name="second moments"
    )
    # PRIVATISE
    noisy = question.curator.measure(query, share)
    # SOLVE
    std = np.broadcast_to(noisy.std, (d, d))
    n = max(float(question.n if question.n is not None else noisy.value[0, 0]), 1.0)
    fewest = n if question.n is not None else max(n - 2 * float(std[0, 0]), 1.0)
    m = np.clip(noisy.value[0, 1:] / n, -1, 1)
    moments = np.clip(noisy.value[1:, 1:] / n, -1, 1)
    raw = noisy.value / n  # not clipped separately, so that noises cancel as in the variance
    value = _find_nearest_psd(np.clip(raw[1:, 1:] - np.outer(raw[0, 1:], raw[0, 1:]), -1, 1))
    counted = 0.0 if question.n is not None else std[0, 0]
    # the error of S_ij/N - S_i S_j/N² to first order; on the diagonal S_i and S_j are one and the same
    once, same = np.abs(m)[:, None] * std[0, 1:] / fewest, np.eye(d - 1, dtype=bool)
    # in ℓ1 the noise is not symmetric, and the two entries of a pair are averaged: std / √2
    pair = np.where(same | (question.order == 2), 1.0, np.sqrt(0.5))
    noises = (
        std[1:, 1:] * pair / fewest,
        np.where(same, 2 * once, once),
        np.where(same, 0.0, once.T),
        np.abs(2 * np.outer(m, m) - moments) * counted / fewest,
    )
    widest, spread = (1 + np.abs(m)) ** 2, np.minimum(np.diag(value) + 2 * std[1, 1] / fewest, 1.0)
    sampling = np.sqrt(np.minimum(np.outer(spread, widest), np.outer(widest, spread)) / fewest)
    half = find_half_width(question.confidence, sampling, noises, noisy.event)
    scale = np.outer(found.half, found.half)
    interval = (np.maximum(value - half, -1) * scale, np.minimum(value + half, 1) * scale)
    total = np.sqrt(np.add.reduce([np.square(part) for part in noises])) * scale
    return question.answer("covariance", value * scale, total, interval)


def _find_nearest_psd(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def _unwrap_single(values: Any) -> Any:
    return float(values[0]) if np.size(values) == 1 else values
