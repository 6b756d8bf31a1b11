"""Tables of which it is not known who is in them: they are retired like any other."""

import json
import warnings

import polars as pl
import pytest

from discreet.pseudonyms.errors import LinkWarning, RowsWarning, StrangersWarning, VaultError
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")


def unlocated(vault, name):
    return vault.record("pseudonymise", table=name, version=vault.version("research"), mark=vault.mark())


def test_one_is_retired_and_then_people_can_be_pruned(vault, people):
    unlocated(vault, "odd")
    people.resolve(vault, ssn=["1"])
    with pytest.raises(VaultError, match="retire"):
        vault.prune()
    assert len(vault.retire("odd").entries) == 1 and vault.tables() == ()
    assert vault.prune().people == 1
    vault.verify()


def test_one_that_a_model_was_fitted_on(vault):
    unlocated(vault, "odd")
    vault.used("odd", model="forest")
    assert vault.retire("odd").kept == ("odd",)
    vault.retire_model("forest")
    assert vault.tables() == ()
    vault.verify()


def test_one_that_a_restore_from_a_file_of_erasures_left(make, file, tmp_path, key, people):
    with make(file) as vault:
        vault.backup(tmp_path / "backup.vault")
        people.table(vault, "later", ssn=["1"])
        vault.erasures(tmp_path / "erasures")
    place = tmp_path / "new.vault"
    Vault.restore(place, tmp_path / "backup.vault", erasures_from=tmp_path / "erasures", key_file=key)
    with Vault.open(place, key_file=key) as vault:
        assert [run.located for run in vault.tables()] == [False]
        vault.retire("later")
        vault.verify()


def test_one_that_was_retired_after_the_backup(make, file, tmp_path, key):
    with make(file) as vault:
        unlocated(vault, "odd")
        vault.backup(tmp_path / "backup.vault")
        vault.retire("odd")
    place = tmp_path / "new.vault"
    Vault.restore(place, tmp_path / "backup.vault", erasures_from=file, key_file=key)
    with Vault.open(place, key_file=key) as vault:
        assert vault.tables() == ()
        vault.verify()


# a restore from a file of erasures: tables that were shared since


@pytest.fixture
def shared(make, file, tmp_path, key):
    """A vault that was restored without two of the three people of a partner's table, and that table."""
    with make(file) as vault:
        vault.pseudonymise(pl.DataFrame({"ssn": ["1"]}), ["ssn"], "research", name="before")
        vault.backup(tmp_path / "backup.vault")
        with pytest.warns(LinkWarning):
            table = vault.share(
                pl.DataFrame({"ssn": ["1", "2", "3"], "ward": ["a", "b", "c"]}), ["ssn"], "university", "research",
                name="study", retention=7,
            )  # fmt: skip
        vault.used("study", model="forest")
        vault.erasures(tmp_path / "erasures")
    place = tmp_path / "new.vault"
    Vault.restore(place, tmp_path / "backup.vault", erasures_from=tmp_path / "erasures", key_file=key)
    with Vault.open(place, key_file=key) as vault:
        yield vault, table


@pytest.mark.parametrize("ssn", ["1", "2"], ids=["known", "not known"])
def test_an_erasure_names_who_has_an_unlocated_table(shared, ssn):
    vault, _ = shared
    person = vault.find({"ssn": ssn})
    assert (person.unlocated, person.unlocated_recipients, person.unlocated_models) == (
        ("study",), ("university",), ("forest",)
    )  # fmt: skip
    assert person.recipients == person.models == (), "it is not known that they have anything of this person"
    document = json.loads(vault.export(person))
    assert document["recipients"] == []
    assert document["recipients of these tables"] == [{"name": "university", "contact": "desk@university.example"}]
    done = vault.erase(person, reason="asked")
    assert done.recipients == ("university",) and done.models == ("forest",)
    assert "Look into 'study'" in str(done) and "Tell 'university' of the erasure (Article 19)." in str(done)
    details = list(vault.register.entries())[-1].details
    assert details["recipients"] == ["university"] and details["models"] == ["forest"]
    assert details["tables not looked into"] == ["study"]


@pytest.mark.parametrize("kind", ["frame", "file"])
@pytest.mark.parametrize("move", ["unshare", "reseal"])
def test_a_moved_table_tells_of_people_who_are_not_known(shared, tmp_path, move, kind):
    vault, table = shared
    for ssn in ("1", "2"):
        vault.erase({"ssn": ssn}, reason="asked")
    given, options = table, {"name": "moved"}
    if kind == "file":
        table.write_csv(tmp_path / "in.csv")
        given, options = tmp_path / "in.csv", {"name": "moved", "out": tmp_path / "out.csv"}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if move == "unshare":
            moved = vault.unshare(given, "university", "research", **options)
        else:
            moved = vault.reseal(given, "research", partner="university", **options)
    assert [one.category for one in warned] == [RowsWarning, StrangersWarning], (
        "whoever is known and erased is left out"
    )
    assert [one.filename for one in warned] == [__file__] * 2
    assert str(warned[1].message).startswith("2 of 2 people in the table are not known to the vault")
    assert len(pl.read_csv(moved) if kind == "file" else moved) == 2
    entry = list(vault.register.entries())[-1]
    assert (entry.act, entry.details["people not known"]) == (move, 2)
    assert entry.retention == vault.tables("study")[0].retention, "it may be made of that one"
    assert vault.find({"ssn": "2"}).unlocated == ("study", "moved")
    vault.verify()


def test_a_warning_of_people_who_are_not_known_can_stop_a_move(shared):
    vault, table = shared
    before = vault.anchor()
    with warnings.catch_warnings(), pytest.raises(StrangersWarning):
        warnings.simplefilter("error")
        vault.unshare(table, "university", "research")
    assert vault.anchor() == before


def test_a_moved_table_of_people_who_are_known_is_located(shared):
    vault, table = shared
    known = vault.find({"ssn": "1"})
    own = vault.pseudonymise(pl.DataFrame({"ssn": ["1"]}), ["ssn"], "research", name="own")
    assert own["pseudonym"][0] == known.locators[0].pseudonym
    back = vault.unshare(table.filter(pl.col("ward") == "a"), "university", "research", name="back")
    assert back["pseudonym"].to_list() == own["pseudonym"].to_list()
    assert vault.find({"ssn": "1"}).tables == ("before", "own", "back")


def test_a_vault_that_knows_all_its_tables_asks_nobody_who_is_known(make, file):
    """One-off pseudonyms are of nobody; without an unlocated table that is no reason to warn."""
    with make(file) as vault:
        rows = pl.DataFrame({"ssn": ["1", None]})
        with pytest.warns(RowsWarning):
            made = vault.pseudonymise(rows, ["ssn"], "research", missing="one-off")
        vault.reseal(made, "research", name="moved")
        assert vault.find({"ssn": "1"}).tables[-1] == "moved"
