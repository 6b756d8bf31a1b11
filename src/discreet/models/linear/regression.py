"""LinearRegression: one estimator, every method."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.curator.task import Task
from discreet.models.linear import ssp
from discreet.models.linear.ebssp import release_moments
from discreet.models.linear.functional import fit_functional
from discreet.models.linear.linear_model import CLIP, LinearModel, drop_delta, pool_residual_std
from discreet.models.linear.one_posterior_sample import fit_posterior_sample
from discreet.models.linear.output import fit_output_perturbation
from discreet.models.linear.propose_test_release import fit_propose_test_release
from discreet.models.linear.robust import fit_robust
from discreet.models.linear.shrinkage import shrink_coefficients
from discreet.models.linear.statistics import Statistics
from discreet.models.shared.linear_fit import Fit
from discreet.models.shared.parameters import estimator

Method = Literal["auto", "ssp", "adassp", "robust", "functional", "output", "ptr", "posterior"]
PURE = ("robust", "functional")  # their noise is Laplace's, and δ is not used
APPROXIMATE = ("ssp", "adassp", "ptr", "posterior")  # need δ > 0


@estimator
class LinearRegression(LinearModel):
    """Least squares with differential privacy.

    Parameters
    ----------
    epsilon, delta : the promise. With delta = 0 it is the pure one.
    method : how.

        | method | what | promise |
        | --- | --- | --- |
        | "auto" | EB-SSP: moments of standardised, whitened rows, corrected and shrunk; the most accurate | (ε, δ), ε |
        | "ssp" | noise on X'X and X'y, solved as they are; unstable | (ε, δ) |
        | "adassp" | the same with just enough ridge (Wang 2018) | (ε, δ) |
        | "robust" | every coordinate clipped, Laplace noise (Honkela et al. 2018) | ε |
        | "functional" | noise on the coefficients of the loss (Zhang et al. 2012) | ε |
        | "output" | noise on the solution of a ridge regression (Wu et al. 2015) | (ε, δ), ε |
        | "ptr" | medians of blocks, if they agree (propose-test-release, Dwork & Lei 2009) | (ε, δ) |
        | "posterior" | one draw from a posterior (Wang 2018) | (ε, δ) |

    fit_intercept : whether the line may miss the origin.
    noise : of "adassp": "exact", or "wang" and "classical" for comparison; then the receipt states what such noise is
        really worth, which is less than epsilon (where it would be more, it is refused).
    rows : of "ssp" and "adassp", how rows are brought into the unit ball: "max-norm" by the public bounds, "row-norm"
        by their own length (then predictions are made from directions), "row-norm-y" with the target divided too.
    clip : at how many standard deviations from their means to clip, estimated privately; None for the bounds alone.
        "auto" is 3 for method "auto", where it costs nothing more, and none for "ssp" and "adassp", where a number
        clips the target too and takes 15% of the budget. Features within the public bounds 0 and 1 are taken for
        indicators and not clipped. Coefficients are those of the clipped values, and predictions clip alike.
    neighbours, unit, max_rows_per_unit, n, bounds, ledger, random_state : as in every private estimator.

    Attributes
    ----------
    coef_, intercept_ : in the units of the data.
    coef_std_, intercept_std_, covariance_ : standard errors, the noise of privacy in them.
    residual_std_ : of the target about the line; "auto" and "robust".
    statistics_ : the moments that left, to save, add and solve again (`from_statistics`); "auto".
    bounds_ : the bounds used, given or estimated privately.
    release_ : what left and what it cost; `print(model.release_)` is the receipt.
    n_features_in_, feature_names_in_ : the columns.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are, also if
    the adversary knows all of them, the bounds, the code and everything but the noise.

    | data | what comes out |
    | --- | --- |
    | fewer rows than the noise needs | nearly the private mean of the target: slopes shrunk towards zero |
    | constant or collinear columns | finite coefficients, shared among them |
    | bounds narrower than the data | values clipped; the summary names columns that crowd at their bounds |

    References
    ----------
    Y.-X. Wang, "Revisiting differentially private linear regression", UAI 2018; exact joint calibration after
    Balle & Wang, ICML 2018, and Dong, Roth & Su, JRSS-B 2022. The other methods' files name theirs.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.1, 20_000)
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=dc.Bounds(-1, 1, target=(-4, 4))).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -2.0, 0.5]).max() < 0.1)
    True
    """

    method: Method = "auto"
    noise: ssp.Noise = "exact"
    rows: ssp.Rows = "max-norm"
    clip: float | Literal["auto"] | None = "auto"

    def _read_budget(self) -> Budget:
        budget = super()._read_budget()
        _refuse_unknown("method", self.method, get_args(Method))
        _refuse_unknown("noise", self.noise, get_args(ssp.Noise))
        _refuse_unknown("rows", self.rows, get_args(ssp.Rows))
        self._refuse_option("noise", "exact", ("adassp",))
        self._refuse_option("rows", "max-norm", ("ssp", "adassp"))
        self._refuse_option("clip", "auto", ("auto", "ssp", "adassp"))
        if self.clip not in ("auto", None) and not (isinstance(self.clip, (int, float)) and 0 < self.clip < math.inf):
            raise ValueError(f'The `clip` of LinearRegression must be a number > 0, None or "auto". Got {self.clip!r}.')
        if budget.pure and self.method in APPROXIMATE:
            raise ValueError(
                f"The method {self.method!r} of LinearRegression needs delta > 0. Got delta = 0. "
                "Hint: delta=1e-6, or anything far below one over the number of rows; or method='auto'."
            )
        if self.method in PURE:
            return drop_delta(budget)
        return ssp.true_budget(budget, self.noise)

    def _refuse_option(self, name: str, default: Any, methods: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value != default and self.method not in methods:
            raise ValueError(
                f"`{name}` is an option of method {' and '.join(map(repr, methods))}. Got {value!r} with "
                f"{self.method!r}."
            )

    def _fit(self, task: Task) -> None:
        fit = self._choose_method()(task)
        self.statistics_ = None
        self.bounds_ = fit.bounds or self.bounds_
        self._set_coefficients(self.bounds_, fit)
        if fit.part is not None:
            columns = task.curator.columns
            self.statistics_ = Statistics(self.bounds_, task.intercept, (fit.part,), (), columns, self._target)
            self.bounds_ = self.statistics_.clip_bounds
        elif not self.fit_intercept:
            self.bounds_ = Bounds(self.bounds_.lower, self.bounds_.upper, self._target)

    @property
    def _clip(self) -> float | None:
        return super()._clip if self.clip == "auto" else None if self.clip is None else float(self.clip)

    def _choose_method(self) -> Callable[[Task], Fit]:
        if self.method == "auto":
            return partial(fit_auto, clip=self._clip)
        if self.method in PERTURBED:
            clip = None if self.clip in (None, "auto") else float(self.clip)
            return partial(PERTURBED[self.method], rows=self.rows, clip=clip)
        return METHODS[self.method]

    def _solve_statistics(self, statistics: Statistics) -> Fit:
        return solve_statistics(statistics)

    def predict(self, X: Any) -> Any:
        """The predicted target of each row, within the target's bounds; NaN where a feature is not finite.

        Features beyond their bounds count as at them, as they did in fitting; with rows="row-norm" the direction of a
        row alone counts.
        """
        if self.rows != "row-norm":
            return super().predict(X)
        check_is_fitted(self, "release_")
        X = self._check_rows(X)
        scaled = self.bounds_.scale(X)
        lengths = np.sqrt((scaled**2).sum(axis=1) + bool(self.fit_intercept))
        middle, half = self.bounds_.target_scale
        linear = np.clip(X, self.bounds_.lower, self.bounds_.upper) @ self.coef_ + self.intercept_
        return np.clip(middle + (linear - middle) / np.maximum(lengths, 1e-6), middle - half, middle + half)


def fit_auto(task: Task, clip: float | None = CLIP) -> Fit:
    """The best there is: EB-SSP."""
    part, notes = release_moments(task, clip)
    task.note(*notes)
    solved = shrink_coefficients([part])
    residual_std = math.sqrt(part.variance) if part.has_slopes else None
    return Fit(solved.theta, solved.covariance, residual_std, part, centre=solved.centre)


PERTURBED: dict[str, Callable[..., Fit]] = {"ssp": ssp.ssp, "adassp": ssp.adassp}
METHODS: dict[str, Callable[[Task], Fit]] = {
    "robust": fit_robust,
    "functional": fit_functional,
    "output": fit_output_perturbation,
    "ptr": fit_propose_test_release,
    "posterior": fit_posterior_sample,
}


def solve_statistics(statistics: Statistics) -> Fit:
    """The same from statistics, of one data set or several."""
    solved = shrink_coefficients(statistics.parts)
    return Fit(solved.theta, solved.covariance, pool_residual_std(statistics), centre=solved.centre)


def _refuse_unknown(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"The `{name}` of LinearRegression is one of {', '.join(map(repr, known))}. Got {value!r}.")
