"""What noisy gradients tell of the coefficients: an average by precision, shrunk by the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STALE_SHARE = 0.3  # how wrong an earlier observation may be, as a share of how far the coefficients have moved since
SQUARED_LENGTHS = np.geomspace(1e-3, 1e2, 25)  # squared lengths of all slopes that are tried
COMMON_SHARES = (0.0, 0.3)  # and how much more slopes may have in common, in shares of all
INTERCEPT_STD = 0.2  # deviation of the intercept from what follows from the class shares, before any row is seen


class InterceptModel(Protocol):
    """What is known of intercepts."""

    @property
    def n_intercepts(self) -> int:
        """How many there are, 0 or 1."""

    def solve_intercepts(self, theta: Floats) -> Floats:
        """The intercepts at which class shares come out, given slopes."""


@dataclass(frozen=True)
class GradientAverage:
    """Observations of coefficients, averaged: the mean of them, and its precision, one number per row."""

    mean: Floats
    precision: Floats

    @classmethod
    def without_data(cls, rows: int, width: int) -> GradientAverage:
        """Before anything is seen."""
        return cls(np.zeros((rows, width)), np.zeros((rows, 1)))

    def observe(self, value: Floats, certainty: Floats) -> GradientAverage:
        """With one more observation, whose coordinates have the deviations 1/certainty.

        >>> none = GradientAverage.without_data(1, 1)
        >>> none.observe(np.array([[2.0]]), np.ones(1)).observe(np.array([[4.0]]), np.ones(1)).mean
        array([[3.]])
        """
        more = np.reshape(certainty, (-1, 1)) ** 2
        total = self.precision + more
        return GradientAverage((self.precision * self.mean + more * value) / total, total)

    def forget(self, moved: Floats) -> GradientAverage:
        """Less sure, since the loss bends: what was seen elsewhere is off by a share of the way from there."""
        return GradientAverage(self.mean, 1 / (1 / self.precision + STALE_SHARE**2 * float((moved**2).mean())))


@dataclass(frozen=True, eq=False)
class SlopePrior:
    """What slopes may be, before any row is seen; how long they are is told by the evidence.

    Slopes of standardised features are taken for equally long, whatever they are; with a second hypothesis, weighed by
    its evidence too, they have something in common: people record numbers so that more is more.

    Attributes
    ----------
    sizes : the variances of slopes on white rows, but for a factor: one per coordinate.
    common : the slopes that all numbers have in common.
    n : the number of rows, whose sampling is noise as well.
    """

    sizes: Floats
    common: Floats
    n: float

    @classmethod
    def for_rows(cls, sizes: Floats, common: Floats, n: float) -> SlopePrior:
        """Of white rows whose coordinates had these variances."""
        return cls(sizes / sizes.mean(), common / np.sqrt(max(float(sizes.mean()), 1e-300)), n)

    def shrink(self, belief: GradientAverage, bend: Floats, levels: InterceptModel) -> tuple[Floats, float]:
        """The coefficients to be expected, and how much of the slopes' length was kept.

        With the evidence of each length that slopes may have: type II maximum likelihood, averaged (Morris 1983).
        """
        variance = 1 / belief.precision + 1 / (self.n * bend[:, None])
        found = belief.mean[:, levels.n_intercepts :]
        slopes = self._posterior_mean(found, variance)
        theta = np.concatenate([np.zeros((len(found), levels.n_intercepts)), slopes], axis=1)
        if levels.n_intercepts:
            theta[:, 0] = (
                levels.solve_intercepts(theta)
                + INTERCEPT_STD**2 / (INTERCEPT_STD**2 + variance[:, 0]) * belief.mean[:, 0]
            )
        long = max(float((found**2).sum()), 1e-300)
        return theta, float(np.sqrt((slopes**2).sum() / long))

    def _posterior_mean(self, found: Floats, variance: Floats) -> Floats:
        each = self.sizes * (SQUARED_LENGTHS / found.size)[:, None]  # length, coordinate
        total = each[:, None, :] + variance  # length, row, coordinate
        by_total = found / total
        common_by_total = self.common / total
        evidence, slopes = [], []
        for share in COMMON_SHARES if float((self.common**2).sum()) > 0 else (0.0,):
            # a common part of variance k: one more direction, by the formula of Sherman and Morrison
            k = (share * SQUARED_LENGTHS / found.size)[:, None]
            spread = 1 + k * (self.common * common_by_total).sum(axis=2)
            part = k * (self.common * by_total).sum(axis=2) / spread
            solved = by_total - part[..., None] * common_by_total
            fit = np.log(total).sum(axis=(1, 2)) + np.log(spread).sum(axis=1) + (found * solved).sum(axis=(1, 2))
            evidence.append(-fit / 2)
            slopes.append(each[:, None, :] * solved + (k * (self.common * solved).sum(axis=2))[..., None] * self.common)
        odds = np.exp(np.concatenate(evidence) - np.max(evidence))
        return np.asarray(np.tensordot(odds / odds.sum(), np.concatenate(slopes), 1))
