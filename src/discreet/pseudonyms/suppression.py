"""Suppression: erased people are not taken in again, for a while.

The list holds K_suppress(tag) for each tag an erased person was known by: AES-256 of the tag, itself a keyed hash of
the identity. Two keys stand between the list and a name; yet whoever holds the vault can test a name against it, so
**it is still personal data**, kept on the ground of Article 17(3)(b) or 6(1)(c) and (f), and each line has a date after
which it goes (`purge`). The list also serves restores: a backup is brought up to date by erasing again who is on it.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.blocks import decrypted, encrypted
from discreet.pseudonyms.chunks import Bytes, Chunks
from discreet.pseudonyms.database import Database
from discreet.pseudonyms.entries import today
from discreet.pseudonyms.master import Master

KEEP = 3 * 365  # days, unless told otherwise


@dataclass(frozen=True, repr=False)
class Line:
    """One line of the list.

    Attributes
    ----------
    tag : that the person was known by.
    until : the last day, as an ordinal.
    entry : the number of the erasure in the register.
    """

    tag: bytes
    until: int
    entry: int

    def __repr__(self) -> str:
        """No tag."""
        return f"<Line of entry {self.entry}>"


class Suppression:
    """The list of one vault."""

    def __init__(self, database: Database, master: Master) -> None:
        self._key = master.derive("suppress")
        self.store = Chunks(database, "suppressed", master.derive("row", "suppressed"), 16, 16)

    def __repr__(self) -> str:
        """No key."""
        return "<Suppression>"

    def known(self, tags: Bytes) -> npt.NDArray[np.bool_]:
        """Which of the tags are on the list; lines past their date no longer count, also before `purge` takes them."""
        found = self.store.get(encrypted(tags, self._key))
        return found.known & (_days(found.values) >= today().toordinal())

    def until(self, tag: Bytes) -> datetime.date | None:
        """The last day a tag, (1, 16), is on the list, or None."""
        found = self.store.get(encrypted(tag, self._key))
        last = datetime.date.fromordinal(_line(found.values[0])[0]) if found.known[0] else None
        return None if last is None or last < today() else last

    def add(self, tags: Bytes, until: datetime.date, entry: int) -> int:
        """Put tags on the list, inside a transaction; how many are new. A tag that is there keeps the later date."""
        keys = encrypted(tags, self._key)
        old = self.store.get(keys)
        values = []
        for known, value in zip(old.known, old.values, strict=True):
            day, number = _line(value) if known else (0, entry)
            values.append(max(until.toordinal(), day).to_bytes(8, "big") + number.to_bytes(8, "big"))
        self.store.remove(keys[old.known])
        self.store.put(keys, np.frombuffer(b"".join(values), np.uint8).reshape(-1, 16))
        return int((~old.known).sum())

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
                found += [Line(tag.tobytes(), until, entry)] if entry > after else []
        return found


def _line(value: Bytes) -> tuple[int, int]:
    content = value.tobytes()
    return int.from_bytes(content[:8], "big"), int.from_bytes(content[8:], "big")


def _days(values: Bytes) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(values[:, :8]).view(">u8").ravel().astype(np.uint64)
