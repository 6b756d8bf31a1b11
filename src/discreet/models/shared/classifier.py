"""What every private classifier shares: classes that are public, or paid for; the rest never sees a label."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import noise_multiplier
from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.curator import Curator
from discreet.curator.session import public_count
from discreet.curator.total_noise import deviation_of
from discreet.engines import Rows
from discreet.errors import NoiseWarning, outside
from discreet.events import Event, Gaussian, Pure
from discreet.labels import ordered, refuse_classes, refuse_kind
from discreet.models.shared.estimator import PrivateEstimator
from discreet.models.shared.parameters import estimator

Floats = NDArray[np.float64]

TOO_FEW = 5.0  # rows, in deviations of the noise of a count
SCANTY = 1.8  # the same, in lengths of the noise of all coordinates
FEW = "too few rows"


def warn_of_few_rows(estimator: PrivateEstimator) -> None:
    """Warn of too few rows, where a note of the release says so."""
    few = [note for note in estimator.release_.notes if FEW in note]
    if few:
        warnings.warn(f"{type(estimator).__name__}: {few[0]}.", NoiseWarning, stacklevel=outside())


@estimator
class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator that predicts a class.

    Once a task has dealt its plan, a row's target is the place of its class in `classes_`, and rows of other classes
    count for nothing.

    Parameters
    ----------
    classes : the labels there may be, public; from `bounds.classes` if None. Where neither says, they are found
        privately with a tenth of the budget, which needs delta > 0 and many rows of each.

    Attributes
    ----------
    classes_ : the labels, in order.
    """

    classes: Sequence[Any] | None = None
    classes_: NDArray[Any] = field(init=False)
    has_labels = True

    def _collect_facts(self, rows: Rows, budget: Budget) -> dict[str, Any]:
        public = super()._collect_facts(rows, budget)
        given = self._stated_classes()
        return public | {"target": "class", "classes": None if given is None else ordered(given)}

    def _stated_classes(self) -> Sequence[Any] | None:
        """The labels there may be, where the estimator or its bounds say so."""
        if self.classes is not None:
            return self.classes
        return self.bounds.classes if isinstance(self.bounds, Bounds) else None

    def _settle_bounds(self, curator: Curator, bounds: Bounds) -> Bounds:
        """Keep bounds and classes; from here on a row's target is the place of its class."""
        assert bounds.classes is not None
        self.classes_ = as_array(bounds.classes)
        curator.label(self.classes_.tolist())
        return super()._settle_bounds(curator, bounds)

    def _refuse_schema(self, rows: Rows, y: Any) -> None:
        super()._refuse_schema(rows, y)
        given = self._stated_classes()
        if given is not None:
            refuse_kind(type(self).__name__, rows.make_empty_batch().y if y is None else y, given)

    def _read_budget(self) -> Budget:
        budget = super()._read_budget()
        if self.classes is not None:
            refuse_classes(type(self).__name__, self.classes)
        if self._stated_classes() is None and budget.pure:
            raise ValueError(
                f"{type(self).__name__} needs `classes`, the public list of labels, where delta = 0: finding them "
                "privately needs delta > 0. Got None."
            )
        return budget

    def _warn_before(self, budget: Budget, rows: Rows) -> None:
        super()._warn_before(budget, rows)
        if scanty := self._describe_scarcity(budget, rows):
            warnings.warn(f"{type(self).__name__} has {scanty}", NoiseWarning, stacklevel=outside())

    def _describe_scarcity(self, budget: Budget, rows: Rows) -> str:
        """What public numbers tell of too much noise; empty where they tell of none."""
        n, d = public_count(budget, rows, self.n), self._count_coordinates(rows)
        event: Event = Pure(budget.epsilon)
        if not budget.pure:
            event = Gaussian(noise_multiplier(budget.epsilon, budget.delta))
        noise, length = deviation_of(event, 1), deviation_of(event, d) * math.sqrt(d)
        if n is not None and n < TOO_FEW * noise:
            return (
                f"{FEW} for this budget: a count alone would be off by about {noise:.0f}. What is learnt is "
                "mostly noise."
            )
        if n is not None and n < SCANTY * length:
            return (
                f"{FEW} for this budget and so many columns: noise in all of them together is as long as a sum of "
                f"about {length:.0f} rows. What is learnt is mostly noise."
            )
        return ""

    def _count_coordinates(self, rows: Rows) -> int:
        """How many numbers are learnt for a class."""
        return rows.width

    def _warn_after(self, budget: Budget, rows: Rows) -> None:
        if not self._describe_scarcity(budget, rows):
            warn_of_few_rows(self)

    @abstractmethod
    def decision_function(self, X: Any) -> Any:
        """How much speaks for each class (for the second of two)."""

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, as the model has it: logistic of the decision, softmax for more than two."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return softmax(scores, axis=1) if scores.ndim == 2 else np.column_stack([expit(-scores), expit(scores)])

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row.

        Features beyond their bounds count as at them; a feature that is missing counts as in their middle.
        """
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on these rows: exact, so it is private only if they are public; training rows bring a warning."""
        self._warn_of_training_rows(X)
        return float(super().score(X, y, sample_weight))

    def _clip_rows(self, X: Any) -> Floats:
        """Rows to predict for, within the bounds."""
        check_is_fitted(self, "release_")
        X = self._check_rows(X)
        narrow = getattr(self, "narrow_", None) or self.bounds_
        return np.clip(np.where(np.isfinite(X), X, self.bounds_.centre), narrow.lower, narrow.upper)


class LinearClassifier(PrivateClassifier):
    """A private classifier whose decision is linear in the features.

    Attributes
    ----------
    coef_ : one row per class, a single one for two classes; in the units of the data.
    intercept_ : one number per row of `coef_`.
    """

    coef_: Floats
    intercept_: Floats

    def decision_function(self, X: Any) -> Any:
        """The linear score of each class; for two classes one number, positive for the second.

        A model that was trained on rows divided by their length divides scores by it too.
        """
        rows = self._clip_rows(X)
        scores = rows @ self.coef_.T + self.intercept_
        length = self._measure_lengths(rows)
        scores = scores if length is None else scores / length[:, None]
        return scores[:, 0] if len(self.coef_) == 1 else scores

    def _measure_lengths(self, X: Floats) -> Floats | None:
        """By what the score of each row is divided, made of that row alone; None for nothing."""
        return None


def as_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Labels as an array that keeps each as it is: numbers and text of one kind as such, others as objects."""
    array = np.asarray(labels)
    if array.ndim == 1 and array.tolist() == list(labels):
        return array
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects
