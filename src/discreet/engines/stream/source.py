"""Source: where a stream's rows come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

Batches = Iterator[tuple[int, pa.RecordBatch]]
Piece = Callable[[], Batches]


class Source(Protocol):
    """A table that can be read again and again, piece by piece; it knows no more of the rows' use than `Stream` tells.

    name : for messages; it tells nothing about rows.
    schema : the columns and their types, as far as they matter: of numbers, any type of numbers.
    count : the number of rows, where it is known without reading; it is never shown.
    blocks : about how many pieces there are, where that is known and the number of rows is not.
    """

    name: str
    schema: pa.Schema
    count: int | None
    blocks: float | None

    def iter_pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """All rows once: calling a piece, in any thread, gives its batches, each with the place of its first row.

        What a piece does is done in parallel, what this iterator does by itself is not.

        Parameters
        ----------
        numbers : columns of which floats will be made.
        labels : columns to be given as they are.
        rows : about how many rows a batch should have.
        """

    def check(self) -> None:
        """Raise `EngineError` if this is known to be other data than before."""

    def read_version(self) -> str:
        """A digest that is another one when the data is, as far as that can be told without reading it."""


def make_piece(place: int, batch: pa.RecordBatch) -> Piece:
    """A piece that was read already."""
    return lambda: iter([(place, batch)])
