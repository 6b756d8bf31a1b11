"""One person has one pseudonym in a table, also where that shows only after some of it was named."""

import polars as pl
import pytest

from discreet.pseudonyms import TooIdentifying, VaultError, lines, slices, tables

pytestmark = pytest.mark.catalogue("PS1")
WHO = ["ssn", "name", "born"]
ROWS = {"ssn": ["1", None, "1", "2"], "name": [None, "Ann", "Ann", "Bob"], "born": [None, *["1980-01-01"] * 3]}


@pytest.fixture
def vault(make, file):
    """An open vault in a file."""
    with make(file) as opened:
        yield opened


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """A file that is read row by row: the number, then the name, then both of them together."""
    monkeypatch.setattr(lines, "BLOCK", 40)
    pl.DataFrame({**ROWS, "note": ["x" * 40] * 4}).write_csv(tmp_path / "in.csv")
    return tmp_path / "in.csv"


def test_people_in_slices_are_the_same_people(vault, monkeypatch):
    """The number in one slice, the name in another, both in a third: one person, with one pseudonym."""
    for module in (slices, tables):
        monkeypatch.setattr(module, "SLICE", 1)
    who = [str(number) for number in range(8)]  # slices come in any order: for some of them both come last
    rows = {"ssn": [*who, *[None] * 8, *who], "name": [*[None] * 8, *who, *who]}
    born = pl.Series("born", [*[None] * 8, *["1980-01-01"] * 16])
    made = vault.pseudonymise(pl.DataFrame(rows).with_columns(born), WHO, "research", name="sliced")["pseudonym"]
    assert made[:8].equals(made[8:16]) and made[:8].equals(made[16:]) and made.n_unique() == 8
    assert vault.people.former.count() > 0  # some were two at first
    assert [one.pseudonym for one in vault.find({"ssn": "1"}).locators] == [made[1]]
    vault.verify()


def test_a_file_is_named_again_when_two_of_its_ids_are_one_person(vault, visits, tmp_path):
    made = pl.read_csv(vault.pseudonymise(visits, WHO, "research", out=tmp_path / "out.csv"))["pseudonym"]
    assert made[:3].n_unique() == 1 and made.n_unique() == 2
    assert vault.people.former.count() == 1  # they were two at first
    assert [one.pseudonym for one in vault.find({"ssn": "1"}).locators] == [made[0]]
    assert [entry.act for entry in vault.register.entries()].count("pseudonymise") == 1
    assert [one.name for one in tmp_path.glob("*.csv")] in (["in.csv", "out.csv"], ["out.csv", "in.csv"])


@pytest.mark.catalogue("PS2")
def test_nobody_is_counted_as_two_people(vault, visits, tmp_path):
    with pytest.raises(TooIdentifying, match="2 of 2 people look like fewer than 3"):
        vault.share(visits, WHO, "university", "research", out=tmp_path / "out.csv", require_k=3)


def test_a_file_whose_people_do_not_come_to_rest_is_refused(vault, visits, tmp_path, monkeypatch):
    monkeypatch.setattr(vault.people, "merged", lambda ids: True)
    with pytest.raises(VaultError, match="again and again"):
        vault.pseudonymise(visits, WHO, "research", out=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("move", ["reseal", "unshare"])
@pytest.mark.filterwarnings("ignore::discreet.pseudonyms.errors.LinkWarning")
def test_a_table_from_before_is_brought_up_to_date(vault, move):
    """Two ids that were joined since are one person in a table that is moved."""
    early = pl.DataFrame(ROWS)[:2]
    mine = vault.pseudonymise(early, WHO, "research", name="early")
    theirs = vault.share(early, WHO, "university", "research", name="theirs")
    now = vault.pseudonymise(pl.DataFrame(ROWS)[2:], WHO, "research", name="later")
    moved = vault.reseal(mine, "research") if move == "reseal" else vault.unshare(theirs, "university", "research")
    assert mine["pseudonym"].n_unique() == 2 and set(moved["pseudonym"]) == {now["pseudonym"][0]}
    assert move == "reseal" or set(vault.reseal(theirs, "research", partner="university")["pseudonym"]) & set(
        theirs["pseudonym"]
    )
