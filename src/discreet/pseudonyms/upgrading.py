"""Vaults of earlier versions: brought up to date when they are opened.

| version | has |
| --- | --- |
| 1 | no sums (`sums.py`): rows that were put back could be found in part only |
| 2 | sums; copies made by `backup` are marked |

Everything is checked first, as its own version could; a vault that fails is not brought up to date, for that would make
its damage good. It can still be the source of a restore. Other programs that have an old vault open must be closed
before: an older discreet keeps no sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.pseudonyms import checking, opening
from discreet.pseudonyms.database import VERSION
from discreet.pseudonyms.register import Anchor

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

ACT = "upgrade"


def upgraded(vault: Vault) -> None:
    """Bring a vault up to date, in one transaction; one that is stays as it is."""
    if vault.state()["version"] == VERSION:
        return
    with vault.database.transaction():
        state = vault.state()  # another process may have been faster
        if state["version"] == VERSION:
            return
        vault.database.inspect(deep=True)
        checking.unsummed(vault)
        vault.sums.start(count=True)
        change = vault.settings.put("state", "vault", {**state, "version": VERSION})
        vault.register.append(ACT, details={"version": VERSION}, changes=(change,))
        opening.upgrade(vault.database)


def before(vault: Vault) -> tuple[Anchor, ...]:
    """The states that a backup may have had when it was made: as it is, and before it was upgraded on opening."""
    last = vault.register.anchor()
    if last.count > 1 and vault.register.entry(last.count).act == ACT:
        return last, vault.register.at(last.count - 1)
    return (last,)
