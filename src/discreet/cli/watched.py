"""Watched: files whose reading moves the bar of the verb that reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from discreet.cli import bars
from discreet.cli.header import PARQUET
from discreet.cli.told import Told
from discreet.engines.csv import BLOCK
from discreet.engines.parquet import Parquet
from discreet.engines.source import Batches, Piece


class WatchedCsv(Told):
    """A CSV file, read block by block; how much is left is known by its size, unless it is compressed."""

    def pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """Blocks of rows, each a piece."""
        bars.begin()
        size = Path(self.name).stat().st_size if self.name.lower().endswith(".csv") else 0
        for done, piece in enumerate(super().pieces(numbers, labels, rows), 1):
            bars.reached(done * BLOCK, size)
            yield piece


class WatchedParquet(Parquet):
    """A Parquet file, of whose rows the places are known."""

    def pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """Row groups, or batches of them."""
        bars.begin()
        for piece in super().pieces(numbers, labels, rows):
            yield self._watched(piece)

    def _watched(self, piece: Piece) -> Piece:
        def watched() -> Batches:
            for place, batch in piece():
                bars.reached(place + batch.num_rows, self.count or 0)
                yield place, batch

        return watched


def source(path: Path, types: dict[str, str]) -> WatchedCsv | WatchedParquet:
    """The file as an engine reads it; of a CSV file no more than the header is read before rows are asked for."""
    return WatchedParquet(path) if path.name.lower().endswith(PARQUET) else WatchedCsv(path, types)
