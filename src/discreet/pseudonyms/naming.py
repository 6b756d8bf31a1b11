"""Pseudonyms for rows of identifiers: who each row is of, what becomes of rows that are of nobody, and the tokens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.pseudonyms.distinct import distinct, distinct_bytes
from discreet.pseudonyms.errors import MissingIdentifiers, Unparsable, VaultError
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.messages import Messages, messages
from discreet.pseudonyms.tokens import ID, TokenKeys, one_way, seal
from discreet.pseudonyms.totals import BAD, MISSING, PERSON, SUPPRESSED, Faults, Totals

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Resolved:
    """Who rows are of; its repr shows numbers alone.

    Parameters
    ----------
    ids : (n, 16); zeros where a row is of nobody that the vault knows of.
    person : whether it is of somebody.
    suppressed : whether it is of somebody who was erased and is not to be taken in again.
    """

    ids: Bytes
    person: Bools
    suppressed: Bools

    def __repr__(self) -> str:
        return f"<Resolved: {int(self.person.sum())} of {len(self.person)} rows are of people>"


Resolve = Callable[[Messages], Resolved]
Fresh = Callable[[Numbers], Bytes]


@dataclass(frozen=True, repr=False)
class Read:
    """Rows of identifiers, parsed; its repr shows a number alone.

    Parameters
    ----------
    found : what the distinct rows say of people.
    codes, counts : which of them each row is, and how often each is there.
    bad : for each column, how many values do not parse.
    """

    found: Messages
    codes: npt.NDArray[np.uint32]
    counts: Numbers
    bad: Mapping[str, int]

    def __repr__(self) -> str:
        return f"<Read: {len(self.codes)} rows>"

    @property
    def people(self) -> int:
        """How many there are at most."""
        return self.found.rows


@dataclass(frozen=True, repr=False)
class Named:
    """The pseudonyms of some rows; its repr shows a number alone.

    Parameters
    ----------
    words : one for each row, also for those that are left out.
    codes, what, ids : which of the distinct rows each row is; what each of those is, and its id.
    kept : which rows are kept; None: all of them.
    own : which rows have a pseudonym of their own, and count for no person; None: no row.
    """

    words: pl.Series
    codes: npt.NDArray[np.uint32]
    what: npt.NDArray[np.uint8]
    ids: Bytes
    kept: Bools | None = None
    own: Bools | None = None

    def __repr__(self) -> str:
        return f"<Named: {len(self.words)} rows>"


def random_ids(rows: Numbers) -> Bytes:
    """An id for each row that no other row has."""
    return np.frombuffer(os.urandom(ID * len(rows)), np.uint8).reshape(-1, ID)


@dataclass(frozen=True)
class Policy:
    """What becomes of rows that are of nobody.

    Parameters
    ----------
    missing : rows without a whole identity: "refuse" the table, "skip" them (they are left out), or "one-off": a random
        pseudonym for each row, that no other row has and that leads to nobody.
    unparsable : "refuse" a table with any value that does not parse as declared; or what becomes of rows that hold one
        and no other whole identity: "skip" or "one-off".
    suppressed : rows of people who were erased: "drop" them, or "one-off".
    """

    missing: str = "refuse"
    unparsable: str = "refuse"
    suppressed: str = "drop"

    def __post_init__(self) -> None:
        for name, known in (
            ("missing", ("refuse", "skip", "one-off")),
            ("unparsable", ("refuse", "skip", "one-off")),
            ("suppressed", ("drop", "one-off")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"The `{name}` must be one of {', '.join(known)}. Got {getattr(self, name)!r}.")

    def left_out(self) -> list[int]:
        """Which kinds of rows are left out."""
        chosen = {MISSING: self.missing, BAD: self.unparsable, SUPPRESSED: self.suppressed}
        return [what for what, action in chosen.items() if action in ("skip", "drop")]

    def one_off(self) -> list[int]:
        """Which kinds of rows get a pseudonym of their own."""
        chosen = {MISSING: self.missing, BAD: self.unparsable, SUPPRESSED: self.suppressed}
        return [what for what, action in chosen.items() if action == "one-off"]


class Ids:
    """Ids of people, gathered piece by piece: memory goes by people, not by rows."""

    def __init__(self) -> None:
        self._parts: list[Bytes] = []
        self._waiting = 0

    def add(self, ids: Bytes) -> None:
        """Some more, (n, 16)."""
        self._parts.append(ids)
        self._waiting += len(ids)
        if self._waiting > 1 << 20 and self._waiting > len(self._parts[0]):
            self.all()

    def all(self) -> Bytes:
        """Each once."""
        if self._waiting:
            self._parts, self._waiting = [distinct_bytes(np.concatenate(self._parts))[0]], 0
        return self._parts[0] if self._parts else np.zeros((0, ID), np.uint8)


class Naming:
    """Pseudonyms for one table, piece by piece: the same person gets the same one in all of them.

    Parameters
    ----------
    schema : how identifiers are read.
    columns : for each field, which column it comes from; for messages.
    resolve : who the rows are of.
    keys : of one purpose and partner.
    policy : what becomes of rows that are of nobody.
    irreversible : make one-way tokens.
    fresh : ids for rows that get a pseudonym of their own, by their places in a piece.

    After each piece `totals` holds numbers of rows, and `ids` the ids of all people so far.
    """

    def __init__(
        self,
        schema: Schema,
        columns: Mapping[str, str],
        resolve: Resolve,
        keys: TokenKeys,
        policy: Policy,
        irreversible: bool = False,
        fresh: Fresh = random_ids,
    ) -> None:
        self._fresh = fresh
        self._schema, self._columns, self._resolve = schema, dict(columns), resolve
        self._keys, self._policy, self._seal = keys, policy, one_way if irreversible else seal
        self._ids = Ids()
        self.totals = Totals()

    def __call__(self, raw: pl.DataFrame) -> Named:
        """A word for each row."""
        return self.named(self.read(raw))

    def read(self, raw: pl.DataFrame) -> Read:
        """The rows as they are read. What is refused is refused here, before anybody is looked up and taken in."""
        rows, codes = distinct(raw)
        found = messages(self._schema, rows)
        counts = np.bincount(codes, minlength=rows.height)
        bad = self._bad(found, counts)
        self._refuse(bad, int(counts[_empty(found)].sum()))
        return Read(found, codes, counts, bad)

    def named(self, read: Read) -> Named:
        """A word for each row that was read. Of shared identities it shows only here that they name nobody."""
        found, codes, counts, bad = read.found, read.codes, read.counts, read.bad
        resolved = self._resolve(found)
        what = _kinds(found, resolved)
        left, own = np.isin(what, self._policy.left_out()), np.isin(what, self._policy.one_off())
        self.totals += Totals.of(what, left, own, counts, bad)
        self._refuse({}, self.totals.missing)
        self._ids.add(resolved.ids[what == PERSON])
        words = self._seal(resolved.ids, self._keys).gather(codes)
        mine = own[codes] if own.any() else None
        words = words if mine is None else self._one_offs(words, np.flatnonzero(mine))
        return Named(words, codes, what, resolved.ids, ~left[codes] if left.any() else None, mine)

    def _refuse(self, bad: Mapping[str, int], empty: int) -> None:
        if self._policy.unparsable == "refuse" and bad:
            raise Unparsable(bad)
        if self._policy.missing == "refuse" and empty:
            raise missing(empty, self._columns.values())

    def _bad(self, found: Messages, counts: Numbers) -> dict[str, int]:
        return {self._columns[name]: int(counts[bad].sum()) for name, bad in found.bad.items() if bad.any()}

    @property
    def ids(self) -> Bytes:
        """The ids of all people so far, each once."""
        return self._ids.all()

    def faults(self, raw: pl.DataFrame) -> Faults:
        """What is wrong with a piece; nobody is looked up."""
        rows, codes = distinct(raw)
        found, counts = messages(self._schema, rows), np.bincount(codes, minlength=rows.height)
        return Faults(self._bad(found, counts), int(counts[_empty(found)].sum()))

    def error(self, first: VaultError, faults: Faults) -> VaultError | None:
        """The error that tells all faults, of the kind of the first; None if there is none of that kind."""
        if isinstance(first, Unparsable):
            return Unparsable(faults.bad) if faults.bad else None
        return missing(faults.empty, self._columns.values()) if faults.empty else None

    def _one_offs(self, words: pl.Series, rows: Numbers) -> pl.Series:
        """Words of their own for some rows."""
        return words.scatter(rows, self._seal(self._fresh(rows), self._keys))


def _empty(found: Messages) -> Bools:
    """Rows without a whole identity, all of whose values parse."""
    whole = found.unparsable()
    for places, _ in found.found.values():
        whole[places] = True
    return ~whole


def _kinds(found: Messages, resolved: Resolved) -> npt.NDArray[np.uint8]:
    what = np.where(found.unparsable(), BAD, MISSING).astype(np.uint8)
    what[resolved.person] = PERSON
    what[resolved.suppressed] = SUPPRESSED
    return what


def missing(count: int, columns: Iterable[str]) -> MissingIdentifiers:
    """The error for rows that are of nobody."""
    return MissingIdentifiers(
        f"{count:,} rows hold no whole identity in the columns {', '.join(map(repr, columns))}. "
        'Hint: missing="skip" leaves them out, missing="one-off" gives each a pseudonym of its own.'
    )
