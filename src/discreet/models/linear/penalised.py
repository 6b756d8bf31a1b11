"""Ridge, Lasso and ElasticNet: solved from the same noisy moments, so that trying penalties costs nothing."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model

from discreet.bounds import Bounds
from discreet.budget import Neighbours
from discreet.curator import Curator
from discreet.ledger import Ledger
from discreet.models.linear.ebssp import ebssp
from discreet.models.linear.model import LinearModel
from discreet.models.linear.problem import Fit
from discreet.models.linear.shrink import Moments, pooled
from discreet.models.linear.statistics import Statistics

Floats = NDArray[np.float64]
SMALL = 1e-9


class Penalised(LinearModel):
    """A linear model with a penalty on its coefficients."""

    alpha: float

    def _fit(self, curator: Curator) -> None:
        problem = self._problem(curator)
        part, notes = ebssp(problem)
        self._notes += notes
        self.statistics_ = Statistics(self.bounds_, problem.intercept, (part,), (), curator.columns)
        self._accept(self.bounds_, self._solve(self.statistics_))
        self.bounds_ = self.statistics_.clipped

    def _budget(self) -> Any:
        if isinstance(self.alpha, bool) or not (isinstance(self.alpha, (int, float)) and 0 <= self.alpha < math.inf):
            raise ValueError(f"The `alpha` of {type(self).__name__} must be a number >= 0. Got {self.alpha!r}.")
        return super()._budget()

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

    def _solve(self, statistics: Statistics) -> Fit:
        moments = pooled(statistics.parts)
        if not moments.informs:
            return Fit(moments.line, moments.covariance(np.zeros((0, 0))), moments.deviation)
        units = np.ones(len(moments.line))  # of a coefficient in data units, per scaled one
        free = int(statistics.intercept)
        units[free:] = statistics.bounds.target_scale[1] / statistics.bounds.half
        theta, inverse = self._penalised(moments, units, free, statistics.bounds.target_scale[1])
        return Fit(theta, moments.covariance(inverse), moments.deviation)

    def _penalised(self, moments: Moments, units: Floats, free: int, half: float) -> tuple[Floats, Floats]:
        """The coefficients, scaled, and the matrix that maps products to them."""
        raise NotImplementedError


class Ridge(Penalised):
    """Least squares with a penalty alpha·‖coef‖², with differential privacy.

    Parameters
    ----------
    epsilon, delta : the promise; delta = 0 for the pure one.
    alpha : the weight of the penalty, as in scikit-learn: it is on the coefficients in the units of the data, and the
        intercept is free. `repenalised` tries others at no cost.
    fit_intercept, neighbours, unit, n, bounds, ledger, random_state : as in `LinearRegression`.

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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        alpha: float = 1.0,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        fit_intercept: bool = True,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.neighbours = neighbours
        self.unit = unit
        self.n = n
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.ledger = ledger
        self.random_state = random_state

    def _penalised(self, moments: Moments, units: Floats, free: int, half: float) -> tuple[Floats, Floats]:
        penalty = np.append(np.zeros(free), self.alpha * (units[free:] / half) ** 2)
        inverse = np.asarray(np.linalg.inv(moments.gram + np.diag(penalty) + SMALL * np.eye(len(penalty))), np.float64)
        return inverse @ moments.products, inverse


class ElasticNet(Penalised):
    """Least squares with a penalty on absolute values and squares of the coefficients, with differential privacy.

    The objective is scikit-learn's: ½·mean squared error + alpha·l1_ratio·‖coef‖₁ + ½·alpha·(1 - l1_ratio)·‖coef‖²,
    coefficients in the units of the data, the intercept free.

    Parameters
    ----------
    epsilon, delta : the promise; delta = 0 for the pure one.
    alpha, l1_ratio : the penalty. `repenalised` tries others at no cost.
    fit_intercept, neighbours, unit, n, bounds, ledger, random_state : as in `LinearRegression`.

    Standard errors are those of the unpenalised moments with the same ridge: they do not know of the selection.

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

    l1_ratio: float

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        alpha: float = 1.0,
        l1_ratio: float = 0.5,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        fit_intercept: bool = True,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.neighbours = neighbours
        self.unit = unit
        self.n = n
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.ledger = ledger
        self.random_state = random_state

    def _budget(self) -> Any:
        if not 0 <= self._l1 <= 1:
            raise ValueError(f"The `l1_ratio` of {type(self).__name__} must be within 0 and 1. Got {self._l1!r}.")
        return super()._budget()

    @property
    def _l1(self) -> float:
        return self.l1_ratio

    def _penalised(self, moments: Moments, units: Floats, free: int, half: float) -> tuple[Floats, Floats]:
        # sums in data units: of coefficients c = units·θ, and of the target, half times the scaled one
        gram, products = moments.gram / np.outer(units, units) * half**2, moments.products / units * half**2
        rest, pull, back = profiled(gram, products, free)
        slopes = net(rest / moments.count, pull / moments.count, self.alpha, self._l1)
        coefficients = np.append(back(slopes), slopes)
        ridge = np.append(np.zeros(free), np.full(len(slopes), self.alpha * (1 - self._l1) * moments.count))
        matrix = moments.gram + np.diag(ridge * (units / half) ** 2) + SMALL * np.eye(len(units))
        return coefficients / units, np.asarray(np.linalg.inv(matrix), np.float64)


class Lasso(ElasticNet):
    """Least squares with a penalty alpha·‖coef‖₁, with differential privacy: small coefficients become zero.

    The objective is scikit-learn's: ½·mean squared error + alpha·‖coef‖₁, coefficients in the units of the data.

    Parameters
    ----------
    epsilon, delta : the promise; delta = 0 for the pure one.
    alpha : the weight of the penalty. `repenalised` tries others at no cost.
    fit_intercept, neighbours, unit, n, bounds, ledger, random_state : as in `LinearRegression`.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        alpha: float = 1.0,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        fit_intercept: bool = True,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            alpha=alpha,
            neighbours=neighbours,
            unit=unit,
            n=n,
            bounds=bounds,
            fit_intercept=fit_intercept,
            ledger=ledger,
            random_state=random_state,
        )
        del self.l1_ratio

    @property
    def _l1(self) -> float:
        return 1.0


def profiled(gram: Floats, products: Floats, free: int) -> tuple[Floats, Floats, Any]:
    """The normal equations with the first `free` coefficients solved for, and what gives those from the others."""
    if not free:
        return gram, products, lambda slopes: np.zeros(0)
    corner, side = gram[0, 0] + SMALL, gram[0, 1:]
    rest = gram[1:, 1:] - np.outer(side, side) / corner
    pull = products[1:] - side * products[0] / corner
    return rest, pull, lambda slopes: np.array([(products[0] - side @ slopes) / corner])


def net(gram: Floats, products: Floats, alpha: float, l1_ratio: float) -> Floats:
    """The minimiser of ½c'Gc - p'c + penalty: scikit-learn's, on a square root of G for rows.

    Rows R with R'R = d·G and targets t with R't = d·p have just this objective, for d rows.
    """
    d = len(products)
    if alpha == 0:
        return np.asarray(np.linalg.lstsq(gram, products, rcond=None)[0])
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(values, SMALL * max(float(values[-1]), SMALL)))
    rows = (vectors * root).T * math.sqrt(d)
    targets = (vectors.T @ products) / root * math.sqrt(d)
    solver = linear_model.ElasticNet(alpha=alpha, l1_ratio=l1_ratio, fit_intercept=False, max_iter=100_000, tol=1e-8)
    if l1_ratio == 0:  # a ridge: in closed form
        return np.asarray(np.linalg.solve(gram + alpha * np.eye(d), products))
    return np.asarray(solver.fit(rows, targets).coef_)
