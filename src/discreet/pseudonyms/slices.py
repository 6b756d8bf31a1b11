"""Many people in slices: each is looked up and written in a transaction of its own, so that others need not wait long.

Rows of a later slice can tell that two ids of earlier ones are one person's. So at the end every id that became a
former one is put in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.pseudonyms.messages import Messages
from discreet.pseudonyms.naming import Resolve, Resolved

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

SLICE = 1 << 18  # distinct rows


def resolver(vault: Vault) -> Resolve:
    """Who rows are of, slice by slice."""

    def resolve(found: Messages) -> Resolved:
        if found.rows <= SLICE or vault.links == "derived":
            return vault.resolve(found)
        parts = [vault.resolve(found.slice(start, start + SLICE)) for start in range(0, found.rows, SLICE)]
        ids, person, suppressed = (
            np.concatenate([getattr(one, name) for one in parts]) for name in ("ids", "person", "suppressed")
        )
        return Resolved(vault.people.present(ids), person, suppressed)

    return resolve
