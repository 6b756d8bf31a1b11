"""CSV and Parquet files larger than memory: piece by piece in, piece by piece out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.pseudonyms import frames
from discreet.pseudonyms.canonical import canonical
from discreet.pseudonyms.encodings import Reader, Writer
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.lines import Cells, Dialect, Records, Words, quoted
from discreet.pseudonyms.roles import Role

CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
TEXTS, TABLES = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
ROWS = 1 << 18  # of a Parquet file at a time

Kept = npt.NDArray[np.bool_] | None
Write = Callable[[pa.Table], None]
Replaced = Callable[[Cells, Words, Kept], pa.Array]  # records with words in place of columns


class Piece(Protocol):
    """Some rows of a file."""

    def __len__(self) -> int:
        """How many rows."""

    def columns(self, wanted: Mapping[str, str]) -> pl.DataFrame:
        """Some columns, each under another name."""

    def tokens(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """What might be a pseudonym in some columns, as text."""

    def replaced(self, roles: Sequence[Role], words: Sequence[pl.Series], kept: Kept) -> pa.Table:
        """The rows that are kept, with words in place of the columns of each person."""


class File(Protocol):
    """A file to read in pieces and to write another one like it."""

    names: list[str]
    rows: int | None
    size: int

    def pieces(self) -> Iterator[Piece]:
        """All its rows."""

    def writer(self, path: Path, codec: str | None, roles: Sequence[Role]) -> AbstractContextManager[Write]:
        """A file with a column of words in place of the columns of each person."""


def opened(path: str | os.PathLike[str], dialect: Dialect | None, stack: ExitStack, uniform: bool = False) -> File:
    """A file by how its name ends; `uniform` is for partners (`canonical.py`)."""
    ending, _ = endings(path)
    if ending in TABLES:
        if dialect is not None:
            raise ValueError("A `dialect` is for CSV files. Got one for a Parquet file.")
        return Parquet(Path(path), stack)
    default = Dialect(delimiter="\t") if ending == ".tsv" else Dialect()
    return Csv(Path(path), dialect or default, stack, uniform)


def endings(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """The kind of a file (".csv", ".parquet" ...) and how it is compressed.

    >>> endings("visits.csv.gz"), endings("visits.parquet")
    (('.csv', 'gzip'), ('.parquet', None))
    """
    name = Path(path)
    codec = CODECS.get(name.suffix.lower())
    ending = (name.with_suffix("") if codec else name).suffix.lower()
    if ending in TEXTS or (ending in TABLES and codec is None):
        return ending, codec
    raise ValueError(
        f"The file {str(path)!r} must end in .csv, .tsv or .txt (also .gz, .zst, .bz2, .lz4), .parquet or .pq."
    )


def alike(path: str | os.PathLike[str], out: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Refuse an input that is not there, and an output of another kind, that is the input, or that exists."""
    if (endings(path)[0] in TABLES) != (endings(out)[0] in TABLES):
        raise ValueError("The `out` must be of the same kind as the table: CSV for CSV, Parquet for Parquet.")
    if not os.path.exists(path):
        raise VaultError(f"There is no file {str(path)!r}.")
    if os.path.exists(out) and os.path.samefile(path, out):
        raise ValueError("The `out` must be another file than the table.")
    if os.path.isdir(out):
        raise VaultError(f"{str(out)!r} cannot be written: it is a folder.")
    if os.path.lexists(out) and not overwrite:
        raise VaultError(f"The file {str(out)!r} exists. Hint: overwrite=True, or another name.")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Failures of reading, told by the file's name: what libraries say may hold values."""
    try:
        yield
    except FileNotFoundError:
        raise VaultError(f"There is no file {str(path)!r}.") from None
    except (OSError, pa.ArrowException, EOFError):
        raise VaultError(f"{str(path)!r} cannot be read: is it damaged, or not what its name says?") from None


class Csv:
    """A CSV file with a header, compressed or not.

    Cells that are no identifiers are copied byte for byte, or written in one way (`canonical.py`).
    """

    def __init__(self, path: Path, dialect: Dialect, stack: ExitStack, uniform: bool = False) -> None:
        self._path = path
        with readable(path):
            self.size = path.stat().st_size * (4 if endings(path)[1] else 1)  # compressed text is about a quarter
            stream = stack.enter_context(pa.input_stream(str(path), compression=endings(path)[1]))
            self._reader = Reader(stream, dialect.encoding, path.name)
            self._records = Records(self._reader, dialect, path.name)
        self.names = self._records.names
        self.rows: int | None = None
        self._replaced: Replaced = Cells.replaced
        if uniform:
            self._replaced = partial(canonical, end=self._records.line_end)

    def pieces(self) -> Iterator[Piece]:
        """All records, block by block."""
        with readable(self._path):
            for cells in self._records:
                yield _Lines(cells, self.names, self._replaced)

    @contextmanager
    def writer(self, path: Path, codec: str | None, roles: Sequence[Role]) -> Iterator[Write]:
        """A file of the same dialect. Where bytes are copied, its last line has no end if that of this one has none."""
        titles = [pl.Series([quoted(role.column, self._records.dialect)]) for role in roles]
        head = self._replaced(self._records.header, _placed(self.names, roles, titles), None)
        with ExitStack() as stack:
            stream = stack.enter_context(pa.OSFile(str(path), "wb"))
            if codec is not None:
                stream = stack.enter_context(pa.CompressedOutputStream(stream, codec))
            held = _Held(Writer(stream, self._reader.mark, self._reader.encoding))
            held.write(_joined(head))
            yield held.lines
            if self._records.ended or self._replaced != Cells.replaced:
                held.release()


class _Held:
    """Holds the last byte back, until it is known whether the file ends with a line end."""

    def __init__(self, writer: Writer) -> None:
        self._writer, self._last = writer, b""

    def write(self, data: memoryview) -> None:
        if len(data):
            self.release()
            self._writer.write(data[:-1])
            self._last = bytes(data[-1:])

    def lines(self, table: pa.Table) -> None:
        for chunk in table.column(0).chunks:
            self.write(_joined(chunk))

    def release(self) -> None:
        self._writer.write(self._last)
        self._last = b""


def _joined(lines: pa.Array) -> memoryview:
    """All bytes of an array, which lie next to each other."""
    if not len(lines):
        return memoryview(b"")
    _, places, data = lines.buffers()
    ends = np.frombuffer(places, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[ends[0] : ends[-1]] if data is not None else memoryview(b"")


class _Lines:
    """Records of a CSV file."""

    def __init__(self, cells: Cells, names: list[str], replaced: Replaced) -> None:
        self._cells, self._names, self._replaced = cells, names, replaced

    def __len__(self) -> int:
        return len(self._cells)

    def columns(self, wanted: Mapping[str, str]) -> pl.DataFrame:
        """As text; an empty cell is null."""
        return pl.DataFrame(
            {new: self._cells.column(self._names.index(name)).replace("", None) for name, new in wanted.items()}
        )

    def tokens(self, names: Sequence[str]) -> dict[str, pl.Series]:
        return {name: self._cells.tokens(self._names.index(name)) for name in names}

    def replaced(self, roles: Sequence[Role], words: Sequence[pl.Series], kept: Kept) -> pa.Table:
        return pa.table({"line": self._replaced(self._cells, _placed(self._names, roles, words), kept)})


def _placed(names: list[str], roles: Sequence[Role], words: Sequence[pl.Series]) -> Words:
    """Words by the places of columns: those of each person in the first of theirs; the others go."""
    found: dict[int, pl.Series | None] = {}
    for role, own in zip(roles, words, strict=True):
        first, *others = sorted(names.index(name) for name in role.identifiers)
        found |= {first: own, **dict.fromkeys(others)}
    return found


class Parquet:
    """A Parquet file; the one written has the same columns and compression, and none of its metadata."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        with readable(path):
            self._file = stack.enter_context(pq.ParquetFile(str(path), pre_buffer=False, buffer_size=1 << 16))
            self._schema = self._file.schema_arrow
        self.names: list[str] = list(self._schema.names)
        footer = self._file.metadata
        self.rows: int | None = footer.num_rows
        self.size = sum(footer.row_group(one).total_byte_size for one in range(footer.num_row_groups))

    def pieces(self) -> Iterator[Piece]:
        """All rows, batch by batch."""
        with readable(self._path):
            for batch in self._file.iter_batches(batch_size=ROWS, use_threads=False):
                yield _Batch(pa.Table.from_batches([batch]))

    @contextmanager
    def writer(self, path: Path, codec: str | None, roles: Sequence[Role]) -> Iterator[Write]:
        """A file with the same compression, a row group for each piece."""
        words = [pl.Series([], dtype=pl.String) for _ in roles]
        none = frames.replaced_all(self._schema.empty_table(), roles, words)
        with pq.ParquetWriter(str(path), none.schema, compression=self._codec()) as writer:
            yield lambda table: writer.write_table(table.cast(none.schema))

    def _codec(self) -> str:
        footer = self._file.metadata
        if not (footer.num_row_groups and footer.num_columns):
            return "snappy"
        name = footer.row_group(0).column(0).compression.lower()
        return "none" if name == "uncompressed" else str(name)


class _Batch:
    """Rows of a Parquet file."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def columns(self, wanted: Mapping[str, str]) -> pl.DataFrame:
        return frames.raw(self._table, wanted)

    def tokens(self, names: Sequence[str]) -> dict[str, pl.Series]:
        return frames.texts(self._table, names)

    def replaced(self, roles: Sequence[Role], words: Sequence[pl.Series], kept: Kept) -> pa.Table:
        rows = None if kept is None else np.flatnonzero(kept)
        words = words if rows is None else [own.gather(rows) for own in words]
        return frames.replaced_all(self._table, roles, words, rows)
