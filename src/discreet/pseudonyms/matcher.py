"""The matcher: goes through rows that name people by several identities, and notes what that says of them.

Two ids that a row names are one person's, unless something sharper tells them apart:

| the two ids | then |
| --- | --- |
| have no identity of one kind that is sharper than the one at hand | they are merged; the sharper one's id stays |
| both have one, and it differs | two people: the identity at hand is *shared* |
| several rows of one table would take over one id | nobody can tell which: the identity at hand is shared |
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.chunks import Bytes, Found
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.versions import Kind

Owned = dict[bytes, bytes]  # tags of a person, and their kinds


class Names(Protocol):
    """What is known of kinds and people."""

    def kind(self, name: str) -> bytes:
        """The bytes that stand for a kind of identity."""

    def owned(self, ids: Bytes) -> dict[bytes, Owned]:
        """The tags that people have, with their kinds, by id."""


@dataclass(frozen=True, repr=False, eq=False)
class Changes:
    """What has to be written: new tags and their ids, aliases (ids; tags and kinds), shared tags and their owners."""

    tags: Bytes
    ids: Bytes
    alias_ids: Bytes
    aliases: Bytes
    shared: Bytes
    owners: Bytes

    def __add__(self, other: Changes) -> Changes:
        """Both."""
        names = [one.name for one in fields(self)]
        return Changes(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))


@dataclass(frozen=True, repr=False)
class Merge:
    """An id that turned out to be of the same person as another one, and the tags it had."""

    old: bytes
    new: bytes
    tags: tuple[bytes, ...]


class Matcher:
    """Ids of tags as rows are gone through.

    Parameters
    ----------
    source : where to look up.
    tags, places : distinct tags, and for each the place of its kind in `seen`.
    seen, kinds : the kinds of the tags; all kinds there are.
    shared, found : for each tag, whether it is several people's, and its id.
    needed : the numbers of the tags that the rows to be gone through have.
    """

    def __init__(
        self,
        source: Names,
        tags: Bytes,
        places: list[int],
        seen: Sequence[Kind],
        kinds: Mapping[str, Kind],
        shared: npt.NDArray[np.bool_],
        found: Found,
        needed: npt.NDArray[np.int64],
    ) -> None:
        self._tags, self._places, self._seen = tags, places, seen
        self._names = [source.kind(kind.label) for kind in seen]
        self._kinds = {source.kind(label): kind for label, kind in kinds.items()}
        self._shared = set(needed[shared[needed]].tolist())
        known = needed[found.known[needed]]
        self._ids = {code: found.values[code].tobytes() for code in known.tolist()}
        self._stored = source.owned(distinct_bytes(found.values[known])[0])
        self._marks: defaultdict[int, set[bytes]] = defaultdict(set)  # new owners of shared tags
        self._new: dict[int, bytes] = {}
        self._fresh: set[bytes] = set()
        self._owned: dict[bytes, Owned] = {}
        self._listed: dict[bytes, set[bytes]] = {}  # of an id: its tags that are on disk as aliases
        self._claims: dict[bytes, set[int]] = {}
        self._became: dict[bytes, bytes] = {}
        self._merged: dict[bytes, tuple[bytes, ...]] = {}

    def primary(self, codes: list[int]) -> int | None:
        """The kind of the first identity that is not shared."""
        for code in codes:
            if code not in self._shared:
                return self._places[code]
        return None

    def claim(self, rows: list[list[int]]) -> None:
        """Note which people would take over somebody known by a later identity."""
        claims: defaultdict[bytes, set[int]] = defaultdict(set)
        for codes in rows:
            first, *others = self._usable(codes)
            for code in others:
                known = self._id(code)
                if known is not None and known != self._id(first):
                    claims[known].add(first)
        self._claims = claims

    def match(self, codes: list[int]) -> bytes:
        """The id of a row; tags that are new or disagree are noted."""
        first, *others = self._usable(codes)
        id = self._id(first) or self._adopted(first, others) or self._created(first)
        for code in others:
            known = self._id(code)
            if known is None:
                if not self._seen[self._places[code]].age:
                    self._link(code, id, first)
            elif known != id and self._apart(self._tags_of(id, first), known, code):
                self._tags_of(known, code)
                self._shared.add(code)
                self._marks[code].add(known)
            elif known != id:
                self._merge(id, first, known, code)
        for code in codes:
            if code in self._shared:
                self._own(code, id, first)
        return id

    def final(self, ids: Bytes) -> Bytes:
        """Ids of rows, after all that was merged since they were looked up."""
        if not self._became:
            return ids
        distinct, codes = distinct_bytes(ids)
        return _array([self._root(id.tobytes()) for id in distinct], 16)[codes]

    def changes(self) -> Changes:
        """What has to be written of people who stay."""
        aliases = [
            (id, tag + kind)
            for id, owned in self._owned.items()
            if len(owned) > 1
            for tag, kind in owned.items()
            if tag not in self._listed[id]
        ]
        marks = sorted({(code, self._root(id)) for code, owners in self._marks.items() for id in owners})
        return Changes(
            self._tags[list(self._new)],
            _array([self._root(id) for id in self._new.values()], 16),
            _array([id for id, _ in aliases], 16),
            _array([value for _, value in aliases], 24),
            self._tags[[code for code, _ in marks]],
            _array([id for _, id in marks], 16),
        )

    def merges(self) -> list[Merge]:
        """Ids on disk that are another one's now."""
        return [Merge(old, self._root(old), tags) for old, tags in self._merged.items()]

    def _usable(self, codes: list[int]) -> list[int]:
        return [code for code in codes if code not in self._shared]

    def _id(self, code: int) -> bytes | None:
        id = self._ids.get(code)
        return None if id is None else self._root(id)

    def _root(self, id: bytes) -> bytes:
        while id in self._became:
            id = self._became[id]
        return id

    def _created(self, code: int) -> bytes:
        id = os.urandom(16)
        self._fresh.add(id)
        self._ids[code] = self._new[code] = id
        return id

    def _adopted(self, first: int, others: list[int]) -> bytes | None:
        """Somebody known by a later identity, if that may be the same person."""
        for code in others:
            known = self._id(code)
            mine = {self._tags[first].tobytes(): self._names[self._places[first]]}
            if known is not None and not self._apart(mine, known, code):
                self._link(first, known, code)
                return known
        return None

    def _apart(self, mine: Owned, known: bytes, code: int) -> bool:
        """Whether something sharper than the tag at hand tells two people apart."""
        if len(self._claims.get(known, ())) > 1:
            return True
        at = self._seen[self._places[code]]
        return bool(self._sharper(mine, at) & self._sharper(self._tags_of(known, code), at))

    def _sharper(self, owned: Owned, at: Kind) -> set[tuple[int, int]]:
        """The kinds of a person's tags that are sharper than one; of other identities any version counts."""
        kinds = [self._kinds[kind] for kind in owned.values() if kind in self._kinds]
        others = {(kind.rank, -1) for kind in kinds if kind.rank < at.rank}
        return others | {(kind.rank, kind.age) for kind in kinds if kind.rank == at.rank and kind.age < at.age}

    def _merge(self, id: bytes, first: int, other: bytes, code: int) -> None:
        theirs = self._tags_of(other, code)
        if other not in self._fresh:
            self._merged[other] = tuple(theirs)
        self._tags_of(id, first).update(theirs)
        del self._owned[other]
        self._became[other] = id

    def _own(self, code: int, id: bytes, first: int) -> None:
        """Note that a shared tag is also this person's."""
        owned, tag = self._tags_of(id, first), self._tags[code].tobytes()
        if tag not in owned:
            owned[tag] = self._names[self._places[code]]
            self._marks[code].add(id)

    def _link(self, code: int, id: bytes, beside: int) -> None:
        """One more tag for a person who has another."""
        self._ids[code] = self._new[code] = id
        self._tags_of(id, beside)[self._tags[code].tobytes()] = self._names[self._places[code]]

    def _tags_of(self, id: bytes, code: int) -> Owned:
        """The tags of a person who has this one."""
        if id not in self._owned:
            self._owned[id] = {} if id in self._fresh else self._stored[id]
            self._listed[id] = set(self._owned[id])
        self._owned[id].setdefault(self._tags[code].tobytes(), self._names[self._places[code]])
        return self._owned[id]


def _array(rows: list[bytes], width: int) -> Bytes:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, width)
