"""The keyring: purposes, partners, and the versions of their token keys. It stores numbers and names, no keys.

Keys come from the master key (`master.py`) by purpose, partner, version and its key id. The newest version makes new
pseudonyms; older ones still open theirs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from discreet.pseudonyms.entries import now, today
from discreet.pseudonyms.errors import UnknownName, VaultError
from discreet.pseudonyms.master import Master
from discreet.pseudonyms.settings import Change, Settings
from discreet.pseudonyms.tokens import TokenKeys, new_key_id

LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Version:
    """One version of the keys of a purpose and a partner (None: the holder)."""

    purpose: str
    partner: str | None
    number: int
    key_id: str
    since: str


class Keyring:
    """Names and versions of one vault."""

    def __init__(self, settings: Settings, master: Master) -> None:
        self._settings = settings
        self._master = master

    def __repr__(self) -> str:
        """No key."""
        return "<Keyring>"

    def purpose(self, name: str) -> dict[str, Any]:
        """What was declared of a purpose."""
        return self._declared("purpose", name, 'vault.add_purpose("...")')

    def partner(self, name: str) -> dict[str, Any]:
        """What was declared of a partner."""
        return self._declared("partner", name, 'vault.add_partner("...")')

    def welcome(self, partner: str) -> None:
        """Refuse a partner that was revoked."""
        if self.partner(partner)["revoked"]:
            raise VaultError(f"The partner {partner!r} was revoked: nothing new is shared with it.")

    def current(self, purpose: str) -> None:
        """Refuse a purpose that has ended."""
        last = self.purpose(purpose)["retention"]
        if isinstance(last, str) and last < today().isoformat():
            raise VaultError(f"The purpose {purpose!r} ended on {last}: no new table is made for it.")

    def _declared(self, kind: str, name: str, hint: str) -> dict[str, Any]:
        found = self._settings.get(kind, checked(name, kind)) if isinstance(name, str) else None
        if found is None:
            known = ", ".join(map(repr, self._settings.all(kind))) or "none"
            raise UnknownName(f"There is no {kind} {name!r}. Known: {known}. Hint: {hint}.")
        return found

    def versions(self, purpose: str, partner: str | None = None) -> tuple[Version, ...]:
        """All versions, oldest first; none if nothing was shared with this partner for this purpose yet."""
        self.purpose(purpose)
        if partner is not None:
            self.partner(partner)
        stored = self._settings.get("keys", _pair(purpose, partner)) or {"versions": []}
        return tuple(
            Version(purpose, partner, number, one["key_id"], one["since"])
            for number, one in enumerate(stored["versions"], start=1)
        )

    def following(self, purpose: str, partner: str | None) -> tuple[Version, Change]:
        """One more version, inside a transaction."""
        if partner is not None:
            self.welcome(partner)
        versions = self.versions(purpose, partner)
        fresh = Version(purpose, partner, len(versions) + 1, self._free_id(), now())
        document = {"versions": [{"key_id": one.key_id, "since": one.since} for one in (*versions, fresh)]}
        return fresh, self._settings.put("keys", _pair(purpose, partner), document)

    def _free_id(self) -> str:
        taken = {one["key_id"] for stored in self._settings.all("keys").values() for one in stored["versions"]}
        return next(key_id for key_id in iter(new_key_id, "") if key_id not in taken)

    def keys(self, version: Version) -> TokenKeys:
        """The keys of a version."""
        pair = self._master.token_keys(version.purpose, version.partner, version.number, version.key_id)
        return TokenKeys(version.key_id, *pair)

    def by_id(self, purpose: str, partner: str | None = None) -> dict[str, TokenKeys]:
        """The keys of all versions, by the key id that tokens carry."""
        return {version.key_id: self.keys(version) for version in self.versions(purpose, partner)}


def checked(name: str, what: str) -> str:
    """A name of a purpose, partner, table or model: printable text of 1 to 200 characters."""
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST or not name.isprintable() or name != name.strip():
        raise ValueError(
            f"The name of a {what} must be printable text of 1 to {LONGEST} characters, without spaces around it."
        )
    return name


def _pair(purpose: str, partner: str | None) -> str:
    return json.dumps([purpose, partner])
