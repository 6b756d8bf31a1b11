"""The register: complete as far as anchors tell, and nobody in it."""

import csv
import datetime
import io
import json
import shutil
import sqlite3

import pytest

from discreet.pseudonyms.entries import today
from discreet.pseudonyms.errors import Tampered, UnknownName, VaultError
from discreet.pseudonyms.register import Anchor
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")


def test_every_act_has_an_entry(vault, people):
    people.table(vault, "visits", ssn=["1", "2"])
    people.table(vault, "study", partner="university", ssn=["1"])
    vault.used("visits", model="forest")
    vault.rotate("research")
    vault.retire("visits")
    acts = [entry.act for entry in vault.register.entries()]
    expected = ["create", "purpose", "partner", "pseudonymise", "keys", "share", "model", "rotate", "retire"]
    assert acts == expected
    entry = list(vault.register.entries())[5]
    assert (entry.purpose, entry.table, entry.recipients, entry.rows) == ("research", "study", ("university",), 1)
    assert entry.basis == "Article 9(2)(j)" and entry.retention == (today() + datetime.timedelta(30)).isoformat()
    assert entry.who and entry.time.endswith("+00:00")


def test_anchors(vault):
    anchor = vault.anchor()
    vault.add_purpose("more")
    assert str(vault.verify()) == "consistent, completeness unproven"
    assert str(vault.verify(str(anchor))) == "consistent, register complete up to entry 3 of 4"
    assert Anchor.parse(str(anchor)) == anchor and vault.register.at(3) == anchor
    with pytest.raises(Tampered, match="not the one of the anchor"):
        vault.verify(Anchor(3, "0" * 64))
    with pytest.raises(Tampered, match="has 4 entries, the anchor 9"):
        vault.verify(Anchor(9, anchor.head))
    with pytest.raises(Tampered):
        vault.verify(Anchor(0, "0" * 64))
    for text in ("", "3", "3-xyz", "-1-" + "0" * 64):
        with pytest.raises(ValueError, match="64 hexadecimal"):
            vault.verify(text)


def test_an_older_file_is_found_by_an_anchor_alone(make, file, key, tmp_path):
    make(file).close()
    shutil.copy(file, tmp_path / "older.vault")
    with Vault.open(file, key_file=key) as vault:
        vault.add_purpose("more")
        anchor = vault.anchor()
    with Vault.open(tmp_path / "older.vault", key_file=key) as older:
        assert older.verify().complete is None
        with pytest.raises(Tampered, match="an older file put back"):
            older.verify(anchor)
        older.add_purpose("other")
        with pytest.raises(Tampered, match="not the one of the anchor"):
            older.verify(anchor)


@pytest.mark.parametrize(
    "change",
    [
        "update entries set entry = replace(entry, '\"rows\":1', '\"rows\":2') where number = 4",
        "update entries set number = 40 where number = 4",
        "update entries set number = -1 where number = 6",
        "delete from entries where number = 2",
        "insert into entries select 7, entry, mac from entries where number = 6",
        "update entries set entry = (select entry from entries where number = 5) where number = 4",
        "update entries set mac = (select mac from entries where number = 5) where number = 4",
        "update entries set mac = 'text' where number = 6",
        "update entries set entry = x'00' where number = 6",
    ],
)
def test_changes_are_noticed_without_an_anchor(make, file, key, people, change):
    with make(file) as vault:
        for _ in range(3):
            people.table(vault, "visits", ssn=["1"])
    with sqlite3.connect(file) as connection:
        assert connection.execute(change).rowcount == 1
    connection.close()
    with Vault.open(file, key_file=key) as vault, pytest.raises(Tampered, match="register"):
        vault.verify()


def test_overdue_tables_are_listed_until_they_are_retired(vault, people):
    people.table(vault, "visits", ssn=["1"])
    vault.record("pseudonymise", table="kept", version=vault.version("research"), mark=0, retention="2999-01-01")
    assert vault.overdue() == ()
    late = vault.overdue(today() + datetime.timedelta(31))
    assert [entry.table for entry in late] == ["visits"]
    assert vault.overdue(today() + datetime.timedelta(30)) == (), "the date itself is the last day"
    vault.retire("visits")
    assert vault.overdue("2998-12-31") == () and vault.uses.has is not None
    assert [entry.table for entry in vault.overdue("2999-01-02")] == ["kept"]
    assert not vault.find({"ssn": "1"}).locators
    vault.verify()


# tables that come to their end


def test_a_retired_table_is_known_while_a_model_depends_on_it(vault, people):
    people.table(vault, "visits", ssn=["1"])
    vault.used("visits", model="forest")
    done = vault.retire("visits")
    assert done.kept == ("visits",) and done.entries[0].details["kept for"] == ["model forest"]
    person = vault.find({"ssn": "1"})
    assert person.models == ("forest",) and vault.tables()[0].retired
    assert vault.overdue("2999-01-01") == (), "the table itself is gone"
    vault.verify()
    assert vault.erase(person, reason="asked").models == ("forest",)
    assert vault.retire_model("forest").kept == () and vault.tables() == ()
    with pytest.raises(UnknownName, match="no model 'forest'"):
        vault.retire_model("forest")
    vault.verify()


def test_a_shared_table_is_known_until_its_recipient_has_deleted_it(vault, people):
    people.table(vault, "study", partner="university", ssn=["1"])
    assert vault.retire("study").kept == ("study",)
    assert vault.find({"ssn": "1"}).recipients == ("university",)
    assert [entry.table for entry in vault.overdue("2999-01-01")] == ["study"], "the recipient still has it"
    assert vault.retire("study", recipients=True).kept == ()
    assert vault.tables() == () and vault.overdue("2999-01-01") == ()
    assert not vault.find({"ssn": "1"}).locators
    vault.verify()


def test_a_name_of_several_tables_is_not_enough(vault, people):
    people.table(vault, "table", ssn=["1"])
    people.table(vault, "table", partner="university", ssn=["1"])
    first, second = vault.tables()
    with pytest.raises(VaultError, match=f"entry {first.entry}: 'research', 'the holder'"):
        vault.retire("table")
    assert vault.tables() == (first, second)
    vault.retire("table", entry=first.entry)
    assert vault.tables() == (second,)
    with pytest.raises(UnknownName, match="of entry 99"):
        vault.retire("table", entry=99)


def test_what_stays_in_the_log_is_told(vault, people, key, monkeypatch):
    people.table(vault, "visits", ssn=["1"])
    for truth in (True, False):
        monkeypatch.setattr(type(vault.database), "tidy", lambda self, truth=truth: truth)
        assert vault.rewrap(key_file=key) is truth
        people.table(vault, "again", ssn=["1"])
        assert vault.retire("again").cleaned is truth
        people.resolve(vault, ssn=["7"])
        assert vault.prune().cleaned is truth


def test_people_in_no_table_are_pruned(vault, people, monkeypatch):
    monkeypatch.setattr("discreet.pseudonyms.pruning.BATCH", 2)
    people.table(vault, "visits", ssn=["1", "2"], name=["Ann", "Bob"], born=["1980-01-01"] * 2)
    people.resolve(vault, ssn=["3", "4", "5"], name=["Cy", "Di", "Ed"], born=["1980-01-01"] * 3)
    mark, ids = vault.mark(), people.resolve(vault, ssn=["3"]).ids
    assert vault.people.links.count() == 10
    assert vault.prune(who="Bea").people == 3
    assert vault.people.links.count() == 4 and vault.people.aliases.count() == 4
    assert vault.find({"ssn": "1"}).known and not vault.find({"name": "Cy", "born": "1980-01-01"}).known
    with pytest.raises(VaultError, match="run it again"):
        vault.record("pseudonymise", table="late", version=vault.version("research"), mark=mark, ids=ids)
    assert vault.prune().people == 0
    vault.retire("visits")
    assert vault.prune().people == 2 and vault.people.links.count() == 0
    pruned = [entry for entry in vault.register.entries() if entry.act == "prune"]
    assert [(entry.rows, entry.who) for entry in pruned][:2] == [(2, "Bea"), (1, "Bea")]
    vault.verify()


def test_nobody_is_pruned_where_tables_are_not_known(vault, people):
    people.resolve(vault, ssn=["1"])
    vault.record("pseudonymise", table="x", version=vault.version("research"), mark=0)
    with pytest.raises(VaultError, match="not known who is in 'x'"):
        vault.prune()
    assert vault.people.links.count() == 1


# dates and recipients


def test_a_table_for_a_partner_revoked_meanwhile_is_not_recorded(vault, people):
    version, ids = vault.version("research", "university"), people.resolve(vault, ssn=["1"]).ids
    vault.revoke("university")
    with pytest.raises(VaultError, match="was revoked"):
        vault.record("share", table="study", version=version, mark=0, ids=ids)
    assert vault.tables() == ()


def test_a_table_moved_to_new_keys_is_kept_no_longer(vault, people):
    frame = people.frame(ssn=["1", "2"])
    soon = (today() + datetime.timedelta(3)).isoformat()
    vault.pseudonymise(people.frame(ssn=["1"]), ["ssn"], "research", name="other", retention=1)
    made = vault.pseudonymise(frame, ["ssn"], "research", name="visits", retention=soon)
    vault.pseudonymise(frame, ["ssn"], "research", name="visits too", retention=2)
    vault.rotate("research")
    vault.reseal(made, "research", name="visits")
    assert vault.tables()[-1].retention == soon, "of the table of that name, not thirty days from now"
    vault.reseal(made, "research", name="unheard of")
    assert vault.tables()[-1].retention == (today() + datetime.timedelta(2)).isoformat(), "the earliest that it can be"


def test_no_tables_for_a_purpose_that_has_ended(vault, people):
    yesterday = (today() - datetime.timedelta(1)).isoformat()
    vault.add_purpose("ended", retention=yesterday)
    vault.add_purpose("ending", retention=today())
    with pytest.raises(VaultError, match=f"'ended' ended on {yesterday}"):
        vault.pseudonymise(people.frame(ssn=["1"]), ["ssn"], "ended", name="x")
    vault.pseudonymise(people.frame(ssn=["1"]), ["ssn"], "ending", name="x")
    assert len(vault.tables()) == 1


def test_keys_that_leave_the_vault_are_registered(make, file, tmp_path):
    with make(file, links="derived") as vault:
        vault.worker_file(tmp_path / "worker", "research", who="Bea")
        entry = list(vault.register.entries())[-1]
        assert (entry.act, entry.who, entry.purpose) == ("worker file", "Bea", "research")
        assert entry.details == {"key_id": vault.version("research").key_id}
        before = vault.anchor()
        with pytest.raises(VaultError, match="There is already a file"):
            vault.worker_file(tmp_path / "worker", "research")
        assert vault.anchor() == before
        with pytest.raises(ValueError, match="`who`"):
            vault.worker_file(tmp_path / "second", "research", who="")
        assert not (tmp_path / "second").exists(), "no keys outside without an entry"


def test_an_older_suppression_list_is_noticed(vault, people):
    people.table(vault, "visits", ssn=["1"])
    old = vault.database.read("select body, store, first from sealed")
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    anchor = vault.anchor()
    vault.verify(anchor)
    with vault.database.transaction():
        vault.database.write_many("update sealed set body = ? where store = ? and first = ?", old)
    with pytest.raises(Tampered, match="an older one was put back"):
        vault.verify(anchor)


def test_exports(vault, people):
    vault.add_partner("=cmd()", contact="x")
    people.table(vault, "visits", ssn=["1"])
    entries = json.loads(vault.register.export())
    assert [entry["number"] for entry in entries] == [1, 2, 3, 4, 5] and "changes" not in entries[0]
    rows = list(csv.DictReader(io.StringIO(vault.register.export("csv"))))
    assert rows[3]["partner"] == "'=cmd()", "no spreadsheet takes it for a formula"
    assert rows[4]["table"] == "visits" and rows[4]["rows"] == "1"
    with pytest.raises(ValueError, match="'json' or 'csv'"):
        vault.register.export("xml")


def test_entries_hold_no_person(vault, people):
    people.table(vault, "visits", ssn=["123456789"], name=["Zebrafinch"], born=["1980-02-03"])
    person = vault.find({"ssn": "123456789", "name": "Zebrafinch", "born": "1980-02-03"})
    pseudonyms = [one.pseudonym for one in person.locators]
    vault.export(person)
    vault.refuse(person, ground="e", note="case 17")
    for words in ("Zebrafinch asked", "no. 123-45-6789", "born 1980-02-03"):
        with pytest.raises(ValueError, match="must not name the person"):
            vault.erase(person, reason=words)
    vault.erase(person, reason="consent withdrawn", ground="Article 17(1)(b)")
    text = vault.register.export().lower()
    assert not any(word in text for word in ("zebrafinch", "123456789", "1980-02-03", *map(str.lower, pseudonyms)))
    assert "consent withdrawn" in text and "article 17(1)(b)" in text and "case 17" in text


@pytest.mark.parametrize("wrong", ["31/1/2030", "2030-13-01", -1, 1.5, True, 10**12])
def test_wrong_dates(vault, wrong):
    with pytest.raises(ValueError, match="retention"):
        vault.add_purpose("x", retention=wrong)
    assert vault.purposes == ("research",)
