"""What Spark's workers do: name the rows of a partition, or tell what is in it.

A task travels with the path of the worker file, never with keys. A failure is told by its type alone: what it says
might hold values, and Spark writes it into logs.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.pseudonyms import frames
from discreet.pseudonyms.blocks import encrypted
from discreet.pseudonyms.distinct import distinct
from discreet.pseudonyms.hashing import tags
from discreet.pseudonyms.naming import Bytes, Fresh, Naming, Numbers, Policy, random_ids
from discreet.pseudonyms.tokens import seal
from discreet.pseudonyms.workers import Worker

CHUNK = 1 << 20  # pseudonyms in one cell of an answer: Spark's cells hold less than 2 GiB
ORDER = "_discreet_order"


@dataclass(frozen=True)
class Task:
    """How to name rows on a worker.

    Parameters
    ----------
    path : of the worker file.
    identifiers : the places of the columns, their names and their fields.
    column : the name of the column of pseudonyms.
    policy : what becomes of rows that are of nobody.
    irreversible : make one-way tokens.
    shuffle : add a column to sort by, in an order that tells nothing.
    seed : random, and no secret: with the keys of the worker file it gives the run's one-off pseudonyms and its order.
    quasi : the places of the columns that others may know.
    """

    path: str
    identifiers: tuple[tuple[int, str, str], ...]
    column: str
    policy: Policy
    irreversible: bool = False
    shuffle: bool = False
    seed: str = ""
    quasi: tuple[int, ...] = ()

    def naming(self, worker: Worker, policy: Policy, fresh: Fresh = random_ids) -> Naming:
        """Made from the worker file."""
        columns = {field: name for _, name, field in self.identifiers}
        return Naming(worker.schema, columns, worker.resolve, worker.keys, policy, self.irreversible, fresh)

    def named(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows with pseudonyms: the same each time that a partition is computed."""
        worker = Worker.read(self.path)
        places = _Places(worker, self.seed, _partition())
        naming = self.naming(worker, self.policy, places.ids)
        for batch in batches:
            found = naming(self._raw(batch))
            rows = None if found.kept is None else np.flatnonzero(found.kept)
            words = found.words if rows is None else found.words.gather(rows)
            whole = pa.Table.from_batches([batch.rename_columns([str(i) for i in range(batch.num_columns)])])
            table = frames.replaced(whole, [str(i) for i, _, _ in self.identifiers], self.column, words, rows)
            if self.shuffle:
                table = table.append_column(ORDER, places.order(np.arange(batch.num_rows) if rows is None else rows))
            places.passed += batch.num_rows
            yield from table.combine_chunks().to_batches()

    def told(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What is in the rows: totals as JSON, then a reversible pseudonym for each person, in chunks of text."""
        missing, unparsable = (self.policy.missing, self.policy.unparsable)
        worker = Worker.read(self.path)
        naming = self.naming(
            worker,
            Policy(missing.replace("refuse", "skip"), unparsable.replace("refuse", "skip"), self.policy.suppressed),
        )
        for batch in batches:
            naming(self._raw(batch))
        yield _answer(json.dumps(asdict(naming.totals)), None)
        words = seal(naming.ids, worker.keys)
        for start in range(0, len(words), CHUNK):
            yield _answer(None, "".join(words[start : start + CHUNK]).encode())

    def looks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Who rows are of and what their quasi-identifiers say, as keyed hashes, each pair once in a batch.

        Rows with a pseudonym of their own are of nobody: `own`, and no hash.
        """
        worker = Worker.read(self.path)
        naming = self.naming(worker, self.policy)
        who, what = (hmac.digest(worker.hash, f"{use} {self.seed}".encode(), "sha256") for use in ("who", "what"))
        for batch in batches:
            found = naming(self._raw(batch))
            own = np.zeros(batch.num_rows, bool) if found.own is None else found.own
            pairs = pl.DataFrame({"who": found.words, "what": self._said(batch), "own": own})
            pairs = pairs if found.kept is None else pairs.filter(pl.Series(found.kept))
            pairs = pairs.with_columns(who=pl.when("own").then(pl.lit("")).otherwise("who")).unique()
            columns = [_hashed(pairs["who"], who), _hashed(pairs["what"], what), pairs["own"].to_arrow()]
            yield pa.RecordBatch.from_arrays(columns, ["who", "what", "own"])

    def _said(self, batch: pa.RecordBatch) -> pl.Series:
        """The quasi-identifiers of each row as one text; what is equal is written the same."""
        if not self.quasi:
            return pl.repeat("", batch.num_rows, eager=True)
        columns = pa.table({str(place): batch.column(place) for place in self.quasi})
        rows, codes = distinct(frames.compared(columns, columns.column_names))
        return pl.Series([repr(row) for row in rows.rows()], dtype=pl.String).gather(codes)

    def _raw(self, batch: pa.RecordBatch) -> pl.DataFrame:
        columns = {field: batch.column(place) for place, _, field in self.identifiers}
        return frames.raw(pa.table(columns), {field: field for field in columns})


def _hashed(texts: pl.Series, key: bytes) -> pa.Array:
    """Keyed hashes of 16 bytes, each computed once."""
    some = texts.unique()
    hashes = pl.Series([one.tobytes() for one in tags(some.cast(pl.Binary), key)], dtype=pl.Binary)
    return texts.replace_strict(some, hashes, return_dtype=pl.Binary).to_arrow().cast(pa.binary())


def _answer(totals: str | None, words: bytes | None) -> pa.RecordBatch:
    columns = [pa.array([totals], pa.string()), pa.array([words], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["totals", "words"])


class _Places:
    """Sixteen bytes for each row, from its partition and its place there: AES-256 under keys of the run.

    Spark computes a partition again when a worker is lost, or when a frame is used twice. Bytes from the operating
    system would then differ: a sort by them could lose rows or double them, and rows would change their pseudonyms.
    """

    def __init__(self, worker: Worker, seed: str, partition: int) -> None:
        self._keys = {use: hmac.digest(worker.hash, f"{use} {seed}".encode(), "sha256") for use in ("one-off", "order")}
        self._partition, self.passed = partition, 0

    def _blocks(self, rows: Numbers, use: str) -> Bytes:
        blocks = np.empty((len(rows), 2), ">u8")
        blocks[:, 0], blocks[:, 1] = self._partition, rows + self.passed
        return encrypted(blocks.view(np.uint8), self._keys[use])

    def ids(self, rows: Numbers) -> Bytes:
        """Ids of rows that get a pseudonym of their own, by their places in the batch."""
        return self._blocks(rows, "one-off")

    def order(self, rows: Numbers) -> pa.Array:
        """What to sort rows by."""
        return pa.array(self._blocks(rows, "order").view("V16").ravel().tolist(), pa.binary())


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def sent(task: Task, method: str, version: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What is sent to the workers: a function within a function travels as code, and runs where the package is missing.

    Parameters
    ----------
    task : what to do; no secret is in it.
    method : "named", "told" or "looks".
    version : of the package on the driver.
    """
    arguments = {one.name: getattr(task, one.name) for one in fields(task)}
    arguments["policy"] = (task.policy.missing, task.policy.unparsable, task.policy.suppressed)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            import discreet

            if discreet.__version__ != version:
                raise ImportError
            from discreet.pseudonyms import naming, spark_task

            policy = naming.Policy(*arguments["policy"])
            yield from getattr(spark_task.Task(**{**arguments, "policy": policy}), method)(batches)
            return
        except Exception as error:
            kind = type(error).__name__
        raise RuntimeError(f"discreet task {kind}")

    return work
