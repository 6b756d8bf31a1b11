"""Runs that take people in before their table is recorded: the register tells of them whatever becomes of them.

A file, or a very large table, is looked up piece by piece, and each piece is on disk before the next. So that records
of processing (Article 30) tell of these people even if the process is killed, the run is noted before the first piece.
Entries are never changed: another one closes the run, and refers to the number of the first.

| entry | when | in its details |
| --- | --- | --- |
| "started" | before anybody is taken in | the act |
| that of the table | it was made | `started`: the number of the first entry |
| "failed" | it was not made, whatever the cause | the same, the reason, how many people stay known |
| none | it still runs, or was killed | |

`prune` forgets people who are in no table, and closes the runs that have not ended. One that is still running when it
is closed makes no table: it fails at its end, and its own entry "failed" says how many people stay known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.pseudonyms.entries import Entry, day, words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.register import STARTED
from discreet.pseudonyms.request import Request, called

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

CUT = "never finished"  # why a run failed, as far as anybody knows


def note_start(vault: Vault, request: Request, columns: Sequence[str]) -> int:
    """Note that a table is about to be made; the number of the entry, which is on disk when this returns."""
    purpose = vault.keyring.purpose(request.purpose)
    entry = vault.register.append(
        STARTED,
        who=words(request.who, "who"),
        purpose=request.purpose,
        partner=request.partner,
        table=called(request),
        categories=tuple(columns),
        retention=day(purpose["retention"] if request.retention is None else request.retention),
        basis=purpose["basis"],
        details={"act": request.act},
    )
    return entry.number


def note_failure(vault: Vault, request: Request, started: int, reason: str, people: int) -> None:
    """Note that people were taken in for a table that was not made."""
    details = {"act": request.act, "reason": reason, "people": people, STARTED: started}
    vault.register.append(
        "failed", who=words(request.who, "who"), purpose=request.purpose, partner=request.partner,
        table=called(request), rows=0, details=details,
    )  # fmt: skip


def require_open(vault: Vault, started: int) -> None:
    """Refuse to record the table of a run that `prune` closed; inside the transaction that records it."""
    if not vault.register.is_open(started):
        raise VaultError(
            f"The run of entry {started} was closed by vault.prune() while the table was being made."
            " Hint: run it again."
        )


def close_run(vault: Vault, run: Entry, who: str | None) -> None:
    """Note that a run of this register was never finished."""
    _append_failed(vault, run, who, {**run.details, "reason": CUT, STARTED: run.number})


def carry_run(vault: Vault, run: Entry, base: int, who: str | None) -> None:
    """Note a run that failed, or was never finished, after the entry up to which another register is the same."""
    details = {"reason": CUT, **run.details}
    if details.get(STARTED, 0) > base:  # the number of an entry that is not in this register
        del details[STARTED]
    _append_failed(vault, run, who, details)


def _append_failed(vault: Vault, run: Entry, who: str | None, details: dict[str, Any]) -> None:
    vault.register.append(
        "failed", who=who, purpose=run.purpose, partner=run.partner, table=run.table, categories=run.categories,
        rows=0, basis=run.basis, details=details,
    )  # fmt: skip


def unfinished(vault: Vault) -> tuple[Entry, ...]:
    """Runs that were started and have not ended: they are running now, or were cut off and left people behind."""
    return vault.register.unfinished()
