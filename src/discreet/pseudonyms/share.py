"""Tables for partners: pseudonyms that nobody else has, rows in random order; and the way back, for the holder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.arguments import check_whole
from discreet.errors import outside
from discreet.pseudonyms import frames, runs
from discreet.pseudonyms.chunks import Bytes
from discreet.pseudonyms.errors import LinkWarning, MissingIdentifiers, StrangersWarning, UnknownName
from discreet.pseudonyms.keyring import Version
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.moving import Moving, check_remaining
from discreet.pseudonyms.naming import Policy
from discreet.pseudonyms.request import Recorded, Request, Retention, called, tell, warn
from discreet.pseudonyms.roles import Identifiers, Role, all_identifiers, moved_roles
from discreet.pseudonyms.shuffle import ordered
from discreet.pseudonyms.streams import Job
from discreet.pseudonyms.tables import Making
from discreet.pseudonyms.together import Together
from discreet.pseudonyms.tokens import TokenKeys

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

Check = Callable[[Mapping[str, pl.Series]], None]
Record = Callable[[Sequence[str]], None]


def share(
    vault: Vault,
    table: Any,
    identifiers: Identifiers,
    partner: str,
    purpose: str,
    *,
    require_k: int | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    name: str | None = None,
    out: str | os.PathLike[str] | None = None,
    missing: str = "refuse",
    suppressed: str = "drop",
    unparsable: str = "refuse",
    column: str = "pseudonym",
    one_way: bool = False,
    who: str | None = None,
    retention: Retention = None,
    dialect: Dialect | None = None,
    progress: bool | None = None,
    worker_file: str | os.PathLike[str] | None = None,
    keep: Sequence[str] = (),
    overwrite: bool = False,
    recorded: Recorded | None = None,
) -> Any:
    """The table for a partner: pseudonyms under its own keys, rows in random order, no index, CSV written in one way.

    The pseudonyms of two partners, or of one and the holder, have nothing in common for anybody without the vault.
    What remains can still be joined: by columns that both tables have, and by how many rows a person has.

    Parameters
    ----------
    vault, table, identifiers, name, out, missing, suppressed, unparsable, column, one_way, who, retention, dialect,
        progress, worker_file, keep, overwrite, recorded : as for `pseudonymise`.
    partner, purpose : as declared with `vault.add_partner` and `vault.add_purpose`.
    require_k : refuse the table (`TooIdentifying`) if somebody looks like fewer than k people, counted by people and by
        all their rows together; without it a `LinkWarning` is given. How many rows a person has is not looked at. Rows
        with one-off pseudonyms count for nobody, but must look like k people themselves. With derived links the
        identifiers must be of one identity.
    quasi_identifiers : the columns that others may know; all that remain, unless given.

    Returns
    -------
    As `pseudonymise`. A k-anonymous table is not a promise about what others can learn; see `discreet.anonymity`.
    """
    if require_k is None:
        if quasi_identifiers is not None:
            raise ValueError("The `quasi_identifiers` need a `require_k`.")
        warnings.warn(
            "The columns that remain may single people out, or be joined with other tables. "
            "Hint: require_k=5 refuses a table in which somebody looks like fewer than 5 people.",
            LinkWarning,
            stacklevel=2,
        )
    else:
        require_k = check_whole("", "require_k", require_k, 2)
    if not isinstance(partner, str):
        raise TypeError("The `partner` must be the name of a partner.")
    policy = Policy(missing=missing, unparsable=unparsable, suppressed=suppressed)
    request = Request(
        purpose=purpose, partner=partner, name=name, out=out, policy=policy, column=column, one_way=one_way, who=who,
        retention=retention, dialect=dialect, progress=progress, worker_file=worker_file, keep=keep,
        overwrite=overwrite, recorded=recorded,
    )  # fmt: skip
    return Making(vault, table, identifiers, request).run(require_k, quasi_identifiers)


def unshare(
    vault: Vault,
    table: Any,
    partner: str,
    purpose: str,
    *,
    column: str | Sequence[str] = "pseudonym",
    name: str | None = None,
    suppressed: str = "drop",
    who: str | None = None,
    version: int | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    dialect: Dialect | None = None,
    progress: bool | None = None,
    recorded: Recorded | None = None,
) -> Any:
    """A partner's table with the holder's own pseudonyms in place of the partner's.

    Parameters
    ----------
    vault : an open vault: the holder alone can do this.
    table : a data frame in memory, of any kind that `pseudonymise` takes but Spark's, or the path of a file.
    partner, purpose : for whom, and for what, it was shared.
    column : the column of pseudonyms; a list, for rows of several people: all of them in one call, since a column that
        remains and holds pseudonyms of this partner is refused.
    suppressed : rows of people who were erased: "drop" them, or "one-off".
    version : which of the holder's keys; the newest, unless given. After `vault.rotate` tables from before have the
        pseudonyms of an older version, and can be joined with those alone, or after `reseal`.
    name, out, overwrite, dialect, progress, recorded, who : as for `pseudonymise`.

    Pseudonyms that do not open raise `Tampered`, with how many there are: made up, cut, of another partner, or one-way.
    A null stays a null.

    After a restore that left tables unlocated, the table may hold people whom the vault does not know, and who of them
    was erased cannot be told: their rows stay, a `StrangersWarning` says so, and the new table is unlocated too.
    """
    request = Request(
        purpose=purpose, name=name, out=out, policy=Policy(suppressed=suppressed), who=who, dialect=dialect,
        progress=progress, overwrite=overwrite, recorded=recorded,
    )  # fmt: skip
    held = vault.version(purpose) if version is None else _version(vault, purpose, version)
    old = vault.keyring.by_id(purpose, partner)
    return _moved(vault, "unshare", table, moved_roles(column), OldKeys(partner, old), held, request)


def _version(vault: Vault, purpose: str, number: int) -> Version:
    versions = {one.number: one for one in vault.keyring.versions(purpose, None)}
    if number not in versions:
        raise UnknownName(f"The purpose {purpose!r} has no keys of version {number!r}. Known: {sorted(versions)}.")
    return versions[number]


def reseal(
    vault: Vault,
    table: Any,
    purpose: str,
    *,
    partner: str | None = None,
    column: str | Sequence[str] = "pseudonym",
    name: str | None = None,
    suppressed: str = "drop",
    who: str | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    dialect: Dialect | None = None,
    progress: bool | None = None,
    recorded: Recorded | None = None,
) -> Any:
    """A table with its pseudonyms under the newest keys, made from those under older ones, without identifiers.

    For a partner rows come in random order again, without an index: by its place no row leads to an old pseudonym. The
    columns that remain may still do so.

    Parameters
    ----------
    vault : an open vault.
    table : a data frame in memory, or the path of a file.
    purpose, partner : whose keys; partner None for the holder's own.
    column : the column of pseudonyms; a list, for rows of several people: all of them in one call, since a column that
        remains and holds pseudonyms of these keys is refused.
    suppressed : rows of people who were erased: "drop" them, or "one-off".
    name, out, overwrite, dialect, progress, recorded, who : as for `pseudonymise`. The old table stays known too, until
        `vault.retire` says that it is gone.

    One-way pseudonyms cannot be moved: `Tampered`. People whom the vault does not know are told of as by `unshare`.
    """
    request = Request(
        purpose=purpose, partner=partner, name=name, out=out, policy=Policy(suppressed=suppressed), who=who,
        dialect=dialect, progress=progress, overwrite=overwrite, recorded=recorded,
    )  # fmt: skip
    old = OldKeys(partner, vault.keyring.by_id(purpose, partner))
    return _moved(vault, "reseal", table, moved_roles(column), old, vault.version(purpose, partner), request)


@dataclass(frozen=True)
class OldKeys:
    """What pseudonyms are moved from.

    Parameters
    ----------
    partner : whose they are; None for the holder's own.
    keys : by key id.
    """

    partner: str | None
    keys: dict[str, TokenKeys]


def _moved(
    vault: Vault,
    act: str,
    table: Any,
    roles: tuple[Role, ...],
    old: OldKeys,
    version: Version,
    request: Request,
) -> Any:
    request.check()
    keys, mark = vault.keyring.keys(version), vault.mark()
    moving = Together([Moving(vault, old.keys, keys, request.policy) for _ in roles])
    made: list[runs.Run] = []

    def check(remaining: Mapping[str, pl.Series]) -> None:
        check_remaining(remaining, old.keys, list(all_identifiers(roles)))

    def record(rest: Sequence[str]) -> None:
        ids, details = moving.ids, moving.totals.details()
        strangers = _count_strangers(vault, version.purpose, old.partner, ids)
        warn(moving.totals)
        if strangers:
            warnings.warn(_strange(strangers, len(ids)), StrangersWarning, stacklevel=outside())
            details["people not known"] = strangers
        run = runs.record(
            vault, act, table=called(request), version=version, mark=mark, ids=None if strangers else ids,
            columns=[*all_identifiers(roles), *rest], rows=moving.totals.rows, who=request.who,
            details=details or None,
        )  # fmt: skip
        made.append(run)

    move = _moved_file if isinstance(table, (str, os.PathLike)) else _moved_frame
    result = move(table, roles, request, moving, check, record)
    tell(request, made[0])
    return result


def _count_strangers(vault: Vault, purpose: str, partner: str | None, ids: Bytes) -> int:
    """How many people of a table the vault does not know, if a restore left such tables unlocated.

    With derived links the ids themselves are on the suppression list, and whoever was erased is told in any case.
    """
    tables = [run for run in runs.runs(vault) if (run.purpose, run.partner) == (purpose, partner)]
    if vault.links == "derived" or all(run.located for run in tables):
        return 0
    return vault.people.count_unlinked(ids)


def _strange(strangers: int, people: int) -> str:
    return (
        f"{strangers:,} of {people:,} people in the table are not known to the vault: it was restored without them, or"
        " theirs are one-off pseudonyms. Who of them was erased cannot be told: their rows stay, and it is not kept who"
        " is in the new table. Hint: make it again from identifiers, which leaves out whoever was erased."
    )


def _moved_file(
    table: Any, roles: tuple[Role, ...], request: Request, moving: Together, check: Check, record: Record
) -> Any:
    if request.out is None:
        raise ValueError("The `out` must be given for a file: the path of the new one.")
    job = Job(
        table, request.out, roles, request.dialect, request.partner is not None, request.progress, request.overwrite,
        check_tokens=check,
    )  # fmt: skip
    return job.run(moving, record)


def _moved_frame(
    table: Any, roles: tuple[Role, ...], request: Request, moving: Together, check: Check, record: Record
) -> Any:
    if request.out is not None:
        raise ValueError("The `out` is for files. Got one for a table in memory.")
    frame = frames.collected(table)
    there = frames.names(frame)
    for role in roles:
        if role.column not in there:
            raise MissingIdentifiers(
                f"The table has no column {role.column!r}. Hint: column=... names the one of pseudonyms."
            )
    frames.check(there, roles)
    mine, rest = request.partner is None, [name for name in there if name not in all_identifiers(roles)]
    check(frames.texts(frame, rest))
    check(frames.index_texts(frame) if mine else {})  # for a partner the index goes
    named = moving([frames.raw(frame, role.identifiers) for role in roles])
    rows = ordered(len(named[0].words), named[0].kept, shuffle=not mine)
    words = [one.words if rows is None else one.words.gather(rows) for one in named]
    result = frames.replaced_all(frame, roles, words, rows, index=mine)
    record(rest)
    return result.lazy() if frames.kind(table) == "lazy" else result
