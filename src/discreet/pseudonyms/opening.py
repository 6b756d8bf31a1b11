"""Making and opening vaults: where they are, and the one key that opens them.

Before a vault is unlocked only its header is read: version, name and wrapped key. A wrong passphrase ends there, and
nothing has been written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from discreet.pseudonyms.database import VERSION, Database, check_version
from discreet.pseudonyms.errors import Tampered
from discreet.pseudonyms.keys import KeyFile, Passphrase, unwrap, wrap
from discreet.pseudonyms.master import Master

Place = str | os.PathLike[str]
SERVERS = ("postgresql", "postgres")


def secret(
    passphrase: str | Passphrase | None, key_file: str | os.PathLike[str] | KeyFile | None
) -> Passphrase | KeyFile:
    """The one secret that was given."""
    if (passphrase is None) == (key_file is None):
        raise ValueError("A vault needs either a `passphrase` or a `key_file`.")
    if passphrase is not None:
        return passphrase if isinstance(passphrase, Passphrase) else Passphrase(passphrase)
    assert key_file is not None
    return key_file if isinstance(key_file, KeyFile) else KeyFile(os.fspath(key_file))


def create(place: Place, fill: Callable[[Database], None]) -> Database:
    """A new database at a path or an address."""
    if remote(place):
        from discreet.pseudonyms.postgres import Postgres

        return Postgres.create(str(place), fill)
    from discreet.pseudonyms.sqlite import Sqlite

    return Sqlite.create(place, fill)


def connect(place: Place) -> Database:
    """The database at a path or an address."""
    if remote(place):
        from discreet.pseudonyms.postgres import Postgres

        return Postgres(str(place))
    from discreet.pseudonyms.sqlite import Sqlite

    return Sqlite(place)


def remote(place: Place) -> bool:
    """Whether a place is the address of a server.

    Whatever looks like an address is one, or refused: taken for a path, its password would be shown in messages.
    """
    scheme, mark, rest = os.fspath(place).partition(":/")
    kind = scheme.lower().partition("+")[0]
    if not mark or not (rest.startswith("/") or kind in SERVERS):
        return False
    if kind not in SERVERS or not rest.startswith("/") or not isinstance(place, str):
        raise ValueError("The address of a vault must be text: postgresql://user:password@host:port/database.")
    return True


def header(vault: str, wrapped: dict[str, Any]) -> str:
    """What is stored in clear."""
    document = {"discreet": "vault", "version": VERSION, "vault": vault, "wrapped": wrapped}
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def unlock(database: Database, given: Passphrase | KeyFile) -> tuple[str, Master]:
    """The name of a vault and its master key."""
    document = read_header(database)
    return document["vault"], unwrap(document["wrapped"], given)


def read_header(database: Database) -> dict[str, Any]:
    """The header, if it has its one form."""
    rows = database.read("select document from header")
    try:
        ((text,),) = rows
        document: dict[str, Any] = json.loads(text)
        check_version(document["version"])
        whole = header(document["vault"], dict(document["wrapped"])) == text
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if type(error).__name__ == "VersionError":
            raise
        whole = False
    if not whole:
        raise Tampered("The header of the vault was changed. Hint: restore a backup.")
    return document


def rewrap(database: Database, master: Master, given: Passphrase | KeyFile) -> None:
    """Put the master key under another secret, inside a transaction."""
    vault = read_header(database)["vault"]
    database.write("update header set document = ?", (header(vault, wrap(master, given)),))
