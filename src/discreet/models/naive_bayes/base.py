"""What all of naive Bayes shares: a prior, sums that can be added, and a decision by the likeliest class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.engines.opening import is_lazy, is_rows
from discreet.engines.tables import split_column
from discreet.models.naive_bayes.sums import ClassSums
from discreet.models.shared.classifier import PrivateClassifier, as_array
from discreet.models.shared.parameters import estimator

Floats = NDArray[np.float64]

LEAST = 1.0  # row that a class, or a cell of one, counts for at least: probabilities stay finite and above zero


@estimator
class NaiveBayes(PrivateClassifier):
    """A classifier whose features are taken to be independent given the class.

    Attributes
    ----------
    statistics_ : the sums that left, to be added to those of other people.
    class_count_ : the noisy number of rows of each class, at least 1.
    class_log_prior_ : the logarithm of each class's share of them.
    """

    statistics_: ClassSums = field(init=False)
    class_count_: Floats = field(init=False)
    class_log_prior_: Floats = field(init=False)

    def fit(self, X: Any, y: Any = None, **options: Any) -> Self:
        """Learn from the rows, privately; see `PrivateEstimator.fit`."""
        super().fit(X, y, **options)
        self.statistics_ = replace(self.statistics_, releases=(self.release_,))
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Sequence[Any] | None = None) -> Self:
        """Learn from more rows: their sums are released with a budget of their own, and added to those so far.

        Each call charges the ledger for `epsilon` and `delta`. Where no person has rows in two calls, each person has
        the guarantee of one call, whatever the number of calls: parallel composition, also where later calls depend on
        what earlier ones released (`mechanisms/proofs/online.md`, each round by itself). Where somebody has, that
        person's guarantees add up, which the ledger counts for everybody: without a `ledger` of your own, each call
        opens one for itself alone.

        Bounds, classes and edges that the first call found are used by all others.

        Parameters
        ----------
        classes : the labels there may be, if the estimator was not told; as scikit-learn asks for them.
        """
        made = clone(self)
        if hasattr(self, "release_"):
            self._refuse_columns(X)
            made.set_params(**self._found())
        elif classes is not None:
            made.set_params(classes=classes)
        made.fit(X, y)
        if hasattr(self, "release_"):
            made._accept(self.statistics_ + made.statistics_)
        parameters = self.get_params(deep=False)
        self.__dict__.update({name: value for name, value in vars(made).items() if name not in parameters})
        return self

    @classmethod
    def from_statistics(cls, statistics: ClassSums, **parameters: Any) -> Self:
        """The model that sums give, at no cost: they were paid for when they were released.

        Parameters
        ----------
        statistics : of one model of this kind, or those of several sites, added.
        parameters : of the model, such as `categories`.
        """
        if statistics.releases:
            last = statistics.releases[-1].budget
            parameters = {"epsilon": last.epsilon, "delta": last.delta} | parameters
        model = cls(bounds=statistics.bounds, **parameters)
        model.bounds_, model.n_features_in_ = statistics.bounds, len(statistics.bounds.lower)
        assert statistics.bounds.classes is not None
        model.classes_ = as_array(statistics.bounds.classes)
        model._accept(statistics)
        if statistics.releases:
            model.release_ = statistics.releases[-1]
        return model

    def _refuse_columns(self, X: Any) -> None:
        """Raise if rows in memory have other columns than those of the first call."""
        if not is_rows(X) and not is_lazy(X):
            validate_data(self, split_column(X, self.unit)[0], reset=False, skip_check_array=True)

    def _found(self) -> dict[str, Any]:
        """What the first call found, as parameters of the next."""
        return {"bounds": self.bounds_, "classes": self.classes_.tolist()}

    @abstractmethod
    def _accept(self, statistics: ClassSums) -> None:
        """SOLVE: what these sums say of each class."""

    def _accept_counts(self, counts: Floats) -> None:
        self.class_count_ = np.maximum(counts, LEAST)
        self.class_log_prior_ = np.log(self.class_count_ / self.class_count_.sum())

    @abstractmethod
    def _likelihood(self, X: Any) -> Floats:
        """The log likelihood of each row under each class; a feature that is missing says nothing."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """The logarithm of the joint probability of each row and each class, up to what all classes share."""
        check_is_fitted(self, "release_")
        return np.asarray(self._likelihood(X) + self.class_log_prior_)

    def decision_function(self, X: Any) -> Any:
        """How much speaks for each class, as log probabilities; for two classes the log odds of the second."""
        joint = self.predict_joint_log_proba(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint
