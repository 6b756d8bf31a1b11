"""Parquet files: row groups read in parallel, each in batches, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.memory import count_cores
from discreet.engines.stream.files import Paths, Stamp, digest_files, find_files, merge_schemas
from discreet.engines.stream.source import Batches, Piece, make_piece
from discreet.errors import EngineError

WHOLE = 1 << 23  # cells of a row group that is read at once
SOME = 1 << 20  # cells up to which small row groups are read together: to open a file takes as long as some thousands
WINDOW = 1 << 16  # bytes of a column chunk at a time: memory is bounded whatever the row group, and it is faster too


class Parquet:
    """Parquet files as one table, in the order of their names; the place of a row is known before it is read.

    Parameters
    ----------
    paths : a path, a pattern, a folder, or a list of them.
    """

    def __init__(self, paths: Paths) -> None:
        names = find_files(paths, (".parquet", ".pq"))
        self._stamps = tuple(Stamp.of_file(name) for name in names)
        self._footers = {name: _read_footer(name) for name in names}
        self._checked = {name for name in names if _has_checksums(name, self._footers[name])}
        self.name = names[0] if len(names) == 1 else f"{len(names)} Parquet files"
        self.schema = merge_schemas([(name, footer.schema.to_arrow_schema()) for name, footer in self._footers.items()])
        self.count: int | None = sum(footer.num_rows for footer in self._footers.values())
        self.blocks: float | None = None

    def check(self) -> None:
        """Raise if a file changed."""
        for stamp in self._stamps:
            stamp.check()

    def read_version(self) -> str:
        """A digest of names, sizes, times of change and schema."""
        return digest_files(self._stamps, self.schema)

    def iter_pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """Row groups, small ones together; where there is not one for each core, their batches."""
        columns = [*numbers, *labels]
        bundles = list(self._bundle_groups(len(columns)))
        for bundle in bundles:
            plain = not labels and bundle.stamp.name not in self._checked
            piece = _Groups(bundle, columns, rows, plain)
            if len(bundles) >= count_cores():
                yield piece
            else:
                yield from (make_piece(place, batch) for place, batch in piece())

    def _bundle_groups(self, width: int) -> Iterator[_Bundle]:
        """Consecutive row groups of a file, as many as have SOME cells, or fewer where all cores would not be busy."""
        most = min(SOME // max(1, width), (self.count or 0) // (4 * count_cores()))
        place = 0
        for stamp in self._stamps:
            footer, bundle = self._footers[stamp.name], None
            start = 0
            for number in range(footer.num_row_groups):
                rows = footer.row_group(number).num_rows
                if bundle is not None and bundle.rows + rows <= most:
                    bundle = replace(bundle, last=number, rows=bundle.rows + rows)
                else:
                    if bundle is not None:
                        yield bundle
                    bundle = _Bundle(stamp, footer, number, number, place + start, start, rows)
                start += rows
            if bundle is not None:
                yield bundle
            place += start


@dataclass(frozen=True)
class _Bundle:
    """Row groups of a file, first to last: the place of their first row in all files and in theirs, and their rows."""

    stamp: Stamp
    footer: Any
    first: int
    last: int
    place: int
    start: int
    rows: int

    def __str__(self) -> str:
        groups = f"Row group {self.first}" if self.first == self.last else f"Row groups {self.first} to {self.last}"
        return f"{groups} of {self.stamp.name!r}"


class _Groups:
    """Some row groups, opened once, to be read by whichever core is free."""

    def __init__(self, bundle: _Bundle, columns: list[str], rows: int, plain: bool) -> None:
        self._bundle, self._columns, self._rows = bundle, columns, rows
        self._small = plain and bundle.rows * len(columns) <= WHOLE

    def __call__(self) -> Batches:
        bundle = self._bundle
        bundle.stamp.check()
        place = bundle.place
        try:
            for batch in self._decode_with_polars() if self._small else self._decode_with_arrow():
                yield place, batch
                place += batch.num_rows
        except (OSError, pa.ArrowException, polars.exceptions.PolarsError, polars.exceptions.PanicException):
            bundle.stamp.check()  # another file has other row groups
            raise EngineError(f"{bundle} cannot be read: is it damaged?") from None
        if place != bundle.place + bundle.rows:
            raise EngineError(f"{bundle} does not hold what the file says.")

    def _decode_with_polars(self) -> Iterator[pa.RecordBatch]:
        """All rows at once, by polars, which decodes twice as fast; but it does not look at checksums."""
        file = polars.scan_parquet(self._bundle.stamp.name, glob=False)
        frame = file.select(self._columns).slice(self._bundle.start, self._bundle.rows).collect()
        yield from frame.to_arrow().to_batches()

    def _decode_with_arrow(self) -> Iterator[pa.RecordBatch]:
        file = pq.ParquetFile(
            self._bundle.stamp.name,
            metadata=self._bundle.footer,
            pre_buffer=False,
            buffer_size=WINDOW,
            page_checksum_verification=True,
        )
        groups = [*range(self._bundle.first, self._bundle.last + 1)]
        with file:
            yield from file.iter_batches(
                batch_size=self._rows, row_groups=groups, columns=self._columns, use_threads=False
            )


def _read_footer(name: str) -> Any:
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
