"""Columns as naive Bayes sees them: categories by public lists, cells between edges, and how rows fall into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.labels import codes_of, listed
from discreet.models.naive_bayes.gaussian import Moments, class_of
from discreet.models.shared.bins import codes_between
from discreet.models.shared.encoder import parse_numbers
from discreet.query import Batch, BoundedSum, OneHot

Floats = NDArray[np.float64]
Lists = tuple[tuple[Any, ...] | None, ...]
Edges = tuple[float, ...]

MOST = 4096  # values of a column


def lists_of(owner: str, categories: Any, width: int, columns: Sequence[str] | None) -> Lists:
    """For each column the public list of its values, or None for numbers."""
    if categories is None:
        return (None,) * width
    if isinstance(categories, Mapping):
        unknown = [name for name in categories if name not in (columns or ())]
        if unknown:
            raise ValueError(f"The `categories` of {owner} are of columns {unknown}, which the data do not have.")
        return tuple(_distinct(owner, categories.get(name)) for name in columns or ())
    if not isinstance(categories, (list, tuple)) or len(categories) != width:
        raise ValueError(f"The `categories` of {owner} must be one list, or None, for each of {width} columns.")
    return tuple(_distinct(owner, known) for known in categories)


def _distinct(owner: str, known: Any) -> tuple[Any, ...] | None:
    if known is None:
        return None
    plain = listed(known)
    if not 1 <= len(plain) <= MOST or len(set(plain)) < len(plain):
        raise ValueError(f"Each list of the `categories` of {owner} must hold 1 to {MOST} distinct values.")
    return plain


def whole_edges(lower: float, upper: float) -> Edges:
    """Edges between the whole numbers within bounds, at most `MOST` of them.

    >>> whole_edges(0, 3)
    (0.5, 1.5, 2.5)
    """
    low = np.ceil(lower)
    return tuple(float(low + i + 0.5) for i in range(int(min(np.floor(upper) - low, MOST - 1))))


def place_edges(known: Sequence[Any]) -> Edges:
    """Edges between places in a list."""
    return tuple(i + 0.5 for i in range(len(known) - 1))


def refuse_edges(edges: Any) -> None:
    """Raise if edges are no increasing list of numbers."""
    values = np.asarray([] if edges is None else edges, dtype=object)
    try:
        numbers = values.astype(np.float64)
        fine = numbers.ndim == 1 and bool(np.isfinite(numbers).all()) and bool((np.diff(numbers) > 0).all())
    except (TypeError, ValueError):
        fine = False
    if not fine or len(values) > MOST:
        raise ValueError("The `edges` of MixedNB must be increasing lists of finite numbers, None for other columns.")


def some_bounds(bounds: Bounds, columns: Sequence[int]) -> Bounds:
    """The bounds of some columns."""
    return bounds.with_ends(bounds.lower[list(columns)], bounds.upper[list(columns)])


@dataclass(frozen=True, eq=False)
class SomeMoments(Moments):
    """The moments of some columns."""

    columns: tuple[int, ...] = ()

    @classmethod
    def of(cls, bounds: Bounds, columns: Sequence[int]) -> SomeMoments:
        """Those of these columns, among all that the bounds are of."""
        return cls(some_bounds(bounds, columns), tuple(columns))

    def __call__(self, batch: Batch) -> Floats:
        return super().__call__(Batch(batch.X[:, list(self.columns)]))


@dataclass(frozen=True)
class Places:
    """Rows whose categories are their places in public lists, and NaN for any other; numbers stay numbers."""

    lists: Lists

    def __call__(self, batch: Batch) -> Floats:
        columns = [
            parse_numbers(cells) if known is None else _places(cells, known)
            for cells, known in zip(batch.X.T, self.lists, strict=True)
        ]
        return np.column_stack([np.empty((len(batch.X), 0)), *columns])


def _places(cells: NDArray[Any], known: tuple[Any, ...]) -> Floats:
    codes = codes_of(cells, known)
    return np.where(codes < 0, np.nan, codes)


@dataclass(frozen=True)
class Cells:
    """Columns by the cell that a row's value is in; a category that is missing has a cell of its own.

    Parameters
    ----------
    columns : their places.
    edges : of each of them.
    """

    columns: tuple[int, ...]
    edges: tuple[Edges, ...]

    def codes(self, X: Floats) -> NDArray[np.int64]:
        """The cell of each row, for each column."""
        found = [codes_between(X[:, j], edges) for j, edges in zip(self.columns, self.edges, strict=True)]
        return np.column_stack(found)

    def count_by_class(self, classes: int, most: int, numbers: Sequence[int], pure: bool) -> BoundedSum:
        """How many rows of each class are in each cell: one table for each column, in all of which a row is.

        Parameters
        ----------
        most : cells of a table; what is released is of this size, however many cells were found.
        numbers : columns that must not be missing, else the row counts for nothing.
        """

        def codes(batch: Batch) -> Floats:
            place = class_of(batch)
            counts = (place >= 0) & np.isfinite(batch.X[:, list(numbers)]).all(axis=1)
            return np.where(counts[:, None], place[:, None] * most + self.codes(batch.X), -1)

        table = OneHot(codes, classes * most, len(self.columns))
        return BoundedSum(table, order=1 if pure else 2, name="values by class")

    def tables(self, total: Floats, classes: int) -> list[Floats]:
        """The counts of each column by themselves: one row for each class, missing values last."""
        every = total.reshape(len(self.columns), classes, -1)
        return [table[:, : len(edges) + 2] for table, edges in zip(every, self.edges, strict=True)]
