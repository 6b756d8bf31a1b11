"""Vaults to test with: in a file, and on the server that DISCREET_TEST_POSTGRES names (`make integration`)."""

import os
import secrets
from types import SimpleNamespace

import polars as pl
import pytest

from discreet.pseudonyms.keys import KeyFile
from discreet.pseudonyms.messages import messages
from discreet.pseudonyms.vault import Vault

FIELDS = {"ssn": "digits", "name": "text", "born": "date"}
IDENTITIES = {"ssn": ["ssn"], "name and birth": ["name", "born"]}
SERVER = os.environ.get("DISCREET_TEST_POSTGRES")


@pytest.fixture
def key(tmp_path):
    """A key file: opens at once, where a passphrase takes a while by design."""
    return KeyFile.create(tmp_path / "key")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.integration)])
def place(request, tmp_path):
    """Where a new vault may be made."""
    if request.param == "sqlite":
        yield str(tmp_path / "people.vault")
        return
    yield from schema()


@pytest.fixture
def server():
    """Where a new vault may be made on a server: for the few tests of one that are in `make test`."""
    yield from schema()


def schema():
    """A new schema on the server, which is gone afterwards."""
    if SERVER is None:
        pytest.skip("DISCREET_TEST_POSTGRES names no server")
    name = f"test_{secrets.token_hex(6)}"
    yield f"{SERVER}?schema={name}"
    drop(name)


def drop(schema):
    from sqlalchemy import create_engine, text

    engine = create_engine(SERVER.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text(f'drop schema if exists "{schema}" cascade'))
    engine.dispose()


@pytest.fixture
def file(tmp_path):
    """Where a new vault file may be made."""
    return tmp_path / "people.vault"


@pytest.fixture
def make(key):
    """Makes a vault with one purpose and one partner."""

    def made(where, **options):
        settings = {"fields": FIELDS, "identities": IDENTITIES, "key_file": key, **options}
        vault = Vault.create(where, **settings)
        vault.add_purpose("research", basis="Article 9(2)(j)", retention=30)
        vault.add_partner("university", contact="desk@university.example")
        return vault

    return made


@pytest.fixture
def vault(make, place):
    """An open vault, in a file and on a server."""
    with make(place) as opened:
        yield opened


@pytest.fixture
def people():
    """Asks a vault who rows are of, records tables of them, and the like."""

    def frame(**columns):
        return pl.DataFrame(columns, schema={name: pl.String for name in columns})

    def resolve(vault, /, **columns):
        return vault.resolve(messages(vault.schema, frame(**columns)))

    def table(vault, called, /, partner=None, **columns):
        mark = vault.mark()
        found = resolve(vault, **columns)
        good = found.person & ~found.suppressed
        version = vault.version("research", partner)
        act = "pseudonymise" if partner is None else "share"
        vault.record(act, table=called, version=version, mark=mark, ids=found.ids[good], rows=int(good.sum()))
        return found

    return SimpleNamespace(frame=frame, resolve=resolve, table=table)
