"""Rows that are read piece by piece, whenever they are asked for: as many as you like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines import BaseRows, Coins, Rows
from discreet.engines.arrow import ReadBuffer, count_arrow_labels
from discreet.engines.memory import MAX_HELD_CELLS
from discreet.engines.stream.loading import load_stream
from discreet.engines.stream.pieces import index_units, read_pieces
from discreet.engines.stream.roles import Roles
from discreet.engines.stream.source import Batches, Source
from discreet.engines.stream.steps import (
    EncodeTargets,
    LimitRows,
    MapFeatures,
    SampleRows,
    SampleUnits,
    Step,
    StreamPart,
    read_target,
)
from discreet.engines.stream.unit_index import UnitIndex
from discreet.engines.tables import CELLS
from discreet.engines.units import round_factors_down
from discreet.errors import NotSupported
from discreet.progress import Progress
from discreet.query import ROWS, Batch, BoundedSum, Exact, Image, Together, Total

T = TypeVar("T")
Floats = NDArray[np.float64]
BLOCKS = 8  # in a batch: fewer rows at a time are slower to decode, more take more memory


class Stream(BaseRows):
    """The rows of a source, read anew for each sum, with what was asked of them done to each part as it is read.

    The same results as of rows in memory, to the bit, whatever the pieces, their order and the number of cores.

    Parameters
    ----------
    source : where rows come from; `discreet.engines.stream.sources` has Parquet, CSV, polars, Arrow and DuckDB.
    target : the column to learn.
    columns : the features; all but the target and the unit if None.
    unit : the column that says which unit a row belongs to.
    progress : whether to show how much of a reading is done; None for a bar where a terminal waits longer than two
        seconds; or a function of the share.
    """

    _limit: int | None = None
    _index: Callable[[], UnitIndex]

    def __init__(
        self,
        source: Source,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        unit: str | None = None,
        progress: Progress = None,
    ) -> None:
        self._source, self._progress, self._shared = source, progress, False
        self._roles = Roles.from_names(source, target, columns)
        self._steps: tuple[Step, ...] = ()
        self._set_columns(self._roles.features)
        if unit is not None:
            self.__dict__.update(self.assign_units(unit).__dict__)

    def _set_columns(self, columns: tuple[str, ...] | None, width: int | None = None) -> None:
        self.columns = columns
        self.width = len(columns) if width is None and columns is not None else width or 0
        self._widest = max(self.width, getattr(self, "_widest", 1))

    def expect_types(self, *, numeric: bool = True, labels: bool = False) -> Stream:
        """The same rows for a use of them: features of any type if not `numeric`, targets of any with `labels`."""
        some = self._copy_rows()
        if any(isinstance(step, MapFeatures) for step in self._steps):
            numeric = self._roles.numeric  # features are numbers by now, whatever they were made of
        some._roles = self._roles.expect_types(numeric, labels or self._has_codes)
        return some

    @property
    def _has_codes(self) -> bool:
        return any(isinstance(step, EncodeTargets) for step in self._steps)

    # what was asked, recorded

    def _copy_rows(self) -> Stream:
        some = Stream.__new__(Stream)
        some.__dict__.update(self.__dict__)
        return some

    def _add_step(self, step: Step) -> Stream:
        some = self._copy_rows()
        some._steps = (*self._steps, step)
        return some

    def encode_targets(self, classes: Sequence[Any]) -> Stream:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""
        if self._roles.target is None:
            raise ValueError("These rows bring no target.")
        return self._add_step(EncodeTargets(tuple(classes)))

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Stream:
        """Rows whose features are `image(batch)`, made as they are read; targets are kept."""
        some = self._add_step(MapFeatures(image, None if columns is None else tuple(columns)))
        some._set_columns(None if columns is None else tuple(columns), some.make_empty_batch().X.shape[1])
        return some

    def sample(self, rate: float, coins: Coins) -> Stream:
        """A Poisson sample of the units, or of the rows where there are none."""
        if rate >= 1:
            return self._copy_rows()
        if not self.has_units:
            return self._add_step(SampleRows(lambda start, stop: coins.look_up_heads(start, stop, rate)))
        top = np.uint64(int(rate * 2.0**64))
        return self._add_step(SampleUnits(lambda: self._look_up_units(coins) < top))

    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Stream]:
        """The rows in `count` disjoint blocks: each unit, or row, is in one of them, drawn for it alone."""
        words = cache(lambda: self._look_up_units(coins) % np.uint64(count))
        return (
            self._add_step(self._make_block_step(np.uint64(i), np.uint64(count), coins, words)) for i in range(count)
        )

    def _make_block_step(
        self, number: np.uint64, count: np.uint64, coins: Coins, words: Callable[[], NDArray[np.uint64]]
    ) -> Step:
        if not self.has_units:
            return SampleRows(lambda start, stop: coins.look_up_words(start, stop) % count == number)
        return SampleUnits(lambda: words() == number)

    def _look_up_units(self, coins: Coins) -> NDArray[np.uint64]:
        return coins.look_up_unit_words(self.unit_index.names)

    def assign_units(self, unit: str) -> Stream:
        """The same rows, each belonging to the unit that this column names; the column is no feature then."""
        if unit == self._roles.unit:
            return self
        if self.has_units or self._steps:
            raise ValueError("The unit of rows is told first, and once.")
        some = self._copy_rows()
        some._roles, some.unit = self._roles.assign_units(unit), unit
        some._index = cache(partial(index_units, self._source, unit, self._progress))
        some._set_columns(some._roles.features)
        return some

    @property
    def has_units(self) -> bool:
        """Whether rows belong to units."""
        return self._roles.unit is not None

    @property
    def unit_index(self) -> UnitIndex:
        """All units: read once, and remembered."""
        return self._index()

    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Stream:
        """At most `limit` rows of each unit, by a keyed hash of what they hold."""
        some = self._add_step(LimitRows(self, limit, coins))
        some._limit, some._shared, some.unit = min(limit, self._limit or limit), False, None
        return some

    def share_within_units(self) -> Stream:
        """Rows that share what their unit may add."""
        some = self._copy_rows()
        some._shared, some.unit = True, None
        return some

    # what is read

    def make_empty_batch(self) -> Batch:
        """A batch without rows: the schema."""
        schema = self._source.schema
        part = self._make_part(
            0, pa.record_batch([pa.array([], field.type) for field in schema], schema=schema), ReadBuffer()
        )
        for step in self._steps:
            if not step.drops:
                step(part)
        return next(self._split_batches(part, None))

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total over all rows, in units of the query's grid."""
        np.empty(31 << 17)  # freed at once: C libraries then keep memory of this size for arrays to come
        share = self._compute_shares(query)

        def work(parts: Iterator[StreamPart]) -> Total:
            total = Total()
            for part in parts:
                for batch in self._split_batches(part, share):
                    total.add(query(batch))
            return total

        total, none = Total(), self.make_empty_batch()
        total.add(query(none if share is None else none.with_share(np.zeros(0))))
        for found in self.run_on_parts(work):
            total.merge(found)
        return total.value()

    def _compute_shares(self, query: BoundedSum | Together) -> Floats | None:
        """What each row of a unit counts for in a sum."""
        if not self._shared:
            return None
        if isinstance(query, Together) or not query.whole:
            counts = self.unit_index.counts if self._limit is None else np.minimum(self.unit_index.counts, self._limit)
            return round_factors_down(1.0 / np.maximum(counts, 1))
        limit = query.choose_lattices(query.read_widths(self.make_empty_batch()))[0].limit
        return round_factors_down(limit / np.maximum(self._compute_unit_sizes(query), limit))

    def _compute_unit_sizes(self, query: BoundedSum) -> Floats:
        """How much the rows of each unit add to a sum: whole numbers, which add up in any order."""
        totals = np.zeros(len(self.unit_index))

        def work(parts: Iterator[StreamPart]) -> list[tuple[Any, Floats]]:
            return [
                (
                    part.codes,
                    np.concatenate([query.compute_row_norms(batch) for batch in self._split_batches(part, None)]),
                )
                for part in parts
            ]

        for found in self.run_on_parts(work):
            for codes, sizes in found:
                np.add.at(totals, codes, sizes)
        return totals

    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones, and what cannot be a label, are left out."""
        if self._roles.target is None:
            raise ValueError("These rows bring no target.")

        def work(parts: Iterator[StreamPart]) -> Counter[Any]:
            return sum((count_arrow_labels(part.target) for part in parts), Counter())

        counts: Counter[Any] = sum(self.run_on_parts(work, features=False), Counter())
        return dict(counts) if self._has_codes else self._roles.restore_label_types(counts)

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
        if self._source.count is not None and not self.has_units and not self._drops_rows:
            return self._source.count
        return sum(self.run_on_parts(lambda parts: sum(part.rows for part in parts), features=False))

    @property
    def _drops_rows(self) -> bool:
        return any(step.drops for step in self._steps)

    def run_on_parts(self, work: Callable[[Iterator[StreamPart]], T], features: bool = True) -> Iterator[T]:
        """What `work` makes of the parts of each piece, in one reading of the rows.

        Parameters
        ----------
        work : it is done with a part before it asks for the next, which is read into the same place.
        features : whether it needs features.
        """
        if self.has_units:
            _ = self.unit_index  # all threads are to find it
        for step in self._steps:
            step.prepare()
        features = features or any(step.features for step in self._steps)
        numbers, labels = self._roles.list_columns(features)
        room = ReadBuffer()

        def parts(batches: Batches) -> Iterator[StreamPart]:
            for place, batch in batches:
                part = self._make_part(place, batch, room if features else None)
                for step in self._steps:
                    step(part)
                yield part

        rows = BLOCKS * self._block_size
        return read_pieces(self._source, numbers, labels, rows, lambda batches: work(parts(batches)), self._progress)

    def _make_part(self, place: int, batch: pa.RecordBatch, room: ReadBuffer | None) -> StreamPart:
        roles = self._roles
        target = None if roles.target is None else batch.column(roles.target)
        part = StreamPart(batch.num_rows, place, None if room is None else roles.read_table(batch, room), target)
        if roles.unit is not None and batch.num_rows:
            part.codes = self.unit_index.encode_units(batch.column(roles.unit))
            if (part.codes < 0).any():
                part.take(part.codes >= 0)  # rows of no unit count for nothing
        return part

    def _split_batches(self, part: StreamPart, share: Floats | None) -> Iterator[Batch]:
        assert part.table is not None
        y = None if part.target is None else read_target(part.target)
        for start in range(0, max(1, part.rows), self._block_size):
            stop = min(start + self._block_size, part.rows)
            batch = Batch(part.table.read_block(start, stop), None if y is None else y[start:stop])
            yield batch if share is None or part.codes is None else batch.with_share(share[part.codes[start:stop]])

    @property
    def _block_size(self) -> int:
        return min(ROWS, max(256, CELLS // self._widest // 128 * 128))

    # where they fit in memory

    def hold_in_memory(self, dtype: Any = np.float64) -> Rows:
        """Rows in memory, their features as `dtype`, which must hold them exactly; these rows, if they are too many."""
        return load_stream(self, dtype, MAX_HELD_CELLS)

    def cache_images(self) -> Rows:
        """Rows in memory, with what queries make of them kept; these rows, if they are too many."""
        some = load_stream(self, np.float64, MAX_HELD_CELLS // 8)
        return some if some is self else some.cache_images()

    def fits_in_memory(self, cells: int) -> bool:
        """Whether these rows are known to have at most so many cells, and would keep their places in memory."""
        count = self._source.count
        return count is not None and count * self._widest <= cells and not (self._drops_rows and not self.has_units)

    @property
    def shares_within_units(self) -> bool:
        """Whether rows share what their unit may add."""
        return self._shared

    def read_version(self) -> str:
        """A digest that is another one when the data is, as far as that can be told without reading it."""
        if self._steps:
            raise NotSupported("Rows that were mapped or sampled are not retried. Hint: hand over the rows themselves.")
        return self._source.read_version()

    def describe_roles(self) -> tuple[str, str, str]:
        """The name and the type of the target, and the name of the unit."""
        target = self._roles.target
        kind = None if target is None else self._source.schema.field(target).type
        return str(target), str(kind), str(self._roles.unit)

    def __repr__(self) -> str:
        return f"<Stream of {self._source.name}: {self.width} columns>"  # the number of rows is private
