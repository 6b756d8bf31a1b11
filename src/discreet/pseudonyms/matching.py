"""Matching: one person is one person, also when rows name people by several identities at once.

`plan` looks up and decides; it writes nothing. `people.py` says in a table what is decided.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.chunks import Bytes, Chunks, Found
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.matcher import Changes, Matcher, Merge, Names
from discreet.pseudonyms.suppression import Suppression, erased
from discreet.pseudonyms.versions import Kind

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


class Source(Names, Protocol):
    """What is looked up."""

    links: Chunks
    shared: Chunks


@dataclass(frozen=True, repr=False, eq=False)
class Tagged:
    """Which rows have an identity of one kind, and their tags."""

    kind: Kind
    rows: Rows
    tags: Bytes


@dataclass(frozen=True, repr=False, eq=False)
class Plan:
    """Who rows are of, and what has to be written first."""

    ids: Bytes
    person: Bools
    suppressed: Bools
    changes: Changes
    merges: list[Merge]


@dataclass(frozen=True, repr=False, eq=False)
class Coded:
    """Distinct tags; for each row and kind which of them it has (-1: none)."""

    tags: Bytes
    codes: Rows


def plan(
    coded: Coded,
    seen: Sequence[Tagged],
    source: Source,
    suppression: Suppression,
    kinds: Mapping[str, Kind],
    decide: bool,
) -> Plan | None:
    """Decide for rows that have several kinds of identities.

    Parameters
    ----------
    coded, seen : the tags of rows; for each kind, in order, which rows have it.
    source, suppression : where to look up.
    kinds : all there are, also those that no row has.
    decide : whether anything may be new; otherwise None if something is.
    """
    tags, codes = coded.tags, coded.codes.copy()
    found, shared = source.links.get(tags), source.shared.get(tags).known
    older = np.array([one.kind.age > 0 for one in seen])
    suppressed = _suppressed(codes, seen, source, found, shared, suppression.find(tags))
    _current(codes, seen, shared)
    ids, person = _settled(codes, found, shared, older)
    person &= ~suppressed
    person &= _noted(codes, tags, ids, person, shared, source)
    _reopen(codes, person, shared)
    ids[~person] = 0
    rest = ~person & ~suppressed & ((codes >= 0) & ~shared[codes] & ~older).any(axis=1)
    if not decide and rest.any():
        return None
    lone = rest & _alone(codes, found.known | shared, older)
    ids[lone] = np.frombuffer(os.urandom(16 * int(lone.sum())), np.uint8).reshape(-1, 16)
    unsettled = np.flatnonzero(rest & ~lone)
    needed = np.unique(codes[unsettled][codes[unsettled] >= 0])
    matcher = Matcher(source, tags, _places(codes, len(tags)), [one.kind for one in seen], kinds, shared, found, needed)
    _match(matcher, codes, unsettled, ids, person)
    person |= lone
    names = [np.frombuffer(source.kind(one.kind.label), np.uint8) for one in seen]
    changes = matcher.changes() + _first_seen(codes[lone][:, ~older], ids[lone], tags, names, older)
    return Plan(matcher.final(ids), person, suppressed, changes, matcher.merges())


def _suppressed(
    codes: Rows, seen: Sequence[Tagged], source: Source, found: Found, shared: Bools, listed: Found
) -> Bools:
    """Rows of erased people. Elsewhere identities that are on the list are left out: they are not the row's alone."""
    has = codes >= 0
    bar = has & (listed.known & ~shared)[codes]
    if not bar.any():
        return np.zeros(len(codes), bool)
    fields = [source.kind(one.kind.fields) for one in seen]
    for kind in set(fields):  # an identity is on the list if any version of it is
        own = np.array([one == kind for one in fields])
        bar[:, own] |= has[:, own] & bar[:, own].any(axis=1, keepdims=True)
    usable = has & ~shared[codes]
    every = np.arange(len(codes))
    first = usable.argmax(axis=1)
    known = np.zeros(codes.shape, bool)
    for kind in set(fields):
        own = np.array([one == kind for one in fields])
        known[:, own] = (usable & found.known[codes])[:, own].any(axis=1, keepdims=True)
    decided = usable.any(axis=1) & known[every, first] & ~bar[every, first]
    out = erased(has, bar, listed.values[codes], fields, decided)
    codes[bar] = -1
    return out


def _current(codes: Rows, seen: Sequence[Tagged], shared: Bools) -> None:
    """Leave an older version of an identity out where the one of now is missing or several people's."""
    newest = {one.kind.fields: place for place, one in enumerate(seen) if not one.kind.age}
    for place, one in enumerate(seen):
        if one.kind.age:
            now = codes[:, newest[one.kind.fields]]
            codes[(now < 0) | shared[now], place] = -1


def _match(matcher: Matcher, codes: Rows, rows: Rows, ids: Bytes, person: Bools) -> None:
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


def _alone(codes: Rows, known: Bools, older: Bools) -> Bools:
    """Rows all of whose tags are new and in no other row: new people, with nothing to decide."""
    has = codes >= 0
    once = (np.bincount(codes[has], minlength=len(known)) == 1) & ~known
    alone: Bools = np.logical_and.reduce(once[codes] | ~has | (older & ~known[codes]), axis=1)
    return alone


def _first_seen(codes: Rows, ids: Bytes, tags: Bytes, names: list[Bytes], older: Bools) -> Changes:
    """What has to be written of such people."""
    row, kind = np.nonzero(codes >= 0)
    new = tags[codes[row, kind]]
    several = ((codes >= 0).sum(axis=1) > 1)[row]
    values = np.concatenate([new, np.array(names, np.uint8)[~older][kind]], axis=1)
    return Changes(new, ids[row], ids[row][several], values[several], tags[:0], tags[:0])


def _reopen(codes: Rows, person: Bools, shared: Bools) -> None:
    """Rows that share a tag with one that is not settled are not settled either: what is decided may concern them.

    Tags that several people have already stay so, whatever is decided.
    """
    has = codes >= 0
    touched = np.zeros(len(shared), bool)
    touched[codes[~person][has[~person]]] = True
    person &= ~(has & (touched & ~shared)[codes]).any(axis=1)


def _settled(codes: Rows, found: Found, shared: Bools, older: Bools) -> tuple[Bytes, Bools]:
    """Rows whose identities are all known and agree, but for those of several people; and their ids.

    Older versions need not be known.
    """
    usable = (codes >= 0) & ~shared[codes]
    first = codes[np.arange(len(codes)), usable.argmax(axis=1)]
    ids = found.values[first]
    agree = (found.values[codes] == ids[:, None, :]).all(axis=2) & found.known[codes]
    agree |= older & ~found.known[codes]
    return ids.copy(), (agree | ~usable).all(axis=1) & usable.any(axis=1)


def _noted(codes: Rows, tags: Bytes, ids: Bytes, person: Bools, shared: Bools, source: Source) -> Bools:
    """Rows of which it is noted already that the tags of several people are also theirs."""
    out = np.ones(len(codes), bool)
    several = (codes >= 0) & shared[codes]
    rows = np.flatnonzero(person & several.any(axis=1))
    if len(rows):
        owned = source.owned(distinct_bytes(ids[rows])[0])
        own = [owned[id.tobytes()] for id in ids[rows]]
        named = [[tags[code].tobytes() for code in codes[row][several[row]]] for row in rows]
        out[rows] = [all(tag in mine for tag in of) for mine, of in zip(own, named, strict=True)]
    return out


def coded(rows: int, seen: Sequence[Tagged]) -> Coded:
    """The tags of rows: how many there are, and for each kind, in order, which rows have it and their tags."""
    tags, numbers = distinct_bytes(np.concatenate([one.tags for one in seen]))
    codes = np.full((rows, len(seen)), -1, np.int64)
    start = 0
    for place, one in enumerate(seen):
        codes[one.rows, place] = numbers[start : start + len(one.tags)]
        start += len(one.tags)
    return Coded(tags, codes)


def _places(codes: Rows, tags: int) -> list[int]:
    """For each tag which kind it is of."""
    found = np.zeros(tags, np.int64)
    for place in range(codes.shape[1]):
        found[codes[codes[:, place] >= 0, place]] = place
    places: list[int] = found.tolist()
    return places
