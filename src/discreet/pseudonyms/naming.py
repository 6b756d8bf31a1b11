"""Pseudonyms for rows of identifiers: who each row is of, what becomes of rows that are of nobody, and the tokens."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.pseudonyms.distinct import distinct, distinct_bytes
from discreet.pseudonyms.errors import MissingIdentifiers, Unparsable, VaultError
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.messages import Messages, messages
from discreet.pseudonyms.tokens import ID, TokenKeys, one_way, seal

Bytes = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
PERSON, MISSING, BAD, SUPPRESSED = range(4)  # what a row is


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


@dataclass(frozen=True)
class Totals:
    """How many rows of a table were what.

    Parameters
    ----------
    rows : rows that are in the result.
    left_out, one_offs : rows that are not, and rows with a pseudonym of their own.
    missing, suppressed : rows without a whole identity, and rows of people who were erased.
    bad : for each column, how many values do not parse.
    """

    rows: int = 0
    left_out: int = 0
    one_offs: int = 0
    missing: int = 0
    suppressed: int = 0
    bad: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, what: npt.NDArray[np.uint8], left: Bools, own: Bools, counts: Numbers, bad: Mapping[str, int]
    ) -> Totals:
        """Of one piece: for each of its distinct rows what it is, whether it is left out, and how often it is there."""
        return cls(
            rows=int(counts[~left].sum()),
            left_out=int(counts[left].sum()),
            one_offs=int(counts[own].sum()),
            missing=int(counts[what == MISSING].sum()),
            suppressed=int(counts[what == SUPPRESSED].sum()),
            bad=bad,
        )

    def details(self) -> dict[str, int]:
        """What is worth a note in the register."""
        found = {
            "rows left out": self.left_out,
            "one-off pseudonyms": self.one_offs,
            "rows without identity": self.missing,
            "rows of erased people": self.suppressed,
            "values that do not parse": sum(self.bad.values()),
        }
        return {name: count for name, count in found.items() if count}

    def __add__(self, other: Totals) -> Totals:
        names = ("rows", "left_out", "one_offs", "missing", "suppressed")
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Totals(**sums, bad=dict(Counter(self.bad) + Counter(other.bad)))


@dataclass(frozen=True)
class Policy:
    """What becomes of rows that are of nobody.

    Parameters
    ----------
    missing : rows without a whole identity: "refuse" the table, "skip" them (they are left out), or "one-off": a random
        pseudonym for each row, that no other row has and that leads to nobody.
    unparsable : rows with a value that does not parse as declared, and no other whole identity: the same three.
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
    ) -> None:
        self._schema, self._columns, self._resolve = schema, dict(columns), resolve
        self._keys, self._policy, self._seal = keys, policy, one_way if irreversible else seal
        self._ids: list[Bytes] = []
        self._waiting = 0
        self.totals = Totals()

    def __call__(self, raw: pl.DataFrame) -> tuple[pl.Series, Bools | None]:
        """A word for each row, and which rows are kept (None: all of them)."""
        rows, codes = distinct(raw)
        found = messages(self._schema, rows)
        counts = np.bincount(codes, minlength=rows.height)
        bad = self._bad(found, counts)
        if self._policy.unparsable == "refuse" and bad:
            raise Unparsable(bad)
        resolved = self._resolve(found)
        what = _kinds(found, resolved)
        left, own = np.isin(what, self._policy.left_out()), np.isin(what, self._policy.one_off())
        self.totals += Totals.of(what, left, own, counts, bad)
        if self._policy.missing == "refuse" and self.totals.missing:
            raise missing(self.totals.missing, self._columns.values())
        self._remember(resolved.ids[what == PERSON])
        words = self._seal(resolved.ids, self._keys).gather(codes)
        words = self._one_offs(words, np.flatnonzero(own[codes])) if own.any() else words
        return words, ~left[codes] if left.any() else None

    def _bad(self, found: Messages, counts: Numbers) -> dict[str, int]:
        return {self._columns[name]: int(counts[bad].sum()) for name, bad in found.bad.items() if bad.any()}

    @property
    def ids(self) -> Bytes:
        """The ids of all people so far, each once."""
        self._pack()
        return self._ids[0] if self._ids else np.zeros((0, ID), np.uint8)

    def fault(self, first: VaultError, pieces: Iterable[pl.DataFrame]) -> VaultError:
        """The error of a piece, with the numbers of all pieces from it on; they are read and not looked up."""
        bad, empty = Counter[str](), 0
        for raw in pieces:
            rows, codes = distinct(raw)
            found, counts = messages(self._schema, rows), np.bincount(codes, minlength=rows.height)
            bad.update(self._bad(found, counts))
            whole = np.zeros(rows.height, bool)
            for places, _ in found.found.values():
                whole[places] = True
            empty += int(counts[~whole & ~found.unparsable()].sum())
        if isinstance(first, Unparsable):
            return Unparsable(bad)
        return missing(empty, self._columns.values()) if empty else first

    def _remember(self, ids: Bytes) -> None:
        self._ids.append(ids)
        self._waiting += len(ids)
        if self._waiting > 1 << 20 and self._waiting > len(self._ids[0]):  # memory goes by people, not by rows
            self._pack()

    def _pack(self) -> None:
        if self._waiting:
            self._ids = [distinct_bytes(np.concatenate(self._ids))[0]]
            self._waiting = 0

    def _one_offs(self, words: pl.Series, rows: Numbers) -> pl.Series:
        """Words of their own for some rows."""
        ids = np.frombuffer(os.urandom(ID * len(rows)), np.uint8).reshape(-1, ID)
        return words.scatter(rows, self._seal(ids, self._keys))


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
