"""Where streams come from: Parquet and CSV files, lazy polars frames, Arrow tables and datasets, DuckDB relations."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.engines.arrow import classify_type
from discreet.engines.content import Content
from discreet.engines.stream.files import Paths, Stamp
from discreet.engines.stream.source import Piece, Source, make_piece
from discreet.engines.stream.stream import Stream
from discreet.errors import EngineError, NotSupported
from discreet.progress import Progress

CHUNK = 1 << 17  # rows at a time, where a library gives as many as it is asked for


def scan_parquet(
    paths: Paths,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    unit: str | None = None,
    *,
    progress: Progress = None,
) -> Stream:
    """Rows of Parquet files, as many as you like, for every estimator and statistic.

    Only the columns that are needed are read, row groups in parallel, and again for every sum. Results are those of the
    same rows in memory, in the order of the files' names.

    Parameters
    ----------
    paths : a path, a pattern ("claims/*.parquet"), a folder, or a list of them.
    target : the column to learn, if any.
    columns : the features; all other columns if None. They must be numbers or booleans.
    unit : the column that says which unit a row belongs to, if a unit has several rows.
    progress : whether to show a bar; None for one where a terminal waits longer than two seconds. Or a function of the
        share of a reading that is done, in hundredths; less than before, it is of another reading.

    | what | raises |
    | --- | --- |
    | no such file; a column whose type changes; a damaged row group; a file that changed | `EngineError` |
    | no such column | `ValueError` |
    | features that are not numbers | `TypeError`, when they are used |
    """
    from discreet.engines.stream.parquet import Parquet

    return Stream(Parquet(paths), target, columns, unit, progress)


def scan_csv(
    paths: Paths,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    unit: str | None = None,
    *,
    types: Mapping[str, str] | None = None,
    progress: Progress = None,
) -> Stream:
    """Rows of CSV files with a header, compressed or not (.gz, .zst, .bz2, .lz4); otherwise as `scan_parquet`.

    A column's type is told from the first four megabytes of each file: a strange cell there makes a column of numbers
    one of text, and shows as an error. Name the types of columns that you know, or use Parquet, which has types. Where
    those of all columns are named, no row is read to find them out. Text is parsed again for every sum, so that Parquet
    is many times faster for methods that read more than once.

    Parameters
    ----------
    types : "number", "text" or "truth" for each column whose type is known, such as {"age": "number", "patient":
        "text"}.

    | cell | what it is |
    | --- | --- |
    | of a column of numbers: anything else, such as "NA" or "12 kg" | missing: the row counts for nothing |
    | of a column of text: "NA", "null", "nan" | that text |
    | of any column: nothing at all | missing |
    """
    from discreet.engines.stream.csv import Csv

    return Stream(Csv(paths, types), target, columns, unit, progress)


def open_stream(X: Any, target: str | None = None, *, progress: Progress = None) -> Stream | None:
    """A stream of a lazy polars frame, an Arrow table or dataset, or a DuckDB relation; None for anything else.

    Parameters
    ----------
    target : the name of the column to learn, if any.
    """
    source = _find_source(X)
    if source is None:
        return None
    if target is not None and not isinstance(target, str):
        raise TypeError(f"The target of {source.name} is one of its columns: give its name as y.")
    return Stream(source, target, progress=progress)


def _find_source(X: Any) -> Source | None:
    family, name = type(X).__module__.split(".")[0].lstrip("_"), type(X).__name__
    if family == "polars" and name == "LazyFrame":
        return _open_lazy_frame(X)
    if family == "duckdb" and name == "DuckDBPyRelation":
        return _open_relation(X)
    if family == "pyarrow":
        if isinstance(X, (pa.Table, pa.RecordBatch)):
            return ArrowTable(X if isinstance(X, pa.Table) else pa.Table.from_batches([X]))
        if hasattr(X, "to_batches") and hasattr(X, "get_fragments"):
            return _open_dataset(X)
        if isinstance(X, pa.RecordBatchReader):
            raise TypeError("A record batch reader can be read once only. Hint: give the dataset or the table.")
    return None


class ArrowTable:
    """An Arrow table in memory: read as it lies, on all cores."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.name, self.schema = table, "an Arrow table", table.schema
        self.count: int | None = table.num_rows
        self.blocks: float | None = None

    def iter_pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """Its batches, some to a piece."""
        some = self._table.select([*numbers, *labels])
        for place in range(0, some.num_rows, CHUNK):
            yield _Slice(some.slice(place, CHUNK), place)

    def check(self) -> None:
        """Arrow tables do not change."""

    def read_version(self) -> str:
        """A digest of all that the table holds, whatever its chunks, for a retrying ledger: never shown."""
        content = Content(self.schema.remove_metadata().to_string(), self._table.num_rows)
        for place in range(0, self._table.num_rows, CHUNK):
            for column in self._table.slice(place, CHUNK).columns:
                content.add(_read_values(column))
        return content.digest()


def _read_values(column: pa.ChunkedArray) -> Any:
    """The values of a column, nulls of numbers as NaN; the bytes of what is no number: not all have Python objects."""
    if classify_type(column.type) == "number":
        return column.cast(pa.float64(), safe=False).to_numpy()
    sink, table = pa.BufferOutputStream(), pa.table({"": column}).combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


class _Slice:
    def __init__(self, table: pa.Table, place: int) -> None:
        self._table, self._place = table, place

    def __call__(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        place = self._place
        for batch in self._table.to_batches():
            yield place, batch
            place += batch.num_rows


class Query:
    """What a library reads by itself, one batch after the other, while other cores add up.

    Parameters
    ----------
    name : for messages.
    schema : the columns.
    batches : of some columns, those in order, anew with each call.
    plan : a text that is another one when the query is, or what lies behind it; None if that cannot be told.
    """

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        batches: Callable[[list[str]], Iterator[pa.RecordBatch]],
        plan: Callable[[], str | None],
    ) -> None:
        self.name, self.schema, self._batches, self._plan = name, schema, batches, plan
        self.count: int | None = None
        self.blocks: float | None = None

    def iter_pieces(self, numbers: Sequence[str], labels: Sequence[str], rows: int) -> Iterator[Piece]:
        """The batches, each a piece."""
        place = 0
        batches = self._batches([*numbers, *labels])
        while (batch := self._read_next(batches)) is not None:
            yield make_piece(place, batch)
            place += batch.num_rows

    def _read_next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        try:
            return next(batches, None)
        except Exception as error:  # whatever a library raises: its message may show a value
            raise EngineError(
                f"{self.name} cannot be read ({type(error).__name__}). Hint: run the query by itself to see why."
            ) from None

    def check(self) -> None:
        """Nothing is known of what lies behind a query."""

    def read_version(self) -> str:
        """A digest of the query, the files behind it and the schema; raises where there are no files to tell by."""
        plan = self._plan()
        if plan is None:
            raise NotSupported(
                f"A retrying ledger cannot tell whether {self.name} gives the same rows as before. Hint: collect them "
                "into a table or a frame, or write them to Parquet files and scan these."
            )
        return _digest_text(plan + "\0" + self.schema.remove_metadata().to_string())


def _open_lazy_frame(frame: Any) -> Query:
    import polars

    schema = polars.DataFrame(schema=frame.collect_schema()).to_arrow().schema

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        for some in _collect_frames(frame.select(columns)):
            yield from some.to_arrow().to_batches()

    return Query("a lazy polars frame", schema, batches, lambda: _describe_scans(frame))


def _describe_scans(frame: Any) -> str | None:
    """The plan, with sizes and times of the files that it scans; None if it reads anything else, or does not say."""
    plan = frame.explain()
    leaves = re.findall(r"^\s*(DF \[|OPAQUE_PYTHON|.*\bSCAN\b.*)", plan, re.MULTILINE)
    scans = [re.fullmatch(r"(?:Parquet|Csv|NDJSON|IPC) SCAN \[(.*)\]", leaf, re.IGNORECASE) for leaf in leaves]
    names = [name for scan in scans if scan is not None for name in scan[1].split(", ")]
    if not names or None in scans or not all(os.path.isfile(name) for name in names):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the form is of this version of polars alone: with another, a run pays again
        whole = frame.serialize().hex()  # the text leaves out values where there are many
    return "\0".join([whole, *(repr(Stamp.of_file(name)) for name in names)])


def _collect_frames(frame: Any) -> Iterator[Any]:
    if hasattr(frame, "collect_batches"):
        yield from frame.collect_batches(chunk_size=CHUNK, maintain_order=True)
        return
    start, some = 0, None  # polars before 1.34
    while some is None or some.height == 8 * CHUNK:
        some = frame.slice(start, 8 * CHUNK).collect()
        start += 8 * CHUNK
        yield some


def _open_dataset(dataset: Any) -> Query:
    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(columns=columns, batch_size=CHUNK, batch_readahead=4, fragment_readahead=2)

    return Query("an Arrow dataset", dataset.schema, batches, lambda: _describe_files(dataset))


def _describe_files(dataset: Any) -> str | None:
    """The files of a dataset with their sizes and times, and what is kept of them; None if they do not tell."""
    if not hasattr(dataset, "files") or not hasattr(dataset, "_scan_options"):
        return None
    files = [(file.path, file.size, file.mtime_ns) for file in dataset.filesystem.get_file_info(dataset.files)]
    known = all(time is not None for *_, time in files)
    kept = pickle.dumps(dataset._scan_options)  # its text leaves out values where there are many
    return repr((files, kept)) if known else None


def _open_relation(relation: Any) -> Query:
    def project_columns(columns: list[str]) -> Any:
        return relation.project(", ".join('"' + name.replace('"', '""') + '"' for name in columns))

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        some = project_columns(columns)
        yield from (some.to_arrow_reader if hasattr(some, "to_arrow_reader") else some.fetch_record_batch)(CHUNK)

    schema = relation.limit(0).arrow().schema
    return Query("a DuckDB relation", schema, batches, lambda: None)  # a database does not say when it was changed


def _digest_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
