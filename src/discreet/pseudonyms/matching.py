"""Matching: one person is one person, also when rows name people by several identities at once.

`plan` looks up and decides; it writes nothing. `people.py` says in a table what is decided.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.chunks import Bytes, Chunks, Found
from discreet.pseudonyms.distinct import distinct_bytes

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


class Source(Protocol):
    """What is looked up."""

    links: Chunks
    shared: Chunks

    def kind(self, name: str) -> bytes:
        """The bytes that stand for a kind of identity."""

    def known_as(self, id: Bytes) -> dict[bytes, bytes]:
        """The tags a person has, with their kinds."""


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """Who rows are of, and what has to be written first."""

    ids: Bytes
    person: Bools
    suppressed: Bools
    new_tags: Bytes
    new_ids: Bytes
    alias_ids: Bytes
    alias_values: Bytes
    shared: Bytes


def plan(
    rows: int, seen: Mapping[str, tuple[Rows, Bytes]], source: Source, banned: Callable[[Bytes], Bools], decide: bool
) -> Plan | None:
    """Decide for rows that have several kinds of identities.

    Parameters
    ----------
    rows, seen : how many rows; for each kind, in order, which rows have it and their tags.
    source, banned : where to look up.
    decide : whether anything may be new; otherwise None if something is.
    """
    tags, codes, kinds = _coded(rows, seen)
    found, shared = source.links.get(tags), source.shared.get(tags).known
    barred = banned(tags) & ~shared
    has = codes >= 0
    suppressed: Bools = np.logical_or.reduce(has & barred[codes], axis=1)
    ids, person = _settled(codes, found, shared)
    person &= ~suppressed
    _reopen(codes, person, len(tags))
    ids[~person] = 0
    rest = ~person & ~suppressed & (has & ~shared[codes]).any(axis=1)
    if not decide and rest.any():
        return None
    lone = rest & _alone(codes, found.known | shared)
    ids[lone] = np.frombuffer(os.urandom(16 * int(lone.sum())), np.uint8).reshape(-1, 16)
    matcher = _Matcher(source, tags, kinds, shared, found)
    _match(matcher, codes, np.flatnonzero(rest & ~lone), ids, person)
    person |= lone
    names = [np.frombuffer(source.kind(name), np.uint8) for name in seen]
    changes = zip(matcher.changes(), _first_seen(codes[lone], ids[lone], tags, names), strict=True)
    return Plan(ids, person, suppressed, *(np.concatenate(pair) for pair in changes))


def _match(matcher: _Matcher, codes: Rows, rows: Rows, ids: Bytes, person: Bools) -> None:
    """Go through rows one by one; what the sharper identities add is there when the others are looked at."""
    named = {
        row: [code for code in own if code >= 0] for row, own in zip(rows.tolist(), codes[rows].tolist(), strict=True)
    }
    for kind in range(codes.shape[1]):
        mine = [row for row, own in named.items() if matcher.primary(own) == kind]
        matcher.claim([named[row] for row in mine])
        for row in mine:
            ids[row] = np.frombuffer(matcher.match(named[row]), np.uint8)
        person[mine] = True


def _alone(codes: Rows, known: Bools) -> Bools:
    """Rows all of whose tags are new and in no other row: new people, with nothing to decide."""
    has = codes >= 0
    once = (np.bincount(codes[has], minlength=len(known)) == 1) & ~known
    alone: Bools = np.logical_and.reduce(once[codes] | ~has, axis=1)
    return alone


def _first_seen(codes: Rows, ids: Bytes, tags: Bytes, names: list[Bytes]) -> tuple[Bytes, Bytes, Bytes, Bytes, Bytes]:
    """What has to be written of such people, as `_Matcher.changes` gives it."""
    row, kind = np.nonzero(codes >= 0)
    new = tags[codes[row, kind]]
    several = ((codes >= 0).sum(axis=1) > 1)[row]
    values = np.concatenate([new, np.array(names, np.uint8)[kind]], axis=1)
    return new, ids[row], ids[row][several], values[several], tags[:0]


def _reopen(codes: Rows, person: Bools, tags: int) -> None:
    """Rows that share a tag with one that is not settled are not settled either: what is decided may concern them."""
    has = codes >= 0
    touched = np.zeros(tags, bool)
    touched[codes[~person][has[~person]]] = True
    person &= ~(has & touched[codes]).any(axis=1)


def _settled(codes: Rows, found: Found, shared: Bools) -> tuple[Bytes, Bools]:
    """Rows whose identities are all known, agree and are not shared: nothing to decide; and their ids."""
    has = codes >= 0
    first = codes[np.arange(len(codes)), has.argmax(axis=1)]
    ids = found.values[first]
    agree = (found.values[codes] == ids[:, None, :]).all(axis=2) & found.known[codes] & ~shared[codes]
    return ids.copy(), (agree | ~has).all(axis=1) & has.any(axis=1)


def _coded(rows: int, seen: Mapping[str, tuple[Rows, Bytes]]) -> tuple[Bytes, Rows, list[tuple[int, str]]]:
    """Distinct tags; for each row and kind which of them it has (-1: none); for each tag its kind."""
    tags, numbers = distinct_bytes(np.concatenate([own for _, own in seen.values()]))
    codes = np.full((rows, len(seen)), -1, np.int64)
    kinds: list[tuple[int, str]] = [(0, "")] * len(tags)
    start = 0
    for place, (name, (where, own)) in enumerate(seen.items()):
        part = numbers[start : start + len(own)].astype(np.int64)
        codes[where, place] = part
        for code in part.tolist():
            kinds[code] = (place, name)
        start += len(own)
    return tags, codes, kinds


class _Matcher:
    """Ids of tags as rows are gone through."""

    def __init__(self, source: Source, tags: Bytes, kinds: list[tuple[int, str]], shared: Bools, found: Found) -> None:
        self._source, self._tags, self._kinds = source, tags, kinds
        self._names = {name: source.kind(name) for _, name in set(kinds)}
        self._shared = set(np.flatnonzero(shared).tolist())
        self._ids: dict[int, bytes] = {
            code: found.values[code].tobytes() for code in np.flatnonzero(found.known).tolist()
        }
        self._marked: list[int] = []  # found to be shared just now
        self._new: dict[int, bytes] = {}
        self._fresh: set[bytes] = set()
        self._owned: dict[bytes, dict[bytes, bytes]] = {}  # of an id: its tags and their kinds
        self._listed: dict[bytes, set[bytes]] = {}  # of an id: its tags that are on disk as aliases
        self._claims: dict[int, int] = {}

    def primary(self, codes: list[int]) -> int | None:
        """The kind of the first identity that is not shared."""
        for code in codes:
            if code not in self._shared:
                return self._kinds[code][0]
        return None

    def claim(self, rows: list[list[int]]) -> None:
        """Count how many new people would take over somebody known by a later identity."""
        claims: defaultdict[int, set[int]] = defaultdict(set)
        for codes in rows:
            first, *others = self._usable(codes)
            if first not in self._ids:
                for code in others:
                    claims[code].add(first)
        self._claims = {code: len(firsts) for code, firsts in claims.items()}

    def match(self, codes: list[int]) -> bytes:
        """The id of a row; tags that are new or disagree are noted."""
        first, *others = self._usable(codes)
        id = self._ids.get(first) or self._adopted(first, others) or self._created(first)
        for code in others:
            known = self._ids.get(code)
            if known is None:
                self._link(code, id, first)
            elif known != id:
                self._shared.add(code)
                self._marked.append(code)
        return id

    def changes(self) -> tuple[Bytes, Bytes, Bytes, Bytes, Bytes]:
        """New tags and their ids, aliases (ids; tags and kinds), and tags that turned out to be shared."""
        aliases = [
            (id, tag + kind)
            for id, owned in self._owned.items()
            if len(owned) > 1
            for tag, kind in owned.items()
            if tag not in self._listed[id]
        ]
        return (
            self._tags[list(self._new)],
            _array(list(self._new.values()), 16),
            _array([id for id, _ in aliases], 16),
            _array([value for _, value in aliases], 24),
            self._tags[self._marked],
        )

    def _usable(self, codes: list[int]) -> list[int]:
        return [code for code in codes if code not in self._shared]

    def _created(self, code: int) -> bytes:
        id = os.urandom(16)
        self._fresh.add(id)
        self._ids[code] = self._new[code] = id
        return id

    def _adopted(self, first: int, others: list[int]) -> bytes | None:
        """The one person known by later identities, if that may be the same one."""
        known = [code for code in others if code in self._ids]
        if len({self._ids[code] for code in known}) != 1 or any(self._claims.get(code, 0) > 1 for code in known):
            return None
        id = self._ids[known[0]]
        if self._names[self._kinds[first][1]] in self._tags_of(id, known[0]).values():
            return None
        self._link(first, id, known[0])
        return id

    def _link(self, code: int, id: bytes, beside: int) -> None:
        """One more tag for a person who has another."""
        self._ids[code] = self._new[code] = id
        self._tags_of(id, beside)[self._tags[code].tobytes()] = self._names[self._kinds[code][1]]

    def _tags_of(self, id: bytes, code: int) -> dict[bytes, bytes]:
        """The tags of a person who has this one."""
        if id not in self._owned:
            self._owned[id] = {} if id in self._fresh else self._source.known_as(np.frombuffer(id, np.uint8))
            self._listed[id] = set(self._owned[id])
        self._owned[id].setdefault(self._tags[code].tobytes(), self._names[self._kinds[code][1]])
        return self._owned[id]


def _array(rows: list[bytes], width: int) -> Bytes:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(-1, width)
