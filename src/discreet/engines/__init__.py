"""SUMMARISE: engines add up the images of rows. They know nothing of privacy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.query import Batch, BoundedSum, Exact, Image, Together

__all__ = ["Coins", "Rows"]


class Coins(Protocol):
    """Random bits by place: whoever looks up the same place finds the same bits (`mechanisms.coins`)."""

    def heads(self, start: int, stop: int, rate: float) -> NDArray[np.bool_]:
        """Heads with probability `rate`, for the rows at places start .. stop-1."""

    def words(self, start: int, stop: int) -> NDArray[np.uint64]:
        """64 fair bits for each of the rows at places start .. stop-1."""

    def of_units(self, names: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """64 fair bits for each unit, by its name (`units.grouped`)."""


class Rows(Protocol):
    """The data behind an engine: a third party can write one; `discreet.checks.check_engine` tells what is amiss.

    Everything but the totals of `sum` and `tally` stays inside. Methods that give `Rows` read nothing yet, or only what
    they need, and leave these rows as they are.
    """

    width: int
    columns: tuple[str, ...] | None
    unit: Any  # that rows were told of, by its name; None where there is none, and again once rows are bounded or share

    def empty(self) -> Batch:
        """A batch without rows: the schema."""

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total of the query over all rows, in units of its grid."""

    def sample(self, rate: float, coins: Coins) -> Rows:
        """A Poisson sample: each unit (each row, where there are none) is in it with probability `rate`."""

    def blocks(self, count: int, coins: Coins) -> Iterator[Rows]:
        """The rows in `count` disjoint blocks: each unit (or row) is in one of them, drawn for it alone."""

    def coded(self, classes: Sequence[Any]) -> Rows:
        """The same rows, with the place of each target in a list of classes, as a float; NaN for any other."""

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Rows:
        """Rows whose features are `image(batch)`, a function of each row's own features; targets are kept."""

    def tally(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones are left out."""

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""

    def by(self, unit: str) -> Rows:
        """The same rows, each belonging to the unit that this column names; the column is no feature then.

        A row whose unit is missing counts for nothing.
        """

    def bounded(self, limit: int, coins: Coins) -> Rows:
        """At most `limit` rows of each unit: those that rank first by a keyed hash of what they hold."""

    def shared(self) -> Rows:
        """Rows that share what their unit may add: `Batch.share` is one over the number of the unit's rows.

        For a query with `whole`, the share is instead what keeps the sum of the unit's rows within the bound.
        """
