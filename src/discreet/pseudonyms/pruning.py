"""Storage limitation (GDPR Article 5(1)(e)): links of people who are in no table any more.

People come into a vault before their table is recorded, and stay when it is retired. A run that was refused or cut off
leaves its people behind too. `prune` cuts their links; should they come again, they get new ids. Runs that were started
and never finished are closed by it: an entry "failed" says so.

A run that another process is in the middle of is closed too, for nobody can tell it from one that was killed, least of
all on a server. So that no table is recorded of a run that the register calls failed, such a run fails at its end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from discreet.pseudonyms.entries import words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.noting import close_run
from discreet.pseudonyms.runs import runs

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

BATCH = 10_000  # people in one transaction: others are not to wait long
CHUNKS = 256  # looked up together


@dataclass(frozen=True)
class Pruned:
    """What was forgotten.

    Attributes
    ----------
    people : how many ids had their links cut.
    cleaned : whether no old byte is left in the log; otherwise `vault.tidy()` later, or it is a server's to forget.
    """

    people: int
    cleaned: bool


def prune(vault: Vault, *, who: str | None = None) -> Pruned:
    """Cut the links of people who are in no table; with derived links there are none.

    Parameters
    ----------
    who : for the register.

    | edge case | what happens |
    | --- | --- |
    | a table of which it is not known who is in it | `VaultError`: anybody may be |
    | a table in pieces that is being made meanwhile | it fails at its end, whoever was forgotten; run it again |
    | a table in one step | nothing: it is made before or after |
    """
    name = words(who, "who")
    with vault.database.snapshot():
        stale = _stale(vault) if vault.links == "stored" else {}
    count, ids = 0, list(stale)
    for start in range(0, len(ids), BATCH):
        count += _cut(vault, {id: stale[id] for id in ids[start : start + BATCH]}, name)
    with vault.database.transaction():
        for run in vault.register.unfinished():
            close_run(vault, run, name)
    return Pruned(count, vault.database.tidy() if count else True)


def _stale(vault: Vault) -> dict[bytes, list[bytes]]:
    """The ids that are in no table, with their tags."""
    tables = runs(vault)
    lost = [run.table for run in tables if not run.located]
    if lost:
        raise VaultError(
            f"It is not known who is in {lost[0]!r}: anybody may be. Hint: vault.retire it when it is gone."
        )
    found: defaultdict[bytes, list[bytes]] = defaultdict(list)
    scan = vault.people.links.scan()
    while some := list(islice(scan, CHUNKS)):
        tags, ids = (np.concatenate(parts) for parts in zip(*some, strict=True))
        used = np.zeros(len(ids), bool)
        for run in tables:
            used |= vault.uses.has(run.uid, ids)
        for tag, id in zip(tags[~used], ids[~used], strict=True):
            found[id.tobytes()].append(tag.tobytes())
    return dict(found)


def _cut(vault: Vault, stale: dict[bytes, list[bytes]], who: str | None) -> int:
    """Cut the links of those who are still in no table, under this or a former id; how many."""
    with vault.database.transaction():
        tables = runs(vault)
        ids = np.frombuffer(b"".join(stale), np.uint8).reshape(-1, 16)
        places, former = vault.people.former.every(ids)
        every, whose = np.concatenate([ids, former]), np.concatenate([np.arange(len(ids)), places])
        used = np.zeros(len(ids), bool)
        for run in tables:
            used[whose[vault.uses.has(run.uid, every)]] = True
        gone = [id for id, there in zip(stale, used, strict=True) if not there]
        count = len(gone)
        if count:
            vault.people.cut({id: stale[id] for id in gone})
            change = vault.settings.put("state", "erasures", {"count": vault.mark() + 1})
            vault.register.append("prune", who=who, rows=count, changes=(change,))
    return count
