"""Backups, and restoring them without bringing erased people, or lost keys and partners, back.

A backup knows nothing of what happened after it. So a restore needs to be told: `later.py` says by what, and what is
taken over. Without a source it is refused. If lines of the suppression list from after the backup were purged, nobody
knows any more whom to erase again, and the restore is refused too: let no backup live longer than the list.

A vault on a server is backed up and brought back by the server's own tools; then `vault.replay(erasures_from=...)` does
the rest. Until then whoever was erased since the backup is back.
"""

from __future__ import annotations

import datetime
import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.documents.atomic_files import create_file
from discreet.errors import NotSupported
from discreet.pseudonyms import opening
from discreet.pseudonyms.drafts import draft, publish, unused
from discreet.pseudonyms.entries import words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.forgetting import forget
from discreet.pseudonyms.handles import Handle
from discreet.pseudonyms.keys import KeyFile, Passphrase
from discreet.pseudonyms.later import AGAIN, DECLARED, Later, Source, seal, told
from discreet.pseudonyms.noting import carry_run
from discreet.pseudonyms.register import STARTED, Anchor
from discreet.pseudonyms.runs import runs
from discreet.pseudonyms.settings import Change
from discreet.pseudonyms.sqlite import Sqlite, check_file
from discreet.pseudonyms.suppression import Line
from discreet.pseudonyms.takeover import count_people, count_unknown, take_people

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


@dataclass(frozen=True)
class Restored:
    """What a restore did.

    Attributes
    ----------
    entry : its number in the register.
    replayed : how many people were erased after the backup, and are erased again.
    lost : how many entries of the register the backup did not have.
    tables : how many later tables are known again.
    people : how many people first seen after the backup are known again.
    unknown : how many people, at least, were first seen after the backup and are not known. A file of erasures tells
        how many people there were: more may be unknown, if some were pruned since. None if the source does not tell.
    unlocated : of how many tables it is not known who is in them; `find` and `erase` name them, and who received them.
    corrections : how many later corrections are lost: what was taken off somebody is back, to be corrected again
        (`vault.correct`). The register holds no person, so it is not known whose. None if the source does not tell.
    pruned : how many people `prune` forgot later and may be back, if the backup knew them (`vault.prune` again).
        None if the source does not tell.
    old_secret : whether the vault got another secret after the backup; it opens with the old one: `vault.rewrap`.
    cleaned : whether no old byte is left in the log; otherwise `vault.tidy()` later, or it is a server's to forget.
    """

    entry: int
    replayed: int
    lost: int
    tables: int
    old_secret: bool
    cleaned: bool
    corrections: int | None = 0
    pruned: int | None = 0
    people: int = 0
    unknown: int | None = 0
    unlocated: int = 0


def backup(vault: Vault, path: str | os.PathLike[str], *, who: str | None = None) -> Anchor:
    """A copy of the vault in a new file of mode 0600; restored with the same secret.

    The anchor of the copy is returned. That it was made is entered when it is there, so the copy does not tell of it.
    The copy is marked as one: it can be restored, and be the source of a restore, but not be opened as it is.
    """
    name, final = words(who, "who"), str(Path(path).absolute())
    vault.database.backup(final, opening.marked)
    try:
        with closing(Sqlite(final)) as copy:
            anchor = vault.over(copy).register.anchor()
        vault.register.append("backup", who=name, details={"up to": str(anchor)})
    except BaseException:
        os.unlink(final)  # no copy that the register does not tell of
        raise
    return anchor


def erasures(vault: Vault, path: str | os.PathLike[str]) -> Anchor:
    """Who was erased, and what else a restore needs, sealed in a new file of mode 0600; keep it with the backups."""
    return seal(vault, path)


def restored(
    place: str | os.PathLike[str],
    copy: str | os.PathLike[str],
    given: Passphrase | KeyFile,
    erasures_from: Source | None,
    *,
    anchor: Anchor | str | None = None,
    who: str | None = None,
) -> Restored:
    """Bring a backup to a new place and up to date; it appears whole or not at all."""
    from discreet.pseudonyms.vault import Vault

    if opening.remote(place):
        raise NotSupported(
            "A backup is restored to a file. A server's is restored by its own tools. Hint: then vault.replay(...)."
        )
    final = str(Path(place).absolute())
    unused(final)
    if erasures_from is None:
        raise VaultError(
            "A backup does not know who was erased after it. Hint: erasures_from= a later state of the vault, a file of"
            " vault.erasures(...), or the anchor of the backup if nothing happened since."
        )
    with draft(final) as temporary:
        _copy(copy, temporary)
        with Vault.opened(temporary, given, copy=True) as vault:
            with vault.database.transaction():
                opening.unmark(vault.database)
            done = replay(vault, erasures_from, anchor=anchor, who=who)
        publish(temporary, final)
    return done


def _copy(source: str | os.PathLike[str], temporary: str) -> None:
    if not os.path.exists(source):
        raise VaultError(f"There is no backup at {os.fspath(source)!r}.")
    check_file(os.fspath(source))
    log = os.fspath(source) + "-wal"
    if os.path.exists(log) and os.path.getsize(log):
        raise VaultError("The backup is in use: it has a log beside it. Hint: close whatever has it open.")
    create_file(temporary, 0o600)
    with Handle(source) as handle, open(temporary, "r+b") as written:
        written.writelines(handle.pieces())


def replay(
    vault: Vault, erasures_from: Source, *, anchor: Anchor | str | None = None, who: str | None = None
) -> Restored:
    """Bring a vault that was a backup up to date: erase again, revoke again, know later keys, tables and people again.

    Parameters
    ----------
    vault : as the backup left it; also one on a server. One that was used since is refused.
    erasures_from : a later state of the vault (path or address), a file of `vault.erasures`, or the backup's anchor.
    anchor : the newest one that was kept; a source that does not reach it is refused. A source proves that it is later
        than the backup, not that it is the latest.
    """
    name = words(who, "who")
    with vault.database.transaction():
        vault.verify()
        with told(vault, erasures_from, None if anchor is None else Anchor.parse(anchor)) as later:
            done = _replayed(vault, later, name)
    return replace(done, cleaned=vault.database.tidy())


def _replayed(vault: Vault, later: Later, who: str | None) -> Restored:
    base = later.base.count
    lines, people = later.after(base), later.people and later.people()
    changes = _declared(vault, later)
    tables, missed, others = _tables(vault, later, who, located=people is not None)
    for run in later.cut if people is not None else ():
        carry_run(vault, run, base, who)
    number = vault.register.anchor().count + 1
    _erase_again(vault, lines, number)
    done = Restored(
        entry=number,
        replayed=later.erasures(base),
        lost=max(later.anchor.count - base, 0),
        tables=tables,
        old_secret=later.rewrapped > base,
        cleaned=False,
        corrections=later.corrections(base) if people is None else 0,
        pruned=later.stale(base) if people is None else 0,
        people=0 if people is None else take_people(vault, people),
        unknown=_unknown(vault, later, missed),
        unlocated=sum(not run.located for run in runs(vault)),
    )
    changes += [*others, vault.settings.put("state", "erasures", {"count": vault.mark() + max(len(lines), 1)})]
    details = {"suppressed": len(lines), "links": "of the backup" if people is None else "of the later state"}
    details |= _described(done, later)
    vault.register.append("restore", who=who, rows=done.replayed, details=details, changes=tuple(changes))
    return done


def _unknown(vault: Vault, later: Later, missed: int) -> int | None:
    """`Restored.unknown`, once people are erased again; `missed` are in one later table and not known."""
    if later.settings is None or later.people is not None:  # nothing happened since; or a state that tells of people
        return missed
    return None if later.people_count is None else max(later.people_count - count_people(vault.people), 0)


def _described(done: Restored, later: Later) -> dict[str, Any]:
    """What the register says of a restore."""
    counts = {
        "tables": done.tables,
        AGAIN: done.replayed,
        "people known again": done.people,
        "people not known": done.unknown,
        "tables not located": done.unlocated,
        "corrections lost": done.corrections,
        "people pruned": done.pruned,
    }
    told = {name: "not told" if count is None else count for name, count in counts.items()}
    return {"from": str(later.base), "erasures up to": str(later.anchor), "told by": later.by, **told}


def _erase_again(vault: Vault, lines: list[Line], number: int) -> None:
    """Forget whoever has a tag of these lines, and put the lines on the list."""
    for line in lines:
        tag = np.frombuffer(line.tag, np.uint8).reshape(1, 16)
        forget(vault, tag)
        vault.suppression.add(tag, datetime.date.fromordinal(line.until), number, line.known_by)


def _declared(vault: Vault, later: Later) -> list[Change]:
    """Fields, purposes, partners, keys and models as they were later."""
    changes: list[Change] = []
    for kind in DECLARED if later.settings is not None else ():
        assert later.settings is not None
        old, new = vault.settings.all(kind), later.settings[kind]
        changes += [vault.settings.put(kind, name, one) for name, one in new.items() if one != old.get(name)]
        changes += [vault.settings.remove(kind, name) for name in old if name not in new]
    return changes


def _tables(vault: Vault, later: Later, who: str | None, *, located: bool) -> tuple[int, int, list[Change]]:
    """Tables as they were later, each with an entry of its own.

    Returns how many are new, how many people of one of them, at most, are not known, and other changes.
    """
    if later.settings is None:
        return 0, 0, []
    old, new = vault.settings.all("table"), later.settings["table"]
    for uid in old.keys() - new.keys():
        _retired(vault, uid, old[uid], who)
    fresh = sorted(new.keys() - old.keys(), key=lambda uid: int(new[uid]["entry"]))
    unknown = [_known_again(vault, later, uid, new[uid], who, located=located) for uid in fresh]
    same = [
        (uid, {**new[uid], "entry": old[uid]["entry"], "located": old[uid]["located"]}) for uid in old if uid in new
    ]
    changes = [vault.settings.put("table", uid, one) for uid, one in same if one != old[uid]]
    return len(fresh), max(unknown, default=0), changes


def _retired(vault: Vault, uid: str, old: dict[str, Any], who: str | None) -> None:
    if old["located"]:  # otherwise nobody is stored under it
        vault.uses.drop(uid)
    content = {name: old[name] for name in ("purpose", "table", "partner")}
    change = vault.settings.remove("table", uid)
    vault.register.append("retire", who=who, changes=(change,), details={"uid": uid}, **content)


def _known_again(
    vault: Vault, later: Later, uid: str, document: dict[str, Any], who: str | None, *, located: bool
) -> int:
    """A later table; how many people in it are not known. With such people it is not known who is in it."""
    array = later.array(uid) if document["located"] else None
    unknown = 0 if array is None or located else count_unknown(vault, uid, array)
    array = None if unknown else array
    if array is not None:
        vault.uses.add_tags(uid, array)
    number = vault.register.anchor().count + 1
    change = vault.settings.put("table", uid, {**document, "entry": number, "located": array is not None})
    content = dict((later.made or {}).get(uid) or {"details": {"uid": uid}})
    content |= {name: tuple(content[name]) for name in ("categories", "recipients") if name in content}
    if content["details"].get(STARTED, 0) > later.base.count:  # the number of an entry that is not in this register
        content["details"] = {name: one for name, one in content["details"].items() if name != STARTED}
    vault.register.append("known again", who=who, changes=(change,), **content)
    return unknown
