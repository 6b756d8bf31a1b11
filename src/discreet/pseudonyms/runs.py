"""Runs: the tables that a vault made, and who is in them.

A run is one table with pseudonyms. It is recorded in one step: who is in it, its setting and its entry of the register,
all of them or nothing, before the table takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.entries import day, now, words
from discreet.pseudonyms.errors import UnknownName, VaultError
from discreet.pseudonyms.keyring import Version, checked
from discreet.pseudonyms.versions import kinds

MOVES = ("reseal", "unshare")  # acts that make a table of one with pseudonyms

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
    recipients : who received it.
    columns : what was in it.
    retired : when its holder deleted it, UTC; None if not yet.
    key_id : of the keys of its pseudonyms; None for tables from before it was kept.
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
    recipients: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    retired: str | None = None
    key_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("recipients", "columns"):  # stored as lists
            object.__setattr__(self, name, tuple(getattr(self, name)))


def record(
    vault: Vault,
    act: str,
    *,
    table: str | None,
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
    table : its name; None for "table" and the number of its entry.
    version : whose keys made the pseudonyms, from `vault.version(purpose, partner)`.
    mark : `vault.mark()` from before the first row was looked up. If somebody in the table was erased since, or it is
        not known who is in it, this raises and nothing is recorded: the table must be made again.
    ids : of the people in the table, in any order and number; or `uid` and `use_tags`, where others computed them;
        or neither: then it is not known who is in the table, and `find` says so.
    retention, basis : by default those of the purpose. A table made of another ("reseal", "unshare") may be kept no
        longer than that one: of the tables that hold, or may hold, the same people for the purpose, and have the same
        name if any has, the earliest date counts.
    recipients : who receives it; the partner, unless given.
    """
    purpose = vault.keyring.purpose(version.purpose)
    last = day(retention if retention is not None else purpose["retention"])
    with vault.database.transaction():
        if vault.mark() != mark and (ids is None or lost(vault, ids)):
            raise VaultError("Somebody in it was erased while the table was being made. Hint: run it again.")
        vault.sums.require("suppressed")  # somebody erased may have come in by an older list
        if version.partner is not None:
            vault.keyring.welcome(version.partner)  # it may have been revoked while the table was being made
        number = vault.register.anchor().count + 1
        if act in MOVES:
            last = _inherited(vault, version.purpose, table, ids, last)
        run = Run(
            uid=uid or vault.uses.new(),
            entry=number,
            table=f"table {number}" if table is None else checked(table, "table"),
            purpose=version.purpose,
            partner=version.partner,
            version=version.number,
            since=now(),
            retention=last,
            one_way=one_way,
            located=ids is not None or use_tags is not None,
            recipients=tuple(recipients) or (() if version.partner is None else (version.partner,)),
            columns=tuple(columns),
            key_id=version.key_id,
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
            categories=run.columns,
            rows=rows,
            recipients=run.recipients,
            retention=last,
            basis=words(basis, "basis") or purpose["basis"],
            details={"uid": run.uid, "version": run.version, **(details or {})},
            changes=(vault.settings.put("table", run.uid, document(run)),),
        )
    return run


def lost(vault: Vault, ids: Bytes) -> bool:
    """Whether any of the ids was erased or pruned.

    With stored links an id that somebody is known by leads there from some tag. With derived ones the list of erased
    people tells, unless people may be known by several identities: of these it could be another one that is listed.
    """
    if vault.links == "derived":
        several = len({kind.fields for kind in kinds(vault.schemas()).values()}) > 1
        return several or bool(vault.suppression.known(ids).any())
    return vault.people.count_unlinked(vault.people.present(ids)) > 0


def _inherited(vault: Vault, purpose: str, table: str | None, ids: Bytes | None, last: str | None) -> str | None:
    """The last day of a table that was made of another; one of which it is not known who is in it may be that."""
    sources = [run for run in runs(vault) if run.purpose == purpose]
    sources = [run for run in sources if not run.located or (ids is not None and vault.uses.has(run.uid, ids).all())]
    named = [run for run in sources if run.table == table]
    days = [run.retention for run in named or sources if run.retention is not None]
    return min([*days, last] if last is not None else days, default=None)


def runs(vault: Vault, table: str | None = None) -> tuple[Run, ...]:
    """All tables, or all of one name, oldest first."""
    found = [Run(uid=uid, **stored) for uid, stored in vault.settings.all("table").items()]
    if table is not None and not any(run.table == table for run in found):
        known = ", ".join(sorted({repr(run.table) for run in found})) or "none"
        raise UnknownName(f"There is no table {table!r}. Known: {known}.")
    return tuple(sorted((run for run in found if table in (None, run.table)), key=lambda run: run.entry))


def document(run: Run) -> dict[str, Any]:
    """A table as it is stored, under its uid."""
    return {name: value for name, value in vars(run).items() if name != "uid"}
