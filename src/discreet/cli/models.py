"""The models that can be named on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Model:
    """A name for an estimator with some of its options fixed, and what it is, in a line."""

    name: str
    estimator: str
    about: str
    options: Mapping[str, Any] = field(default_factory=dict)
    classes: bool = False

    def cls(self) -> Any:
        """The class of the estimator."""
        return getattr(import_module("discreet.models"), self.estimator)

    def made(self, **parameters: Any) -> Any:
        """The estimator, with further parameters."""
        return self.cls()(**(dict(self.options) | parameters))


_LINEAR = "LinearRegression"
MODELS = {
    model.name: model
    for model in (
        Model("linear", _LINEAR, "least squares; the most accurate method for the budget"),
        Model("ridge", "Ridge", "least squares with a penalty on squares (alpha)"),
        Model("lasso", "Lasso", "least squares with few coefficients (alpha)"),
        Model("elastic-net", "ElasticNet", "both penalties (alpha, l1_ratio)"),
        Model("robust", _LINEAR, "every value clipped, Laplace noise, δ unused", {"method": "robust"}),
        Model("adassp", _LINEAR, "noisy moments with just enough ridge (Wang 2018)", {"method": "adassp"}),
        Model("ssp", _LINEAR, "noisy moments solved as they are; unstable, for comparison", {"method": "ssp"}),
        Model("functional", _LINEAR, "noise on the loss (Zhang et al. 2012)", {"method": "functional"}),
        Model("output", _LINEAR, "noise on the solution (Wu et al. 2015)", {"method": "output"}),
        Model("bayes", "BayesianLinearRegression", "a posterior that knows of the noise, with intervals"),
        Model("kernel-ridge", "KernelRidge", "curved functions of the features"),
        Model("sgd-regression", "SGDRegressor", "stochastic gradient descent, for numbers"),
        Model("logistic", "LogisticRegression", "probabilities of classes; the most accurate method", classes=True),
        Model("svm", "LinearSVC", "two classes parted by a line", classes=True),
        Model("kernel-svm", "KernelSVC", "classes parted by curves", classes=True),
        Model("sgd", "SGDClassifier", "stochastic gradient descent, for classes", classes=True),
        Model("stumps", "HypothesisClass", "one threshold on one feature", classes=True),
    )
}


def listing() -> str:
    """The models as a list for help."""
    return "\n".join(f"- `{model.name}`: {model.about}" for model in MODELS.values())


def named(name: str, *, classes: bool | None = None, target: str = "", option: str = "--model") -> Model:
    """The model of this name; where it is for another kind of target, or there is none, what to take instead."""
    from difflib import get_close_matches

    if name not in MODELS:
        near = get_close_matches(name, MODELS, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no model {name!r}.{hint} There are: {', '.join(MODELS)}.")
    model = MODELS[name]
    if classes is not None and model.classes != classes:
        what, is_of, instead = (
            ("classes", "a number", "linear") if model.classes else ("numbers", "a category", "logistic")
        )
        raise ValueError(
            f"The model {name!r} predicts {what}, and {target!r} is {is_of} in privacy.toml. Hint: {option} {instead}."
        )
    return model
