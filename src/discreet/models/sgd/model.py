"""SGDClassifier and SGDRegressor: linear models by private stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_positive
from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.curator.task import Task
from discreet.models.sgd.fitting import make_watcher, run_descent
from discreet.models.sgd.options import DescentOptions, Noise
from discreet.models.sgd.pure_passes import Batches
from discreet.models.sgd.row_gradients import RowGradients
from discreet.models.sgd.schedule import Rate
from discreet.models.shared.classifier import LinearClassifier
from discreet.models.shared.estimator import PrivateEstimator, PrivateRegressor
from discreet.models.shared.losses import make_loss
from discreet.models.shared.parameters import estimator
from discreet.progress import Bar
from discreet.query import Batch

Floats = NDArray[np.float64]
Callback = Callable[[int, Any, Any], Any]


@estimator
class StochasticDescent(PrivateEstimator):
    """The parameters of stochastic gradient descent."""

    calls_by_task = True

    noise: Noise = "gaussian"
    lot: int | None = None
    rate: float | None = None
    epochs: float | None = None
    learning_rate: Rate = "constant"
    eta0: float | None = None
    alpha: float = 1e-4
    momentum: float | None = None
    clip: float | Literal["adaptive"] = 0.2
    average: bool = True
    batch: Batches = "constant"
    fit_intercept: bool = True
    callback: Callback | None = None
    progress: bool = False


@estimator
class SGDClassifier(StochasticDescent, LinearClassifier):
    """A linear classifier by differentially private stochastic gradient descent: logistic regression, or an SVM.

    Rows are scaled into the unit ball by the public bounds, the intercept's 1 included, and centred at a noisy mean
    (one more lot pays for it; or 2% of the budget where there are no lots). Every step adds up the gradients of some
    rows, each row's clipped by itself, and adds noise; the model is the average of the second half of the iterates, in
    the units of the data.

    Parameters
    ----------
    epsilon, delta : the promise.
    loss : "log", logistic (for more than two classes softmax, one release of a column each), or "hinge", a linear
        support vector machine (for more than two classes each against the rest, one release too).
    noise : "gaussian": on Poisson lots, accounted for exactly; needs delta > 0. "pure": of gamma radius, on
        mini-batches that do not overlap; pure ε, and delta is not used.
    lot, rate : how many rows a step expects, where their number `n` is public; or what share of them, a tenth unless
        given. A step divides by the expected number of rows: `n` times the rate if `n` is public, else the mean of
        noisy counts of the lots so far, which take 2% of the budget. With noise="pure" a pass has 1/rate batches;
        unless given, between 5 and 50, more of them the more rows and ε there are.
    epochs : how often each row is seen, on average: there are epochs/rate steps. 10 for "gaussian", and 1 pass for
        "pure", where passes share ε.
    learning_rate : "constant", eta0; "sqrt", eta0/√t; "inverse", 1/(λt) but at most eta0, where λ is the strength of
        the penalty in the unit ball: alpha over the number of coefficients of a class.
    eta0 : the first step, for the mean gradient of rows in the unit ball: useful ones are large. 64 unless given.
    alpha : the strength of the penalty alpha/2·‖β‖² on the coefficients of features scaled into [-1, 1].
    momentum : the step follows a running mean of the noisy gradients, of weight 1 - momentum to the newest. Free. 0.9
        for "gaussian", 0.5 for "pure".
    clip : the norm that each row's gradient is clipped to; no gradient of "log" with two classes is longer than 1. Or
        "adaptive": the median of their norms, followed with noisy counts (2% of the budget), on lots only.
    average : False for the last iterate.
    batch : with noise="pure", "constant" batches, "growing" or "shrinking" ones: larger batches have less noise.
    fit_intercept : whether the decision may miss the origin.
    neighbours, unit, max_rows_per_unit, n, bounds, classes, ledger, random_state : as in every private classifier.
    callback : called as callback(step, coef, intercept) after each step, before the next: noised iterates, in the units
        of the data. What it raises ends the fit; the charge stays.
    progress : show a progress bar on stderr.

    Attributes
    ----------
    coef_, intercept_ : in the units of the data; one row for two classes, else one per class.
    classes_, bounds_, release_ : as in every private classifier.
    n_iter_ : how many steps were taken.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row, of all iterates together: one plan, charged before the
    first lot is drawn. noise="pure": ε, by parallel composition within a pass (`mechanisms/proofs/passes.md`). Where
    bounds or classes have to be found privately, or neighbours are "replace-one", lots cannot be drawn from the same
    plan: with noise="gaussian" every step then reads all rows.

    | data | what comes out |
    | --- | --- |
    | no rows, an empty lot | noise; the same events |
    | one class only | a model that says so |
    | labels outside `classes`, rows with NaN | count for nothing |
    | too few rows for the budget | a model of noise, and a note in the receipt |

    References
    ----------
    Abadi et al., "Deep learning with differential privacy", CCS 2016; Song, Chaudhuri & Sarwate, "Stochastic gradient
    descent with differentially private updates", GlobalSIP 2013; Andrew et al., "Differentially private learning with
    adaptive clipping", NeurIPS 2021.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5_000, 3))
    >>> y = X @ [2.0, -1.0, 0.5] > 0
    >>> bounds = dc.Bounds(-1, 1, classes=[False, True])
    >>> bool(SGDClassifier(epsilon=1.0, delta=1e-6, bounds=bounds).fit(X, y).score(X, y) > 0.9)
    True
    """

    coins = True  # a coin is drawn for each row
    sharpest: ClassVar[dict[str, Any]] = {"rate": 0.5, "epochs": 1.0}
    _steps: ClassVar = {"gaussian": (64.0, 0.9), "pure": (64.0, 0.5)}  # eta0 and momentum: many steps, and few

    loss: Literal["log", "hinge"] = "log"

    def _read_budget(self) -> Budget:
        refuse_unknown_option(self, "loss", ("log", "hinge"))
        return adjust_budget(self, super()._read_budget())

    def _fit(self, task: Task) -> None:
        def design(bounds: Bounds) -> RowGradients:
            loss = make_loss(self.loss, len(self.classes_))
            return RowGradients.from_bounds(bounds, bool(self.fit_intercept), lambda batch: np.asarray(batch.y), loss)

        self.coef_, self.intercept_, self.n_iter_ = fit_descent(self, task, design, RowGradients.to_data_units)


@estimator
class SGDRegressor(StochasticDescent, PrivateRegressor):
    """A linear regression by differentially private stochastic gradient descent.

    `LinearRegression` is more accurate where rows can be read a few times; this one is for lots of rows, many features,
    and robust losses. The target is scaled into [-1, 1] by its public bounds.

    Parameters
    ----------
    epsilon, delta : the promise.
    loss : "squared", or "huber": a square within `huber` of the target, a line beyond.
    huber : of "huber", as a share of half the target's range.
    noise, lot, rate, epochs, learning_rate, alpha, average, batch : as in `SGDClassifier`.
    eta0, momentum : as there; 32 and 0.9 for "gaussian", 16 and 0.8 for "pure" unless given.
    clip : as in `SGDClassifier`; a residual of half the target's range, of a row of norm 1, has a gradient of norm 1.
        Clipping makes a Huber loss of the squared one.
    fit_intercept, neighbours, unit, max_rows_per_unit, n, bounds, ledger, random_state, callback, progress : as there.

    Attributes
    ----------
    coef_, intercept_ : in the units of the data.
    bounds_, release_ : as in every private estimator.
    n_iter_ : how many steps were taken.

    Notes
    -----
    As of `SGDClassifier`.

    | data | what comes out |
    | --- | --- |
    | no rows, an empty lot | noise; the same events |
    | rows with NaN, in a feature or the target | count for nothing |

    References
    ----------
    As of `SGDClassifier`.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (20_000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.1, 20_000)
    >>> model = SGDRegressor(epsilon=1.0, delta=1e-6, bounds=dc.Bounds(-1, 1, target=(-4, 4))).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    coins = True  # a coin is drawn for each row
    sharpest: ClassVar[dict[str, Any]] = {"rate": 0.5, "epochs": 1.0}
    _steps: ClassVar = {"gaussian": (32.0, 0.9), "pure": (16.0, 0.8)}  # a square bends more than a logistic loss

    loss: Literal["squared", "huber"] = "squared"
    huber: float = 0.1

    def _read_budget(self) -> Budget:
        refuse_unknown_option(self, "loss", ("squared", "huber"))
        check_positive("SGDRegressor", "huber", self.huber)
        return adjust_budget(self, super()._read_budget())

    def _fit(self, task: Task) -> None:
        def design(bounds: Bounds) -> RowGradients:
            def target(batch: Batch) -> Floats:
                return bounds.scale_target(np.asarray(batch.y))

            return RowGradients.from_bounds(
                bounds, bool(self.fit_intercept), target, make_loss(self.loss, width=float(self.huber))
            )

        def units(design: RowGradients, theta: Floats) -> tuple[Floats, float]:
            coef, intercept = design.to_data_units(theta)
            middle, half = self.bounds_.target_scale
            return half * coef[0], float(middle + half * intercept[0])

        self.coef_, self.intercept_, self.n_iter_ = fit_descent(self, task, design, units)


def adjust_budget(model: Any, budget: Budget) -> Budget:
    """The budget as this noise spends it; raises what is wrong with the options, before anything is charged."""
    options = DescentOptions.from_model(model)
    if options.noise == "pure":
        return Budget(budget.epsilon, 0.0, budget.neighbours, budget.unit)
    if budget.pure:
        raise ValueError(
            f"noise='gaussian' of {type(model).__name__} needs delta > 0. Got delta = 0. Hint: noise='pure'."
        )
    return budget


def fit_descent(
    model: Any,
    task: Task,
    design: Callable[[Bounds], RowGradients],
    units: Callable[[RowGradients, Floats], tuple[Any, Any]],
) -> tuple[Any, Any, int]:
    """Coefficients and intercept of an estimator, in the units of the data, and the number of steps."""
    options = DescentOptions.from_model(model)
    with Bar(bool(model.progress), type(model).__name__) as bar:
        found = run_descent(task, design, options, make_watcher(units, task.showing(model.callback), bar))
    task.note(*found.remarks)
    theta = found.descent.average if options.average else found.descent.theta
    return *units(found.design, theta), found.descent.t


def refuse_unknown_option(model: Any, name: str, known: tuple[str, ...]) -> None:
    """Raise if an option is none of these."""
    if getattr(model, name) not in known:
        raise ValueError(
            f"The `{name}` of {type(model).__name__} is one of {', '.join(map(repr, known))}. "
            f"Got {getattr(model, name)!r}."
        )
