"""Transformers that learn nothing from the data, and so cost nothing.

A scaler fitted on private data before a private model voids the guarantee: its means and ranges are facts about rows
that nobody paid for. These take public facts instead.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.bounds import Bounds
from discreet.engines.memory import Memory
from discreet.labels import codes_of


class BoundsScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scale each feature from its public range into [-1, 1].

    Values outside are clipped; what is not finite becomes NaN.

    Examples
    --------
    >>> BoundsScaler(Bounds(0, 10)).fit_transform([[0.0], [5.0], [20.0]]).ravel().tolist()
    [-1.0, 0.0, 1.0]
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the columns; no value is read."""
        bounds = Bounds(-1, 1) if self.bounds is None else self.bounds
        if not isinstance(bounds, Bounds):
            raise TypeError(f"The `bounds` of BoundsScaler must be discreet.Bounds. Got {type(bounds).__name__}.")
        rows = Memory(X)
        validate_data(self, X, skip_check_array=True)
        self.bounds_ = bounds.matched(rows.width, rows.columns)
        return self

    def transform(self, X: Any) -> Any:
        """Scale."""
        check_is_fitted(self)
        Memory(X)  # errors that show no value
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
        return self.bounds_.scale(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class OneHotEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """One column of 0 and 1 per public category; a value not in the list becomes all zeros.

    Parameters
    ----------
    categories : one list of categories per column, or a dictionary of column -> list for frames. Public: they are
        never collected from the data, since a rare category would give its holder away.

    Examples
    --------
    >>> OneHotEncoder([["a", "b"]]).fit_transform([["b"], ["?"]]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, categories: Any) -> None:
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the columns; no value is read."""
        rows = Memory(X, numeric=False)
        validate_data(self, X, skip_check_array=True)
        self.categories_ = [list(known) for known in self._lists(rows)]
        for known in self.categories_:
            if len(known) == 0 or len(set(known)) != len(known):
                raise ValueError("Each list of `categories` must hold one or more distinct categories.")
        return self

    def _lists(self, rows: Memory) -> list[Any]:
        if isinstance(self.categories, dict):
            if rows.columns is None or set(self.categories) != set(rows.columns):
                raise ValueError(
                    f"The `categories` are of columns {sorted(map(str, self.categories))}, "
                    f"the data have {list(rows.columns or ())}."
                )
            return [self.categories[name] for name in rows.columns]
        if not isinstance(self.categories, (list, tuple)) or len(self.categories) != rows.width:
            raise ValueError(f"The `categories` must be one list per column: the data have {rows.width} columns.")
        return list(self.categories)

    def transform(self, X: Any) -> Any:
        """Encode."""
        check_is_fitted(self)
        rows = Memory(X, numeric=False)
        validate_data(self, X, reset=False, skip_check_array=True)
        if rows.width != self.n_features_in_:
            raise ValueError(
                f"X has {rows.width} features, but OneHotEncoder is expecting {self.n_features_in_} features."
            )
        columns = zip(rows.read_features().T, self.categories_, strict=True)
        return np.hstack([codes_of(values, known)[:, None] == np.arange(len(known)) for values, known in columns]) * 1.0

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """A name for each column that comes out."""
        check_is_fitted(self)
        names = input_features if input_features is not None else getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(self.n_features_in_)] if names is None else names
        pairs = zip(names, self.categories_, strict=True)
        return np.array([f"{name}_{label}" for name, known in pairs for label in known], dtype=object)


def learns_from_data(step: Any) -> bool:
    """Whether fitting this transformer reads values of the rows.

    >>> from sklearn.preprocessing import StandardScaler
    >>> learns_from_data(StandardScaler()), learns_from_data(BoundsScaler())
    (True, False)
    """
    if step is None or isinstance(step, (str, BoundsScaler, OneHotEncoder)):
        return False  # "passthrough" and "drop"
    for name in ("transformers", "transformer_list", "steps"):  # ColumnTransformer, FeatureUnion, Pipeline
        if hasattr(step, name):
            rest = getattr(step, "remainder", None)
            return any(learns_from_data(inner) for inner in [rest, *(part[1] for part in getattr(step, name))])
    if isinstance(step, FunctionTransformer):
        return _may_look_across(step.func)
    return not isinstance(step, (PolynomialFeatures, Normalizer, Binarizer))


def _may_look_across(function: Any) -> bool:
    # a ufunc works element by element; any other function may look from one row at another
    return function is not None and not isinstance(function, np.ufunc)


_FREE = "BoundsScaler or OneHotEncoder(categories=...) of discreet.preprocessing, which learn nothing"
_PRESCRIBED = "a transformation of the target that is fixed beforehand"
_SCORING = {  # what scores or learns on private rows, and what to do instead
    "BaseSearchCV": "PrivateSearchCV of discreet.models, which pays for its choice",
    "_BaseStacking": "stack on public or invented rows",
    "SequentialFeatureSelector": "select on public or invented rows",
}
_VALIDATING = ("cross_validate", "learning_curve", "permutation_test_score", "validation_curve")
_PAID = "score public rows, or use discreet.evaluate, whose scores are paid for"


def leaks() -> dict[str, str]:
    """What, of the callers that are fitting something just now, learns from rows without paying; each with a hint."""
    found: dict[str, str] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Pipeline):
            found |= {name: _FREE for name, step in owner.steps[:-1] if learns_from_data(step)}
        elif isinstance(owner, TransformedTargetRegressor):
            if learns_from_data(owner.transformer) or _may_look_across(owner.func):
                found["the transformer of the target"] = _PRESCRIBED
        else:
            hints = [_SCORING[base.__name__] for base in type(owner).__mro__ if base.__name__ in _SCORING]
            found |= {f"{type(owner).__name__} (its scores)": hint for hint in hints}
        if frame.f_code.co_name in _VALIDATING and _is_sklearn(frame):
            found[f"{frame.f_code.co_name} (its scores)"] = _PAID
        frame = frame.f_back
    return dict(sorted(found.items()))


def _is_sklearn(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("sklearn.")
