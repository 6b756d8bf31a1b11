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
from discreet.engines.arrow import Room, tally
from discreet.engines.memory import KEPT
from discreet.engines.stream.loading import loaded
from discreet.engines.stream.pieces import indexed, read
from discreet.engines.stream.roles import Roles
from discreet.engines.stream.source import Batches, Source
from discreet.engines.stream.steps import Bounding, Choosing, Coding, Drawing, Imaging, Part, Step, held_target
from discreet.engines.stream.unit_index import Index
from discreet.engines.tables import CELLS
from discreet.engines.units import less
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
    _index: Callable[[], Index]

    def __init__(
        self,
        source: Source,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        unit: str | None = None,
        progress: Progress = None,
    ) -> None:
        self._source, self._progress, self._shared = source, progress, False
        self._roles = Roles.of(source, target, columns)
        self._steps: tuple[Step, ...] = ()
        self._see(self._roles.features)
        if unit is not None:
            self.__dict__.update(self.assign_units(unit).__dict__)

    def _see(self, columns: tuple[str, ...] | None, width: int | None = None) -> None:
        self.columns = columns
        self.width = len(columns) if width is None and columns is not None else width or 0
        self._widest = max(self.width, getattr(self, "_widest", 1))

    def expect_types(self, *, numeric: bool = True, labels: bool = False) -> Stream:
        """The same rows for a use of them: features of any type if not `numeric`, targets of any with `labels`."""
        some = self._copy()
        if any(isinstance(step, Imaging) for step in self._steps):
            numeric = self._roles.numeric  # features are numbers by now, whatever they were made of
        some._roles = self._roles.expecting(numeric, labels or self._coded)
        return some

    @property
    def _coded(self) -> bool:
        return any(isinstance(step, Coding) for step in self._steps)

    # what was asked, recorded

    def _copy(self) -> Stream:
        some = Stream.__new__(Stream)
        some.__dict__.update(self.__dict__)
        return some

    def _and(self, step: Step) -> Stream:
        some = self._copy()
        some._steps = (*self._steps, step)
        return some

    def encode_targets(self, classes: Sequence[Any]) -> Stream:
        """The same rows, with the place of each target in a public list of classes; NaN for any other."""
        if self._roles.target is None:
            raise ValueError("These rows bring no target.")
        return self._and(Coding(tuple(classes)))

    def map(self, image: Image, columns: Sequence[str] | None = None) -> Stream:
        """Rows whose features are `image(batch)`, made as they are read; targets are kept."""
        some = self._and(Imaging(image, None if columns is None else tuple(columns)))
        some._see(None if columns is None else tuple(columns), some.make_empty_batch().X.shape[1])
        return some

    def sample(self, rate: float, coins: Coins) -> Stream:
        """A Poisson sample of the units, or of the rows where there are none."""
        if rate >= 1:
            return self._copy()
        if not self.of_units:
            return self._and(Drawing(lambda start, stop: coins.look_up_heads(start, stop, rate)))
        top = np.uint64(int(rate * 2.0**64))
        return self._and(Choosing(lambda: self._of_units(coins) < top))

    def split_into_blocks(self, count: int, coins: Coins) -> Iterator[Stream]:
        """The rows in `count` disjoint blocks: each unit, or row, is in one of them, drawn for it alone."""
        words = cache(lambda: self._of_units(coins) % np.uint64(count))
        return (self._and(self._block(np.uint64(i), np.uint64(count), coins, words)) for i in range(count))

    def _block(
        self, number: np.uint64, count: np.uint64, coins: Coins, words: Callable[[], NDArray[np.uint64]]
    ) -> Step:
        if not self.of_units:
            return Drawing(lambda start, stop: coins.look_up_words(start, stop) % count == number)
        return Choosing(lambda: words() == number)

    def _of_units(self, coins: Coins) -> NDArray[np.uint64]:
        return coins.look_up_unit_words(self.index.names)

    def assign_units(self, unit: str) -> Stream:
        """The same rows, each belonging to the unit that this column names; the column is no feature then."""
        if unit == self._roles.unit:
            return self
        if self.of_units or self._steps:
            raise ValueError("The unit of rows is told first, and once.")
        some = self._copy()
        some._roles, some.unit = self._roles.by(unit), unit
        some._index = cache(partial(indexed, self._source, unit, self._progress))
        some._see(some._roles.features)
        return some

    @property
    def of_units(self) -> bool:
        """Whether rows belong to units."""
        return self._roles.unit is not None

    @property
    def index(self) -> Index:
        """All units: read once, and remembered."""
        return self._index()

    def limit_rows_per_unit(self, limit: int, coins: Coins) -> Stream:
        """At most `limit` rows of each unit, by a keyed hash of what they hold."""
        some = self._and(Bounding(self, limit, coins))
        some._limit, some._shared, some.unit = min(limit, self._limit or limit), False, None
        return some

    def share_within_units(self) -> Stream:
        """Rows that share what their unit may add."""
        some = self._copy()
        some._shared, some.unit = True, None
        return some

    # what is read

    def make_empty_batch(self) -> Batch:
        """A batch without rows: the schema."""
        schema = self._source.schema
        part = self._part(0, pa.record_batch([pa.array([], field.type) for field in schema], schema=schema), Room())
        for step in self._steps:
            if not step.drops:
                step(part)
        return next(self._batches(part, None))

    def sum(self, query: BoundedSum | Together) -> Exact:
        """The exact total over all rows, in units of the query's grid."""
        np.empty(31 << 17)  # freed at once: C libraries then keep memory of this size for arrays to come
        share = self._share(query)

        def work(parts: Iterator[Part]) -> Total:
            total = Total()
            for part in parts:
                for batch in self._batches(part, share):
                    total.add(query(batch))
            return total

        total, none = Total(), self.make_empty_batch()
        total.add(query(none if share is None else none.with_share(np.zeros(0))))
        for found in self.each(work):
            total.merge(found)
        return total.value()

    def _share(self, query: BoundedSum | Together) -> Floats | None:
        """What each row of a unit counts for in a sum."""
        if not self._shared:
            return None
        if isinstance(query, Together) or not query.whole:
            counts = self.index.counts if self._limit is None else np.minimum(self.index.counts, self._limit)
            return less(1.0 / np.maximum(counts, 1))
        limit = query.lattices(query.widths(self.make_empty_batch()))[0].limit
        return less(limit / np.maximum(self._sizes(query), limit))

    def _sizes(self, query: BoundedSum) -> Floats:
        """How much the rows of each unit add to a sum: whole numbers, which add up in any order."""
        totals = np.zeros(len(self.index))

        def work(parts: Iterator[Part]) -> list[tuple[Any, Floats]]:
            return [
                (part.codes, np.concatenate([query.sizes(batch) for batch in self._batches(part, None)]))
                for part in parts
            ]

        for found in self.each(work):
            for codes, sizes in found:
                np.add.at(totals, codes, sizes)
        return totals

    def count_labels(self) -> dict[Any, int]:
        """How many rows hold each target; missing ones, and what cannot be a label, are left out."""
        if self._roles.target is None:
            raise ValueError("These rows bring no target.")

        def work(parts: Iterator[Part]) -> Counter[Any]:
            return sum((tally(part.target) for part in parts), Counter())

        counts: Counter[Any] = sum(self.each(work, features=False), Counter())
        return dict(counts) if self._coded else self._roles.labelled(counts)

    def count_replace_one(self) -> int:
        """The number of rows: public under replace-one neighbours, and only there."""
        if self._source.count is not None and not self.of_units and not self._dropping:
            return self._source.count
        return sum(self.each(lambda parts: sum(part.rows for part in parts), features=False))

    @property
    def _dropping(self) -> bool:
        return any(step.drops for step in self._steps)

    def each(self, work: Callable[[Iterator[Part]], T], features: bool = True) -> Iterator[T]:
        """What `work` makes of the parts of each piece, in one reading of the rows.

        Parameters
        ----------
        work : it is done with a part before it asks for the next, which is read into the same place.
        features : whether it needs features.
        """
        if self.of_units:
            _ = self.index  # all threads are to find it
        for step in self._steps:
            step.ready()
        features = features or any(step.features for step in self._steps)
        numbers, labels = self._roles.wanted(features)
        room = Room()

        def parts(batches: Batches) -> Iterator[Part]:
            for place, batch in batches:
                part = self._part(place, batch, room if features else None)
                for step in self._steps:
                    step(part)
                yield part

        rows = BLOCKS * self._size
        return read(self._source, numbers, labels, rows, lambda batches: work(parts(batches)), self._progress)

    def _part(self, place: int, batch: pa.RecordBatch, room: Room | None) -> Part:
        roles = self._roles
        target = None if roles.target is None else batch.column(roles.target)
        part = Part(batch.num_rows, place, None if room is None else roles.table(batch, room), target)
        if roles.unit is not None and batch.num_rows:
            part.codes = self.index.codes(batch.column(roles.unit))
            if (part.codes < 0).any():
                part.take(part.codes >= 0)  # rows of no unit count for nothing
        return part

    def _batches(self, part: Part, share: Floats | None) -> Iterator[Batch]:
        assert part.table is not None
        y = None if part.target is None else held_target(part.target)
        for start in range(0, max(1, part.rows), self._size):
            stop = min(start + self._size, part.rows)
            batch = Batch(part.table.block(start, stop), None if y is None else y[start:stop])
            yield batch if share is None or part.codes is None else batch.with_share(share[part.codes[start:stop]])

    @property
    def _size(self) -> int:
        return min(ROWS, max(256, CELLS // self._widest // 128 * 128))

    # where they fit in memory

    def hold_in_memory(self, dtype: Any = np.float64) -> Rows:
        """Rows in memory, their features as `dtype`, which must hold them exactly; these rows, if they are too many."""
        return loaded(self, dtype, KEPT)

    def cache_images(self) -> Rows:
        """Rows in memory, with what queries make of them kept; these rows, if they are too many."""
        some = loaded(self, np.float64, KEPT // 8)
        return some if some is self else some.cache_images()

    def fits(self, cells: int) -> bool:
        """Whether these rows are known to have at most so many cells, and would keep their places in memory."""
        count = self._source.count
        return count is not None and count * self._widest <= cells and not (self._dropping and not self.of_units)

    @property
    def sharing(self) -> bool:
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
