"""Rows that are missing, too many or older: what is found once is found for ever, whatever is written after it."""

import json
import random
import sqlite3
from contextlib import closing

import pytest

from discreet.errors import VersionError
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")
SUMS = "select document, mac from settings where kind = 'sums'"
PUT_SUMS = "update settings set document = ?, mac = ? where kind = 'sums'"
PUT_CHUNK = "update sealed set last = ?, body = ? where store = ? and first = ?"


def write(vault, sql, *rows):
    """What somebody does who can write to the database and has no key."""
    with vault.database.transaction():
        for values in rows or ((),):
            vault.database.write(sql, values)


def chunks(vault, kind):
    rows = vault.database.read("select last, body, store, first from sealed")
    return [row for row in rows if row[2].partition(":")[0] == kind]


def refused(vault, act, match):
    """The act is refused, leaves nothing, and what is wrong stays found."""
    before = vault.anchor()
    with pytest.raises(Tampered, match=match):
        act()
    assert vault.anchor() == before
    with pytest.raises(Tampered):
        vault.verify()


# settings


def test_keys_that_were_removed_are_not_made_anew(vault, people):
    people.table(vault, "visits", ssn=["1"])
    write(vault, "delete from settings where kind = 'keys'")
    with pytest.raises(Tampered):
        vault.verify()
    refused(vault, lambda: vault.pseudonymise(people.frame(ssn=["1"]), ["ssn"], "research"), "declared in the vault")
    with pytest.raises(Tampered, match="keys of the table 'visits'"):
        vault.find({"ssn": "1"})


def test_a_revoked_partner_that_was_removed_is_not_welcome_again(vault):
    vault.revoke("university")
    write(vault, "delete from settings where kind = 'partner'")
    refused(vault, lambda: vault.add_partner("university"), "declared in the vault")
    refused(vault, lambda: vault.add_purpose("another"), "declared in the vault")


def test_an_older_setting_put_back_is_not_written_over(vault):
    old = vault.database.read("select document, mac, name from settings where kind = 'partner'")
    vault.revoke("university")
    write(vault, "update settings set document = ?, mac = ? where name = ?", *old)
    refused(vault, lambda: vault.revoke("university"), "declared in the vault")


def test_a_changed_setting_is_not_written_over(vault):
    write(vault, "update settings set document = '{}' where kind = 'state' and name = 'erasures'")
    with pytest.raises(Tampered), vault.database.transaction():
        vault.settings.put("state", "erasures", {"count": 7})


def test_other_keys_under_the_number_of_a_tables_are_noticed(vault, people):
    """A pseudonym that the table does not have must not be told: the holder would delete nothing."""
    people.table(vault, "visits", ssn=["1"])
    with vault.database.transaction():
        other = {"versions": [{"key_id": "AAAAAA", "since": "2026-01-01"}]}
        vault.settings.put("keys", json.dumps(["research", None]), other)
    with pytest.raises(Tampered, match="keys of the table 'visits'"):
        vault.find({"ssn": "1"})


# people


def test_an_older_suppression_list_does_not_heal(vault, people):
    people.table(vault, "visits", ssn=["1", "2"])
    old = chunks(vault, "suppressed")
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    write(vault, PUT_CHUNK, *old)
    refused(vault, lambda: vault.erase(vault.find({"ssn": "2"}), reason="asked"), "suppression list")
    refused(vault, lambda: people.table(vault, "again", ssn=["1"]), "suppression list")
    assert vault.find({"ssn": "2"}).known


@pytest.mark.parametrize("kind", ["people", "aliases", "use"])
def test_one_older_chunk_put_back_is_noticed(vault, people, kind):
    """The person is erased; the old link, with its seal, is put back alone."""
    people.table(vault, "visits", ssn=["1", "2"], name=["A", "B"], born=["1980-01-01"] * 2)
    old = chunks(vault, kind)
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    vault.verify()
    write(vault, PUT_CHUNK, *old)
    with pytest.raises(Tampered, match=f"'{kind}' is not as the vault left it"):
        vault.verify()
    people.table(vault, "more", ssn=["2", "3"])
    vault.erase(vault.find({"ssn": "2"}), reason="asked")
    vault.add_purpose("another")
    with pytest.raises(Tampered, match=f"'{kind}' is not as the vault left it"):
        vault.verify()


def test_older_chunks_with_their_own_sums_are_noticed(vault, people):
    """They go with another entry of the register."""
    people.table(vault, "visits", ssn=["1"])
    old, sums = chunks(vault, "people"), vault.database.read(SUMS)
    people.resolve(vault, ssn=["2"])
    vault.export(vault.find({"ssn": "1"}))
    write(vault, PUT_CHUNK, *old)
    write(vault, PUT_SUMS, *sums)
    refused(vault, lambda: people.resolve(vault, ssn=["3"]), "does not end where the vault left it")


def test_a_register_that_was_cut_is_noticed_without_an_anchor(vault):
    vault.export(vault.find({"ssn": "1"}))
    write(vault, "delete from entries where number = ?", (vault.anchor().count,))
    refused(vault, lambda: vault.add_purpose("another"), "does not end where the vault left it")


@pytest.mark.parametrize(
    "sql",
    [
        "delete from settings where kind = 'sums'",
        "update settings set name = 'other' where kind = 'sums'",
        "insert into settings (kind, name, document, mac) select kind, 'two', document, mac from settings"
        " where kind = 'sums'",
        "update settings set document = '00' || document where kind = 'sums'",
        "update settings set document = upper(document) where kind = 'sums'",
    ],
)
def test_the_sums_themselves(vault, sql):
    write(vault, sql)
    refused(vault, lambda: vault.add_purpose("another"), "sums")


# what belongs to whom


def test_the_sums_are_sealed_and_follow_every_transaction(vault, people):
    seen = set()
    for number in range(4):
        people.table(vault, f"t{number}", ssn=[str(number), "x1"])
        ((document, _),) = vault.database.read(SUMS)
        values = {one.value.hex() for one in vault.sums._read().values()}
        assert len(values) >= 4 and not any(value in document for value in values)
        seen.add(document)
        vault.verify()
    assert len(seen) == 4


def test_what_is_rolled_back_leaves_no_trace_in_the_sums(vault, people):
    with pytest.raises(KeyError), vault.database.transaction():
        vault.add_purpose("another")
        people.resolve(vault, ssn=["1"])
        raise KeyError
    with pytest.raises(VaultError, match="inside a transaction"):
        vault.settings.put("purpose", "outside", {})
    with pytest.raises(VaultError, match="inside a transaction"):
        vault.sums.begin()
    people.table(vault, "visits", ssn=["2"])
    vault.verify()


def test_many_chunks_split_dropped_and_summed_in_pieces(vault, people, monkeypatch):
    from discreet.pseudonyms import sums

    monkeypatch.setattr(sums, "_CHUNKS", sums._CHUNKS.replace(f"limit {sums.BATCH}", "limit 3"))
    people.table(vault, "visits", ssn=[str(number) for number in range(3000)])
    people.table(vault, "others", ssn=[str(number) for number in range(1000)])
    vault.verify()
    assert vault.sums._read()["people"].count > 20
    vault.retire("visits")
    vault.verify()
    vault.prune()
    vault.verify()


# tables, triggers, pages


TRIGGER = "create trigger keep before update on sealed begin insert into kept values (old.store, old.body); end"


@pytest.mark.parametrize(
    "sql",
    [
        ["create table kept (a, b)", TRIGGER],
        ["create table kept (a, b)"],
        ["create view kept as select 1"],
        ["create index kept on sealed (last)"],
        ["alter table sealed add column kept"],
    ],
)
def test_what_is_not_the_vaults_own_in_its_file(make, file, key, sql):
    """A trigger could keep what an erasure deletes."""
    with make(file) as vault:
        with closing(sqlite3.connect(file)) as connection, connection:
            for statement in sql:
                connection.execute(statement)
        with pytest.raises(Tampered, match="not its own"):
            vault.verify()
    with pytest.raises(Tampered, match="not its own"):
        Vault.open(file, key_file=key)


@pytest.mark.parametrize(
    "sql",
    [
        "create table kept (a text)",
        "create view kept as select 1",
        "create rule kept as on delete to sealed do instead nothing",
        "create trigger kept before update on sealed for each row"
        " execute function suppress_redundant_updates_trigger()",
    ],
)
def test_what_is_not_the_vaults_own_on_a_server(make, place, key, sql):
    if not place.startswith("postgresql"):
        pytest.skip("of a server")
    with make(place) as vault:
        vault.verify()
        write(vault, sql)
        with pytest.raises(Tampered, match="not its own"):
            vault.verify()
    with pytest.raises(Tampered, match="not its own"):
        Vault.open(place, key_file=key)


@pytest.fixture
def full(make, file, people):
    """A closed vault with something in every table and store."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2", "3"], name=["A", "B", "B"], born=["1980-01-01"] * 3)
        vault.used("visits", model="forest")
        fields = {"ssn": "digits:9", "name": "text", "born": "date"}
        vault.change_fields(fields, vault.schema.identities)
        vault.erase(vault.find({"ssn": "3"}), reason="asked")
    return file


def flipped(file, place, bit):
    """A copy of a file with one bit flipped."""
    content = bytearray(file.read_bytes())
    content[place] ^= 1 << bit
    target = file.with_name("flipped.vault")
    for suffix in ("", "-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    target.touch(0o600)
    target.write_bytes(content)
    return target


def root(file, name):
    with closing(sqlite3.connect(file)) as connection:
        ((page,),) = connection.execute("select rootpage from sqlite_master where name = ?", (name,)).fetchall()
    return (page - 1) * 8192


@pytest.mark.parametrize("name", [b"modelforest", b"schema000002", b"partneruniversity"])
def test_a_setting_that_the_index_hides(full, key, name):
    """The row is there and sound; whoever asks by its name does not find it."""
    start = root(full, "sqlite_autoindex_settings_1")
    place = full.read_bytes().index(name, start, start + 8192)
    with Vault.open(flipped(full, place + 1, 3), key_file=key) as vault, pytest.raises(Tampered, match="damaged"):
        vault.verify()


def test_bits_flipped_in_every_page(full, key):
    """What passes `verify` is what was written, whichever way it is asked for."""
    content, generator, noticed = full.read_bytes(), random.Random(11), 0

    def state(path):
        with Vault.open(path, key_file=key) as vault:
            vault.verify()
            with_names = [
                vault.settings.all(kind) for kind in ("model", "schema", "partner", "purpose", "keys", "table")
            ]
            found = vault.find({"ssn": "1"})
            return with_names, found.tables, found.models, found.locators, vault.register.export(), vault.mark()

    truth = state(full)
    for page in range(0, len(content), 8192):
        used = [place for place in range(page, page + 8192) if content[place]]
        for place in generator.sample(used, 10):
            try:
                assert state(flipped(full, place, generator.randrange(8))) == truth, place
            except (VaultError, VersionError):
                noticed += 1
    assert noticed > 50


def test_the_suppression_list_is_compared_without_reading_the_names_of_all_stores(vault, people, monkeypatch):
    people.table(vault, "visits", ssn=["1", "2"])
    person, read, said = vault.find({"ssn": "1"}), vault.database.read, []
    monkeypatch.setattr(vault.database, "read", lambda sql, *rest: (said.append(sql), read(sql, *rest))[1])
    vault.erase(person, reason="asked")
    people.table(vault, "more", ssn=["2"])
    assert said and not [sql for sql in said if "distinct" in sql]
    vault.verify()
    assert [sql for sql in said if "distinct" in sql]
