"""FixedFeatures: public functions of one row each, for private learners to learn from."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.engines.memory import Memory
from discreet.preprocessing import BoundsScaler
from discreet.query import Batch, Image
from discreet.query.images import find_missing


class FixedFeatures(ClassNamePrefixFeaturesOutMixin, BoundsScaler):  # type: ignore[misc]
    """Rows scaled by public bounds, then mapped by a public function: it learns nothing, costs nothing, leaks nothing.

    `fit` looks at the columns alone, and what becomes of a row depends on that row, bit for bit. So neighbouring data
    sets stay neighbours, and whatever learns from the features keeps its promise.

    Subclasses write `_check`, `_image` and `_reach`.

    Attributes
    ----------
    out_bounds : public bounds of what comes out, for the learner: `LinearRegression(bounds=features.out_bounds)`
        and the like. The target's range and the classes of `bounds` come along.
    bounds_ : bounds of what goes in, one pair per column.
    image_ : the function, of a batch of rows.

    | a row with | becomes |
    | --- | --- |
    | NaN or infinity | NaN throughout: it counts for nothing in a fit |
    | values outside the bounds | what it would be with them clipped |
    """

    default = Bounds(-1, 1)  # where none are given

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the columns; no value is read."""
        rows = Memory(X)
        bounds = self._given()
        self._check(rows.width)
        validate_data(self, X, skip_check_array=True)
        return self.settle(bounds.matched(rows.width, rows.columns))

    def settle(self, bounds: Bounds) -> Self:
        """The same as `fit`, from bounds of each column and no rows at all."""
        self._check(len(bounds.lower))
        self.bounds_, self.n_features_in_ = bounds, len(bounds.lower)
        self.image_ = self._image(Bounds(bounds.lower, bounds.upper))
        self._n_features_out = self.image_(Batch(np.empty((0, self.n_features_in_)))).shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """The features of each row, made in blocks."""
        check_is_fitted(self)
        rows = Memory(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if rows.width != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(f"X has {rows.width} features, but {name} is expecting {self.n_features_in_} features.")
        return rows.map(self.image_).read_features()

    @property
    def out_bounds(self) -> Bounds:
        """Public bounds of what comes out; known before `fit`, unless they depend on the number of columns."""
        given = self._given()
        low, high = self._reach(self._width(given))
        return given.with_ends(low, high)

    def _given(self) -> Bounds:
        bounds = self.default if self.bounds is None else self.bounds
        if not isinstance(bounds, Bounds):
            raise TypeError(
                f"The `bounds` of {type(self).__name__} must be discreet.Bounds or None. Got {type(bounds).__name__}."
            )
        return bounds

    def _width(self, given: Bounds) -> int | None:
        return getattr(self, "n_features_in_", given.width)

    @abstractmethod
    def _check(self, width: int) -> None:
        """Raise if the options are wrong, or do not fit so many columns."""

    @abstractmethod
    def _image(self, bounds: Bounds) -> Image:
        """The function of a batch: a picklable object, the same bits for a row whatever its neighbours."""

    @abstractmethod
    def _reach(self, width: int | None) -> tuple[Any, Any]:
        """The smallest and the largest value that may come out: two numbers, or one per feature each."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def lost(values: Any, batch: Batch) -> Any:
    """The values, NaN throughout for rows with something missing."""
    values[find_missing(batch)] = np.nan
    return values


def public_seed(name: str, seed: Any) -> np.random.Generator:
    """A generator of public numbers: not noise, and known to everybody."""
    return np.random.default_rng(check_whole(name, "seed", seed, 0, why=": it is public"))


def one_of(name: str, option: str, value: Any, known: tuple[str, ...]) -> None:
    """Raise if the value is none of those known."""
    if value not in known:
        raise ValueError(f"The `{option}` of {name} is one of {', '.join(map(repr, known))}. Got {value!r}.")
