"""Pseudonyms for all people of a row at once.

| a row | is |
| --- | --- |
| of which somebody is left out (erased, missing, does not parse) | left out, whoever else is in it |
| of which somebody gets a one-off pseudonym | kept: the others keep theirs |

Of everybody all is read before anybody is looked up, so that what is refused takes nobody in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import polars as pl

from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, Unparsable, VaultError
from discreet.pseudonyms.naming import Bools, Bytes, Ids, Named
from discreet.pseudonyms.totals import PERSON, Faults, Totals


class Part(Protocol):
    """Makes words for one person of each row, piece by piece: `Naming`, `Moving`."""

    totals: Totals

    @property
    def ids(self) -> Bytes:
        """The ids of all people so far, each once."""

    def read(self, raw: pl.DataFrame) -> Any:
        """What is in a piece; refused here, before anybody is taken in."""

    def named(self, read: Any) -> Named:
        """The words of what was read."""

    def faults(self, raw: pl.DataFrame) -> Faults:
        """What is wrong with a piece."""

    def error(self, first: VaultError, faults: Faults) -> VaultError | None:
        """The error that tells all faults, of the kind of the first; None if it was not of this person."""


class Together:
    """Words for everybody in the rows of one table.

    Parameters
    ----------
    parts : what makes the words of each person of a row.

    After each piece `totals` holds numbers of rows, `ids` the ids of all people in rows that are kept, and `taken`
    those of all that were looked up.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self._ids, self._totals = Ids(), Totals()

    @property
    def totals(self) -> Totals:
        """How many rows were what, each once."""
        if len(self._parts) == 1:
            return self._parts[0].totals
        return replace(self._totals, bad={name: n for part in self._parts for name, n in part.totals.bad.items()})

    @property
    def ids(self) -> Bytes:
        """The ids of all people in rows that are kept, each once."""
        return self._parts[0].ids if len(self._parts) == 1 else self._ids.all()

    @property
    def taken(self) -> Bytes:
        """The ids of all people who were looked up."""
        return np.concatenate([part.ids for part in self._parts])

    def __call__(self, raws: Sequence[pl.DataFrame]) -> tuple[Named, ...]:
        """The words of each person, for the rows of one piece."""
        return self.named(self.read(raws))

    def read(self, raws: Sequence[pl.DataFrame]) -> list[Any]:
        """What is in a piece; the error tells the faults of everybody."""
        try:
            return [part.read(raw) for part, raw in zip(self._parts, raws, strict=True)]
        except (Unparsable, MissingIdentifiers, Tampered) as error:
            first = error
        raise self.fault(first, [raws])

    def named(self, reads: Sequence[Any]) -> tuple[Named, ...]:
        """The words of what was read; the same rows are kept for everybody."""
        found = [part.named(read) for part, read in zip(self._parts, reads, strict=True)]
        if len(found) == 1:
            return tuple(found)
        left: Bools = np.logical_or.reduce([_left(one) for one in found])
        self._totals += _joined(found, left)
        for one in found:
            here = np.unique(one.codes[~left])
            self._ids.add(one.ids[here[one.what[here] == PERSON]])
        return tuple(replace(one, kept=~left if left.any() else None) for one in found)

    def fault(self, first: VaultError, pieces: Iterable[Sequence[pl.DataFrame]]) -> VaultError:
        """The error of a piece, with the numbers of all pieces from it on; they are read and not looked up."""
        faults = [Faults() for _ in self._parts]
        for raws in pieces:
            faults = [sum + part.faults(raw) for sum, part, raw in zip(faults, self._parts, raws, strict=True)]
        errors = [part.error(first, own) for part, own in zip(self._parts, faults, strict=True)]
        told = [error for error in errors if error is not None]
        if isinstance(first, Unparsable):
            return Unparsable(
                {name: n for one in told if isinstance(one, Unparsable) for name, n in one.counts.items()}
            )
        return told[0] if told else first


def _joined(found: Sequence[Named], left: Bools) -> Totals:
    """How many rows were what, each once: if somebody in it is left out, or has a one-off pseudonym, that says what."""
    what = np.column_stack([one.what[one.codes] for one in found])
    own = np.column_stack([np.zeros(len(left), bool) if one.own is None else one.own for one in found])
    cause = (2 * np.column_stack([_left(one) for one in found]) + own).argmax(axis=1)
    some: Bools = np.logical_or.reduce(own, axis=1) & ~left
    return Totals.of(what[np.arange(len(left)), cause], left, some, np.ones(len(left), np.int64), {})


def _left(one: Named) -> Bools:
    return np.zeros(len(one.words), bool) if one.kept is None else ~one.kept
