"""Classes and their scores: how the loss bends where rows are white, what class shares say, how far to trust it all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discreet.budget import Share
from discreet.curator import Curator
from discreet.models.logistic.directions import Directions, level_and_scale

Floats = NDArray[np.float64]

FLATTEST, TINY = 1e-3, 1e-6  # the least curvature that is believed; the least length
OFTEN = 1.0  # deviations of the scores from their mean: residuals are clipped at those of rows so far on the wrong side
TALL = 1.5  # of that, with the score beside it, where level and scale are measured
SURE, LEAST = 0.5, 0.05  # deviation of the scale before it is measured: as a share of it, and at least
ASTRAY = 0.2  # and of the level, beside that of class shares
SMALLEST, LARGEST = 0.2, 4.0  # by what a scale is multiplied at once
LEVELS = 6  # steps to the intercepts at which class shares come out
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
        if self.two:
            return self._level_of_two(scores)
        log = np.log(self.shares)
        level = log
        for _ in range(LEVELS):
            level = level + log - np.log(scores.weights @ likelihoods(scores.scores + level))
        return np.asarray(self.basis.T @ level)

    def _level_of_two(self, scores: Margins) -> Floats:
        """By Newton's method, in steps no longer than 1."""
        share, along = self.shares[1], scores.along[:, 0]
        level = math.log(share / self.shares[0])
        for _ in range(LEVELS if scores.length > 0.1 else 2):
            chance = expit(level + along)
            off = share - float(scores.weights @ chance)
            bend = float(scores.weights @ (chance * (1 - chance)))
            level += min(max(off / max(bend, TINY), -1.0), 1.0)
        return np.array([level])

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
        return self._flat.across

    @cached_property
    def _flat(self) -> Margins:
        return Margins.of(self, self.start(self.first), self.first)

    @property
    def doubt(self) -> Floats:
        """The variance of the intercepts that follow from class shares."""
        return np.asarray((self.noise / self.bend) ** 2)

    def safe_bend(self, margins: Margins) -> Floats:
        """The curvature half way to where there are no slopes: where scores are long, a whole step would be too far."""
        return np.asarray((margins.across + replace(self._flat, longest=margins.longest).across) / 2)


@dataclass(frozen=True, eq=False)
class Margins:
    """The scores of white rows, which are nearly normal: what the loss does there follows without asking.

    Attributes
    ----------
    slopes, level : one row, and one number, per coordinate of the basis.
    points, weights : normal vectors that stand for all rows, and what part of them.
    along : the scores of each, in coordinates of the basis, without the level.
    basis : from these to classes.
    longest : residuals that are longer are clipped.
    """

    slopes: Floats
    level: Floats
    points: Floats
    weights: Floats
    along: Floats
    turn: Floats
    basis: Floats
    longest: float = math.inf

    @classmethod
    def of(cls, classes: Classes, theta: Floats, first: int | None = None) -> Margins:
        """Of coefficients, the intercept first."""
        first = classes.first if first is None else first
        slopes, level = theta[:, first:], theta[:, :first].sum(axis=1)
        points, weights = normal_points(len(theta))
        values, vectors = np.linalg.eigh(slopes @ slopes.T)
        root = np.sqrt(np.maximum(values, 0.0))
        turn = (vectors / np.maximum(root, TINY)).T @ slopes  # the directions in which scores differ, of length 1
        return cls(slopes, level, points, weights, points @ (vectors * root).T, turn, classes.basis)

    @cached_property
    def scores(self) -> Floats:
        """Of each class."""
        return np.asarray((self.along + self.level) @ self.basis.T)

    @cached_property
    def chances(self) -> Floats:
        """Of each class."""
        return likelihoods(self.scores)

    @cached_property
    def length(self) -> float:
        """The deviation of the scores."""
        return math.sqrt(max(float((self.slopes**2).sum()), TINY**2))

    @cached_property
    def _sizes(self) -> Floats:
        """Of the residual at each point, for each class that a row may be of."""
        squares = (self.chances**2).sum(axis=1, keepdims=True)
        return np.asarray(np.sqrt((1 - self.chances) ** 2 + squares - self.chances**2) * self._scale)

    @property
    def _scale(self) -> float:
        return math.sqrt(0.5) if len(self.slopes) == 1 else 1.0  # of two classes there is one residual

    @cached_property
    def _counted(self) -> Floats:
        """The chance of each class times what is left of its residual once it is clipped."""
        return self.chances * np.minimum(1.0, self.longest / np.maximum(self._sizes, TINY))

    @cached_property
    def _mean(self) -> Floats:
        return np.asarray(self.chances @ self.basis)

    @cached_property
    def across(self) -> Floats:
        """How fast the slope of the loss falls along each coordinate of the basis, for features not in the scores."""
        part = self._counted
        bend = part @ self.basis**2 - 2 * (part @ self.basis) * self._mean + part.sum(axis=1)[:, None] * self._mean**2
        return np.asarray(np.maximum(self.weights @ bend, FLATTEST))

    @cached_property
    def ahead(self) -> float:
        """The same along the scores themselves, made as long as 1: where they are long, it is less."""
        score, part = self.along @ self.basis.T, self._counted
        mean = (self.chances * score).sum(axis=1)
        bend = (part * score**2).sum(axis=1) - 2 * (part * score).sum(axis=1) * mean + part.sum(axis=1) * mean**2
        return max(float(self.weights @ bend) / self.length**2, FLATTEST)

    @property
    def residual(self) -> float:
        """How long residuals are, but for rows far on the wrong side."""
        if len(self.slopes) == 1:
            return float(expit(abs(self.level[0]) + OFTEN * self.length))
        return float(np.quantile(self._sizes.max(axis=1), 0.9))

    def expected(self, first: int) -> Floats:
        """The slope of the loss to be expected if these scores were right: zero, but for clipped residuals."""
        excess = self._counted @ self.basis - self._counted.sum(axis=1)[:, None] * self._mean
        excess = (self.weights[:, None] * excess).T
        return np.concatenate([excess.sum(axis=1)[:, None][:, :first], excess @ self.points @ self.turn], axis=1)

    def newton(self, pull: Floats, bend: Floats) -> Floats:
        """The step to where the loss is least, by its slope."""
        first = pull.shape[1] - self.slopes.shape[1]
        step = (pull - self.expected(first)) / bend[:, None]
        share = (self.slopes**2).sum(axis=1) / self.length**2
        flat = float(bend @ share) / self.ahead
        if flat > 1 and self.length > 1e-3:
            ahead = self.slopes / self.length
            step[:, first:] += (min(flat, 10.0) - 1) * float((step[:, first:] * ahead).sum()) * ahead
        return step


def likelihoods(scores: Floats) -> Floats:
    """Of each class, by its score."""
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


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
        off = (noise / margins.ahead / length) ** 2
        least = (LEAST / length) ** 2
        times = 1 + pull[-1] / margins.ahead / length * (scale_doubt + least) / (scale_doubt + least + off)
        theta[:, classes.first :] *= float(np.clip(times, SMALLEST, LARGEST))
        scale_doubt = 1 / (1 / scale_doubt + 1 / off)
        if classes.first:
            astray = (noise / margins.across) ** 2
            step = classes.fold(pull[:-1, None])[:, 0] / margins.across
            theta[:, 0] += step * level_doubt / (level_doubt + astray)
            level_doubt = 1 / (1 / level_doubt + 1 / astray)
    return theta
