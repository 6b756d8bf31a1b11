"""Pseudonyms for pseudonyms: from one set of keys to another, without identifiers, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.pseudonyms.distinct import distinct
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.naming import Bools, Bytes, Ids, Named, Policy, random_ids
from discreet.pseudonyms.tokens import TokenKeys, opened, seal
from discreet.pseudonyms.totals import NOBODY, PERSON, SUPPRESSED, Faults, Totals

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


@dataclass(frozen=True, repr=False)
class OpenWords:
    """Words of a piece, each once; its repr shows a number alone.

    Parameters
    ----------
    ids : of the distinct words; zeros for a null.
    codes, counts : which of them each row has, and how often each is there.
    ok : which of them open, or are null.
    there : which of them are not null.
    """

    ids: Bytes
    codes: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.int64]
    ok: Bools
    there: Bools

    def __repr__(self) -> str:
        return f"<OpenWords: {len(self.codes)} rows>"


class Moving:
    """Words under new keys, as `Naming` makes them from identifiers.

    Parameters
    ----------
    vault : an open vault; it tells who was erased.
    old : the keys that the words may be of, by key id.
    new : the keys to move them to.
    policy : what becomes of rows of people who were erased.

    A null stays a null. Where two ids turned out to be one person's, both become the one of now. After each piece
    `totals` holds numbers of rows, and `ids` the ids of all people so far.
    """

    def __init__(self, vault: Vault, old: Mapping[str, TokenKeys], new: TokenKeys, policy: Policy) -> None:
        self._vault, self._old, self._new, self._policy = vault, dict(old), new, policy
        self._ids = Ids()
        self.totals = Totals()

    @property
    def ids(self) -> Bytes:
        """The ids of all people so far, each once."""
        return self._ids.all()

    def read(self, raw: pl.DataFrame) -> OpenWords:
        """The words in the one column of a piece, opened; `Tampered` if one does not open."""
        found = self._opened(raw)
        if faults := found.counts[~found.ok].sum():
            raise _closed(int(faults), len(found.codes))
        return found

    def named(self, read: OpenWords) -> Named:
        """New words for those that were read."""
        ids = self._vault.people.present(read.ids) if self._vault.links == "stored" else read.ids
        gone = read.there & (self._vault.suppression.known(read.ids) | self._vault.suppression.known(ids))
        self._ids.add(ids[read.there & ~gone])
        moved = seal(ids, self._new).scatter(np.flatnonzero(~read.there), None)
        what = np.where(gone, SUPPRESSED, np.where(read.there, PERSON, NOBODY)).astype(np.uint8)
        return self._settled(Named(moved.gather(read.codes), read.codes, what, ids), gone[read.codes])

    def _opened(self, raw: pl.DataFrame) -> OpenWords:
        words = raw.to_series(0).cast(pl.String, strict=False)
        rows, codes = distinct(words.to_frame("word"))
        there = rows["word"].is_not_null().to_numpy()
        found = opened(rows["word"], self._old)
        return OpenWords(found.ids, codes, np.bincount(codes, minlength=rows.height), found.ok | ~there, there)

    def _settled(self, found: Named, erased: Bools) -> Named:
        count, drop = int(erased.sum()), self._policy.suppressed == "drop"
        left = count if drop else 0
        self.totals += Totals(rows=len(erased) - left, left_out=left, one_offs=count - left, suppressed=count)
        if not count:
            return found
        if drop:
            return replace(found, kept=~erased)
        rows = np.flatnonzero(erased)
        return replace(found, words=found.words.scatter(rows, seal(random_ids(rows), self._new)), own=erased)

    def faults(self, raw: pl.DataFrame) -> Faults:
        """What is wrong with a piece."""
        found = self._opened(raw)
        return Faults(closed=int(found.counts[~found.ok].sum()), rows=len(found.codes))

    def error(self, first: VaultError, faults: Faults) -> VaultError | None:
        """The error that tells all words that do not open; None if all do."""
        rows = self.totals.rows + self.totals.left_out + faults.rows
        return _closed(faults.closed, rows) if faults.closed else None


def check_remaining(remaining: Mapping[str, pl.Series], old: Mapping[str, TokenKeys], moved: Sequence[str]) -> None:
    """Refuse to leave pseudonyms as they are: whom they are of would be neither looked up nor recorded.

    Parameters
    ----------
    remaining : what might be a pseudonym in the columns that remain, as text.
    old : the keys from which pseudonyms are moved.
    moved : the columns that are.
    """
    left = [name for name, texts in remaining.items() if opened(texts, old).ok.any()]
    if left:
        raise ValueError(
            f"The columns {left} hold pseudonyms of this purpose and partner too, and would keep them. "
            f"Hint: all are moved together, column={[*moved, *left]}."
        )


def _closed(count: int, rows: int) -> Tampered:
    return Tampered(
        f"{count:,} of {rows:,} pseudonyms do not open with the keys of this purpose and partner: "
        "they are one-way, of somebody else, or were changed."
    )
