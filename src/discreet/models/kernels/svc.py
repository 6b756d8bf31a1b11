"""KernelSVC (CL7, CL8): classes told apart by a smooth function, learnt privately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sklearn.base import clone

from discreet.bounds import Bounds
from discreet.budget import Neighbours
from discreet.curator import Curator
from discreet.features.similarity import Kernel
from discreet.ledger import Ledger
from discreet.models.classifier import PrivateClassifier
from discreet.models.kernels.machine import KernelMachine, options_of


class KernelSVC(KernelMachine, PrivateClassifier):
    """Support vector machine on public features of a kernel, with differential privacy.

    Parameters
    ----------
    epsilon, delta : the promise.
    kernel, gamma, degree, n_components, landmarks, seed : of the features, as in `KernelRidge`.
    linear : the private classifier that learns from the features: `LinearSVC()` if None. Its budget, neighbours, n,
        bounds, classes, ledger and random_state are those given here.
    neighbours, unit, max_rows_per_unit, n, bounds, classes, ledger, random_state : as in every private classifier.

    Attributes
    ----------
    linear_ : the classifier of the features.
    features_ : the features.
    classes_ : the labels, in order.
    bounds_ : of the columns, given or estimated privately.
    release_ : what left, and what it cost.

    Guarantee
    ---------
    That of the linear classifier: a row's features depend on that row alone, bit for bit
    (`mechanisms/proofs/features.md`), so neighbours stay neighbours.

    References
    ----------
    K. Chaudhuri, C. Monteleoni & A. Sarwate, "Differentially private empirical risk minimization", JMLR 2011, section
    4; B. Rubinstein and others 2012; P. Jain & A. Thakurta, ICML 2013, for kernels that are no function of x - z.
    """

    sharpest: ClassVar[dict[str, Any]] = {"n_components": 3, "n": 50}
    alone: ClassVar[dict[str, Any]] = {"n": 1}

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        kernel: str | Kernel = "gaussian",
        gamma: float | None = None,
        degree: int = 3,
        n_components: int = 100,
        landmarks: Any = None,
        linear: PrivateClassifier | None = None,
        neighbours: Neighbours = "add-remove",
        unit: Any = None,
        max_rows_per_unit: int | None = None,
        n: int | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.n_components = n_components
        self.landmarks = landmarks
        self.linear = linear
        self.neighbours = neighbours
        self.unit = unit
        self.max_rows_per_unit = max_rows_per_unit
        self.n = n
        self.bounds = bounds
        self.classes = classes
        self.seed = seed
        self.ledger = ledger
        self.random_state = random_state

    def _linear(self) -> PrivateClassifier:
        if self.linear is not None and not isinstance(self.linear, PrivateClassifier):
            raise TypeError(
                f"The `linear` of KernelSVC must be a private classifier or None. Got {type(self.linear).__name__}."
            )
        linear: PrivateClassifier = _default() if self.linear is None else clone(self.linear)
        linear.set_params(ledger=None, random_state=None, **options_of(self, "classes"))
        return linear

    def _fit(self, curator: Curator) -> None:
        super()._fit(curator)
        self.classes_ = self.linear_.classes_

    def decision_function(self, X: Any) -> Any:
        """The score of each class; for two classes one number, positive for the second."""
        rows = self._within(X)
        return self.linear_.decision_function(self.features_.transform(rows))


def _default() -> PrivateClassifier:
    from discreet.models.svm import LinearSVC

    return LinearSVC()
