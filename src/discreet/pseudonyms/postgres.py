"""A vault on a PostgreSQL server, for teams (`pip install "discreet[postgres]"`).

| rule | how |
| --- | --- |
| one writer at a time | `pg_advisory_xact_lock` of the vault's own schema, held to the end of the transaction |
| TLS | `sslmode=require` at least, unless the server is on this machine; `verify-full` in the URL is better |
| where the server is | the URL's host, `hostaddr` and `service`, and PGHOST, PGHOSTADDR, PGSERVICE |
| a password in the URL | is handed to the driver and appears in no repr and no error |
| several vaults in one database | `?schema=name` in the URL; "discreet" otherwise |
| erased bytes | `vacuum` frees them; the server's pages, log, replicas and backups are its owner's: `tidy` is False |

Anyone who may write to the tables can destroy the vault, as they can delete a file. They cannot read it, and what they
change is noticed.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.errors import NotSupported
from discreet.pseudonyms.addresses import here, tls
from discreet.pseudonyms.database import (
    FORMER,
    TABLES,
    VERSION,
    Database,
    Witness,
    check_version,
    former,
    require_transaction,
    spelled,
)
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.servers import Draft, dialect, make

WAIT = 60  # seconds for another writer to finish

_TABLES = (
    "select relname from pg_class where relnamespace = to_regnamespace(?) and relkind in ('r', 'p', 'v', 'm', 'f')"
)
_OWN = "join pg_class on pg_class.oid = {} where relnamespace = to_regnamespace(?)"
_TRIGGERS = f"select 1 from pg_trigger {_OWN.format('tgrelid')} and not tgisinternal limit 1"
_RULES = f"select 1 from pg_rewrite {_OWN.format('ev_class')} limit 1"


class Postgres:
    """An open connection; one behind a lock, so threads take turns."""

    def __init__(self, url: str) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._depth = 0
        self._reading = False
        self.witness: Witness | None = None
        self.version = VERSION
        self._engine, self.schema, self.place = _engine(url)
        with _spoken(self.place):
            self._connection: Any = self._engine.connect()
        try:
            self._inspect()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        """The server and schema; never the user or password."""
        return f"<vault at {self.place}>"

    @classmethod
    def create(cls, url: str, fill: Callable[[Database], None]) -> Postgres:
        """The tables of a new vault with what `fill` writes first, in one transaction."""
        engine, schema, place = _engine(url)
        try:
            with _spoken(place), engine.connect() as connection, connection.begin():
                make(connection, schema, place)
                made = Draft(connection)
                with made.transaction():
                    fill(made)
        finally:
            engine.dispose()
        return cls(url)

    @property
    def inside(self) -> bool:
        """Whether a transaction is open."""
        return self._depth > 0

    def _inspect(self) -> None:
        found = self.read("select obj_description(to_regnamespace(?)::oid, 'pg_namespace')", (self.schema,))[0][0]
        version = re.fullmatch(r"discreet vault ([0-9]+)", found or "")
        if version is None:
            raise VaultError(f"There is no vault at {self.place}. Hint: Vault.create(...).")
        self.version = int(version[1])
        check_version(self.version)

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._lock, _spoken(self.place):
            connection = self._open()
            try:
                return [
                    tuple(row) for row in connection.exec_driver_sql(dialect(spelled(sql, self.version)), tuple(values))
                ]
            finally:
                if not self._depth and not self._reading:
                    self._rollback()  # ends the implicit transaction: the next read sees what others wrote

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A second writer waits here, before it reads."""
        with self._lock:
            if self._depth:
                yield
                return
            self._begin()
            self._depth += 1
            try:
                yield
                if self.witness is not None:
                    self.witness.settle()
                with _spoken(self.place):
                    self._open().commit()
            finally:
                self._depth -= 1
                self._rollback()
                if self.witness is not None:
                    self.witness.forget()

    def _begin(self) -> None:
        with _spoken(self.place):
            connection = self._open()
            try:
                # what is read after the wait must be what the writer before left, whatever the server's default
                connection.exec_driver_sql("set transaction isolation level read committed, read write")
                connection.exec_driver_sql(f"set local lock_timeout = '{WAIT}s'")
                connection.exec_driver_sql(
                    "select pg_advisory_xact_lock(hashtext('discreet'), hashtext(%s))", (self.schema,)
                )
            except BaseException:
                self._rollback()  # or nothing works any more on this connection
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state for several reads."""
        with self._lock:
            if self._depth or self._reading:
                yield
                return
            self._reading = True
            try:
                with _spoken(self.place):
                    self._open().exec_driver_sql("set transaction isolation level repeatable read, read only")
                yield
            finally:
                self._reading = False
                self._rollback()

    def _rollback(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.rollback()

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """One change."""
        with self._lock, _spoken(self.place):
            require_transaction(self._depth > 0)
            self._open().exec_driver_sql(dialect(sql), tuple(values))

    def write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same change for many rows, sent in one go."""
        with self._lock, _spoken(self.place):
            require_transaction(self._depth > 0)
            listed = [tuple(row) for row in rows]
            if listed:
                self._open().exec_driver_sql(dialect(sql), listed)

    def tidy(self) -> bool:
        """Vacuum all tables; False: what the server keeps is not in the vault's hands.

        It comes after a commit, so it raises nothing.
        """
        with self._lock, contextlib.suppress(VaultError), _spoken(self.place):
            self._open()
            self._rollback()
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql(f"vacuum {', '.join(TABLES)}")
        return False

    def recover(self) -> None:
        """The server does that."""

    def inspect(self, deep: bool = False) -> None:
        """Look for tables, triggers and rules that are not the vault's; pages and indexes are the server's to check."""
        with self.snapshot():
            self._inspect()
            tables = [row[0] for row in self.read(_TABLES, (self.schema,))]
            others = [row for sql in (_TRIGGERS, _RULES) for row in self.read(sql, (self.schema,))]
        if sorted(tables) != sorted(former(name, self.version) for name in TABLES) or others:
            raise Tampered(
                f"The vault at {self.place} has tables, triggers or rules that are not its own, or lacks some."
            )

    def stamp(self) -> None:
        """Rename tables, and put the version in the comment of the schema."""
        for name, old in FORMER.items():
            self.write(f"alter table {old} rename to {name}")
        self.write(f"comment on schema \"{self.schema}\" is 'discreet vault {VERSION}'")
        self.version = VERSION

    def backup(self, path: str, marked: Callable[[str], str]) -> None:
        """The server's own tools do that."""
        raise NotSupported("A vault on PostgreSQL is backed up by the server's own tools. Hint: pg_dump --schema.")

    def close(self) -> None:
        """Let go of the connection."""
        if os.getpid() != self._process or getattr(self, "_connection", None) is None:
            return
        with self._lock, contextlib.suppress(Exception):
            self._connection.close()
            self._engine.dispose()
        self._connection = None

    def _open(self) -> Any:
        if os.getpid() != self._process:
            raise VaultError("This vault was opened before a fork. Hint: open it in each process.")
        if self._connection is None:
            raise VaultError("This vault is closed. Hint: Vault.open(...).")
        return self._connection


def _engine(url: str) -> tuple[Any, str, str]:
    """An engine for the URL, the schema it names, and a text for messages that holds no secret."""
    try:
        from sqlalchemy import create_engine
        from sqlalchemy.engine import make_url
    except ImportError:
        raise VaultError('PostgreSQL needs another package. Hint: pip install "discreet[postgres]".') from None
    try:
        parsed = make_url(url).set(drivername="postgresql+psycopg")
    except Exception:  # its text could hold the password
        raise ValueError("The address of a vault is postgresql://user:password@host:port/database.") from None
    query = dict(parsed.query)
    schema = str(query.pop("schema", "discreet"))
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
        raise ValueError("The `schema` in the address must be lower-case letters, digits and _.")
    query["sslmode"] = tls(here(parsed.host, query, os.environ), query.get("sslmode"))
    query["options"] = f"-c search_path={schema} -c synchronous_commit=on -c standard_conforming_strings=on"
    query.setdefault("connect_timeout", "10")
    place = f"{parsed.host or 'local'}/{parsed.database}/{schema}"
    with _spoken(place):
        return create_engine(parsed.set(query=query), hide_parameters=True, pool_size=1, max_overflow=1), schema, place


@contextmanager
def _spoken(place: str) -> Iterator[None]:
    """The driver's errors by their codes alone: its texts could quote values."""
    try:
        yield
    except (VaultError, ValueError, NotSupported):
        raise
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("sqlalchemy", "psycopg"):
            raise
        cause = getattr(error, "orig", error)
        code = getattr(cause, "sqlstate", None) or type(cause).__name__
        raise VaultError(f"The vault at {place} cannot be used: {code}.{_hint(str(code))}") from None


def _hint(code: str) -> str:
    hints = {
        "40001": "another program changed the same rows meanwhile; nothing of this step was written; try again.",
        "28P01": "user or password are wrong.",
        "28000": "the server does not let this user in.",
        "3D000": "there is no such database.",
        "55P03": "another process held the vault for a minute; try again.",
        "53100": "the server's disk is full; nothing of this step was written.",
        "42501": "this user may not create or write the vault's tables.",
        "OperationalError": "is the server running, and does it offer TLS?",
    }
    return f" Hint: {hints[code]}" if code in hints else ""
