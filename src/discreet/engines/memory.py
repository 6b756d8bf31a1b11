"""Rows in memory: NumPy arrays, lists, pandas and polars frames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from discreet.engines import Coins
from discreet.engines.tables import CELLS, Array, Mapped, chosen, column, label_column, table
from discreet.labels import canonical, codes_of
from discreet.query import ROWS, Batch, BoundedSum, Exact, Image, Together, Total

KEPT = 1 << 27  # of features held in memory: more are made again whenever they are read


def is_rows(X: Any) -> bool:
    """Whether X is rows behind an engine."""
    return all(hasattr(type(X), name) for name in ("sum", "empty", "count_replace_one"))


def as_rows(X: Any, y: Any = None, *, numeric: bool = True, labels: bool = False) -> Any:
    """X as it is if it is rows behind an engine already, else rows in memory; with `labels`, y may be of any type."""
    if is_rows(X):
        if y is not None:
            raise ValueError("Rows behind an engine bring their own target: leave y out.")
        return X
    return Memory(X, y, numeric=numeric, labels=labels)


class Memory:
    """Rows in memory, read block by block: never copied as a whole, never changed.

    Parameters
    ----------
    X : one row per unit: a 2-D array, a list of lists, a pandas or polars frame, a sparse matrix.
    y : one number per row, or None.
    numeric : False keeps the values of X as they are (labels, say) instead of asking for numbers.
    labels : True keeps those of y; `coded` makes numbers of them.
    block : how many rows to read at a time; what fits a core's cache, if None. The result is the same to the bit.
    """

    _kept: dict[tuple[int, int], Batch] | None = None

    def __init__(
        self, X: Any, y: Any = None, *, numeric: bool = True, labels: bool = False, block: int | None = None
    ) -> None:
        self._block = block
        self._table = table(X, numeric)
        self._y = None if y is None else label_column(y, "y") if labels else column(y, "y")
        self.columns, self.width = self._table.columns, self._table.width
        if self._y is not None and len(self._y) != len(self._table):
            raise ValueError(
                "X and y have different numbers of rows: Found input variables with inconsistent numbers of samples."
            )

    def empty(self) -> Batch:
        """A batch without rows."""
        return self._batch(0, 0)

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total over all rows, in units of the query's grid."""
        np.empty(
            31 << 17
        )  # freed at once: C libraries then keep memory of this size for arrays to come, which is faster
        starts = range(0, max(1, len(self._table)), self._size)

        def work(some: range) -> Total:
            total = Total()
            for start in some:
                total.add(query(self._batch(start, start + self._size)))
            return total

        # exact sums do not care for the order: each core takes every k-th block
        cores = min(_cores(), len(starts) // 4)
        if cores < 2:
            return work(starts).value()
        total = Total()
        with _one_thread_each(), ThreadPoolExecutor(cores) as pool:
            for part in pool.map(work, [starts[i::cores] for i in range(cores)]):
                total.merge(part)
        return total.value()

    @property
    def _size(self) -> int:
        return min(ROWS, self._block or max(256, CELLS // max(1, self.width) // 128 * 128))

    def whole(self) -> NDArray[Any]:
        """All rows as one array, for those who hold them."""
        return self._table.block(0, len(self._table))

    def targets(self) -> NDArray[Any]:
        """All targets as one array, for those who hold them."""
        if self._y is None:
            raise ValueError("These rows bring no target.")
        return self._y

    def coded(self, classes: Sequence[Any]) -> Memory:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""
        codes = codes_of(self.targets(), classes).astype(np.float64)
        some = self._take(slice(None))
        some._y = np.where(codes < 0, np.nan, codes)
        return some

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Memory:
        """Rows whose features are `image(batch)`, made block by block as they are read; targets are kept.

        Parameters
        ----------
        image : of a batch without targets: one vector per row, a function of that row alone, bit for bit.
        columns : names of what comes out.
        """
        some = self._take(slice(None))
        some._table = Mapped(self._table, image, None if columns is None else tuple(columns))
        some.columns, some.width = some._table.columns, some._table.width
        some._block = min(self._size, some._size)
        return some

    def held(self, dtype: Any = np.float64) -> Memory:
        """The same rows, their features made now and held as `dtype`, which must hold them exactly; unless too many."""
        some, rows = self._take(slice(None)), len(self._table)
        if rows * self.width <= KEPT:
            values = np.empty((rows, self.width), dtype)
            for start in range(0, rows, self._size):
                values[start : start + self._size] = self._table.block(start, min(start + self._size, rows))
            some._table = Array(values, self.columns)
        return some

    def tally(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones, and what cannot be a label, are left out."""
        targets = self.targets()
        labels = targets.tolist() if targets.dtype != object else [canonical(value) for value in targets]
        counts = Counter(0.0 if label == 0 and isinstance(label, float) else label for label in labels)  # -0.0 is 0.0
        return {label: count for label, count in counts.items() if label is not None and label == label}

    def sample(self, rate: float, coins: Coins) -> Memory:
        """A Poisson sample of the rows."""
        return self._take(_heads(len(self._table), rate, coins) if rate < 1 else slice(None))

    def blocks(self, count: int, coins: Coins) -> Iterator[Memory]:
        """The rows in `count` disjoint blocks: each row is in one of them, drawn for it alone."""
        block = coins.u64(len(self._table)) % np.uint64(count)
        return (self._take(block == np.uint64(i)) for i in range(count))

    def _take(self, heads: Any) -> Memory:
        some = Memory.__new__(Memory)
        some._block, some.columns, some.width = self._block, self.columns, self.width
        some._table = self._table.take(heads)
        some._y = None if self._y is None else chosen(self._y, heads)
        return some

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
        return len(self._table)

    def keep(self) -> Memory:
        """The same rows, with what queries make of each block kept, if there are not too many of them."""
        some = self._take(slice(None))
        some._kept = {} if 8 * len(self._table) * self.width <= KEPT else None
        return some

    def _batch(self, start: int, stop: int) -> Batch:
        if self._kept is None:
            return self._read(start, stop)
        if (start, stop) not in self._kept:
            self._kept[start, stop] = self._read(start, stop)
        return self._kept[start, stop]

    def _read(self, start: int, stop: int) -> Batch:
        return Batch(self._table.block(start, stop), None if self._y is None else self._y[start:stop])

    def __repr__(self) -> str:
        return f"<Memory: {self.width} columns>"  # the number of rows is private

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are not pickled or copied: they stay where they are.")


def _heads(count: int, rate: float, coins: Coins) -> NDArray[np.bool_]:
    """So many coins that show heads with probability ⌊2^64·rate⌋/2^64: 16 bits decide nearly all, 48 more the rest."""
    top = int(rate * 2.0**64)
    bits = np.asarray(coins.u64(-(-count // 4)), "<u8").view("<u2")[:count]
    heads: NDArray[np.bool_] = bits < np.uint16(top >> 48)
    ties = np.flatnonzero(bits == np.uint16(top >> 48))
    heads[ties] = coins.u64(len(ties)) >> np.uint64(16) < np.uint64(top & ((1 << 48) - 1))
    return heads


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread_each() -> Any:
    """Matrix products of one thread each while cores share out the blocks: threads of threads wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
