"""A new vault on a PostgreSQL server: its schema, its tables, and the one transaction that makes and fills them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.errors import NotSupported
from discreet.pseudonyms.database import SCHEMA, VERSION, Witness
from discreet.pseudonyms.errors import VaultError


def make(connection: Any, schema: str, place: str) -> None:
    """The tables of a vault in a schema that is not there yet."""
    connection.exec_driver_sql("set transaction isolation level read committed, read write")
    # two that make the same vault at once: the second waits, then sees it
    connection.exec_driver_sql("select pg_advisory_xact_lock(hashtext('discreet'), hashtext(%s))", (schema,))
    if connection.exec_driver_sql("select to_regnamespace(%s)", (schema,)).scalar() is not None:
        raise VaultError(f"There is already a schema at {place}. Hint: Vault.open(...), or ?schema=another.")
    connection.exec_driver_sql(f'create schema "{schema}"')  # checked to be a plain name
    connection.exec_driver_sql(f"comment on schema \"{schema}\" is 'discreet vault {VERSION}'")
    for statement in SCHEMA:
        connection.exec_driver_sql(dialect(statement.replace(" blob ", " bytea ")))


def dialect(sql: str) -> str:
    """A statement as the driver wants it."""
    return sql.replace("?", "%s")


class Draft:
    """A vault that is being made: writes go into the transaction that makes it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._depth = 0
        self.witness: Witness | None = None
        self.version = VERSION

    @property
    def inside(self) -> bool:
        return self._depth > 0

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._connection.exec_driver_sql(dialect(sql), tuple(values))]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1
        if not self._depth and self.witness is not None:
            self.witness.settle()

    snapshot = transaction

    def write(self, sql: str, values: Sequence[Any] = ()) -> None:
        self._connection.exec_driver_sql(dialect(sql), tuple(values))

    def write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self.write(sql, row)

    def tidy(self) -> bool:
        return True

    def recover(self) -> None:
        return

    def inspect(self, deep: bool = False) -> None:
        return

    def stamp(self) -> None:
        return

    def backup(self, path: str, marked: Callable[[str], str]) -> None:
        raise NotSupported("A vault that is being made cannot be copied.")

    def close(self) -> None:
        return
