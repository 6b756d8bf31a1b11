"""What is special about a server; everything else runs on both through the fixtures of conftest.py."""

import contextlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import NotSupported, VersionError
from discreet.pseudonyms import addresses, postgres
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
    assert addresses.tls(True, None) == "prefer" and addresses.tls(True, "disable") == "disable"
    assert addresses.tls(False, None) == "require" and addresses.tls(False, "verify-full") == "verify-full"
    for weak in ("disable", "allow", "prefer"):
        with pytest.raises(ValueError, match="needs TLS"):
            addresses.tls(False, weak)


@pytest.mark.parametrize(
    ("host", "query", "environment"),
    [
        ("localhost", {}, {}),
        ("127.0.0.1", {}, {"PGHOST": "db.example"}),
        ("::1", {}, {}),
        (None, {}, {}),
        (None, {"host": "/run/postgresql"}, {}),
        (None, {}, {"PGHOST": "/run/postgresql", "PGHOSTADDR": "127.0.0.1"}),
        ("db.example", {"host": ("localhost", "::1")}, {}),
    ],
)
def test_servers_on_this_machine(host, query, environment):
    assert addresses.here(host, query, environment)


@pytest.mark.parametrize(
    ("host", "query", "environment"),
    [
        ("db.example", {}, {}),
        (None, {}, {"PGHOST": "10.0.0.1"}),
        (None, {}, {"PGHOSTADDR": "10.0.0.1"}),
        ("localhost", {"hostaddr": "10.0.0.1"}, {}),
        ("localhost", {}, {"PGHOSTADDR": "10.0.0.1"}),
        ("localhost", {"service": "far"}, {}),
        ("localhost", {}, {"PGSERVICE": "far"}),
        ("localhost", {"host": "localhost,db.example"}, {}),
        (None, {"host": ("localhost", "db.example")}, {}),
        ("localhost.example", {}, {}),
    ],
)
def test_servers_that_may_be_elsewhere(host, query, environment):
    assert not addresses.here(host, query, environment)


def test_the_environment_is_looked_at(key, monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGHOST", "db.example")
    with pytest.raises(ValueError, match="needs TLS"):
        Vault.open("postgresql:///x?sslmode=disable", key_file=key)


@pytest.mark.parametrize("scheme", ["POSTGRESQL", "postgresql+psycopg2", "Postgres"])
def test_other_spellings_of_addresses(key, scheme):
    pytest.importorskip("psycopg")
    with pytest.raises(VaultError, match="is the server running") as caught:
        Vault.open(f"{scheme}://me:hunter2secret@127.0.0.1:1/x", key_file=key)
    assert "hunter2secret" not in str(caught.value)


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


def test_a_vault_on_a_server_works(make, server, key, people):
    """Of each kind of work a little: all of it runs on a server in `make integration`."""
    with make(server) as vault:
        found = people.table(vault, "visits", ssn=["1", "2", "1", None])
        people.table(vault, "shared", partner="university", ssn=["2"])
        assert found.person.sum() == 3 and vault.people.links.count() == 2
        done = vault.erase(vault.find({"ssn": "1"}), reason="asked")
        assert not done.cleaned
    with Vault.open(server, key_file=key) as again:
        assert again.people.links.count() == 1 and len(again.tables()) == 2
        again.verify()


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
        vault.database.write(f"comment on schema {vault.database.schema} is 'discreet vault 3'")
    with pytest.raises(VersionError, match="Got 3"):
        Vault.open(remote, key_file=key)


def test_values_are_not_in_errors_of_the_server(make, remote):
    with make(remote) as vault, pytest.raises(VaultError) as caught, vault.database.transaction():
        for _ in range(2):
            vault.database.write(
                "insert into settings (kind, name, document, mac) values (?, ?, ?, ?)", ("k", "CANARY", "x", b"x")
            )
    assert "CANARY" not in str(caught.value) and "23505" in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_vault_works_on_after_a_lock_that_timed_out(make, remote, key, monkeypatch):
    monkeypatch.setattr(postgres, "WAIT", 1)
    with make(remote) as vault, Vault.open(remote, key_file=key) as other:
        with other.database.transaction(), pytest.raises(VaultError, match=r"55P03.*held the vault"):
            vault.add_purpose("late")
        assert vault.purposes == ("research",)
        vault.add_purpose("late")
        vault.verify()


def test_a_vault_works_on_after_a_query_that_failed(make, remote):
    with make(remote) as vault:
        for step in (vault.database.snapshot, vault.database.transaction, contextlib.nullcontext):
            with pytest.raises(VaultError, match="42703"), step():
                vault.database.read("select nonsense from settings")
            assert vault.purposes == ("research",)
        vault.add_purpose("more")


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_writers_that_wait_for_each_other_whatever_the_default_of_the_server(make, remote, key, level, monkeypatch):
    """The second one waits for the lock while the first one writes; then it reads what the first one left."""
    engine = postgres._engine

    def strict(url):
        found, schema, place = engine(url)
        from sqlalchemy import event

        @event.listens_for(found, "connect")
        def connected(connection, record):
            connection.execute(f"set session characteristics as transaction isolation level {level}")
            connection.commit()

        return found, schema, place

    monkeypatch.setattr(postgres, "_engine", strict)
    with make(remote) as vault, Vault.open(remote, key_file=key) as other:
        assert vault.database.read("show default_transaction_isolation") == [(level,)]
        with ThreadPoolExecutor(1) as pool:
            with vault.database.transaction():
                waiting = pool.submit(other.add_purpose, "second")
                while not vault.database.read("select 1 from pg_locks where locktype = 'advisory' and not granted"):
                    pass
                vault.add_purpose("first")
            waiting.result()
        assert set(vault.purposes) == {"research", "first", "second"}
        vault.verify()


def test_old_keys_are_vacuumed_and_what_a_server_keeps_is_told(make, remote, key, people):
    from sqlalchemy import event

    said = []
    with make(remote) as vault:
        event.listen(vault.database._engine, "before_cursor_execute", lambda *given: said.append(given[2]))
        assert vault.rewrap(key_file=key) is False
        assert "vacuum header, settings, entries, sealed" in said
        people.table(vault, "visits", ssn=["1"])
        done = vault.erase(vault.find({"ssn": "1"}), reason="asked")
        assert not done.cleaned


def test_backups_are_the_servers(make, remote, tmp_path):
    with make(remote) as vault, pytest.raises(NotSupported, match="pg_dump"):
        vault.backup(tmp_path / "copy")


def test_a_changed_row_on_a_server(make, remote, people):
    with make(remote) as vault:
        people.table(vault, "visits", ssn=["1"])
        vault.verify()
        with vault.database.transaction():
            vault.database.write("update sealed set body = set_byte(body, 20, 255 - get_byte(body, 20))")
        with pytest.raises(VaultError, match="changed or cut"):
            vault.verify()
