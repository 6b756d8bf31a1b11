"""What a later state of a vault tells a backup of it: who was erased since, and what was declared, revoked and made.

| source | what it proves | what is taken over |
| --- | --- | --- |
| a later state of the vault: a path, or an address | its register goes on after that of the backup | all of the below |
| a file of `vault.erasures(path)` | the backup's register is the start of its own | all but who is known, and where |
| the backup's own anchor | nothing: it is the holder's word that nothing happened since, and registered so | nothing |

Taken over: erasures, fields, purposes, partners and their revocation, key versions, models, tables and who is in them,
and who is known by what (`takeover.py`): people first seen after the backup, corrections, and whom `prune` forgot. If a
source does not tell the last, people first seen after the backup get new ids, and corrections and prunings are lost;
how many is counted.
That a source is *the latest* only an anchor can prove, from after it or of it.
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

from discreet.documents.atomic_files import create_file
from discreet.errors import VersionError
from discreet.pseudonyms import checking, opening
from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.drafts import draft, publish
from discreet.pseudonyms.entries import Entry
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.handles import Handle
from discreet.pseudonyms.people import People
from discreet.pseudonyms.register import Anchor, Register, Unfinished
from discreet.pseudonyms.runs import runs
from discreet.pseudonyms.suppression import Line
from discreet.pseudonyms.takeover import count_people, read_people
from discreet.pseudonyms.upgrading import before

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

Source = str | os.PathLike[str] | Anchor
Documents = Mapping[str, Mapping[str, dict[str, Any]]]  # settings by kind and name

FORM = b"discreet erasures "
MAGIC = FORM + b"3\n"
READS = (FORM + b"2\n", MAGIC)  # form 2 does not tell of corrections, nor of people who were pruned
HEAD = 32  # bytes of a MAC of the register
AGAIN = "people erased again"  # what the entry of a restore calls their number
DECLARED = ("schema", "purpose", "partner", "keys", "model")
MADE = ("purpose", "table", "partner", "categories", "rows", "recipients", "retention", "basis", "details")
OLDER = (
    "The source does not reach the newest anchor: it is older, or of another line. Hint: a later state of the vault."
)
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
    base : the state of the backup's register, from which the source goes on.
    anchor : the state of its own register.
    listed : how many tags each erasure put on the suppression list, by the number of its entry.
    erased : how many people each erasure forgot, by the number of its entry.
    corrected : the numbers of entries of corrections; None if that is not known.
    pruned : how many people each `prune` forgot, by the number of its entry; None if that is not known.
    purged, rewrapped : the numbers of the last entries of a purge, and of a change of the secret; 0 if there is none.
    lines : the suppression list.
    settings : what is declared, and "table"; None if nothing happened since.
    made : what the register says of the making of each table, by uid.
    array : who is in a table, by uid; None if that is not known.
    cut : later entries of runs that took people in and made no table: they failed, or were never finished.
    people : reads who is known by what, and gives None if that is damaged; None if the source does not tell.
    people_count : how many people are known; told by a file of erasures, if it is not an older one.
    """

    by: str
    base: Anchor
    anchor: Anchor
    listed: tuple[tuple[int, int], ...] = ()
    erased: tuple[tuple[int, int], ...] = ()
    corrected: tuple[int, ...] | None = ()
    pruned: tuple[tuple[int, int], ...] | None = ()
    purged: int = 0
    rewrapped: int = 0
    lines: tuple[Line, ...] = ()
    settings: Documents | None = None
    made: Mapping[str, dict[str, Any]] | None = None
    array: Callable[[str], Bytes | None] = lambda uid: None
    cut: tuple[Entry, ...] = ()
    people: Callable[[], People | None] | None = None
    people_count: int | None = None

    def after(self, entry: int) -> list[Line]:
        """The lines of erasures after an entry; refused if some were purged, or may have been."""
        lines = [line for line in self.lines if line.entry > entry]
        expected = sum(count for number, count in self.listed if number > entry)
        # without a purge since, fewer lines mean that somebody was erased twice
        if len(lines) > expected or (len(lines) < expected and self.purged > entry):
            raise VaultError(PURGED)
        return lines

    def erasures(self, entry: int) -> int:
        """How many people were erased after an entry."""
        return sum(count for number, count in self.erased if number > entry)

    def corrections(self, entry: int) -> int | None:
        """How many corrections there were after an entry; None if that is not known."""
        return None if self.corrected is None else sum(number > entry for number in self.corrected)

    def stale(self, entry: int) -> int | None:
        """How many people were pruned after an entry; None if that is not known."""
        return None if self.pruned is None else sum(count for number, count in self.pruned if number > entry)


def known(vault: Vault, base: Anchor) -> Later:
    """What a vault knows, as the source of a restore; its settings and suppression list are checked."""
    entries = list(vault.register.entries())
    checking.against(vault, entries)
    if vault.state()["version"] > 1:  # there were no sums before
        vault.sums.verify("settings", "suppressed")
    uids = {run.uid for run in runs(vault)}
    return Later(
        by="a later state of the vault",
        base=base,
        anchor=vault.register.anchor(),
        corrected=tuple(e.number for e in entries if e.act == "correct"),
        pruned=tuple((e.number, int(e.rows or 0)) for e in entries if e.act == "prune"),
        listed=tuple((e.number, int(e.details["suppressed"])) for e in entries if e.act in ("erase", "restore")),
        erased=tuple((e.number, _erased(e)) for e in entries if e.act in ("erase", "restore")),
        purged=max((e.number for e in entries if e.act == "purge"), default=0),
        rewrapped=max((e.number for e in entries if e.act == "rewrap"), default=0),
        lines=tuple(vault.suppression.lines()),
        settings={kind: vault.settings.all(kind) for kind in (*DECLARED, "table")},
        made={e.details["uid"]: _made(e) for e in entries if e.act != "retire" and e.details.get("uid") in uids},
        array=lambda uid: _array(vault, uid),
        cut=tuple(e for e in _cut(entries) if e.number > base.count),
        people=lambda: read_people(vault),
    )


def _erased(entry: Entry) -> int:
    """How many people an entry says were erased; one of a restore may tell their tags alone, if it is an older one."""
    return 1 if entry.act == "erase" else int(entry.details.get(AGAIN, entry.details["suppressed"]))


def _cut(entries: list[Entry]) -> list[Entry]:
    """Runs that took people in and made no table: those that failed, and those that were never finished."""
    runs = Unfinished()
    for entry in entries:
        runs.add(entry)
    return [entry for entry in entries if entry.act == "failed"] + list(runs.all())


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
        found, heads = known(vault, vault.register.anchor()), vault.register.heads()
        people = read_people(vault)
        count = None if people is None else count_people(people)
    document = {
        "heads": heads.hex(),
        "listed": found.listed,
        "erased": found.erased,
        "corrected": found.corrected,
        "pruned": found.pruned,
        "purged": found.purged,
        "rewrapped": found.rewrapped,
        "lines": [[line.tag.hex(), line.until, line.entry, line.known_by.hex()] for line in found.lines],
        "settings": found.settings,
        "made": found.made,
        "people": count,
    }
    nonce = os.urandom(12)
    sealed = MAGIC + nonce + AESGCM(vault._export_key()).encrypt(nonce, json.dumps(document).encode(), MAGIC)
    final = str(Path(path).absolute())
    with draft(final) as temporary:
        create_file(temporary, 0o600, sealed)
        publish(temporary, final)
    return found.anchor


def _unsealed(vault: Vault, content: bytes, newest: Anchor | None) -> Later:
    magic, body = content[: len(MAGIC)], content[len(MAGIC) :]
    if magic not in READS:
        raise VersionError("The file of erasures was written by another version of discreet.")
    try:
        text = AESGCM(vault._export_key()).decrypt(body[:12], body[12:], magic)
    except (InvalidTag, ValueError):
        raise VaultError("The file of erasures was changed, or belongs to another vault.") from None
    document = json.loads(text)
    heads = bytes.fromhex(document["heads"])
    corrected, pruned = document.get("corrected"), document.get("pruned")
    erased = document.get("erased") or [(number, 1) for number, _ in document["listed"]]  # older files tell tags alone
    return Later(
        by="a file of erasures",
        base=_continued(heads, vault, newest),
        anchor=Anchor(len(heads) // HEAD, heads[-HEAD:].hex()),
        listed=tuple((number, count) for number, count in document["listed"]),
        erased=tuple((number, count) for number, count in erased),
        corrected=None if corrected is None else tuple(corrected),
        pruned=None if pruned is None else tuple((number, count) for number, count in pruned),
        purged=document["purged"],
        rewrapped=document["rewrapped"],
        lines=tuple(Line(bytes.fromhex(tag), day, n, bytes.fromhex(by)) for tag, day, n, by in document["lines"]),
        settings=document["settings"],
        made=document["made"],
        people_count=document.get("people"),
    )


def _continued(heads: bytes, vault: Vault, newest: Anchor | None) -> Anchor:
    """The state of a backup, if it is on a chain of heads."""
    states = before(vault)
    if len(heads) // HEAD < states[-1].count:
        raise VaultError("The file of erasures is older than the backup. Hint: one made after it.")
    if newest is not None and not _on(heads, newest):
        raise VaultError(OLDER)
    for one in states:
        if _on(heads, one):
            return one
    raise VaultError(
        "The file of erasures does not continue the backup: it was made before another backup was restored, or of"
        " another copy of the vault. Hint: one made of the vault after this backup."
    )


def _on(heads: bytes, anchor: Anchor) -> bool:
    return anchor.count > 0 and heads[HEAD * (anchor.count - 1) : HEAD * anchor.count].hex() == anchor.head


@contextmanager
def told(vault: Vault, source: Source, newest: Anchor | None = None) -> Iterator[Later]:
    """What a source tells a vault that is a backup; the source has to reach the newest anchor, if there is one."""
    if isinstance(source, Anchor) or not (opening.remote(source) or os.path.exists(source)):
        yield _word(vault, source, newest)
        return
    content = None if opening.remote(source) else _content(source)
    if content is not None:
        yield _unsealed(vault, content, newest)
        return
    with closing(opening.connect(source)) as database, database.snapshot():
        database.inspect()  # it may have been brought up to date since it was opened
        if opening.read_header(database)["vault"] != vault.name:
            raise VaultError("The backup is of another vault than the one that tells of erasures.")
        later = vault.over(database)
        yield known(later, _base(vault, later.register, newest))


def _base(vault: Vault, register: Register, newest: Anchor | None) -> Anchor:
    """The state of a backup, from which the register of a later state goes on."""
    states = before(vault)
    base = next((one for one in states if register.has(one)), states[-1])
    if newest is not None and register.anchor().count < newest.count:
        raise VaultError(OLDER)
    register.verify(newest)
    register.verify(base)
    if register.anchor() in states:
        raise VaultError(
            "The source ends where the backup ends: it is the backup itself, or no newer, and tells nothing of later."
            " Hint: a later state; or the anchor that vault.backup(...) returned, if nothing happened since."
        )
    return base


def _content(source: str | os.PathLike[str]) -> bytes | None:
    with Handle(source) as handle:  # it may be a vault that is open here
        return b"".join(handle.pieces()) if handle.read(len(FORM)) == FORM else None


def _word(vault: Vault, source: Source, newest: Anchor | None) -> Later:
    try:
        anchor = Anchor.parse(source if isinstance(source, Anchor) else os.fspath(source))
    except ValueError:
        raise VaultError("The `erasures_from` is no file, and no anchor.") from None
    states = before(vault)
    now = next((one for one in states if one.count == anchor.count), states[-1])
    if anchor.count > now.count or (newest is not None and newest.count > now.count):
        raise VaultError(
            f"The anchor is of entry {max(anchor.count, newest.count if newest else 0)}, the backup ends with entry"
            f" {now.count}: something happened since, if only that the backup was entered in the register. Hint: the"
            " anchor that vault.backup(...) returned, if nothing else happened since; or a later state."
        )
    vault.register.verify(anchor)
    if anchor != now:
        raise VaultError(
            f"The anchor is of entry {anchor.count}, the backup ends with entry {now.count}: an older anchor says"
            " nothing of what came after. Hint: the anchor that vault.backup(...) returned, if nothing happened since."
        )
    return Later(by="the holder's word that nothing happened since", base=anchor, anchor=anchor)
