"""Rows in memory: NumPy arrays, lists, pandas and polars frames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from discreet.engines import BaseRows, Coins
from discreet.engines.content import Content
from discreet.engines.tables import (
    CELLS,
    ArrayTable,
    MappedTable,
    Table,
    read_column,
    read_label_column,
    split_column,
    take_rows,
    wrap_table,
)
from discreet.engines.units import Units, clip_unit_sums, mark_rows, select_first_rows
from discreet.errors import NotSupported
from discreet.labels import canonical, codes_of, made_of
from discreet.query import ROWS, Batch, BoundedSum, Exact, Image, Together, Total

T = TypeVar("T")

MAX_HELD_CELLS = 1 << 27  # of features held in memory: more are made again whenever they are read


class Memory(BaseRows):
    """Rows in memory, read block by block: never copied as a whole, never changed.

    Parameters
    ----------
    X : one row per unit: a 2-D array, a list of lists, a pandas or polars frame, a sparse matrix.
    y : one number per row, or None.
    numeric : False keeps the values of X as they are (labels, say) instead of asking for numbers.
    labels : True keeps those of y; `encode_targets` makes numbers of them.
    unit : the column of X, by its name, or the array that says which unit each row belongs to. (Once what is a unit's
        has been bounded it is None again: from there on rows are rows.)
    start : the place of the first row, where these rows are a piece of others: coins are looked up by places.
    block : how many rows to read at a time; what fits a core's cache, if None. The result is the same to the bit.
    """

    _cached_batches: dict[tuple[int, int], Batch] | None = None
    _units: Units | None = None
    _places: NDArray[np.intp] | None = None  # of the rows that are left, once some were dropped
    _total_places: int = 0
    _label_type: Callable[[Any], Any] | None = None  # what labels are made of, where their column says so

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        numeric: bool = True,
        labels: bool = False,
        unit: Any = None,
        start: int = 0,
        block: int | None = None,
    ) -> None:
        self._block, self._start, self.unit = block, start, unit
        X, unit = split_column(X, unit)
        self._table = wrap_table(X, numeric)
        self._y = None if y is None else read_label_column(y, "y") if labels else read_column(y, "y")
        self._label_type = made_of(y) if labels else None
        self.columns, self.width = self._table.columns, self._table.width
        if self._y is not None and len(self._y) != len(self._table):
            raise ValueError(
                "X and y have different numbers of rows: Found input variables with inconsistent numbers of samples."
            )
        if unit is not None:
            self._units = Units.from_column(unit)
            if len(self._units.codes) != len(self._table):
                raise ValueError("There must be a unit for each row, or None where it is missing.")
            self._drop_rows(self._units.codes >= 0)  # rows of no unit count for nothing

    @classmethod
    def from_table(cls, table: Table, y: NDArray[Any] | None = None, units: Units | None = None) -> Self:
        """Rows of a table that was read already, with their targets, and units whose bounds were settled."""
        some = cls(table.read_block(0, 0), numeric=False)
        some._table, some._y, some._units = table, y, units
        some.columns, some.width = table.columns, table.width
        return some

    def _drop_rows(self, kept: NDArray[np.bool_]) -> None:
        if not kept.all():
            self.__dict__.update(self._take_rows(kept).__dict__)
            self._places = None  # with units, coins go by names

    def make_empty_batch(self) -> Batch:
        """A batch without rows."""
        return self._get_batch(0, 0)

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total over all rows, in units of the query's grid."""
        np.empty(
            31 << 17
        )  # freed at once: C libraries then keep memory of this size for arrays to come, which is faster
        share = self._compute_shares(query)

        def work(some: range) -> Total:
            total = Total()
            for start in some:
                batch = self._get_batch(start, start + self._block_size)
                total.add(query(batch if share is None else batch.with_share(share[start : start + self._block_size])))
            return total

        first, *others = self._spread_work(work)
        for part in others:
            first.merge(part)
        return first.value()

    def _spread_work(self, work: Callable[[range], T]) -> list[T]:
        """Work on the starts of all blocks; sums do not care for the order, so each core takes every k-th block."""
        starts = range(0, max(1, len(self._table)), self._block_size)
        cores = min(count_cores(), len(starts) // 4)
        if cores < 2:
            return [work(starts)]
        with limit_blas_threads(), ThreadPoolExecutor(cores) as pool:
            return list(pool.map(work, [starts[i::cores] for i in range(cores)]))

    def _compute_shares(self, query: BoundedSum | Together) -> NDArray[np.float64] | None:
        """What each row counts for in a sum."""
        if self._units is None or not self._units.shared:
            return None
        if isinstance(query, Together) or not query.whole:
            return self._units.shares
        sizes = np.empty(len(self._table))

        def work(some: range) -> None:
            for start in some:
                sizes[start : start + self._block_size] = query.compute_row_norms(
                    self._get_batch(start, start + self._block_size)
                )

        self._spread_work(work)
        limit = query.choose_lattices(query.read_widths(self.make_empty_batch()))[0].limit
        return clip_unit_sums(self._units.codes, sizes, limit)

    @property
    def _block_size(self) -> int:
        # of kept rows much is made already: a block is little work, and there had better be fewer
        cells = CELLS if self._cached_batches is None else 2 * CELLS
        return min(ROWS, self._block or max(256, cells // max(1, self.width) // 128 * 128))

    def read_features(self) -> NDArray[Any]:
        """All rows as one array, for those who hold them."""
        return self._table.read_block(0, len(self._table))

    def count_arrays(self) -> int:
        """One of rows, and one of targets if there are any."""
        return 1 if self._y is None else 2

    def read_arrays(self) -> tuple[NDArray[Any], ...]:
        """All rows, and their targets, as arrays."""
        return (self.read_features(),) if self._y is None else (self.read_features(), self._y)

    def read_targets(self) -> NDArray[Any]:
        """All targets as one array, for those who hold them."""
        if self._y is None:
            raise ValueError("These rows bring no target.")
        return self._y

    def encode_targets(self, classes: Sequence[Any]) -> Memory:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""
        codes = codes_of(self.read_targets(), classes).astype(np.float64)
        some = self._take_rows(slice(None))
        some._y, some._label_type = np.where(codes < 0, np.nan, codes), None
        return some

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Memory:
        """Rows whose features are `image(batch)`, made block by block as they are read; targets are kept.

        Parameters
        ----------
        image : of a batch without targets: one vector per row, a function of that row alone, bit for bit.
        columns : names of what comes out.
        """
        some = self._take_rows(slice(None))
        some._table = MappedTable(self._table, image, None if columns is None else tuple(columns))
        some.columns, some.width = some._table.columns, some._table.width
        some._block = min(self._block_size, some._block_size)
        return some

    def hold_in_memory(self, dtype: Any = np.float64) -> Memory:
        """The same rows, their features made now and held as `dtype`, which must hold them exactly; unless too many."""
        some, rows = self._take_rows(slice(None)), len(self._table)
        if rows * self.width <= MAX_HELD_CELLS:
            values = np.empty((rows, self.width), dtype)
            for start in range(0, rows, self._block_size):
                values[start : start + self._block_size] = self._table.read_block(
                    start, min(start + self._block_size, rows)
                )
            some._table = ArrayTable(values, self.columns)
        return some

    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones, and what cannot be a label, are left out."""
        targets = self.read_targets()
        labels = targets.tolist() if targets.dtype != object else [canonical(value) for value in targets]
        counts = Counter(0.0 if label == 0 and isinstance(label, float) else label for label in labels)  # -0.0 is 0.0
        made = self._label_type or (lambda label: label)
        return {made(label): count for label, count in counts.items() if label is not None and label == label}

    def sample(self, rate: float, coins: Coins) -> Memory:
        """A Poisson sample of the units, or of the rows where there are none."""
        if rate >= 1:
            return self._take_rows(slice(None))
        if self._units is None:
            return self._take_rows(
                self._select_places(coins.look_up_heads(self._start, self._start + self._place_count, rate))
            )
        return self._take_rows(
            self._units.spread_to_rows(coins.look_up_unit_words(self._units.names) < np.uint64(int(rate * 2.0**64)))
        )

    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Memory]:
        """The rows in `count` disjoint blocks: each unit, or row, is in one of them, drawn for it alone."""
        if self._units is None:
            block = self._select_places(coins.look_up_words(self._start, self._start + self._place_count)) % np.uint64(
                count
            )
        else:
            block = self._units.spread_to_rows(coins.look_up_unit_words(self._units.names) % np.uint64(count))
        return (self._take_rows(block == np.uint64(i)) for i in range(count))

    @property
    def _place_count(self) -> int:
        """How many places there are."""
        return len(self._table) if self._places is None else self._total_places

    def _select_places(self, drawn: NDArray[Any]) -> NDArray[Any]:
        return drawn if self._places is None else drawn[self._places]

    def assign_units(self, unit: str) -> Memory:
        """The same rows, each belonging to the unit that this column names; the column is no feature then."""
        if self.columns is None or unit not in self.columns:
            raise ValueError(f"There is no column {unit!r} to say which unit a row belongs to.")
        some = self._take_rows(slice(None))
        some._table, values = self._table.split_column(unit)
        some.columns, some.width, some.unit = some._table.columns, some._table.width, unit
        some._units = Units.from_column(values)
        some._drop_rows(some._units.codes >= 0)
        return some

    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Memory:
        """At most `limit` rows of each unit, by a keyed hash of what they hold."""
        assert self._units is not None
        columns = [*self._table.read_block(0, len(self._table)).T, *([] if self._y is None else [self._y])]
        mark = mark_rows(columns, coins, self._units.spread_to_rows(coins.look_up_unit_words(self._units.names)))
        some = self._take_rows(select_first_rows(self._units.codes, mark, limit))
        assert some._units is not None
        some._units, some.unit = replace(some._units, shared=False), None
        return some

    def share_within_units(self) -> Memory:
        """Rows that share what their unit may add."""
        assert self._units is not None
        some = self._take_rows(slice(None))
        some._units, some.unit = replace(self._units, shared=True), None
        return some

    def _take_rows(self, rows: Any) -> Memory:
        rows = rows if isinstance(rows, slice) else np.flatnonzero(rows)
        some = Memory.__new__(Memory)
        some._block, some._start, some.columns, some.width = self._block, self._start, self.columns, self.width
        some.unit, some.adder, some._label_type = self.unit, self.adder, self._label_type
        some._places, some._total_places = self._places, self._total_places
        if not isinstance(rows, slice):  # a row keeps its place: what is drawn of a block is drawn by it
            some._places, some._total_places = rows if self._places is None else self._places[rows], self._place_count
        some._table = self._table.take(rows)
        some._y = None if self._y is None else take_rows(self._y, rows)
        some._units = None if self._units is None else self._units.take(rows)
        return some

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
        return len(self._table)

    def cache_images(self) -> Memory:
        """The same rows, with what queries make of each block kept, if there are not too many of them."""
        some = self._take_rows(slice(None))
        some._cached_batches = {} if 8 * len(self._table) * self.width <= MAX_HELD_CELLS else None
        return some

    def _get_batch(self, start: int, stop: int) -> Batch:
        if self._cached_batches is None:
            return self._read_batch(start, stop)
        if (start, stop) not in self._cached_batches:
            self._cached_batches[start, stop] = self._read_batch(start, stop)
        return self._cached_batches[start, stop]

    def _read_batch(self, start: int, stop: int) -> Batch:
        return Batch(self._table.read_block(start, stop), None if self._y is None else self._y[start:stop])

    def read_version(self) -> str:
        """A digest of all that these rows hold, features, target and units, for a retrying ledger: never shown."""
        if isinstance(self._table, MappedTable):
            raise NotSupported("Rows that were mapped are not retried. Hint: hand over the rows themselves.")
        kind = None if self._y is None else self._y.dtype.str
        content = Content(self.columns, self.width, len(self._table), self._table.read_block(0, 0).dtype.str, kind)
        for start in range(0, len(self._table), self._block_size):
            content.add(self._table.read_block(start, start + self._block_size))
        if self._y is not None:
            content.add(self._y)
        if self._units is not None:
            content.add(self._units.codes)
            content.add(self._units.names)
        return content.digest()


@cache
def _load_controller() -> ThreadpoolController:
    return ThreadpoolController()


def limit_blas_threads() -> Any:
    """Matrix products of one thread each while cores share out the blocks: threads of threads wait for each other."""
    return _load_controller().limit(limits=1, user_api="blas")


def count_cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    told = os.environ.get("OMP_NUM_THREADS", "")  # as a cluster tells its workers
    return min(cores, int(told)) if told.isdigit() and int(told) else cores
