"""Restores: whatever happened after the backup is not undone, and a restore that cannot know is refused."""

import os
import secrets
import shutil
import subprocess
import sys

import polars as pl
import pytest

from discreet.errors import VersionError
from discreet.pseudonyms.errors import Tampered, VaultError
from discreet.pseudonyms.keys import KeyFile
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")
TABLES = {
    "header": "document",
    "settings": "kind, name, document, mac",
    "entries": "number, entry, mac",
    "sealed": "store, first, last, body",
}


@pytest.fixture
def restore(key, tmp_path):
    """Brings the backup back from a source, and opens it."""

    def restored(source, copy="backup.vault"):
        place = tmp_path / f"{secrets.token_hex(4)}.vault"
        done = Vault.restore(place, tmp_path / copy, erasures_from=source, key_file=key)
        return Vault.open(place, key_file=key), done

    return restored


def last(vault):
    return list(vault.register.entries())[-1]


# what proves what


def test_an_older_anchor_is_no_proof_that_nothing_happened(make, file, tmp_path, people, restore):
    with make(file) as vault:
        early = vault.anchor()
        people.table(vault, "visits", ssn=["1"])
        anchor = vault.backup(tmp_path / "backup.vault")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
    with pytest.raises(VaultError, match="says nothing of what came after"):
        restore(early)
    vault, done = restore(anchor)
    with vault:
        assert last(vault).details["told by"] == "the holder's word that nothing happened since"
        assert done.replayed == 0 and done.lost == 0


def test_a_file_of_erasures_of_another_line_is_refused(make, file, tmp_path, people, restore):
    """Longer than the backup, and of the same vault; yet made before another backup was restored."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"])
        vault.backup(tmp_path / "backup.vault")
        for number in range(9):
            vault.add_purpose(f"p{number}")
        vault.erasures(tmp_path / "erasures")
    vault, _ = restore(tmp_path / "erasures")
    with vault:
        vault.backup(tmp_path / "second.vault")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        with pytest.raises(VaultError, match="does not continue the backup"):
            restore(tmp_path / "erasures", "second.vault")
        vault.erasures(tmp_path / "newer")
    vault, done = restore(tmp_path / "newer", "second.vault")
    with vault:
        assert done.replayed and not vault.find({"ssn": "1"}).known and vault.find({"ssn": "2"}).known


def test_a_source_with_an_older_suppression_list_is_refused(make, file, tmp_path, people, restore):
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
        old = vault.database.read("select body, store, first from sealed where store = 'suppressed'")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        with vault.database.transaction():
            vault.database.write_many("update sealed set body = ? where store = ? and first = ?", old)
    with pytest.raises(Tampered, match="suppression list"):
        restore(file)


# what is taken over


@pytest.fixture
def busy(make, file, tmp_path, people):
    """A backup, and after it: a rotation, a table, a share, a model, a retirement, a revocation."""
    frame = people.frame(ssn=["1", "2"])
    with make(file) as vault:
        vault.pseudonymise(frame, ["ssn"], "research", name="before")
        vault.pseudonymise(frame, ["ssn"], "research", name="gone")
        vault.backup(tmp_path / "backup.vault")
        vault.rotate("research")
        keys = vault.token_keys("research")
        later = vault.pseudonymise(frame, ["ssn"], "research", name="later")
        with pytest.warns(UserWarning, match="single people out"):
            vault.share(frame, ["ssn"], "university", "research", name="study")
        vault.used("later", model="forest")
        vault.retire("gone")
        vault.revoke("university")
        vault.erasures(tmp_path / "erasures")
    return later, keys


@pytest.mark.parametrize("source", ["people.vault", "erasures"])
def test_keys_and_revocations_are_not_undone(busy, tmp_path, source, restore):
    later, keys = busy
    vault, done = restore(tmp_path / source)
    with vault:
        assert done.tables == 2
        with pytest.raises(VaultError, match="was revoked"):
            vault.version("research", "university")
        assert vault.token_keys("research").key_id == keys.key_id
        moved = vault.reseal(later, "research", name="moved")
        assert moved["pseudonym"].to_list() == later["pseudonym"].to_list(), "the tokens of the lost rotation open"
        vault.rotate("research")
        assert vault.token_keys("research").cipher != keys.cipher
        assert [run.table for run in vault.tables()][:3] == ["before", "later", "study"], "and not the retired one"
        assert {entry.table for entry in vault.overdue("2999-01-01")} >= {"before", "later", "study"}
        again = [entry for entry in vault.register.entries() if entry.act == "known again"]
        assert [(one.table, one.recipients, one.rows) for one in again] == [
            ("later", (), 2),
            ("study", ("university",), 2),
        ]
        assert again[0].retention and again[0].basis == "Article 9(2)(j)"
        vault.verify()


def test_tables_are_found_again(busy, file, tmp_path, restore):
    later, _ = busy
    vault, _ = restore(file)
    with vault:
        person = vault.find({"ssn": "1"})
        assert set(person.tables) == {"before", "later", "study"} and person.models == ("forest",)
        assert later["pseudonym"][0] in {one.pseudonym for one in person.locators} and person.recipients == (
            "university",
        )
        assert not person.unlocated
    vault, _ = restore(tmp_path / "erasures")
    with vault:
        person = vault.find({"ssn": "1"})
        assert person.tables == ("before",) and set(person.unlocated) == {"later", "study"}, "the file has no arrays"


def test_as_much_as_possible_of_a_damaged_source(busy, file, restore):
    with Vault.open(file, key_file=file.parent / "key") as vault:
        (uid,) = (run.uid for run in vault.tables() if run.table == "later")
        with vault.database.transaction():
            vault.database.write("update sealed set body = ? where store = ?", (b"x" * 40, f"use:{uid}"))
    vault, _ = restore(file)
    with vault:
        person = vault.find({"ssn": "1"})
        assert set(person.tables) == {"before", "study"} and person.unlocated == ("later",)
        vault.verify()


def test_a_key_never_comes_up_twice(make, file, tmp_path, restore):
    """Even where a restore knew nothing of a rotation: the same number gives other keys."""
    with make(file) as vault:
        anchor = vault.backup(tmp_path / "backup.vault")
        lost = vault.keyring.keys(vault.rotate("research"))
    vault, _ = restore(anchor)
    with vault:
        again = vault.keyring.keys(vault.rotate("research"))
    assert {lost.cipher, lost.check}.isdisjoint({again.cipher, again.check})


@pytest.mark.parametrize("source", ["people.vault", "erasures"])
def test_an_old_secret_that_opens_again_is_told(make, file, key, tmp_path, restore, source):
    with make(file) as vault:
        vault.backup(tmp_path / "backup.vault")
        vault.erasures(tmp_path / "before")
        vault.rewrap(key_file=KeyFile.create(tmp_path / "another key"))
        vault.erasures(tmp_path / "erasures")
    for told, truth in ((tmp_path / "before", False), (tmp_path / source, True)):
        vault, done = restore(told)
        vault.close()
        assert done.old_secret is truth


# a vault that others brought back


def rows(vault):
    return {
        table: vault.database.read(f"select {columns} from {table} order by {columns}")
        for table, columns in TABLES.items()
    }


def put_back(vault, state):
    """What a server's own tools do."""
    with vault.database.transaction():
        for table, columns in TABLES.items():
            vault.database.write(f"delete from {table}")
            places = ", ".join("?" for _ in columns.split(", "))
            vault.database.write_many(f"insert into {table} ({columns}) values ({places})", state[table])


def test_an_open_vault_is_brought_up_to_date(vault, people, tmp_path):
    people.table(vault, "visits", ssn=["1", "2"])
    state = rows(vault)
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    vault.revoke("university")
    vault.erasures(tmp_path / "erasures")
    put_back(vault, state)
    assert vault.find({"ssn": "1"}).known
    done = vault.replay(tmp_path / "erasures", who="Bea")
    assert done.replayed and not vault.find({"ssn": "1"}).known and vault.find({"ssn": "2"}).known
    assert last(vault).who == "Bea" and last(vault).details["told by"] == "a file of erasures"
    with pytest.raises(VaultError, match="was revoked"):
        vault.version("research", "university")
    with pytest.raises(VaultError, match=r"does not continue|older than"):
        vault.replay(tmp_path / "erasures")
    vault.verify()


def test_a_later_state_on_a_server(make, place, key, people, tmp_path):
    """Also told by an address; both are states of one vault."""
    if not place.startswith("postgresql"):
        pytest.skip("of a server")
    with make(place) as vault:
        people.table(vault, "visits", ssn=["1"])
        state = rows(vault)
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        other = place.replace("schema=", "schema=old_")
        with make(other, links="stored") as old:
            put_back(old, state)
        with Vault.open(other, key_file=key) as old:
            assert old.find({"ssn": "1"}).known
            old.replay(place)
            assert not old.find({"ssn": "1"}).known
            with old.database.transaction():
                old.database.write(f"drop schema {old.database.schema} cascade")


def test_what_a_restore_left_in_the_log_is_told(make, file, tmp_path, restore, monkeypatch):
    from discreet.pseudonyms.sqlite import Sqlite

    with make(file) as vault:
        anchor = vault.backup(tmp_path / "backup.vault")
    assert restore(anchor)[1].cleaned
    monkeypatch.setattr(Sqlite, "tidy", lambda self, wait=5.0: False)
    assert not restore(anchor)[1].cleaned


# backups and drafts


def test_a_backup_that_fails_is_not_registered(make, file, tmp_path):
    with make(file) as vault:
        before = vault.anchor()
        with pytest.raises(VaultError, match="no folder"):
            vault.backup(tmp_path / "nowhere" / "b.vault")
        with pytest.raises(VaultError, match="already a file"):
            vault.backup(file)
        assert vault.anchor() == before
        copied = vault.backup(tmp_path / "b.vault")
        assert copied == before and last(vault).act == "backup" and last(vault).details == {"up to": str(before)}


KILLED = """
import os, sys
from discreet.pseudonyms import restoring
from discreet.pseudonyms.vault import Vault
restoring.replay = lambda *given, **named: os._exit(9)
Vault.restore(sys.argv[1], sys.argv[2], erasures_from=sys.argv[3], key_file=sys.argv[4])
"""


def test_a_restore_that_is_killed_leaves_no_copy_for_long(make, file, key, tmp_path):
    with make(file) as vault:
        anchor = vault.backup(tmp_path / "backup.vault")
    command = [sys.executable, "-c", KILLED, tmp_path / "new.vault", tmp_path / "backup.vault", str(anchor), key.path]
    assert subprocess.run(command, timeout=120).returncode == 9
    assert [name for name in os.listdir(tmp_path) if name.endswith(".new")]
    shutil.copy(file, tmp_path / ".other.vault.0123abcd.new")
    shutil.copy(file, tmp_path / ".new.vault.not-a-draft.new")
    Vault.restore(tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=anchor, key_file=key)
    left = {name for name in os.listdir(tmp_path) if ".new" in name and name != "new.vault"}
    assert left == {".other.vault.0123abcd.new", ".new.vault.not-a-draft.new"}, "others are not touched"


def test_opening_removes_left_drafts_and_no_others(make, file, key, tmp_path):
    from discreet.pseudonyms.drafts import draft, sweep

    final = str(tmp_path / "x.vault")
    with draft(final) as living:
        shutil.copy(make(tmp_path / "a.vault").database.path, living)
        sweep(final)
        assert os.path.exists(living), "its maker is still there"
    make(file).close()
    shutil.copy(file, tmp_path / f".{file.name}.0123abcd.new")
    (tmp_path / f".{file.name}.0123abcd.new-wal").write_bytes(b"old")
    Vault.open(file, key_file=key).close()
    assert not any(".new" in name for name in os.listdir(tmp_path))


def test_an_unnamed_frame_is_of_no_other_table(make, file):
    with make(file) as vault:
        for _ in range(2):
            vault.pseudonymise(pl.DataFrame({"ssn": ["1"]}), ["ssn"], "research")
        names = [run.table for run in vault.tables()]
        assert names == [f"table {run.entry}" for run in vault.tables()] and len(set(names)) == 2


# how late a source is


def test_a_backup_tells_nothing_of_what_came_after_it(make, file, key, tmp_path, people, restore):
    """Not by itself, and not by a copy of it."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
    shutil.copy(tmp_path / "backup.vault", tmp_path / "another.vault")
    for source in ("backup.vault", "another.vault"):
        with pytest.raises(VaultError, match="ends where the backup ends"):
            restore(tmp_path / source)


def test_a_backup_is_restored_and_not_opened(make, file, key, tmp_path, people, restore):
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1"])
        anchor = vault.backup(tmp_path / "backup.vault")
    before = (tmp_path / "backup.vault").read_bytes()
    with pytest.raises(VaultError, match=r"This is a backup.*Vault.restore"):
        Vault.open(tmp_path / "backup.vault", key_file=key)
    assert (tmp_path / "backup.vault").read_bytes() == before
    vault, _ = restore(anchor)
    with vault:
        assert vault.find({"ssn": "1"}).known
        vault.verify(anchor)


@pytest.mark.parametrize("kind", ["state", "file"])
def test_a_source_has_to_reach_the_newest_anchor(make, file, key, tmp_path, people, kind):
    """A state between the backup and now does not know of the last erasure."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
        vault.add_purpose("another")
        vault.backup(tmp_path / "between") if kind == "state" else vault.erasures(tmp_path / "between")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        newest = vault.anchor()
        vault.erasures(tmp_path / "now")
    where = tmp_path / "new.vault", tmp_path / "backup.vault"
    with pytest.raises(VaultError, match="does not reach the newest anchor"):
        Vault.restore(*where, erasures_from=tmp_path / "between", anchor=newest, key_file=key)
    wrong = f"{newest.count}-{'0' * 64}"
    for source in (file, tmp_path / "now"):
        with pytest.raises(VaultError):
            Vault.restore(*where, erasures_from=source, anchor=wrong, key_file=key)
    source = file if kind == "state" else tmp_path / "now"
    assert Vault.restore(*where, erasures_from=source, anchor=str(newest), key_file=key).replayed
    with Vault.open(where[0], key_file=key) as vault:
        assert not vault.find({"ssn": "1"}).known


def test_the_newest_anchor_is_not_the_copys(make, file, key, tmp_path, restore):
    """The vault's own is one entry ahead: that a backup was made is an entry too."""
    with make(file) as vault:
        own = vault.backup(tmp_path / "backup.vault")
        newest = vault.anchor()
    assert newest.count == own.count + 1
    with pytest.raises(VaultError, match=r"something happened since.*Hint: the anchor that vault.backup") as caught:
        restore(newest)
    assert not isinstance(caught.value, Tampered)
    with pytest.raises(VaultError, match="something happened since"):
        Vault.restore(tmp_path / "x.vault", tmp_path / "backup.vault", erasures_from=own, anchor=newest, key_file=key)
    with pytest.raises(Tampered):
        restore(f"{own.count}-{'0' * 64}")


def test_a_backup_that_others_can_read_is_refused(make, file, tmp_path, restore):
    with make(file) as vault:
        anchor = vault.backup(tmp_path / "backup.vault")
    os.chmod(tmp_path / "backup.vault", 0o640)
    with pytest.raises(VaultError, match=r"owner's alone\. Got mode 0640"):
        restore(anchor)
    os.chmod(tmp_path / "backup.vault", 0o600)
    restore(anchor)[0].close()


def test_a_file_of_erasures_of_another_form(make, file, tmp_path, restore):
    with make(file) as vault:
        vault.backup(tmp_path / "backup.vault")
        vault.erasures(tmp_path / "erasures")
    content = (tmp_path / "erasures").read_bytes()
    assert content.startswith(b"discreet erasures 3\n")
    (tmp_path / "erasures").write_bytes(content.replace(b"erasures 3", b"erasures 4", 1))
    with pytest.raises(VersionError, match="another version"):
        restore(tmp_path / "erasures")
    (tmp_path / "erasures").write_bytes(content.replace(b"erasures 3", b"erasures 2", 1))
    with pytest.raises(VaultError, match="was changed"):
        restore(tmp_path / "erasures")


@pytest.mark.parametrize("source", ["people.vault", "erasures"])
def test_corrections_that_are_lost_are_counted(make, file, tmp_path, people, restore, source):
    born = ["1980-01-01"] * 2
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"], name=["A", "A"], born=born)
        people.table(vault, "more", ssn=["3", "4"], name=["B", "B"], born=born)
        vault.correct(vault.find({"ssn": "4"}), {"name": "B", "born": "1980-01-01"})
        vault.backup(tmp_path / "backup.vault")
        vault.correct(vault.find({"ssn": "2"}), {"name": "A", "born": "1980-01-01"})
        assert vault.find({"name": "A", "born": "1980-01-01"}).known
        vault.erasures(tmp_path / "erasures")
    vault, done = restore(tmp_path / source)
    with vault:
        assert done.corrections == 1 and last(vault).details["corrections lost"] == 1
        with pytest.raises(VaultError, match="Several people"):
            vault.find({"name": "A", "born": "1980-01-01"})


@pytest.mark.parametrize("source", ["people.vault", "erasures"])
def test_people_who_were_pruned_and_are_back_are_counted(make, file, tmp_path, people, restore, source):
    with make(file) as vault:
        people.resolve(vault, ssn=["7"])
        assert vault.prune().people == 1  # before the backup
        people.table(vault, "visits", ssn=["1", "2"])
        vault.backup(tmp_path / "backup.vault")
        vault.retire("visits")
        assert vault.prune().people == 2
        vault.erasures(tmp_path / "erasures")
    vault, done = restore(tmp_path / source)
    with vault:
        assert done.pruned == 2 and last(vault).details["people pruned"] == 2
        assert vault.find({"ssn": "1"}).known and vault.prune().people == 2
        assert not vault.find({"ssn": "1"}).known


def test_without_an_anchor_an_older_source_is_taken(make, file, tmp_path, people, restore, key):
    """As the documentation says; the anchor is what tells."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"])
        vault.backup(tmp_path / "backup.vault")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        vault.backup(tmp_path / "second.vault")
        vault.erase(vault.find({"ssn": "2"}), reason="asked")
        newest = vault.anchor()
    vault, _ = restore(tmp_path / "second.vault")
    with vault:
        assert not vault.find({"ssn": "1"}).known and vault.find({"ssn": "2"}).known
    where = {"erasures_from": tmp_path / "second.vault", "anchor": newest, "key_file": key}
    with pytest.raises(VaultError, match="does not reach the newest anchor"):
        Vault.restore(tmp_path / "new.vault", tmp_path / "backup.vault", **where)
