"""Many people in slices: each is looked up and written in a transaction of its own, so that others need not wait long.

Rows of a later slice can tell that two ids of earlier ones are one person's. So at the end every id that became a
former one is put in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from discreet.pseudonyms.messages import Messages
from discreet.pseudonyms.naming import Bytes, Resolved

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

SLICE = 1 << 18  # distinct rows


class Slices:
    """Who rows are of, slice by slice.

    Parameters
    ----------
    vault : an open vault.

    Attributes
    ----------
    written : the ids of people in each slice of the last call: they are in the vault, whatever happens next.
    before : what is done before a slice is looked up, and written.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self.written: list[Bytes] = []
        self.before: Callable[[], None] = lambda: None

    def __call__(self, found: Messages) -> Resolved:
        """All rows."""
        self.written.clear()
        if found.rows <= SLICE or self._vault.links == "derived":
            return self._one(found)
        parts = [self._one(found.slice(start, start + SLICE)) for start in range(0, found.rows, SLICE)]
        ids, person, suppressed = (
            np.concatenate([getattr(one, name) for one in parts]) for name in ("ids", "person", "suppressed")
        )
        return Resolved(self._vault.people.present(ids), person, suppressed)

    def _one(self, found: Messages) -> Resolved:
        self.before()
        answer = self._vault.resolve(found)
        self.written.append(answer.ids[answer.person])
        return answer
