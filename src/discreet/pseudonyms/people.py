"""People: who has which id (stored links).

On first sight a person gets a random id of 16 bytes under the tag of an identity. All pseudonyms come from the id, so
when the row is gone nothing leads from the identity to it any more. Rows are sealed (`chunks.py`).

| a row names | by identities | then |
| --- | --- | --- |
| nobody known | any | a new id, under the tags of all of them |
| somebody known | one, or several that agree | that id; tags that were not there yet are added as aliases |
| somebody known | a later one; the first is new | the same person, unless known by another tag of that kind |
| two ids | that nothing sharper tells apart | one person: the first id stays, the other is a *former* one |
| two different people | several that disagree | the first counts; the tags that disagree are marked as *shared* |
| | only shared ones | nobody: the row counts as one without an identity |
| somebody known | an older version of one (`versions.py`) | that id; the tag of now is added as an alias |

A mark of a shared tag keeps whose it is, and goes with the last of them (`owners.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.pseudonyms.chunks import Bytes, Chunks
from discreet.pseudonyms.database import Database
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.hashing import tags as keyed
from discreet.pseudonyms.master import Master
from discreet.pseudonyms.matcher import Changes, Merge, Owned
from discreet.pseudonyms.matching import Plan, Tagged, coded, plan
from discreet.pseudonyms.naming import Resolved
from discreet.pseudonyms.owners import Owners
from discreet.pseudonyms.suppression import WIDTH as KIND
from discreet.pseudonyms.suppression import Suppression, erased
from discreet.pseudonyms.versions import Kind

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Banned = Callable[[Bytes], Bools]  # which tags are on the suppression list
FEW = 64


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
        self.shared = Chunks(database, "shared", master.derive("row", "shared"), 16, 16, several=True)
        self.former = Chunks(database, "former", master.derive("row", "former"), 16, 16, several=True)
        self.owners = Owners(self.shared)
        self._kinds = master.derive("row", "kinds")

    def __repr__(self) -> str:
        """No key."""
        return "<People>"

    def stores(self) -> tuple[Chunks, ...]:
        """All that is stored of people."""
        return self.links, self.aliases, self.shared, self.former

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

    def resolve(
        self, rows: int, seen: Sequence[Tagged], suppression: Suppression, kinds: Mapping[str, Kind]
    ) -> Resolved:
        """Who each of the rows is of, by the identities it has; `kinds` are all there are."""
        seen = [one for one in seen if len(one.rows)]
        if not seen:
            return Resolved(np.zeros((rows, 16), np.uint8), np.zeros(rows, bool), np.zeros(rows, bool))
        if len(seen) == 1:
            return self._single(rows, seen[0].rows, seen[0].tags, suppression.known)
        read = coded(rows, seen)
        found = None if self._some_new(seen) else plan(read, seen, self, suppression, kinds, decide=False)
        if found is None:
            with self._database.transaction():  # looked up again: another process may have been faster
                found = plan(read, seen, self, suppression, kinds, decide=True)
                assert found is not None
                self._apply(found)
        return Resolved(found.ids, found.person, found.suppressed)

    def _some_new(self, seen: Sequence[Tagged]) -> bool:
        """Whether a look at a few tags tells already that there is something to write."""
        some = [one.tags[:: len(one.tags) // FEW + 1] for one in seen if not one.kind.age]
        return bool(some) and not self.links.get(np.concatenate(some)).known.all()

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
        if found.merges:
            self._merge(found.merges)
        self._write(found.changes)

    def _write(self, changes: Changes) -> None:
        if len(changes.tags):
            self.links.put(changes.tags, changes.ids)
        if len(changes.alias_ids):
            self.aliases.put(changes.alias_ids, changes.aliases)
        self.owners.change(add=_pairs(changes.shared, changes.owners))

    def _merge(self, merges: Sequence[Merge]) -> None:
        """Give all that ids had to others; tables that have them are found by the others too."""
        old, new = _array([one.old for one in merges]), _array([one.new for one in merges])
        of = np.repeat(np.arange(len(merges)), [len(one.tags) for one in merges])
        tags = _array([tag for one in merges for tag in one.tags])
        found = self.links.get(tags)
        own = found.known & (found.values == old[of]).all(axis=1)
        self.links.remove(tags[own])
        self.links.put(tags[own], new[of[own]])
        self.aliases.remove(old)
        for place in np.flatnonzero(self.former.get(old).known):
            before = self.former.all(old[place])
            self.former.put(np.repeat(new[place][None, :], len(before), axis=0), before)
        self.former.remove(old)
        self.former.put(new, old)
        several = self.shared.get(tags).known
        whose = of[several]
        self.owners.change(add=_pairs(tags[several], new[whose]), drop=_pairs(tags[several], old[whose]))

    def kind(self, name: str) -> bytes:
        """The bytes that stand for a kind of identity."""
        return keyed([name.encode()], self._kinds, size=KIND).tobytes()

    def known_as(self, id: Bytes) -> Owned:
        """The tags a person has, with their kinds; empty if there is one tag alone, which then is not listed."""
        return self.owned(id[None, :])[id.tobytes()]

    def owned(self, ids: Bytes) -> dict[bytes, Owned]:
        """The same for distinct ids."""
        found: dict[bytes, Owned] = {id.tobytes(): {} for id in ids}
        for place, value in zip(*self.aliases.every(ids), strict=True):
            found[ids[place].tobytes()][value[:16].tobytes()] = value[16:].tobytes()
        return found

    def known(self, tag: Bytes) -> Known:
        """What is known of one tag, (16,)."""
        found, shared = self.links.get(tag[None, :]), self.shared.get(tag[None, :])
        return Known(found.values[0] if found.known[0] else None, bool(shared.known[0]))

    def every_id(self, id: Bytes) -> Bytes:
        """A person's id and the former ones, (m, 16)."""
        return np.concatenate([id[None, :], self.former.all(id)])

    def present(self, ids: Bytes) -> Bytes:
        """Ids with each former one replaced by that of now."""
        joined = _frame(ids).join(self._formers(), on=("a", "b"), how="left", maintain_order="left")
        now = np.column_stack([joined["c"].fill_null(joined["a"]).to_numpy(), joined["d"].fill_null(joined["b"])])
        return np.ascontiguousarray(now).view(np.uint8)

    def merged(self, ids: Bytes) -> bool:
        """Whether any of the ids is a former one."""
        return bool(_frame(ids).join(self._formers(), on=("a", "b"), how="semi").height)

    def count_unlinked(self, ids: Bytes) -> int:
        """To how many of the ids no tag leads; all links are read for that."""
        known = _frame(np.concatenate([values for _, values in self.links.scan()]))
        return _frame(ids).join(known, on=("a", "b"), how="anti").height

    def _formers(self) -> pl.DataFrame:
        """All former ids, and those of now."""
        now, before = (np.concatenate(parts) for parts in zip(*self.former.scan(), strict=True))
        return _frame(before).hstack(_frame(now).rename({"a": "c", "b": "d"}))

    def remove(self, id: Bytes, tags: Bytes) -> Bytes:
        """Cut every link to an id, inside a transaction; `tags` are those it was found by.

        Returns all its tags, (m, 16), but for those that are also other people's, and placeholders.
        """
        return self.cut({id.tobytes(): [tag.tobytes() for tag in tags]})

    def cut(self, people: Mapping[bytes, Sequence[bytes]]) -> Bytes:
        """The same for many ids, with the tags that each was found by."""
        ids = _array(list(people))
        own = self.owned(ids)
        pairs = [(tag, id) for id, tags in people.items() for tag in sorted({*tags, *own[id]})]
        gone, whose = _array([tag for tag, _ in pairs]), _array([id for _, id in pairs])
        found = self.links.get(gone)
        linked = found.known & (found.values == whose).all(axis=1)
        self.links.remove(gone[linked])
        self.aliases.remove(ids)
        self.former.remove(ids)
        theirs = linked | np.array([tag in own[id] for tag, id in pairs], bool)  # an id may have been merged meanwhile
        several = np.flatnonzero(self.shared.get(gone).known & theirs)
        placeholders = self.owners.placeholders(gone)
        left = self.owners.change(drop=[pairs[place] for place in several])
        return _array(sorted({tag for tag, _ in pairs if not left.get(tag) and tag not in placeholders}))

    def take_off(self, id: Bytes, tags: Bytes) -> bool:
        """Take tags off a person, inside a transaction; False if none is theirs, or no other is left."""
        known = self.known_as(id)
        off = {tag.tobytes() for tag in tags} & set(known)
        left = {tag: kind for tag, kind in known.items() if tag not in off}
        if not off or not left or self.shared.get(_array(list(left))).known.all():
            return False
        self.aliases.remove(id[None, :])
        values = np.frombuffer(b"".join(tag + kind for tag, kind in left.items()), np.uint8).reshape(-1, 16 + KIND)
        self.aliases.put(np.repeat(id[None, :], len(left), axis=0), values)
        for tag in _array(sorted(off)):
            self._give_up(tag, id)
        return True

    def _give_up(self, tag: Bytes, id: Bytes) -> None:
        """One person less who has a tag; if it was shared and one is left, it is theirs."""
        found = self.links.get(tag[None, :])
        if found.known[0] and (found.values[0] == id).all():
            self.links.remove(tag[None, :])
        if self.shared.get(tag[None, :]).known[0]:
            self.owners.change(drop=_pairs(tag[None, :], id[None, :]))
            if (last := self.owners.last(tag)) is not None:
                self.links.remove(tag[None, :])
                self.links.put(tag[None, :], last)
                self.shared.remove(tag[None, :])


def _array(rows: Sequence[bytes]) -> Bytes:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, 16)


def _frame(ids: Bytes) -> pl.DataFrame:
    """Ids of 16 bytes as two numbers."""
    halves = np.ascontiguousarray(ids).view(np.uint64)
    return pl.DataFrame({"a": halves[:, 0], "b": halves[:, 1]})


def _pairs(tags: Bytes, ids: Bytes) -> list[tuple[bytes, bytes]]:
    return [(tag.tobytes(), id.tobytes()) for tag, id in zip(tags, ids, strict=True)]


def derived(rows: int, seen: Sequence[Tagged], suppression: Suppression, people: People) -> Resolved:
    """Who rows are of where links are derived: the tag of the first identity that a row has is the id."""
    found = [suppression.find(one.tags) for one in seen]
    listed = [(one.known, one.values) for one in found]
    return by_tags(rows, seen, listed, [people.kind(one.kind.fields) for one in seen])


def by_tags(
    rows: int, seen: Sequence[Tagged], listed: Sequence[tuple[Bools, Bytes]], fields: Sequence[bytes]
) -> Resolved:
    """The same, from what is on the suppression list of the tags of each kind, and what stands for its fields."""
    out = Resolved(np.zeros((rows, 16), np.uint8), np.zeros(rows, bool), np.zeros(rows, bool))
    has, barred = np.zeros((rows, len(seen)), bool), np.zeros((rows, len(seen)), bool)
    known_by = np.zeros((rows, len(seen), KIND), np.uint8)
    for place, (one, (known, values)) in enumerate(zip(seen, listed, strict=True)):
        has[one.rows, place], barred[one.rows, place], known_by[one.rows, place] = True, known, values
        if not one.kind.age:
            first = ~out.person[one.rows]
            out.ids[one.rows[first]] = one.tags[first]
            out.person[one.rows] = True
    out.suppressed[:] = erased(has, barred, known_by, fields, np.zeros(rows, bool))
    out.person[out.suppressed] = False
    return out
