"""A vault in one SQLite file: mode 0600 from its first byte, write-ahead log, synchronous FULL, secure_delete.

| when | then |
| --- | --- |
| the machine stops at any moment | what was committed is there, the rest is not |
| the disk fills | the transaction is rolled back, the error says so |
| the file is no vault, or of a newer version | refused before anything is written |
| others than its owner may read or write the file | refused, like a key file |
| a process forks | the copy refuses to work: SQLite's locks do not cross a fork. Open the vault in each process |
| a person is erased | freed bytes are overwritten with zeros, the log is emptied into the file and truncated |
| the disk is too full to empty the log | what was committed is there all the same; `tidy` says False |
| the file has tables, triggers or indexes of others | refused: they could keep what is erased |

Overwriting reaches the file, not what a drive or a file system keeps of old blocks; an encrypted disk helps there.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from discreet.documents.atomic_files import create_file
from discreet.pseudonyms.database import (
    FORMER,
    SCHEMA,
    VERSION,
    Database,
    Witness,
    check_version,
    require_transaction,
    schema,
    spelled,
)
from discreet.pseudonyms.drafts import draft, publish, sweep
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.handles import Handle

APPLICATION = 0x64637631  # "dcv1", in the file's own header: says that it is a vault
WAIT = 60.0  # seconds for another writer to finish

_PRAGMAS = (
    "pragma journal_mode = wal",
    "pragma synchronous = full",
    "pragma secure_delete = on",
    "pragma temp_store = memory",
    "pragma cache_size = -65536",
    "pragma trusted_schema = off",
    "pragma cell_size_check = on",
)


_SCHEMA = "select type, name, tbl_name, sql from sqlite_master"


class Sqlite:
    """An open vault file; one connection behind a lock, so threads take turns."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(Path(path).absolute())
        check_file(self.path)
        sweep(self.path)
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._depth = 0
        self.witness: Witness | None = None
        self.version = VERSION
        self._handle, connection = _held(self.path)
        self._connection: sqlite3.Connection | None = connection

    def __repr__(self) -> str:
        """The file, nothing of what it holds."""
        return f"<vault at {self.path!r}>"

    @classmethod
    def create(cls, path: str | os.PathLike[str], fill: Callable[[Database], None]) -> Sqlite:
        """A new file with what `fill` writes first; it appears whole under its name or not at all."""
        final = str(Path(path).absolute())
        with draft(final) as temporary:
            _prepare(temporary)
            with contextlib.closing(cls(temporary)) as made, made.transaction():
                for statement in SCHEMA:
                    made.write(statement)
                fill(made)
            publish(temporary, final)
        return cls(final)

    @property
    def inside(self) -> bool:
        """Whether a transaction is open."""
        return self._depth > 0

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self._lock, _spoken(self.path):
            return self._open().execute(spelled(sql, self.version), values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin immediate: a second writer waits here, before it reads."""
        with self._lock:
            if self._depth:
                yield
                return
            with _spoken(self.path):
                self._open().execute("begin immediate")
            self._depth += 1
            try:
                yield
                if self.witness is not None:
                    self.witness.settle()
                with _spoken(self.path):
                    self._open().execute("commit")
            finally:
                self._depth -= 1
                self._rollback()
                if self.witness is not None:
                    self.witness.forget()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state for several reads; writers go on meanwhile."""
        with self._lock:
            if self._open().in_transaction:
                yield
                return
            with _spoken(self.path):
                self._open().execute("begin")
            try:
                yield
            finally:
                self._rollback()

    def _rollback(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("rollback")

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """One change."""
        with self._lock, _spoken(self.path):
            require_transaction(self._depth > 0)
            self._open().execute(sql, values)

    def write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same change for many rows."""
        with self._lock, _spoken(self.path):
            require_transaction(self._depth > 0)
            self._open().executemany(sql, rows)

    def tidy(self, wait: float = 5.0) -> bool:
        """Empty the log into the file and truncate it; False if a reader elsewhere needs it, or it cannot be done.

        It comes after a commit, so it raises nothing: on a full disk, say, what was committed is there all the same.
        """
        with self._lock:
            connection = self._open()
            try:
                connection.execute(f"pragma busy_timeout = {int(1000 * wait)}")
                busy = connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
            except sqlite3.Error:
                return False
            finally:
                connection.execute(f"pragma busy_timeout = {int(1000 * WAIT)}")
        return not busy

    def recover(self) -> None:
        """After an erasure that was cut off: its old bytes may still be in the log."""
        if os.path.exists(self.path + "-wal") and os.path.getsize(self.path + "-wal"):
            self.tidy(wait=0)

    def inspect(self, deep: bool = False) -> None:
        """Compare the file's schema with the vault's; deep: also let SQLite check every page and index."""
        with self.snapshot():
            ((self.version,),) = self.read("pragma user_version")
            found = set(self.read(_SCHEMA))
        check_version(self.version)
        if found != _own(self.version):
            raise Tampered(
                f"The vault at {self.path!r} has tables, triggers or indexes that are not its own, or lacks some."
            )
        if deep and self.read("pragma integrity_check(1)") != [("ok",)]:
            raise Tampered(f"The file of the vault at {self.path!r} is damaged. Hint: restore a backup.")

    def stamp(self) -> None:
        """Rename tables, and put the version in the file's own header."""
        for name, old in FORMER.items():
            self.write(f"alter table {old} rename to {name}")
        self.write(f"pragma user_version = {VERSION}")
        self.version = VERSION

    def backup(self, path: str, marked: Callable[[str], str]) -> None:
        """SQLite's online backup, into a file that appears whole or not at all."""
        final = str(Path(path).absolute())
        with draft(final) as temporary:
            create_file(temporary, 0o600)
            with self._lock, _spoken(final), contextlib.closing(sqlite3.connect(temporary)) as copy:
                self._open().backup(copy)
                ((header,),) = copy.execute("select document from header").fetchall()
                with copy:
                    copy.execute("update header set document = ?", (marked(header),))
            publish(temporary, final)

    def close(self) -> None:
        """Empty the log and close."""
        if self._connection is None or os.getpid() != self._process:
            return
        with self._lock:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()  # the last one out empties and removes the log
                self._handle.release()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            raise VaultError("This vault was opened before a fork. Hint: open it in each process.")
        if self._connection is None:
            raise VaultError("This vault is closed. Hint: Vault.open(...).")
        return self._connection


def _held(path: str) -> tuple[Handle, sqlite3.Connection]:
    """A connection, and the handle that keeps its locks from those who read the file here."""
    with _readable(path):
        handle = Handle(path)
    try:
        connection = _connect(path)
        if not handle.same(path):
            connection.close()
            raise VaultError(f"The vault at {path!r} was replaced while it was being opened. Hint: try again.")
    except BaseException:
        handle.release()
        raise
    return handle, connection


def _connect(path: str) -> sqlite3.Connection:
    with _spoken(path):
        connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        connection.text_factory = lambda content: content.decode("utf-8", "replace")  # a MAC tells what was changed
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
    return connection


@cache
def _own(version: int) -> set[tuple[Any, ...]]:
    """The schema of a vault, as SQLite keeps it."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for statement in schema(version):
            connection.execute(statement)
        return set(connection.execute(_SCHEMA).fetchall())


def check_file(path: str) -> None:
    """Read the first 100 bytes, as the SQLite file format gives them, before SQLite touches anything."""
    with _readable(path), Handle(path) as handle:
        head, mode = handle.read(100), stat.S_IMODE(handle.mode())
    number = int.from_bytes(head[68:72], "big")
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0") or number != APPLICATION:
        raise VaultError(f"The file {path!r} is no vault.")
    if os.name == "posix" and mode & 0o077:
        raise VaultError(f"The vault at {path!r} must be its owner's alone. Got mode {mode:04o}. Hint: chmod 600.")
    check_version(int.from_bytes(head[60:64], "big"))


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise VaultError(f"There is no vault at {path!r}. Hint: Vault.create(...).") from None
    except OSError as error:
        raise VaultError(f"The vault at {path!r} cannot be read: {error.strerror}.") from None


def _prepare(path: str) -> None:
    create_file(path, 0o600)
    with _spoken(path), contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma page_size = 8192")  # one chunk of people fits into a page
        connection.execute(f"pragma application_id = {APPLICATION}")
        connection.execute(f"pragma user_version = {VERSION}")


@contextmanager
def _spoken(path: str) -> Iterator[None]:
    """SQLite's errors by their names alone: its texts could quote values."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter when SQLite quotes damaged bytes in an error
        name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")
        raise VaultError(f"The vault at {path!r} cannot be used: {name}.{_hint(name)}") from None


def _hint(name: str) -> str:
    for start, hint in (
        ("SQLITE_FULL", "the disk is full; nothing of this step was written."),
        ("SQLITE_BUSY", "another process held the vault for a minute; try again."),
        ("SQLITE_CORRUPT", "the file is damaged; restore a backup."),
        ("SQLITE_NOTADB", "the file is damaged; restore a backup."),
        ("SQLITE_READONLY", "the file or its folder cannot be written."),
    ):
        if name.startswith(start):
            return f" Hint: {hint}"
    return ""
