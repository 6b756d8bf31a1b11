"""Pseudonyms on Apache Spark, for vaults with derived links: the same as on one machine.

The rows are read twice. First every task tells what is in its rows (numbers, and a pseudonym for each person); then the
table is recorded; then a data frame comes back that makes the pseudonyms whenever it is computed. With `require_k` they
are read once more, before it is recorded. Keys are in no plan, closure or log: workers read them from a file.

The data frame is a plan. Each time it is used, rows are read and named anew, with the same result as long as the source
gives the same rows in the same partitions. It knows who was erased up to its making, and nothing later: so write it, or
persist it, at once, and after an erasure make it again.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import discreet
from discreet.pseudonyms import frames, runs, spark_crowd
from discreet.pseudonyms.crowd import chosen
from discreet.pseudonyms.errors import Unparsable, VaultError
from discreet.pseudonyms.keyring import Version
from discreet.pseudonyms.lending import lent
from discreet.pseudonyms.naming import missing
from discreet.pseudonyms.spark_task import ORDER, Task, sent
from discreet.pseudonyms.tokens import LENGTH, TokenKeys, opened
from discreet.pseudonyms.totals import Totals
from discreet.pseudonyms.workers import Worker

if TYPE_CHECKING:
    from discreet.pseudonyms.chunks import Bytes
    from discreet.pseudonyms.request import Request
    from discreet.pseudonyms.roles import Role
    from discreet.pseudonyms.vault import Vault

TOLD = "totals string, words binary"


def on_spark(
    vault: Vault,
    dataframe: Any,
    role: Role,
    request: Request,
    version: Version,
    mark: int,
    crowd: tuple[int, Sequence[str] | None] | None = None,
) -> Any:
    """A data frame with pseudonyms; `pseudonymise` and `share` call this.

    `crowd` is the k of `require_k`, and the quasi-identifiers if some are named.

    | edge case | what happens |
    | --- | --- |
    | stored links | NotSupported |
    | `require_k` | the rows are read once more; refused before anything is recorded (`spark_crowd.py`) |
    | no local Spark, and no `worker_file` | VaultError, with a hint |
    | identifiers that do not parse, or are missing | an error with numbers of all rows, before any is handed over |
    | somebody is erased after the frame was made | it still yields their rows: make it again |
    | a source that changes between the two readings | rows that came meanwhile are not known to `find` |
    """
    from discreet.engines.spark.failures import run_on_spark  # what Spark says of a failure may hold values
    from discreet.pseudonyms.request import tell, warn

    worker = Worker.of(vault, version)
    schema = run_on_spark(dataframe, lambda: dataframe.schema)
    frames.check(list(schema.names), [role], vault.schema.fields, request.keep)
    rest = [name for name in schema.names if name not in role.identifiers]
    quasi = [] if crowd is None else chosen(crowd[1], rest)
    path = _path(dataframe, worker, request) or lent(vault, version, worker, request.who)
    task = _task(path, list(schema.names), role, quasi, request)
    totals, ids = _told(run_on_spark(dataframe, lambda: _asked(dataframe, task)), worker.keys)
    _refuse(totals, task)
    if crowd is not None:
        spark_crowd.check(_plain(dataframe), task, crowd[0], quasi)
    warn(totals)
    run = runs.record(
        vault,
        request.act,
        table=request.name,
        version=version,
        mark=mark,
        ids=ids,
        columns=list(schema.names),
        rows=totals.rows,
        one_way=request.one_way,
        retention=request.retention,
        who=request.who,
        details=totals.details(),
    )
    tell(request, run)
    return _named(dataframe, schema, task)


def _task(path: str, names: list[str], role: Role, quasi: Sequence[str], request: Request) -> Task:
    places = tuple((names.index(name), name, field) for name, field in role.identifiers.items())
    shuffle = request.partner is not None
    looked = tuple(names.index(name) for name in quasi)
    return Task(path, places, role.column, request.policy, request.one_way, shuffle, secrets.token_hex(16), looked)


def _path(dataframe: Any, worker: Worker, request: Request) -> str | None:
    """Where workers find their keys: the file that was given; None for one of our own, with a local Spark."""
    if request.worker_file is not None:
        given = Worker.read(request.worker_file)
        if given.keys.key_id != worker.keys.key_id or given.schema != worker.schema:
            raise VaultError("The worker file is of other keys or fields. Hint: vault.worker_file writes a new one.")
        if given.suppressed != worker.suppressed:
            raise VaultError("Somebody was erased since the worker file was written. Hint: write a new one.")
        return str(request.worker_file)
    if not _local(dataframe):
        raise VaultError(
            "Spark on a cluster needs a worker file. Hint: vault.worker_file(path, purpose) writes it; bring it to "
            "every worker under one path, and give worker_file=path."
        )
    return None


def _local(dataframe: Any) -> bool:
    with contextlib.suppress(Exception):  # Spark Connect has no context
        return str(dataframe.sparkSession.sparkContext.master).startswith("local")
    return False


def _asked(dataframe: Any, task: Task) -> list[Any]:
    told = _plain(dataframe).mapInArrow(sent(task, "told", discreet.__version__), TOLD)
    return list(told.collect())


def _plain(dataframe: Any) -> Any:
    """The same with plain names: Spark takes a dot in a name for a field of a struct."""
    return dataframe.toDF(*(f"c{place}" for place in range(len(dataframe.columns))))


def _told(answers: list[Any], keys: TokenKeys) -> tuple[Totals, Bytes]:
    """The totals of all tasks, and the ids of all people."""
    totals, ids = Totals(), [np.zeros((0, 16), np.uint8)]
    for answer in answers:
        if answer["totals"] is not None:
            totals += Totals(**json.loads(answer["totals"]))
        else:
            text = bytes(answer["words"]).decode()
            words = [text[start : start + LENGTH] for start in range(0, len(text), LENGTH)]
            found = opened(pl.Series(words, dtype=pl.String), {keys.key_id: keys})
            if not found.ok.all():
                raise VaultError("Workers made pseudonyms under other keys. Hint: is the worker file the same on all?")
            ids.append(found.ids)
    return totals, np.concatenate(ids)


def _refuse(totals: Totals, task: Task) -> None:
    if task.policy.unparsable == "refuse" and totals.bad:
        raise Unparsable(totals.bad)
    if task.policy.missing == "refuse" and totals.missing:
        raise missing(totals.missing, [name for _, name, _ in task.identifiers])


def _named(dataframe: Any, schema: Any, task: Task) -> Any:
    """The data frame that makes pseudonyms when it is computed."""
    from pyspark.sql.types import BinaryType, StringType, StructField, StructType

    gone = {place for place, _, _ in task.identifiers}
    columns = [one for place, one in enumerate(schema.fields) if place not in gone]
    columns.insert(min(gone), StructField(task.column, StringType(), False))
    if task.shuffle:
        columns.append(StructField(ORDER, BinaryType(), False))
    named = _plain(dataframe).mapInArrow(sent(task, "named", discreet.__version__), StructType(columns))
    return named.sort(ORDER).drop(ORDER) if task.shuffle else named
