"""What is special about a server; everything else runs on both through the fixtures of conftest.py."""

import os
import sys

import pytest

from discreet.errors import NotSupported, VersionError
from discreet.pseudonyms import postgres
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")
SERVER = os.environ.get("DISCREET_TEST_POSTGRES")
needs_server = pytest.mark.skipif(SERVER is None, reason="DISCREET_TEST_POSTGRES names no server")


@pytest.fixture
def remote(request, place):
    if not place.startswith("postgresql"):
        pytest.skip("of a server")
    return place


def test_tls_unless_the_server_is_here():
    pytest.importorskip("sqlalchemy")
    for host in ("localhost", "127.0.0.1", "::1", "", "/run/postgresql"):
        assert postgres._ssl(host, None) == "prefer" and postgres._ssl(host, "disable") == "disable"
    assert (
        postgres._ssl("db.example", None) == "require" and postgres._ssl("db.example", "verify-full") == "verify-full"
    )
    for weak in ("disable", "allow", "prefer"):
        with pytest.raises(ValueError, match="needs TLS"):
            postgres._ssl("db.example", weak)


def test_addresses_that_are_wrong(key):
    pytest.importorskip("psycopg")
    for url in ("postgresql://a:hunter2secret@h:port/x", "postgresql://a:hunter2secret@h/x?schema=A;drop"):
        with pytest.raises(ValueError) as caught:
            Vault.open(url, key_file=key)
        assert "hunter2secret" not in str(caught.value)


def test_a_server_that_is_not_there(key):
    pytest.importorskip("psycopg")
    with pytest.raises(VaultError, match="is the server running") as caught:
        Vault.open("postgresql://me:hunter2secret@127.0.0.1:1/x", key_file=key)
    assert "hunter2secret" not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_without_the_packages(key, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(VaultError, match=r"discreet\[postgres\]"):
        Vault.open("postgresql://127.0.0.1/x", key_file=key)


def test_the_password_is_shown_nowhere(make, remote, key):
    password = SERVER.split(":")[2].split("@")[0]
    with make(remote) as vault:
        assert password not in repr(vault.database) and password not in repr(vault.database._engine)
        assert vault.database.place.startswith("127.0.0.1/")
    wrong = remote.replace(password, "hunter2secret")
    with pytest.raises(VaultError) as caught:
        Vault.open(wrong, key_file=key)
    assert "hunter2secret" not in str(caught.value) and password not in str(caught.value)


def test_two_vaults_in_one_database(make, remote, key, people):
    other = remote.replace("schema=", "schema=other_")
    with make(remote) as one, make(other) as two:
        people.resolve(one, ssn=["1"])
        assert one.people.links.count() == 1 and two.people.links.count() == 0 and one.name != two.name
        with two.database.transaction(), one.database.transaction():
            pass  # each has a lock of its own
        with two.database.transaction():
            two.database.write(f"drop schema {two.database.schema} cascade")


def test_a_newer_version_on_a_server(make, remote, key):
    with make(remote) as vault, vault.database.transaction():
        vault.database.write(f"comment on schema {vault.database.schema} is 'discreet vault 2'")
    with pytest.raises(VersionError, match="Got 2"):
        Vault.open(remote, key_file=key)


def test_values_are_not_in_errors_of_the_server(make, remote):
    with make(remote) as vault, pytest.raises(VaultError) as caught, vault.database.transaction():
        for _ in range(2):
            vault.database.write(
                "insert into settings (kind, name, document, mac) values (?, ?, ?, ?)", ("k", "CANARY", "x", b"x")
            )
    assert "CANARY" not in str(caught.value) and "23505" in str(caught.value)
    assert caught.value.__suppress_context__


def test_backups_are_the_servers(make, remote, tmp_path):
    with make(remote) as vault, pytest.raises(NotSupported, match="pg_dump"):
        vault.backup(tmp_path / "copy")


def test_a_changed_row_on_a_server(make, remote, people):
    with make(remote) as vault:
        people.table(vault, "visits", ssn=["1"])
        vault.verify()
        with vault.database.transaction():
            vault.database.write("update chunks set body = set_byte(body, 20, 255 - get_byte(body, 20))")
        with pytest.raises(VaultError, match="changed or cut"):
            vault.verify()
