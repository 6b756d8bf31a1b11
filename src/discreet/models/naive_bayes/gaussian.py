"""GaussianNB (CL6): in each class every feature is normal, by itself; one release of first and second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.curator.task import Task
from discreet.models.naive_bayes.base import LEAST, NaiveBayes
from discreet.models.naive_bayes.sums import ClassSums
from discreet.models.shared.parameters import estimator
from discreet.query import Batch, BoundedSum, OneHot

Floats = NDArray[np.float64]


@estimator
class GaussianNB(NaiveBayes):
    """Gaussian naive Bayes with differential privacy.

    One release, of class ⊗ (1, z, z² - 1/2): z is a row scaled into [-1, 1] by the bounds. A row touches all of its
    features at once, so the noise is for the whole vector, of norm √(1 + 5d/4): not for each feature by itself. (z² has
    norms up to √2 with z; without its middle they are at most √5/2.)

    Parameters
    ----------
    epsilon, delta : the promise. With delta = 0 it is the pure one, with Laplace noise for the ℓ1 norm 1 + 3d/2.
    neighbours, unit, n, bounds, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    theta_, var_ : mean and variance of each feature in each class, in the units of the data.
    class_count_, class_log_prior_ : of each class.
    statistics_ : the sums that left: `+` adds those of other people's rows, `from_statistics` makes a model of them.
    bounds_, classes_, release_ : as in every private classifier.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are.

    | data | what comes out |
    | --- | --- |
    | no rows, a class without any | finite probabilities: each class counts for one row at least |
    | constant features | a variance of the size of the noise |
    | a row with something missing, or of another class | counts for nothing |
    | a feature that is missing in a row to predict | says nothing of that row |

    References
    ----------
    J. Vaidya, B. Shafiq, A. Basu & Y. Hong, "Differentially private naive Bayes classification", WI-IAT 2013 (there,
    noise is scaled by exact numbers of rows, which are private).

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["ill", "well"], 4000)
    >>> X = rng.normal(0, 1, (4000, 2)) + 2 * (y == "ill")[:, None]
    >>> model = GaussianNB(1.0, 1e-6, bounds=dc.Bounds(-4, 6, classes=("ill", "well"))).fit(X, y)
    >>> model.score(X, y) > 0.9, bool(np.abs(model.theta_ - [[2, 2], [0, 0]]).max() < 0.5)
    (True, True)
    """

    theta_: Floats = field(init=False)
    var_: Floats = field(init=False)

    def _fit(self, task: Task) -> None:
        bounds, (share,) = task.deal(1)
        assert bounds.classes is not None

        # BOUND: (1, z, z² - 1/2), with one norm for all of it
        image = Moments(bounds)

        # SUMMARISE: for each class
        query = image.sum_by_class(len(bounds.classes), task.budget.pure)

        # PRIVATISE: one release
        noisy = task.curator.measure(query, share)

        # SOLVE
        self._accept(ClassSums(bounds, (), (np.asarray(noisy.value),), (float(noisy.std),)))

    def _accept(self, statistics: ClassSums) -> None:
        (moments,), (std,) = statistics.totals, statistics.stds
        self.statistics_ = statistics
        self._accept_counts(moments[:, 0])
        middle, half = statistics.bounds.centre, statistics.bounds.half
        mean, variance = solve_moments(moments, std)
        self.theta_, self.var_ = middle + half * mean, half**2 * variance

    def _likelihood(self, X: Any) -> Floats:
        rows = self._check_rows(X)
        inside = np.clip(np.where(np.isfinite(rows), rows, np.nan), self.bounds_.lower, self.bounds_.upper)
        return log_normal(inside, self.theta_, self.var_)

    def _count_coordinates(self, rows: Any) -> int:
        return 1 + 2 * int(rows.width)


@dataclass(frozen=True, eq=False)
class Moments:
    """The image (1, z, z² - 1/2) of a row, z its features scaled into [-1, 1]."""

    bounds: Bounds

    def __call__(self, batch: Batch) -> Floats:
        z = self.bounds.scale(batch.X)
        return np.column_stack([np.ones(len(z)), z, z * z - 0.5])

    def norm(self, order: int) -> float:
        """Its largest norm: (|z|, |z² - 1/2|) is longest at z = ±1, (1, 1/2)."""
        d = len(self.bounds.lower)
        return 1 + 1.5 * d if order == 1 else math.sqrt(1 + 1.25 * d)

    def sum_by_class(self, classes: int, pure: bool) -> BoundedSum:
        """The sum over the rows of each class."""
        order: Literal[1, 2] = 1 if pure else 2
        return BoundedSum(OneHot(class_of, classes), self, self.norm(order), order, name="moments by class")


def class_of(batch: Batch) -> Floats:
    """The place of a row's class; -1 where it has none."""
    y = np.full(len(batch), -1.0) if batch.y is None else batch.y
    return np.where(np.isfinite(y), y, -1.0)


def solve_moments(moments: Floats, std: float) -> tuple[Floats, Floats]:
    """Mean and variance of each scaled feature in each class; a variance is never below what the noise hides."""
    count = np.maximum(moments[:, :1], LEAST)
    d = moments.shape[1] // 2
    noise = np.minimum(std / count, 1.0)
    mean = np.clip(moments[:, 1 : d + 1] / count, -1.0, 1.0)
    variance = np.clip(moments[:, d + 1 :] / count + 0.5 - mean**2, 0.0, 1.0)
    return mean, np.maximum(variance, np.maximum(noise, 1e-6)) + noise**2  # the mean is known up to its own noise


def log_normal(rows: Floats, mean: Floats, variance: Floats) -> Floats:
    """The log density of each row in each class; features that are missing are left out."""
    by_class = [
        np.where(np.isnan(rows), 0.0, (rows - m) ** 2 / v + np.log(v)).sum(axis=1)
        for m, v in zip(mean, variance, strict=True)
    ]
    return np.asarray(-0.5 * np.column_stack(by_class))
