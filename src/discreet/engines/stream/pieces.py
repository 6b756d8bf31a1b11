"""One reading of a source: its pieces on all cores, and a bar for whoever waits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from discreet.engines.arrow import find_distinct
from discreet.engines.stream.parallel import run_tasks
from discreet.engines.stream.source import Batches, Piece, Source
from discreet.engines.stream.unit_index import UnitIndex
from discreet.progress import Bar, Progress

T = TypeVar("T")


def read_pieces(
    source: Source,
    numbers: Sequence[str],
    labels: Sequence[str],
    rows: int,
    work: Callable[[Batches], T],
    progress: Progress = None,
) -> Iterator[T]:
    """What `work` makes of the batches of each piece; batches have at most so many rows.

    Raises `EngineError` if the source is seen to change meanwhile.
    """
    if not numbers and not labels:
        labels = source.schema.names[:1]  # rows are to be counted still
    pieces = source.iter_pieces(numbers, labels, rows)
    seen = 0
    source.check()
    with Bar(progress, f"reading {os.path.basename(source.name)}") as bar:
        for done, (result, count) in enumerate(run_tasks(_make_task(piece, rows, work) for piece in pieces), 1):
            seen += count
            bar.at(_measure_progress(source, done, seen))
            yield result
    source.check()
    source.count = seen


def _measure_progress(source: Source, done: int, seen: int) -> float | None:
    """How much was read, by rows if their number is known, else by pieces; None where nobody knows."""
    if source.count:
        return seen / source.count
    return done / source.blocks if source.blocks else None


def _make_task(piece: Piece, rows: int, work: Callable[[Batches], T]) -> Callable[[], tuple[T, int]]:
    def task() -> tuple[T, int]:
        seen = 0

        def batches() -> Batches:
            nonlocal seen
            for place, batch in piece():
                seen += batch.num_rows
                for start in range(0, batch.num_rows, rows):
                    yield place + start, batch.slice(start, rows)

        return work(batches()), seen

    return task


def index_units(source: Source, unit: str, progress: Progress) -> UnitIndex:
    """The units of all rows, in one reading of their column."""
    index = UnitIndex()

    def work(batches: Batches) -> None:
        for _, batch in batches:
            index.add(*find_distinct(batch.column(0)))

    for _ in read_pieces(source, (), (unit,), 1 << 17, work, progress):
        pass
    return index
