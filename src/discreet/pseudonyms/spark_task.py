"""What Spark's workers do: name the rows of a partition, or tell what is in it.

A task travels with the path of the worker file, never with keys. A failure is told by its type alone: what it says
might hold values, and Spark writes it into logs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.pseudonyms import frames
from discreet.pseudonyms.naming import Naming, Policy
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
    shuffle : add a column of random bytes to sort by.
    """

    path: str
    identifiers: tuple[tuple[int, str, str], ...]
    column: str
    policy: Policy
    irreversible: bool = False
    shuffle: bool = False

    def naming(self, policy: Policy) -> Naming:
        """Made from the worker file."""
        worker = Worker.read(self.path)
        columns = {field: name for _, name, field in self.identifiers}
        return Naming(worker.schema, columns, worker.resolve, worker.keys, policy, self.irreversible)

    def named(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows with pseudonyms."""
        naming = self.naming(self.policy)
        for batch in batches:
            words, kept = naming(self._raw(batch))
            rows = None if kept is None else np.flatnonzero(kept)
            words = words if rows is None else words.gather(rows)
            whole = pa.Table.from_batches([batch.rename_columns([str(i) for i in range(batch.num_columns)])])
            table = frames.replaced(whole, [str(i) for i, _, _ in self.identifiers], self.column, words, rows)
            if self.shuffle:
                table = table.append_column(ORDER, _random(table.num_rows))
            yield from table.combine_chunks().to_batches()

    def told(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What is in the rows: totals as JSON, then a reversible pseudonym for each person, in chunks of text."""
        missing, unparsable = (self.policy.missing, self.policy.unparsable)
        worker = Worker.read(self.path)
        naming = self.naming(
            Policy(missing.replace("refuse", "skip"), unparsable.replace("refuse", "skip"), self.policy.suppressed)
        )
        for batch in batches:
            naming(self._raw(batch))
        yield _answer(json.dumps(asdict(naming.totals)), None)
        words = seal(naming.ids, worker.keys)
        for start in range(0, len(words), CHUNK):
            yield _answer(None, "".join(words[start : start + CHUNK]).encode())

    def _raw(self, batch: pa.RecordBatch) -> pl.DataFrame:
        columns = {field: batch.column(place) for place, _, field in self.identifiers}
        return frames.raw(pa.table(columns), {field: field for field in columns})


def _answer(totals: str | None, words: bytes | None) -> pa.RecordBatch:
    columns = [pa.array([totals], pa.string()), pa.array([words], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["totals", "words"])


def _random(rows: int) -> pa.Array:
    """16 random bytes for each row."""
    return pa.array(np.frombuffer(os.urandom(16 * rows), "V16").tolist(), pa.binary())


def sent(task: Task, method: str, version: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What is sent to the workers: a function within a function travels as code, and runs where the package is missing.

    Parameters
    ----------
    task : what to do; no secret is in it.
    method : "named" or "told".
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
