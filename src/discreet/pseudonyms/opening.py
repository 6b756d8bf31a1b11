"""Making and opening vaults: where they are, and the one key that opens them.

Before a vault is unlocked only its header is read: version, name and wrapped key. A wrong passphrase ends there, and
nothing has been written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from discreet.errors import VersionError
from discreet.pseudonyms.database import VERSION, Database, check_version
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.keys import KeyFile, Passphrase, unwrap, wrap
from discreet.pseudonyms.master import Master

Place = str | os.PathLike[str]
SERVERS = ("postgresql", "postgres")
CHANGED = "The header of the vault was changed. Hint: restore a backup."


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

        database: Database = Postgres(str(place))
    else:
        from discreet.pseudonyms.sqlite import Sqlite

        database = Sqlite(place)
    try:
        database.inspect()
    except BaseException:
        database.close()
        raise
    return database


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


def header(vault: str, wrapped: dict[str, Any], version: int = VERSION, copy: bool = False) -> str:
    """What is stored in clear; a copy made by `backup` is marked."""
    document = {"discreet": "vault", "version": version, "vault": vault, "wrapped": wrapped}
    return json.dumps(document | ({"copy": True} if copy else {}), sort_keys=True, separators=(",", ":"))


def unlock(database: Database, given: Passphrase | KeyFile, copy: bool = False) -> tuple[str, Master]:
    """The name of a vault and its master key; a marked copy is refused, unless it is wanted."""
    document = read_header(database)
    if "copy" in document and not copy:
        raise VaultError(
            "This is a backup. It does not know who was erased after it was made, and would bring them back."
            " Hint: Vault.restore(...)."
        )
    return document["vault"], unwrap(document["wrapped"], given)


def read_header(database: Database) -> dict[str, Any]:
    """The header, if it has its one form."""
    rows = database.read("select document from header")
    if len(rows) != 1 or not isinstance(rows[0][0], str):
        raise Tampered(CHANGED)
    return parsed(rows[0][0])


def parsed(text: str) -> dict[str, Any]:
    """The content of a header."""
    try:
        document: dict[str, Any] = json.loads(text)
        check_version(document["version"])
        whole = _text(document) == text
    except VersionError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        whole = False
    if not whole:
        raise Tampered(CHANGED)
    return document


def _text(document: dict[str, Any]) -> str:
    return header(document["vault"], dict(document["wrapped"]), document["version"], "copy" in document)


def marked(text: str) -> str:
    """The header of a copy of a vault, from that of the vault."""
    return _text({**parsed(text), "copy": True})


def unmark(database: Database) -> None:
    """Make a vault of a copy, inside a transaction."""
    document = {name: value for name, value in read_header(database).items() if name != "copy"}
    _put(database, _text(document))


def upgrade(database: Database) -> None:
    """Say in the header, inside a transaction, that the vault is of the present version."""
    _put(database, _text({**read_header(database), "version": VERSION}))


def rewrap(database: Database, master: Master, given: Passphrase | KeyFile) -> None:
    """Put the master key under another secret, inside a transaction."""
    _put(database, _text({**read_header(database), "wrapped": wrap(master, given)}))


def _put(database: Database, text: str) -> None:
    database.write("update header set document = ?", (text,))
