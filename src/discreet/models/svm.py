"""LinearSVC (CL3): classes told apart by a line with a wide margin, learnt privately."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

from discreet.budget import Budget
from discreet.curator.task import Task
from discreet.models.erm.objective import objective, objective_pure
from discreet.models.erm.output import output
from discreet.models.erm.problem import PASSES, RADIUS, Objective, UnitVectors
from discreet.models.shared.classifier import LinearClassifier
from discreet.models.shared.losses import HuberHinge
from discreet.models.shared.parameters import estimator

Method = Literal["auto", "objective", "output"]


@estimator
class LinearSVC(LinearClassifier):
    """Linear support vector machine with differential privacy.

    Rows are vectors (z, 1) of features scaled by their bounds, and each is divided by its own length. Of these the
    Huber hinge loss, with a penalty, is least at the coefficients. More than two classes: each against the rest.

    Parameters
    ----------
    epsilon, delta : the promise. With delta = 0 it is the pure one.
    method : how.

        | method | what | promise |
        | --- | --- | --- |
        | "auto", "objective" | the minimum of an objective with a random linear term; the more accurate | (ε, δ), ε |
        | "output" | the minimum plus noise as large as one row can move it | (ε, δ), ε |

    h : the corner of the hinge is rounded between the margins 1 - h and 1 + h.
    strength : Λ of the penalty Λ/2·‖θ‖², beside the *sum* of the losses; None for a public rule of the budget and the
        number of features. "objective" spends log(1 + 1/(2hΛ)) of ε for each class on the curvature of the loss: a
        `strength` that leaves nothing of it is refused, or, where that cannot be told before something is paid,
        raised, with a note in `release_`.
    radius : of the ball that holds the coefficients of (z, 1).
    max_passes : over the rows, at most, 100 or more. The weaker the penalty and the more rows, the more it takes: a
        `strength` that is too weak for it is refused where the number of rows is public, and else, as one that
        follows the rule, raised, with a note in `release_`. Each pass over rows on disk or on a cluster reads them.
    n : the number of rows, or an upper limit of it, if that is public: the number of passes over the rows follows from
        it. A fact: there is no promise for data of more rows, of which zeros with noise are released. Paid for, with
        1 to 3% of the budget, if None, which needs delta > 0 (or replace-one neighbours).
    neighbours, unit, bounds, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    coef_, intercept_ : of θ·(z, 1), in the units of the data; its sign is the prediction.
    classes_ : the labels, in order.
    bounds_ : the bounds used, given or estimated privately.
    release_ : what left and what it cost.

    Notes
    -----
    (ε, δ)-differential privacy for adding or removing one row (or replacing one), whatever the other rows are, also if
    the adversary knows all of them, the bounds, the code and everything but the noise: `mechanisms/proofs/objective.md`
    and `erm.md`.

    | data | what comes out |
    | --- | --- |
    | no rows, one row, rows of one class | finite coefficients, mostly noise |
    | constant or collinear columns, separable classes | finite coefficients: the penalty shares and bounds them |
    | a row with something missing, or of another class | counts for nothing |

    References
    ----------
    K. Chaudhuri, C. Monteleoni & A. Sarwate, "Differentially private empirical risk minimization", JMLR 2011;
    R. Redberg, A. Koskela & Y.-X. Wang, "Improving the privacy and practicality of objective perturbation", NeurIPS
    2023.

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
    >>> model = LinearSVC(1.0, 1e-6, bounds=dc.Bounds(-1, 1, classes=("left", "right"))).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    sharpest: ClassVar[dict[str, Any]] = {"n": 50}
    alone: ClassVar[dict[str, Any]] = {"n": 1}

    method: Method = "auto"
    h: float = 0.5
    strength: float | None = None
    radius: float = RADIUS
    max_passes: int = PASSES

    @property
    def _n_is_limit(self) -> bool:
        return True

    def _limit_columns(self) -> int | None:
        return None  # no bounded sum has its columns

    def _read_budget(self) -> Budget:
        budget = super()._read_budget()
        if self.method not in get_args(Method):
            known = ", ".join(map(repr, get_args(Method)))
            raise ValueError(f"The `method` of LinearSVC is one of {known}. Got {self.method!r}.")
        HuberHinge(self.h)  # raises if it is none
        return budget

    def _fit(self, task: Task) -> None:
        theta = self._find_coefficients(
            task, Objective(HuberHinge(self.h), self.strength, self.radius, self.max_passes)
        )
        self.coef_, self.intercept_ = UnitVectors.from_bounds(self.bounds_).to_data_units(theta)

    def _find_coefficients(self, task: Task, penalised: Objective) -> Any:
        """One line of coefficients per class, of rows of length 1."""
        method = output if self.method == "output" else objective_pure if task.budget.pure else objective
        return method(task, penalised)

    def _measure_lengths(self, X: Any) -> Any:
        """The length of (z, 1): scores are the margins that the model was trained on."""
        return UnitVectors.from_bounds(self.bounds_).row_lengths(X)
