"""Vaults of earlier versions: brought up to date when they are opened.

| version | has |
| --- | --- |
| 1 | no sums (`sums.py`): rows that were put back could be found in part only |
| 2 | sums; copies made by `backup` are marked; two tables have other names |

Everything is checked first, as its own version could; a vault that fails is not brought up to date, for that would make
its damage good. It can still be the source of a restore. An older discreet that has the vault open keeps no sums, so
it must not write any more. That is why the two tables that every change is written to, one or the other, are renamed in
the same transaction: the older program gets an error, and writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.pseudonyms import checking, opening
from discreet.pseudonyms.database import VERSION
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.register import Anchor

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

ACT = "upgrade"


def upgraded(vault: Vault) -> None:
    """Bring a vault up to date, in one transaction; one that is stays as it is."""
    if vault.database.version == VERSION:
        _same(vault)
        return
    with vault.database.transaction():
        vault.database.inspect(deep=True)  # another process may have been faster
        state = _same(vault)
        if state["version"] == VERSION:
            return
        vault.database.stamp()
        checking.unsummed(vault)
        vault.sums.start(count=True)
        change = vault.settings.put("state", "vault", {**state, "version": VERSION})
        vault.register.append(ACT, details={"version": VERSION}, changes=(change,))
        opening.upgrade(vault.database)


def _same(vault: Vault) -> dict[str, Any]:
    """The state, if it is of the version of the tables."""
    state = vault.state()
    if state["version"] != vault.database.version:
        raise Tampered("The vault does not go with its tables. Hint: restore a backup.")
    return state


def before(vault: Vault) -> tuple[Anchor, ...]:
    """The states that a backup may have had when it was made: as it is, and before it was upgraded on opening."""
    last = vault.register.anchor()
    if last.count > 1 and vault.register.entry(last.count).act == ACT:
        return last, vault.register.at(last.count - 1)
    return (last,)
