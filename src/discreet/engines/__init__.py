"""SUMMARISE: engines add up the images of rows. They know nothing of privacy."""

from __future__ import annotations

from typing import Protocol

from discreet.query import Batch, BoundedSum, Exact

__all__ = ["Rows"]


class Rows(Protocol):
    """The data behind an engine."""

    width: int
    columns: tuple[str, ...] | None

    def empty(self) -> Batch:
        """A batch without rows: the schema."""

    def sum(self, query: BoundedSum) -> Exact:
        """The exact total of the query over all rows, in units of its grid."""

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
