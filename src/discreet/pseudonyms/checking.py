"""Verification: that a vault is whole, as far as the vault itself can tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.pseudonyms.entries import Entry
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.register import LISTED, Anchor, Verdict
from discreet.pseudonyms.runs import runs

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


def verify(vault: Vault, anchor: Anchor | str | None = None) -> Verdict:
    """Read everything and check it; raises `Tampered` on the first thing that is changed, missing or too much.

    | checked | against |
    | --- | --- |
    | tables, triggers and indexes of the database | those of a vault |
    | pages and indexes of a file | themselves and each other, by SQLite |
    | entries of the register | their chain, and the anchor |
    | settings | their MACs, and the last change of each in the register |
    | links, aliases, uses, suppression list | their seals; that their chunks are whole and of known stores |
    | suppression list | how many lines it had at the last erasure, purge or restore in the register |
    | number and state of all of them | their sums, which go with the last entry of the register (`sums.py`) |

    What it cannot find: the whole state of the file from a time after the last entry, or, without an anchor from after
    it, of any earlier time. "Complete" is said of the register.
    """
    with vault.database.snapshot():
        vault.database.inspect(deep=True)
        verdict = vault.register.verify(anchor)
        unsummed(vault)
        vault.sums.verify()
    return verdict


def unsummed(vault: Vault) -> None:
    """Check all that can be checked without the sums."""
    against(vault, vault.register.entries())
    _stores(vault)


def against(vault: Vault, entries: Iterable[Entry]) -> None:
    """Check settings, and the length of the suppression list, against the register."""
    expected: dict[tuple[str, str], str] = {}
    lines = 0
    for entry in entries:
        lines = entry.details.get(LISTED, lines)
        for kind, name, mac in entry.changes:
            expected.pop((kind, name), None)
            if mac is not None:
                expected[kind, name] = mac
    found = {(kind, name): mac for kind, name, mac in vault.settings.changes()}
    for key in expected.keys() | found.keys():
        if expected.get(key) != found.get(key):
            raise Tampered(f"A setting of the vault ({key[0]}) is not the one the register tells of.")
    for kind in {kind for kind, _ in found}:  # read by name, through the index
        if vault.settings.all(kind).keys() != {name for one, name in found if one == kind}:
            raise Tampered(f"A setting of the vault ({kind}) is not found by its name. Hint: restore a backup.")
    if vault.suppression.store.count() != lines:
        raise Tampered("The suppression list is not the one the register tells of: an older one was put back.")


def _stores(vault: Vault) -> None:
    stores = [*vault.people.stores(), vault.suppression.store]
    stores += [vault.uses.store(run.uid) for run in runs(vault) if run.located]
    known = {store.store for store in stores}
    if {name for (name,) in vault.database.read("select distinct store from sealed")} != known:
        raise Tampered("The vault holds records that nothing in the register tells of, or lost some.")
    for store in stores:
        store.count()
