"""Tables for partners: pseudonyms that nobody else has, rows in random order; and the way back, for the holder."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.pseudonyms import frames, runs
from discreet.pseudonyms.errors import LinkWarning, MissingIdentifiers, Tampered
from discreet.pseudonyms.keyring import Version
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.naming import Policy
from discreet.pseudonyms.tables import Identifiers, Making, Request, Retention
from discreet.pseudonyms.tokens import TokenKeys, opened, seal

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault


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
) -> Any:
    """The table for a partner: pseudonyms under its own keys, rows in random order, no index.

    The pseudonyms of two partners, or of one and the holder, have nothing in common for anybody without the vault.
    What remains can still be joined: by columns that both tables have, and by how many rows a person has.

    Parameters
    ----------
    vault, table, identifiers, name, out, missing, suppressed, unparsable, column, one_way, who, retention, dialect,
        progress, worker_file : as for `pseudonymise`.
    partner, purpose : as declared with `vault.add_partner` and `vault.add_purpose`.
    require_k : refuse the table (`TooIdentifying`) if somebody looks like fewer than k people, counted by people and by
        all their rows together; without it a `LinkWarning` is given. How many rows a person has is not looked at.
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
    elif type(require_k) is not int or require_k < 2:
        raise ValueError(f"The `require_k` must be a whole number >= 2. Got {require_k!r}.")
    if not isinstance(partner, str):
        raise TypeError("The `partner` must be the name of a partner.")
    policy = Policy(missing=missing, unparsable=unparsable, suppressed=suppressed)
    request = Request(
        purpose=purpose, partner=partner, name=name, out=out, policy=policy, column=column, one_way=one_way, who=who,
        retention=retention, dialect=dialect, progress=progress, worker_file=worker_file,
    )  # fmt: skip
    return Making(vault, table, identifiers, request).run(require_k, quasi_identifiers)


def unshare(
    vault: Vault,
    table: Any,
    partner: str,
    purpose: str,
    *,
    column: str = "pseudonym",
    name: str = "table",
    who: str | None = None,
) -> Any:
    """A partner's table with the holder's own pseudonyms in place of the partner's.

    Parameters
    ----------
    vault : an open vault: the holder alone can do this.
    table : a data frame in memory, of any kind that `pseudonymise` takes.
    partner, purpose : for whom, and for what, it was shared.
    column : the column of pseudonyms.
    name, who : for the register.

    Pseudonyms that do not open raise `Tampered`, with how many there are: made up, cut, of another partner, or one-way.
    A null stays a null.
    """
    old = vault.keyring.by_id(purpose, partner)
    return _moved(vault, "unshare", table, column, old, vault.version(purpose), name, who)


def reseal(
    vault: Vault,
    table: Any,
    purpose: str,
    *,
    partner: str | None = None,
    column: str = "pseudonym",
    name: str = "table",
    who: str | None = None,
) -> Any:
    """A table with its pseudonyms under the newest keys, made from those under older ones, without identifiers.

    Parameters
    ----------
    vault : an open vault.
    table : a data frame in memory.
    purpose, partner : whose keys; partner None for the holder's own.
    column : the column of pseudonyms.
    name, who : for the register. The old table stays known too, until `vault.retire` says that it is gone.

    One-way pseudonyms cannot be moved: `Tampered`.
    """
    old = vault.keyring.by_id(purpose, partner)
    return _moved(vault, "reseal", table, column, old, vault.version(purpose, partner), name, who)


def _moved(
    vault: Vault,
    act: str,
    table: Any,
    column: str,
    old: dict[str, TokenKeys],
    version: Version,
    name: str,
    who: str | None,
) -> Any:
    mark, frame = vault.mark(), frames.collected(table)
    if column not in frames.names(frame):
        raise MissingIdentifiers(f"The table has no column {column!r}. Hint: column=... names the one of pseudonyms.")
    words = frames.raw(frame, {column: column})[column]
    distinct = words.drop_nulls().unique()
    found = opened(distinct, old)
    _refuse(words, distinct.filter(pl.Series(~found.ok)))
    new = seal(found.ids, vault.keyring.keys(version))
    moved = words.replace_strict(distinct, new, default=None, return_dtype=pl.String)
    result = frames.replaced(frame, [column], column, moved)
    runs.record(
        vault, act, table=name, version=version, mark=mark, ids=found.ids, columns=frames.names(frame), rows=len(words),
        who=who,
    )  # fmt: skip
    return result.lazy() if frames.kind(table) == "lazy" else result


def _refuse(words: pl.Series, closed: pl.Series) -> None:
    if len(closed):
        count = int(words.is_in(closed.implode()).sum())
        raise Tampered(
            f"{count:,} of {len(words):,} pseudonyms do not open with the keys of this purpose and partner: "
            "they are one-way, of somebody else, or were changed."
        )
