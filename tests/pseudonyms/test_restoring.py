"""Restores: whatever happened after the backup is not undone, and a restore that cannot know is refused."""

import os
import secrets
import shutil
import subprocess
import sys

import polars as pl
import pytest

from discreet.errors import VersionError
from discreet.pseudonyms import later
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


@pytest.mark.parametrize(("source", "lost"), [("people.vault", 0), ("erasures", 1)])
def test_corrections_that_are_lost_are_counted(make, file, tmp_path, people, restore, source, lost):
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
        assert done.corrections == lost == last(vault).details["corrections lost"]
        if not lost:
            assert vault.find({"name": "A", "born": "1980-01-01"}).known, "links of the later state"
            return
        with pytest.raises(VaultError, match="Several people"):
            vault.find({"name": "A", "born": "1980-01-01"})


@pytest.mark.parametrize(("source", "back"), [("people.vault", 0), ("erasures", 2)])
def test_people_who_were_pruned_and_are_back_are_counted(make, file, tmp_path, people, restore, source, back):
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
        assert done.pruned == back == last(vault).details["people pruned"]
        assert vault.find({"ssn": "1"}).known is bool(back) and vault.prune().people == back
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


# people first seen after the backup


@pytest.fixture
def brought_back(make, place, key, tmp_path):
    """A vault as it was at one time, told by a later state of it: a restored file, or what a server put back."""

    def brought(before, after):
        if not place.startswith("postgresql"):
            with make(place) as vault:
                before(vault)
                vault.backup(tmp_path / "backup.vault")
                after(vault)
            done = Vault.restore(tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=place, key_file=key)
            return Vault.open(tmp_path / "new.vault", key_file=key), done
        with make(place) as vault:
            before(vault)
            state = rows(vault)
            after(vault)
        other = place.replace("schema=", "schema=old_")
        with make(other) as old:
            put_back(old, state)
        opened = Vault.open(other, key_file=key)
        return opened, opened.replay(place)

    made = []
    yield lambda before, after: made.append(brought(before, after)) or made[-1]
    for vault, _ in made:
        if place.startswith("postgresql"):
            with vault.database.transaction():
                vault.database.write(f"drop schema {vault.database.schema} cascade")
        vault.close()


BORN = "1980-01-01"


def test_people_first_seen_after_the_backup_are_known_again(brought_back, people):
    """Backup, share with a new person, restore, find, erase, reseal."""
    first, both = people.frame(ssn=["1"]), people.frame(ssn=["1", "2"], name=["Ann", "Bo"], born=[BORN, BORN])
    shared = []

    def after(vault):
        with pytest.warns(UserWarning, match="single people out"):
            shared.append(vault.share(both, ["ssn", "name", "born"], "university", "research", name="study"))

    vault, done = brought_back(lambda vault: vault.pseudonymise(first, ["ssn"], "research", name="before"), after)
    assert (done.people, done.unknown, done.tables) == (1, 0, 1) and last(vault).details["people known again"] == 1
    vault.verify()
    person = vault.find({"name": "Bo", "born": BORN})
    assert person.known and person.tables == ("study",) and person.recipients == ("university",)
    assert person.locators[0].pseudonym in shared[0]["pseudonym"].to_list()
    with pytest.warns(UserWarning, match="single people out"):
        again = vault.share(both, ["ssn", "name", "born"], "university", "research", name="again")
    assert set(again["pseudonym"]) == set(shared[0]["pseudonym"]), "nobody gets a second pseudonym"
    gone = vault.erase(vault.find({"ssn": "2"}), reason="asked")
    assert gone.cut and gone.recipients == ("university",)
    assert [one.table for one in gone.locators] == ["study", "again"]
    for moved in (vault.reseal, lambda table, purpose, partner: vault.unshare(table, partner, purpose)):
        with pytest.warns(UserWarning, match="of people who were erased"):
            assert moved(shared[0], "research", partner="university").height == 1
    vault.verify()


def test_who_is_known_by_what_is_that_of_later(brought_back, people):
    """Two that became one, a name that became shared, a correction, and people who were pruned."""
    ages = [BORN] * 2

    def before(vault):
        people.table(vault, "numbers", ssn=["1", "3"])
        people.table(vault, "names", name=["Ann"], born=[BORN])
        people.table(vault, "stale", ssn=["8"])

    def after(vault):
        people.table(vault, "both", ssn=["1"], name=["Ann"], born=[BORN])
        people.table(vault, "wrong", ssn=["3", "4"], name=["Bo", "Bo"], born=ages)
        people.table(vault, "namesakes", ssn=["5", "6"], name=["Cy", "Cy"], born=ages)
        vault.correct(vault.find({"ssn": "4"}), {"name": "Bo", "born": BORN})
        vault.retire("stale")
        assert vault.prune().people == 1

    vault, done = brought_back(before, after)
    assert (done.people, done.corrections, done.pruned) == (3, 0, 0)
    assert set(vault.find({"ssn": "1"}).tables) == {"numbers", "names", "both"}
    assert vault.find({"name": "Bo", "born": BORN}).tables == vault.find({"ssn": "3"}).tables == ("numbers", "wrong")
    with pytest.raises(VaultError, match="Several people"):
        vault.find({"name": "Cy", "born": BORN})
    assert not vault.find({"ssn": "8"}).known
    vault.verify()


def test_people_who_were_erased_since_stay_erased(brought_back, people):
    """Somebody of the backup, and somebody newer."""

    def after(vault):
        people.table(vault, "later", ssn=["1", "2", "3"], name=["Ann", "Bo", "Cy"], born=[BORN] * 3)
        for number in ("1", "2"):
            vault.erase(vault.find({"ssn": number}), reason="asked")

    vault, done = brought_back(lambda vault: people.table(vault, "before", ssn=["1"]), after)
    assert done.replayed == 2 and done.people == 1
    for number, name in (("1", "Ann"), ("2", "Bo")):
        for values in ({"ssn": number}, {"name": name, "born": BORN}):
            person = vault.find(values)
            assert not person.known and person.suppressed and not person.tables
    assert vault.find({"ssn": "3"}).tables == ("later",)
    assert [vault.uses.count(run.uid) for run in vault.tables()] == [0, 1]
    assert people.resolve(vault, ssn=["1", "2"]).suppressed.all()


def changed_links(vault):
    """One byte of the links of people."""
    with vault.database.transaction():
        ((body,),) = vault.database.read("select body from sealed where store = 'people'")
        vault.database.write(
            "update sealed set body = ? where store = 'people'", (bytes([body[0] ^ 1]) + bytes(body[1:]),)
        )
        vault.database.witness = None


def older_links(vault, old):
    """The links as they were, which still open: the sums alone tell."""
    with vault.database.transaction():
        vault.database.write_many("update sealed set body = ? where store = ? and first = ?", old)


@pytest.mark.parametrize("damage", ["changed", "older"])
def test_links_of_a_damaged_state_are_not_taken_over(make, file, tmp_path, people, restore, damage):
    with make(file) as vault:
        people.table(vault, "before", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
        people.table(vault, "known", ssn=["1"])
        old = vault.database.read("select body, store, first from sealed where store = 'people'")
        people.table(vault, "later", ssn=["1", "2", "3"])
        changed_links(vault) if damage == "changed" else older_links(vault, old)
    vault, done = restore(file)
    with vault:
        assert (done.people, done.unknown, done.tables) == (0, 2, 2)
        details = last(vault).details
        assert details["people not known"] == 2 and details["links"] == "of the backup"
        person = vault.find({"ssn": "1"})
        assert person.tables == ("before", "known") and person.unlocated == ("later",)
        gone = vault.erase(vault.find({"ssn": "2"}), reason="asked")
        assert gone.unlocated == ("later",) and "Look into 'later'" in str(gone)
        vault.verify()


def test_links_of_erased_people_are_cut_where_no_sum_tells(make, file, tmp_path, people, restore, monkeypatch):
    """A state of version 1 has no sums: links from before an erasure, put back in it, open like others."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"])
        vault.backup(tmp_path / "backup.vault")
        old = vault.database.read("select body, store, first from sealed where store = 'people'")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        older_links(vault, old)
    monkeypatch.setattr(later, "read_people", lambda vault: vault.people)
    vault, done = restore(file)
    with vault:
        assert not vault.find({"ssn": "1"}).known and vault.find({"ssn": "2"}).known and done.replayed == 1
        vault.verify()


def test_a_file_of_erasures_tells_no_links(make, file, tmp_path, people, restore):
    with make(file) as vault:
        people.table(vault, "before", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
        people.table(vault, "later", ssn=["1", "2"])
        vault.erasures(tmp_path / "erasures")
    vault, done = restore(tmp_path / "erasures")
    with vault:
        assert (done.people, done.unknown, done.unlocated) == (0, 1, 1)
        assert last(vault).details["people not known"] == last(vault).details["tables not located"] == 1
        assert not vault.find({"ssn": "2"}).known and vault.find({"ssn": "2"}).unlocated == ("later",)


def test_an_older_file_of_erasures_does_not_tell_how_many_people_there_were(
    make, file, tmp_path, people, restore, monkeypatch
):
    with make(file) as vault:
        vault.backup(tmp_path / "backup.vault")
        people.table(vault, "later", ssn=["1"])
        monkeypatch.setattr(later, "count_people", lambda people: None)
        vault.erasures(tmp_path / "erasures")
    vault, done = restore(tmp_path / "erasures")
    with vault:
        assert done.unknown is None and done.unlocated == 1
        assert last(vault).details["people not known"] == "not told"


@pytest.mark.parametrize(("links", "unknown"), [("stored", 2), ("derived", 0)])
def test_people_who_are_not_known_are_counted_by_a_file_of_erasures(
    make, file, tmp_path, people, restore, links, unknown
):
    only = {"fields": {"ssn": "digits"}, "identities": {"ssn": ["ssn"]}, "links": links}
    with make(file, **only) as vault:
        people.table(vault, "before", ssn=["1", "2"])
        vault.backup(tmp_path / "backup.vault")
        people.table(vault, "later", ssn=["1", "3", "4", "5"])
        for number in ("2", "5"):  # whoever is erased is not among those who are missing
            vault.erase({"ssn": number}, reason="asked")
        vault.erasures(tmp_path / "erasures")
    vault, done = restore(tmp_path / "erasures")
    with vault:
        assert (done.replayed, done.unknown, done.unlocated) == (2, unknown, 1)


def test_people_who_were_erased_are_counted_and_not_their_tags(make, file, tmp_path, people, restore):
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"], name=["Ann", "Bo"], born=[BORN] * 2)
        vault.backup(tmp_path / "backup.vault")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        vault.erasures(tmp_path / "erasures")
    for source in (file, tmp_path / "erasures"):
        vault, done = restore(source)
        with vault:
            assert done.replayed == 1 and last(vault).rows == 1 and len(vault.suppression.lines()) == 3
    again, _ = restore(file)
    with again:
        place = again.database.path
    assert restore(place)[1].replayed == 1, "told by a vault that was restored itself"
