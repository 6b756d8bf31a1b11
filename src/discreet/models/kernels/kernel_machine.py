"""What kernel machines share: public features of the rows, and a private linear model of those."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field, replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.engines import Rows
from discreet.features import FixedFeatures, LandmarkFeatures, RandomFourierFeatures
from discreet.features.base import public_seed
from discreet.features.similarity import Kernel
from discreet.labels import unit_name
from discreet.models.kernels.public_points import CANDIDATES
from discreet.models.shared.estimator import PrivateEstimator
from discreet.models.shared.parameters import estimator

USUAL = 50  # features, unless said otherwise
SHIFT = ("gaussian", "laplacian")  # kernels of x - z, which have Fourier features


@estimator
class KernelMachine(PrivateEstimator):
    """A private linear model of public features, whose inner products are about a kernel.

    Subclasses name the linear model (`_linear`) and predict.

    Attributes
    ----------
    features_ : the features, a transformer that learnt nothing.
    linear_ : the private linear model of them.
    bounds_ : the bounds of the rows, given or estimated privately.
    """

    kernel: str | Kernel = "gaussian"
    gamma: float | None = None
    degree: int = 3
    n_components: int | None = None
    landmarks: Any = None
    method: Any = "features"
    seed: int = 0

    features_: FixedFeatures = field(init=False)
    linear_: Any = field(init=False)

    def _features(self, bounds: Bounds | None = None) -> FixedFeatures:
        options: dict[str, Any] = {"gamma": self.gamma, "bounds": bounds, "seed": self.seed}
        if self.kernel in SHIFT and self.landmarks is None:
            return RandomFourierFeatures(self._size(), kernel=self.kernel, **options)  # type: ignore[arg-type]
        return LandmarkFeatures(self.kernel, self._size(), landmarks=self.landmarks, degree=self.degree, **options)

    @abstractmethod
    def _linear(self) -> Any:
        """The linear model, with the budget and public facts of this one."""

    def _size(self) -> int:
        """How many features there are."""
        return USUAL if self.n_components is None else self.n_components

    @property
    def _n_is_limit(self) -> bool:
        return bool(self._linear()._n_is_limit)

    def _coordinates(self, rows: Rows) -> int:
        return self._size() if self.landmarks is None else len(self.landmarks)

    def _limit_columns(self) -> int | None:
        return None  # rows are mapped to features first

    def _read_budget(self) -> Budget:
        super()._read_budget()
        budget: Budget = self._linear()._read_budget()
        return budget

    def _check_bounds(self, rows: Rows) -> Bounds:
        bounds: Bounds = self._linear()._check_bounds(rows)
        return bounds

    def _remember_columns(self, X: Any, rows: Rows) -> None:
        super()._remember_columns(X, rows)
        self._features()._check(rows.width)  # raises before anything is charged

    def _collect_facts(self, rows: Rows, budget: Budget) -> dict[str, Any]:
        public = super()._collect_facts(rows, budget)
        return public | {"features": self._size() if self.landmarks is None else len(self.landmarks)}

    def _fit(self, task: Task) -> None:
        self.linear_ = linear = self._linear()

        def settle(curator: Curator, bounds: Bounds) -> Bounds:
            settled: Bounds = linear._settle_bounds(curator, self._map(curator, bounds))
            return settled

        try:
            linear._fit(replace(task, settle=settle, intercept=bool(getattr(linear, "fit_intercept", True))))
        finally:
            linear.__dict__.pop("candidates", None)
            linear.unit = None if self.unit is None else unit_name(self.unit)  # whose rows they are is not kept
        linear.n_features_in_ = len(self.features_.get_feature_names_out())

    def _map(self, curator: Curator, bounds: Bounds) -> Bounds:
        """BOUND: features of the rows from here on, and bounds of those."""
        self.bounds_, self.features_ = bounds, self._features(bounds).settle(bounds)
        curator.map(self.features_.image_)
        if self.method == "pointwise":
            self.linear_.candidates = self._candidates(bounds)
        out = self.features_.out_bounds.matched(curator.width)
        return bounds.with_ends(out.lower, out.upper)

    def _candidates(self, bounds: Bounds) -> Any:
        """Features of public points, for "pointwise" to pick from."""
        rng, size = public_seed(type(self).__name__, self.seed), (CANDIDATES, len(bounds.lower))
        return self.features_.transform(rng.uniform(bounds.lower, bounds.upper, size))

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn from the rows, privately; see `PrivateEstimator.fit`."""
        super().fit(X, y, **options)
        self.linear_.release_ = self.release_  # of a fit that was stored, too
        return self

    def _warn_after(self, budget: Budget, rows: Rows) -> None:
        self.linear_.release_ = self.release_
        super()._warn_after(budget, rows)

    def _made(self, X: Any) -> Any:
        """The features of rows to predict for."""
        check_is_fitted(self, "release_")
        return self.features_.transform(self._check_rows(X))


def options_of(estimator: PrivateEstimator, *more: str) -> dict[str, Any]:
    """The parameters that a linear model takes over."""
    names = ("epsilon", "delta", "neighbours", "unit", "max_rows_per_unit", "n", "bounds", *more)
    return {name: getattr(estimator, name) for name in names}
