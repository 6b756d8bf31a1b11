"""The key file of workers: what a machine of a cluster needs to make the pseudonyms of one purpose, and no more.

| it can | it cannot |
| --- | --- |
| make the pseudonyms of one purpose (and one partner) | make or open those of another purpose or partner |
| tell which of a list of guessed people are in a table of that purpose | open the vault, its register or its uses |

So it is a secret: mode 0600, to be removed when the work is done. Workers read it by its path; it is in no plan,
closure or log.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from discreet.errors import NotSupported, VersionError
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.hashing import tags
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.keyring import Version
from discreet.pseudonyms.messages import Messages
from discreet.pseudonyms.naming import Resolved
from discreet.pseudonyms.tokens import ID, TokenKeys

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

FORM = 1


def worker_file(vault: Vault, path: str | os.PathLike[str], purpose: str, partner: str | None = None) -> None:
    """Write the file that workers of a cluster need for one purpose (and one partner), mode 0600.

    Parameters
    ----------
    vault : an open vault with derived links.
    path : of a new file. Bring it to every worker under one path, as other secrets are, and remove it afterwards.
    purpose, partner : as for `pseudonymise` and `share`.

    It knows who was erased up to now. After an erasure, or a rotation, write a new one.
    """
    Worker.of(vault, vault.version(purpose, partner)).write(path)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Worker:
    """Keys of one purpose.

    Parameters
    ----------
    schema : how identifiers are read.
    keys : K1 and K2.
    hash : the key of ids.
    suppressed : the ids of people who were erased, and are not to be taken in again.
    """

    schema: Schema
    keys: TokenKeys
    hash: bytes
    suppressed: frozenset[bytes]

    def __repr__(self) -> str:
        return "<Worker>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse: a pickle would hold the keys in clear."""
        raise TypeError("A Worker is secret and cannot be pickled or copied.")

    @classmethod
    def of(cls, vault: Vault, version: Version) -> Worker:
        """What workers need for the pseudonyms of one purpose and partner."""
        if vault.links != "derived":
            raise NotSupported(
                "Workers need a vault with derived links: with stored ones a person's id is in the vault alone. "
                'Hint: Vault.create(..., links="derived"), or pseudonymise a Parquet file on one machine.'
            )
        gone = frozenset(line.tag for line in vault.suppression.lines())
        return cls(vault.schema, vault.keyring.keys(version), vault.hash_key(), gone)

    def resolve(self, found: Messages) -> Resolved:
        """Who rows are of: the keyed hash of the first whole identity, as in a vault with derived links."""
        out = Resolved(np.zeros((found.rows, ID), np.uint8), np.zeros(found.rows, bool), np.zeros(found.rows, bool))
        for rows, texts in found.found.values():
            own, first = tags(texts, self.hash, ID), ~out.person[rows]
            out.ids[rows[first]] = own[first]
            out.person[rows] = True
            if self.suppressed:
                out.suppressed[rows] |= [tag.tobytes() in self.suppressed for tag in own]
        out.person[out.suppressed] = False
        return out

    def write(self, path: str | os.PathLike[str]) -> None:
        """A new file of mode 0600; one that is there is never written over."""
        content = {
            "form": FORM,
            "schema": self.schema.document(),
            "key id": self.keys.key_id,
            "cipher": self.keys.cipher.hex(),
            "check": self.keys.check.hex(),
            "hash": self.hash.hex(),
            "suppressed": sorted(tag.hex() for tag in self.suppressed),
        }
        text = json.dumps({"content": content, "digest": _digest(content)})
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise VaultError(f"The worker file cannot be written: {error.strerror}.") from None
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Worker:
        """The keys in a file; it must be its owner's alone."""
        try:
            status = os.stat(path)
            text = Path(path).read_text()
        except OSError as error:
            raise VaultError(f"The worker file cannot be read: {error.strerror}.") from None
        if os.name == "posix" and status.st_mode & 0o077:
            raise VaultError(f"A worker file must be its owner's alone. Got mode {stat.S_IMODE(status.st_mode):04o}.")
        return cls._of(_checked(text))

    @classmethod
    def _of(cls, content: Mapping[str, Any]) -> Worker:
        cipher, check, ids = (bytes.fromhex(content[name]) for name in ("cipher", "check", "hash"))
        gone = frozenset(map(bytes.fromhex, content["suppressed"]))
        keys = TokenKeys(content["key id"], cipher, check)
        return cls(Schema.from_document(content["schema"]), keys, ids, gone)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _checked(text: str) -> dict[str, Any]:
    """The content of a worker file, if it is whole."""
    try:
        document = json.loads(text)
        content: dict[str, Any] = document["content"]
        whole = document["digest"] == _digest(content)
        form = content["form"]
    except (ValueError, TypeError, KeyError):
        whole, form = False, None
    if not whole:
        raise Tampered("The worker file was changed or cut. Hint: write a new one.")
    if form != FORM:
        raise VersionError("The worker file was written by another version of discreet.")
    return content
