"""Where a ledger keeps its entries: in memory, or in SQLite."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

from discreet.errors import LedgerError, VersionError
from discreet.events import Event, flatten

VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One charge; `seeded` where the noise that it paid for came from a seed."""

    name: str
    event: Event
    time: str
    seeded: bool = False

    @property
    def outside(self) -> Literal["", "seeded", "unpaid"]:
        """Why no promise covers what was told: its noise can be guessed, or nothing was paid; empty where one does.

        >>> from discreet.events import Composed, Laplace
        >>> Entry("count", Laplace(1.0), "").outside, Entry("a look", Composed(()), "").outside
        ('', 'unpaid')
        """
        if self.seeded:
            return "seeded"
        return "" if any(flatten(self.event)) else "unpaid"


def uncovered(entries: tuple[Entry, ...]) -> str:
    """A sentence on the entries that no promise covers; empty if all are covered.

    >>> from discreet.events import Composed
    >>> uncovered((Entry("a look", Composed(()), ""),))
    'NO PROMISE covers what this entry told: 1 (unpaid).'
    """
    found = [f"{number} ({entry.outside})" for number, entry in enumerate(entries, 1) if entry.outside]
    if not found:
        return ""
    what = "this entry" if len(found) == 1 else "these entries"
    rest = " What is said of odds is for the others." if len(found) < len(entries) else ""
    return f"NO PROMISE covers what {what} told: {', '.join(found)}.{rest}"


def flag(entry: Entry) -> str:
    """What is written behind the name of an entry that no promise covers."""
    return f" [NOT PRIVATE: {entry.outside}]" if entry.outside else ""


@dataclass(frozen=True)
class Mark:
    """One step of a run that may be run again.

    Attributes
    ----------
    key : of what is run; `discreet.ledger.retrying` makes it.
    state : "charged", "shown" or "released".
    turn : how often such a run had been shown before: what was charged in one turn pays for one result.
    run : a name drawn for this run alone.
    document : of "charged", the event and its place; of "released", what was released.
    """

    key: str
    state: Literal["charged", "shown", "released"]
    turn: int
    run: str
    document: str = ""


Admit = Callable[[Entry, tuple[Entry, ...]], None]  # raises if the entry may not follow the others

# what is to be added, after these entries and the marks of one key; raises if nothing may be
Decide = Callable[[tuple[Entry, ...], tuple[Mark, ...]], tuple[Entry | None, tuple[Mark, ...]]]


class Store(Protocol):
    """An append-only list of entries, and of marks."""

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""

    def commit(self, entry: Entry, admit: Admit) -> Entry:
        """Append the entry if `admit` lets it pass, with nobody in between."""

    def marks(self, key: str) -> tuple[Mark, ...]:
        """All marks of a key, in order."""

    def settle(self, key: str, decide: Decide) -> None:
        """Append what is decided on, all of it or nothing, with nobody in between."""


class MemoryStore:
    """Entries in a list, behind a lock."""

    def __init__(self) -> None:
        self._entries: tuple[Entry, ...] = ()
        self._marks: dict[str, tuple[Mark, ...]] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        return self._entries

    def commit(self, entry: Entry, admit: Admit) -> Entry:
        """Append the entry if `admit` lets it pass."""
        self._same_process()
        with self._lock:
            admit(entry, self._entries)
            self._entries = (*self._entries, entry)
        return entry

    def marks(self, key: str) -> tuple[Mark, ...]:
        """All marks of a key, in order."""
        return self._marks.get(key, ())

    def settle(self, key: str, decide: Decide) -> None:
        """Append what is decided on."""
        self._same_process()
        with self._lock:
            entry, marks = decide(self._entries, self.marks(key))
            self._entries += () if entry is None else (entry,)
            self._marks[key] = self.marks(key) + marks

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError(
                "This ledger in memory belongs to the process that opened it; a forked copy would spend it twice. "
                "Hint: use the durable one, Ledger.open(path, budget)."
            )


_SCHEMA = (
    "create table if not exists settings (document text not null)",
    "create table if not exists entries"
    " (number integer primary key, name text not null, event text not null, time text not null, seeded integer)",
    # append-only: what was spent stays spent
    "create trigger if not exists keep before delete on entries begin select raise(abort, 'append-only'); end",
    "create trigger if not exists fix before update on entries begin select raise(abort, 'append-only'); end",
)

# made when the first run that may be retried is charged: older files have none
_MARKS = (
    "create table if not exists marks (number integer primary key, key text not null, state text not null,"
    " turn integer not null, run text not null, document text not null, digest text not null)",
    "create index if not exists of_key on marks (key)",
    "create trigger if not exists keep_marks before delete on marks begin select raise(abort, 'append-only'); end",
    "create trigger if not exists fix_marks before update on marks begin select raise(abort, 'append-only'); end",
)


class SqliteStore:
    """Entries in an SQLite file: write-ahead log, synchronous FULL, one writer at a time.

    A connection lives for one operation, so threads and forked processes never share one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = str(Path(path).resolve())
        self._known: tuple[Entry, ...] = ()

    def settings(self) -> dict[str, Any] | None:
        """What the ledger was opened with, or None if there is none yet."""
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            return None
        with self._connection() as connection:
            return self._read_settings(connection)

    def create(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Store the settings, unless another process was faster; the stored ones are returned."""
        if not os.path.isdir(os.path.dirname(self.path)):
            raise LedgerError(f"There is no folder {os.path.dirname(self.path)!r} for the ledger.")
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        with self._connection() as connection, _transaction(connection):
            for statement in _SCHEMA:
                connection.execute(statement)
            stored = self._read_settings(connection)
            if stored is None:
                document = json.dumps({"discreet": "ledger", "version": VERSION, **settings})
                connection.execute("insert into settings values (?)", (document,))
        return stored or settings

    def _read_settings(self, connection: sqlite3.Connection) -> dict[str, Any] | None:
        tables = connection.execute("select count(*) from sqlite_master where name = 'settings'").fetchone()[0]
        row = connection.execute("select document from settings").fetchone() if tables else None
        if row is None:
            return None
        document: dict[str, Any] = json.loads(row[0])
        if document.get("version") != VERSION:
            raise VersionError(f"This discreet reads ledgers of version {VERSION}. Got {document.get('version')!r}.")
        return document

    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order."""
        with self._connection() as connection:
            return self._read(connection)

    def commit(self, entry: Entry, admit: Admit) -> Entry:
        """Append the entry if `admit` lets it pass; when this returns it is on disk."""
        with self._connection() as connection, _transaction(connection):
            admit(entry, self._read(connection))
            _write(connection, entry)
        return entry

    def marks(self, key: str) -> tuple[Mark, ...]:
        """All marks of a key, in order."""
        with self._connection() as connection:
            return _read_marks(connection, key)

    def settle(self, key: str, decide: Decide) -> None:
        """Append what is decided on; when this returns it is on disk."""
        with self._connection() as connection, _transaction(connection):
            entry, marks = decide(self._read(connection), _read_marks(connection, key))
            if entry is not None:
                _write(connection, entry)
            _write_marks(connection, marks)

    def _read(self, connection: sqlite3.Connection) -> tuple[Entry, ...]:
        known = self._known
        # whatever columns there are, in one statement: older files get `seeded` with the first entry that needs it
        found = connection.execute("select * from entries where number > ? order by number", (len(known),))
        names = [column[0] for column in found.description]
        known += tuple(_entry(dict(zip(names, row, strict=True))) for row in found.fetchall())
        self._known = known
        return known

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            try:
                connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = full")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise LedgerError(f"The ledger at {self.path!r} cannot be used: {error}.") from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("begin immediate")  # readers go on; a second writer waits here, before it reads
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def _write(connection: sqlite3.Connection, entry: Entry) -> None:
    content = (entry.name, json.dumps(entry.event.to_dict()), entry.time)
    if not entry.seeded:
        connection.execute("insert into entries (name, event, time) values (?, ?, ?)", content)
        return
    if "seeded" not in [column[1] for column in connection.execute("pragma table_info(entries)")]:
        connection.execute("alter table entries add column seeded integer")
    connection.execute("insert into entries (name, event, time, seeded) values (?, ?, ?, 1)", content)


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(row["name"], Event.from_dict(json.loads(row["event"])), row["time"], bool(row.get("seeded")))


def _write_marks(connection: sqlite3.Connection, marks: tuple[Mark, ...]) -> None:
    for statement in _MARKS if marks else ():
        connection.execute(statement)
    connection.executemany(
        "insert into marks (key, state, turn, run, document, digest) values (?, ?, ?, ?, ?, ?)",
        [(*astuple(mark), _digest(mark)) for mark in marks],
    )


def _read_marks(connection: sqlite3.Connection, key: str) -> tuple[Mark, ...]:
    if not connection.execute("select count(*) from sqlite_master where name = 'marks'").fetchone()[0]:
        return ()
    found = connection.execute(
        "select key, state, turn, run, document, digest from marks where key = ? order by number", (key,)
    ).fetchall()
    marks = tuple(Mark(*content) for *content, _ in found)
    if any(_digest(mark) != digest for mark, (*_, digest) in zip(marks, found, strict=True)):
        raise LedgerError("What this ledger stored of an earlier run is damaged, and is not used.")
    return marks


def _digest(mark: Mark) -> str:
    return sha256(json.dumps(astuple(mark)).encode()).hexdigest()
