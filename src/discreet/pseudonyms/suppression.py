"""Suppression: erased people are not taken in again, for a while.

The list holds K_suppress(tag) for each tag an erased person was known by, and K_suppress(id) for each id: AES-256 of
the tag, itself a keyed hash of the identity. Two keys stand between the list and a name; yet whoever holds the vault
can test a name against it, so **it is still personal data**, kept on the ground of Article 17(3)(b) or 6(1)(c) and (f),
and each line has a date after which it goes (`purge`). The list also serves restores: a backup is brought up to date by
erasing again who is on it. The lines of ids keep old tables from carrying erased people on (`reseal`, `unshare`).

A name is not one person's alone. Each line says by which identity, at the sharpest, the erased person was known:

| a row has | then it is |
| --- | --- |
| its sharpest identity on the list | of somebody erased |
| its sharpest identity known and not on the list | of that other person, whatever its name |
| a name on the list, and another number than the erased person, whose number was known | of a namesake |
| a name on the list, and nothing that tells more | of somebody erased |
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.blocks import decrypted, encrypted
from discreet.pseudonyms.chunks import Bytes, Chunks, Found
from discreet.pseudonyms.database import Database
from discreet.pseudonyms.entries import today
from discreet.pseudonyms.master import Master

Bools = npt.NDArray[np.bool_]

KEEP = 3 * 365  # days, unless told otherwise
WIDTH = 8  # bytes that stand for the fields of an identity


@dataclass(frozen=True, repr=False)
class Line:
    """One line of the list.

    Attributes
    ----------
    tag : that the person was known by.
    until : the last day, as an ordinal.
    entry : the number of the newest erasure in the register.
    known_by : what stands for the sharpest identity the person was known by; zeros if that was not kept.
    """

    tag: bytes
    until: int
    entry: int
    known_by: bytes = bytes(WIDTH)

    def __repr__(self) -> str:
        """No tag."""
        return f"<Line of entry {self.entry}>"


class Suppression:
    """The list of one vault."""

    def __init__(self, database: Database, master: Master) -> None:
        self._key = master.derive("suppress")
        self.store = Chunks(database, "suppressed", master.derive("row", "suppressed"), 16, 16 + WIDTH)

    def __repr__(self) -> str:
        """No key."""
        return "<Suppression>"

    def known(self, tags: Bytes) -> Bools:
        """Which of the tags are on the list; lines past their date no longer count, also before `purge` takes them."""
        return self.find(tags).known

    def find(self, tags: Bytes) -> Found:
        """The same, with what stands for the sharpest identity each was known by, (n, 8)."""
        found = self.store.get(encrypted(tags, self._key))
        current = found.known & (_days(found.values) >= today().toordinal())
        return Found(current, found.values[:, 16:])

    def until(self, tag: Bytes) -> datetime.date | None:
        """The last day a tag, (1, 16), is on the list, or None."""
        found = self.store.get(encrypted(tag, self._key))
        last = datetime.date.fromordinal(_line(found.values[0])[0]) if found.known[0] else None
        return None if last is None or last < today() else last

    def add(self, tags: Bytes, until: datetime.date, entry: int, known_by: bytes = bytes(WIDTH)) -> None:
        """Put distinct tags on the list, inside a transaction.

        A tag that is there keeps the later date, and belongs to the newer erasure from now on.
        """
        keys = encrypted(tags, self._key)
        old = self.store.get(keys)
        before = [_line(value)[0] if there else 0 for there, value in zip(old.known, old.values, strict=True)]
        days = [max(until.toordinal(), day).to_bytes(8, "big") for day in before]
        values = b"".join(day + entry.to_bytes(8, "big") + known_by for day in days)
        self.store.remove(keys[old.known])
        self.store.put(keys, np.frombuffer(values, np.uint8).reshape(-1, 16 + WIDTH))

    def purge(self, day: datetime.date) -> int:
        """Take off what is past its date, inside a transaction; how many lines."""
        late = [keys[_days(values) < day.toordinal()] for keys, values in self.store.scan()]
        return self.store.remove(np.concatenate(late))

    def lines(self, after: int = 0) -> list[Line]:
        """The lines of erasures after an entry of the register."""
        found = []
        for keys, values in self.store.scan():
            for tag, value in zip(decrypted(keys, self._key), values, strict=True):
                until, entry = _line(value)
                found += [Line(tag.tobytes(), until, entry, value[16:].tobytes())] if entry > after else []
        return found


def _line(value: Bytes) -> tuple[int, int]:
    content = value.tobytes()
    return int.from_bytes(content[:8], "big"), int.from_bytes(content[8:16], "big")


def _days(values: Bytes) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(values[:, :8]).view(">u8").ravel().astype(np.uint64)


def erased(has: Bools, listed: Bools, known_by: Bytes, kinds: Sequence[bytes], decided: Bools) -> Bools:
    """Which rows are of somebody erased.

    Parameters
    ----------
    has, listed : (rows, k): which identities a row has, and which of them are on the list.
    known_by : (rows, k, 8): by what the erased person was known at the sharpest.
    kinds : (k,): what stands for the fields of each identity; versions of one identity have the same.
    decided : (rows,): whether the sharpest identity of a row leads to somebody known who is not on the list.
    """
    out = np.zeros(len(has), bool)
    rows = np.flatnonzero(listed.any(axis=1) & ~decided)
    if not len(rows):
        return out
    has, listed, known_by = has[rows], listed[rows], known_by[rows]
    excused = np.zeros(listed.shape, bool)
    for kind in set(kinds):
        own = np.array([one == kind for one in kinds])
        other: Bools = np.logical_or.reduce(has[:, own], axis=1) & ~np.logical_or.reduce(listed[:, own], axis=1)
        same: Bools = np.logical_and.reduce(known_by == np.frombuffer(kind, np.uint8), axis=2)
        excused |= other[:, None] & same
    out[rows] = (listed & ~excused).any(axis=1)
    return out
