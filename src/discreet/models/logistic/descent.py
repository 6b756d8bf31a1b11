"""Averaged gradient descent on standardised, whitened rows: the default of logistic regression.

Why it is accurate: features get a common scale by means and deviations that cost a tenth of the budget, and are
whitened as far as a noisy look at their correlations can be trusted, so that few steps go far; each row's gradient is
clipped as a whole, at a size where a row counts for about as much as any other; the second half of the steps is
averaged, which averages their noise; and what noise alone would have made of the slopes is taken off. All constants
depend on public numbers: how many rows, columns and how much budget there are, through ρ, the size of the noise in X'X
relative to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share, radial
from discreet.curator import Curator
from discreet.events import Gaussian, Pure
from discreet.images import Mixed, Scaled, missing
from discreet.models.classifier import TOO_FEW
from discreet.models.linear.problem import ADAPTS
from discreet.models.logistic.directions import Directions, gradient, many, two
from discreet.models.logistic.moments import shrunk_correlations, shrunk_moments, spectral, whitening
from discreet.models.logistic.problem import Fit, Problem
from discreet.models.scaling import Standard, standardised
from discreet.powers import Powers
from discreet.query import Batch, BoundedSum, Image, OneHot
from discreet.release import Release

Floats = NDArray[np.float64]

# shares of the budget: how many rows of each class, means and squares, X'X to whiten by; the rest for the gradients
SHARES, SHARES_PURE = (0.02, 0.1, 0.12), (0.08, 0.12, 0.12)
ROUNDS, ROUNDS_PURE = 20, 8
RADIUS = 1.5  # of a row in the look, in typical lengths
LOOSE = 0.3  # of the noise's spectral norm: the floor of the eigenvalues that rows are whitened by
TRUSTED = 0.05  # of the look must be left after shrinking for it to be used
SCANTY, HOPELESS = 1.8, 0.5  # signals below which some rounds, or all, count classes again
MAJORITY = 8.0  # of such, where the number of rows is public: below, all goes into counting classes
BENT = 0.2  # about the curvature of the loss along a standardised feature
PRIOR = 0.3  # variance of the mean of labels ±1 between data sets

FEW = "too few rows for this budget and so many columns: what was learnt is mostly noise"
FAINT = (
    "much noise for this many rows: coefficients were shrunk to {:.0%} of what was found, towards class shares alone"
)
CLIPPED = "features were clipped at {:g} standard deviations from their means: coefficients are of the clipped values"


@dataclass(frozen=True)
class Setting:
    """How hard to clip and how far to step, from public numbers: the noise of a vector of norm 1, over n; the width."""

    noise: float
    width: int

    @property
    def rho(self) -> float:
        """The noise in X'X over the size of X'X."""
        return self.width * math.sqrt(2 * self.width) * self.noise

    @property
    def signal(self) -> float:
        """The sum of n vectors of norm 1 over the length of its noise."""
        return 1 / (self.noise * math.sqrt(self.width))

    @property
    def clip(self) -> float:
        """The length that gradients are clipped to: a typical standardised row has length √width."""
        return min(max(0.4 * math.pow(self.rho, -0.25), 0.2), 1.0) * math.sqrt(self.width)

    @property
    def caution(self) -> float:
        """The power of the factor that slopes are shrunk by: with hardly any rows, rather the likelier class."""
        return 1 + 3 / self.signal

    def recounts(self, rounds: int) -> int:
        """How many rounds count classes once more instead: with few rows, knowing the likelier one is worth most."""
        return rounds if self.signal < HOPELESS else round(0.15 * rounds) if self.signal < SCANTY else 0

    def step(self, kept: float) -> float:
        """How far to follow the average gradient; a Newton step where rows are white."""
        plain = min(max(math.pow(self.rho, -0.4), 0.35), 1.2)
        return plain + (4.0 - plain) * kept


def descent(problem: Problem) -> Fit:
    """Release class counts, moments and gradients; follow them.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs | slopes near zero: the likelier class |
    | one class only | that class, nearly always |
    | constant or collinear columns | finite coefficients |
    """
    rounds = problem.rounds or (ROUNDS_PURE if problem.budget.pure else ROUNDS)
    first = SHARES_PURE if problem.budget.pure else SHARES
    parts = [radial(share) for share in first] + [radial((1 - sum(first)) / rounds)] * rounds
    bounds, (for_counts, for_moments, for_look, *for_steps) = problem.deal(*parts)
    bounds = bounds if problem.intercept else around_zero(bounds)
    curator = problem.curator

    # PRIVATISE: how many rows of each class; how noisy all else will be follows from it
    counts = class_counts(curator, for_counts, problem.classes())
    n = total_rows(counts, problem.n)
    setting = Setting(_noise(problem, problem.width) / n, problem.width)
    few = problem.n is not None and problem.n < MAJORITY * _noise(problem, 1)
    again = max(rounds if few else 0, setting.recounts(rounds))

    # BOUND + SUMMARISE + PRIVATISE: means and deviations, then a look at the correlations
    standard = standard_rows(problem, bounds, for_moments, n)
    image, white, kept = _white(curator, standard, for_look, n)

    # SUMMARISE + PRIVATISE: with few rows classes once more; then gradients, each where the ones before have led
    for i, share in enumerate(for_steps[:again]):
        query = _recount(problem.width, len(counts.value), f"round {i + 1}")
        counts = counts.with_more(curator.measure(query, share))
    step = setting.step(kept) * flatness(len(counts.value))
    walk = Walk(curator, Directions(image, problem.width), setting.clip, n, step, again)
    start = _start(counts, problem)
    theta, noise = walk.run(np.asarray(np.linalg.solve(white, start.T).T), for_steps[again:])

    # SOLVE: what noise alone would have made of it is taken off
    doubt = noise**2 * float((white**2).sum()) * len(start)
    moved, faint = shrunk(theta @ white.T - start, doubt, setting.caution)
    rows = counts.value.sum() if problem.n is None else problem.n
    few = few or setting.signal < SCANTY or rows < TOO_FEW * _noise(problem, 1)
    notes = (ADAPTS, *([FEW] if few else []), *([FAINT.format(faint)] if faint < 0.5 else []))
    notes += (CLIPPED.format(problem.clip),) if standard.clips else ()
    return Fit((start + moved) @ standard.frame.T, bounds, standard.narrow, notes)


def around_zero(bounds: Bounds) -> Bounds:
    """Bounds with zero in their middle: without an intercept nothing can make up for a shift."""
    far = np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))
    return Bounds(-far, far, bounds.target, bounds.classes)


@dataclass(frozen=True)
class Counts:
    """Noisy numbers of rows of each class, the deviation of their noise, and of that in the difference of two."""

    value: Floats
    std: float
    apart: float | None = None

    def with_more(self, found: Release) -> Counts:
        """These and other noisy counts of the same classes, averaged by their precision.

        Of two classes the others tell the difference alone.
        """
        value, std = found.value[0], float(found.std)
        if len(self.value) == 1:
            return self
        if value.ndim == 0:
            total, apart = self.value.sum(), self.value[1] - self.value[0]
            apart, left = _average((apart, self.apart or math.sqrt(2) * self.std), (value, std))
            return Counts(np.array([total - apart, total + apart]) / 2, self.std, left)
        return Counts(*_average((self.value, self.std), (value, std)))


def _average(one: tuple[Any, float], other: tuple[Any, float]) -> tuple[Any, float]:
    """Two noisy values of the same, averaged by their precision, and the deviation of the result."""
    (a, a_std), (b, b_std) = one, other
    total = a_std**-2 + b_std**-2
    return (a * a_std**-2 + b * b_std**-2) / total, total**-0.5


def class_counts(curator: Curator, share: Share, classes: int) -> Counts:
    """The noisy number of whole rows of each class."""

    def codes(rows: Batch) -> NDArray[np.int64]:
        assert rows.y is not None
        return np.where(missing(rows) | ~np.isfinite(rows.y), -1, np.nan_to_num(rows.y)).astype(np.int64)

    found = curator.measure(BoundedSum(OneHot(codes, classes), name="classes"), share)
    return Counts(np.asarray(found.value, np.float64), float(np.max(found.std)))


def _recount(width: int, classes: int, name: str) -> BoundedSum:
    """Classes counted once more, in the shape of a gradient, so that what is asked looks the same."""

    def one(rows: Batch) -> Floats:
        return np.where(missing(rows), np.nan, 1.0)[:, None] * np.eye(1, width)

    def label(rows: Batch) -> Floats:
        assert rows.y is not None
        many = (rows.y[:, None] == np.arange(classes)) + np.where(np.isfinite(rows.y), 0.0, np.nan)[:, None]
        return many if classes > 2 else 2 * rows.y - 1

    return BoundedSum(one, label, norm=1, left_norm=1, name=name)


def total_rows(counts: Counts, public: int | None) -> float:
    """The number of rows: public, or a noisy one that is never too small for its noise."""
    if public is not None:
        return max(float(public), 1.0)
    total, std = float(counts.value.sum()), counts.std * math.sqrt(len(counts.value))
    return max((total + math.sqrt(total**2 + 4 * std**2)) / 2, 1.0)


def shares_of(counts: Counts) -> Floats:
    """The share of each class, shrunk towards equal ones as its noise has it."""
    k, std = len(counts.value), counts.std
    total = max(float(counts.value.sum()), std)
    even = counts.value / total - 1 / k
    found = 1 / k + even * PRIOR / (PRIOR + 4 * (std / total) ** 2)
    found = np.clip(found, 0.005 / k, None)
    return np.asarray(found / found.sum())


def flatness(classes: int) -> float:
    """How much flatter the loss is for so many even classes than for two: a quarter over p(1 - p)."""
    return 0.25 * classes**2 / max(classes - 1, 1)


def _start(counts: Counts, problem: Problem) -> Floats:
    """Log odds of the classes alone."""
    odds = np.log(shares_of(counts))
    levels = np.array([odds[1] - odds[0]]) if len(odds) == 2 else odds - odds.mean()
    theta = np.zeros((len(levels), problem.width))
    if problem.intercept:
        theta[:, 0] = levels
    return theta


def standard_rows(problem: Problem, bounds: Bounds, share: Share, n: float) -> Standard:
    """Rows in deviations from their means, from noisy sums."""
    d = len(bounds.lower)
    powers = Powers(Scaled.by(bounds, False), name="means and squares")
    sums = problem.curator.measure(powers, share)
    means, squares = np.split(sums.value / n, [d])
    centre, spread = shrunk_moments(means, squares, float(sums.std) / n, problem.intercept)
    return standardised(bounds, problem.intercept, problem.clip, centre, spread)


def _white(curator: Curator, standard: Standard, share: Share, n: float) -> tuple[Image, Floats, float]:
    """The rows whitened as far as a noisy look allows; the matrix W that did it; how much of the look was kept."""
    width = len(standard.frame)
    rows = BoundedSum(standard.rows, standard.rows, norm=RADIUS**2 * width, name="X'X")
    look = curator.measure(rows, share)
    noise = float(look.std[0, 0]) / n
    matrix, kept = shrunk_correlations(look.value / n, noise)
    if kept < TRUSTED:
        return standard.rows, np.eye(width), 0.0
    image = Mixed(standard.scaled, standard.frame @ whitening(matrix, max(LOOSE * kept * spectral(noise, width), 0.01)))
    return image, np.asarray(np.linalg.solve(standard.frame, image.matrix)), kept


@dataclass(frozen=True)
class Walk:
    """Descent along noisy gradients."""

    curator: Curator
    directions: Directions
    clip: float
    n: float
    step: float
    first: int = 0  # rounds that were used before

    def run(self, theta: Floats, shares: list[Share]) -> tuple[Floats, float]:
        """The average of the second half of the steps, and the deviation that noise gives a coordinate of it."""
        self.curator.keep()
        residuals = two if len(theta) == 1 else many
        late, noise = [], 0.0
        for i, share in enumerate(shares):
            query = gradient(self.directions, theta, self.clip, residuals, f"round {self.first + i + 1}")
            found = self.curator.measure(query, share)
            noise = float(found.std) * self.step / self.n
            theta = theta + self.step / self.n * found.value.reshape(self.directions.width, -1).T
            late += [theta] if i >= len(shares) // 2 else []
        return np.mean(late, axis=0) if late else theta, noise * remembered(len(shares), 1 - min(self.step * BENT, 1.0))


def remembered(rounds: int, factor: float) -> float:
    """The deviation of the average of the second half of a walk whose steps have noise 1 and are forgotten so fast.

    >>> remembered(1, 0.5), round(remembered(4, 0.0), 3)
    (1.0, 0.707)
    """
    if rounds == 0:
        return 0.0
    first = rounds // 2
    power = factor ** np.arange(rounds)
    weights = [power[max(first - j, 0) : rounds - j].sum() for j in range(rounds)]
    return float(np.sqrt(np.square(weights).sum()) / (rounds - first))


def shrunk(step: Floats, doubt: float, power: float = 1.0) -> tuple[Floats, float]:
    """A vector of which `doubt` of the squared length is noise, shrunk (James & Stein 1961), and the factor.

    >>> shrunk(np.array([2.0, 0.0]), 2.0)
    (array([1., 0.]), 0.5)
    """
    factor = max(0.0, 1 - doubt / max(float((step**2).sum()), 1e-300)) ** power
    return step * factor, factor


def _noise(problem: Problem, size: int) -> float:
    """The deviation that the whole budget would give to each of `size` coordinates of a vector of norm 1."""
    event = problem.curator.buys(problem.budget.whole("radial"))
    exchange = math.sqrt(2) if problem.budget.neighbours == "replace-one" else 1.0
    if isinstance(event, Gaussian):
        return event.noise_multiplier * exchange
    assert isinstance(event, Pure)
    return math.sqrt(size + 1) / event.epsilon * exchange
