"""How a vault stores: whole or not at all, sealed, and noticing every change."""

import json
import multiprocessing
import os
import pickle
import random
import shutil
import sqlite3
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import VersionError
from discreet.pseudonyms import chunks
from discreet.pseudonyms.errors import Tampered, UnknownName, VaultError, WrongKey
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS1")
SECRET = "correct horse battery staple"


def random_bytes(generator, n, width=16):
    return generator.integers(0, 256, (n, width), dtype=np.uint8)


def same(left, right):
    return np.array_equal(left, right)


# chunks


@pytest.mark.parametrize("body", [96, 4096])
def test_a_store_does_what_a_dictionary_does(vault, monkeypatch, body):
    """Random puts, lookups and removals; keys that share their leading eight bytes too."""
    monkeypatch.setattr(chunks, "BODY", body)
    store = chunks.Chunks(vault.database, "model", bytes(32), 16, 8)
    generator, truth = np.random.default_rng(1), {}
    with vault.database.transaction():
        store.create()
    for step in range(25):
        keys = random_bytes(generator, int(generator.integers(1, 60)))
        if step % 3 == 0:
            keys[:, :8] = keys[0, :8]
        if step % 5 == 0:
            keys[0], keys[-1] = 0, 255
        keys = np.unique(keys[[key.tobytes() not in truth for key in keys]], axis=0)
        generator.shuffle(keys)
        values = random_bytes(generator, len(keys), 8)
        gone = random.Random(step).sample(sorted(truth), len(truth) // 4)
        with vault.database.transaction():
            store.put(keys, values)
            removed = store.remove(np.frombuffer(b"".join(gone), np.uint8).reshape(-1, 16))
        assert removed == len(gone)
        truth |= {key.tobytes(): value.tobytes() for key, value in zip(keys, values, strict=True)}
        for key in gone:
            del truth[key]
        asked = np.concatenate([np.frombuffer(b"".join(truth), np.uint8).reshape(-1, 16), random_bytes(generator, 9)])
        found = store.get(asked)
        assert found.known.sum() == len(truth) and not found.known[-9:].any()
        assert [value.tobytes() for value in found.values[:-9]] == list(truth.values())
    scanned = np.concatenate([keys for keys, _ in store.scan()])
    assert [key.tobytes() for key in scanned] == sorted(truth)


def test_a_store_holds_several_values_of_one_key(vault):
    store = chunks.Chunks(vault.database, "model", bytes(32), 16, 8, several=True)
    key = np.zeros((3, 16), np.uint8)
    with vault.database.transaction():
        store.create()
        store.put(key, np.arange(24, dtype=np.uint8).reshape(3, 8))
    assert store.all(key[0]).shape == (3, 8)
    with vault.database.transaction():
        assert store.remove(key[:1]) == 3
    assert store.count() == 0


def test_borders_of_chunks_are_no_part_of_a_key(vault, people):
    """They are in clear, and outlive the records on both sides."""
    numbers = [str(number) for number in range(1500)]
    columns = {"ssn": numbers, "name": [f"n{number}" for number in numbers], "born": ["1980-01-01"] * 1500}
    people.resolve(vault, **columns)
    for store in (vault.people.links, vault.people.aliases):
        heads = {key[:8].tobytes() for keys, _ in store.scan() for key in keys}
        sides = vault.database.read("select first, last from sealed where store = ?", (store.store,))
        assert len(sides) > 10 and not heads & {bytes(side) for row in sides for side in row}


def test_many_records_are_removed_at_once(vault):
    store = chunks.Chunks(vault.database, "model", bytes(32), 16)
    keys = random_bytes(np.random.default_rng(2), 3000)
    with vault.database.transaction():
        store.create()
        store.put(keys)
        assert store.remove(keys[::2]) == 1500
    assert store.get(keys).known.tolist() == [False, True] * 1500


def test_one_person_is_not_made_twice_in_one_call(vault):
    with pytest.raises(VaultError, match="twice"):
        vault.people.ids_of(np.zeros((2, 16), np.uint8))
    assert vault.people.links.count() == 0


def test_a_write_outside_a_transaction_is_refused(vault):
    with pytest.raises(VaultError, match="inside a transaction"):
        vault.settings.put("purpose", "x", {})


def test_a_transaction_that_fails_leaves_nothing(vault, people):
    before = list(vault.register.entries())
    with pytest.raises(KeyError), vault.database.transaction():
        vault.add_purpose("another")
        people.resolve(vault, ssn=["1"])
        raise KeyError
    assert list(vault.register.entries()) == before and vault.purposes == ("research",)
    assert vault.people.links.count() == 0


# opening


def test_a_vault_opens_again(make, place, key, people):
    with make(place) as vault:
        ids = people.resolve(vault, ssn=["1", "2"]).ids
    with Vault.open(place, key_file=key) as vault:
        assert same(people.resolve(vault, ssn=["2", "1"]).ids, ids[::-1])
        assert vault.purposes == ("research",) and vault.partners == ("university",)
        assert str(vault.verify()) == "consistent, completeness unproven"
        assert vault.schema.identities["name and birth"] == ("name", "born")


def test_a_wrong_passphrase_writes_nothing(make, file):
    make(file, key_file=None, passphrase=SECRET).close()
    before = file.read_bytes(), sorted(os.listdir(file.parent))
    with pytest.raises(WrongKey, match="Nothing was written") as caught:
        Vault.open(file, passphrase="another secret altogether")
    assert "another" not in str(caught.value)
    with pytest.raises(WrongKey):
        Vault.open(file, key_file=file.parent / "key")
    assert (file.read_bytes(), sorted(os.listdir(file.parent))) == before
    with Vault.open(file, passphrase=SECRET) as vault:
        assert vault.verify().entries == 3


def test_another_secret(make, place, key, file):
    with make(place) as vault:
        wrapped = json.loads(vault.database.read("select document from header")[0][0])["wrapped"]
        vault.rewrap(passphrase=SECRET)
    if file.exists():
        content = file.read_bytes()
        assert wrapped["sealed"].encode() not in content and wrapped["salt"].encode() not in content
    with pytest.raises(WrongKey, match="opens with a passphrase"):
        Vault.open(place, key_file=key)
    with Vault.open(place, passphrase=SECRET) as vault:
        assert [entry.act for entry in vault.register.entries()][-1] == "rewrap"
        vault.verify()


def test_a_vault_is_never_written_over(make, place):
    make(place).close()
    with pytest.raises(VaultError, match="There is already"):
        make(place)


@pytest.mark.parametrize("content", [b"", b"hello", bytes(4096), b"SQLite format 3\0" + bytes(4000)])
def test_files_that_are_no_vaults(file, key, content):
    file.write_bytes(content)
    with pytest.raises(VaultError, match="no vault"):
        Vault.open(file, key_file=key)
    assert file.read_bytes() == content


def test_places_without_a_vault(make, place, key, tmp_path):
    with pytest.raises(VaultError, match="There is no vault"):
        Vault.open(place, key_file=key)
    with pytest.raises(VaultError, match="no folder"):
        make(tmp_path / "nowhere" / "v.vault")
    (tmp_path / "new.vault-wal").write_bytes(b"left over")
    with pytest.raises(VaultError, match="log of another file"):
        make(tmp_path / "new.vault")
    assert not any(name.endswith(".new") for name in os.listdir(tmp_path))


def test_another_database_is_no_vault(file, key):
    sqlite3.connect(file).execute("create table t (a)").connection.close()
    with pytest.raises(VaultError, match="no vault"):
        Vault.open(file, key_file=key)


def test_a_vault_of_a_newer_version(make, place, key, file):
    with make(place) as vault:
        document = vault.database.read("select document from header")[0][0]
        with vault.database.transaction():
            vault.database.write("update header set document = ?", (document.replace('"version":2', '"version":3'),))
    with pytest.raises(VersionError, match="Got 3"):
        Vault.open(place, key_file=key)
    if place == str(file):
        with sqlite3.connect(file) as connection:
            connection.execute("pragma user_version = 7")
        connection.close()
        before = file.read_bytes()
        with pytest.raises(VersionError, match="Got 7"):
            Vault.open(file, key_file=key)
        assert file.read_bytes() == before


def test_files_are_their_owners_alone(make, file, tmp_path):
    mask = os.umask(0)
    try:
        with make(file) as vault:
            vault.backup(tmp_path / "copy.vault")
            vault.erasures(tmp_path / "erasures")
            names = [name for name in os.listdir(tmp_path) if name != "key"]
            modes = {name: stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in names}
    finally:
        os.umask(mask)
    assert set(modes) == {"people.vault", "people.vault-wal", "people.vault-shm", "copy.vault", "erasures"}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("mode", [0o666, 0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_or_write_is_refused(make, file, key, mode):
    make(file).close()
    os.chmod(file, mode)
    with pytest.raises(VaultError, match=f"owner's alone. Got mode {mode:04o}. Hint: chmod 600"):
        Vault.open(file, key_file=key)
    os.chmod(file, 0o600)
    Vault.open(file, key_file=key).close()


@pytest.mark.parametrize(
    "address",
    [
        "mysql://me:hunter2secret@h/db",
        "POSTGRES:/me:hunter2secret@h/db",
        "postgresql+psycopg2:/me:hunter2secret@h/db",
        Path("postgresql://me:hunter2secret@h/db"),
        "oracle+x://me:hunter2secret@h/db",
    ],
)
def test_an_address_is_never_taken_for_a_path(make, key, tmp_path, address):
    for act in (
        lambda: Vault.open(address, key_file=key),
        lambda: make(address),
        lambda: Vault.restore(address, "x", erasures_from="y", key_file=key),
    ):
        with pytest.raises(ValueError, match="address of a vault") as caught:
            act()
        assert "hunter2secret" not in str(caught.value)


@pytest.mark.parametrize("options", [{"passphrase": SECRET}, {"key_file": None}, {"links": "weak"}, {"identities": {}}])
def test_wrong_ways_to_make_a_vault(make, file, options):
    with pytest.raises(ValueError):
        make(file, **options)
    assert not file.exists()


# names


ODD = ["'; drop table settings; --", '"', "é\U0001f98a", "%s ? :x", "Robert'); --", "x" * 200, "../x", "ß" * 50]


@pytest.mark.parametrize("name", ODD)
def test_names_are_values_and_never_sql(vault, people, name):
    vault.add_purpose(name)
    vault.add_partner(name, contact=name)
    version = vault.version(name, name)
    vault.record("share", table=name, version=version, mark=0, ids=people.resolve(vault, ssn=["1"]).ids, basis=name)
    vault.used(name, model=name)
    person = vault.find({"ssn": "1"})
    assert (person.tables, person.purposes, person.recipients, person.models) == ((name,),) * 4
    assert name in vault.purposes and name in vault.partners
    vault.verify()


@pytest.mark.parametrize("name", ["", " x", "x" * 201, "a\nb", "a\0b", "\ud800", "a\u202eb", 3, None])
def test_names_that_are_refused(vault, name):
    for act in (vault.add_purpose, vault.add_partner):
        with pytest.raises(ValueError, match="printable text"):
            act(name)


def test_unknown_names_list_the_known_ones(vault):
    with pytest.raises(UnknownName, match=r"no purpose 'x'. Known: 'research'. Hint"):
        vault.version("x")
    with pytest.raises(UnknownName, match=r"no partner 'x'. Known: 'university'"):
        vault.version("research", "x")
    with pytest.raises(UnknownName, match=r"no table 'x'. Known: none"):
        vault.used("x", model="m")
    with pytest.raises(VaultError, match="already a purpose 'research'"):
        vault.add_purpose("research")


# keys


@pytest.mark.catalogue("PS3")
def test_keys_rotate_and_old_ones_still_open(vault):
    first = vault.token_keys("research")
    second = vault.rotate("research")
    assert second.number == 2 and vault.token_keys("research").key_id == second.key_id != first.key_id
    assert set(vault.keyring.by_id("research")) == {first.key_id, second.key_id}
    shared = vault.version("research", "university")
    assert shared.number == 1 and vault.keyring.keys(shared).cipher != first.cipher
    assert vault.version("research", "university") == shared


@pytest.mark.catalogue("PS2")
def test_nothing_new_for_a_revoked_partner(vault):
    vault.version("research", "university")
    vault.revoke("university")
    for act in (vault.version, vault.rotate):
        with pytest.raises(VaultError, match="was revoked"):
            act("research", "university")
    assert len(vault.keyring.by_id("research", "university")) == 1
    vault.revoke("university")
    assert [entry.act for entry in vault.register.entries()].count("revoke") == 1


def test_changed_fields_keep_the_people_of_unchanged_identities(vault, people):
    before = people.resolve(vault, ssn=["1"], name=["Ann"], born=["1980-01-01"]).ids
    vault.change_fields({"ssn": "digits:9", "name": "text", "born": "date"}, {"ssn": ["ssn"], "nb": ["name", "born"]})
    assert vault.schema.number == 2 and len(vault.schemas()) == 2
    person = vault.find({"name": "ann", "born": "1980-01-01"})
    assert person.known, "found by the identity as it was declared before"
    assert not same(people.resolve(vault, ssn=["2"]).ids, before)
    vault.verify()


# secrets


def test_a_vault_shows_and_pickles_nothing(make, place, people):
    with make(place) as vault:
        people.resolve(vault, ssn=["123456789"])
        person = vault.find({"ssn": "123456789"})
        master = vault._master._content()
        parts = (vault, vault.database, vault.people, vault.uses, vault.register, vault.settings, vault.keyring, person)
        for part in (*parts, vault.suppression, vault.people.links, person._names):
            for text in (repr(part), str(part)):
                assert master.hex() not in text and "123456789" not in text and str(master) not in text
        for part in (vault, person):
            with pytest.raises(TypeError, match="cannot be pickled"):
                pickle.dumps(part)
    assert not [name for name in dir(Vault) if not name.startswith("_") and name.endswith("_key")]
    with pytest.raises(VaultError, match="closed"):
        vault.verify()
    with pytest.raises(VaultError, match="closed"):
        vault.tags([b"x"])


@pytest.mark.catalogue("PS3")
def test_no_identifier_is_in_any_file(make, file, people):
    canaries = ["ZEBRAFINCHETTI", "987650123456789", "1931-07-19"]
    with make(file) as vault:
        columns = {"name": canaries[:1], "ssn": canaries[1:2], "born": canaries[2:]}
        people.table(vault, "visits", **columns)
        tags = vault.tags([b"x"]).tobytes()
        links = [values.tobytes() for _, values in vault.people.links.scan() if len(values)]
        vault.find(dict(zip(columns, canaries, strict=True)))
        paths = [path for path in file.parent.iterdir() if path.name != "key"]
        content = b"".join(path.read_bytes() for path in paths).lower()
    for canary in canaries:
        for form in (canary, canary.replace("-", ""), canary.lower()):
            assert form.encode() not in content and form.encode("utf-16-le") not in content
    assert links and links[0][:16] not in content and tags not in content


# damage


def copies(file, folder):
    target = folder / "flipped.vault"
    shutil.copy(file, target)
    return target


def cells(connection):
    """Every stored field: (table, column, rowid, value)."""
    for table in ("header", "settings", "entries", "sealed"):
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        for column in columns:
            for row, value in connection.execute(f"select rowid, {column} from {table}").fetchall():
                yield table, column, row, value


def flipped(value, bit):
    if isinstance(value, int):
        return value ^ (1 << (5 + bit % 8))  # above the numbers in use, which are unique
    content = bytearray(value.encode() if isinstance(value, str) else value)
    content[bit // 8 % len(content)] ^= 1 << (bit % 8)
    return content.decode("utf-8", "replace") if isinstance(value, str) else bytes(content)


@pytest.fixture
def full(make, file, people, tmp_path):
    """A closed vault with something in every table and store."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2", "3"], name=["A", "B", "B"], born=["1980-01-01"] * 3)
        people.table(vault, "study", partner="university", ssn=["1", "2"])
        vault.used("visits", model="forest")
        vault.erase(vault.find({"ssn": "3"}), reason="asked")
    return file


def damaged(path, key):
    try:
        with Vault.open(path, key_file=key) as vault:
            vault.verify()
    except (Tampered, VersionError, WrongKey):
        return True
    return False


def test_one_flipped_bit_in_any_stored_field_is_noticed(full, key, tmp_path):
    with sqlite3.connect(full) as connection:
        every = list(cells(connection))
    connection.close()
    assert {(table, column) for table, column, _, _ in every} >= {("sealed", "body"), ("entries", "mac")}
    generator = random.Random(5)
    for table, column, row, value in every:
        target = copies(full, tmp_path)
        with sqlite3.connect(target) as connection:
            changed = flipped(value, generator.randrange(1 << 16))
            connection.execute(f"update {table} set {column} = ? where rowid = ?", (changed, row))
        connection.close()
        assert damaged(target, key), (table, column)
        target.unlink()


@pytest.mark.parametrize("value", ["text", 5, b"", b"blob", "", 2**40])
def test_a_field_of_another_kind_is_noticed(full, key, tmp_path, value):
    with sqlite3.connect(full) as connection:
        columns = {(table, column): row for table, column, row, _ in cells(connection)}
    connection.close()
    for (table, column), row in columns.items():
        target = copies(full, tmp_path)
        try:
            with sqlite3.connect(target) as connection:
                connection.execute(f"update {table} set {column} = ? where rowid = ?", (value, row))
            changed = True
        except sqlite3.IntegrityError:
            changed = False  # a key that is there, or that SQLite refuses itself
        connection.close()
        assert not changed or damaged(target, key), (table, column)
        target.unlink()


def test_a_missing_row_is_noticed(full, key, tmp_path):
    with sqlite3.connect(full) as connection:
        rows = {(table, row) for table, _, row, _ in cells(connection)}
        last = connection.execute("select max(number) from entries").fetchone()[0]
    connection.close()
    for table, row in sorted(rows):
        target = copies(full, tmp_path)
        with sqlite3.connect(target) as connection:
            connection.execute(f"delete from {table} where rowid = ?", (row,))
        connection.close()
        assert damaged(target, key), (table, row, last)
        target.unlink()


def test_rows_that_were_swapped_are_noticed(full, key, tmp_path):
    """Sealed under other places, though all of them are the vault's own."""
    for table, column, place in (("sealed", "body", "store"), ("settings", "document, mac", "name")):
        target = copies(full, tmp_path)
        with sqlite3.connect(target) as connection:
            one, two = connection.execute(f"select rowid from {table} order by {place} limit 2").fetchall()
            for names in column.split(", "):
                a, b = (
                    connection.execute(f"select {names} from {table} where rowid = ?", r).fetchone() for r in (one, two)
                )
                connection.execute(f"update {table} set {names} = ? where rowid = ?", (*a, *two))
                connection.execute(f"update {table} set {names} = ? where rowid = ?", (*b, *one))
        connection.close()
        assert damaged(target, key), table
        target.unlink()


def test_bits_flipped_anywhere_in_the_file(full, key, tmp_path):
    """Either it is noticed, or it was in a place that holds nothing: what is read is never something else."""
    content, generator, noticed = full.read_bytes(), random.Random(7), 0

    def state(path):
        with Vault.open(path, key_file=key) as vault:
            vault.verify()
            links = b"".join(keys.tobytes() + values.tobytes() for keys, values in vault.people.links.scan())
            return links, vault.register.export(), vault.settings.all("table")

    truth = state(full)
    for _ in range(150):
        place = generator.randrange(len(content))
        target = tmp_path / "flipped.vault"
        target.touch(0o600)
        target.write_bytes(
            content[:place] + bytes([content[place] ^ (1 << generator.randrange(8))]) + content[place + 1 :]
        )
        try:
            assert state(target) == truth
        except (VaultError, VersionError):
            noticed += 1
        for suffix in ("", "-wal", "-shm"):
            target.with_name(target.name + suffix).unlink(missing_ok=True)
    assert noticed > 20


def test_a_disk_that_fills_loses_nothing(make, file, key, people):
    with make(file) as vault:
        ids = people.resolve(vault, ssn=["1"]).ids
        pages = vault.database.read("pragma page_count")[0][0]
        vault.database.read(f"pragma max_page_count = {pages + 4}")
        with pytest.raises(VaultError, match="the disk is full; nothing"):
            people.resolve(vault, ssn=[str(number) for number in range(20_000)])
    with Vault.open(file, key_file=key) as vault:
        vault.verify()
        assert vault.people.links.count() == 1 and same(people.resolve(vault, ssn=["1"]).ids, ids)


# processes and threads


def _in_a_fork(vault, answers):
    try:
        vault.mark()
        answers.put("read")
    except VaultError as error:
        answers.put(str(error))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_copy_refuses_to_work(vault):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_a_fork, args=(vault, answers))
    child.start()
    assert "open it in each process" in answers.get(timeout=30)
    child.join()
    vault.verify()


def test_threads_take_turns(vault, people):
    found, numbers = [], [str(number) for number in range(50)]

    def work():
        found.append(people.resolve(vault, ssn=numbers).ids)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(same(ids, found[0]) for ids in found) and vault.people.links.count() == 50
