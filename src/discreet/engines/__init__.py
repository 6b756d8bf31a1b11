"""SUMMARISE: engines add up the images of rows. They know nothing of privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotSupported
from discreet.query import Batch, BoundedSum, Exact, Image, Together

__all__ = ["BaseRows", "Coins", "Rows"]


class Coins(Protocol):
    """Random bits by place: whoever looks up the same place finds the same bits (`mechanisms.coins`)."""

    def look_up_heads(self, start: int, stop: int, rate: float) -> NDArray[np.bool_]:
        """Heads with probability `rate`, for the rows at places start .. stop-1."""

    def look_up_words(self, start: int, stop: int) -> NDArray[np.uint64]:
        """64 fair bits for each of the rows at places start .. stop-1."""

    def look_up_unit_words(self, names: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """64 fair bits for each unit, by its name (`units.number_units`)."""


class Rows(Protocol):
    """The data behind an engine: all that is ever asked of it. `BaseRows` has what most engines share.

    Everything but the totals of `sum` and `count_labels` stays inside. Methods that give `Rows` read nothing yet, or
    only what they need, and leave these rows as they are. `discreet.checks.check_engine` tests every method.

    Attributes
    ----------
    width : how many features there are.
    columns : their names, if they have any.
    unit : the unit that rows were told of, by its name; None where there is none, and again once rows are bounded or
        share.
    adder : what adds noise to the totals of these rows, where that is not the process that asks (a federation); rows
        made of these keep it.
    """

    width: int
    columns: tuple[str, ...] | None
    unit: Any
    adder: Any

    def make_empty_batch(self) -> Batch:
        """A batch without rows: the schema."""

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total of the query over all rows, in units of its grid."""

    def sample(self, rate: float, coins: Coins) -> Rows:
        """A Poisson sample: each unit (each row, where there are none) is in it with probability `rate`."""

    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Rows]:
        """The rows in `count` disjoint blocks: each unit (or row) is in one of them, drawn for it alone."""

    def encode_targets(self, classes: Sequence[Any]) -> Rows:
        """The same rows, with the place of each target in a list of classes, as a float; NaN for any other."""

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Rows:
        """Rows whose features are `image(batch)`, a function of each row's own features; targets are kept."""

    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones are left out."""

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""

    def assign_units(self, unit: str) -> Rows:
        """The same rows, each belonging to the unit that this column names; the column is no feature then.

        A row whose unit is missing counts for nothing.
        """

    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Rows:
        """At most `limit` rows of each unit: those that rank first by a keyed hash of what they hold."""

    def share_within_units(self) -> Rows:
        """Rows that share what their unit may add: `Batch.share` is one over the number of the unit's rows.

        For a query with `whole`, the share is instead what keeps the sum of the unit's rows within the bound.
        """

    def expect_types(self, *, numeric: bool = True, labels: bool = False) -> Rows:
        """The same rows for a use of them: features of any type if not `numeric`, targets of any with `labels`."""

    def hold_in_memory(self, dtype: Any = np.float64) -> Rows:
        """The same rows, their features in memory as `dtype`, which must hold them exactly; or as they are."""

    def cache_images(self) -> Rows:
        """The same rows, with what queries make of them kept for many sums to come; or as they are."""

    def count_arrays(self) -> int:
        """How many arrays `read_arrays` gives: rows, and targets if any; 0 where rows are read piece by piece."""

    def read_arrays(self) -> tuple[NDArray[Any], ...]:
        """All rows, and their targets, as arrays."""

    def check_places(self) -> None:
        """Raise `EngineError` if rows have no places that stay, so that they cannot be sampled by them."""

    def read_version(self) -> str | None:
        """A digest that is another one when the data is, for a retrying ledger; None if that cannot be told.

        Raises `NotSupported` for rows that were mapped or sampled.
        """

    def describe_roles(self) -> tuple[str, str, str]:
        """The name of the target and what type it is of, and the name of the unit; empty where there is no name."""


class BaseRows(ABC):
    """What engines share: nothing is held, kept, versioned or refused, and rows are neither shown nor copied.

    An engine inherits it and writes the methods that are abstract here; what they owe is said in `Rows`.
    """

    width: int
    columns: tuple[str, ...] | None = None
    unit: Any = None
    adder: Any = None

    @abstractmethod
    def make_empty_batch(self) -> Batch:
        """A batch without rows: the schema."""

    @abstractmethod
    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total of the query over all rows, in units of its grid."""

    @abstractmethod
    def sample(self, rate: float, coins: Coins) -> Rows:
        """A Poisson sample of the units, or of the rows where there are none."""

    @abstractmethod
    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Rows]:
        """The rows in `count` disjoint blocks: each unit, or row, is in one of them, drawn for it alone."""

    @abstractmethod
    def encode_targets(self, classes: Sequence[Any]) -> Rows:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""

    @abstractmethod
    def map(self, image: Image, columns: Sequence[str] | None = None) -> Rows:
        """Rows whose features are `image(batch)`; targets are kept."""

    @abstractmethod
    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones are left out."""

    @abstractmethod
    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""

    @abstractmethod
    def assign_units(self, unit: str) -> Rows:
        """The same rows, each belonging to the unit that this column names; the column is no feature then."""

    @abstractmethod
    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Rows:
        """At most `limit` rows of each unit, by a keyed hash of what they hold."""

    @abstractmethod
    def share_within_units(self) -> Rows:
        """Rows that share what their unit may add."""

    def expect_types(self, *, numeric: bool = True, labels: bool = False) -> Rows:
        """These rows: their types were said when they were made."""
        return self

    def hold_in_memory(self, dtype: Any = np.float64) -> Rows:
        """These rows: nothing is held in memory."""
        return self

    def cache_images(self) -> Rows:
        """These rows: nothing is kept."""
        return self

    def count_arrays(self) -> int:
        """None: rows are read piece by piece."""
        return 0

    def read_arrays(self) -> tuple[NDArray[Any], ...]:
        """Nothing to give."""
        raise NotSupported("These rows are read piece by piece: there are no tables in memory.")

    def check_places(self) -> None:
        """Nothing to refuse: rows stay in their places."""
        return

    def read_version(self) -> str | None:
        """None: whether the data changed cannot be told."""
        return None

    def describe_roles(self) -> tuple[str, str, str]:
        """The type of the target, which has no name, and no unit of a name."""
        y = self.make_empty_batch().y
        return "", "None" if y is None else y.dtype.str, ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.width} columns>"  # the number of rows is private

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are not pickled or copied: they stay where they are.")
