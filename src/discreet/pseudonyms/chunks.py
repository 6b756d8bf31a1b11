"""Sorted records in sealed chunks: how a vault stores whatever concerns people.

A store maps fixed-width keys (keyed tags) to fixed-width values. Its records are sorted by key and cut into sealed of
about 4 kB. A chunk covers an interval of keys, [first, last] of their leading eight bytes; the intervals of a store are
a partition of all keys, so that a chunk that was taken away is noticed like one that was changed. Each chunk is sealed
with AES-256-GCM under the store's own key, a fresh random nonce, and (store, first, last) as associated data: any
flipped bit is `Tampered`. The borders of chunks are in clear. They are random points between two neighbouring keys, so
that no tag and no id, nor a part of one, is in clear in the file.

| fact | why |
| --- | --- |
| a chunk is split, never joined | a boundary once seen stays, so reads in several steps need no common snapshot |
| keys are pseudorandom | the width of one chunk tells how many there are: many keys are read in order, few one by one |
| random nonces | at 2^32 chunks written under one key a nonce repeats with probability 2^-33 (NIST SP 800-38D, 8.3) |
| an older chunk put back whole | is noticed by the sum of all seals, which is told of each change (`sums.py`) |
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.pseudonyms.database import Database
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.records import Bytes as Bytes
from discreet.pseudonyms.records import Prefixes, among, in_order, matched, prefixes

Row = tuple[bytes, bytes, bytes]  # first, last, body

TOP = 2**64 - 1
BODY = 4096  # bytes of records in a full chunk
BATCH = 256  # chunks read at once
FEW = 32  # chunks looked up one by one, before it is asked again how dense the keys are

_COVERING = "select first, last, body from sealed where store = ? and first <= ? order by first desc limit 1"
_FOLLOWING = f"select first, last, body from sealed where store = ? and first >= ? order by first limit {BATCH}"
_INSERT = "insert into sealed (store, first, last, body) values (?, ?, ?, ?)"
_UPDATE = "update sealed set last = ?, body = ? where store = ? and first = ?"


@dataclass(frozen=True)
class Chunk:
    """An interval of a store, and its records (n, width), sorted; and what names it among the sums, if it is stored."""

    first: int
    last: int
    records: Bytes
    name: bytes = b""

    @cached_property
    def prefixes(self) -> Prefixes:
        """The leading eight bytes of each record."""
        return prefixes(self.records)


@dataclass(frozen=True)
class Found:
    """What a store knows of the keys asked for.

    Attributes
    ----------
    known : (n,) which keys are there.
    values : (n, width) theirs; zeros elsewhere.
    """

    known: npt.NDArray[np.bool_]
    values: Bytes


class Chunks:
    """One store.

    Parameters
    ----------
    database : where its chunks are.
    store : its name.
    secret : 32 bytes, for this store alone.
    key, value : their widths; a key has at least eight bytes.
    several : whether a key may have several values.
    """

    def __init__(
        self, database: Database, store: str, secret: bytes, key: int, value: int = 0, *, several: bool = False
    ) -> None:
        self._database = database
        self.store = store
        self._sealing = AESGCM(secret)
        self._key = key
        self._width = key + value
        self._full = BODY // self._width
        self._several = several

    def __repr__(self) -> str:
        """Its name alone."""
        return f"<store {self.store!r}>"

    def create(self) -> None:
        """Make the store, inside a transaction: one chunk over all keys."""
        row = self._row(Chunk(0, TOP, np.zeros((0, self._width), np.uint8)))
        self._tell([], [row])
        self._database.write(_INSERT, row)

    def get(self, keys: Bytes) -> Found:
        """Look keys up; a key that is there several times gives its first value."""
        known = np.zeros(len(keys), bool)
        values = np.zeros((len(keys), self._width - self._key), np.uint8)
        chosen = self._likely(keys)
        order, sought = in_order(keys[chosen])
        for start, stop, chunks in self._covering(sought):
            where = chosen[order[start:stop]]
            records = np.concatenate([chunk.records for chunk in chunks])
            place = matched(records, keys[where])
            hit = place >= 0
            known[where[hit]] = True
            values[where[hit]] = records[place[hit], self._key :]
        return Found(known, values)

    def _likely(self, keys: Bytes) -> npt.NDArray[np.intp]:
        """The keys worth sorting: in a store of one chunk, those whose prefix is in it."""
        (row,) = self._read(_COVERING, 0)
        if row[1] != _bytes(TOP) or len(keys) < self._full:
            return np.arange(len(keys))
        return np.flatnonzero(np.isin(prefixes(keys), prefixes(self._opened(*row).records)))

    def all(self, key: Bytes) -> Bytes:
        """Every value of one key, (m, width)."""
        for _, _, chunks in self._covering(prefixes(key[None, :])):
            records = chunks[0].records
            return records[(records[:, : self._key] == key).all(axis=1), self._key :]
        raise AssertionError("one key has one chunk")

    def every(self, keys: Bytes) -> tuple[npt.NDArray[np.intp], Bytes]:
        """Every value of distinct keys: for each the place of its key among them, and the value, (m, width)."""
        places, values = [np.zeros(0, np.intp)], [np.zeros((0, self._width - self._key), np.uint8)]
        order, sought = in_order(keys)
        for start, stop, chunks in self._covering(sought):
            where = order[start:stop]
            records = np.concatenate([chunk.records for chunk in chunks])
            place = matched(keys[where], records[:, : self._key])
            places.append(where[place[place >= 0]])
            values.append(records[place >= 0, self._key :])
        return np.concatenate(places), np.concatenate(values)

    def put(self, keys: Bytes, values: Bytes | None = None) -> None:
        """Add records, inside a transaction; only in a store of `several` may their keys be there already."""
        fresh = keys if values is None else np.concatenate([keys, values], axis=1)
        order, sought = in_order(keys)
        fresh = fresh[order]
        alike = np.flatnonzero(sought[1:] == sought[:-1])
        if not self._several and (fresh[alike, : self._key] == fresh[alike + 1, : self._key]).all(axis=1).any():
            raise VaultError("The same key was given twice.")
        for start, stop, chunks in self._covering(sought):
            self._write(chunks, self._merged(chunks, fresh[start:stop]))

    def remove(self, keys: Bytes) -> int:
        """Take out every record of these keys, inside a transaction; how many there were."""
        count = 0
        order, sought = in_order(keys)
        for start, stop, chunks in self._covering(sought):
            for chunk in chunks:
                stay = ~among(chunk.records[:, : self._key], keys[order[start:stop]])
                if not stay.all():
                    count += int((~stay).sum())
                    self._write([chunk], [[Chunk(chunk.first, chunk.last, chunk.records[stay])]])
        return count

    def scan(self) -> Iterator[tuple[Bytes, Bytes]]:
        """All records in order, as (keys, values); raises `Tampered` if anything is changed or missing."""
        for chunk in self._chunks():
            yield chunk.records[:, : self._key], chunk.records[:, self._key :]

    def _chunks(self) -> Iterator[Chunk]:
        start = 0
        while start <= TOP:
            rows = self._read(_FOLLOWING, start)
            for chunk in (self._opened(*row) for row in rows):
                self._require(chunk.first == start)
                start = chunk.last + 1
                yield chunk

    def count(self) -> int:
        """How many records there are."""
        return sum(len(keys) for keys, _ in self.scan())

    def drop(self) -> None:
        """Remove the store with all that is in it, inside a transaction."""
        self._tell([chunk.name for chunk in self._chunks()], [])
        self._database.write("delete from sealed where store = ?", (self.store,))

    def replace(self, other: Chunks) -> None:
        """Put all records of the same store of another state in place of these, inside a transaction."""
        self.drop()
        found = other._chunks()
        while rows := [self._row(chunk) for chunk in islice(found, BATCH)]:
            self._tell([], rows)
            self._database.write_many(_INSERT, rows)

    def _covering(self, sought: Prefixes) -> Iterator[tuple[int, int, list[Chunk]]]:
        """(start, stop, chunks): in order, chunks that cover sought[start:stop] and no others."""
        start, width, border = 0, TOP, 0
        while start < len(sought):
            # few keys are looked up one by one; many by reading on from the last border
            dense = start > 0 and (len(sought) - start) * width > (TOP - int(sought[start])) // 4
            rows = self._following(border) if dense else self._scattered(sought[start:])
            chunks = self._needed(rows, sought)
            if chunks:
                stop = start + int(np.searchsorted(sought[start:], np.uint64(chunks[-1].last), side="right"))
                self._check(chunks, sought[start:stop])
                yield start, stop, chunks
                start, width = stop, sum(c.last - c.first + 1 for c in chunks) // len(chunks)
            border = int.from_bytes(rows[-1][1], "big") + 1
            self._require(start == len(sought) or border <= int(sought[start]))

    def _following(self, border: int) -> list[Row]:
        return self._read(_FOLLOWING, border)

    def _scattered(self, sought: Prefixes) -> list[Row]:
        rows: list[Row] = []
        at = 0
        while at < len(sought) and len(rows) < FEW:
            rows += self._read(_COVERING, int(sought[at]))
            after = int(np.searchsorted(sought, np.uint64(int.from_bytes(rows[-1][1], "big")), side="right"))
            self._require(after > at)
            at = after
        return rows

    def _read(self, sql: str, at: int) -> list[Row]:
        rows = self._database.read(sql, (self.store, _bytes(at)))
        self._require(bool(rows) and all(isinstance(cell, bytes) for row in rows for cell in row))
        self._require(all(len(first) == len(last) == 8 for first, last, _ in rows))
        return [(first, last, body) for first, last, body in rows]

    def _needed(self, rows: list[Row], sought: Prefixes) -> list[Chunk]:
        firsts = np.frombuffer(b"".join(first for first, _, _ in rows), ">u8")
        lasts = np.frombuffer(b"".join(last for _, last, _ in rows), ">u8")
        self._require(len(firsts) == len(lasts) == len(rows))
        touched = np.searchsorted(sought, lasts, side="right") > np.searchsorted(sought, firsts, side="left")
        return [self._opened(*row) for row, here in zip(rows, touched.tolist(), strict=True) if here]

    def _check(self, chunks: list[Chunk], sought: Prefixes) -> None:
        firsts = np.array([chunk.first for chunk in chunks], np.uint64)
        lasts = np.array([chunk.last for chunk in chunks], np.uint64)
        place = np.searchsorted(firsts, sought, side="right") - 1
        self._require(bool((place >= 0).all()) and bool((sought <= lasts[place]).all()))

    def _opened(self, first: bytes, last: bytes, body: bytes) -> Chunk:
        try:
            records = self._sealing.decrypt(body[:12], body[12:], self._label(first, last))
        except (InvalidTag, ValueError):
            raise Tampered(self._damage()) from None
        content = np.frombuffer(records, np.uint8).reshape(-1, self._width)
        return Chunk(
            int.from_bytes(first, "big"), int.from_bytes(last, "big"), content, name(self.store, first, last, body)
        )

    def _row(self, chunk: Chunk) -> tuple[str, bytes, bytes, bytes]:
        first, last = _bytes(chunk.first), _bytes(chunk.last)
        nonce = os.urandom(12)
        body = nonce + self._sealing.encrypt(nonce, chunk.records.tobytes(), self._label(first, last))
        return self.store, first, last, body

    def _label(self, first: bytes, last: bytes) -> bytes:
        return len(first).to_bytes(1, "big") + first + len(last).to_bytes(1, "big") + last + self.store.encode()

    def _merged(self, chunks: list[Chunk], fresh: Bytes) -> list[list[Chunk]]:
        """Chunks with more records, each as the pieces it falls into."""
        records = np.concatenate([*(chunk.records for chunk in chunks), fresh])
        order, heads = in_order(records[:, : self._key])
        records = records[order]
        ends = np.searchsorted(heads, np.array([chunk.last for chunk in chunks], np.uint64), side="right").tolist()
        begins = [0, *ends[:-1]]
        return [
            self._pieces(chunk, records[begin:end], heads[begin:end])
            for chunk, begin, end in zip(chunks, begins, ends, strict=True)
        ]

    def _pieces(self, chunk: Chunk, records: Bytes, heads: Prefixes) -> list[Chunk]:
        """A chunk, cut into pieces two thirds full if it is too long, so that there is room before the next cut."""
        if len(records) <= self._full:
            return [Chunk(chunk.first, chunk.last, records)]
        pieces = -(-len(records) * 3 // (2 * self._full))
        # cut where prefixes differ, so that a key's chunk follows from its prefix
        cuts = np.unique(np.searchsorted(heads, heads[np.arange(1, pieces) * len(records) // pieces]))
        cuts = cuts[cuts > 0]
        firsts = [chunk.first, *(_between(int(heads[cut - 1]), int(heads[cut])) for cut in cuts)]
        lasts = [first - 1 for first in firsts[1:]] + [chunk.last]
        bounds = [0, *cuts.tolist(), len(records)]
        return [Chunk(f, l, records[b:e]) for f, l, b, e in zip(firsts, lasts, bounds, bounds[1:], strict=False)]

    def _write(self, old: list[Chunk], changes: list[list[Chunk]]) -> None:
        """Chunks by their pieces: the first takes the old one's place."""
        rows = [[self._row(piece) for piece in pieces] for pieces in changes]
        self._tell([chunk.name for chunk in old], [row for pieces in rows for row in pieces])
        self._database.write_many(_UPDATE, [(last, body, *key) for (*key, last, body), *_ in rows])
        self._database.write_many(_INSERT, [row for _, *others in rows for row in others])

    def _tell(self, gone: list[bytes], come: list[tuple[str, bytes, bytes, bytes]]) -> None:
        if self._database.witness is not None:
            self._database.witness.change(group(self.store), gone, [name(*row) for row in come])

    def _require(self, sound: bool) -> None:
        if not sound:
            raise Tampered(self._damage())

    def _damage(self) -> str:
        return f"What the vault stores as {self.store.split(':')[0]!r} was changed or cut. Hint: restore a backup."


def group(store: str) -> str:
    """What a store counts under: all tables together, "use"."""
    return store.partition(":")[0]


def name(store: str, first: bytes, last: bytes, body: bytes) -> bytes:
    """What names a sealed chunk and no other state of it: its place, nonce and check."""
    return b"".join((first, last, body[:12], body[-16:], store.encode()))  # all but the last are of one width


def _between(low: int, high: int) -> int:
    """A random border above one prefix and up to the next: boundaries are in clear and outlive their neighbours."""
    return high - secrets.randbelow(high - low)


def _bytes(number: int) -> bytes:
    return number.to_bytes(8, "big")
