"""What a later state of a vault tells a backup of it: who was erased since, and what was declared, revoked and made.

| source | what it proves | what is taken over |
| --- | --- | --- |
| a later state of the vault: a path, or an address | its register continues that of the backup | all of the below |
| a file of `vault.erasures(path)` | the backup's register is the beginning of its own | all but who is in new tables |
| the backup's own anchor | nothing: it is the holder's word that nothing happened since, and registered so | nothing |

Taken over: erasures, fields, purposes, partners and their revocation, key versions, models, tables and who is in them.
Links of people first seen after the backup are not: those people get new ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.pseudonyms import checking, opening
from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.drafts import draft, publish
from discreet.pseudonyms.entries import Entry
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.register import Anchor
from discreet.pseudonyms.runs import runs
from discreet.pseudonyms.suppression import Line

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

Source = str | os.PathLike[str] | Anchor
Documents = Mapping[str, Mapping[str, dict[str, Any]]]  # settings by kind and name

MAGIC = b"discreet erasures 2\n"
HEAD = 32  # bytes of a MAC of the register
DECLARED = ("schema", "purpose", "partner", "keys", "model")
MADE = ("purpose", "table", "partner", "categories", "rows", "recipients", "retention", "basis", "details")
PURGED = (
    "Erasures from after the backup were purged from the suppression list, so nobody knows whom to erase again."
    " The backup cannot be restored."
)


@dataclass(frozen=True, repr=False)
class Later:
    """What a source tells.

    Attributes
    ----------
    by : what kind of source it is, for the register.
    anchor : the state of its register.
    listed : how many tags each erasure put on the suppression list, by the number of its entry.
    purged, rewrapped : the numbers of the last entries of a purge, and of a change of the secret; 0 if there is none.
    lines : the suppression list.
    settings : what is declared, and "table"; None if nothing happened since.
    made : what the register says of the making of each table, by uid.
    array : who is in a table, by uid; None if that is not known.
    """

    by: str
    anchor: Anchor
    listed: tuple[tuple[int, int], ...] = ()
    purged: int = 0
    rewrapped: int = 0
    lines: tuple[Line, ...] = ()
    settings: Documents | None = None
    made: Mapping[str, dict[str, Any]] | None = None
    array: Callable[[str], Bytes | None] = lambda uid: None

    def after(self, entry: int) -> list[Line]:
        """The lines of erasures after an entry; refused if some were purged, or may have been."""
        lines = [line for line in self.lines if line.entry > entry]
        expected = sum(count for number, count in self.listed if number > entry)
        # without a purge since, fewer lines mean that somebody was erased twice
        if len(lines) > expected or (len(lines) < expected and self.purged > entry):
            raise VaultError(PURGED)
        return lines


def known(vault: Vault) -> Later:
    """What a vault knows, as the source of a restore; its settings and suppression list are checked."""
    entries = list(vault.register.entries())
    checking.against(vault, entries)
    uids = {run.uid for run in runs(vault)}
    return Later(
        by="a later state of the vault",
        anchor=vault.register.anchor(),
        listed=tuple((e.number, int(e.details["suppressed"])) for e in entries if e.act in ("erase", "restore")),
        purged=max((e.number for e in entries if e.act == "purge"), default=0),
        rewrapped=max((e.number for e in entries if e.act == "rewrap"), default=0),
        lines=tuple(vault.suppression.lines()),
        settings={kind: vault.settings.all(kind) for kind in (*DECLARED, "table")},
        made={e.details["uid"]: _made(e) for e in entries if e.act != "retire" and e.details.get("uid") in uids},
        array=lambda uid: _array(vault, uid),
    )


def _made(entry: Entry) -> dict[str, Any]:
    return {name: value for name, value in asdict(entry).items() if name in MADE}


def _array(vault: Vault, uid: str) -> Bytes | None:
    try:
        return np.concatenate([keys for keys, _ in vault.uses.store(uid).scan()])
    except Tampered:
        return None  # of a damaged vault as much is saved as can be


def seal(vault: Vault, path: str | os.PathLike[str]) -> Anchor:
    """Write what a vault knows to a new file, for restores."""
    with vault.database.snapshot():
        found, heads = known(vault), vault.register.heads()
    document = {
        "heads": heads.hex(),
        "listed": found.listed,
        "purged": found.purged,
        "rewrapped": found.rewrapped,
        "lines": [[line.tag.hex(), line.until, line.entry, line.known_by.hex()] for line in found.lines],
        "settings": found.settings,
        "made": found.made,
    }
    nonce = os.urandom(12)
    sealed = MAGIC + nonce + AESGCM(vault._export_key()).encrypt(nonce, json.dumps(document).encode(), MAGIC)
    final = str(Path(path).absolute())
    with draft(final) as temporary:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(sealed)
        publish(temporary, final)
    return found.anchor


def _unsealed(vault: Vault, content: bytes) -> Later:
    body = content[len(MAGIC) :]
    try:
        text = AESGCM(vault._export_key()).decrypt(body[:12], body[12:], MAGIC)
    except (InvalidTag, ValueError):
        raise VaultError("The file of erasures was changed, or belongs to another vault.") from None
    document = json.loads(text)
    return Later(
        by="a file of erasures",
        anchor=_continued(bytes.fromhex(document["heads"]), vault.register.anchor()),
        listed=tuple((number, count) for number, count in document["listed"]),
        purged=document["purged"],
        rewrapped=document["rewrapped"],
        lines=tuple(Line(bytes.fromhex(tag), day, n, bytes.fromhex(by)) for tag, day, n, by in document["lines"]),
        settings=document["settings"],
        made=document["made"],
    )


def _continued(heads: bytes, before: Anchor) -> Anchor:
    """The anchor of a chain of heads, if the state of a backup is on it."""
    count = len(heads) // HEAD
    if count < before.count:
        raise VaultError("The file of erasures is older than the backup. Hint: one made after it.")
    if heads[HEAD * (before.count - 1) : HEAD * before.count].hex() != before.head:
        raise VaultError(
            "The file of erasures does not continue the backup: it was made before another backup was restored, or of"
            " another copy of the vault. Hint: one made of the vault after this backup."
        )
    return Anchor(count, heads[-HEAD:].hex())


@contextmanager
def told(vault: Vault, source: Source) -> Iterator[Later]:
    """What a source tells a vault that is a backup."""
    if isinstance(source, Anchor) or not (opening.remote(source) or os.path.exists(source)):
        yield _word(vault, source)
        return
    content = None if opening.remote(source) else _content(source)
    if content is not None:
        yield _unsealed(vault, content)
        return
    with closing(opening.connect(source)) as database, database.snapshot():
        if opening.read_header(database)["vault"] != vault.name:
            raise VaultError("The backup is of another vault than the one that tells of erasures.")
        later = vault.over(database)
        later.register.verify(vault.register.anchor())
        yield known(later)


def _content(source: str | os.PathLike[str]) -> bytes | None:
    with open(source, "rb") as file:
        return file.read() if file.read(len(MAGIC)) == MAGIC and not file.seek(0) else None


def _word(vault: Vault, source: Source) -> Later:
    try:
        anchor = Anchor.parse(source if isinstance(source, Anchor) else os.fspath(source))
    except ValueError:
        raise VaultError("The `erasures_from` is no file, and no anchor.") from None
    vault.register.verify(anchor)
    now = vault.register.anchor()
    if anchor != now:
        raise VaultError(
            f"The anchor is of entry {anchor.count}, the backup ends with entry {now.count}: an older anchor says"
            " nothing of what came after. Hint: the anchor that vault.backup(...) returned, if nothing happened since."
        )
    return Later(by="the holder's word that nothing happened since", anchor=anchor)
