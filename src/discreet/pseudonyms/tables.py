"""Tables with a pseudonym in place of identifiers.

Identifiers are read distinct-first: parsed, looked up and sealed once for each person, then given to all rows. What is
known of people is written first, then the table is recorded, then it is handed over: a crash can leave a recorded
table that nobody has, never a table without a record.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.pseudonyms import frames, messages, runs
from discreet.pseudonyms.crowd import Crowd
from discreet.pseudonyms.lines import Dialect
from discreet.pseudonyms.naming import Naming, Policy
from discreet.pseudonyms.shuffle import permutation
from discreet.pseudonyms.streams import Job

if TYPE_CHECKING:
    from discreet.pseudonyms.vault import Vault

Identifiers = Sequence[str] | Mapping[str, str]
Retention = str | datetime.date | int | None


@dataclass(frozen=True)
class Request:
    """What is asked of a table; `pseudonymise` and `share` say what each part means."""

    purpose: str
    partner: str | None = None
    name: str | None = None
    out: str | os.PathLike[str] | None = None
    policy: Policy = field(default_factory=Policy)
    column: str = "pseudonym"
    one_way: bool = False
    who: str | None = None
    retention: Retention = None
    dialect: Dialect | None = None
    progress: bool | None = None
    worker_file: str | os.PathLike[str] | None = None

    @property
    def act(self) -> str:
        """The word for it in the register."""
        return "pseudonymise" if self.partner is None else "share"


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
    name : of the table in the register; the name of the file, or "table", unless given.
    out : the path of the new file, for files; of the same kind as the table. Its owner alone can read it.
    missing : what becomes of rows without a whole identity: "refuse" the table, "skip" (they are left out) or
        "one-off" (a random pseudonym for each row).
    unparsable : the same for rows with a value that does not parse as declared, and no other whole identity.
    suppressed : what becomes of rows of people who were erased: "drop" or "one-off".
    column : the name of the column of pseudonyms, which stands where the first identifier stood.
    one_way : make pseudonyms that nothing reverses; they cannot be moved to new keys either.
    who, retention : for the register: who does it, and the last day the table may be kept.
    dialect : how a CSV file is written, where its header does not tell.
    progress : a bar on the terminal; None for one on an interactive terminal once it takes long.
    worker_file : for Spark on a cluster, the path under which every worker finds the file of `vault.worker_file`.

    Returns
    -------
    The same kind of table; for a file the path of the new one; for Spark a data frame that is computed when it is used.

    | edge case | what happens |
    | --- | --- |
    | no rows | a table without rows, recorded like any other |
    | a column that is not there, a purpose that was not declared | an error, before anything is read or written |
    | two spellings of an identifier (123, "123.0") | one person |
    | somebody was erased while it ran | an error; nothing is recorded, nothing handed over: run it again |
    | an error half-way through a file | no new file; people seen so far stay in the vault |
    """
    policy = Policy(missing=missing, unparsable=unparsable, suppressed=suppressed)
    request = Request(
        purpose=purpose, name=name, out=out, policy=policy, column=column, one_way=one_way, who=who,
        retention=retention, dialect=dialect, progress=progress, worker_file=worker_file,
    )  # fmt: skip
    return Making(vault, table, identifiers, request).run()


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
        self._identifiers = frames.mapping(identifiers)
        self._schema = vault.schema
        messages.check(self._schema, list(self._identifiers.values()))
        self._version = vault.version(request.purpose, request.partner)
        self._mark = vault.mark()

    def run(self, k: int | None = None, quasi_identifiers: Sequence[str] | None = None) -> Any:
        """The table; refused if the quasi-identifiers of somebody are those of fewer than k people."""
        if isinstance(self._table, (str, os.PathLike)):
            return self._file(k, quasi_identifiers)
        if self._request.out is not None:
            raise ValueError("The `out` is for files. Got one for a table in memory.")
        if type(self._table).__module__.startswith("pyspark."):
            from discreet.pseudonyms.spark import on_spark

            return on_spark(self._vault, self._table, self._identifiers, self._request, self._version, self._mark, k)
        return self._frame(k, quasi_identifiers)

    def _frame(self, k: int | None, quasi_identifiers: Sequence[str] | None) -> Any:
        table = frames.collected(self._table)
        frames.check(frames.names(table), self._identifiers, self._request.column)
        naming = self._naming()
        words, kept = naming(frames.raw(table, self._identifiers, self._days()))
        rows = self._order(len(words), kept)
        words = words if rows is None else words.gather(rows)
        mine = self._request.partner is None
        result = frames.replaced(table, list(self._identifiers), self._request.column, words, rows, index=mine)
        remaining = [name for name in frames.names(table) if name not in self._identifiers]
        if k is not None:
            crowd = Crowd(_chosen(quasi_identifiers, remaining))
            crowd.add(frames.compared(result, remaining), words)
            crowd.check(k)
        self._record(naming, remaining)
        return result.lazy() if frames.kind(self._table) == "lazy" else result

    def _file(self, k: int | None, quasi_identifiers: Sequence[str] | None) -> Path:
        request = self._request
        if request.out is None:
            raise ValueError("The `out` must be given for a file: the path of the new one.")
        naming = self._naming()
        crowd: list[Crowd] = []

        def watch(rest: pl.DataFrame, words: pl.Series) -> None:
            if not crowd:
                crowd.append(Crowd(_chosen(quasi_identifiers, rest.columns)))
            crowd[0].add(rest, words)

        def record(remaining: list[str]) -> None:
            if k is not None and crowd:
                crowd[0].check(k)
            self._record(naming, remaining)

        job = Job(
            self._table, request.out, self._identifiers, request.column, request.dialect, request.partner is not None,
            request.progress,
        )  # fmt: skip
        return job.run(naming, record, watch if k is not None else None)

    def _naming(self) -> Naming:
        columns = {of: name for name, of in self._identifiers.items()}
        keys, request = self._vault.keyring.keys(self._version), self._request
        return Naming(self._schema, columns, self._vault.resolve, keys, request.policy, request.one_way)

    def _days(self) -> list[str]:
        return [name for name, one in self._schema.fields.items() if one.kind == "date"]

    def _order(self, rows: int, kept: Any) -> Any:
        """Which rows, in which order: as they are for the holder, at random for a partner."""
        chosen = None if kept is None else np.flatnonzero(kept)
        if self._request.partner is None:
            return chosen
        order = permutation(rows if chosen is None else len(chosen))
        return order if chosen is None else chosen[order]

    def _record(self, naming: Naming, remaining: Sequence[str]) -> None:
        request = self._request
        runs.record(
            self._vault,
            request.act,
            table=called(request, self._table),
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


def called(request: Request, table: Any) -> str:
    """The name of a table in the register."""
    if request.name is not None:
        return request.name
    if request.out is not None:
        return Path(request.out).name.partition(".")[0] or "table"
    return "table"


def _chosen(quasi_identifiers: Sequence[str] | None, remaining: Sequence[str]) -> list[str]:
    """The quasi-identifiers: all columns that remain, unless some are named."""
    if quasi_identifiers is None:
        return list(remaining)
    unknown = [name for name in quasi_identifiers if name not in remaining]
    if unknown:
        raise ValueError(
            f"The `quasi_identifiers` must be columns that remain. Got {unknown}; there are {list(remaining)}."
        )
    return list(quasi_identifiers)
