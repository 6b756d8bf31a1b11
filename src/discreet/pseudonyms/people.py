"""People: who has which id (stored links).

On first sight a person gets a random id of 16 bytes under the tag of an identity. All pseudonyms come from the id, so
when the row is gone nothing leads from the identity to it any more. Rows are sealed (`chunks.py`).

| a row names | by identities | then |
| --- | --- | --- |
| nobody known | any | a new id, under the tags of all of them |
| somebody known | one, or several that agree | that id; tags that were not there yet are added as aliases |
| somebody known | a later one; the first is new | the same person, unless known by another tag of that kind |
| two different people | several that disagree | the first counts; the tags that disagree are marked as *shared* |
| | only shared ones | nobody: the row counts as one without an identity |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.chunks import Bytes, Chunks
from discreet.pseudonyms.database import Database
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.hashing import tags as keyed
from discreet.pseudonyms.master import Master
from discreet.pseudonyms.matching import Plan, plan
from discreet.pseudonyms.naming import Resolved

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Banned = Callable[[Bytes], Bools]  # which tags are on the suppression list
Seen = Mapping[str, tuple[Rows, Bytes]]  # for each kind of identity, in order: which rows have it, and their tags

KIND = 8  # bytes that stand for a kind of identity


@dataclass(frozen=True, repr=False, eq=False)
class Known:
    """What is known of one tag."""

    id: Bytes | None
    shared: bool


class People:
    """Tags and ids of one vault."""

    def __init__(self, database: Database, master: Master) -> None:
        self._database = database
        self.links = Chunks(database, "people", master.derive("row", "people"), 16, 16)
        self.aliases = Chunks(database, "aliases", master.derive("row", "aliases"), 16, 16 + KIND, several=True)
        self.shared = Chunks(database, "shared", master.derive("row", "shared"), 16)
        self._kinds = master.derive("row", "kinds")

    def __repr__(self) -> str:
        """No key."""
        return "<People>"

    def stores(self) -> tuple[Chunks, ...]:
        """All that is stored of people."""
        return self.links, self.aliases, self.shared

    def ids_of(self, tags: Bytes, banned: Banned | None = None) -> Bytes:
        """The ids of distinct tags, (n, 16); new ones get a random id, on disk when this returns.

        Zeros for tags that `banned` holds.
        """
        found = self.links.get(tags)
        ids, missing = found.values.copy(), np.flatnonzero(~found.known)
        if len(missing):
            with self._database.transaction():  # another process may have been faster, or erased somebody
                ids[missing] = self._new(tags[missing], banned)
        return ids

    def _new(self, tags: Bytes, banned: Banned | None) -> Bytes:
        found = self.links.get(tags)
        fresh = ~found.known
        if banned is not None:
            fresh &= ~banned(tags)
        ids = found.values.copy()
        ids[fresh] = np.frombuffer(os.urandom(16 * int(fresh.sum())), np.uint8).reshape(-1, 16)
        self.links.put(tags[fresh], ids[fresh])
        return ids

    def resolve(self, rows: int, seen: Seen, banned: Banned) -> Resolved:
        """Who each of the rows is of, by the identities it has."""
        seen = {kind: pair for kind, pair in seen.items() if len(pair[0])}
        if not seen:
            return Resolved(np.zeros((rows, 16), np.uint8), np.zeros(rows, bool), np.zeros(rows, bool))
        if len(seen) == 1:
            return self._single(rows, *next(iter(seen.values())), banned)
        found = plan(rows, seen, self, banned, decide=False)
        if found is None:
            with self._database.transaction():  # looked up again: another process may have been faster
                found = plan(rows, seen, self, banned, decide=True)
                assert found is not None
                self._apply(found)
        return Resolved(found.ids, found.person, found.suppressed)

    def _single(self, rows: int, where: Rows, tags: Bytes, banned: Banned) -> Resolved:
        """One kind of identity: no aliases, so arrays alone."""
        distinct, codes = distinct_bytes(tags)
        shared = self.shared.get(distinct).known
        barred = banned(distinct) & ~shared
        ids = np.zeros((len(distinct), 16), np.uint8)
        good = ~shared & ~barred
        ids[good] = self.ids_of(distinct[good], banned)
        lost = good & ~ids.any(axis=1)  # erased between the two looks
        out = Resolved(np.zeros((rows, 16), np.uint8), np.zeros(rows, bool), np.zeros(rows, bool))
        out.ids[where] = ids[codes]
        out.person[where] = (good & ~lost)[codes]
        out.suppressed[where] = (barred | lost)[codes]
        return out

    def _apply(self, found: Plan) -> None:
        if len(found.new_tags):
            self.links.put(found.new_tags, found.new_ids)
        if len(found.alias_ids):
            self.aliases.put(found.alias_ids, found.alias_values)
        if len(found.shared):
            self.shared.put(found.shared)

    def kind(self, name: str) -> bytes:
        """The bytes that stand for a kind of identity."""
        return keyed([name.encode()], self._kinds, size=KIND).tobytes()

    def known_as(self, id: Bytes) -> dict[bytes, bytes]:
        """The tags a person has, with their kinds; empty if there is one tag alone, which then is not listed."""
        return {value[:16].tobytes(): value[16:].tobytes() for value in self.aliases.all(id)}

    def known(self, tag: Bytes) -> Known:
        """What is known of one tag, (16,)."""
        found, shared = self.links.get(tag[None, :]), self.shared.get(tag[None, :])
        return Known(found.values[0] if found.known[0] else None, bool(shared.known[0]))

    def remove(self, id: Bytes, tags: Bytes) -> Bytes:
        """Cut every link to an id, inside a transaction; `tags` are those it was found by. All its tags, (m, 16)."""
        every = {tag.tobytes() for tag in tags} | set(self.known_as(id))
        gone = np.frombuffer(b"".join(sorted(every)), np.uint8).reshape(-1, 16)
        found = self.links.get(gone)
        own = found.known & (found.values == id).all(axis=1)
        self.links.remove(gone[own])
        self.aliases.remove(id[None, :])
        return gone[~self.shared.get(gone).known]


def derived(rows: int, seen: Seen, banned: Banned) -> Resolved:
    """Who rows are of where links are derived: the tag of the first identity that a row has is the id."""
    out = Resolved(np.zeros((rows, 16), np.uint8), np.zeros(rows, bool), np.zeros(rows, bool))
    for where, own in seen.values():
        first = ~out.person[where]
        out.ids[where[first]] = own[first]
        out.person[where] = True
        out.suppressed[where] |= banned(own)
    out.person[out.suppressed] = False
    return out
