"""Settings: purposes, partners, key versions, fields and tables of a vault, each row under a MAC.

A row that was changed is `Tampered` when it is read. A row that was removed or put back is found by the next change of
any setting, which is refused, since the sum of all of them does not fit (`sums.py`); and by `verify`: each change of a
row is also an entry of the register, with the row's MAC, and the two are compared.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from typing import Any

from discreet.pseudonyms.database import Database
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.hashing import tags
from discreet.pseudonyms.netstrings import netstrings

Change = tuple[str, str, str | None]  # kind, name, MAC in hex (None: removed), as an entry of the register keeps it

GROUP = "settings"  # what they count under among the sums
SUMS = "sums"  # the kind of the one row that is no setting: it holds the sums

_ONE = "select document, mac from settings where kind = ? and name = ?"
_EVERY = "select kind, name, document, mac from settings where kind <> ?"


class Settings:
    """Documents by kind and name.

    Parameters
    ----------
    database : where they are.
    key : 32 bytes, for settings alone.
    """

    def __init__(self, database: Database, key: bytes) -> None:
        self._database = database
        self._key = key

    def __repr__(self) -> str:
        """No key."""
        return "<Settings>"

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """One document, or None."""
        rows = self._database.read(_ONE, (kind, name))
        return self._checked(kind, name, *rows[0]) if rows else None

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """All documents of a kind, by name."""
        rows = self._database.read("select name, document, mac from settings where kind = ? order by name", (kind,))
        return {name: self._checked(kind, name, document, mac) for name, document, mac in rows}

    def put(self, kind: str, name: str, document: dict[str, Any]) -> Change:
        """Store a document, inside a transaction; the change goes into the register."""
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        mac = self._mac(kind, name, text)
        self.remove(kind, name)
        self._tell([], [named(kind, name, mac)])
        self._database.write(
            "insert into settings (kind, name, document, mac) values (?, ?, ?, ?)", (kind, name, text, mac)
        )
        return kind, name, mac.hex()

    def remove(self, kind: str, name: str) -> Change:
        """Remove a document, inside a transaction."""
        if self._database.witness is not None:
            self._database.witness.require(GROUP)
        for document, mac in self._database.read(_ONE, (kind, name)):
            self._checked(kind, name, document, mac)  # what was changed is not made good by writing over it
            self._tell([named(kind, name, bytes(mac))], [])
        self._database.write("delete from settings where kind = ? and name = ?", (kind, name))
        return kind, name, None

    def changes(self) -> Iterator[Change]:
        """What is there, as the register should have it."""
        for kind, name, document, mac in self._database.read(_EVERY, (SUMS,)):
            self._checked(kind, name, document, mac)
            yield kind, name, bytes(mac).hex()

    def _tell(self, gone: list[bytes], come: list[bytes]) -> None:
        if self._database.witness is not None:
            self._database.witness.change(GROUP, gone, come)

    def _checked(self, kind: Any, name: Any, document: Any, mac: Any) -> dict[str, Any]:
        sound = all(isinstance(one, str) for one in (kind, name, document)) and isinstance(mac, bytes | memoryview)
        if not sound or not hmac.compare_digest(self._mac(kind, name, document), bytes(mac)):
            raise Tampered(f"A setting of the vault ({kind}) was changed. Hint: restore a backup.")
        read: dict[str, Any] = json.loads(document)
        return read

    def _mac(self, kind: str, name: str, text: str) -> bytes:
        return tags([netstrings(kind, name, text)], self._key, size=32).tobytes()


def named(kind: str, name: str, mac: bytes) -> bytes:
    """What names a setting and no other state of it."""
    return netstrings(kind, name, mac)
