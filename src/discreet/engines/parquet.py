"""Parquet files: row groups read in parallel, each in batches, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.files import Paths, Stamp, common, found, version
from discreet.engines.memory import _cores
from discreet.engines.source import Batches, Piece, told
from discreet.errors import EngineError

WHOLE = 1 << 23  # cells of a row group that is read at once
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
        self._checked = {name for name in names if _has_checksums(name, self._footers[name])}
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
            plain = not labels and group[0].name not in self._checked
            piece = _Group(*group, [*numbers, *labels], rows, plain)
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

    def __init__(
        self, stamp: Stamp, footer: Any, number: int, place: int, columns: list[str], rows: int, plain: bool
    ) -> None:
        self._stamp, self._footer, self._number, self._place = stamp, footer, number, place
        self._columns, self._rows, self._plain = columns, rows, plain

    def __call__(self) -> Batches:
        self._stamp.check()
        place = self._place
        try:
            for batch in self._quickly() if self._small else self._batches():
                yield place, batch
                place += batch.num_rows
        except (OSError, pa.ArrowException, polars.exceptions.PolarsError, polars.exceptions.PanicException):
            self._stamp.check()  # another file has other row groups
            raise EngineError(
                f"Row group {self._number} of {self._stamp.name!r} cannot be read: is it damaged?"
            ) from None
        if place != self._place + self._footer.row_group(self._number).num_rows:
            raise EngineError(f"Row group {self._number} of {self._stamp.name!r} does not hold what the file says.")

    @property
    def _small(self) -> bool:
        return self._plain and self._footer.row_group(self._number).num_rows * len(self._columns) <= WHOLE

    def _quickly(self) -> Iterator[pa.RecordBatch]:
        """The row group at once, by polars, which decodes twice as fast; but it does not look at checksums."""
        groups = [self._footer.row_group(number).num_rows for number in range(self._number + 1)]
        file = polars.scan_parquet(self._stamp.name, glob=False)
        frame = file.select(self._columns).slice(sum(groups[:-1]), groups[-1]).collect()
        yield from frame.to_arrow().to_batches()

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


def _has_checksums(name: str, footer: Any) -> bool:
    """Whether pages of a file come with checksums, as the header of the first one tells.

    It is a struct of Thrift's compact protocol: the type of the page, its size before and after compression, each a
    byte 0x15 and a number of up to five bytes; then, where there is one, the checksum, which begins with 0x15 too.
    """
    if not (footer.num_row_groups and footer.num_columns):
        return False
    column = footer.row_group(0).column(0)
    with open(name, "rb") as file:
        file.seek(column.dictionary_page_offset or column.data_page_offset)
        header = file.read(32)
    place = 0
    for _ in range(3):
        place += 1
        while place < len(header) and header[place] & 0x80:  # a number ends with a byte below 128
            place += 1
        place += 1
    return place < len(header) and header[place] == 0x15
