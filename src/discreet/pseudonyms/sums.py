"""Sums: that no row of a vault is missing, too much, or an older one put back.

One row among the settings holds, for each group of rows, how many there are and a sum over them; and the head of the
register that goes with it:

    sum = XOR over all rows of PRF(K_sums; the row's name and seal)       BLAKE2b, 16 bytes

It is sealed with AES-256-GCM, and every transaction that changes anything writes it anew, in its last step. A row that
is replaced is taken out of the sum as it was found. So if an older one was put back, the sum never fits again, whatever
is written after it: what `verify` finds once does not heal.

| somebody who can write the file, without the key | is found by |
| --- | --- |
| removes a setting, or puts an old one back | the next change of a setting, which is refused |
| puts an older suppression list back | the next table or erasure, which is refused |
| puts older links or uses back, one chunk or all | `verify` |
| the same, with the older row of sums | whatever is written next, and `verify`: it goes with another head |
| cuts the register | the same |
| puts back the whole state of a time since the last entry | nothing: new people of a table that was never made |
| puts an older file back | an anchor |

A XOR of values that nobody sees cannot be met by another set of rows but with probability 2^-128 (Clarke, Devadas, van
Dijk, Gassend and Suh, Incremental multiset hash functions, Asiacrypt 2003: MSet-XOR-Hash); that is why it is sealed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.pseudonyms import chunks, settings
from discreet.pseudonyms.database import Database, require_transaction
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.hashing import tags

CHECK = 16  # bytes of a GCM check, and of a sum
NONCE = 12
BATCH = 1000
NAME = "all"  # of the row
ALONE = ("suppressed",)  # groups of one store, which has their name
ODD = "A row of the vault is of another kind than the vault writes. Hint: restore a backup."

_READ = "select name, document, mac from settings where kind = ?"
_INSERT = "insert into settings (kind, name, document, mac) values (?, ?, ?, ?)"
_UPDATE = "update settings set document = ?, mac = ? where kind = ?"
_SETTINGS = "select kind, name, mac from settings where kind <> ?"
_STORES = "select distinct store from sealed"
_CHUNKS = (
    "select first, last, substr(body, 1, 12), substr(body, length(body) - 15) from sealed"
    f" where store = ? and first > ? order by first limit {BATCH}"
)


@dataclass(frozen=True)
class Sum:
    """How many rows there are, and the XOR of what stands for each."""

    count: int = 0
    value: bytes = bytes(CHECK)

    def changed(self, by: int, values: bytes) -> Sum:
        """The sum with `by` more rows, or fewer, whose values have the XOR given."""
        return Sum(self.count + by, bytes(a ^ b for a, b in zip(self.value, values, strict=True)))


@dataclass
class _State:
    """The sums in a transaction, and the groups that were compared with the rows."""

    sums: dict[str, Sum] = field(default_factory=dict)
    compared: set[str] = field(default_factory=set)
    stored: bool = False


class Sums:
    """The sums of one vault, and the witness of its database.

    Parameters
    ----------
    database : where the rows are.
    key, sealing : 32 bytes each, for this alone.
    head : tells the number and the MAC of the last entry of the register, as one text.
    """

    def __init__(self, database: Database, key: bytes, sealing: bytes, head: Callable[[], str]) -> None:
        self._database = database
        self._key = key
        self._sealing = AESGCM(sealing)
        self._head = head
        self._state: _State | None = None
        database.witness = self

    def __repr__(self) -> str:
        """No key."""
        return "<Sums>"

    def start(self, count: bool = False) -> None:
        """Begin to sum, inside a transaction: from nothing, or from the rows that are there."""
        self._state = _State(self._counted() if count else {})

    def begin(self) -> None:
        """Read the sums, before the first change of a transaction."""
        self._open()

    def require(self, group: str) -> None:
        """Compare the rows of a group with their sum, once in a transaction."""
        state = self._open()
        if group not in state.compared:
            self._compare(group, state.sums.get(group, Sum()), self._sum(group))
            state.compared.add(group)

    def change(self, group: str, gone: Sequence[bytes], come: Sequence[bytes]) -> None:
        """Take rows out of the sum of a group, and others in."""
        if gone or come:
            state = self._open()
            before = state.sums.get(group, Sum())
            state.sums[group] = before.changed(len(come) - len(gone), self._xor([*gone, *come]))

    def settle(self) -> None:
        """Store the sums with the head of the register as it is now."""
        if self._state is None:
            return
        sealed, check = self._seal(self._state.sums)
        if self._state.stored:
            self._database.write(_UPDATE, (sealed, check, settings.SUMS))
        else:
            self._database.write(_INSERT, (settings.SUMS, NAME, sealed, check))

    def forget(self) -> None:
        """Read them anew in the next transaction."""
        self._state = None

    def verify(self, *groups: str) -> None:
        """Compare all rows, or those of some groups, with the sums; raises `Tampered`."""
        stored = self._state.sums if self._state is not None else self._read()
        found = {one: self._sum(one) for one in groups} if groups else self._counted()
        for group in groups or sorted(stored.keys() | found.keys()):
            self._compare(group, stored.get(group, Sum()), found.get(group, Sum()))

    def _compare(self, group: str, told: Sum, found: Sum) -> None:
        if told != found:
            what = {"suppressed": "The suppression list", "settings": "What is declared in the vault"}.get(
                group, f"What the vault stores as {group!r}"
            )
            raise Tampered(
                f"{what} is not as the vault left it: rows are missing, too many or older. Hint: restore a backup."
            )

    def _open(self) -> _State:
        require_transaction(self._database.inside)
        if self._state is None:
            self._state = _State(self._read(), stored=True)
        return self._state

    def _read(self) -> dict[str, Sum]:
        rows = self._database.read(_READ, (settings.SUMS,))
        if len(rows) != 1:
            raise Tampered("The vault has lost its sums. Hint: restore a backup.")
        head, told = self._unsealed(*rows[0])
        if head != self._head():
            raise Tampered(
                "The register does not end where the vault left it: it was cut, or older rows put back. "
                "Hint: restore a backup."
            )
        return told

    def _seal(self, told: dict[str, Sum]) -> tuple[str, bytes]:
        document = {group: [one.count, one.value.hex()] for group, one in sorted(told.items())}
        nonce, text = os.urandom(NONCE), json.dumps({"head": self._head(), "sums": document})
        sealed = self._sealing.encrypt(nonce, text.encode(), settings.SUMS.encode())
        return (nonce + sealed[:-CHECK]).hex(), sealed[-CHECK:]

    def _unsealed(self, name: object, document: object, check: object) -> tuple[str, dict[str, Sum]]:
        try:
            if name != NAME or not isinstance(document, str) or not isinstance(check, bytes | memoryview):
                raise ValueError
            content = bytes.fromhex(document)
            if content.hex() != document:
                raise ValueError
            sealed = content[NONCE:] + bytes(check)
            text = self._sealing.decrypt(content[:NONCE], sealed, settings.SUMS.encode())
        except (InvalidTag, ValueError):
            raise Tampered("The sums of the vault were changed. Hint: restore a backup.") from None
        read = json.loads(text)
        return read["head"], {group: Sum(count, bytes.fromhex(value)) for group, (count, value) in read["sums"].items()}

    def _counted(self) -> dict[str, Sum]:
        stores = self._stores()
        groups = {chunks.group(store) for store in stores}
        return {group: self._sum(group, stores) for group in (settings.GROUP, *sorted(groups))}

    def _sum(self, group: str, stores: Sequence[str] | None = None) -> Sum:
        total = Sum()
        for names in self._names(group, stores):
            total = total.changed(len(names), self._xor(names))
        return total

    def _names(self, group: str, stores: Sequence[str] | None) -> Iterator[list[bytes]]:
        if group == settings.GROUP:
            rows = self._database.read(_SETTINGS, (settings.SUMS,))
            yield [settings.named(_text(kind), _text(name), _bytes(mac)) for kind, name, mac in rows]
            return
        if stores is None:  # all names are found by reading the whole index
            stores = [group] if group in ALONE else self._stores()
        for store in stores:
            if chunks.group(store) == group:
                yield from self._pieces(store)

    def _pieces(self, store: str) -> Iterator[list[bytes]]:
        after = b""
        while rows := self._database.read(_CHUNKS, (store, after)):
            yield [
                chunks.name(store, _bytes(f), _bytes(l), _bytes(nonce) + _bytes(check)) for f, l, nonce, check in rows
            ]
            after = _bytes(rows[-1][0])

    def _stores(self) -> list[str]:
        return [str(store) for (store,) in self._database.read(_STORES)]

    def _xor(self, names: Sequence[bytes]) -> bytes:
        return bytes(np.bitwise_xor.reduce(tags(names, self._key, CHECK), axis=0))


def _bytes(cell: object) -> bytes:
    if not isinstance(cell, bytes | memoryview):
        raise Tampered(ODD)
    return bytes(cell)


def _text(cell: object) -> str:
    if not isinstance(cell, str):
        raise Tampered(ODD)
    return cell
