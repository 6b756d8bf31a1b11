"""Tables with a pseudonym in place of identifiers.

Identifiers are read distinct-first: parsed, looked up and sealed once for each person, then given to all rows. What is
known of people is written first, then the table is recorded, then it is handed over: a crash can leave a recorded
table that nobody has, never a table without a record. A table that is made in pieces is noted before the first one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import NotSupported
from discreet.pseudonyms import frames, messages, runs
from discreet.pseudonyms.crowd import Crowd, chosen
from discreet.pseudonyms.distinct import distinct_bytes
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.naming import Naming, Policy
from discreet.pseudonyms.noting import note_failure, note_start, require_open
from discreet.pseudonyms.register import STARTED
from discreet.pseudonyms.request import Recorded, Request, Retention, called, tell, warn
from discreet.pseudonyms.roles import Identifiers, Role, all_identifiers, read_roles
from discreet.pseudonyms.shuffle import ordered
from discreet.pseudonyms.slices import SLICE, Slices
from discreet.pseudonyms.streams import Job
from discreet.pseudonyms.together import Together

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

    Rows may be of several people, a patient and a doctor: all are replaced in one pass, under one entry.

    Parameters
    ----------
    vault : an open vault.
    table : a pandas or polars data frame, a pyarrow Table, a Spark data frame, or the path of a CSV file (also .gz,
        .zst, .bz2, .lz4) or a Parquet file, of any size.
    identifiers : the columns that say who a row is of: a list of columns named like fields of the vault, or a mapping
        of columns to fields. The first identity (in declared order) that is whole in a row gives its person. For rows
        of several people, a mapping of the column of pseudonyms of each to the identifiers of that person:
        {"patient": ["ssn", "name"], "doctor": {"signed by": "ssn"}}.
    purpose : what for, as declared with `vault.add_purpose`. A person has another pseudonym for each purpose.
    name : of the table in the register; the name of the file, or "table" and a number, unless given.
    out : the path of the new file, for files; of the same kind as the table. Its owner alone can read it.
    missing : what becomes of rows without a whole identity: "refuse" the table, "skip" (they are left out) or
        "one-off" (a random pseudonym for each row).
    unparsable : "refuse" a table with any value that does not parse as declared; or what becomes of rows that hold one
        and no other whole identity: "skip" or "one-off". Rows with another whole identity are known by that.
    suppressed : what becomes of rows of people who were erased: "drop" or "one-off".
    column : the name of the column of pseudonyms, which stands where the first identifier stood; of several people the
        identifiers name it.
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
    | a row of several people, one of whom is left out | it is left out; a one-off pseudonym spares the others |
    | rows of several people on Spark | NotSupported |
    | somebody in it was erased while it ran | an error; nothing is recorded, nothing handed over: run it again |
    | `vault.prune()` while it ran in pieces | the same |
    | a table in memory is refused | nobody is taken in, unless it has over 262,144 people or 4,194,304 rows |
    | an error half-way through a file or such a table | no new one; people seen so far stay known; an entry "failed" |
    | it is killed there | the same, but for the entry: "started" is the last, and `vault.unfinished()` says so |
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
        self._roles = read_roles(identifiers, request.column)
        self._identifiers = all_identifiers(self._roles)
        self._schema = vault.schema
        for role in self._roles:
            messages.check(self._schema, list(role.identifiers.values()))
        self._version = vault.version(request.purpose, request.partner)
        self._mark = vault.mark()
        self._slices = Slices(vault)
        self._namings: list[Together] = []  # more than one where a file is named again
        self._columns: list[str] = []  # of the table, identifiers first
        self._started: int | None = None  # the entry of a run in pieces

    def run(self, k: int | None = None, quasi_identifiers: Sequence[str] | None = None) -> Any:
        """The table; refused if the quasi-identifiers of somebody are those of fewer than k people."""
        if isinstance(self._table, (str, os.PathLike)):
            return self._file(k, quasi_identifiers)
        if self._request.out is not None:
            raise ValueError("The `out` is for files. Got one for a table in memory.")
        if type(self._table).__module__.startswith("pyspark."):
            from discreet.pseudonyms.spark import on_spark

            self._check_identities(k)
            (role,) = self._check_alone()
            crowd = None if k is None else (k, quasi_identifiers)
            return on_spark(self._vault, self._table, role, self._request, self._version, self._mark, crowd)
        return self._frame(k, quasi_identifiers)

    def _check_alone(self) -> tuple[Role, ...]:
        if len(self._roles) > 1:
            raise NotSupported("Rows of several people cannot be named on Spark. Hint: a file, or a table in memory.")
        return self._roles

    def _check_identities(self, k: int | None) -> None:
        """With derived links somebody who is known by two identities would count as two people."""
        named = [self._schema.covered(list(role.identifiers.values())) for role in self._roles]
        covered = tuple(dict.fromkeys(identity for own in named for identity in own))
        if k is not None and self._vault.links == "derived" and len(covered) > 1:
            raise VaultError(
                f"`require_k` cannot count people: with derived links one person has an id for each of {covered}. "
                "Hint: name the identifiers of one identity, and leave the other columns out of the table."
            )

    def _check(self, there: Sequence[str]) -> None:
        request = self._request
        frames.check(there, self._roles, self._schema.fields, request.keep)
        self._columns = [*self._identifiers, *(name for name in there if name not in self._identifiers)]

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
        reads = naming.read([frames.raw(table, role.identifiers, self._days()) for role in self._roles])
        at_once = crowd is not None or (sum(one.people for one in reads) <= SLICE and len(reads[0].codes) <= ROWS)
        with self._vault.database.transaction() if at_once else self._noting():  # refused: nobody was taken in
            named = naming.named(reads)
            if len(named) > 1 and self._merged(naming):  # the rows of one told that two ids of another are one
                naming = self._naming()
                named = naming.named(reads)
            if crowd is not None and k is not None:
                crowd.watch(frames.compared(table, remaining), named)
                crowd.check(k)
            rows = ordered(len(named[0].words), named[0].kept, shuffle=not mine)
            tokens = [one.words if rows is None else one.words.gather(rows) for one in named]
            result = frames.replaced_all(table, self._roles, tokens, rows, index=mine)
            run = self._record(naming)
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
            if self._merged(naming):
                raise _Merged
            if k is not None:
                crowd[0].check(k)
            made.append(self._record(naming))

        job = Job(
            self._table, request.out, self._roles, request.dialect, request.partner is not None, request.progress,
            request.overwrite, check,
        )  # fmt: skip
        path = job.run(naming, record, None if k is None else lambda rest, named: crowd[0].watch(rest, named))
        tell(request, *made)
        return path

    def _merged(self, naming: Together) -> bool:
        """Whether two ids that were looked up turned out to be one person's since."""
        return self._vault.links == "stored" and self._vault.people.merged(naming.taken)

    @contextmanager
    def _noting(self, made: Sequence[runs.Run] = ()) -> Iterator[None]:
        """Note the run before anybody is taken in, and that it failed if it does before the table is recorded."""
        self._slices.before = self._start
        try:
            yield
        except BaseException as error:
            if not made and self._started is not None:
                with suppress(VaultError):
                    note_failure(self._vault, self._request, self._started, type(error).__name__, self._taken())
            raise

    def _start(self) -> None:
        """Once, and not with derived links: these take nobody in."""
        if self._started is None and self._vault.links == "stored":
            self._started = note_start(self._vault, self._request, self._columns)

    def _taken(self) -> int:
        """How many people are in the vault by now, by pieces that were named and slices of one that was not."""
        parts = [naming.taken for naming in self._namings] + self._slices.written
        return len(distinct_bytes(np.concatenate(parts))[0]) if parts else 0

    def _naming(self) -> Together:
        keys, request = self._vault.keyring.keys(self._version), self._request
        columns = [{of: name for name, of in role.identifiers.items()} for role in self._roles]
        naming = Together(
            [Naming(self._schema, own, self._slices, keys, request.policy, request.one_way) for own in columns]
        )
        self._namings.append(naming)
        return naming

    def _days(self) -> list[str]:
        return [name for name, one in self._schema.fields.items() if one.kind == "date"]

    def _record(self, naming: Together) -> runs.Run:
        request = self._request
        details = naming.totals.details()
        if len(self._roles) > 1:
            details["columns"] = [role.column for role in self._roles]
        if self._started is not None:
            details[STARTED] = self._started
        warn(naming.totals)
        with self._vault.database.transaction():
            if self._started is not None:
                require_open(self._vault, self._started)
            return runs.record(
                self._vault,
                request.act,
                table=called(request),
                version=self._version,
                mark=self._mark,
                ids=naming.ids,
                columns=self._columns,
                rows=naming.totals.rows,
                one_way=request.one_way,
                retention=request.retention,
                who=request.who,
                details=details,
            )
