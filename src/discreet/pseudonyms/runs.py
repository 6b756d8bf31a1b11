"""Runs: the tables that a vault made, and who is in them.

A run is one table with pseudonyms. It is recorded in one step: who is in it, its setting and its entry of the register,
all of them or nothing, before the table takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.entries import Entry, day, now, words
from discreet.pseudonyms.errors import UnknownName, VaultError
from discreet.pseudonyms.keyring import Version, checked

if TYPE_CHECKING:
    import datetime

    from discreet.pseudonyms.vault import Vault


@dataclass(frozen=True)
class Run:
    """A table that was made.

    Attributes
    ----------
    uid : its own name in the vault.
    entry : its number in the register.
    table : the name its maker gave it; several runs may share one.
    purpose, partner, version : of the keys of its pseudonyms; partner None: the holder.
    since : when it was made, UTC.
    retention : the last day it may be kept, or None.
    one_way : whether its pseudonyms are one-way.
    located : whether it is known who is in it.
    """

    uid: str
    entry: int
    table: str
    purpose: str
    partner: str | None
    version: int
    since: str
    retention: str | None
    one_way: bool
    located: bool


def record(
    vault: Vault,
    act: str,
    *,
    table: str,
    version: Version,
    mark: int,
    ids: Bytes | None = None,
    uid: str | None = None,
    use_tags: Bytes | None = None,
    columns: Sequence[str] = (),
    rows: int | None = None,
    one_way: bool = False,
    retention: str | datetime.date | int | None = None,
    basis: str | None = None,
    recipients: Sequence[str] = (),
    who: str | None = None,
    details: dict[str, Any] | None = None,
) -> Run:
    """Record a table that is about to take its place; on disk when this returns.

    Parameters
    ----------
    act : "pseudonymise", "share", "reseal" ...
    version : whose keys made the pseudonyms, from `vault.version(purpose, partner)`.
    mark : `vault.mark()` from before the first row was looked up. If somebody was erased since, this raises and nothing
        is recorded: the table may hold that person and must be made again.
    ids : of the people in the table, in any order and number; or `uid` and `use_tags`, where others computed them;
        or neither: then it is not known who is in the table, and `find` says so.
    retention, basis : by default those of the purpose.
    """
    purpose = vault.keyring.purpose(version.purpose)
    last = day(retention if retention is not None else purpose["retention"])
    with vault.database.transaction():
        if vault.mark() != mark:
            raise VaultError("Somebody was erased while the table was being made. Hint: run it again.")
        run = Run(
            uid=uid or vault.uses.new(),
            entry=vault.register.anchor().count + 1,
            table=checked(table, "table"),
            purpose=version.purpose,
            partner=version.partner,
            version=version.number,
            since=now(),
            retention=last,
            one_way=one_way,
            located=ids is not None or use_tags is not None,
        )
        if use_tags is not None:
            vault.uses.add_tags(run.uid, use_tags)
        elif ids is not None:
            vault.uses.add(run.uid, ids)
        vault.register.append(
            act,
            who=words(who, "who"),
            purpose=run.purpose,
            table=run.table,
            partner=run.partner,
            categories=tuple(columns),
            rows=rows,
            recipients=tuple(recipients) or (() if run.partner is None else (run.partner,)),
            retention=last,
            basis=words(basis, "basis") or purpose["basis"],
            details={"uid": run.uid, "version": run.version, **(details or {})},
            changes=(vault.settings.put("table", run.uid, _document(run)),),
        )
    return run


def runs(vault: Vault, table: str | None = None) -> tuple[Run, ...]:
    """All tables, or all of one name, oldest first."""
    found = [Run(uid=uid, **document) for uid, document in vault.settings.all("table").items()]
    if table is not None and not any(run.table == table for run in found):
        known = ", ".join(sorted({repr(run.table) for run in found})) or "none"
        raise UnknownName(f"There is no table {table!r}. Known: {known}.")
    return tuple(sorted((run for run in found if table in (None, run.table)), key=lambda run: run.entry))


def retire(vault: Vault, table: str, *, who: str | None = None) -> tuple[Entry, ...]:
    """Note that a table was deleted by its holder: the vault forgets who was in it."""
    entries = []
    with vault.database.transaction():
        for run in runs(vault, table):
            vault.uses.drop(run.uid)
            change = vault.settings.remove("table", run.uid)
            content = {"purpose": run.purpose, "table": run.table, "partner": run.partner, "details": {"uid": run.uid}}
            entries.append(vault.register.append("retire", who=words(who, "who"), changes=(change,), **content))
    vault.database.tidy()
    return tuple(entries)


def used(vault: Vault, table: str, *, model: str, who: str | None = None) -> Entry:
    """Note that a model was fitted on a table, so that an erasure can name it."""
    checked(model, "model")
    with vault.database.transaction():
        uids = [run.uid for run in runs(vault, table)]
        before = (vault.settings.get("model", model) or {"tables": []})["tables"]
        change = vault.settings.put("model", model, {"tables": sorted({*before, *uids})})
        return vault.register.append(
            "model", who=words(who, "who"), table=table, details={"model": model}, changes=(change,)
        )


def _document(run: Run) -> dict[str, Any]:
    return {name: value for name, value in vars(run).items() if name != "uid"}
