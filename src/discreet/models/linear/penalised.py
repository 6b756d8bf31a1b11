"""Ridge, Lasso and ElasticNet: solved from the same noisy moments, so that trying penalties costs nothing."""

from __future__ import annotations

import math
import sys
import warnings
from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from discreet.arguments import is_number
from discreet.curator.task import Task
from discreet.models.linear.ebssp import release_moments
from discreet.models.linear.linear_model import LinearModel, pool_residual_std
from discreet.models.linear.shrinkage import NormalEquations, pool_parts, shrink_coefficients
from discreet.models.linear.statistics import Statistics
from discreet.models.shared.linear_fit import Fit
from discreet.models.shared.parameters import estimator

Floats = NDArray[np.float64]
SMALL = 1e-9


@estimator
class Penalised(LinearModel):
    """A linear model with a penalty on its coefficients."""

    alpha: float = 1.0
    clip: float | Literal["auto"] | None = "auto"

    def _fit(self, task: Task) -> None:
        part, notes = release_moments(task, self._clip)
        task.note(*notes)
        self.statistics_ = Statistics(self.bounds_, task.intercept, (part,), (), task.curator.columns, self._target)
        self._set_coefficients(self.bounds_, self._solve_statistics(self.statistics_))
        self.bounds_ = self.statistics_.clip_bounds

    def _read_budget(self) -> Any:
        _check_number(self, "alpha", self.alpha, 0.0, sys.float_info.max)
        if self.clip not in ("auto", None):
            _check_number(self, "clip", self.clip, sys.float_info.min, sys.float_info.max)
        return super()._read_budget()

    @property
    def _clip(self) -> float | None:
        return super()._clip if self.clip == "auto" else None if self.clip is None else float(self.clip)

    def repenalised(self, **parameters: Any) -> Self:
        """The model with other penalties, from the statistics that have left already: it costs nothing.

        >>> import numpy as np, discreet as dc
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (5000, 2))
        >>> y = X @ [1.0, 0.0] + rng.normal(0, 0.1, 5000)
        >>> lasso = Lasso(epsilon=1.0, alpha=0.01, bounds=dc.Bounds(-1, 1, target=(-2, 2))).fit(X, y)
        >>> [bool(model.coef_.any()) for model in (lasso, lasso.repenalised(alpha=10.0))]
        [True, False]
        """
        if getattr(self, "statistics_", None) is None:
            raise ValueError(f"{type(self).__name__} has no statistics yet. Hint: fit it first.")
        kept = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("bounds", "fit_intercept")
        }
        assert self.statistics_ is not None
        return type(self).from_statistics(self.statistics_, **(kept | parameters))

    def _solve_statistics(self, statistics: Statistics) -> Fit:
        free = shrink_coefficients(statistics.parts)
        theta = free.theta
        if any(part.has_slopes for part in statistics.parts):
            theta = self._solve_penalised(pool_parts(statistics.parts, free.theta), statistics)
        return Fit(theta, free.covariance, pool_residual_std(statistics), centre=free.centre)

    @abstractmethod
    def _solve_penalised(self, moments: NormalEquations, statistics: Statistics) -> Floats:
        """The coefficients, scaled."""


def _check_number(model: Penalised, name: str, value: Any, low: float, high: float) -> None:
    if not (is_number(value) and low <= float(value) <= high):
        raise ValueError(f"The `{name}` of {type(model).__name__} must be a number >= {low:.3g}. Got {value!r}.")


def coefficient_units(statistics: Statistics) -> Floats:
    """What one unit of each scaled coefficient is in units of the data, the target's half width apart: 1/half."""
    return np.append(np.ones(int(statistics.intercept)), 1 / statistics.bounds.half)


class Ridge(Penalised):
    """Least squares with a penalty alpha·‖coef‖², with differential privacy.

    Parameters
    ----------
    epsilon, delta : the promise; delta = 0 for the pure one.
    alpha : the weight of the penalty, as in scikit-learn: it is on the coefficients in the units of the data, and the
        intercept is free. `repenalised` tries others at no cost.
    fit_intercept, clip, neighbours, unit, max_rows_per_unit, n, bounds, ledger, random_state : of `LinearRegression`.

    Attributes and guarantee are those of `LinearRegression(method="auto")`, whose moments are solved.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> y = X @ [1.0, -1.0] + rng.normal(0, 0.1, 5000)
    >>> model = Ridge(epsilon=1.0, alpha=1.0, bounds=dc.Bounds(-1, 1, target=(-3, 3))).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -1.0]).max() < 0.2)
    True
    """

    def _solve_penalised(self, moments: NormalEquations, statistics: Statistics) -> Floats:
        penalty = self.alpha * coefficient_units(statistics) ** 2
        penalty[: int(statistics.intercept)] = 0.0
        matrix = moments.gram + np.diag(penalty + SMALL * (1 + moments.count))
        return np.asarray(np.linalg.solve(matrix, moments.products))


class SparseModel(Penalised):
    """A linear model whose penalty makes small coefficients zero."""

    @property
    @abstractmethod
    def _l1(self) -> float:
        """The share of the penalty that is on absolute values; the rest is on squares."""

    def _solve_penalised(self, moments: NormalEquations, statistics: Statistics) -> Floats:
        # in units of the data but for the target, scaled: coefficients c = units·θ, and alpha/half on their sizes
        one, free = coefficient_units(statistics), int(statistics.intercept)
        gram, products = moments.gram / np.outer(one, one) / moments.count, moments.products / one / moments.count
        rest, pull, back = profile_intercept(gram, products, free)
        slopes = solve_elastic_net(rest, pull, self.alpha / statistics.bounds.target_scale[1], self.alpha, self._l1)
        return np.asarray(np.append(back(slopes), slopes) / one)


@estimator
class ElasticNet(SparseModel):
    """Least squares with a penalty on absolute values and squares of the coefficients, with differential privacy.

    The objective is scikit-learn's: ½·mean squared error + alpha·l1_ratio·‖coef‖₁ + ½·alpha·(1 - l1_ratio)·‖coef‖²,
    coefficients in the units of the data, the intercept free.

    Parameters
    ----------
    epsilon, delta : the promise; delta = 0 for the pure one.
    alpha, l1_ratio : the penalty. `repenalised` tries others at no cost.
    fit_intercept, clip, neighbours, unit, max_rows_per_unit, n, bounds, ledger, random_state : of `LinearRegression`.

    Standard errors and intervals are those of the solution without a penalty, from the same moments.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 3))
    >>> y = X @ [1.0, 0.0, 0.0] + rng.normal(0, 0.1, 5000)
    >>> model = ElasticNet(epsilon=1.0, alpha=0.05, bounds=dc.Bounds(-1, 1, target=(-3, 3))).fit(X, y)
    >>> model.coef_.round(1).tolist()[1:]
    [0.0, 0.0]
    """

    l1_ratio: float = 0.5

    def _read_budget(self) -> Any:
        if not 0 <= self._l1 <= 1:
            raise ValueError(f"The `l1_ratio` of {type(self).__name__} must be within 0 and 1. Got {self._l1!r}.")
        return super()._read_budget()

    @property
    def _l1(self) -> float:
        return self.l1_ratio


class Lasso(SparseModel):
    """Least squares with a penalty alpha·‖coef‖₁, with differential privacy: small coefficients become zero.

    The objective is scikit-learn's: ½·mean squared error + alpha·‖coef‖₁, coefficients in the units of the data.

    Parameters
    ----------
    epsilon, delta : the promise; delta = 0 for the pure one.
    alpha : the weight of the penalty. `repenalised` tries others at no cost.
    fit_intercept, clip, neighbours, unit, max_rows_per_unit, n, bounds, ledger, random_state : of `LinearRegression`.
    """

    @property
    def _l1(self) -> float:
        return 1.0


def profile_intercept(gram: Floats, products: Floats, free: int) -> tuple[Floats, Floats, Any]:
    """The normal equations with the first `free` coefficients solved for, and what gives those from the others."""
    if not free:
        return gram, products, lambda slopes: np.zeros(0)
    corner, side = gram[0, 0] + SMALL, gram[0, 1:]
    rest = gram[1:, 1:] - np.outer(side, side) / corner
    pull = products[1:] - side * products[0] / corner
    return rest, pull, lambda slopes: np.array([(products[0] - side @ slopes) / corner])


def solve_elastic_net(gram: Floats, products: Floats, for_sizes: float, for_squares: float, l1_ratio: float) -> Floats:
    """The minimiser of ½c'Gc - p'c + for_sizes·l1_ratio·‖c‖₁ + ½·for_squares·(1 - l1_ratio)·‖c‖²: by least angles."""
    matrix = gram + np.diag(np.full(len(gram), for_squares * (1 - l1_ratio)) + SMALL * np.diag(gram))
    if for_sizes * l1_ratio == 0:
        return np.asarray(np.linalg.lstsq(matrix, products, rcond=None)[0])
    # in units of which all is about 1: the path has a tolerance of its own
    unit = 1 / math.sqrt(max(float(np.diag(matrix).max()), sys.float_info.min))
    top = max(float(np.abs(products).max()) * unit, sys.float_info.min)
    penalty = for_sizes * l1_ratio * unit / top
    if penalty >= 1:
        return np.zeros(len(products))
    with warnings.catch_warnings():  # of columns that are the same up to rounding: one of them stands for all
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = linear_model.lars_path_gram(
            products * unit / top, matrix * unit**2, n_samples=1, alpha_min=penalty, method="lasso", return_path=False
        )
    return np.asarray(path[2]) * unit * top
