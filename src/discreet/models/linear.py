"""Linear regression from noisy second moments."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Neighbours
from discreet.curator import Curator
from discreet.ledger import Ledger
from discreet.lipschitz import smallest_eigenvalue
from discreet.models.base import PrivateRegressor
from discreet.query import Batch, BoundedSum

Floats = NDArray[np.float64]


class LinearRegression(PrivateRegressor):
    """Least squares with differential privacy: noisy second moments, ridged just enough to be invertible (AdaSSP).

    The smallest eigenvalue of X'X is measured too, so that well-conditioned data get little or no ridge. Three Gaussian
    releases are calibrated jointly and exactly, as the one Gaussian they are.

    Parameters
    ----------
    epsilon, delta : the promise; delta > 0, since the noise is Gaussian.
    neighbours, unit, n, bounds, ledger, random_state : as in every private estimator.
    method : "adassp"; "auto" picks the best there is.

    Attributes
    ----------
    coef_, intercept_ : in the units of the data.
    bounds_ : the bounds used, given or estimated privately.
    release_ : what left and what it cost; `print(model.release_)` is the receipt.
    n_features_in_, feature_names_in_ : the columns.

    Guarantee
    ---------
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are, also if
    the adversary knows all of them, the bounds, the code and everything but the noise.

    | data | what comes out |
    | --- | --- |
    | no rows, one row | coefficients near zero, of noise alone |
    | constant or collinear columns | finite coefficients: the ridge sees to it |
    | fewer rows than the noise needs | nearly the middle of the target's range |

    References
    ----------
    Y.-X. Wang, "Revisiting differentially private linear regression", UAI 2018; exact joint calibration after
    Balle & Wang, ICML 2018, and Dong, Roth & Su, JRSS-B 2022.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.1, 20_000)
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=dc.Bounds(-1, 1, target=(-4, 4))).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -2.0, 0.5]).max() < 0.3)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        neighbours: Neighbours = "add-remove",
        unit: str | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        method: Literal["auto", "adassp"] = "auto",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.unit = unit
        self.n = n
        self.bounds = bounds
        self.method = method
        self.ledger = ledger
        self.random_state = random_state

    def _budget(self) -> Any:
        budget = super()._budget()
        if self.method not in ("auto", "adassp"):
            raise ValueError(f"The `method` of LinearRegression is 'auto' or 'adassp'. Got {self.method!r}.")
        if budget.pure:
            raise ValueError(
                "LinearRegression adds Gaussian noise, which needs delta > 0. Got delta = 0. "
                "Hint: delta=1e-6, or anything far below one over the number of rows."
            )
        return budget

    def _fit(self, curator: Curator) -> None:
        bounds, shares = self._deal(curator, 1, 1, 1)
        d = curator.width + 1

        # BOUND: rows in the unit ball, intercept included; targets in [-1, 1]
        def x(rows: Batch) -> Floats:
            scaled = np.empty((len(rows), d))
            scaled[:, 0], scaled[:, 1:] = 1.0, bounds.scale(rows.X)
            scaled /= math.sqrt(d)
            return scaled

        def y(rows: Batch) -> Floats:
            assert rows.y is not None
            return bounds.scale_target(rows.y)

        # SUMMARISE: x x' and x y over all rows
        xx = BoundedSum(x, x, norm=1, name="X'X")
        xy = BoundedSum(x, y, norm=1, name="X'y")

        # PRIVATISE: a third of μ² each
        for_smallest, for_xx, for_xy = shares
        smallest = curator.measure(xx, for_smallest, then=smallest_eigenvalue)
        moments, products = curator.measure(xx, for_xx), curator.measure(xy, for_xy)

        # SOLVE: ridge up to the size of the noise
        noise = float(moments.std[0, 0])
        floor = max(0.0, float(smallest.value) - 2 * smallest.std)
        ridge = max(0.0, noise * math.sqrt(d * math.log(2 * d**2 / 0.05)) - floor)
        theta = _solve(moments.value + ridge * np.eye(d), products.value, noise) / math.sqrt(d)
        self._unscale(bounds, theta)

    def _unscale(self, bounds: Bounds, theta: Floats) -> None:
        middle, half = bounds.target_scale
        self.coef_ = half * theta[1:] / bounds.half
        self.intercept_ = float(middle + half * theta[0] - self.coef_ @ bounds.centre)


def _solve(matrix: Floats, vector: Floats, noise: float) -> Floats:
    """Solve with eigenvalues floored at the size of the noise: finite whatever the draw."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors @ ((vectors.T @ vector) / np.maximum(values, noise)))
