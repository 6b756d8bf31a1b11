"""Erasure, correction and change of rules, for people who are known by several identities."""

import datetime
import json

import numpy as np
import pytest

from discreet.errors import NotSupported
from discreet.pseudonyms import suppression, workers
from discreet.pseudonyms.entries import today
from discreet.pseudonyms.errors import UnknownName, VaultError
from discreet.pseudonyms.fields import Field
from discreet.pseudonyms.messages import messages

pytestmark = pytest.mark.catalogue("PS3")
BORN = "1980-01-01"
ANN = {"name": ["Ann Ash"], "born": [BORN]}
BY_NAME = {"name": "Ann Ash", "born": BORN}


def test_a_person_of_two_ids_is_found_and_erased_whole(vault, people):
    """First seen by name, then by number, then by both."""
    people.table(vault, "names", **ANN)
    people.table(vault, "numbers", ssn=["1"])
    people.table(vault, "both", ssn=["1"], **ANN)
    for values in ({"ssn": "1"}, BY_NAME, {"ssn": "1", **BY_NAME}):
        person = vault.find(values)
        assert person.tables == ("names", "numbers", "both") and person.shared == ()
    assert [one["table"] for one in json.loads(vault.export(person))["tables"]] == ["names", "numbers", "both"]
    done = vault.erase(vault.find({"ssn": "1"}), reason="asked")
    assert {one.table for one in done.locators} == {"names", "numbers", "both"} and done.uncovered == ()
    assert all(store.count() == 0 for store in vault.people.stores())
    assert all(vault.uses.count(run.uid) == 0 for run in vault.tables())
    assert people.resolve(vault, **ANN).suppressed.all() and people.resolve(vault, ssn=["1"]).suppressed.all()
    vault.verify()


def test_shared_names_go_with_the_last_who_has_them(vault, people):
    people.table(vault, "visits", ssn=["1", "2"], name=["Ann Ash"] * 2, born=[BORN] * 2)
    done = vault.erase(vault.find({"ssn": "1", **BY_NAME}), reason="asked")
    assert any("several people are known" in one for one in done.remains)
    assert vault.people.shared.count() == 1 and not people.resolve(vault, **ANN).person.any()
    vault.erase(vault.find({"ssn": "2"}), reason="asked")
    assert all(store.count() == 0 for store in vault.people.stores())
    assert not vault.find(BY_NAME).known and people.resolve(vault, **ANN).suppressed.all()


def test_somebody_else_of_the_same_name_stays(vault, people):
    """A number that is known decides; so does a new one, if the erased person's number was known."""
    people.table(vault, "first", ssn=["2"])
    people.table(vault, "second", ssn=["1"], **ANN)
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    found = people.resolve(vault, ssn=["2", "3", None, "1"], name=["Ann Ash"] * 4, born=[BORN] * 4)
    assert found.suppressed.tolist() == [False, False, True, True]
    assert found.person.tolist() == [True, True, False, False]
    assert people.resolve(vault, **ANN).suppressed.all(), "the name alone still says that it is the erased person"


def test_somebody_erased_by_name_alone_does_not_come_back_with_a_number(vault, people):
    people.table(vault, "names", **ANN)
    vault.erase(vault.find(BY_NAME), reason="asked")
    assert people.resolve(vault, ssn=["1"], **ANN).suppressed.all()


@pytest.mark.parametrize("links", ["stored", "derived"])
def test_what_an_erasure_did_not_cover_is_said(make, place, people, links):
    with make(place, links=links) as vault:
        people.table(vault, "names", **ANN)
        people.table(vault, "numbers", ssn=["1"])
        done = vault.erase(vault.find({"ssn": "1"}), reason="asked")
        assert done.uncovered == ("name and birth",) and "'name and birth' was not given" in str(done)
        assert vault.find(BY_NAME).tables == ("names",)
        assert not vault.erase(vault.find({"ssn": "2", **BY_NAME}), reason="asked").uncovered


def test_derived_links_are_judged_by_the_identity_that_decides(make, place, people):
    with make(place, links="derived") as vault:
        people.table(vault, "visits", ssn=["1"], **ANN)
        vault.erase(vault.find({"ssn": "1", **BY_NAME}), reason="asked")
        found = people.resolve(vault, ssn=["2", "1", None], name=["Ann Ash"] * 3, born=[BORN] * 3)
        assert found.suppressed.tolist() == [False, True, True]


def test_what_is_left_to_do_is_in_the_register(vault, people):
    people.table(vault, "study", partner="university", ssn=["1"])
    vault.used("study", model="forest")
    vault.record("pseudonymise", table="spark", version=vault.version("research"), mark=0)
    done = vault.erase(vault.find({"ssn": "1"}), reason="asked")
    assert done.unlocated == ("spark",) and "Look into 'spark'" in str(done)
    details = list(vault.register.entries())[-1].details
    assert (details["tables"], details["recipients"], details["models"]) == (["study"], ["university"], ["forest"])
    assert details["tables not looked into"] == ["spark"]
    assert done.locators[0].pseudonym not in json.dumps(details)


def test_export_tells_how_it_is_now_with_columns_and_all_recipients(vault, people):
    ids = people.resolve(vault, ssn=["1"]).ids
    options = {"version": vault.version("research"), "mark": 0, "ids": ids, "columns": ["ssn", "cost"]}
    vault.record("pseudonymise", table="visits", recipients=["Processor Ltd"], **options)
    person = vault.find({"ssn": "1"})
    document = json.loads(vault.export(person))
    assert document["categories of data"] == ["cost", "ssn"]
    assert [one["name"] for one in document["recipients"]] == ["Processor Ltd"] == list(person.recipients)
    vault.erase(person, reason="asked")
    document = json.loads(vault.export(person))
    assert not document["known"] and document["tables"] == [] and document["suppressed until"]


def test_questions_are_not_repeated_in_errors(vault):
    for wrong in ({"Ann Ash 1980"}, {"123-45-6789": "ssn"}, "1234", ["1234"], None):
        with pytest.raises((TypeError, UnknownName)) as caught:
            vault.find(wrong)
        assert not any(word in str(caught.value) for word in ("Ann", "123"))


def test_short_names_are_kept_out_of_the_register_too(vault, people):
    person = vault.find({"name": "Li Wu", "born": BORN})
    with pytest.raises(ValueError, match="must not name the person"):
        vault.erase(person, reason="asked by Li")
    vault.erase(person, reason="letter of 01.01.")


# correction


def test_a_wrong_name_is_taken_off(vault, people):
    """One wrong row had made the name of somebody else useless."""
    people.table(vault, "first", ssn=["1", "2"], name=["Ann Ash", "Bo Oak"], born=[BORN, BORN])
    people.table(vault, "typo", ssn=["2"], **ANN)
    with pytest.raises(VaultError, match="Several people"):
        vault.find(BY_NAME)
    entry = vault.correct(vault.find({"ssn": "2"}), BY_NAME)
    assert entry.act == "correct" and "Ann" not in entry.text()
    assert vault.find(BY_NAME).tables == ("first",) and vault.people.shared.count() == 0
    assert vault.find({"name": "Bo Oak", "born": BORN}).tables == ("first", "typo")
    vault.erase(vault.find({"ssn": "2"}), reason="asked")
    assert people.resolve(vault, **ANN).person.all()
    vault.verify()


def test_corrections_that_make_no_sense(vault, people, make, tmp_path):
    people.table(vault, "first", ssn=["1", "2"], name=["Ann Ash", None], born=[BORN, None])
    person = vault.find({"ssn": "1"})
    for wrong in ({"ssn": "2"}, {"name": "Bo", "born": BORN}, {"ssn": "1", **BY_NAME}):
        with pytest.raises(VaultError, match="not this person's, or the only one"):
            vault.correct(person, wrong)
    with pytest.raises(VaultError, match="not known by one id"):
        vault.correct(vault.find({"ssn": "3"}), BY_NAME)
    with make(tmp_path / "other", links="derived") as other, pytest.raises(NotSupported):
        other.correct(other.find({"ssn": "1"}), BY_NAME)
    assert vault.find(BY_NAME).known and list(vault.register.entries())[-1].act != "correct"


# other rules


NINE = {"ssn": "digits:9", "name": "text", "born": "date"}


def test_a_person_is_one_before_and_after_a_change_of_rules(vault, people):
    before = people.table(vault, "first", ssn=["1", "2"])
    vault.change_fields(NINE, {"ssn": ["ssn"], "name and birth": ["name", "born"]})
    after = people.table(vault, "second", ssn=["3", "2", "1"])
    assert np.array_equal(after.ids[::-1][:2], before.ids) and vault.find({"ssn": "1"}).tables == ("first", "second")
    assert vault.erase(vault.find({"ssn": "1"}), reason="asked").cut
    assert not vault.find({"ssn": "1"}).known and people.resolve(vault, ssn=["1"]).suppressed.all()
    vault.verify()


def test_finer_rules_tell_people_apart_from_now_on(vault, people):
    people.table(vault, "first", name=["ANN ASH"], born=[BORN])
    vault.change_fields({**NINE, "name": Field("text", case="keep")}, {"ssn": ["ssn"], "other": ["name", "born"]})
    people.table(vault, "second", ssn=["1"], **ANN)
    assert vault.find(BY_NAME).tables == ("first", "second") == vault.find({"ssn": "1"}).tables
    found = people.resolve(vault, name=["Ann Ash", "ann ash"], born=[BORN] * 2)
    assert found.person.all() and not np.array_equal(*found.ids)
    assert vault.find(BY_NAME).tables == ("first", "second"), "the new rules decide"


def test_coarser_rules_make_one_person_of_two(make, place, people):
    fields = {"name": Field("text", case="keep")}
    with make(place, fields=fields, identities={"name": ["name"]}) as vault:
        found = people.table(vault, "first", name=["Ann", "ANN"])
        assert not np.array_equal(*found.ids)
        vault.change_fields({"name": "text"}, {"name": ["name"]})
        assert vault.find({"name": "ANN"}).tables == ("first",)
        found = people.table(vault, "second", name=["Ann", "ANN"])
        assert np.array_equal(*found.ids) and found.person.all()
        person = vault.find({"name": "ann"})
        assert person.tables == ("first", "second") and len(person.locators) == 3
        vault.erase(person, reason="asked")
        assert all(store.count() == 0 for store in vault.people.stores())


@pytest.mark.parametrize("links", ["stored", "derived"])
@pytest.mark.parametrize("name", ["ssn", "number"])
def test_a_change_of_rules_brings_nobody_back(make, place, people, links, name):
    with make(place, links=links) as vault:
        people.table(vault, "first", ssn=["1", "2"])
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        vault.change_fields(NINE, {name: ["ssn"], "name and birth": ["name", "born"]})
        found = people.resolve(vault, ssn=["1", "2"], name=["Ann", "Bo"], born=[BORN, BORN])
        assert found.suppressed.tolist() == [True, False] == people.resolve(vault, ssn=["1", "2"]).suppressed.tolist()


def test_an_identity_that_is_no_more_still_finds_people(vault, people):
    people.table(vault, "first", name=["Ann Ash"], born=[BORN])
    vault.change_fields(NINE, {"ssn": ["ssn"]})
    assert vault.find(BY_NAME).tables == ("first",)


def test_workers_know_of_older_rules_and_of_no_line_past_its_date(make, file, tmp_path, people, monkeypatch):
    with make(file, links="derived") as vault:
        vault.erase(vault.find({"ssn": "1", **BY_NAME}), reason="asked", keep=10)
        vault.erase(vault.find({"ssn": "2"}), reason="asked", keep=1)
        vault.change_fields(NINE, {"ssn": ["ssn"], "name and birth": ["name", "born"]})
        asked = people.frame(ssn=["1", "2", "3", None], name=["Ann Ash"] * 4, born=[BORN] * 4)
        for days, expected in ((0, [True, True, False, True]), (5, [True, False, False, True])):
            then = today() + datetime.timedelta(days)
            for module in (suppression, workers):
                monkeypatch.setattr(module, "today", lambda then=then: then)
            vault.worker_file(tmp_path / f"{days}", "research")
            worker = workers.Worker.read(tmp_path / f"{days}")
            found = worker.resolve(messages(worker.schema, asked))
            assert found.suppressed.tolist() == expected
            own = vault.resolve(messages(vault.schema, asked))
            assert np.array_equal(found.ids, own.ids) and np.array_equal(found.suppressed, own.suppressed)
            assert len(worker.suppressed) == (3 if days == 0 else 2)
