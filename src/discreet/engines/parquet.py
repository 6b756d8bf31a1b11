"""Parquet files: row groups read in parallel, each in batches, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.files import Paths, Stamp, common, found, version
from discreet.engines.memory import _cores
from discreet.engines.source import Batches, Piece, told
from discreet.errors import EngineError

WINDOW = 1 << 16  # bytes of a column chunk at a time: memory is bounded whatever the row group, and it is faster too


class Parquet:
    """Parquet files as one table, in the order of their names; the place of a row is known before it is read.

    Parameters
    ----------
    paths : a path, a pattern, a folder, or a list of them.
    """

    def __init__(self, paths: Paths) -> None:
        names = found(paths, (".parquet", ".pq"))
        self._stamps = tuple(Stamp.of(name) for name in names)
        self._footers = {name: _footer(name) for name in names}
        self.name = names[0] if len(names) == 1 else f"{len(names)} Parquet files"
        self.schema = common([(name, footer.schema.to_arrow_schema()) for name, footer in self._footers.items()])
        self.count: int | None = sum(footer.num_rows for footer in self._footers.values())

    def check(self) -> None:
        """Raise if a file changed."""
        for stamp in self._stamps:
            stamp.check()

    def version(self) -> str:
        """A digest of names, sizes, times of change and schema."""
        return version(self._stamps, self.schema)

    def pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """The row groups, or where there are fewer than a few for each core, their batches."""
        groups = list(self._groups())
        for group in groups:
            piece = _Group(*group, [*numbers, *labels], rows)
            if len(groups) >= 3 * _cores():
                yield piece
            else:
                yield from (told(place, batch) for place, batch in piece())

    def _groups(self) -> Iterator[tuple[Stamp, Any, int, int]]:
        place = 0
        for stamp in self._stamps:
            footer = self._footers[stamp.name]
            for number in range(footer.num_row_groups):
                yield stamp, footer, number, place
                place += footer.row_group(number).num_rows


class _Group:
    """One row group, to be read by whichever core is free."""

    def __init__(self, stamp: Stamp, footer: Any, number: int, place: int, columns: list[str], rows: int) -> None:
        self._stamp, self._footer, self._number, self._place = stamp, footer, number, place
        self._columns, self._rows = columns, rows

    def __call__(self) -> Batches:
        self._stamp.check()
        place = self._place
        try:
            for batch in self._batches():
                yield place, batch
                place += batch.num_rows
        except (OSError, pa.ArrowException):
            self._stamp.check()  # another file has other row groups
            raise EngineError(
                f"Row group {self._number} of {self._stamp.name!r} cannot be read: is it damaged?"
            ) from None
        if place != self._place + self._footer.row_group(self._number).num_rows:
            raise EngineError(f"Row group {self._number} of {self._stamp.name!r} does not hold what the file says.")

    def _batches(self) -> Iterator[pa.RecordBatch]:
        file = pq.ParquetFile(
            self._stamp.name,
            metadata=self._footer,
            pre_buffer=False,
            buffer_size=WINDOW,
            page_checksum_verification=True,
        )
        with file:
            yield from file.iter_batches(
                batch_size=self._rows, row_groups=[self._number], columns=self._columns, use_threads=False
            )


def _footer(name: str) -> Any:
    try:
        return pq.read_metadata(name)
    except (OSError, pa.ArrowException):
        raise EngineError(f"{name!r} cannot be read as a Parquet file: is it damaged?") from None
