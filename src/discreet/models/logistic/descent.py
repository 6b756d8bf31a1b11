"""Averaged descent on standardised, whitened rows: the default of logistic regression.

Why it is accurate: features get a common scale by means and deviations that cost a tenth of the budget, and are
whitened as far as a noisy look at their correlations can be trusted, so that few steps go far; each row's gradient is
clipped as a whole, at a size where a row counts for about as much as any other; where noise hides features one by one,
rows lean towards the average of all (`together.py`); steps get longer as the loss gets flatter, and shorter where there
is much noise; later ones are averaged, which averages their noise; and what noise may have made of the slopes counts
for as little as the likeliest class is worth. All constants depend on public numbers and on what was released: how many
rows, columns and how much budget there are, through ρ, the size of the noise in X'X relative to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share, instead, radial
from discreet.curator import Curator
from discreet.images import Mixed
from discreet.models.classifier import SCANTY
from discreet.models.linear.problem import ADAPTS
from discreet.models.logistic import few, together
from discreet.models.logistic.counts import (
    FEW,
    Counts,
    Number,
    all_again,
    class_counts,
    shares_of,
    too_few,
    total_rows,
)
from discreet.models.logistic.directions import Directions
from discreet.models.logistic.moments import shrunk_correlations, spectral, trusted, whitening
from discreet.models.logistic.problem import Fit, Problem, around_zero
from discreet.models.logistic.standard import all_together, one_by_one
from discreet.models.logistic.walk import Path, Walk
from discreet.models.scaling import Standard
from discreet.query import WIDEST, BoundedSum, Image

Floats = NDArray[np.float64]

# shares of the budget: how many rows of each class, means and squares, X'X to whiten by; the rest for the gradients
SHARES, SHARES_PURE = (0.04, 0.1, 0.12), (0.12, 0.12, 0.08)
ROUNDS, ROUNDS_PURE = 20, 5
CLIP, CLIP_POWER = 0.4, 0.25  # of √width, the length that gradients are clipped to; and how it falls with ρ
STEP, STEP_POWER = 1.2, 0.4  # the longest step along an average gradient, and how it falls with ρ
STRONG = 9.0  # signals: with fewer, steps get shorter still
RADIUS = 1.5  # of a row in the look, in typical lengths
LOOSE = 0.3  # of the noise's spectral norm: the floor of the eigenvalues that rows are whitened by
BLIND = 0.55  # of √width: with more noise than that in its entries X'X would tell nothing, and classes are counted
AHEAD = 0.4  # of what it may be worth: so far ahead of the next the likeliest class outweighs what may be noise
SURE = 1.0  # deviations of the length of noise by which slopes must be longer, to be none

LOOK = "correlations"
FAINT = (
    "much noise for this many rows: coefficients were shrunk to {:.0%} of what was found, towards class shares alone"
)
CLIPPED = "features were clipped at {:g} standard deviations from their means: coefficients are of the clipped values"


@dataclass(frozen=True)
class Setting:
    """How hard to clip and how far to step, from public numbers.

    Attributes
    ----------
    noise : the deviation of the noise in a coordinate of a vector of norm 1, over n.
    width : the mean squared length of a row of uncorrelated features: their number, where none is shrunk.
    """

    noise: float
    width: float

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
        return min(CLIP * math.pow(self.rho, -CLIP_POWER), 1.0) * math.sqrt(self.width)

    def step(self, kept: float) -> float:
        """How far to follow the average gradient; a Newton step where rows are white."""
        plain = min(math.pow(self.rho, -STEP_POWER), STEP) * min(math.sqrt(self.signal / STRONG), 1.0)
        return plain + (4.0 - plain) * kept


def descent(problem: Problem) -> Fit:
    """Release class counts, moments and gradients; follow them.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs | the likelier class where the plan may fork (`few.py`); else mostly noise |
    | one class only | that class, nearly always |
    | constant or collinear columns | finite coefficients |
    """
    if few.surely_few(problem):
        bounds, (whole,) = problem.deal(instead(1.0))
        return few.likelier(problem, bounds, whole, Number(float(problem.n or 0), 0.0))

    forks = few.forks(problem)
    bounds, for_counts, fork, (for_moments, for_look, *for_steps) = _dealt(problem, forks)
    bounds = bounds if problem.intercept else around_zero(bounds)
    curator = problem.curator

    # PRIVATISE: how many rows of each class; how noisy all else will be follows from it
    counts = class_counts(curator, for_counts, problem.classes())
    rows, moments = counts.total, [for_moments]
    if fork:
        for_again, for_class = fork
        if few.surely_many(rows, problem):
            moments.append(for_again)
        else:
            rows, scarce = few.counted_again(rows, problem, for_again)
            if scarce:
                return few.likelier(problem, bounds, for_class, rows)
    n = total_rows(rows, problem.n)

    # BOUND + SUMMARISE + PRIVATISE: means and deviations, then a look at the correlations, or at the classes again
    standard = (all_together if _hidden(problem, bounds, n) else one_by_one)(problem, bounds, n, *moments)
    blind = _blind(problem, len(counts.value), for_look, n)
    image: Image = standard.rows
    white, kept = np.eye(problem.width), 0.0
    if blind:
        found = curator.measure(all_again(problem.width, len(counts.value), LOOK), for_look)
        more = Counts.on_diagonal(found, len(counts.value))
        counts, rows = counts.and_by(more), rows.and_by(more.total)
        n = total_rows(rows, problem.n)
    else:
        image, white, kept = _white(curator, standard, for_look, n)

    # SUMMARISE + PRIVATISE: gradients, each where the ones before have led
    start = few.by_shares(counts, problem)
    setting = Setting(problem.noise(start.size) / n, problem.width)
    scanty = setting.signal < SCANTY or too_few(counts, problem)
    if kept == 0 and _hidden(problem, bounds, n):
        white = together.leaning(together.average(bounds))
        image = Mixed(standard.scaled, standard.frame @ white)
        setting = Setting(setting.noise, float((white**2).sum()))
    step = setting.step(kept) * flatness(counts)
    level = white[0] if problem.intercept and not blind else None
    walk = Walk(
        curator,
        Directions(image, problem.width),
        setting.clip,
        n,
        step,
        level,
        rarest(counts),
        math.sqrt(setting.width),
    )
    curator.keep()
    path = Path((np.asarray(np.linalg.solve(white, start.T).T),))
    for i, share in enumerate(for_steps):
        path = walk.on(path, share, f"round {i + 1}")

    # SOLVE: what noise may have made of it counts for as little as the likeliest class is worth
    theta, noise = walk.end(path)
    moved, covariance = np.asarray(theta @ white.T - start), noise**2 * white @ white.T
    weight = trust(moved, covariance, worth(counts)) if problem.intercept else 1.0
    notes = (ADAPTS, *([FEW] if scanty else []), *([FAINT.format(weight)] if weight < 0.5 else []))
    notes += (CLIPPED.format(problem.clip),) if standard.clips else ()
    return Fit((start + weight * moved) @ standard.frame.T, bounds, standard.narrow, notes)


def worth(counts: Counts) -> float:
    """What to name the likeliest class alone is worth, from 0 to 1: how far it is ahead of the next one.

    >>> round(worth(Counts(np.array([9_000.0, 1_000.0]), 1.0)), 3), worth(Counts(np.array([5.0]), 1.0))
    (0.8, 1.0)
    """
    first, second = (*np.sort(shares_of(counts))[::-1], 0.0)[:2]
    return float((first - second) / (first + second))


def trust(moved: Floats, covariance: Floats, likeliest: float) -> float:
    """How much is kept of the way from class shares to where the walk has led.

    The part that is surely no noise, as far as the length of the slopes tells (James & Stein 1961); and of the rest,
    which may be, the less the more the likeliest class alone is worth. Where classes are even there is nothing to lose
    by it; where one is far ahead it would be voted down by noise.

    Parameters
    ----------
    moved, covariance : how far coefficients are from the start, the intercept first; the covariance of their noise.
    likeliest : what the likeliest class alone is worth, from 0 to 1.

    >>> moved = np.array([[0.0, 4.0, 0.0]])
    >>> [trust(moved, np.eye(3), likeliest) for likeliest in (0.0, 0.25, 0.5)]
    [1.0, 0.84375, 0.75]
    """
    slopes, of_slopes = moved[:, 1:], covariance[1:, 1:]
    noise = float(np.trace(of_slopes)) * len(moved)  # of the squared length, and SURE deviations of it
    noise += SURE * math.sqrt(2 * float((of_slopes**2).sum()) * len(moved))
    signal = max(0.0, 1 - noise / max(float((slopes**2).sum()), 1e-300))
    return signal + (1 - signal) * max(0.0, 1 - likeliest / AHEAD)


def bends(counts: Counts) -> Floats:
    """The curvature p(1 - p) of the loss along each of several classes; of two, as if they were even."""
    shares = shares_of(counts)
    return shares * (1 - shares) if len(shares) > 2 else np.full(len(shares), 0.25)


def flatness(counts: Counts) -> float:
    """How much flatter the loss is along the steepest class than for two even ones: so much longer may steps be."""
    return 0.25 / max(float(bends(counts).max()), 1e-3)


def rarest(counts: Counts) -> float:
    """How much flatter the loss is along the rarest class than along the steepest."""
    bent = bends(counts)
    return float(bent.min() / max(float(bent.max()), 1e-300))


def _dealt(problem: Problem, forks: bool) -> tuple[Bounds, Share, tuple[Share, ...], tuple[Share, ...]]:
    """Bounds; a share to count classes with; two for a fork, if there is one; and those that slopes need."""
    rounds = problem.rounds or (ROUNDS_PURE if problem.budget.pure else ROUNDS)
    counts, moments, look = SHARES_PURE if problem.budget.pure else SHARES
    fork = few.fork() if forks else ()
    moments = moments - few.AGAIN / 2 if forks else moments
    spent = counts + moments + look + (few.AGAIN if forks else 0.0)
    steps = [radial((1 - spent) / rounds)] * rounds
    bounds, (first, *rest) = problem.deal(radial(counts), *fork, radial(moments), radial(look), *steps)
    return bounds, first, tuple(rest[: len(fork)]), tuple(rest[len(fork) :])


def _hidden(problem: Problem, bounds: Bounds, n: float) -> bool:
    """Whether noise would hide features one by one, and there are some that may grow together."""
    fits = 2 * len(bounds.lower) <= WIDEST  # their average is asked for in the shape of means and squares
    if not (problem.intercept and fits) or np.count_nonzero(together.average(bounds)) < 2:
        return False
    classes = problem.classes()
    size = problem.width * (classes if classes > 2 else 1)
    return Setting(problem.noise(size) / n, problem.width).signal < together.HIDDEN


def _blind(problem: Problem, classes: int, share: Share, n: float) -> bool:
    """Whether noise would hide any correlation: classes are worth counting then, where there is room for them."""
    width = problem.width
    noise = RADIUS**2 * width * problem.noise(width * (width + 1) // 2, share) / n
    return problem.intercept and 1 < classes <= width and noise > BLIND * math.sqrt(width)


def _white(curator: Curator, standard: Standard, share: Share, n: float) -> tuple[Image, Floats, float]:
    """The rows whitened as far as a noisy look allows; the matrix W that did it; how much of the look was kept."""
    width = len(standard.frame)
    rows = BoundedSum(standard.rows, standard.rows, norm=RADIUS**2 * width, name=LOOK)
    look = curator.measure(rows, share)
    noise = float(look.std[0, 0]) / n
    matrix, kept = shrunk_correlations(look.value / n, noise)
    if not trusted(kept, width):
        return standard.rows, np.eye(width), 0.0
    image = Mixed(standard.scaled, standard.frame @ whitening(matrix, max(LOOSE * kept * spectral(noise, width), 0.01)))
    return image, np.asarray(np.linalg.solve(standard.frame, image.matrix)), kept
