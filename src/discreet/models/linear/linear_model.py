"""What linear models share: coefficients in the units of the data, and how well they are known."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.curator import Curator
from discreet.engines import Rows
from discreet.models.linear.statistics import Statistics
from discreet.models.shared.estimator import PrivateRegressor
from discreet.models.shared.linear_fit import Fit
from discreet.models.shared.parameters import estimator
from discreet.release import Release

Floats = NDArray[np.float64]

CLIP = 3.0  # standard deviations from the mean at which features are clipped, unless said otherwise


@estimator
class LinearModel(PrivateRegressor):
    """A linear model fitted privately.

    Attributes
    ----------
    coef_, intercept_ : in the units of the data.
    coef_std_, intercept_std_ : their standard errors, with the noise of privacy in them; NaN where a method has none.
    covariance_ : of (intercept, coefficients), where there is an intercept; None where a method has none.
    residual_std_ : of the target about the line, from private sums; None where a method does not measure it.
    bounds_ : the bounds used, given or estimated, and narrowed to where features were clipped.
    statistics_ : the moments that left, to be saved, added and solved again at no cost; None where a method has none.
    """

    fit_intercept: bool = True
    coef_std_: Any = field(init=False)
    intercept_std_: float = field(init=False)
    covariance_: Any = field(init=False)
    residual_std_: float | None = field(init=False)
    statistics_: Statistics | None = field(init=False)

    @property
    def _clip(self) -> float | None:
        return CLIP

    def _settle_bounds(self, curator: Curator, bounds: Bounds) -> Bounds:
        self._target = bounds.target
        return super()._settle_bounds(curator, bounds if self.fit_intercept else through_origin(bounds))

    def _check_bounds(self, rows: Rows) -> Bounds:
        bounds = super()._check_bounds(rows)
        middle, half = bounds.target_scale
        centres, halves = np.append(bounds.centre, middle), np.append(bounds.half, half)
        if not ((halves > 1e-100) & (halves < 1e100) & (halves > 1e-10 * np.abs(centres))).all():
            raise ValueError(
                "The bounds of a linear model must be between 1e-100 and 1e100 wide, and wider than a ten-billionth of "
                "their middle. Hint: other units, or an origin nearer to the data."
            )
        return bounds

    def _set_coefficients(self, bounds: Bounds, fit: Fit) -> None:
        """Scaled coefficients into the units of the data."""
        d = len(bounds.lower)
        intercept = len(fit.theta) - d
        middle, half = bounds.target_scale
        # (intercept, coefficients) = offset + back @ theta
        back = np.zeros((d + 1, d + intercept))
        back[1:, intercept:] = np.diag(half / bounds.half)
        back[0, :intercept], back[0, intercept:] = half, -half * bounds.centre / bounds.half
        both = back @ fit.theta
        centre = both if fit.centre is None else back @ fit.centre
        self._centre = (centre + np.append(middle, np.zeros(d)))[1 - intercept :]
        self.intercept_, self.coef_ = float(middle + both[0]) if intercept else 0.0, both[1:]
        self.covariance_ = None if fit.covariance is None else back @ fit.covariance @ back.T
        spread = np.full(d + 1, np.nan) if self.covariance_ is None else np.sqrt(np.diag(self.covariance_))
        self.intercept_std_, self.coef_std_ = float(spread[0]) if intercept else 0.0, spread[1:]
        self.residual_std_ = None if fit.residual is None else half * fit.residual

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn from the rows, privately; see `PrivateEstimator.fit`."""
        super().fit(X, y, **options)
        if self.statistics_ is not None:
            self.statistics_ = replace(self.statistics_, releases=(self.release_,))
        return self

    @classmethod
    def from_statistics(cls, statistics: Statistics, **parameters: Any) -> Self:
        """The model that these statistics give, at no cost: they were paid for when they were released.

        Parameters
        ----------
        statistics : released, loaded or added up.
        parameters : of the model, such as `alpha`.
        """
        release = statistics.release_all(cls.__name__)
        if release is not None:
            parameters = {"epsilon": release.epsilon, "delta": release.delta} | parameters
        model = cls(fit_intercept=statistics.intercept, bounds=statistics.bounds, **parameters)
        model._read_budget()  # raises if the parameters are wrong
        model.bounds_, model.statistics_ = statistics.clip_bounds, statistics
        model.n_features_in_ = len(statistics.bounds.lower)
        if statistics.columns is not None:
            model.feature_names_in_ = np.array(statistics.columns, dtype=object)
        model._set_coefficients(statistics.bounds, model._solve_statistics(statistics))
        model.release_ = release  # type: ignore[assignment]
        return model

    @abstractmethod
    def _solve_statistics(self, statistics: Statistics) -> Fit:
        """The model's own solution of statistics, scaled: post-processing."""

    def interval(self, confidence: float = 0.95) -> Floats:
        """Low and high ends for each coefficient, with the intercept first where there is one.

        They hold for the coefficients of the population, of features clipped as in fitting, each with about this
        confidence; the noise of privacy is in them. They are around the solution without a penalty and without
        shrinking. NaN where a method knows none.
        """
        check_is_fitted(self, "release_")
        reach = ndtri(0.5 + _check_confidence(confidence) / 2) * self._list_estimates()[1]
        return np.column_stack([self._centre - reach, self._centre + reach])

    def _list_estimates(self) -> tuple[Floats, Floats]:
        if len(self._centre) > len(self.coef_):
            return np.append(self.intercept_, self.coef_), np.append(self.intercept_std_, self.coef_std_)
        return np.asarray(self.coef_), np.asarray(self.coef_std_)

    def predict_interval(self, X: Any, confidence: float = 0.95) -> Floats:
        """Low and high ends for the target of each row, within its bounds: residuals, sampling and privacy noise."""
        middle = self.predict(X)
        if self.covariance_ is None or self.residual_std_ is None:
            raise ValueError(
                f"This fit measured no residuals, so it has no intervals of predictions. Hint: {type(self).__name__} "
                "with method='auto'."
            )
        assert self.bounds_.target is not None
        rows = np.clip(np.asarray(X, np.float64), self.bounds_.lower, self.bounds_.upper)
        full = np.column_stack([np.ones(len(rows)), rows])
        spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", full, self.covariance_, full), 0) + self.residual_std_**2)
        reach = ndtri(0.5 + _check_confidence(confidence) / 2) * spread
        return np.asarray(np.clip(np.column_stack([middle - reach, middle + reach]), *self.bounds_.target))

    def summary(self, confidence: float = 0.95) -> str:
        """A table for people: coefficients, standard errors, intervals, and what was promised."""
        check_is_fitted(self, "release_")
        return format_summary(self, confidence)


def through_origin(bounds: Bounds) -> Bounds:
    """The smallest bounds around these whose middle is zero: without an intercept, zero must stay zero."""
    reach = np.maximum(np.abs(bounds.lower), np.abs(bounds.upper))
    low, high = bounds.target or (0.0, 0.0)
    end = max(abs(low), abs(high))
    return Bounds(-reach, reach, (-end, end), bounds.classes)


def format_summary(model: LinearModel, confidence: float) -> str:
    """The table of `summary`."""
    estimate, spread = model._list_estimates()
    ends = model.interval(confidence)
    names = list(getattr(model, "feature_names_in_", [f"x{i + 1}" for i in range(len(model.coef_))]))
    names = (["intercept"] if len(estimate) > len(model.coef_) else []) + [str(name) for name in names]
    wide = max(10, *(len(name) for name in names))
    tail = (1 - confidence) / 2
    head = (
        f"{'':{wide}} {'coef':>12} {'std err':>12} {'z':>8} {'P>|z|':>7} {f'[{tail:.3g}':>12} {f'{1 - tail:.3g}]':>12}"
    )
    lines = [type(model).__name__ + _describe_guarantee(model.release_), head, "-" * len(head)]
    for name, value, std, centre, (low, high) in zip(names, estimate, spread, model._centre, ends, strict=True):
        z = centre / std if std > 0 else math.nan
        p = 2 * ndtr(-abs(z))
        lines.append(f"{name:{wide}} {value:12.5g} {std:12.4g} {z:8.2f} {p:7.3f} {low:12.5g} {high:12.5g}")
    lines.append("-" * len(head))
    if model.residual_std_ is not None:
        lines.append(f"residual std {model.residual_std_:.4g}")
    lines.append(_describe_errors(model))
    lines += [f"note: {note}" for note in (model.release_.notes if model.release_ is not None else ())]
    return "\n".join(lines)


def _describe_errors(model: LinearModel) -> str:
    clipped = "values beyond the bounds were clipped to them"
    if model.covariance_ is None:
        return f"this method tells no standard errors; {clipped}"
    around = "; intervals are around the solution without the penalty" if hasattr(model, "alpha") else ""
    return f"standard errors contain sampling and privacy noise{around}; {clipped}"


def pool_residual_std(statistics: Statistics) -> float | None:
    """The standard deviation of the residuals, over all parts that measured it."""
    parts = [part for part in statistics.parts if part.has_slopes]
    rows = sum(part.count for part in parts)
    return math.sqrt(sum(part.count * part.variance for part in parts) / max(rows, 1.0)) if parts else None


def _describe_guarantee(release: Release | None) -> str:
    if release is None:
        return ": from public data alone"
    return f": {release.budget}" + ("" if release.private else ", NOT PRIVATE (seeded)")


def _check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"The `confidence` must be within 0 and 1. Got {confidence!r}.")
    return confidence


def drop_delta(budget: Budget) -> Budget:
    """The pure promise of the same ε."""
    return Budget(budget.epsilon, 0.0, budget.neighbours, budget.unit)
