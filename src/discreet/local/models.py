"""Regression and classification of rows that never leave their devices: from products of rows, or by descent.

| method | rounds | answer of a person |
| --- | --- | --- |
| "moments" | one | some of the products of their row, by a cap of the cube |
| "sgd" | one per batch | the gradient of their own loss at public weights, by PrivUnitG; each person once |

`GradientOracle` separates the two sides: it holds one row and a device, and whoever runs the descent sees surveys and
reports only.

References: Duchi, Jordan & Wainwright 2013; Smith, Thakurta & Upadhyay 2017; Bhowmick et al. 2018.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from discreet.local.bulk import answer_many
from discreet.local.device import Device, Report
from discreet.local.estimate import Estimate
from discreet.local.methods import make_row_design
from discreet.local.odds import read_epsilon
from discreet.local.rows import GradientQuestion, ProductsQuestion, make_row
from discreet.local.survey import Survey

Floats = NDArray[np.float64]

_BATCH = 140  # people per step, at least
_STEPS = 50
_RATE = 10.0
_RADIUS = 30.0
_FEW = 10  # the number of features up to which one round of products is as good as descent


class GradientOracle:
    """One row that stays private: it answers surveys of gradients, each at most once, within the budget of its device.

    >>> oracle = GradientOracle([1.7, 65.0], True, budget=1)
    >>> survey = gradient_survey("step 1", np.zeros(3), 1, ([1, 30], [2.5, 200]), classes=(False, True))
    >>> len(oracle.answer(survey).numbers)
    3
    """

    def __init__(self, x: Any, y: Any, *, budget: Any) -> None:
        self._row, self._device = (list(x), y), Device(budget=budget)

    def answer(self, survey: Survey) -> Report:
        """A report of the gradient at the weights of the survey."""
        return self._device.answer(survey, self._row)


def gradient_survey(
    name: str,
    weights: ArrayLike,
    epsilon: Any,
    ends: tuple[Any, Any],
    *,
    target: tuple[float, float] | None = None,
    classes: tuple[Any, Any] | None = None,
    link: str = "",
) -> Survey:
    """A survey of gradients at public weights.

    Parameters
    ----------
    name : the name of the survey; the weights are part of its digest.
    weights : the weights of the intercept and of each feature.
    epsilon : the privacy guarantee for each person.
    ends : the lower and the upper bounds of features.
    target, classes : the bounds of the target, or its two classes.
    link : "logit" for classes; else "identity" (the default) or "log".
    """
    link = link or ("identity" if classes is None else "logit")
    written = tuple(repr(float(weight)) for weight in np.asarray(weights))
    question = GradientQuestion(**make_row(*ends, target, classes), weights=written, link=link)
    exact = read_epsilon(epsilon)
    return Survey(name, question, exact, make_row_design(question, exact))


class _Regression(BaseEstimator, ABC):  # type: ignore[misc]
    """Steps that both models share: the survey of products, and the solution from its estimate."""

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        bounds: Any = None,
        method: str = "auto",
        link: str = "",
        name: str = "rows",
        random_state: int | None = None,
    ) -> None:
        self.epsilon, self.bounds, self.method, self.link = epsilon, bounds, method, link
        self.name, self.random_state = name, random_state

    @property
    def survey(self) -> Survey:
        """The survey of "moments", the same for everybody."""
        question, exact = ProductsQuestion(**self._describe_row()), read_epsilon(self.epsilon)
        return Survey(self.name, question, exact, make_row_design(question, exact))

    @abstractmethod
    def _describe_row(self) -> dict[str, Any]:
        """The bounds of a row, as parameters of its question."""

    def _read_ends(self) -> tuple[list[float], list[float]]:
        if self.bounds is None or self.bounds.width is None:
            raise ValueError(
                "The `bounds` of a local model must be those of every feature: they are part of the survey."
            )
        return self.bounds.lower.tolist(), self.bounds.upper.tolist()

    def fit(self, X: Any, y: Any) -> Any:
        """Ask the person of each row once, and learn from the reports.

        Each row goes to a simulated device; nothing else reads it.
        """
        X, y = np.asarray(X, np.float64), np.asarray(y)
        low, _ = self._read_ends()
        if X.ndim != 2 or X.shape != (len(y), len(low)):
            raise ValueError(f"X must have {len(low)} columns and a row for each target. Got shape {X.shape}.")
        if self._choose_method(len(low)) == "sgd":
            return self._fit_by_descent(X, y)
        tally = Estimate(self.survey)
        tally.add_many(answer_many(self.survey, (X, y), random_state=self.random_state))
        return self.learn(tally)

    def _choose_method(self, width: int) -> str:
        if self.method not in ("auto", "moments", "sgd"):
            raise ValueError(f"The `method` of a local model is auto, moments or sgd. Got {self.method!r}.")
        few = width <= _FEW and self.link in ("", "logit", "identity")
        return ("moments" if few else "sgd") if self.method == "auto" else self.method

    def learn(self, tally: Estimate) -> Any:
        """Learn from the reports of `survey`, wherever they were collected."""
        if tally.survey.digest != self.survey.digest:
            raise ValueError("This estimate is not of the survey of this model.")
        # SOLVE: eigenvalues floored at the noise of one product, so that the solution is finite whatever the draw
        moments, noise = read_moments(np.asarray(tally.value), len(self._read_ends()[0])), float(np.mean(tally.std))
        values, vectors = np.linalg.eigh(moments[0])
        theta = vectors @ (vectors.T @ moments[1] / np.maximum(values, noise))
        self._set_weights(self._adjust_weights(theta, moments, noise))
        self.n_features_in_ = len(theta) - 1
        return self

    def _fit_by_descent(self, X: Floats, y: Any) -> Any:
        """Descend with batches of people, asked once each; steps fall as 1/√t, and the last half is averaged."""
        steps = max(1, min(_STEPS, len(y) // _BATCH))
        theta = np.zeros(X.shape[1] + 1)
        order, kept = np.random.default_rng(0).permutation(len(y)), []
        for step, rows in enumerate(np.array_split(order, steps), 1):
            survey = self._make_gradient_survey(f"{self.name}, step {step}", theta)
            seed = None if self.random_state is None else hash((self.random_state, step)) % (1 << 31)
            tally = Estimate(survey)
            tally.add_many(answer_many(survey, (X[rows], y[rows]), random_state=seed))
            theta = theta - _RATE / np.sqrt(step) * np.asarray(tally.value)
            theta *= min(1.0, _RADIUS / max(float(np.linalg.norm(theta)), 1e-12))
            kept.append(theta)
        self._set_weights(np.mean(kept[steps // 2 :], axis=0) / np.sqrt(len(theta)))
        self.n_features_in_ = X.shape[1]
        return self

    @abstractmethod
    def _make_gradient_survey(self, name: str, theta: Floats) -> Survey:
        """The survey of gradients at these weights."""

    def _adjust_weights(self, theta: Floats, moments: tuple[Floats, Floats], noise: float) -> Floats:
        return theta

    @abstractmethod
    def _set_weights(self, theta: Floats) -> None:
        """Set the fitted attributes from weights of scaled features."""

    def _unscale_weights(self, theta: Floats) -> tuple[Floats, float]:
        """Weights of original features, from weights of features on [-1, 1]."""
        low, high = map(np.asarray, self._read_ends())
        coef = theta[1:] * 2 / (high - low)
        return coef, float(theta[0] - coef @ (low + high) / 2)


class LinearRegression(RegressorMixin, _Regression):  # type: ignore[misc]
    """Linear regression of rows that stay on their devices.

    Parameters
    ----------
    epsilon : the privacy guarantee for each person, `Pure` under replace-one.
    bounds : public bounds of every feature and of the target.
    method : "auto" ("moments" for up to ten features), "moments" or "sgd".
    link : "identity", or "log" for the logarithm of the mean of a target in [0, high] (by "sgd").
    name : the name of the surveys.
    random_state : a seed, for tests and studies; the fit is then not private.

    Examples
    --------
    >>> import discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (40_000, 2))
    >>> y = X @ [1.0, -0.5]
    >>> model = LinearRegression(4, bounds=dc.Bounds([-1, -1], [1, 1], target=(-2, 2))).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, -0.5]).max() < 0.2)
    True
    """

    def _describe_row(self) -> dict[str, Any]:
        return make_row(*self._read_ends(), self.bounds.target, None)

    def _make_gradient_survey(self, name: str, theta: Floats) -> Survey:
        target = self.bounds.target
        return gradient_survey(name, theta, self.epsilon, self._read_ends(), target=target, link=self.link)

    def _set_weights(self, theta: Floats) -> None:
        if self.link == "log":
            self.coef_, self.intercept_ = self._unscale_weights(theta)
            return
        low, high = self.bounds.target
        coef, intercept = self._unscale_weights(theta * (high - low) / 2)
        self.coef_, self.intercept_ = coef, intercept + (low + high) / 2

    def predict(self, X: Any) -> Floats:
        """The mean of the target."""
        eta = np.asarray(X) @ self.coef_ + self.intercept_
        return np.asarray(self.bounds.target[1] * np.exp(np.minimum(eta, 0)) if self.link == "log" else eta)


class LogisticRegression(ClassifierMixin, _Regression):  # type: ignore[misc]
    """Logistic regression of rows that stay on their devices.

    Parameters
    ----------
    epsilon : the privacy guarantee for each person, `Pure` under replace-one.
    bounds : public bounds of every feature, and two classes.
    method : "auto" ("moments" for up to ten features), "moments" (linear discriminant analysis: two normal classes of
        one covariance) or "sgd".
    link : "logit".
    name : the name of the surveys.
    random_state : a seed, for tests and studies; the fit is then not private.

    Examples
    --------
    >>> import discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 20_000)
    >>> X = rng.normal(0, 1, (20_000, 2)) + 1.5 * y[:, None]
    >>> model = LogisticRegression(4, bounds=dc.Bounds([-4, -4], [6, 6], classes=[0, 1])).fit(X, y)
    >>> bool(model.score(X, y) > 0.6)
    True
    """

    def _describe_row(self) -> dict[str, Any]:
        return make_row(*self._read_ends(), None, self._read_classes())

    def _read_classes(self) -> tuple[Any, Any]:
        if self.bounds is None or self.bounds.classes is None or len(self.bounds.classes) != 2:
            raise ValueError("The `bounds` of a local LogisticRegression must name two classes.")
        first, second = (getattr(one, "item", lambda one=one: one)() for one in self.bounds.classes)
        return first, second

    def _make_gradient_survey(self, name: str, theta: Floats) -> Survey:
        return gradient_survey(name, theta, self.epsilon, self._read_ends(), classes=self._read_classes())

    def _adjust_weights(self, theta: Floats, moments: tuple[Floats, Floats], noise: float) -> Floats:
        """The logistic weights of two normal classes of one covariance, from the least squares of ±1 on features."""
        xx, xy = moments
        share = float(np.clip((1 + xy[0]) / 2, 0.01, 0.99))
        means = [
            np.clip((xx[0, 1:] + sign * xy[1:]) / (2 * part), -1, 1) for sign, part in ((-1, 1 - share), (1, share))
        ]
        explained = float(np.clip(theta @ xy - xy[0] ** 2, 0, None) / max(4 * share * (1 - share), noise))
        slope = theta[1:] / (2 * share * (1 - share) * max(1 - explained, 0.02))
        return np.concatenate([[np.log(share / (1 - share)) - slope @ (means[0] + means[1]) / 2], slope])

    def _set_weights(self, theta: Floats) -> None:
        coef, intercept = self._unscale_weights(theta)
        self.classes_ = np.asarray(self._read_classes())
        self.coef_, self.intercept_ = coef[None], np.array([intercept])

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class."""
        return np.asarray(np.asarray(X) @ self.coef_[0] + self.intercept_[0])

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        second = expit(self.decision_function(X))
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier class."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])


def read_moments(means: Floats, d: int) -> tuple[Floats, Floats]:
    """E[(1, z)(1, z)'] and E[(1, z)t], from the means of all products.

    >>> read_moments(np.array([0.5, -0.5, 0.1, 0.2]), 1)[0].tolist()
    [[1.0, 0.5], [0.5, 0.25]]
    """
    z, squares, rest = means[:d], means[d : 2 * d], means[2 * d :]
    xx = np.eye(d + 1)
    xx[0, 1:] = xx[1:, 0] = z
    xx[np.arange(1, d + 1), np.arange(1, d + 1)] = (squares + 1) / 2
    above = np.triu_indices(d, 1)
    xx[above[0] + 1, above[1] + 1] = xx[above[1] + 1, above[0] + 1] = rest[: len(above[0])]
    return xx, np.concatenate([means[-1:], rest[len(above[0]) : -1]])
