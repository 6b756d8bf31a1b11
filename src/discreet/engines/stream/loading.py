"""A stream that fits in memory, as rows in memory: for methods that read many times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Rows
from discreet.engines.memory import Memory
from discreet.engines.stream.steps import Part, held_target
from discreet.engines.tables import Array
from discreet.engines.units import Units

if TYPE_CHECKING:
    from discreet.engines.stream.stream import Stream

Copied = tuple[int, NDArray[Any], NDArray[Any] | None, NDArray[np.int64] | None]


def loaded(stream: Stream, dtype: Any, cells: int) -> Rows:
    """The stream's rows in memory, in their order, as far as is known that there are at most so many cells of features.

    Otherwise the stream as it is; also where rows were dropped by their places, which they would lose.
    """
    if not stream.fits(cells):
        return stream

    def work(parts: Iterator[Part]) -> list[Copied]:
        return [_copied(part, dtype) for part in parts if part.rows]

    found = sorted((one for some in stream.each(work) for one in some), key=lambda one: one[0])
    return _memory(stream, found, dtype)


def _copied(part: Part, dtype: Any) -> Copied:
    assert part.table is not None
    y = None if part.target is None else held_target(part.target)
    return part.start, np.array(part.table.block(0, part.rows), dtype, order="C"), y, part.codes


def _memory(stream: Stream, found: list[Copied], dtype: Any) -> Memory:
    none = stream.make_empty_batch()
    X = np.concatenate([none.X.astype(dtype), *(one[1] for one in found)])
    y = none.y if none.y is None else np.concatenate([none.y, *(one[2] for one in found if one[2] is not None)])
    units = None
    if stream.of_units:
        codes = np.concatenate([np.zeros(0, np.int64), *(one[3] for one in found if one[3] is not None)])
        units = Units(codes, stream.index.names, stream.sharing)
    memory = Memory.of_table(Array(X, stream.columns), y, units)
    memory.unit, memory.adder = stream.unit, stream.adder
    return memory
