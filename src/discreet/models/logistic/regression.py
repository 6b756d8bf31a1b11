"""LogisticRegression: one estimator, every method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from discreet.arguments import check_positive, check_whole
from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.curator.task import Task
from discreet.errors import NotSupported
from discreet.models import erm
from discreet.models.erm.problem import UnitVectors
from discreet.models.logistic import auto
from discreet.models.logistic.gradient_descent import fit_gradient_descent
from discreet.models.logistic.quadratic import fit_quadratic
from discreet.models.sgd import SGDClassifier
from discreet.models.shared.classifier import LinearClassifier
from discreet.models.shared.parameters import estimator

Method = Literal["auto", "objective", "objective-pure", "output", "gradient", "sgd", "quadratic"]
MINIMUM: dict[str, Callable[[Task, erm.Objective], Any]] = {
    "objective": erm.objective,
    "objective-pure": erm.objective_pure,
    "output": erm.output,
}


@estimator
class LogisticRegression(LinearClassifier):
    """Logistic regression with differential privacy.

    Parameters
    ----------
    epsilon, delta : the promise. With delta = 0 it is the pure one.
    method : how.

        | method | what | promise |
        | --- | --- | --- |
        | "auto" | slopes from noisy gradients of whitened rows, shrunk by their noise; nearly always best | (ε, δ), ε |
        | "objective" | the minimum of an objective with a random linear term (Redberg et al. 2023) | (ε, δ) |
        | "objective-pure" | the same for pure ε (Chaudhuri et al. 2011) | ε |
        | "output" | noise on the minimum (Chaudhuri et al. 2011) | (ε, δ), ε |
        | "gradient" | full-batch gradient descent in the coordinates of the bounds | (ε, δ), ε |
        | "sgd" | stochastic gradient descent (Abadi et al. 2016); options in `SGDClassifier` | (ε, δ), ε |
        | "quadratic" | noisy moments of a quadratic stand-in for the loss | (ε, δ), ε |

        More than two classes: softmax, as one release, for "auto", "gradient" and "sgd", and least squares of all
        indicators for "quadratic"; each class against the rest, with the budget split evenly between the classes, for
        the three minima, whose proof needs one score per row.
    fit_intercept : whether log odds may differ from zero where all features are zero. The three minima need it.
    clip : at how many standard deviations from their means features are clipped, for "auto" and "quadratic", where it
        costs nothing more; None for as far as the bounds. Features within the public bounds 0 and 1 are taken for
        indicators, and left whole.
    rounds : of "auto" and "gradient"; 10 and 30 unless given, fewer for delta = 0.
    n : the number of rows, if it is public. The three minima take it for an upper limit, from which the number of their
        passes follows; with delta = 0 they need it (or replace-one neighbours), else it is paid for if None.
    neighbours, unit, bounds, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    coef_, intercept_ : of the log odds, in the units of the data: one row for two classes, else one per class.
    classes_ : the labels, in order.
    bounds_ : the bounds used, given or estimated privately.
    release_ : what left and what it cost; its notes say what happened.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are: sums
    with noise, composed (`mechanisms/proofs/query.md`, `directions.md`); the minima by `objective.md` and `erm.md`.

    | data | what comes out |
    | --- | --- |
    | no rows, or far too few for the budget | finite; with "auto" class shares and slopes near zero; a note |
    | features that tell nothing | with "auto" slopes near zero, so that the likeliest class is predicted; a note |
    | one class only | that class, nearly always, given enough rows for the method |
    | a row with something missing, or of another class | counts for nothing |
    | n < d, constant or collinear columns, separable classes | finite coefficients |

    References
    ----------
    K. Chaudhuri, C. Monteleoni & A. Sarwate, "Differentially private empirical risk minimization", JMLR 2011; R.
    Redberg, A. Koskela & Y.-X. Wang, "Improving the privacy and practicality of objective perturbation", NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 100, (5_000, 2))
    >>> y = np.where(X[:, 0] > X[:, 1] + 10, "ill", "well")
    >>> model = LogisticRegression(1.0, 1e-6, bounds=dc.Bounds(0, 100), classes=["ill", "well"]).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.predict_proba(X).shape
    (True, (5000, 2))
    """

    wider_hint = '; or method="objective" (delta > 0) or "objective-pure", which take any number'
    narrow_: Bounds | None = field(init=False)
    _unit: UnitVectors | None = field(init=False)

    method: Method = "auto"
    fit_intercept: bool = True
    clip: float | None = 4.0
    rounds: int | None = None

    sharpest: ClassVar[dict[str, Any]] = {"rounds": 1}

    @property
    def adapts(self) -> bool:
        """For checks: whether questions follow from answers, in number and shape."""
        return self.method == "auto"

    @property
    def _n_is_limit(self) -> bool:
        return self.method in MINIMUM

    def _limit_columns(self) -> int | None:
        return None if self.method in MINIMUM else super()._limit_columns()

    def _read_budget(self) -> Budget:
        if self.method not in get_args(Method):
            raise ValueError(f"The `method` of LogisticRegression is one of {get_args(Method)}. Got {self.method!r}.")
        if self.method in MINIMUM and not self.fit_intercept:
            raise NotSupported(f'The method "{self.method}" of LogisticRegression needs fit_intercept=True.')
        if self.rounds is not None:
            check_whole("", "rounds", self.rounds, 1, 10_000, optional=True)
        if self.clip is not None:
            check_positive("", "clip", self.clip, optional=True)
        return super()._read_budget()

    def _fit(self, task: Task) -> None:
        self.narrow_, self._unit = None, None
        if self.method == "sgd":
            self._fit_by_lots(task)
        elif self.method in MINIMUM:
            self._fit_minimum(task, MINIMUM[self.method])
        else:
            self._fit_descent(task)

    def _fit_descent(self, task: Task) -> None:
        if self.method == "auto":
            fit = auto.fit_logistic(task, self.clip, self.rounds)
        else:
            fit = (
                fit_quadratic(task, self.clip)
                if self.method == "quadratic"
                else fit_gradient_descent(task, self.rounds)
            )
        assert fit.bounds is not None
        slopes = fit.theta[:, task.intercept :] / fit.bounds.half
        levels = fit.theta[:, 0] if task.intercept else np.zeros(len(fit.theta))
        self.coef_, self.intercept_ = slopes, levels - slopes @ fit.bounds.centre
        self.narrow_ = fit.narrow

    def _fit_minimum(self, task: Task, method: Callable[[Task, erm.Objective], Any]) -> None:
        theta = method(task, erm.Objective(erm.Logistic()))
        self._unit = unit = UnitVectors.from_bounds(self.bounds_)
        self.coef_, self.intercept_ = unit.to_data_units(theta)

    def _fit_by_lots(self, task: Task) -> None:
        names = "epsilon", "delta", "fit_intercept", "neighbours", "unit", "max_rows_per_unit", "n", "bounds", "classes"
        noise: Any = "pure" if task.budget.pure else "gaussian"
        inner = SGDClassifier(noise=noise, **{name: getattr(self, name) for name in names})
        inner._fit(replace(task, settle=inner._settle_bounds))
        self.coef_, self.intercept_ = inner.coef_, inner.intercept_
        self.classes_, self.bounds_ = inner.classes_, inner.bounds_

    def _measure_lengths(self, X: Any) -> Any:
        """The length of the scaled row, for the three minima, which are trained on rows of length 1."""
        return None if self._unit is None else self._unit.row_lengths(X)
