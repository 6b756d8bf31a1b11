"""The master key of a vault, and all keys that come from it.

A vault has one master key of 32 random bytes. It is stored only wrapped (see `keys`). Every other key is derived
from it by HKDF-SHA256 (RFC 5869) with an info of netstrings, so that no two uses ever share a key.

| label | what for |
| --- | --- |
| `lookup` | tags of identities under which people are stored |
| `hash` | ids where links are derived |
| `suppress` | the list of people not to be taken in again |
| `register`, `row`, `settings`, `sums` | checks of stored rows |
| `use` | tags of people in a table; part: the table |
| `export` | what is handed out |
| `token cipher`, `token check` | K1 and K2; parts: purpose, partner, version, and its random key id |
"""

from __future__ import annotations

import os
from typing import NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.arguments import check_whole
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.netstrings import netstrings

SIZE = 32
CONTEXT = "discreet vault, keys, form 1"


class Secret:
    """Something that is not shown, copied or pickled, and is zeroed on `close` as far as Python lets.

    Zeroing is best effort and no promise: Python, the garbage collector, libraries and the operating system may hold
    copies, in memory and in swap.
    """

    __slots__ = ("_bytes",)

    def __init__(self, content: bytes | bytearray) -> None:
        self._bytes = bytearray(content)

    def close(self) -> None:
        """Overwrite the content with zeros and forget it."""
        self._bytes[:] = bytes(len(self._bytes))
        self._bytes.clear()

    def _content(self) -> bytes:
        if not self._bytes:
            raise VaultError(f"The {type(self).__name__} was closed. Hint: open the vault again.")
        return bytes(self._bytes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse: a pickle would hold the key in clear."""
        raise TypeError(f"A {type(self).__name__} is secret and cannot be pickled or copied.")

    def __del__(self) -> None:
        if hasattr(self, "_bytes"):
            self.close()


class Master(Secret):
    """The key from which all keys of a vault come.

    Parameters
    ----------
    content : 32 random bytes; `Master.random()` draws them.

    >>> master = Master.random()
    >>> master
    <Master>
    >>> master.derive("use", "ab", "c") != master.derive("use", "a", "bc")
    True
    """

    __slots__ = ()

    def __init__(self, content: bytes | bytearray) -> None:
        if len(content) != SIZE:
            raise ValueError(f"The `content` of Master must be {SIZE} bytes long. Got {len(content)}.")
        super().__init__(content)

    @classmethod
    def random(cls) -> Master:
        """A new master key from the operating system's generator."""
        return cls(os.urandom(SIZE))

    def derive(self, label: str, *parts: str) -> bytes:
        """32 bytes for one use: HKDF-SHA256 with the netstrings of context, label and parts as info.

        Parameters
        ----------
        label : what the key is for.
        parts : names that make it one of several; ("ab", "c") and ("a", "bc") give unrelated keys.
        """
        if not label:
            raise ValueError("The `label` of a key must not be empty.")
        # No salt: the master key is uniformly random (RFC 5869, section 3.1).
        return HKDF(SHA256(), SIZE, salt=None, info=netstrings(CONTEXT, label, *parts)).derive(self._content())

    def token_keys(self, purpose: str, partner: str | None, version: int, key_id: str) -> tuple[bytes, bytes]:
        """K1 and K2 of a purpose, a partner (None: the holder) and a version.

        The key id is drawn at random for each version: a number that comes up again, after a backup was restored, gives
        other keys than the first time.
        """
        version = check_whole("token keys", "version", version)
        who = ("holder",) if partner is None else ("partner", partner)
        parts = (purpose, str(version), key_id, *who)
        return self.derive("token cipher", *parts), self.derive("token check", *parts)
