"""Vaults of version 1, as they were written then: `version1` holds one, a backup of it, and its file of erasures.

People 1, 2 and 3 are in the table "visits"; then came the backup, the erasure of 3, and a model.
"""

import lzma
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.pseudonyms.database import FORMER, schema
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.keys import KeyFile
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")
OLD = Path(__file__).with_name("version1")
ANCHOR = "7-fef50125c77edcdad0f4aba22aca18fc38cc2256980924e4842894729addaf67"
COPIED = "4-1fa3ee9b515bd6dce842c5e0b194f1dc489374b7307b0b04049e18b5af03df7c"
PSEUDONYM = "1hIOh33hpqgsUogpurxkvzQel2QhsOEjWxvSg"


@pytest.fixture
def old(tmp_path):
    """The files of version 1, their owner's alone."""
    mask = os.umask(0o077)
    try:
        for path in OLD.iterdir():
            content = path.read_bytes()
            (tmp_path / path.name.removesuffix(".xz")).write_bytes(
                lzma.decompress(content) if path.suffix == ".xz" else content
            )
    finally:
        os.umask(mask)
    return tmp_path


@pytest.fixture
def key(old):
    return KeyFile(old / "key")


def test_it_opens_and_is_brought_up_to_date(old, key, people):
    with Vault.open(old / "people.vault", key_file=key) as vault:
        assert [entry.act for entry in vault.register.entries()][-2:] == ["model", "upgrade"]
        assert str(vault.verify(ANCHOR)) == "consistent, register complete up to entry 7 of 8"
        found = vault.find({"ssn": "1"})
        assert [one.pseudonym for one in found.locators] == [PSEUDONYM] and found.models == ("forest",)
        assert people.resolve(vault, ssn=["2", "3"]).suppressed.tolist() == [False, True]
        people.table(vault, "more", ssn=["1", "4"])
        vault.verify()
    with Vault.open(old / "people.vault", key_file=key) as vault:
        vault.verify()
        assert [entry.act for entry in vault.register.entries()].count("upgrade") == 1
        assert vault.state()["version"] == 2


TABLES = {
    "header": "document",
    "settings": "kind, name, document, mac",
    "register": "number, entry, mac",
    "chunks": "store, first, last, body",
}


@pytest.fixture
def somewhere(old, make, place):
    """Puts a vault of version 1 in a file, and on a server as it would have been there."""

    def put(name):
        if not place.startswith("postgresql"):
            return old / name
        with closing(sqlite3.connect(old / name)) as file, make(place) as vault, vault.database.transaction():
            vault.database.witness = None
            for name, former in FORMER.items():
                vault.database.write(f"alter table {name} rename to {former}")
            for table, columns in TABLES.items():
                vault.database.write(f"delete from {table}")
                places = ", ".join("?" for _ in columns.split(", "))
                rows = file.execute(f"select {columns} from {table}").fetchall()
                vault.database.write_many(f"insert into {table} ({columns}) values ({places})", rows)
            vault.database.write(f"comment on schema {vault.database.schema} is 'discreet vault 1'")
        return place

    return put


@pytest.fixture
def served(somewhere, place):
    """On a server alone."""
    if not place.startswith("postgresql"):
        pytest.skip("of a server")
    return somewhere


def test_one_on_a_server(served, key, people):
    place = served("people.vault")
    with Vault.open(place, key_file=key) as vault:
        assert vault.verify(ANCHOR).entries == 8
        people.table(vault, "more", ssn=["1", "4"])
    with Vault.open(place, key_file=key) as vault:
        assert vault.verify().entries == 9 and vault.database.inside is False


@pytest.mark.parametrize("source", ["people.vault", "erasures"])
def test_a_backup_on_a_server(served, key, old, source):
    """Opening it brings it up to date; it can still be told of what came after it."""
    with Vault.open(served("backup.vault"), key_file=key) as vault:
        assert vault.find({"ssn": "3"}).known
        assert vault.replay(old / source, anchor=ANCHOR).replayed
        assert not vault.find({"ssn": "3"}).known
        vault.verify(COPIED)


OLDER = (
    "insert into register (number, entry, mac) values (999, 'x', ?)",
    "insert into chunks (store, first, last, body) values ('people', ?, ?, ?)",
    "update chunks set last = ?, body = ? where store = ? and first = ?",
    "delete from chunks where store = ?",
)


@pytest.mark.parametrize("sql", OLDER, ids=lambda sql: sql.split(" (")[0])
def test_an_older_program_that_has_it_open_can_write_no_more(somewhere, key, sql):
    """It keeps no sums: one change would be taken for tampering for good. These are its statements."""
    place = somewhere("people.vault")
    from discreet.pseudonyms.opening import connect

    with closing(connect(place)) as older:
        Vault.open(place, key_file=key).close()
        with pytest.raises(VaultError), older.transaction():
            older.write(sql, (b"x",) * sql.count("?"))
    with Vault.open(place, key_file=key) as vault:
        assert vault.verify(ANCHOR).entries == 8


def test_another_process_brings_it_up_to_date_while_it_is_opened(somewhere, key, monkeypatch):
    from discreet.pseudonyms import opening

    place, unlock = somewhere("people.vault"), opening.unlock

    def late(*given):
        monkeypatch.setattr(opening, "unlock", unlock)
        Vault.open(place, key_file=key).close()
        return unlock(*given)

    monkeypatch.setattr(opening, "unlock", late)
    with Vault.open(place, key_file=key) as vault:
        assert vault.verify(ANCHOR).entries == 8


def test_another_process_brings_it_up_to_date_while_its_state_is_read(somewhere, key, monkeypatch):
    from discreet.pseudonyms import opening
    from discreet.pseudonyms.settings import Settings

    place, get = somewhere("people.vault"), Settings.get
    with closing(opening.connect(place)) as database:
        name, master = opening.unlock(database, key)
        vault = Vault(database, master, name)

        def late(*given):
            found = get(*given)
            monkeypatch.setattr(Settings, "get", get)
            Vault.open(place, key_file=key).close()
            return found

        monkeypatch.setattr(Settings, "get", late)
        assert vault.state()["version"] == 1
        assert vault.state()["version"] == 2


def test_a_damaged_one_is_not_made_good(old, key):
    from discreet.pseudonyms.opening import connect

    database = connect(old / "people.vault")
    with database.transaction():
        database.write("delete from settings where kind = 'model'")
    database.close()
    before = (old / "people.vault").read_bytes()
    with pytest.raises(Tampered, match="model"):
        Vault.open(old / "people.vault", key_file=key)
    assert (old / "people.vault").read_bytes() == before


def test_it_is_not_taken_back_to_version_1(old, key):
    """Its sums gone, and the header and the state of then put back: the register tells of the upgrade."""
    sql = "select document, mac from settings where kind = 'state' and name = 'vault'"
    from discreet.pseudonyms.opening import connect

    database = connect(old / "people.vault")
    state, header = database.read(sql), database.read("select document from header")
    database.close()
    with Vault.open(old / "people.vault", key_file=key) as vault, vault.database.transaction():
        vault.database.write("delete from settings where kind = 'sums'")
        vault.database.write(
            "update settings set document = ?, mac = ? where kind = 'state' and name = 'vault'", state[0]
        )
        vault.database.write("update header set document = ?", header[0])
        for statement, (name, former) in zip(schema(1)[2:], FORMER.items(), strict=True):
            vault.database.write(statement)
            vault.database.write(f"insert into {former} select * from {name}")
            vault.database.write(f"drop table {name}")
        vault.database.write("pragma user_version = 1")
        vault.database.witness = None
    with pytest.raises(Tampered, match="state"):
        Vault.open(old / "people.vault", key_file=key)


def test_a_header_of_another_version_than_the_vault(old, key):
    Vault.open(old / "people.vault", key_file=key).close()
    with Vault.open(old / "people.vault", key_file=key) as vault, vault.database.transaction():
        ((header,),) = vault.database.read("select document from header")
        vault.database.write("update header set document = ?", (header.replace('"version":2', '"version":1'),))
    with pytest.raises(Tampered, match="does not go with its header"):
        Vault.open(old / "people.vault", key_file=key)


@pytest.mark.parametrize(("source", "corrections"), [("people.vault", 0), ("erasures", None), ("upgraded", 0)])
def test_an_old_backup_is_restored_from(old, key, source, corrections):
    """From an old vault, an old file of erasures, and a vault that was brought up to date since."""
    if source == "upgraded":
        with Vault.open(old / "people.vault", key_file=key) as vault:
            assert vault.anchor().count == 8
        source = "people.vault"
    done = Vault.restore(
        old / "new.vault", old / "backup.vault", erasures_from=old / source, anchor=ANCHOR, key_file=key
    )
    assert done.replayed and done.corrections == corrections == done.pruned and done.lost >= 3
    with Vault.open(old / "new.vault", key_file=key) as vault:
        vault.verify(COPIED)
        assert not vault.find({"ssn": "3"}).known and vault.find({"ssn": "1"}).models == ("forest",)


def test_an_old_backup_is_restored_by_its_anchor(old, key):
    where = old / "new.vault", old / "backup.vault"
    with pytest.raises(VaultError, match="something happened since"):
        Vault.restore(*where, erasures_from=ANCHOR, key_file=key)
    assert Vault.restore(*where, erasures_from=COPIED, key_file=key).replayed == 0
    with Vault.open(where[0], key_file=key) as vault:
        vault.verify(COPIED)


def test_a_backup_from_just_after_the_upgrade(old, key):
    with Vault.open(old / "people.vault", key_file=key) as vault:
        anchor = vault.backup(old / "copy.vault")
        assert anchor.count == 8
        vault.erase(vault.find({"ssn": "2"}), reason="asked")
    done = Vault.restore(old / "a.vault", old / "copy.vault", erasures_from=old / "people.vault", key_file=key)
    assert done.replayed and done.lost == 2
    assert Vault.restore(old / "b.vault", old / "copy.vault", erasures_from=anchor, key_file=key).lost == 0
