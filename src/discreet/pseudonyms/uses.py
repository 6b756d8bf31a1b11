"""Uses: which tables a person is in, answered without reading any table.

Each table has its own key; a person's tag in it is the first eight bytes of AES-256 of the id. The tags of a table are
one sorted array (`chunks.py`). A person who is not in a table of n people seems to be with probability n / 2^64.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from discreet.pseudonyms.blocks import encrypted
from discreet.pseudonyms.chunks import Bytes, Chunks
from discreet.pseudonyms.database import Database
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.master import Master

WIDTH = 8


class Uses:
    """Sorted tags of the people in each table; a table is known by its uid."""

    def __init__(self, database: Database, master: Master) -> None:
        self._database = database
        self._master = master

    def __repr__(self) -> str:
        """No key."""
        return "<Uses>"

    @staticmethod
    def new() -> str:
        """A uid for a table that is going to be made."""
        return secrets.token_hex(8)

    def tags(self, uid: str, ids: Bytes) -> Bytes:
        """(n, 8): the tags of ids in a table; equal ids have equal tags."""
        return np.ascontiguousarray(encrypted(ids, self._master.derive("use", uid))[:, :WIDTH])

    def add(self, uid: str, ids: Bytes) -> None:
        """Store who is in a table: once per table, inside a transaction."""
        self.add_tags(uid, self.tags(uid, distinct_bytes(ids)[0]))

    def add_tags(self, uid: str, tags: Bytes) -> None:
        """The same from tags, which others may have computed."""
        if tags.ndim != 2 or tags.shape[1] != WIDTH:
            raise VaultError(f"The tags of a table are an array of shape (n, {WIDTH}).")
        ordered = np.sort(np.ascontiguousarray(tags).view(">u8").ravel().astype(np.uint64))  # np.unique is far slower
        unique = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]].astype(">u8")
        store = self.store(uid)
        store.create()
        store.put(unique.view(np.uint8).reshape(-1, WIDTH))

    def has(self, uid: str, ids: Bytes) -> npt.NDArray[np.bool_]:
        """Which of the ids are in a table."""
        return self.store(uid).get(self.tags(uid, ids)).known

    def remove(self, uid: str, ids: Bytes) -> int:
        """Take people out of the array of a table, inside a transaction; how many were there."""
        return self.store(uid).remove(self.tags(uid, ids))

    def drop(self, uid: str) -> None:
        """Forget who is in a table, inside a transaction."""
        self.store(uid).drop()

    def count(self, uid: str) -> int:
        """How many people are in a table; reads and checks all of its array."""
        return self.store(uid).count()

    def store(self, uid: str) -> Chunks:
        """The array of a table."""
        return Chunks(self._database, f"use:{uid}", self._master.derive("row", "use", uid), WIDTH)
