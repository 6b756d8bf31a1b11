"""Comparisons for a private model: scikit-learn's counterpart without privacy, and a guess without features."""

from __future__ import annotations

from typing import Any

from sklearn import linear_model, svm
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from discreet import models

KERNELS = {"gaussian": "rbf", "laplacian": "laplacian", "polynomial": "poly"}
LANDMARKS = 300  # features of a kernel machine without privacy: enough for a ceiling, few enough for many rows


def make_counterpart(model: Any) -> Any:
    """The corresponding estimator of scikit-learn, without privacy.

    | private | without privacy |
    | --- | --- |
    | `LinearRegression` of any method, `SGDRegressor` | `LinearRegression` |
    | `Ridge`, `Lasso`, `ElasticNet` | the same, with the same penalty |
    | `BayesianLinearRegression` | `BayesianRidge` |
    | `LogisticRegression`, `SGDClassifier`, `OnlineClassifier` | `LogisticRegression` on standardised columns |
    | `LinearSVC`, and others with a hinge loss | `LinearSVC` on standardised columns |
    | `KernelRidge`, `KernelSVC` | a linear model on 300 features of the same kernel |
    | `HypothesisClass` of stumps | a tree of depth one |
    | a pipeline | the same steps, with the last one replaced |
    | `PrivateSearchCV` | the counterpart of its estimator |
    | any other | `LinearRegression` or `LogisticRegression` |

    >>> make_counterpart(models.Ridge(alpha=3.0))
    Ridge(alpha=3.0)
    """
    if isinstance(model, Pipeline):
        return Pipeline([(name, clone(step)) for name, step in model.steps[:-1]] + [_replace_last(model)])
    if isinstance(model, models.PrivateSearchCV):
        return make_counterpart(model.estimator)
    if is_classifier(model):
        return _make_classifier(model)
    if is_regressor(model):
        return _make_regressor(model)
    raise ValueError(f"The frontier is for regressors and classifiers. Got {type(model).__name__}.")


def make_floor(model: Any) -> Any:
    """A model that uses no features: the majority class, or the mean."""
    return DummyClassifier(strategy="prior") if is_classifier(model) else DummyRegressor()


def label_of(model: Any) -> str:
    """The name of a model without privacy.

    >>> label_of(make_counterpart(models.LogisticRegression()))
    'LogisticRegression'
    """
    return type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__


def _replace_last(model: Pipeline) -> tuple[str, Any]:
    name, last = model.steps[-1]
    return name, make_counterpart(last)


def _make_regressor(model: Any) -> Any:
    intercept = bool(getattr(model, "fit_intercept", True))
    if isinstance(model, models.Ridge):
        return linear_model.Ridge(alpha=model.alpha, fit_intercept=intercept)
    if isinstance(model, models.Lasso):
        return linear_model.Lasso(alpha=model.alpha, fit_intercept=intercept)
    if isinstance(model, models.ElasticNet):
        return linear_model.ElasticNet(alpha=model.alpha, l1_ratio=model.l1_ratio, fit_intercept=intercept)
    if isinstance(model, models.BayesianLinearRegression):
        return linear_model.BayesianRidge(fit_intercept=intercept)
    if isinstance(model, models.KernelRidge):
        return _make_kernel_model(model, linear_model.Ridge(alpha=1e-3))
    return linear_model.LinearRegression(fit_intercept=intercept)


def _make_classifier(model: Any) -> Any:
    intercept = bool(getattr(model, "fit_intercept", True))
    if isinstance(model, models.KernelSVC):
        return _make_kernel_model(model, svm.LinearSVC())
    if isinstance(model, models.LinearSVC) or getattr(model, "loss", "") == "hinge":
        return make_pipeline(StandardScaler(), svm.LinearSVC(fit_intercept=intercept))
    if isinstance(model, models.HypothesisClass) and model.hypotheses == "stumps":
        return DecisionTreeClassifier(max_depth=1)
    return make_pipeline(
        StandardScaler(with_mean=intercept), linear_model.LogisticRegression(fit_intercept=intercept, max_iter=1000)
    )


def _make_kernel_model(model: Any, last: Any) -> Any:
    # the same gamma as the private model, for columns within [-1, 1]; its default is 2/d, Nystroem's is 1/d
    kernel = KERNELS.get(model.kernel, "rbf") if isinstance(model.kernel, str) else "rbf"
    options = {"degree": model.degree, "coef0": 1.0} if kernel == "poly" else {}
    width = None if model.bounds is None else model.bounds.width
    gamma = model.gamma if model.gamma is not None or width is None else 2 / width
    features = Nystroem(kernel=kernel, gamma=gamma, n_components=LANDMARKS, **options)
    return make_pipeline(MinMaxScaler((-1, 1)), features, last)
