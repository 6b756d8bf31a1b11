"""SUMMARISE: engines add up the images of rows. They know nothing of privacy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.query import Batch, BoundedSum, Exact, Image, Together

__all__ = ["Coins", "Rows"]


class Coins(Protocol):
    """Where an engine gets its random bits from."""

    def u64(self, n: int) -> NDArray[np.uint64]:
        """`n` words of 64 fair bits."""


class Rows(Protocol):
    """The data behind an engine."""

    width: int
    columns: tuple[str, ...] | None

    def empty(self) -> Batch:
        """A batch without rows: the schema."""

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total of the query over all rows, in units of its grid."""

    def sample(self, rate: float, coins: Coins) -> Rows:
        """A Poisson sample: each row is in it with probability `rate`, independently."""

    def blocks(self, count: int, coins: Coins) -> Iterator[Rows]:
        """The rows in `count` disjoint blocks: each row is in one of them, drawn for it alone."""

    def coded(self, classes: Sequence[Any]) -> Rows:
        """The same rows, with the place of each target in a list of classes, as a float; NaN for any other."""

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Rows:
        """Rows whose features are `image(batch)`, a function of each row's own features; targets are kept."""

    def tally(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones are left out."""

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
