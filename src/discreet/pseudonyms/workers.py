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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from discreet.documents.atomic_files import create_file
from discreet.errors import NotSupported, VersionError
from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.drafts import draft, publish
from discreet.pseudonyms.entries import today, words
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.hashing import tags
from discreet.pseudonyms.identities import Schema
from discreet.pseudonyms.keyring import Version
from discreet.pseudonyms.matching import Tagged
from discreet.pseudonyms.messages import Messages
from discreet.pseudonyms.naming import Resolved
from discreet.pseudonyms.people import by_tags
from discreet.pseudonyms.suppression import WIDTH
from discreet.pseudonyms.tokens import ID, TokenKeys
from discreet.pseudonyms.versions import kinds, seen

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

FORM = 1


def worker_file(
    vault: Vault, path: str | os.PathLike[str], purpose: str, partner: str | None = None, *, who: str | None = None
) -> None:
    """Write the file that workers of a cluster need for one purpose (and one partner), mode 0600.

    Parameters
    ----------
    vault : an open vault with derived links.
    path : of a new file. Bring it to every worker under one path, as other secrets are, and remove it afterwards.
    purpose, partner : as for `pseudonymise` and `share`.
    who : for the register, which says that these keys left the vault.

    It knows who was erased up to now. After an erasure, or a rotation, write a new one.
    """
    version = vault.version(purpose, partner)
    Worker.of(vault, version).write(path)
    try:
        vault.register.append(
            "worker file", who=words(who, "who"), purpose=purpose, partner=partner, details={"key_id": version.key_id}
        )
    except BaseException:
        os.unlink(path)  # no keys outside that the register does not tell of
        raise


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Worker:
    """Keys of one purpose.

    Parameters
    ----------
    schema : how identifiers are read.
    keys : K1 and K2.
    hash : the key of ids.
    suppressed : the tags of people who were erased, and what they were known by (`suppression.py`).
    older : earlier versions of the fields.
    fields : what stands for the fields of each kind of identity.
    """

    schema: Schema
    keys: TokenKeys
    hash: bytes
    suppressed: Mapping[bytes, bytes]
    older: tuple[Schema, ...] = ()
    fields: Mapping[str, bytes] = field(default_factory=dict)

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
        schemas, now = vault.schemas(), today().toordinal()
        gone = {line.tag: line.known_by for line in vault.suppression.lines() if line.until >= now}
        fields = {kind.fields: vault.people.kind(kind.fields) for kind in kinds(schemas).values()}
        return cls(schemas[-1], vault.keyring.keys(version), vault._hash_key(), gone, schemas[:-1], fields)

    def resolve(self, found: Messages) -> Resolved:
        """Who rows are of: the keyed hash of the first whole identity, as in a vault with derived links."""
        tagged = [
            Tagged(one.kind, one.rows, tags(one.texts, self.hash, ID))
            for one in seen((*self.older, self.schema), found)
        ]
        fields = [self.fields[one.kind.fields] for one in tagged]
        return by_tags(found.rows, tagged, [self._listed(one.tags) for one in tagged], fields)

    def _listed(self, own: Bytes) -> tuple[npt.NDArray[np.bool_], Bytes]:
        known, values = np.zeros(len(own), bool), np.zeros((len(own), WIDTH), np.uint8)
        for row, tag in enumerate(own) if self.suppressed else ():
            known_by = self.suppressed.get(tag.tobytes())
            if known_by is not None:
                known[row], values[row] = True, np.frombuffer(known_by, np.uint8)
        return known, values

    def write(self, path: str | os.PathLike[str]) -> None:
        """A new file of mode 0600, whole or not at all; one that is there is never written over."""
        content = {
            "form": FORM,
            "schema": self.schema.document(),
            "key id": self.keys.key_id,
            "cipher": self.keys.cipher.hex(),
            "check": self.keys.check.hex(),
            "hash": self.hash.hex(),
            "suppressed": {tag.hex(): known_by.hex() for tag, known_by in sorted(self.suppressed.items())},
            "older": [schema.document() for schema in self.older],
            "fields": {name: kind.hex() for name, kind in self.fields.items()},
        }
        text = json.dumps({"content": content, "digest": _digest(content)})
        final = str(Path(path).absolute())
        with draft(final) as temporary:
            create_file(temporary, 0o600, text.encode())
            publish(temporary, final)

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
        gone, fields = (_unhexed(content[name]) for name in ("suppressed", "fields"))
        keys = TokenKeys(content["key id"], cipher, check)
        older = tuple(map(Schema.from_document, content["older"]))
        by_tag = {bytes.fromhex(tag): known_by for tag, known_by in gone.items()}
        return cls(Schema.from_document(content["schema"]), keys, ids, by_tag, older, fields)


def _unhexed(content: Mapping[str, str]) -> dict[str, bytes]:
    return {name: bytes.fromhex(value) for name, value in content.items()}


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
