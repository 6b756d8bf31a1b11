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
from discreet.engines.arrow import kind, labels, numbers, places
from discreet.engines.stream.unit_index import Firsts
from discreet.engines.tables import Array, Mapped
from discreet.engines.units import marks
from discreet.labels import codes_of
from discreet.query import Image

if TYPE_CHECKING:
    from discreet.engines.stream.stream import Stream

Table = Array | Mapped
Mask = NDArray[np.bool_]


@dataclass
class Part:
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

    def by_place(self, look: Callable[[int, int], NDArray[Any]]) -> NDArray[Any]:
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

    def ready(self) -> None:
        """Read what must be known of all rows first; once."""

    def __call__(self, part: Part) -> None:
        """Do it to some rows."""


class _Plain:
    drops = features = False

    def ready(self) -> None:
        """Nothing has to be known."""


@dataclass
class Coding(_Plain):
    """Targets become their places in a list of classes."""

    classes: Sequence[Any]

    def __call__(self, part: Part) -> None:
        """Code the targets."""
        if isinstance(part.target, pa.Array):
            part.target = places(part.target, self.classes)
        elif part.target is not None:
            codes = codes_of(part.target, self.classes).astype(np.float64)
            part.target = np.where(codes < 0, np.nan, codes)


@dataclass
class Imaging(_Plain):
    """Features become their image."""

    image: Image
    columns: tuple[str, ...] | None

    def __call__(self, part: Part) -> None:
        """Map the features."""
        if part.table is not None:
            part.table = Mapped(part.table, self.image, self.columns)


@dataclass
class Drawing(_Plain):
    """Rows are drawn by coins at their places."""

    heads: Callable[[int, int], Mask]
    drops = True

    def __call__(self, part: Part) -> None:
        """Keep the rows drawn."""
        part.take(part.by_place(self.heads))


@dataclass
class Choosing(_Plain):
    """Units are drawn, by their names, with all of their rows."""

    units: Callable[[], Mask]
    drops = True

    @cached_property
    def _mask(self) -> Mask:
        return self.units()

    def ready(self) -> None:
        """Draw them."""
        _ = self._mask

    def __call__(self, part: Part) -> None:
        """Keep the rows of units drawn."""
        assert part.codes is not None
        part.take(self._mask[part.codes])


@dataclass
class Bounding:
    """At most `limit` rows of each unit stay, ranked by a keyed hash of what they hold."""

    before: Stream
    limit: int
    coins: Coins
    drops = features = True

    @cached_property
    def _last(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        firsts = Firsts(self.limit, len(self.before.index))

        def work(parts: Any) -> list[tuple[NDArray[Any], ...]]:
            return [(part.codes, self._marks(part), part.places) for part in parts]

        for found in self.before.each(work):
            for one in found:
                firsts.add(*one)
        return firsts.last()

    def _marks(self, part: Part) -> NDArray[np.uint64]:
        assert part.table is not None
        columns = list(part.table.block(0, part.rows).T)
        columns = columns if part.target is None else [*columns, held_target(part.target)]
        return marks(columns, self.coins, self._words[part.codes])

    @cached_property
    def _words(self) -> NDArray[np.uint64]:
        return self.coins.look_up_unit_words(self.before.index.names)

    def ready(self) -> None:
        """Rank the rows of all units."""
        _ = self._words, self._last

    def __call__(self, part: Part) -> None:
        """Keep the rows that rank first."""
        mark, last = self._marks(part), self._last
        most, place = last[0][part.codes], last[1][part.codes]
        part.take((mark < most) | ((mark == most) & (part.places <= place)))


def held_target(target: Any) -> NDArray[Any]:
    """A target as an array: numbers as floats, labels as they are."""
    if not isinstance(target, pa.Array):
        return np.asarray(target)
    return labels(target) if kind(target.type) == "text" else numbers(target)
