"""CSV files, compressed or not: read one after the other while other cores add up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars
import pyarrow as pa
from pyarrow import csv

from discreet.engines.arrow import classify_type
from discreet.engines.stream.files import Paths, Stamp, digest_files, find_files, merge_schemas, read_header
from discreet.engines.stream.source import Batches, Piece
from discreet.errors import EngineError

ENDINGS = (".csv", ".csv.gz", ".csv.zst", ".csv.bz2", ".csv.lz4")
BLOCK = 1 << 22  # bytes of text at a time; types are told from the first such block


KINDS = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_()}
TRUTHS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "1": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "0": False,
}


class Csv:
    """CSV files with a header as one table, in the order of their names.

    A column is of the type that its first four megabytes are of, in every file, unless `types` says it: where it does
    of all columns, only the header is read until rows are asked for. Of a column of numbers or truths, a cell that is
    none is missing; of text, an empty one alone. So no value is an error later on.

    Parameters
    ----------
    paths : a path, a pattern, a folder, or a list of them; compressed if they end in .gz, .zst, .bz2 or .lz4.
    types : "number", "text" or "truth" for columns whose type is known, whatever their cells are.
    """

    def __init__(self, paths: Paths, types: Mapping[str, str] | None = None) -> None:
        names = find_files(paths, ENDINGS)
        self._stamps = tuple(Stamp.of_file(name) for name in names)
        self.name = names[0] if len(names) == 1 else f"{len(names)} CSV files"
        self.schema = merge_schemas([(name, _read_schema(name, types or {})) for name in names])
        self.count: int | None = None
        plain = all(name.lower().endswith(".csv") for name in names)  # of others nobody knows how long the text is
        self.blocks: float | None = sum(stamp.size for stamp in self._stamps) / BLOCK if plain else None

    def check(self) -> None:
        """Raise if a file changed."""
        for stamp in self._stamps:
            stamp.check()

    def read_version(self) -> str:
        """A digest of names, sizes, times of change and schema."""
        return digest_files(self._stamps, self.schema)

    def iter_pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """Blocks of rows, each a piece; cells become numbers on whichever core is free."""
        types = {name: self._choose_type(name, name in labels) for name in (*numbers, *labels)}
        types = types or {self.schema.names[0]: pa.string()}  # rows are to be counted still
        place = 0
        for stamp in self._stamps:
            stamp.check()
            for batch in self._read_batches(stamp.name, types):
                yield _Block(place, batch, types)
                place += batch.num_rows

    def _read_batches(self, name: str, types: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        texts = {column: of if classify_type(of) == "other" else pa.string() for column, of in types.items()}
        convert = csv.ConvertOptions(
            column_types=texts, include_columns=list(texts), null_values=[""], strings_can_be_null=True
        )
        try:
            with _open_file(name) as stream, csv.open_csv(stream, _read_options(), convert_options=convert) as reader:
                yield from reader
        except (OSError, pa.ArrowException) as error:
            # Which column it was is nowhere but in this text, of which the rest may show a value: pyarrow raises one
            # class of error for all cells, without attributes. To read the file again column by column would tell it
            # too, but whatever the file is read from may not be there a second time.
            column = re.search(r"column #(\d+)", str(error))
            place, names = int(column[1]) if column else 0, _read_names(name)
            where = f", in column {names[place]!r}" if column and place < len(names) else ""
            dates = (
                " or no date where the file begins with dates" if "other" in map(classify_type, types.values()) else ""
            )
            raise EngineError(
                f"{name!r} cannot be read{where}: a row has more or fewer cells than the header, a value is no UTF-8 "
                f"text{dates}, or the file is damaged."
            ) from None

    def _choose_type(self, name: str, label: bool) -> Any:
        """What to read a column as: numbers that begin as whole ones, or as missing, may have decimals later."""
        of = self.schema.field(name).type
        if classify_type(of) == "nothing":
            return pa.string() if label else pa.float64()
        return of if label or pa.types.is_boolean(of) or classify_type(of) != "number" else pa.float64()


class _Block:
    """Rows of text, of which a core makes what they are of."""

    def __init__(self, place: int, batch: pa.RecordBatch, types: dict[str, Any]) -> None:
        self._place, self._batch, self._types = place, batch, types

    def __call__(self) -> Batches:
        columns = [_parse_cells(self._batch.column(name), of) for name, of in self._types.items()]
        yield self._place, pa.record_batch(columns, names=list(self._types))


def _parse_cells(column: pa.Array, of: Any) -> pa.Array:
    """Text as values of a type, each cell by itself; missing where it is none, so that no other row notices."""
    if classify_type(of) != "number":
        return column
    text = polars.Series(polars.from_arrow(column)).str.strip_chars()
    if pa.types.is_boolean(of):
        return text.replace_strict(TRUTHS, default=None, return_dtype=polars.Boolean).to_arrow()
    return text.cast(polars.Int64 if pa.types.is_integer(of) else polars.Float64, strict=False).to_arrow()


def _read_schema(file: str, types: Mapping[str, str]) -> pa.Schema:
    """The columns of a file: of the types that the caller knows, and of those that its first block tells."""
    names = _read_names(file) if types else []
    stated = bool(names) and set(names) <= set(types)
    schema = pa.schema([(name, pa.null()) for name in names]) if stated else _infer_schema(file)
    for name, of in types.items():
        if name not in schema.names:
            raise ValueError(f"There is no column {name!r} in {file!r}. There are: {schema.names}.")
        if of not in KINDS:
            raise ValueError(f"The type of {name!r} must be 'number', 'text' or 'truth', not {of!r}.")
    return pa.schema([(one.name, KINDS[types[one.name]] if one.name in types else one.type) for one in schema])


def _read_names(file: str) -> list[str]:
    """The names of the columns; none where the first line does not tell them."""
    try:
        return read_header(file)
    except EngineError:
        return []


def _infer_schema(file: str) -> pa.Schema:
    convert = csv.ConvertOptions(strings_can_be_null=True)
    try:
        with _open_file(file) as stream, csv.open_csv(stream, _read_options(), convert_options=convert) as reader:
            return reader.schema
    except (OSError, pa.ArrowException):
        raise EngineError(f"{file!r} cannot be read as a CSV file: is it empty, or damaged?") from None


def _open_file(name: str) -> Any:
    return pa.input_stream(name, compression="detect")


def _read_options() -> csv.ReadOptions:
    return csv.ReadOptions(block_size=BLOCK)
