"""Pseudonyms for pseudonyms: from one set of keys to another, without identifiers, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.naming import Bytes, Ids, Named, Policy, random_ids
from discreet.pseudonyms.tokens import TokenKeys, opened, seal
from discreet.pseudonyms.totals import Totals

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


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

    def __call__(self, raw: pl.DataFrame) -> Named:
        """New words for those in the one column of a piece; `Tampered` if one does not open."""
        words = raw.to_series(0).cast(pl.String, strict=False)
        distinct = words.drop_nulls().unique()
        found = opened(distinct, self._old)
        if not found.ok.all():
            raise _closed(int(words.is_in(distinct.filter(pl.Series(~found.ok)).implode()).sum()), len(words))
        ids = self._vault.people.present(found.ids) if self._vault.links == "stored" else found.ids
        gone = self._vault.suppression.known(found.ids) | self._vault.suppression.known(ids)
        self._ids.add(ids[~gone])
        moved = words.replace_strict(distinct, seal(ids, self._new), default=None, return_dtype=pl.String)
        erased = words.is_in(distinct.filter(pl.Series(gone)).implode()).fill_null(False).to_numpy()
        return self._settled(moved, erased, int(erased.sum()))

    def _settled(self, moved: pl.Series, erased: np.ndarray[tuple[int], np.dtype[np.bool_]], count: int) -> Named:
        drop = self._policy.suppressed == "drop"
        left = count if drop else 0
        self.totals += Totals(rows=len(moved) - left, left_out=left, one_offs=count - left, suppressed=count)
        if not count:
            return Named(moved)
        if drop:
            return Named(moved, ~erased)
        rows = np.flatnonzero(erased)
        return Named(moved.scatter(rows, seal(random_ids(rows), self._new)), None, erased)

    def fault(self, first: VaultError, pieces: Iterable[pl.DataFrame]) -> VaultError:
        """The error of a piece, with the numbers of all pieces from it on."""
        closed, rows = 0, self.totals.rows + self.totals.left_out
        for raw in pieces:
            words = raw.to_series(0).cast(pl.String, strict=False)
            distinct = words.drop_nulls().unique()
            bad = distinct.filter(pl.Series(~opened(distinct, self._old).ok))
            closed, rows = closed + int(words.is_in(bad.implode()).sum()), rows + len(words)
        return _closed(closed, rows) if closed else first


def _closed(count: int, rows: int) -> Tampered:
    return Tampered(
        f"{count:,} of {rows:,} pseudonyms do not open with the keys of this purpose and partner: "
        "they are one-way, of somebody else, or were changed."
    )
