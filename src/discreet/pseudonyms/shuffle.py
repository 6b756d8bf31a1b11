"""Rows in an order that tells nothing: a uniform permutation from the operating system's random bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

AT_ONCE = 1 << 26  # bytes of rows that are put in order in memory


def permutation(rows: int) -> npt.NDArray[np.int64]:
    """The numbers 0 to rows - 1 in random order.

    Each gets 64 random bits, and they are sorted by them. Two get the same with probability below rows²/2^65; they then
    keep their order.

    Examples
    --------
    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    draws = np.frombuffer(os.urandom(8 * rows), np.uint64)
    return np.argsort(draws, kind="stable")


def shuffled(pieces: Iterable[pa.Table], size: int, folder: str | os.PathLike[str]) -> Iterator[pa.Table]:
    """Pieces of a table that does not fit in memory, with the rows of all of them in random order.

    Every row is thrown into one of many files at random, then the rows of each file are put in random order: as the
    cards of a deck are dealt to many hands, and every hand is shuffled. Every order of all rows is equally likely.

    Parameters
    ----------
    pieces : all of one schema.
    size : about how many bytes they are together.
    folder : where the files are for a while, in a folder of their own that the owner alone can read.
    """
    hands = max(1, -(-size // AT_ONCE))
    with tempfile.TemporaryDirectory(prefix=".shuffle-", dir=folder) as place:
        schema = _dealt(pieces, hands, Path(place))
        for hand in range(hands):
            path = Path(place) / str(hand)
            if schema is not None and path.exists():
                with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
                    table = reader.read_all()
                yield table.take(pa.array(permutation(table.num_rows)))
                path.unlink()


def _dealt(pieces: Iterable[pa.Table], hands: int, place: Path) -> pa.Schema | None:
    writers: dict[int, tuple[pa.OSFile, pa.RecordBatchStreamWriter]] = {}
    schema = None
    try:
        for piece in pieces:
            schema = piece.schema
            for hand, part in _hands(piece, hands):
                if hand not in writers:
                    file = pa.OSFile(str(place / str(hand)), "wb")
                    writers[hand] = file, pa.ipc.new_stream(file, schema)
                writers[hand][1].write_table(part)
    finally:
        for file, writer in writers.values():
            writer.close()
            file.close()
    return schema


def _hands(piece: pa.Table, hands: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a piece for each hand that gets some."""
    draws = np.frombuffer(os.urandom(8 * piece.num_rows), np.uint64) % np.uint64(hands)  # uneven by hands/2^64
    order = np.argsort(draws, kind="stable")
    sizes = np.bincount(draws.astype(np.int64), minlength=hands)
    dealt, start = piece.take(pa.array(order)), 0
    for hand in np.flatnonzero(sizes):
        yield int(hand), dealt.slice(start, int(sizes[hand]))
        start += int(sizes[hand])
