"""CSV files, compressed or not: read one after the other while other cores add up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv

from discreet.engines.arrow import kind
from discreet.engines.files import Paths, Stamp, common, found, version
from discreet.engines.source import Piece, told
from discreet.errors import EngineError

ENDINGS = (".csv", ".csv.gz", ".csv.zst", ".csv.bz2", ".csv.lz4")
BLOCK = 1 << 22  # bytes of text at a time; types are told from the first such block


class Csv:
    """CSV files with a header as one table, in the order of their names.

    A column is of the type that its first four megabytes are of, in every file; columns of numbers are read as floats.

    Parameters
    ----------
    paths : a path, a pattern, a folder, or a list of them; compressed if they end in .gz, .zst, .bz2 or .lz4.
    """

    def __init__(self, paths: Paths) -> None:
        names = found(paths, ENDINGS)
        self._stamps = tuple(Stamp.of(name) for name in names)
        self.name = names[0] if len(names) == 1 else f"{len(names)} CSV files"
        self.schema = common([(name, self._schema(name)) for name in names])
        self.count: int | None = None

    def check(self) -> None:
        """Raise if a file changed."""
        for stamp in self._stamps:
            stamp.check()

    def version(self) -> str:
        """A digest of names, sizes, times of change and schema."""
        return version(self._stamps, self.schema)

    def pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """Blocks of rows, each a piece."""
        types = {name: self._type(name, name in labels) for name in (*numbers, *labels)}
        types = types or {self.schema.names[0]: pa.string()}  # rows are to be counted still
        place = 0
        for stamp in self._stamps:
            stamp.check()
            for batch in self._batches(stamp.name, types):
                yield told(place, batch)
                place += batch.num_rows

    def _batches(self, name: str, types: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        convert = csv.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=True)
        try:
            with _opened(name) as stream, csv.open_csv(stream, _read(), convert_options=convert) as reader:
                yield from reader
        except (OSError, pa.ArrowException) as error:
            column = re.search(r"column #(\d+)", str(error))  # the rest of the message may show a value
            where = f", in column {self._header(name)[int(column[1])]!r}" if column else ""
            raise EngineError(
                f"{name!r} cannot be read{where}: a value is not of the type that the file begins with, a row has "
                "another number of columns, or the file is damaged."
            ) from None

    def _schema(self, name: str) -> pa.Schema:
        try:
            with (
                _opened(name) as stream,
                csv.open_csv(stream, _read(), convert_options=csv.ConvertOptions(strings_can_be_null=True)) as reader,
            ):
                schema = reader.schema
        except (OSError, pa.ArrowException):
            raise EngineError(f"{name!r} cannot be read as a CSV file: is it empty, or damaged?") from None
        return schema

    def _type(self, name: str, label: bool) -> Any:
        """What to read a column as: numbers that begin as whole ones, or as missing, may have decimals later."""
        of = self.schema.field(name).type
        if kind(of) == "nothing":
            return pa.string() if label else pa.float64()
        return of if label or pa.types.is_boolean(of) or kind(of) != "number" else pa.float64()

    def _header(self, name: str) -> list[str]:
        with _opened(name) as stream, csv.open_csv(stream, _read()) as reader:
            return list(reader.schema.names)


def _opened(name: str) -> Any:
    return pa.input_stream(name, compression="detect")


def _read() -> csv.ReadOptions:
    return csv.ReadOptions(block_size=BLOCK)
