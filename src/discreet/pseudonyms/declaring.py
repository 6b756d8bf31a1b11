"""What is declared in a vault: fields, purposes, partners, and the versions of their keys. All of it is registered."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.pseudonyms.entries import Entry, day, words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.fields import Field
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.keyring import Version, checked
from discreet.pseudonyms.settings import Change
from discreet.pseudonyms.tokens import TokenKeys

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

Day = str | datetime.date | int | None


def schema_name(schema: Schema) -> str:
    """The name of a version of the fields among the settings; names sort like versions."""
    return f"{schema.number:06d}"


def change_fields(
    vault: Vault, fields: Mapping[str, Field | str], identities: Mapping[str, Sequence[str]], *, who: str | None = None
) -> Schema:
    """A new version; people stay known by the identities whose fields and rules are the same."""
    with vault.database.transaction():
        schema = vault.schema.changed(fields, identities)
        if schema != vault.schema:
            change = vault.settings.put("schema", schema_name(schema), schema.document())
            _note(vault, "fields", who, change, number=schema.number)
    return schema


def add_purpose(
    vault: Vault, name: str, *, retention: Day = None, basis: str | None = None, who: str | None = None
) -> None:
    """Declare a purpose.

    Parameters
    ----------
    name : of the purpose.
    retention : the last day its tables may be kept, after which no new ones are made; or for how many days each.
    basis : the legal basis (Articles 6 and 9), as text for the register.
    """
    last = day(retention)
    kept = retention if isinstance(retention, int) else last  # days count from the making of each table
    with vault.database.transaction():
        _new(vault, "purpose", checked(name, "purpose"))
        change = vault.settings.put("purpose", name, {"retention": kept, "basis": words(basis, "basis")})
        _, other = vault.keyring.following(name, None)
        _note(vault, "purpose", who, change, other, purpose=name, retention=last, basis=basis)


def add_partner(vault: Vault, name: str, *, contact: str | None = None, who: str | None = None) -> None:
    """Declare a partner, with whom tables may be shared."""
    with vault.database.transaction():
        _new(vault, "partner", checked(name, "partner"))
        change = vault.settings.put("partner", name, {"contact": words(contact, "contact"), "revoked": None})
        _note(vault, "partner", who, change, partner=name)


def revoke(vault: Vault, partner: str, *, who: str | None = None) -> None:
    """Share nothing more with a partner. What it has stays with it."""
    with vault.database.transaction():
        document = vault.keyring.partner(partner)
        if document["revoked"] is None:
            change = vault.settings.put("partner", partner, {**document, "revoked": str(day(0))})
            _note(vault, "revoke", who, change, partner=partner)


def _new(vault: Vault, kind: str, name: str) -> None:
    if vault.settings.get(kind, name) is not None:
        raise VaultError(f"There is already a {kind} {name!r}.")


def _note(vault: Vault, act: str, who: str | None, *changes: Change, **content: Any) -> Entry:
    details = {name: content.pop(name) for name in ("number", "key_id") if name in content}
    return vault.register.append(act, who=words(who, "who"), changes=changes, details=details, **content)


def version(vault: Vault, purpose: str, partner: str | None = None) -> Version:
    """The newest version of the keys of a purpose, and of a partner; made if nothing was shared yet.

    Refused for a purpose that has ended, and for a partner that was revoked.
    """
    vault.keyring.current(purpose)
    if partner is not None:
        vault.keyring.welcome(partner)
    versions = vault.keyring.versions(purpose, partner)
    if versions:
        return versions[-1]
    with vault.database.transaction():
        versions = vault.keyring.versions(purpose, partner)
        return versions[-1] if versions else _rotated(vault, purpose, partner, None, "keys")


def token_keys(vault: Vault, purpose: str, partner: str | None = None) -> TokenKeys:
    """The keys of the newest version."""
    return vault.keyring.keys(version(vault, purpose, partner))


def rotate(vault: Vault, purpose: str, partner: str | None = None, *, who: str | None = None) -> Version:
    """New token keys. Old tokens still open, and are moved to the new keys without identifiers.

    The keys of tags and of derived ids cannot be changed so: that needs the identifiers again.
    """
    with vault.database.transaction():
        return _rotated(vault, purpose, partner, who, "rotate")


def _rotated(vault: Vault, purpose: str, partner: str | None, who: str | None, act: str) -> Version:
    version, change = vault.keyring.following(purpose, partner)
    _note(vault, act, who, change, purpose=purpose, partner=partner, number=version.number, key_id=version.key_id)
    return version
