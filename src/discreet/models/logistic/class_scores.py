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
from discreet.models.logistic.directions import RowDirections, sum_level_and_scale

Floats = NDArray[np.float64]

CURVATURE_LEAST, LENGTH_LEAST = 1e-3, 1e-6  # the least curvature that is believed; the least length
RESIDUAL_DEVIATIONS = (
    1.0  # deviations of the scores from their mean: residuals are clipped at those of rows so far on the wrong side
)
SCALE_CLIP = 1.5  # of that, with the score beside it, where level and scale are measured
SCALE_DOUBT, SCALE_DOUBT_LEAST = (
    0.5,
    0.05,
)  # deviation of the scale before it is measured: as a share of it, and at least
LEVEL_DOUBT = 0.2  # and of the level, beside that of class shares
SCALE_LEAST, SCALE_MOST = 0.2, 4.0  # by what a scale is multiplied at once
LEVEL_STEPS = 6  # steps to the intercepts at which class shares come out
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


@dataclass(frozen=True, eq=False)
class ClassBasis:
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
    n_intercepts: int

    @classmethod
    def from_shares(cls, shares: Floats, noise: float, intercept: bool) -> ClassBasis:
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
    def is_binary(self) -> bool:
        """Whether there are two, which have one row of coefficients."""
        return len(self.shares) == 2

    def expand(self, coefficients: Floats) -> Floats:
        """One row per class, or one for two of them."""
        return coefficients if self.is_binary else np.asarray(self.basis @ coefficients)

    def project(self, sums: Floats) -> Floats:
        """The slope of the loss along the basis, of that along each class."""
        return sums if self.is_binary else np.asarray(self.basis.T @ sums)

    def start_coefficients(self, width: int) -> Floats:
        """Class shares alone."""
        theta = np.zeros((self.basis.shape[1], width))
        if self.n_intercepts:
            theta[:, 0] = self.solve_intercepts(theta)
        return theta

    def solve_intercepts(self, theta: Floats) -> Floats:
        """The intercepts at which class shares come out, where slopes are these and rows white."""
        scores = ScoreDistribution.from_coefficients(
            self, np.concatenate([np.zeros_like(theta[:, :1]), theta[:, self.n_intercepts :]], axis=1), 1
        )
        if self.is_binary:
            return self._solve_binary_intercept(scores)
        log = np.log(self.shares)
        level = log
        for _ in range(LEVEL_STEPS):
            level = level + log - np.log(scores.weights @ class_probabilities(scores.class_scores + level))
        return np.asarray(self.basis.T @ level)

    def _solve_binary_intercept(self, scores: ScoreDistribution) -> Floats:
        """By Newton's method, in steps no longer than 1."""
        share, along = self.shares[1], scores.along[:, 0]
        level = math.log(share / self.shares[0])
        for _ in range(LEVEL_STEPS if scores.score_std > 0.1 else 2):
            chance = expit(level + along)
            off = share - float(scores.weights @ chance)
            bend = float(scores.weights @ (chance * (1 - chance)))
            level += min(max(off / max(bend, LENGTH_LEAST), -1.0), 1.0)
        return np.array([level])

    def subtract_intercepts(self, theta: Floats) -> Floats:
        """Coefficients less the intercepts that follow from class shares."""
        if not self.n_intercepts:
            return theta
        less = theta.copy()
        less[:, 0] -= self.solve_intercepts(theta)
        return less

    @cached_property
    def curvature(self) -> Floats:
        """The curvature of the loss without slopes."""
        return self._flat_scores.curvature

    @cached_property
    def _flat_scores(self) -> ScoreDistribution:
        return ScoreDistribution.from_coefficients(self, self.start_coefficients(self.n_intercepts), self.n_intercepts)

    @property
    def intercept_variance(self) -> Floats:
        """The variance of the intercepts that follow from class shares."""
        return np.asarray((self.noise / self.curvature) ** 2)

    def damp_curvature(self, margins: ScoreDistribution) -> Floats:
        """The curvature half way to where there are no slopes: where scores are long, a whole step would be too far."""
        return np.asarray(
            (margins.curvature + replace(self._flat_scores, residual_clip=margins.residual_clip).curvature) / 2
        )


@dataclass(frozen=True, eq=False)
class ScoreDistribution:
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
    directions: Floats
    basis: Floats
    residual_clip: float = math.inf

    @classmethod
    def from_coefficients(cls, classes: ClassBasis, theta: Floats, first: int | None = None) -> ScoreDistribution:
        """Of coefficients, the intercept first."""
        first = classes.n_intercepts if first is None else first
        slopes, level = theta[:, first:], theta[:, :first].sum(axis=1)
        points, weights = normal_points(len(theta))
        values, vectors = np.linalg.eigh(slopes @ slopes.T)
        root = np.sqrt(np.maximum(values, 0.0))
        turn = (
            vectors / np.maximum(root, LENGTH_LEAST)
        ).T @ slopes  # the directions in which scores differ, of length 1
        return cls(slopes, level, points, weights, points @ (vectors * root).T, turn, classes.basis)

    @cached_property
    def class_scores(self) -> Floats:
        """Of each class."""
        return np.asarray((self.along + self.level) @ self.basis.T)

    @cached_property
    def probabilities(self) -> Floats:
        """Of each class."""
        return class_probabilities(self.class_scores)

    @cached_property
    def score_std(self) -> float:
        """The deviation of the scores."""
        return math.sqrt(max(float((self.slopes**2).sum()), LENGTH_LEAST**2))

    @cached_property
    def _residual_norms(self) -> Floats:
        """Of the residual at each point, for each class that a row may be of."""
        squares = (self.probabilities**2).sum(axis=1, keepdims=True)
        return np.asarray(
            np.sqrt((1 - self.probabilities) ** 2 + squares - self.probabilities**2) * self._residual_scale
        )

    @property
    def _residual_scale(self) -> float:
        return math.sqrt(0.5) if len(self.slopes) == 1 else 1.0  # of two classes there is one residual

    @cached_property
    def _clipped_probabilities(self) -> Floats:
        """The chance of each class times what is left of its residual once it is clipped."""
        return self.probabilities * np.minimum(1.0, self.residual_clip / np.maximum(self._residual_norms, LENGTH_LEAST))

    @cached_property
    def _mean_basis(self) -> Floats:
        return np.asarray(self.probabilities @ self.basis)

    @cached_property
    def curvature(self) -> Floats:
        """How fast the slope of the loss falls along each coordinate of the basis, for features not in the scores."""
        part = self._clipped_probabilities
        bend = (
            part @ self.basis**2
            - 2 * (part @ self.basis) * self._mean_basis
            + part.sum(axis=1)[:, None] * self._mean_basis**2
        )
        return np.asarray(np.maximum(self.weights @ bend, CURVATURE_LEAST))

    @cached_property
    def curvature_along_scores(self) -> float:
        """The same along the scores themselves, made as long as 1: where they are long, it is less."""
        score, part = self.along @ self.basis.T, self._clipped_probabilities
        mean = (self.probabilities * score).sum(axis=1)
        bend = (part * score**2).sum(axis=1) - 2 * (part * score).sum(axis=1) * mean + part.sum(axis=1) * mean**2
        return max(float(self.weights @ bend) / self.score_std**2, CURVATURE_LEAST)

    @property
    def typical_residual(self) -> float:
        """How long residuals are, but for rows far on the wrong side."""
        if len(self.slopes) == 1:
            return float(expit(abs(self.level[0]) + RESIDUAL_DEVIATIONS * self.score_std))
        return float(np.quantile(self._residual_norms.max(axis=1), 0.9))

    def expected_gradient(self, first: int) -> Floats:
        """The slope of the loss to be expected if these scores were right: zero, but for clipped residuals."""
        excess = (
            self._clipped_probabilities @ self.basis
            - self._clipped_probabilities.sum(axis=1)[:, None] * self._mean_basis
        )
        excess = (self.weights[:, None] * excess).T
        return np.concatenate([excess.sum(axis=1)[:, None][:, :first], excess @ self.points @ self.directions], axis=1)

    def newton_step(self, pull: Floats, bend: Floats) -> Floats:
        """The step to where the loss is least, by its slope."""
        first = pull.shape[1] - self.slopes.shape[1]
        step = (pull - self.expected_gradient(first)) / bend[:, None]
        share = (self.slopes**2).sum(axis=1) / self.score_std**2
        flat = float(bend @ share) / self.curvature_along_scores
        if flat > 1 and self.score_std > 1e-3:
            ahead = self.slopes / self.score_std
            step[:, first:] += (min(flat, 10.0) - 1) * float((step[:, first:] * ahead).sum()) * ahead
        return step


def class_probabilities(scores: Floats) -> Floats:
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
    curator: Curator, rows: RowDirections, classes: ClassBasis, theta: Floats, n: float, shares: Sequence[Share]
) -> Floats:
    """Coefficients with level and scale set by what rows say of them: the same order, better probabilities.

    A sum of a few numbers has little noise, however many features there are. It tells by how much the mean residual
    and that along the scores are from zero, where they are if probabilities are right.
    """
    level_doubt, scale_doubt = LEVEL_DOUBT**2 + classes.intercept_variance, SCALE_DOUBT**2
    for share in shares:
        margins = ScoreDistribution.from_coefficients(classes, theta)
        length, clip = margins.score_std, SCALE_CLIP * margins.typical_residual

        # SUMMARISE + PRIVATISE: residuals, and their product with the scores
        found = curator.measure(
            sum_level_and_scale(rows, classes.expand(theta), classes.n_intercepts, length, clip), share
        )
        pull, noise = np.asarray(found.value, np.float64) / n, float(np.max(found.std)) / n

        # SOLVE: Newton's step from there, as far as it is no noise
        theta = theta.copy()
        off = (noise / margins.curvature_along_scores / length) ** 2
        least = (SCALE_DOUBT_LEAST / length) ** 2
        times = 1 + pull[-1] / margins.curvature_along_scores / length * (scale_doubt + least) / (
            scale_doubt + least + off
        )
        theta[:, classes.n_intercepts :] *= float(np.clip(times, SCALE_LEAST, SCALE_MOST))
        scale_doubt = 1 / (1 / scale_doubt + 1 / off)
        if classes.n_intercepts:
            astray = (noise / margins.curvature) ** 2
            step = classes.project(pull[:-1, None])[:, 0] / margins.curvature
            theta[:, 0] += step * level_doubt / (level_doubt + astray)
            level_doubt = 1 / (1 / level_doubt + 1 / astray)
    return theta
