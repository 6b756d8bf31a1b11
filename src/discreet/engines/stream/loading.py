"""A stream that fits in memory, as rows in memory: for methods that read many times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Rows
from discreet.engines.memory import Memory
from discreet.engines.stream.steps import StreamPart, read_target
from discreet.engines.tables import ArrayTable
from discreet.engines.units import Units

if TYPE_CHECKING:
    from discreet.engines.stream.stream import Stream

Copied = tuple[int, NDArray[Any], NDArray[Any] | None, NDArray[np.int64] | None]


def load_stream(stream: Stream, dtype: Any, cells: int) -> Rows:
    """The stream's rows in memory, in their order, as far as is known that there are at most so many cells of features.

    Otherwise the stream as it is; also where rows were dropped by their places, which they would lose.
    """
    if not stream.fits_in_memory(cells):
        return stream

    def work(parts: Iterator[StreamPart]) -> list[Copied]:
        return [_copy_part(part, dtype) for part in parts if part.rows]

    found = sorted((one for some in stream.run_on_parts(work) for one in some), key=lambda one: one[0])
    return _build_memory(stream, found, dtype)


def _copy_part(part: StreamPart, dtype: Any) -> Copied:
    assert part.table is not None
    y = None if part.target is None else read_target(part.target)
    return part.start, np.array(part.table.read_block(0, part.rows), dtype, order="C"), y, part.codes


def _build_memory(stream: Stream, found: list[Copied], dtype: Any) -> Memory:
    none = stream.make_empty_batch()
    X = np.concatenate([none.X.astype(dtype), *(one[1] for one in found)])
    y = none.y if none.y is None else np.concatenate([none.y, *(one[2] for one in found if one[2] is not None)])
    units = None
    if stream.has_units:
        codes = np.concatenate([np.zeros(0, np.int64), *(one[3] for one in found if one[3] is not None)])
        units = Units(codes, stream.unit_index.names, stream.shares_within_units)
    memory = Memory.from_table(ArrayTable(X, stream.columns), y, units)
    memory.unit, memory.adder = stream.unit, stream.adder
    return memory
