"""Where a vault keeps its rows: one small interface, so that its SQL is written once.

| | SQLite (a file) | PostgreSQL (a server) |
| --- | --- | --- |
| one writer at a time | `begin immediate` | an advisory lock of the vault, held to the end of the transaction |
| readers meanwhile | see the state before | see the state before |
| a commit that returned | is on disk (`synchronous = full`) | is on disk (`synchronous_commit = on`) |
| deleted bytes | overwritten, log truncated | `vacuum`; the server's log and backups are its owner's: `tidy` is False |

Statements hold `?` for values, always bound and never formatted. Four tables:

| table | holds | kept whole by |
| --- | --- | --- |
| header | version, name of the vault, wrapped keys; read before the vault is unlocked | the wrapping |
| settings | purposes, partners, key versions, fields, tables | a MAC per row, and the register |
| entries | the register: records of processing | a chain of MACs |
| sealed | whatever concerns people: sealed, see `chunks.py` | authenticated encryption |

That none of the rows is missing, too much or an older one is kept by the witness: sums over all of them (`sums.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from discreet.errors import VersionError
from discreet.pseudonyms.errors import VaultError

VERSION = 2  # of the tables below and of what is in them
READS = (1, VERSION)  # `upgrading.py` brings older ones up to date

SCHEMA = (
    "create table header (document text not null)",
    "create table settings (kind text not null, name text not null, document text not null, mac blob not null,"
    " primary key (kind, name))",
    'create table "entries" (number integer primary key, entry text not null, mac blob not null)',
    'create table "sealed" (store text not null, first blob not null, last blob not null, body blob not null,'
    " primary key (store, first))",
)
TABLES = ("header", "settings", "entries", "sealed")
FORMER = {"entries": "register", "sealed": "chunks"}  # what tables were called in version 1


class Witness(Protocol):
    """Who is told of each change, and has the last word in a transaction."""

    def begin(self) -> None:
        """Something is about to be changed, inside a transaction."""

    def require(self, group: str) -> None:
        """Refuse to go on if the rows of a group are not those that were left there; once in a transaction."""

    def change(self, group: str, gone: Sequence[bytes], come: Sequence[bytes]) -> None:
        """Rows of a group were replaced, each told by its name and its seal."""

    def settle(self) -> None:
        """The transaction is about to be committed."""

    def forget(self) -> None:
        """The transaction is over, committed or not."""


class Database(Protocol):
    """Rows on disk."""

    witness: Witness | None
    version: int  # of its tables, as `inspect` found them

    @property
    def inside(self) -> bool:
        """Whether a transaction is open."""

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""

    def transaction(self) -> AbstractContextManager[None]:
        """One writer at a time; all of it is written or nothing. One inside another is part of it."""

    def snapshot(self) -> AbstractContextManager[None]:
        """One state for several reads; nothing is written inside."""

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        """One change, inside a transaction."""

    def write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same change for many rows, inside a transaction."""

    def tidy(self) -> bool:
        """Leave no deleted byte behind; False if some may stay: others are reading, or it is a server's to forget."""

    def recover(self) -> None:
        """Finish what a process that died may have left to tidy; waits for nobody."""

    def inspect(self, deep: bool = False) -> None:
        """Refuse tables, triggers and the like that are not the vault's own; deep: also pages and indexes that fail."""

    def stamp(self) -> None:
        """Make the tables, inside a transaction, those of the present version, and say so."""

    def backup(self, path: str, marked: Callable[[str], str]) -> None:
        """A consistent copy in a file of its own; its header is marked."""

    def close(self) -> None:
        """Let go of files and connections."""


def require_transaction(inside: bool) -> None:
    """Refuse a write that could be half done."""
    if not inside:
        raise VaultError("A vault is written inside a transaction only.")


def former(name: str, version: int) -> str:
    """What a table was called in a version.

    >>> former("entries", 1), former("entries", VERSION), former("header", 1)
    ('register', 'entries', 'header')
    """
    return FORMER.get(name, name) if version == 1 else name


def schema(version: int) -> tuple[str, ...]:
    """The statements that made the tables of a version; SQLite keeps them as text, and quotes what was renamed."""
    if version == VERSION:
        return SCHEMA
    return tuple(re.sub(r'"(\w+)"', lambda name: former(name[1], version), sql) for sql in SCHEMA)


def spelled(sql: str, version: int) -> str:
    """A query for the tables of a version; older ones are read, when they are a source or are brought up to date.

    >>> spelled("select mac from entries where number = ?", 1)
    'select mac from register where number = ?'
    """
    return sql if version == VERSION else re.sub(r"(?<= from )\w+", lambda name: former(name[0], version), sql)


def check_version(version: object) -> None:
    """Refuse what a newer discreet wrote."""
    if type(version) is not int or version not in READS:
        raise VersionError(f"This discreet reads vaults of version {VERSION}. Got {version!r}.")
