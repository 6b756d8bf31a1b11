"""KernelRidge: a smooth function of the features, learnt privately."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from discreet.models.kernels.kernel_machine import KernelMachine, options_of
from discreet.models.kernels.pointwise_ridge import PointwiseRegression
from discreet.models.linear.linear_model import LinearModel
from discreet.models.linear.regression import LinearRegression, Method
from discreet.models.shared.estimator import PrivateRegressor
from discreet.models.shared.parameters import estimator


@estimator
class KernelRidge(KernelMachine, PrivateRegressor):
    """Regression on public features of a kernel, with differential privacy.

    A kernel machine is made of its training rows and cannot be published; a linear model of features that were fixed
    beforehand can. For kernels of x - z these are random cosines (`RandomFourierFeatures`), for all others what public
    landmarks tell (`LandmarkFeatures`).

    Parameters
    ----------
    epsilon, delta : the promise.
    kernel : "gaussian", "laplacian", "polynomial", or a function of one row and all landmarks; see `LandmarkFeatures`.
    gamma : how fast the kernel falls, for columns scaled into [-1, 1]; 2/d for d columns if None. Public: a value found
        on the data without paying voids the promise.
    degree : of the polynomial.
    n_components : how many features. More follow the function more closely and need more noise: the noise in X'X over
        its size is about 6·n_components^1.5/(ε·rows) at δ = 1e-6, and should be below 1.
    landmarks : public points for `LandmarkFeatures`, in the units of the data; NOT rows of it. Drawn within the bounds
        if None.
    method : of `LinearRegression` on the features: "auto" shrinks by itself, there is no penalty to choose. Or
        "pointwise", the test-data-independent learner of Jain & Thakurta: the exact model's values, with noise, at
        public points where it is least known; to compare with, "auto" is far more accurate.
    seed : of the features; public.
    neighbours, unit, max_rows_per_unit, n, bounds, ledger, random_state : as in every private estimator.

    Attributes
    ----------
    linear_ : the `LinearRegression` of the features, with their standard errors and moments.
    features_ : the features.
    bounds_ : of the columns, given or estimated privately.
    release_ : what left, and what it cost.

    Notes
    -----
    That of `LinearRegression`: a row's features depend on that row alone, bit for bit
    (`mechanisms/proofs/features.md`), so neighbours stay neighbours.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs | the private mean of the target |
    | rows far from all others | follow the mean: features are bounded |

    References
    ----------
    A. Rahimi & B. Recht, NeurIPS 2007; B. Rubinstein and others, "Learning in a large function space", JPC 2012;
    P. Jain & A. Thakurta, "Differentially private learning with kernels", ICML 2013.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 1))
    >>> y = np.sin(4 * X[:, 0]) + rng.normal(0, 0.1, 20_000)
    >>> model = KernelRidge(1.0, gamma=4.0, n_components=30, bounds=dc.Bounds(-1, 1, target=(-2, 2))).fit(X, y)
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    sharpest: ClassVar[dict[str, Any]] = {"n_components": 3}

    n_components: int = 50
    method: Method | Literal["pointwise"] = "auto"

    def _linear(self) -> LinearModel:
        if self.method == "pointwise":
            return PointwiseRegression(**options_of(self))
        clip: Literal["auto"] | None = None if self.method == "auto" else "auto"  # features have no tails to clip
        return LinearRegression(method=self.method, clip=clip, **options_of(self))

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn from the rows, privately; see `PrivateEstimator.fit`."""
        super().fit(X, y, **options)
        if self.linear_.statistics_ is not None:
            self.linear_.statistics_ = replace(self.linear_.statistics_, releases=(self.release_,))
        return self

    def predict(self, X: Any) -> Any:
        """The predicted target of each row, within the target's bounds; NaN where a feature is not finite."""
        made = self._made(X)
        return self.linear_.predict(made)

    def predict_interval(self, X: Any, confidence: float = 0.95) -> Any:
        """Low and high ends for the target of each row: residuals, sampling and privacy noise; method "auto"."""
        made = self._made(X)
        return self.linear_.predict_interval(made, confidence)
