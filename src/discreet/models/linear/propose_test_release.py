"""Propose-test-release (LR10): the median of many small regressions, if they agree well enough."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, approximate
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.curator.total_noise import deviation_of, noise_after_test
from discreet.engines import Rows
from discreet.errors import NoiseWarning, outside
from discreet.events import Approximate, Event
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.gaussian import add_gaussian
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.propose import first_stable, threshold_for
from discreet.models.linear.scaled_rows import features, target
from discreet.models.shared.linear_fit import Fit
from discreet.query import Batch, BoundedSum, Image

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOR_MEAN = 0.25  # of the budget: the answer where the blocks do not agree
PROPOSALS = 8  # scales proposed, each twice the one before
MOST, MOST_READ = 5001, 1001  # blocks: of rows in memory, and where each block is read by itself
ROWS = 4  # in a block for each coefficient
TURNS = 12  # of the reweighting within a block
NOISE = 0.8  # the noise of a prediction, in halves of the range, at a corner, up to which a scale is worth proposing
SLIGHT, SMALLEST = 1e-4, 1e-3  # of a ridge; of a residual, below which a row counts no more
GRID = 40  # coefficients are whole multiples of 2^-40, so that comparisons are exact
LARGEST = 8.0  # coefficients of a block are cut off here


def fit_propose_test_release(task: Task) -> Fit:
    """The coordinatewise median of robust regressions of random blocks, released only if it is stable.

    Each block finds the coefficients with the least Σ |y - w·x| / ‖x‖ (where rows are read piece by piece, those of a
    ridge regression from its moments). The intercept follows from private means. One row is in one block, so it changes
    the coefficients of one block, however wildly. A scale is *proposed*, the
    number of blocks that would have to change before the median could move by more than that scale is *tested* with
    noise, and the median is *released* with noise of that scale, or else the private mean alone. Scales are proposed
    from small to large until one passes (sparse vector): all tests together cost one. The outcome is part of the
    release.

    Notes
    -----
    (ε, δ)-differential privacy for adding, removing or replacing one row: `mechanisms/proofs/propose.md`.

    | data | what comes out |
    | --- | --- |
    | no rows, one row | noise around zero: nearly all blocks are empty, and agree |
    | blocks that disagree, or too few rows for so many blocks | the private mean, and a note |

    It can pass from `enough_rows` on: 4 rows for each coefficient in each of 4 times as many blocks as the test looks
    at, some 12,000 rows for 4 features at ε = 1. Where n is public and smaller a `NoiseWarning` says so before anything
    is charged.

    References
    ----------
    Dwork & Lei, "Differential privacy and robust statistics", STOC 2009; Nissim, Raskhodnikova & Smith, STOC 2007, for
    medians and for sample-and-aggregate.
    """
    d = task.width
    _warn_of_few(task, d)
    bounds, (for_mean, for_median) = task.deal(FOR_MEAN, approximate(1 - FOR_MEAN))
    x, y = features(bounds, task.intercept), target(bounds)

    # BOUND: (x, y) in the cube
    def v(rows: Batch) -> Floats:
        return np.column_stack([x(rows), y(rows)])

    def level(rows: Batch) -> Floats:
        return np.column_stack([np.where(np.isfinite(rows.X).all(axis=1), 1.0, np.nan), v(rows)[:, skip:]])

    # SUMMARISE: the second moments of each block; the number of rows and the sums of all columns
    vv, _ = task.curator.expect(BoundedSum(v, v, norm=d + 1, name="moments"))
    skip, width = int(task.intercept), d - int(task.intercept)
    of_means = BoundedSum(level, norm=math.sqrt(width + 2), name="count and totals")

    # PRIVATISE: the means, then the median of the slopes
    sums = task.curator.measure(of_means, for_mean)
    n = float(sums.value[0])
    *centre, mean = np.clip(sums.value[1:] / max(n, 5 * float(np.max(sums.std))), -1.0, 1.0) * task.intercept
    event = task.curator.buys(for_median)
    assert isinstance(event, Approximate)
    noise = deviation_of(noise_after_test(event), width)
    largest = NOISE / (width * noise)  # noise of this scale times √width in each of as many slopes
    most = MOST if task.curator.holds_rows else MOST_READ
    blocks = StableMedian("median of blocks", vv, count_blocks(n, d, most), float(mean), largest, x, y, skip)
    median = task.curator.run(blocks, for_median)

    # SOLVE: the median, and the intercept that goes with the means; or the mean alone
    chosen, slopes = int(median.value[0]), np.asarray(median.value[1:])
    if chosen < 0:
        needed = enough_rows(d, event)
        task.note(f"the blocks did not agree: the answer is the private mean alone; they can from {needed:,} rows on")
        return Fit(constant_coefficients(float(mean), d) if skip else np.zeros(d))
    scale = largest / 2 ** (PROPOSALS - 1 - chosen)
    slopes = shrink_to_prior(slopes, np.zeros(width), scale * math.sqrt(width) * noise)
    task.note(f"the blocks agreed at scale {scale:.2g}")
    return Fit(np.concatenate([[float(mean) - np.array(centre) @ slopes], slopes]) if skip else slopes)


def count_blocks(n: float, d: int, most: int) -> int:
    """How many blocks, a public rule: as many as there can be with some rows for each coefficient; odd."""
    return 2 * int(min(max(n / (ROWS * d), 3), most) // 2) + 1


def enough_rows(d: int, event: Approximate) -> int:
    """From how many rows on the test can pass: where the blocks are four times as many as it looks at.

    >>> enough_rows(5, Approximate(0.75, 7.5e-7))
    12060
    """
    return ROWS * d * (4 * required_distance(event) + 3)


def _warn_of_few(task: Task, d: int) -> None:
    share = (1 - FOR_MEAN) * task.budget.epsilon, (1 - FOR_MEAN) * task.budget.delta
    if task.n is None or task.budget.pure or task.n >= (needed := enough_rows(d, Approximate(*share))):
        return
    message = (
        f'This test of stability can pass from about {needed:,} rows on; there are {task.n:,}. Hint: method="auto".'
    )
    warnings.warn(message, NoiseWarning, stacklevel=outside())


def constant_coefficients(mean: float, d: int) -> Floats:
    """The coefficients that predict the mean, whatever the features."""
    return np.concatenate([[mean], np.zeros(d - 1)])


def shrink_to_prior(theta: Floats, prior: Floats, noise: float) -> Floats:
    """Noisy coefficients drawn to the prior as far as the noise accounts for their distance (James & Stein 1961)."""
    away = theta - prior
    return np.asarray(prior + away * max(0.0, 1 - len(theta) * noise**2 / max(float(away @ away), 1e-300)))


@dataclass(frozen=True)
class StableMedian(Inside):
    """The median of the blocks' regressions if it is stable at one of the proposed scales.

    Attributes
    ----------
    vv : the moments of (x, y).
    blocks : how many.
    mean : where the regressions are drawn to.
    largest : the largest scale proposed.
    x, y : features and target of a batch of rows.
    skip : how many of the first coefficients are left out.

    The value is the number of the scale that passed, or -1, and the coefficients, zeros in that case.
    """

    name: str
    vv: BoundedSum
    blocks: int
    mean: float
    largest: float
    x: Image
    y: Image
    skip: int = 0
    proof = "propose"
    pays = (Approximate,)
    replayable = False  # private by the chance that its test fails

    def run(self, rows: Rows, event: Event, budget: Budget, rng: Keystream) -> tuple[Any, Any]:
        """Split, fit, test and release."""
        assert isinstance(event, Approximate)
        fits = [
            self.fit_block(block)[self.skip :] for block in rows.split_into_blocks(self.blocks, Coins.draw_key(rng))
        ]
        chosen, median = propose_scales(np.array(fits), math.floor(math.ldexp(self.largest, GRID)), event, rng)
        return np.concatenate([[float(chosen)], np.ldexp(median.astype(np.float64), -GRID)]), None

    def fit_block(self, block: Rows) -> Ints:
        """The coefficients of one block, in multiples of 2^-40: a function of the block alone."""
        if block.count_arrays() == 2:
            rows, targets = block.read_arrays()
            batch = Batch(rows, targets)
            return round_to_grid(least_deviations(self.x(batch), self.y(batch), self.mean))
        assert self.vv.fixed is not None
        moments = np.ldexp(block.sum(self.vv).astype(np.float64), self.vv.exponent(self.vv.fixed))
        return solve_block(moments, self.mean)


def least_deviations(x: Floats, y: Floats, mean: float) -> Floats:
    """The coefficients with the least Σ |y - w·x| / ‖x‖, by reweighted least squares, from few rows on.

    Reference: Dwork & Lei (2009), section 4.
    """
    there = np.isfinite(x).all(axis=1) & np.isfinite(y)
    x, y = x[there], y[there]
    d = x.shape[1]
    prior = constant_coefficients(mean, d)
    length, theta = np.sqrt((x * x).sum(axis=1)), prior
    weight = np.ones(len(x))
    for _ in range(TURNS):
        S = (x * weight[:, None]).T @ x + SLIGHT * max(float(weight.sum()), 1.0) * np.eye(d)
        theta = prior + np.linalg.solve(S, (x * weight[:, None]).T @ (y - x @ prior))
        weight = 1 / np.maximum(length * np.abs(y - x @ theta), SMALLEST)
    return theta


def solve_block(moments: Floats, mean: float) -> Ints:
    """The ridge regression of one block, drawn to the mean, in multiples of 2^-40: a function of the block alone."""
    d = len(moments) - 1
    prior = constant_coefficients(mean, d)
    S, b = moments[:d, :d], moments[:d, d]
    return round_to_grid(prior + np.linalg.solve(S + np.eye(d), b - S @ prior))


def round_to_grid(theta: Floats) -> Ints:
    """Coefficients within ±`LARGEST`, in multiples of 2^-40."""
    return np.asarray(np.rint(np.ldexp(np.clip(np.nan_to_num(theta), -LARGEST, LARGEST), GRID)), dtype=np.int64)


def propose_scales(fits: Ints, largest: int, event: Approximate, rng: Keystream) -> tuple[int, NDArray[Any]]:
    """The number of the scale that passed and the noisy median; or -1 and zeros.

    Parameters
    ----------
    fits : one row of coefficients per block, an odd number of rows.
    largest : the largest scale; each before it is half of the next.

    Guarantee: (ε, δ)-DP, where neighbours differ in one row of `fits`.
    """
    order = np.sort(fits, axis=0)
    gaps = bound_median_moves(order, 2 * required_distance(event))
    scales = [max(1, largest >> (PROPOSALS - 1 - number)) for number in range(PROPOSALS)]
    distances = (int(np.searchsorted(gaps, scale, side="right")) for scale in scales)
    number = first_stable(distances, event, PROPOSALS, rng)
    if number < 0:
        return -1, np.zeros(len(order[0]), dtype=np.int64)
    width = Fraction(math.isqrt(len(order[0]) << 40) + 1, 1 << 20)  # √d, rounded up: each of d moves by a scale
    return number, add_gaussian(order[len(order) // 2], scales[number] * width, noise_after_test(event), rng)


def bound_median_moves(order: Ints, most: int) -> Ints:
    """How far any coordinate's median can move in one change, after 0, 1, 2, … changes of blocks: never decreasing.

    `order` holds the coefficients of the blocks, each column sorted; only the first `most` numbers are given. After t
    changes and one more, the median is at worst exchanged for a value t + 1 places away: the largest difference of two
    values t + 1 places apart, the median within them (Nissim, Raskhodnikova & Smith 2007).

    >>> bound_median_moves(np.array([[0], [1], [5], [6], [9]]), 2).tolist()
    [4, 5]
    """
    k, d = order.shape
    middle, far = k // 2, math.floor(math.ldexp(LARGEST, GRID))
    most = min(most, middle + 1)
    ends = np.full((most + 1, d), far)
    wide = np.concatenate([-ends, order, ends])
    middle += most + 1
    found = [(wide[middle : middle + t + 2] - wide[middle - t - 1 : middle + 1]).max() for t in range(most)]
    return np.array(found, dtype=np.int64)


def required_distance(event: Approximate) -> int:
    """How many blocks must be able to change, with noise, before the median could move by more than is proposed."""
    return threshold_for(event, PROPOSALS)
