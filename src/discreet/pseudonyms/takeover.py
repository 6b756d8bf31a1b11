"""People of a later state: who is known by what, taken over by a backup that is being restored.

| links, aliases, shared marks and former ids of the later state | then |
| --- | --- |
| are as its vault left them | all of them are taken over: people first seen after the backup, corrections, prunings |
| were changed, are missing or older | none is: tables with people whom the backup does not know are not located |

Whoever is on the suppression list is forgotten again afterwards, for a state of version 1 has no sums to prove that
none of its links is an older one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.pseudonyms.chunks import Bytes, Chunks
from discreet.pseudonyms.entries import today
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.forgetting import forget
from discreet.pseudonyms.people import People

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


def read_people(vault: Vault) -> People | None:
    """Who is known to a later state; None if that was changed, or is not all there."""
    stores = vault.people.stores()
    try:
        for store in stores:
            store.count()
        if vault.state()["version"] > 1:  # there were no sums before
            vault.sums.verify(*(store.store for store in stores))
    except Tampered:
        return None
    return vault.people


def take_people(vault: Vault, later: People) -> int:
    """Know people as a later state does, inside a transaction; how many the vault did not know."""
    before = _read_ids(vault.people.links, vault.people.former)
    for store, newer in zip(vault.people.stores(), later.stores(), strict=True):
        store.replace(newer)
    _keep_out(vault)
    return _read_ids(vault.people.links).join(before, on=("a", "b"), how="anti").height


def count_people(people: People) -> int:
    """How many people a vault knows; none with derived links, which know everybody."""
    return _read_ids(people.links).height


def count_unknown(vault: Vault, uid: str, tags: Bytes) -> int:
    """How many of those in a table, by their tags there, the vault does not know; with derived links it knows all."""
    if vault.links == "derived":
        return 0
    ids = _read_ids(vault.people.links, vault.people.former).to_numpy()
    known = vault.uses.tags(uid, np.ascontiguousarray(ids).view(np.uint8))
    return int((~np.isin(_number(tags), _number(known))).sum())


def _keep_out(vault: Vault) -> None:
    """Forget whoever is on the suppression list and known all the same."""
    tags = [line.tag for line in vault.suppression.lines() if line.until >= today().toordinal()]
    listed = np.frombuffer(b"".join(tags), np.uint8).reshape(-1, 16)
    for tag in listed[vault.people.links.get(listed).known]:
        forget(vault, tag[None, :])


def _read_ids(*stores: Chunks) -> pl.DataFrame:
    """All ids of some stores, each once, as two numbers."""
    parts = [values for store in stores for _, values in store.scan()]
    halves = np.ascontiguousarray(np.concatenate(parts)).view(np.uint64)
    return pl.DataFrame({"a": halves[:, 0], "b": halves[:, 1]}).unique()


def _number(tags: Bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.ascontiguousarray(tags).view(np.uint64).ravel()
