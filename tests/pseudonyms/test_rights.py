"""Access, erasure, refusal; backups that bring nobody back."""

import datetime
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from discreet.pseudonyms import entries, purging, rights, suppression
from discreet.pseudonyms.entries import today
from discreet.pseudonyms.errors import MissingIdentifiers, Tampered, UnknownName, Unparsable, VaultError, WrongKey
from discreet.pseudonyms.persons import Ground
from discreet.pseudonyms.purging import Purged
from discreet.pseudonyms.tokens import opened
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")
BORN = "1980-01-01"


def links_of(vault):
    return {key.tobytes() for keys, _ in vault.people.links.scan() for key in keys}


# access


def test_find_tells_tables_purposes_and_recipients(vault, people):
    import polars as pl

    found = people.table(vault, "visits", ssn=["1", "2"])
    people.table(vault, "visits", ssn=["1", "3"])
    people.table(vault, "study", partner="university", ssn=["1"])
    people.table(vault, "others", ssn=["2"])
    vault.used("study", model="forest")
    person = vault.find({"ssn": 1})
    assert person.known and person.suppressed is None and person.tables == ("visits", "study")
    assert (person.purposes, person.recipients, person.models) == (("research",), ("university",), ("forest",))
    own, shared = person.locators
    assert own.recipients == () and shared.recipients == ("university",)
    back = opened(pl.Series([own.pseudonym]), vault.keyring.by_id("research"))
    assert back.ok.all() and np.array_equal(back.ids[0], found.ids[0])
    assert own.pseudonym != shared.pseudonym and "Person in 2 tables" in repr(person)
    assert not vault.find({"ssn": 9}).known


def test_pseudonyms_of_older_keys_are_found(vault, people):
    people.table(vault, "visits", ssn=["1"])
    vault.rotate("research")
    people.table(vault, "later", ssn=["1"])
    old, new = vault.find({"ssn": "1"}).locators
    assert old.pseudonym != new.pseudonym and old.pseudonym[1:7] != new.pseudonym[1:7]


def test_tables_without_locators_are_named(vault):
    vault.record("pseudonymise", table="spark", version=vault.version("research"), mark=0)
    assert vault.find({"ssn": "1"}).unlocated == ("spark",)
    vault.verify()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({}, MissingIdentifiers),
        ({"name": "Ann"}, MissingIdentifiers),
        ({"ssn": ""}, MissingIdentifiers),
        ({"ssn": None}, MissingIdentifiers),
        ({"ssn": "12x"}, Unparsable),
        ({"ssn": object()}, Unparsable),
        ({"mail": "a@b"}, UnknownName),
    ],
)
def test_wrong_questions(vault, values, error):
    with pytest.raises(error) as caught:
        vault.find(values)
    assert "12x" not in str(caught.value) and "Ann" not in str(caught.value)


def test_export_is_json_and_is_registered(vault, people):
    people.table(vault, "study", partner="university", ssn=["1"])
    document = json.loads(vault.export(vault.find({"ssn": "1"})))
    assert document["known"] and document["tables"][0]["table"] == "study"
    assert document["recipients"] == [{"name": "university", "contact": "desk@university.example"}]
    assert document["purposes"][0]["basis"] == "Article 9(2)(j)"
    assert list(vault.register.entries())[-1].act == "access"
    unknown = json.loads(vault.export(vault.find({"ssn": "2"})))
    assert not unknown["known"] and unknown["tables"] == []


# erasure


def test_erasure_cuts_the_link_and_keeps_the_person_out(vault, people):
    people.table(vault, "visits", ssn=["1", "2"], name=["Ann", "Bob"], born=[BORN, BORN])
    people.table(vault, "study", partner="university", ssn=["1", "2"])
    vault.used("visits", model="forest")
    done = vault.erase(vault.find({"name": "Ann", "born": BORN}), reason="consent withdrawn")
    assert done.cut and done.recipients == ("university",) and done.models == ("forest",)
    assert done.cleaned != any("server" in line for line in done.remains)  # a server's files are not ours to clean
    assert {one.table for one in done.locators} == {"visits", "study"}
    assert done.suppressed == today() + datetime.timedelta(3 * 365)
    for word in ("'forest'", "Tell 'university'", "still personal data", done.locators[0].pseudonym):
        assert word in str(done)
    person = vault.find({"ssn": "1"})
    assert not person.known and not person.locators and person.suppressed == done.suppressed
    found = people.resolve(vault, ssn=["1", "2", None], name=[None, None, "Ann"], born=[None, None, BORN])
    assert found.suppressed.tolist() == [True, False, True] and found.person.tolist() == [False, True, False]
    assert vault.find({"ssn": "2"}).tables == ("visits", "study")
    assert vault.people.links.count() == 2 and vault.people.aliases.count() == 2
    vault.verify()


def test_somebody_unknown_can_be_kept_out(vault, people):
    done = vault.erase(vault.find({"ssn": "7"}), reason="objection", keep=10)
    assert not done.cut and done.locators == ()
    assert people.resolve(vault, ssn=["7"]).suppressed.all() and vault.people.links.count() == 0


def test_erasing_twice_is_harmless(vault, people):
    people.table(vault, "visits", ssn=["1"])
    person = vault.find({"ssn": "1"})
    vault.erase(person, reason="asked", keep=100)
    again = vault.erase(person, reason="asked", keep=10)
    assert not again.cut and again.locators == ()
    assert vault.find({"ssn": "1"}).suppressed == today() + datetime.timedelta(100), "the later date counts"
    assert vault.suppression.store.count() == 2, "a line for the identity, and one for the id"


def test_tables_made_between_find_and_erase_are_told(vault, people):
    people.table(vault, "visits", ssn=["1"])
    person = vault.find({"ssn": "1"})
    people.table(vault, "later", ssn=["1"])
    assert {one.table for one in vault.erase(person, reason="asked").locators} == {"visits", "later"}


def test_a_table_made_during_an_erasure_is_refused(vault, people):
    mark = vault.mark()
    ids = people.resolve(vault, ssn=["1", "2"]).ids
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    before = vault.anchor()
    with pytest.raises(VaultError, match="erased while the table was being made"):
        vault.record("pseudonymise", table="visits", version=vault.version("research"), mark=mark, ids=ids)
    assert vault.anchor() == before and vault.tables() == ()


def later(monkeypatch, days):
    """Let some days pass."""
    then = today() + datetime.timedelta(days)
    for module in (entries, purging, rights, suppression):
        monkeypatch.setattr(module, "today", lambda: then)


def test_the_suppression_list_has_an_end(vault, people, monkeypatch):
    vault.erase(vault.find({"ssn": "1"}), reason="asked", keep=10)
    vault.erase(vault.find({"ssn": "2"}), reason="asked", keep=20)
    later(monkeypatch, 10)
    assert vault.purge() == Purged(0, True)
    later(monkeypatch, 11)
    assert vault.purge().lines == 1
    assert people.resolve(vault, ssn=["1", "2"]).suppressed.tolist() == [False, True]
    assert list(vault.register.entries())[-1].act == "purge"
    vault.verify()


def test_days_that_make_no_sense(vault, people):
    people.table(vault, "visits", ssn=["1"])
    with pytest.raises(ValueError, match=r"`keep` of an erasure must not be in the past"):
        vault.erase(vault.find({"ssn": "1"}), reason="asked", keep="2000-01-01")
    assert vault.find({"ssn": "1"}).known and vault.mark() == 0
    vault.erase(vault.find({"ssn": "1"}), reason="asked", keep=10)
    with pytest.raises(ValueError, match=r"must not be in the future"):
        vault.purge(today() + datetime.timedelta(11))
    assert people.resolve(vault, ssn=["1"]).suppressed.all()
    with pytest.raises(ValueError, match=r"`day` must be a date"):
        vault.overdue("zzz")


def test_a_line_past_its_date_no_longer_counts(vault, people, monkeypatch):
    from discreet.pseudonyms import suppression

    vault.erase(vault.find({"ssn": "1"}), reason="asked", keep=10)
    monkeypatch.setattr(suppression, "today", lambda: today() + datetime.timedelta(10))
    assert people.resolve(vault, ssn=["1"]).suppressed.all()
    monkeypatch.setattr(suppression, "today", lambda: today() + datetime.timedelta(11))
    assert people.resolve(vault, ssn=["1"]).person.all() and vault.find({"ssn": "1"}).suppressed is None


def test_a_person_of_another_vault(vault, make, tmp_path):
    with make(tmp_path / "other.vault") as other:
        person = other.find({"ssn": "1"})
    for act in (vault.export, lambda one: vault.erase(one, reason="x"), lambda one: vault.refuse(one, ground="a")):
        with pytest.raises(ValueError, match="another vault"):
            act(person)
    assert vault.mark() == 0


def test_derived_links_are_refused_and_not_cut(make, place, people):
    with make(place, links="derived") as vault:
        people.table(vault, "visits", ssn=["1", "2"], name=["Ann", "Bob"], born=[BORN, BORN])
        person = vault.find({"ssn": "1", "name": "Ann", "born": BORN})
        assert person.known and person.tables == ("visits",)
        done = vault.erase(person, reason="asked")
        assert not done.cut and "can still compute" in str(done)
        assert people.resolve(vault, ssn=["1", "2"]).suppressed.tolist() == [True, False]
        assert not vault.find({"ssn": "1"}).known and vault.find({"ssn": "2"}).known
        vault.verify()


def test_refusals_name_their_ground(vault, people):
    people.table(vault, "visits", ssn=["1"])
    person = vault.find({"ssn": "1"})
    for ground in ("d", "research", Ground.RESEARCH):
        entry = vault.refuse(person, ground=ground)
        assert entry.act == "refuse" and entry.basis == Ground.RESEARCH.value
    assert len(Ground) == 5 and vault.find({"ssn": "1"}).known
    for wrong in ("f", "", "17(3)", None):
        with pytest.raises(ValueError, match="'a' to 'e'"):
            vault.refuse(person, ground=wrong)


@pytest.mark.parametrize("reason", ["", "x" * 501, "a\nb", None])
def test_wrong_reasons(vault, reason):
    person = vault.find({"ssn": "1"})
    with pytest.raises(ValueError, match="reason"):
        vault.erase(person, reason=reason)
    assert vault.mark() == 0


# bytes


def history(vault, seen):
    """Remember every sealed chunk as it is now."""
    rows = vault.database.read("select store, first, last, body from sealed")
    seen |= {(store, bytes(first), bytes(last), bytes(body)) for store, first, last, body in rows}


def holding(vault, seen, wanted):
    """The remembered chunks that hold one of some records."""
    stores = {store.store: store for store in (*vault.people.stores(), vault.suppression.store)}
    stores |= {f"use:{run.uid}": vault.uses.store(run.uid) for run in vault.tables()}
    for store, first, last, body in seen:
        records = stores[store]._opened(first, last, body).records.tobytes()
        if any(record in records for record in wanted):
            yield body


def test_an_erased_person_is_in_no_byte_of_any_file(make, file, tmp_path, people):
    """Every sealed form of a link that was ever written is searched for, piece by piece."""
    with make(file) as vault:
        seen = set()
        for batch in range(12):
            numbers = [str(number) for number in range(100 * batch, 100 * batch + 400)]
            people.table(vault, f"visits {batch}", ssn=numbers)
            history(vault, seen)
        person = vault.find({"ssn": "450"})
        known = vault.people.known(person._tags[0])
        uses = [vault.uses.tags(run.uid, known.id[None, :]).tobytes() for run in vault.tables()]
        wanted = [person._tags[0].tobytes(), known.id.tobytes(), *uses]
        old = list(holding(vault, seen, wanted))
        assert len(old) > 10
        assert vault.erase(person, reason="asked").cleaned
        assert os.path.getsize(f"{file}-wal") == 0
        now = set()
        history(vault, now)
        assert not list(holding(vault, now, wanted))
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    pieces = [body[start : start + 32] for body in old for start in range(0, len(body) - 32, 64)]
    assert not any(piece in content for piece in [*pieces, *wanted])


ERASE = """
import os, sys
from discreet.pseudonyms.vault import Vault
vault = Vault.open(sys.argv[1], key_file=sys.argv[2])
vault.database.tidy = lambda: os._exit(9)
vault.erase(vault.find({"ssn": "1"}), reason="asked")
"""


@pytest.mark.slow
def test_an_erasure_cut_off_before_its_end_is_finished_on_opening(make, file, key, tmp_path, people):
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"])
        seen = set()
        history(vault, seen)
        tag = vault.find({"ssn": "1"})._tags[0].tobytes()
        old = list(holding(vault, seen, [tag]))
    killed = subprocess.run([sys.executable, "-c", ERASE, str(file), str(key.path)], timeout=120)
    assert killed.returncode == 9 and old[0] in file.read_bytes() + (tmp_path / "people.vault-wal").read_bytes()
    with Vault.open(file, key_file=key) as vault:
        assert not vault.find({"ssn": "1"}).known and vault.find({"ssn": "2"}).known
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert not any(body[start : start + 32] in content for body in old for start in range(0, len(body) - 32, 16))


def test_whatever_find_takes_is_taken_for_a_person(vault, people):
    people.table(vault, "visits", ssn=["1", "2", "3"], name=["Ann", "Bo", "Bo"], born=[BORN] * 3)
    assert json.loads(vault.export({"ssn": 1}))["tables"][0]["table"] == "visits"
    assert vault.refuse({"ssn": "1"}, ground="b").act == "refuse"
    assert vault.correct({"ssn": "3"}, {"name": "Bo", "born": BORN}).act == "correct"
    with pytest.raises(ValueError, match="must not name the person"):
        vault.erase({"name": "Ann", "born": BORN}, reason="Ann asked")
    done = vault.erase({"name": "ann", "born": BORN}, reason="asked")
    assert done.cut and [one.table for one in done.locators] == ["visits"] and not vault.find({"ssn": "1"}).known


@pytest.mark.parametrize("wrong", ["918273645", None, 918273645, ["918273645"]])
def test_what_is_no_person_is_refused_without_being_shown(vault, wrong):
    for act in (lambda: vault.erase(wrong, reason="asked"), lambda: vault.export(wrong)):
        with pytest.raises(TypeError, match=r"what vault\.find gives, or fields and values") as caught:
            act()
        assert "918273645" not in str(caught.value)


# backups


@pytest.fixture
def backed(make, file, tmp_path, people):
    """A vault, a backup of it, and two erasures since: one of somebody in the backup, one of somebody newer."""
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1", "2"], name=["Ann", "Bob"], born=[BORN, BORN])
        anchor = vault.backup(tmp_path / "backup.vault")
        people.table(vault, "later", ssn=["3", "4"])
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        vault.erase(vault.find({"ssn": "3"}), reason="asked")
        vault.erasures(tmp_path / "erasures")
    return anchor


@pytest.mark.parametrize("source", ["people.vault", "erasures"])
def test_a_restore_erases_again(backed, file, key, tmp_path, people, source):
    done = Vault.restore(
        tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=tmp_path / source, key_file=key
    )
    assert done.replayed == 2 and done.lost == 4
    with Vault.open(tmp_path / "new.vault", key_file=key) as vault:
        for values in ({"ssn": "1"}, {"name": "Ann", "born": BORN}, {"ssn": "3"}):
            person = vault.find(values)
            assert not person.known and person.suppressed and not person.locators
        assert vault.find({"ssn": "2"}).tables == ("visits",)
        assert vault.uses.count(vault.tables()[0].uid) == 1
        vault.verify(backed)
        assert list(vault.register.entries())[-1].act == "restore"
        vault.backup(tmp_path / "second.vault")
        vault.erase(vault.find({"ssn": "2"}), reason="asked")
    again = Vault.restore(
        tmp_path / "third.vault", tmp_path / "second.vault", erasures_from=tmp_path / "new.vault", key_file=key
    )
    assert again.replayed == 1, "the backup of a restored vault knows the erasures replayed before"


def test_somebody_erased_twice_stays_erased(make, file, key, tmp_path, people, monkeypatch):
    """The first line has run out; the backup knows it, and is from before the second erasure."""
    with make(file) as vault:
        people.table(vault, "first", ssn=["1", "2"])
        vault.erase(vault.find({"ssn": "1"}), reason="asked", keep=1)
        later(monkeypatch, 5)
        people.table(vault, "second", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
        vault.erase(vault.find({"ssn": "1"}), reason="asked again", keep=100)
    Vault.restore(tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=file, key_file=key)
    with Vault.open(tmp_path / "new.vault", key_file=key) as vault:
        person = vault.find({"ssn": "1"})
        assert not person.known and not person.tables and person.suppressed
        assert people.resolve(vault, ssn=["1"]).suppressed.all()


def test_an_anchor_from_before_a_restore_says_so(backed, file, key, tmp_path):
    with Vault.open(file, key_file=key) as vault:
        anchor = vault.anchor()
    Vault.restore(tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=file, key_file=key)
    with (
        Vault.open(tmp_path / "new.vault", key_file=key) as vault,
        pytest.raises(Tampered, match="a backup was restored at entry"),
    ):
        vault.verify(anchor)


def test_a_restore_that_cannot_know_is_refused(backed, make, file, key, tmp_path, monkeypatch):
    where = tmp_path / "new.vault", tmp_path / "backup.vault"
    with pytest.raises(VaultError, match="does not know who was erased"):
        Vault.restore(*where, key_file=key)
    with Vault.open(file, key_file=key) as vault:
        anchor = vault.anchor()
    with pytest.raises(VaultError, match="something happened since"):
        Vault.restore(*where, erasures_from=anchor, key_file=key)
    with make(tmp_path / "other.vault") as other:
        other.erasures(tmp_path / "other erasures")
    with pytest.raises(VaultError, match="another vault"):
        Vault.restore(*where, erasures_from=tmp_path / "other.vault", key_file=key)
    with pytest.raises(VaultError, match="another vault"):
        Vault.restore(*where, erasures_from=tmp_path / "other erasures", key_file=key)
    with pytest.raises(VaultError, match="no file, and no anchor"):
        Vault.restore(*where, erasures_from=tmp_path / "nothing", key_file=key)
    later(monkeypatch, 4000)
    with Vault.open(file, key_file=key) as vault:
        assert vault.purge().lines == 5
    with pytest.raises(VaultError, match="were purged"):
        Vault.restore(*where, erasures_from=file, key_file=key)
    assert not where[0].exists() and not any(name.endswith(".new") for name in os.listdir(tmp_path))


def test_a_restore_with_an_anchor_that_proves_nothing_happened(make, file, key, tmp_path, people):
    with make(file) as vault:
        people.table(vault, "visits", ssn=["1"])
        anchor = vault.backup(tmp_path / "backup.vault")
    done = Vault.restore(tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=str(anchor), key_file=key)
    assert done.replayed == 0
    with Vault.open(tmp_path / "new.vault", key_file=key) as vault:
        assert vault.find({"ssn": "1"}).known and vault.verify(anchor).complete == anchor.count


def test_erasures_older_than_the_backup_do_not_serve(make, file, key, tmp_path, people):
    with make(file) as vault:
        vault.erasures(tmp_path / "erasures")
        people.table(vault, "visits", ssn=["1"])
        vault.backup(tmp_path / "backup.vault")
    with pytest.raises(VaultError, match="older than the backup"):
        Vault.restore(
            tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=tmp_path / "erasures", key_file=key
        )


def test_restores_of_damaged_things(backed, file, key, tmp_path):
    where = tmp_path / "new.vault", tmp_path / "backup.vault"
    content = bytearray((tmp_path / "erasures").read_bytes())
    content[-1] ^= 1
    (tmp_path / "erasures").write_bytes(content)
    with pytest.raises(VaultError, match="was changed"):
        Vault.restore(*where, erasures_from=tmp_path / "erasures", key_file=key)
    shutil.copy(tmp_path / "backup.vault", tmp_path / "cut.vault")
    with closing(sqlite3.connect(tmp_path / "cut.vault")) as connection, connection:
        connection.execute("delete from entries where number > 2")
    with pytest.raises(Tampered):
        Vault.restore(*where, erasures_from=tmp_path / "cut.vault", key_file=key)
    with pytest.raises(Tampered):
        Vault.restore(tmp_path / "new.vault", tmp_path / "cut.vault", erasures_from=file, key_file=key)
    with pytest.raises(WrongKey):
        Vault.restore(*where, erasures_from=file, passphrase="not the right one")
    with pytest.raises(VaultError, match="no backup"):
        Vault.restore(where[0], tmp_path / "nothing", erasures_from=file, key_file=key)
    with pytest.raises(VaultError, match="already a file"):
        Vault.restore(file, where[1], erasures_from=file, key_file=key)
    assert not where[0].exists()


def test_backups_of_a_vault_in_use(make, file, key, tmp_path, people):
    with make(file) as vault:
        people.table(vault, "visits", ssn=[str(number) for number in range(500)])
        anchor = vault.backup(tmp_path / "backup.vault")
        with pytest.raises(VaultError, match="already a file"):
            vault.backup(tmp_path / "backup.vault")
    with Vault.opened(tmp_path / "backup.vault", key, copy=True) as copy:
        assert copy.anchor() == anchor and copy.people.links.count() == 500
        copy.verify(anchor)
