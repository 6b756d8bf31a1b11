"""Transformers that learn nothing from the data, and so cost nothing.

A scaler fitted on private data before a private model voids the guarantee: its means and ranges are facts about rows
that nobody paid for. These take public facts instead.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.bounds import Bounds
from discreet.engines.memory import Memory


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
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
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
        self.categories_ = [np.asarray(known) for known in self._lists(rows)]
        for known in self.categories_:
            if known.ndim != 1 or len(known) == 0 or len(set(known.tolist())) != len(known):
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
        if rows.width != self.n_features_in_:
            raise ValueError(
                f"X has {rows.width} features, but OneHotEncoder is expecting {self.n_features_in_} features."
            )
        values = np.asarray(X, dtype=object)
        return np.hstack([values[:, [i]] == known[None, :] for i, known in enumerate(self.categories_)]).astype(
            np.float64
        )

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """A name for each column that comes out."""
        check_is_fitted(self)
        names = input_features if input_features is not None else getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(self.n_features_in_)] if names is None else names
        pairs = zip(names, self.categories_, strict=True)
        return np.array([f"{name}_{label}" for name, known in pairs for label in known], dtype=object)


_STATELESS = {
    "PolynomialFeatures",
    "FunctionTransformer",
    "Normalizer",
    "Binarizer",
    "AdditiveChi2Sampler",
    "MissingIndicator",
}


def learns_from_data(step: Any) -> bool:
    """Whether fitting this transformer reads values of the rows.

    >>> from sklearn.preprocessing import StandardScaler
    >>> learns_from_data(StandardScaler()), learns_from_data(BoundsScaler())
    (True, False)
    """
    if step is None or isinstance(step, (str, BoundsScaler, OneHotEncoder)):
        return False  # "passthrough" and "drop"
    if hasattr(step, "transformers"):  # ColumnTransformer
        return any(learns_from_data(inner) for _, inner, *_ in step.transformers)
    if hasattr(step, "transformer_list"):  # FeatureUnion
        return any(learns_from_data(inner) for _, inner in step.transformer_list)
    if hasattr(step, "steps"):  # Pipeline
        return any(learns_from_data(inner) for _, inner in step.steps)
    return type(step).__name__ not in _STATELESS
