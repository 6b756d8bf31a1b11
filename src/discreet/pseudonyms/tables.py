"""Tables with a pseudonym in place of identifiers.

Identifiers are read distinct-first: parsed, looked up and sealed once for each person, then given to all rows. What is
known of people is written first, then the table is recorded, then it is handed over: a crash can leave a recorded
table that nobody has, never a table without a record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.pseudonyms import frames, messages, runs
from discreet.pseudonyms.crowd import Crowd, chosen
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.entries import words
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.naming import Named, Naming, Policy
from discreet.pseudonyms.request import Identifiers, Recorded, Request, Retention, called, tell, warn
from discreet.pseudonyms.shuffle import ordered
from discreet.pseudonyms.slices import SLICE, Slices
from discreet.pseudonyms.streams import Job

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

ROWS = 1 << 22  # of a table that is named and recorded in one step
TIMES = 5  # that a file is read, if others keep on joining identities of its people


def pseudonymise(
    vault: Vault,
    table: Any,
    identifiers: Identifiers,
    purpose: str,
    *,
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
    """The table with one pseudonym for each person in place of the identifiers.

    Parameters
    ----------
    vault : an open vault.
    table : a pandas or polars data frame, a pyarrow Table, a Spark data frame, or the path of a CSV file (also .gz,
        .zst, .bz2, .lz4) or a Parquet file, of any size.
    identifiers : the columns that say who a row is of: a list of columns named like fields of the vault, or a mapping
        of columns to fields. The first identity (in declared order) that is whole in a row gives its person.
    purpose : what for, as declared with `vault.add_purpose`. A person has another pseudonym for each purpose.
    name : of the table in the register; the name of the file, or "table" and a number, unless given.
    out : the path of the new file, for files; of the same kind as the table. Its owner alone can read it.
    missing : what becomes of rows without a whole identity: "refuse" the table, "skip" (they are left out) or
        "one-off" (a random pseudonym for each row).
    unparsable : "refuse" a table with any value that does not parse as declared; or what becomes of rows that hold one
        and no other whole identity: "skip" or "one-off". Rows with another whole identity are known by that.
    suppressed : what becomes of rows of people who were erased: "drop" or "one-off".
    column : the name of the column of pseudonyms, which stands where the first identifier stood.
    one_way : make pseudonyms that nothing reverses; they cannot be moved to new keys either.
    who, retention : for the register: who does it, and the last day the table may be kept.
    dialect : how a CSV file is written, where its header does not tell.
    progress : a bar on the terminal; None for one on an interactive terminal once it takes long.
    worker_file : for Spark on a cluster, the path under which every worker finds the file of `vault.worker_file`.
    keep : columns that may stay in clear although they are called like a declared field, say a year of birth.
    recorded : a function that is given the record of the table (`Run`), with its uid and its number in the register.

    Returns
    -------
    The same kind of table; for a file the path of the new one; for Spark a data frame that is computed when it is used.

    | edge case | what happens |
    | --- | --- |
    | a column that remains is called like a declared field | an error, unless `keep` names it |
    | rows are left out, or get one-off pseudonyms | a `RowsWarning` with numbers |
    | no rows | a table without rows, recorded like any other |
    | a column that is not there, a purpose that was not declared | an error, before anything is read or written |
    | two spellings of an identifier (123, "123.0") | one person |
    | somebody in it was erased while it ran | an error; nothing is recorded, nothing handed over: run it again |
    | a table in memory is refused | nobody is taken in, unless it has over 262,144 people or 4,194,304 rows |
    | an error half-way through a file or such a table | no new one; people seen so far stay known; an entry "failed" |
    """
    policy = Policy(missing=missing, unparsable=unparsable, suppressed=suppressed)
    request = Request(
        purpose=purpose, name=name, out=out, policy=policy, column=column, one_way=one_way, who=who,
        retention=retention, dialect=dialect, progress=progress, worker_file=worker_file, keep=keep,
        overwrite=overwrite, recorded=recorded,
    )  # fmt: skip
    return Making(vault, table, identifiers, request).run()


class _Merged(Exception):
    """No error, but a reason to begin again: two ids of one file turned out to be one person's."""


class Making:
    """One table being made.

    Parameters
    ----------
    vault : an open vault.
    table, identifiers : as given to `pseudonymise`.
    request : the rest.
    """

    def __init__(self, vault: Vault, table: Any, identifiers: Identifiers, request: Request) -> None:
        self._vault, self._table, self._request = vault, table, request
        request.check()
        self._identifiers = frames.mapping(identifiers)
        self._schema = vault.schema
        messages.check(self._schema, list(self._identifiers.values()))
        self._version = vault.version(request.purpose, request.partner)
        self._mark = vault.mark()
        self._slices = Slices(vault)
        self._namings: list[Naming] = []  # more than one where a file is named again

    def run(self, k: int | None = None, quasi_identifiers: Sequence[str] | None = None) -> Any:
        """The table; refused if the quasi-identifiers of somebody are those of fewer than k people."""
        if isinstance(self._table, (str, os.PathLike)):
            return self._file(k, quasi_identifiers)
        if self._request.out is not None:
            raise ValueError("The `out` is for files. Got one for a table in memory.")
        if type(self._table).__module__.startswith("pyspark."):
            from discreet.pseudonyms.spark import on_spark

            self._check_identities(k)
            crowd = None if k is None else (k, quasi_identifiers)
            return on_spark(
                self._vault, self._table, self._identifiers, self._request, self._version, self._mark, crowd
            )
        return self._frame(k, quasi_identifiers)

    def _check_identities(self, k: int | None) -> None:
        """With derived links somebody who is known by two identities would count as two people."""
        covered = self._schema.covered(list(self._identifiers.values()))
        if k is not None and self._vault.links == "derived" and len(covered) > 1:
            raise VaultError(
                f"`require_k` cannot count people: with derived links one person has an id for each of {covered}. "
                "Hint: name the identifiers of one identity, and leave the other columns out of the table."
            )

    def _check(self, there: Sequence[str]) -> None:
        request = self._request
        frames.check(there, self._identifiers, request.column, self._schema.fields, request.keep)

    def _frame(self, k: int | None, quasi_identifiers: Sequence[str] | None) -> Any:
        self._check_identities(k)
        table, mine = frames.collected(self._table), self._request.partner is None
        there = frames.names(table)
        self._check(there)
        if mine:
            frames.check_index(table, self._identifiers, self._schema.fields, self._request.keep)
        remaining = [name for name in there if name not in self._identifiers]
        crowd = None if k is None else Crowd(chosen(quasi_identifiers, remaining))
        naming = self._naming()
        read = naming.read(frames.raw(table, self._identifiers, self._days()))
        at_once = crowd is not None or (read.people <= SLICE and len(read.codes) <= ROWS)
        with self._vault.database.transaction() if at_once else self._noting():  # refused: nobody was taken in
            named = naming.named(read)
            if crowd is not None and k is not None:
                _watched(crowd, frames.compared(table, remaining), named)
                crowd.check(k)
            rows = ordered(len(named.words), named.kept, shuffle=not mine)
            tokens = named.words if rows is None else named.words.gather(rows)
            result = frames.replaced(table, list(self._identifiers), self._request.column, tokens, rows, index=mine)
            run = self._record(naming, remaining)
        tell(self._request, run)
        return result.lazy() if frames.kind(self._table) == "lazy" else result

    def _file(self, k: int | None, quasi_identifiers: Sequence[str] | None) -> Path:
        """The new file, made again if rows told that two ids of it are one person's: once is enough, but for others."""
        if self._request.out is None:
            raise ValueError("The `out` must be given for a file: the path of the new one.")
        self._check_identities(k)
        made: list[runs.Run] = []
        with self._noting(made):
            for _ in range(TIMES):
                with suppress(_Merged):
                    return self._streamed(k, quasi_identifiers, made)
            raise VaultError(
                "Identities of people in the file were joined again and again meanwhile. Hint: run it again."
            )

    def _streamed(self, k: int | None, quasi_identifiers: Sequence[str] | None, made: list[runs.Run]) -> Path:
        request, naming = self._request, self._naming()
        assert request.out is not None
        crowd: list[Crowd] = []

        def check(there: list[str]) -> None:
            self._check(there)
            if k is not None:
                crowd.append(Crowd(chosen(quasi_identifiers, [one for one in there if one not in self._identifiers])))

        def record(remaining: list[str]) -> None:
            if self._vault.links == "stored" and self._vault.people.merged(naming.ids):
                raise _Merged
            if k is not None:
                crowd[0].check(k)
            made.append(self._record(naming, remaining))

        job = Job(
            self._table, request.out, self._identifiers, request.column, request.dialect, request.partner is not None,
            request.progress, request.overwrite, check,
        )  # fmt: skip
        path = job.run(naming, record, None if k is None else lambda rest, named: _watched(crowd[0], rest, named))
        tell(request, *made)
        return path

    @contextmanager
    def _noting(self, made: Sequence[runs.Run] = ()) -> Iterator[None]:
        """Note that people were taken in, if what is done fails before the table is recorded."""
        try:
            yield
        except BaseException as error:
            if not made and self._vault.links == "stored" and (people := self._taken()):
                with suppress(VaultError):
                    self._failed(type(error).__name__, people)
            raise

    def _taken(self) -> int:
        """How many people are in the vault by now, by pieces that were named and slices of one that was not."""
        parts = [naming.ids for naming in self._namings] + self._slices.written
        return len(distinct_bytes(np.concatenate(parts))[0]) if parts else 0

    def _failed(self, reason: str, people: int) -> None:
        """Note that people were taken in for a table that was not made."""
        request = self._request
        self._vault.register.append(
            "failed", who=words(request.who, "who"), purpose=request.purpose, partner=request.partner,
            table=called(request), rows=0, details={"act": request.act, "reason": reason, "people": people},
        )  # fmt: skip

    def _naming(self) -> Naming:
        columns = {of: name for name, of in self._identifiers.items()}
        keys, request = self._vault.keyring.keys(self._version), self._request
        naming = Naming(self._schema, columns, self._slices, keys, request.policy, request.one_way)
        self._namings.append(naming)
        return naming

    def _days(self) -> list[str]:
        return [name for name, one in self._schema.fields.items() if one.kind == "date"]

    def _record(self, naming: Naming, remaining: Sequence[str]) -> runs.Run:
        request = self._request
        warn(naming.totals)
        return runs.record(
            self._vault,
            request.act,
            table=called(request),
            version=self._version,
            mark=self._mark,
            ids=naming.ids,
            columns=[*self._identifiers, *remaining],
            rows=naming.totals.rows,
            one_way=request.one_way,
            retention=request.retention,
            who=request.who,
            details=naming.totals.details(),
        )


def _watched(crowd: Crowd, rest: pl.DataFrame, named: Named) -> None:
    """Show a crowd the rows that are kept."""
    words, own = named.words, named.own
    if named.kept is not None:
        kept = pl.Series(named.kept)
        rest, words, own = rest.filter(kept), words.filter(kept), None if own is None else own[named.kept]
    crowd.add(rest, words, own)
