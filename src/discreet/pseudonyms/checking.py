"""Verification: that a vault is whole, as far as the vault itself can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.register import Anchor, Verdict
from discreet.pseudonyms.runs import runs

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


def verify(vault: Vault, anchor: Anchor | str | None = None) -> Verdict:
    """Read everything and check it; raises `Tampered` on the first thing that is changed, missing or too much.

    | checked | against |
    | --- | --- |
    | entries of the register | their chain, and the anchor |
    | settings | their MACs, and the last change of each in the register |
    | links, aliases, uses, suppression list | their seals; that their chunks are whole and of known stores |
    """
    with vault.database.snapshot():
        verdict = vault.register.verify(anchor)
        _settings(vault)
        _stores(vault)
    return verdict


def _settings(vault: Vault) -> None:
    expected: dict[tuple[str, str], str] = {}
    for entry in vault.register.entries():
        for kind, name, mac in entry.changes:
            expected.pop((kind, name), None)
            if mac is not None:
                expected[kind, name] = mac
    found = {(kind, name): mac for kind, name, mac in vault.settings.changes()}
    for key in expected.keys() | found.keys():
        if expected.get(key) != found.get(key):
            raise Tampered(f"A setting of the vault ({key[0]}) is not the one the register tells of.")


def _stores(vault: Vault) -> None:
    stores = [*vault.people.stores(), vault.suppression.store]
    stores += [vault.uses.store(run.uid) for run in runs(vault) if run.located]
    known = {store.store for store in stores}
    if {name for (name,) in vault.database.read("select distinct store from chunks")} != known:
        raise Tampered("The vault holds records that nothing in the register tells of, or lost some.")
    for store in stores:
        store.count()
