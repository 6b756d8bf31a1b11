"""KernelSVC (CL7, CL8): classes told apart by a smooth function, learnt privately."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, get_args

from sklearn.base import clone

from discreet.curator.task import Task
from discreet.features.base import one_of
from discreet.models.kernels.kernel_machine import KernelMachine, options_of
from discreet.models.kernels.pointwise_svc import PointwiseSVC
from discreet.models.logistic.regression import LogisticRegression
from discreet.models.shared.classifier import PrivateClassifier
from discreet.models.shared.parameters import estimator

Method = Literal["features", "pointwise"]
USUAL, FEWEST, MOST, FOR_POINTS = 200, 50, 400, 100  # features


@estimator
class KernelSVC(KernelMachine, PrivateClassifier):
    """A classifier of public features of a kernel, with differential privacy: what a support vector machine is for.

    For kernels of x - z the features are random cosines (`RandomFourierFeatures`), for all others what public landmarks
    tell (`LandmarkFeatures`).

    Parameters
    ----------
    epsilon, delta : the promise.
    kernel, gamma, degree, landmarks, seed : of the features, as in `KernelRidge`.
    n_components : how many features; if None 200, or where `n` is public 2·√(ε·n), from 50 to 400 (100 of them for
        "pointwise"). How many columns there are matters little.
    method : how.

        | method | what leaves |
        | --- | --- |
        | "features" | a private linear classifier of the features; the more accurate |
        | "pointwise" | scores of the exact machine, with noise, at public points where they are least known |

        "pointwise" is the test-data-independent learner of Jain & Thakurta, to compare with: it needs several times
        the rows.

    linear : of "features", the private classifier that learns: `LogisticRegression(clip=None)` if None, the more
        accurate; `LinearSVC()` for the loss of a support vector machine. Its budget, neighbours, n,
        bounds, classes, ledger and random_state are those given here.
    neighbours, unit, max_rows_per_unit, n, bounds, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    linear_ : the classifier of the features.
    features_ : the features.
    classes_ : the labels, in order.
    bounds_ : of the columns, given or estimated privately.
    release_ : what left, and what it cost.

    Notes
    -----
    That of the linear classifier: a row's features depend on that row alone, bit for bit
    (`mechanisms/proofs/features.md`), so neighbours stay neighbours. Of "pointwise": (ε, δ)-differential privacy for
    adding or removing one row (or replacing one), whatever the rows, float error charged
    (`mechanisms/proofs/pointwise.md`). Of more than two classes each is told from the rest, with 20 scores per class,
    all of them in one account.

    | data | what comes out |
    | --- | --- |
    | no rows, one row, rows of one class | finite scores, mostly noise |
    | a row with something missing, or of another class | counts for nothing |
    | delta = 0 | with `LinearSVC` and "pointwise": `n`, the number of rows or an upper limit of it, has to be given |
    | a shared ledger, delta > 0, "pointwise" | has a δ of its own: open the ledger with `reserve=` |

    References
    ----------
    K. Chaudhuri, C. Monteleoni & A. Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section
    4; B. Rubinstein and others, "Learning in a large function space", JPC 2012; P. Jain & A. Thakurta, "Differentially
    private learning with kernels", ICML 2013, for kernels that are no function of x - z, and "pointwise".

    Examples
    --------
    >>> import numpy as np, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> y = np.where((X**2).sum(axis=1) < 0.6, "in", "out")
    >>> bounds = dc.Bounds(-1, 1, classes=("in", "out"))
    >>> for method in ("features", "pointwise"):
    ...     model = KernelSVC(2.0, method=method, n_components=40, bounds=bounds).fit(X, y)
    ...     print(model.score(X, y) > 0.8)
    True
    True
    """

    sharpest: ClassVar[dict[str, Any]] = {"n_components": 3, "n": 50}
    alone: ClassVar[dict[str, Any]] = {"n": 1}

    n_components: int | None = None
    method: Method = "features"
    linear: PrivateClassifier | None = None

    @property
    def adapts(self) -> bool:
        """For checks: whether questions follow from answers, in number and shape, as those of the linear part do."""
        return bool(getattr(self._linear(), "adapts", False))

    def _size(self) -> int:
        if self.n_components is not None:
            return self.n_components
        if self.method == "pointwise":
            return FOR_POINTS
        return USUAL if self.n is None else min(max(round(2 * math.sqrt(self.epsilon * self.n)), FEWEST), MOST)

    def _linear(self) -> PrivateClassifier:
        one_of("KernelSVC", "method", self.method, get_args(Method))
        if self.method == "pointwise":
            if self.linear is not None:
                raise ValueError(
                    'The `linear` of KernelSVC must be None with method "pointwise", which is a support vector machine '
                    f"of its own. Got {type(self.linear).__name__}."
                )
            return PointwiseSVC(**options_of(self, "classes"))
        if self.linear is not None and not isinstance(self.linear, PrivateClassifier):
            raise TypeError(
                f"The `linear` of KernelSVC must be a private classifier or None. Got {type(self.linear).__name__}."
            )
        linear: PrivateClassifier = LogisticRegression(clip=None) if self.linear is None else clone(self.linear)
        linear.set_params(ledger=None, random_state=None, **options_of(self, "classes"))
        return linear

    def _fit(self, task: Task) -> None:
        super()._fit(task)
        self.classes_ = self.linear_.classes_

    def decision_function(self, X: Any) -> Any:
        """The score of each class; for two classes one number, positive for the second."""
        rows = self._clip_rows(X)
        return self.linear_.decision_function(self.features_.transform(rows))
