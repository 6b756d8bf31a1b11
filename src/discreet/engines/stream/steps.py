"""What was asked of a stream's rows, recorded to be done to each part of them as it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines import Coins
from discreet.engines.arrow import classify_type, encode_arrow_labels, read_labels, read_numbers
from discreet.engines.stream.unit_index import FirstRows
from discreet.engines.tables import ArrayTable, MappedTable
from discreet.engines.units import mark_rows
from discreet.labels import codes_of
from discreet.query import Image

if TYPE_CHECKING:
    from discreet.engines.stream.stream import Stream

Table = ArrayTable | MappedTable
Mask = NDArray[np.bool_]


@dataclass
class StreamPart:
    """Some rows under way: features, if they are wanted, targets, the numbers of their units, and their places."""

    rows: int
    start: int
    table: Table | None
    target: Any = None  # an Arrow array until it is coded
    codes: NDArray[np.int64] | None = None
    _places: NDArray[np.int64] | None = None

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each row among all rows, however many were dropped before it."""
        return np.arange(self.start, self.start + self.rows) if self._places is None else self._places

    def look_up_places(self, look: Callable[[int, int], NDArray[Any]]) -> NDArray[Any]:
        """What is found for each row at its place; `look` finds it for a range of places."""
        if self._places is None:
            return look(self.start, self.start + self.rows)
        first, last = (int(self._places[0]), int(self._places[-1])) if self.rows else (0, -1)
        return look(first, last + 1)[self._places - first]

    def take(self, kept: Mask) -> None:
        """Keep some of the rows."""
        numbers = np.flatnonzero(kept)  # faster than marks where they are few
        self._places, self.rows = self.places[numbers], len(numbers)
        self.table = None if self.table is None else self.table.take(numbers)
        self.target = None if self.target is None else self.target.take(numbers)
        self.codes = None if self.codes is None else self.codes[numbers]


class Step(Protocol):
    """One thing that was asked."""

    drops: bool  # whether rows may go
    features: bool  # whether it has to see the features to know which

    def prepare(self) -> None:
        """Read what must be known of all rows first; once."""

    def __call__(self, part: StreamPart) -> None:
        """Do it to some rows."""


class _SimpleStep:
    drops = features = False

    def prepare(self) -> None:
        """Nothing has to be known."""


@dataclass
class EncodeTargets(_SimpleStep):
    """Targets become their places in a list of classes."""

    classes: Sequence[Any]

    def __call__(self, part: StreamPart) -> None:
        """Code the targets."""
        if isinstance(part.target, pa.Array):
            part.target = encode_arrow_labels(part.target, self.classes)
        elif part.target is not None:
            codes = codes_of(part.target, self.classes).astype(np.float64)
            part.target = np.where(codes < 0, np.nan, codes)


@dataclass
class MapFeatures(_SimpleStep):
    """Features become their image."""

    image: Image
    columns: tuple[str, ...] | None

    def __call__(self, part: StreamPart) -> None:
        """Map the features."""
        if part.table is not None:
            part.table = MappedTable(part.table, self.image, self.columns)


@dataclass
class SampleRows(_SimpleStep):
    """Rows are drawn by coins at their places."""

    heads: Callable[[int, int], Mask]
    drops = True

    def __call__(self, part: StreamPart) -> None:
        """Keep the rows drawn."""
        part.take(part.look_up_places(self.heads))


@dataclass
class SampleUnits(_SimpleStep):
    """Units are drawn, by their names, with all of their rows."""

    units: Callable[[], Mask]
    drops = True

    @cached_property
    def _unit_mask(self) -> Mask:
        return self.units()

    def prepare(self) -> None:
        """Draw them."""
        _ = self._unit_mask

    def __call__(self, part: StreamPart) -> None:
        """Keep the rows of units drawn."""
        assert part.codes is not None
        part.take(self._unit_mask[part.codes])


@dataclass
class LimitRows:
    """At most `limit` rows of each unit stay, ranked by a keyed hash of what they hold."""

    before: Stream
    limit: int
    coins: Coins
    drops = features = True

    @cached_property
    def _last_ranks(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        firsts = FirstRows(self.limit, len(self.before.unit_index))

        def work(parts: Any) -> list[tuple[NDArray[Any], ...]]:
            return [(part.codes, self._mark_part(part), part.places) for part in parts]

        for found in self.before.run_on_parts(work):
            for one in found:
                firsts.add(*one)
        return firsts.find_last_ranks()

    def _mark_part(self, part: StreamPart) -> NDArray[np.uint64]:
        assert part.table is not None
        columns = list(part.table.read_block(0, part.rows).T)
        columns = columns if part.target is None else [*columns, read_target(part.target)]
        return mark_rows(columns, self.coins, self._unit_words[part.codes])

    @cached_property
    def _unit_words(self) -> NDArray[np.uint64]:
        return self.coins.look_up_unit_words(self.before.unit_index.names)

    def prepare(self) -> None:
        """Rank the rows of all units."""
        _ = self._unit_words, self._last_ranks

    def __call__(self, part: StreamPart) -> None:
        """Keep the rows that rank first."""
        mark, last = self._mark_part(part), self._last_ranks
        most, place = last[0][part.codes], last[1][part.codes]
        part.take((mark < most) | ((mark == most) & (part.places <= place)))


def read_target(target: Any) -> NDArray[Any]:
    """A target as an array: numbers as floats, labels as they are."""
    if not isinstance(target, pa.Array):
        return np.asarray(target)
    return read_labels(target) if classify_type(target.type) == "text" else read_numbers(target)
