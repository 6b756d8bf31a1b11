"""The register: complete as far as anchors tell, and nobody in it."""

import csv
import datetime
import io
import json
import shutil
import sqlite3

import pytest

from discreet.pseudonyms.entries import today
from discreet.pseudonyms.errors import Tampered
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
    assert str(vault.verify(str(anchor))) == "consistent, complete up to entry 3 of 4"
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
        "update register set entry = replace(entry, '\"rows\":1', '\"rows\":2') where number = 4",
        "update register set number = 40 where number = 4",
        "update register set number = -1 where number = 6",
        "delete from register where number = 2",
        "insert into register select 7, entry, mac from register where number = 6",
        "update register set entry = (select entry from register where number = 5) where number = 4",
        "update register set mac = (select mac from register where number = 5) where number = 4",
        "update register set mac = 'text' where number = 6",
        "update register set entry = x'00' where number = 6",
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
