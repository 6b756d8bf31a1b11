"""What a task of Spark does: Arrow batches to `Memory`, the steps asked for, one partial total for the task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.memory import Memory
from discreet.query import BoundedSum, Exact, Together, Total


@dataclass(frozen=True)
class MethodCall:
    """A method of `Memory` to call, with what it takes; of several rows that it gives, the one at `item`."""

    name: str
    arguments: tuple[Any, ...] = ()
    item: int | None = None

    def __call__(self, rows: Memory) -> Memory:
        """The rows after this step."""
        made: Any = getattr(rows, self.name)(*self.arguments)
        one: Memory = made if self.item is None else next(islice(made, self.item, None))
        return one


@dataclass(frozen=True)
class Sum:
    """The total of a query."""

    query: BoundedSum | Together
    shape: tuple[int, ...]

    def compute_partial(self, pieces: Iterator[Memory]) -> bytes | None:
        """The total of a task's rows in bytes: for each entry, what is above its lowest 32 bits, and these."""
        total, some = Total(), False
        for rows in pieces:
            total.add(rows.sum(self.query))
            some = True
        if not some:
            return None
        whole = total.value()
        return np.array([whole >> 32, whole & 0xFFFFFFFF]).astype("<i8").tobytes()

    def combine_partials(self, partials: Iterable[bytes]) -> Exact:
        """The total of all tasks: int64 where it fits, Python integers where not."""
        high, low = np.zeros((2, *self.shape), np.int64)
        for part in partials:
            words = np.frombuffer(part, "<i8").reshape(2, *self.shape)
            high, low = high + words[0], low + words[1]
        if np.abs(high).max(initial=0) < 1 << 30:
            return np.asarray(high * (1 << 32) + low)
        return np.asarray(high.astype(object) * (1 << 32) + low.astype(object), dtype=object)


@dataclass(frozen=True)
class Count:
    """The number of rows."""

    def compute_partial(self, pieces: Iterator[Memory]) -> bytes:
        """That of a task."""
        return str(sum(rows.count_replace_one() for rows in pieces)).encode()

    def combine_partials(self, partials: Iterable[bytes]) -> int:
        """That of all tasks."""
        return sum(map(int, partials))


@dataclass(frozen=True)
class Tally:
    """How many rows hold each label."""

    def compute_partial(self, pieces: Iterator[Memory]) -> bytes:
        """Those of a task."""
        counts: Counter[Any] = Counter()
        for rows in pieces:
            counts.update(rows.count_labels())
        return json.dumps(list(counts.items())).encode()

    def combine_partials(self, partials: Iterable[bytes]) -> dict[Any, int]:
        """Those of all tasks."""
        counts: Counter[Any] = Counter()
        for part in partials:
            counts.update(dict(json.loads(part)))
        return dict(counts)


Ask = Sum | Count | Tally


@dataclass(frozen=True)
class PartitionTask:
    """What to do with the batches of a partition: columns of features, then target, unit and place if there are any.

    Parameters
    ----------
    width : how many features.
    target, unit : whether there are such columns.
    labels : keep targets as they are.
    steps : what is asked of the rows first.
    ask : what of them is wanted.
    numeric : whether features are numbers; else they are kept as they are.
    """

    width: int
    target: bool
    labels: bool
    unit: bool
    steps: tuple[MethodCall, ...]
    ask: Ask
    numeric: bool = True

    def __call__(self, batches: Iterator[Any]) -> bytes | None:
        """The partial answer. A failure is told by its type alone: what it says might hold values."""
        try:
            return self.ask.compute_partial(map(self._apply_steps, self._read_pieces(batches)))
        except Exception as error:
            kind = type(error).__name__
        raise RuntimeError(f"discreet task {kind}")

    def make_empty_rows(self, text: bool) -> Memory:
        """Rows of this schema after the steps, without any."""
        y = np.empty(0, object if text else np.float64) if self.target else None
        unit = np.empty(0, np.int64) if self.unit else None
        return self._apply_steps(
            Memory(self._allocate_table(0).T, y, numeric=self.numeric, labels=self.labels, unit=unit)
        )

    def _allocate_table(self, rows: int) -> NDArray[Any]:
        return np.empty((self.width, rows), np.float64 if self.numeric else object)  # column after column

    def _apply_steps(self, rows: Memory) -> Memory:
        for step in self.steps:
            rows = step(rows)
        return rows

    def _read_pieces(self, batches: Iterator[Any]) -> Iterator[Memory]:
        """Each batch by itself; with units all of the partition at once, so that each unit is whole."""
        if not self.unit:
            yield from map(self._read_piece, batches)
            return
        import pyarrow

        held = list(batches)
        if held:
            yield self._read_piece(pyarrow.Table.from_batches(held))

    def _read_piece(self, batch: Any) -> Memory:
        X = self._allocate_table(batch.num_rows)
        for i, row in enumerate(X):
            row[:] = _to_numpy(batch.column(i))
        rest = map(_to_numpy, batch.columns[self.width :])
        y = next(rest) if self.target else None
        unit = next(rest) if self.unit else None
        start = _find_start(next(rest, None))
        return Memory(X.T, y, numeric=self.numeric, labels=self.labels, unit=unit, start=start)


def _to_numpy(column: Any) -> NDArray[Any]:
    """A column as NumPy has it; missing numbers as NaN, other missing values as None, never as another type."""
    if column.null_count and str(column.type).startswith(("int", "uint")):
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False))


def _find_start(places: NDArray[np.int64] | None) -> int:
    if places is None or not len(places):
        return 0
    if places[-1] - places[0] != len(places) - 1:
        raise ValueError("Rows of a batch must lie next to each other.")  # else two rows might share a coin
    return int(places[0])


def make_worker(task: bytes, version: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What is sent to the workers: it unpacks the task there, if the package is there, in this version.

    A function within a function travels as code, so that it runs where the package is missing, and says so.
    """

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pickle import loads

        import pyarrow

        problem = total = None
        try:
            import discreet

            if discreet.__version__ == version:
                run = loads(task)
            else:
                problem = f"version {discreet.__version__}"
        except ModuleNotFoundError as missing:
            problem = f"module {missing.name}"
        if problem is None:
            total = run(batches)
        columns = [pyarrow.array([problem], pyarrow.string()), pyarrow.array([total], pyarrow.binary())]
        yield pyarrow.RecordBatch.from_arrays(columns, ["problem", "total"])

    return work
