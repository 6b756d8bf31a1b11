"""Backups, and restoring them without bringing erased people back.

A backup knows nothing of erasures after it. So a restore needs to be told of them:

| `erasures_from` | what it proves |
| --- | --- |
| the path of a later state of the same vault, however old its people | its register continues the backup's |
| a file made by `vault.erasures(path)` | sealed by the same vault; as of the day it was made |
| an anchor | the backup's register reaches it: there was nothing later |
| nothing | refused |

If lines of the suppression list from after the backup were purged, nobody knows any more whom to erase again, and the
restore is refused: let no backup live longer than the list.
"""

from __future__ import annotations

import datetime
import json
import os
import secrets
import shutil
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.errors import NotSupported
from discreet.pseudonyms import opening
from discreet.pseudonyms.entries import words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.keys import KeyFile, Passphrase
from discreet.pseudonyms.register import Anchor
from discreet.pseudonyms.rights import forget
from discreet.pseudonyms.sqlite import Sqlite, discard, publish, unused
from discreet.pseudonyms.suppression import Line

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

MAGIC = b"discreet erasures 1\n"
PURGED = (
    "Erasures from after the backup were purged from the suppression list, so nobody knows whom to erase again."
    " The backup cannot be restored."
)


@dataclass(frozen=True)
class Restored:
    """What a restore did.

    Attributes
    ----------
    entry : its number in the register.
    replayed : how many tags of later erasures were erased again.
    lost : how many entries of the register the backup did not have.
    """

    entry: int
    replayed: int
    lost: int


@dataclass(frozen=True, repr=False)
class Erasures:
    """What is known of erasures: the state of the register, how many tags each listed, and those tags."""

    anchor: Anchor
    listed: tuple[tuple[int, int], ...]
    lines: tuple[Line, ...]

    def after(self, entry: int) -> list[Line]:
        """The lines of erasures after an entry; refused if some were purged."""
        lines = [line for line in self.lines if line.entry > entry]
        if len(lines) != sum(count for number, count in self.listed if number > entry):
            raise VaultError(PURGED)
        return lines


def backup(vault: Vault, path: str | os.PathLike[str], *, who: str | None = None) -> Anchor:
    """A copy of the vault in a new file of mode 0600; opens with the same secret. Its anchor is returned."""
    entry = vault.register.append("backup", who=words(who, "who"))
    vault.database.backup(os.fspath(path))
    return vault.register.at(entry.number)


def known(vault: Vault) -> Erasures:
    """All erasures that a vault knows of."""
    with vault.database.snapshot():
        listed = [(e.number, int(e.details["suppressed"])) for e in vault.register.entries() if _erasing(e.act)]
        return Erasures(vault.register.anchor(), tuple(listed), tuple(vault.suppression.lines()))


def _erasing(act: str) -> bool:
    return act in ("erase", "restore")


def erasures(vault: Vault, path: str | os.PathLike[str]) -> Anchor:
    """Who was erased, sealed in a new file of mode 0600, for restores; keep it with the backups."""
    found = known(vault)
    lines = [[line.tag.hex(), line.until, line.entry] for line in found.lines]
    content = json.dumps({"vault": vault.name, "anchor": str(found.anchor), "listed": found.listed, "lines": lines})
    nonce = os.urandom(12)
    sealed = MAGIC + nonce + AESGCM(vault.export_key()).encrypt(nonce, content.encode(), MAGIC)
    final = str(Path(path).absolute())
    unused(final)
    temporary = f"{final}.{secrets.token_hex(4)}.new"
    try:
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(sealed)
        publish(temporary, final)
    finally:
        discard(temporary)
    return found.anchor


def _read(vault: Vault, content: bytes) -> Erasures:
    body = content[len(MAGIC) :]
    try:
        text = AESGCM(vault.export_key()).decrypt(body[:12], body[12:], MAGIC)
    except (InvalidTag, ValueError):
        raise VaultError("The file of erasures was changed, or belongs to another vault.") from None
    document = json.loads(text)
    lines = tuple(Line(bytes.fromhex(tag), until, entry) for tag, until, entry in document["lines"])
    anchor = Anchor.parse(document["anchor"])
    if anchor.count < vault.register.anchor().count:
        raise VaultError("The file of erasures is older than the backup. Hint: one made after it.")
    return Erasures(anchor, tuple((n, count) for n, count in document["listed"]), lines)


def known_from(vault: Vault, source: str | os.PathLike[str] | Anchor) -> Erasures:
    """The erasures that a source tells of, for the vault of a backup."""
    if isinstance(source, Anchor) or not os.path.exists(source):
        return _anchored(vault, source)
    with open(source, "rb") as file:
        content = file.read() if file.read(len(MAGIC)) == MAGIC and not file.seek(0) else None
    if content is not None:
        return _read(vault, content)
    with closing(Sqlite(source)) as database:
        if opening.read_header(database)["vault"] != vault.name:
            raise VaultError("The backup is of another vault than the one that tells of erasures.")
        later = vault.over(database)
        later.register.verify(vault.register.anchor())
        return known(later)


def _anchored(vault: Vault, source: str | os.PathLike[str] | Anchor) -> Erasures:
    try:
        anchor = Anchor.parse(source if isinstance(source, Anchor) else os.fspath(source))
    except ValueError:
        raise VaultError("The `erasures_from` is no file, and no anchor.") from None
    vault.register.verify(anchor)
    return Erasures(anchor, (), ())


def restored(
    place: str | os.PathLike[str],
    copy: str | os.PathLike[str],
    given: Passphrase | KeyFile,
    erasures_from: str | os.PathLike[str] | Anchor | None,
    who: str | None = None,
) -> Restored:
    """Bring a backup to a new place and erase again whoever was erased since; it appears whole or not at all."""
    from discreet.pseudonyms.vault import Vault

    if opening.remote(place):
        raise NotSupported("A backup is restored to a file. A server's is restored by its own tools.")
    final = str(Path(place).absolute())
    unused(final)
    if erasures_from is None:
        raise VaultError(
            "A backup does not know who was erased after it. Hint: erasures_from= a later state of the vault, a file of"
            " vault.erasures(...), or the anchor of the backup if nothing happened since."
        )
    temporary = os.path.join(os.path.dirname(final), f".{os.path.basename(final)}.{secrets.token_hex(4)}.new")
    with ExitStack() as stack:
        stack.callback(discard, temporary)
        _copy(copy, temporary)
        with Vault.opened(temporary, given) as vault:
            vault.verify()
            done = replay(vault, known_from(vault, erasures_from), words(who, "who"))
        publish(temporary, final)
    return done


def _copy(source: str | os.PathLike[str], temporary: str) -> None:
    log = os.fspath(source) + "-wal"
    if os.path.exists(log) and os.path.getsize(log):
        raise VaultError("The backup is in use: it has a log beside it. Hint: close whatever has it open.")
    try:
        with (
            open(source, "rb") as read,
            os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as written,
        ):
            shutil.copyfileobj(read, written)
    except FileNotFoundError:
        raise VaultError(f"There is no backup at {os.fspath(source)!r}.") from None


def replay(vault: Vault, found: Erasures, who: str | None) -> Restored:
    """Erase again what was erased after the state of this vault."""
    with vault.database.transaction():
        before = vault.register.anchor()
        lines = found.after(before.count)
        number = before.count + 1
        for line in lines:
            tag = np.frombuffer(line.tag, np.uint8).reshape(1, 16)
            forget(vault, tag)
            vault.suppression.add(tag, datetime.date.fromordinal(line.until), number)
        change = vault.settings.put("state", "erasures", {"count": vault.mark() + len(lines)})
        details = {"suppressed": len(lines), "from": str(before), "erasures up to": str(found.anchor)}
        vault.register.append("restore", who=who, rows=len(lines), details=details, changes=(change,))
    vault.database.tidy()
    return Restored(number, len(lines), max(found.anchor.count - before.count, 0))
