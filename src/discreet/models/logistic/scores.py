"""Classes and their scores: how the loss bends where rows are white, what class shares say, how far to trust it all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from discreet.budget import Share
from discreet.curator import Curator
from discreet.models.logistic.directions import Directions, level_and_scale

Floats = NDArray[np.float64]

FLATTEST = 1e-3  # the least curvature that is believed
OFTEN = 1.0  # deviations of the scores from their mean: residuals are clipped at those of rows so far on the wrong side
TALL = 1.5  # of that, with the score beside it, where level and scale are measured
SURE, LEAST = 0.5, 0.05  # deviation of the scale before it is measured: as a share of it, and at least
ASTRAY = 0.2  # and of the level, beside that of class shares
SMALLEST, LARGEST = 0.2, 4.0  # by what a scale is multiplied at once
LEVELS = 8  # steps to the intercepts at which class shares come out
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes, as far as counts tell, and coordinates for their scores, in which the loss bends one by one.

    Attributes
    ----------
    shares : of the rows, each above zero.
    noise : the deviation of the noise in them.
    basis : of two classes the scores (-s/2, s/2); of more, an orthonormal basis of scores that add up to zero.
    first : how many intercepts a row of coefficients has, 0 or 1.
    """

    shares: Floats
    noise: float
    basis: Floats
    first: int

    @classmethod
    def by(cls, shares: Floats, noise: float, intercept: bool) -> Classes:
        """Of shares with such noise."""
        k = len(shares)
        if k == 2:
            basis = np.array([[-0.5], [0.5]])
        else:
            apart = np.eye(k) - 1 / k
            bend = apart @ (np.diag(shares) - np.outer(shares, shares)) @ apart
            basis = np.linalg.eigh(bend + 2.0 / k)[1][:, :-1]  # all classes alike: the last, by far
        return cls(shares, noise, basis, int(intercept))

    @property
    def two(self) -> bool:
        """Whether there are two, which have one row of coefficients."""
        return len(self.shares) == 2

    def theta(self, coefficients: Floats) -> Floats:
        """One row per class, or one for two of them."""
        return coefficients if self.two else np.asarray(self.basis @ coefficients)

    def fold(self, sums: Floats) -> Floats:
        """The slope of the loss along the basis, of that along each class."""
        return sums if self.two else np.asarray(self.basis.T @ sums)

    def start(self, width: int) -> Floats:
        """Class shares alone."""
        theta = np.zeros((self.basis.shape[1], width))
        if self.first:
            theta[:, 0] = self.level(theta)
        return theta

    def level(self, theta: Floats) -> Floats:
        """The intercepts at which class shares come out, where slopes are these and rows white."""
        scores = Margins.of(self, np.concatenate([np.zeros_like(theta[:, :1]), theta[:, self.first :]], axis=1), 1)
        log = np.log(self.shares)
        level = log
        for _ in range(LEVELS):
            mean = scores.weights @ softmax(scores.scores + level, axis=1)
            level = level + log - np.log(mean)
        return np.asarray((level[1] - level[0])[None] if self.two else self.basis.T @ level)

    def away(self, theta: Floats) -> Floats:
        """Coefficients less the intercepts that follow from class shares."""
        if not self.first:
            return theta
        less = theta.copy()
        less[:, 0] -= self.level(theta)
        return less

    @cached_property
    def bend(self) -> Floats:
        """The curvature of the loss without slopes."""
        return Margins.of(self, self.start(self.first), self.first).across

    @property
    def doubt(self) -> Floats:
        """The variance of the intercepts that follow from class shares."""
        return np.asarray((self.noise / self.bend) ** 2)

    def safe_bend(self, margins: Margins) -> Floats:
        """The curvature half way to where there are no slopes: where scores are long, a whole step would be too far."""
        return np.asarray((margins.across + self.bend) / 2)


@dataclass(frozen=True, eq=False)
class Margins:
    """The scores of white rows, which are nearly normal: what the loss does there follows without asking.

    Attributes
    ----------
    slopes : one row per coordinate of the basis.
    scores, weights : of each class, at points that stand for all rows, and what part of them.
    along_basis : the same of the slopes alone, in coordinates of the basis.
    basis : from these to classes.
    """

    slopes: Floats
    level: Floats
    scores: Floats
    weights: Floats
    along_basis: Floats
    basis: Floats

    @classmethod
    def of(cls, classes: Classes, theta: Floats, first: int | None = None) -> Margins:
        """Of coefficients, the intercept first."""
        first = classes.first if first is None else first
        slopes, level = theta[:, first:], theta[:, :first].sum(axis=1)
        points, weights = normal_points(len(theta))
        values, vectors = np.linalg.eigh(slopes @ slopes.T)
        along = points @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return cls(slopes, level, (along + level) @ classes.basis.T, weights, along, classes.basis)

    @cached_property
    def chances(self) -> Floats:
        """Of each class."""
        return np.asarray(softmax(self.scores, axis=1))

    @cached_property
    def length(self) -> float:
        """The deviation of the scores."""
        return math.sqrt(max(float((self.slopes**2).sum()), 1e-12))

    @cached_property
    def across(self) -> Floats:
        """The curvature along each coordinate of the basis, for features that have no part in the scores."""
        mean = self.chances @ self.basis
        bend = self.weights @ (self.chances @ self.basis**2 - mean**2)
        return np.asarray(np.maximum(bend, FLATTEST))

    @cached_property
    def along(self) -> float:
        """The curvature along the scores themselves, made as long as 1: where they are long, it is less."""
        score = self.along_basis @ self.basis.T
        mean = (self.chances * score).sum(axis=1)
        bend = float(self.weights @ ((self.chances * score**2).sum(axis=1) - mean**2))
        return max(bend / self.length**2, FLATTEST)

    @property
    def residual(self) -> float:
        """How long a residual may be before it is clipped: hardly any row is so far on the wrong side."""
        if len(self.slopes) == 1:
            return float(expit(abs(self.level[0]) + OFTEN * self.length))
        squares = (self.chances**2).sum(axis=1, keepdims=True)
        longest = np.sqrt((1 - self.chances) ** 2 + squares - self.chances**2).max(axis=1)
        return float(np.quantile(longest, 0.9))

    def newton(self, pull: Floats, bend: Floats) -> Floats:
        """The step to where the loss is least, by its slope."""
        step = pull / bend[:, None]
        first = step.shape[1] - self.slopes.shape[1]
        share = (self.slopes**2).sum(axis=1) / self.length**2
        flat = float(bend @ share) / self.along
        if flat > 1 and self.length > 1e-3:
            ahead = self.slopes / self.length
            step[:, first:] += (min(flat, 10.0) - 1) * float((step[:, first:] * ahead).sum()) * ahead
        return step


@lru_cache(maxsize=8)
def normal_points(width: int) -> tuple[Floats, Floats]:
    """Points that stand for a normal vector, and their weights: public, always the same."""
    if width == 1:
        return NODES[:, None], WEIGHTS / WEIGHTS.sum()
    half = np.random.default_rng(0).standard_normal((128, width))
    return np.concatenate([half, -half]), np.full(256, 1 / 256)


def set_scale(
    curator: Curator, rows: Directions, classes: Classes, theta: Floats, n: float, shares: Sequence[Share]
) -> Floats:
    """Coefficients with level and scale set by what rows say of them: the same order, better probabilities.

    A sum of a few numbers has little noise, however many features there are. It tells by how much the mean residual
    and that along the scores are from zero, where they are if probabilities are right.
    """
    level_doubt, scale_doubt = ASTRAY**2 + classes.doubt, SURE**2
    for share in shares:
        margins = Margins.of(classes, theta)
        length, clip = margins.length, TALL * margins.residual

        # SUMMARISE + PRIVATISE: residuals, and their product with the scores
        found = curator.measure(level_and_scale(rows, classes.theta(theta), classes.first, length, clip), share)
        pull, noise = np.asarray(found.value, np.float64) / n, float(np.max(found.std)) / n

        # SOLVE: Newton's step from there, as far as it is no noise
        theta = theta.copy()
        off = (noise / margins.along / length) ** 2
        least = (LEAST / length) ** 2
        times = 1 + pull[-1] / margins.along / length * (scale_doubt + least) / (scale_doubt + least + off)
        theta[:, classes.first :] *= min(max(float(times), SMALLEST), LARGEST)
        scale_doubt = 1 / (1 / scale_doubt + 1 / off)
        if classes.first:
            off = (noise / margins.across) ** 2
            step = classes.fold(pull[:-1, None])[:, 0] / margins.across
            theta[:, 0] += step * level_doubt / (level_doubt + off)
            level_doubt = 1 / (1 / level_doubt + 1 / off)
    return theta
