"""Rows in an order that tells nothing: a uniform permutation from the operating system's random bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.pseudonyms.categories import decoded, tidied

AT_ONCE = 1 << 26  # bytes of rows that are put in order in memory
MOST = 200  # hands at a time


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


def ordered(rows: int, kept: npt.NDArray[np.bool_] | None, *, shuffle: bool) -> npt.NDArray[np.int64] | None:
    """Which rows of a table, in which order: those that are kept, at random if for a partner; None for all as they are.

    >>> ordered(3, np.array([True, False, True]), shuffle=False).tolist()
    [0, 2]
    """
    chosen = None if kept is None else np.flatnonzero(kept)
    if not shuffle:
        return chosen
    order = permutation(rows if chosen is None else len(chosen))
    return order if chosen is None else chosen[order]


def shuffled(pieces: Iterable[pa.Table], size: int, folder: str | os.PathLike[str]) -> Generator[pa.Table, None, None]:
    """Pieces of a table that does not fit in memory, with the rows of all of them in random order.

    Every row is thrown into one of many files at random, then the rows of each file are put in random order: as the
    cards of a deck are dealt to many hands, and every hand is shuffled. A hand that is too large is dealt again. Every
    order of all rows is equally likely.

    Parameters
    ----------
    pieces : all of one schema.
    size : about how many bytes they are together; only a guess, for rows are counted as they are dealt.
    folder : where the files are for a while, in a folder of their own that the owner alone can read. It is removed when
        the last piece was given, or when the iterator is closed; if the process is killed, by whoever sweeps `folder`.
    """
    with tempfile.TemporaryDirectory(prefix=".shuffle-", dir=folder) as place:
        yield from _shuffled(pieces, _number(size), Path(place))


def _number(size: int) -> int:
    """How many hands for this many bytes: each has an open file, and of these a process has a limited number."""
    return min(MOST, max(1, -(-size // AT_ONCE)))


def _shuffled(pieces: Iterable[pa.Table], hands: int, place: Path, like: pa.Schema | None = None) -> Iterator[pa.Table]:
    schema, sizes = _dealt(pieces, hands, place)
    like = like or schema
    for hand, (size, rows) in sorted(sizes.items()):  # in the order of hands: who came first says nothing
        path = place / str(hand)
        if size > 2 * AT_ONCE and rows > 1:
            deeper = place / f"{hand}-dealt"
            deeper.mkdir()
            yield from _shuffled(_read(path), max(2, _number(size)), deeper, like)
        else:
            table = pa.concat_tables(_read(path))
            yield tidied(table.take(pa.array(permutation(table.num_rows))), like)


def _read(path: Path) -> Iterator[pa.Table]:
    """What was dealt to a hand, piece by piece; the file is removed at its end."""
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])
    path.unlink()


def _dealt(pieces: Iterable[pa.Table], hands: int, place: Path) -> tuple[pa.Schema | None, dict[int, tuple[int, int]]]:
    """The schema, and for each hand that got some how many bytes and rows. Dictionaries are decoded for the while."""
    writers: dict[int, tuple[pa.OSFile, pa.RecordBatchStreamWriter]] = {}
    sizes: dict[int, tuple[int, int]] = {}
    schema = None
    try:
        for piece in pieces:
            schema, plain = piece.schema, decoded(piece)
            for hand, part in _hands(plain, hands):
                if hand not in writers:
                    file = pa.OSFile(str(place / str(hand)), "wb")
                    writers[hand] = file, pa.ipc.new_stream(file, plain.schema)
                writers[hand][1].write_table(part)
                size, rows = sizes.get(hand, (0, 0))
                sizes[hand] = size + part.nbytes, rows + part.num_rows
    finally:
        for file, writer in writers.values():
            writer.close()
            file.close()
    return schema, sizes


def _hands(piece: pa.Table, hands: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a piece for each hand that gets some."""
    draws = np.frombuffer(os.urandom(8 * piece.num_rows), np.uint64) % np.uint64(hands)  # uneven by hands/2^64
    order = np.argsort(draws, kind="stable")
    sizes = np.bincount(draws.astype(np.int64), minlength=hands)
    dealt, start = piece.take(pa.array(order)), 0
    for hand in np.flatnonzero(sizes):
        yield int(hand), dealt.slice(start, int(sizes[hand]))
        start += int(sizes[hand])
