"""What is refused, or fails half-way: who was taken in, and what the register says of it."""

import signal
import subprocess
import sys
import warnings

import polars as pl
import pytest

from discreet.pseudonyms import MissingIdentifiers, RowsWarning, Vault, VaultError, encodings, lines, slices, tables

pytestmark = pytest.mark.catalogue("PS1")
WHO = ["ssn", "name", "born"]


@pytest.fixture
def vault(make, file):
    """An open vault in a file."""
    with make(file) as opened:
        yield opened


def table():
    return pl.DataFrame(
        {"ssn": ["123", "123", "456", None], "name": ["Zoe", "Zoe", "Bo", "Bo"], "born": ["1980-01-31"] * 4}
    )


def entries(vault, act):
    return [entry for entry in vault.register.entries() if entry.act == act]


@pytest.fixture
def meanwhile(vault, monkeypatch):
    """Lets something happen after people of a table were looked up, where it is not made in one step."""

    def happens(act):
        resolve = vault.resolve

        def slow(found):
            answer = resolve(found)
            act()
            return answer

        monkeypatch.setattr(tables, "ROWS", 0)
        monkeypatch.setattr(vault, "resolve", slow)

    return happens


def test_nothing_is_handed_over_if_somebody_in_it_was_erased_meanwhile(vault, meanwhile):
    vault.pseudonymise(table(), WHO, "research")
    meanwhile(lambda: vault.erase(vault.find({"ssn": "456"}), reason="asked"))
    with pytest.raises(VaultError, match="erased while the table was being made"):
        vault.pseudonymise(table(), WHO, "research")
    assert len(entries(vault, "pseudonymise")) == 1
    (entry,) = entries(vault, "failed")
    (started,) = entries(vault, "started")
    assert entry.details == {
        "act": "pseudonymise", "reason": "VaultError", "people": 2, "started": started.number
    }  # fmt: skip


def test_nothing_is_handed_over_if_somebody_in_it_was_pruned_meanwhile(vault, meanwhile):
    meanwhile(vault.prune)
    with pytest.raises(VaultError, match="closed by vault"):
        vault.pseudonymise(table(), WHO, "research")
    assert not vault.tables()


@pytest.mark.parametrize("kind", ["slices", "file"])
def test_a_run_that_a_prune_closed_makes_no_table(vault, meanwhile, tmp_path, kind):
    """Also if nobody was forgotten: the register does not tell of a table of a run that it calls failed."""
    vault.pseudonymise(pl.DataFrame({"ssn": ["123", "456"]}), ["ssn"], "research", name="first")
    pruned, given, options = [], pl.DataFrame({"ssn": ["123", "456"]}), {}
    if kind == "file":
        given.write_csv(tmp_path / "in.csv")
        given, options = tmp_path / "in.csv", {"out": tmp_path / "out.csv"}
    meanwhile(lambda: pruned.append(vault.prune().people))
    with pytest.raises(VaultError, match=r"closed by vault.prune.*Hint: run it again"):
        vault.pseudonymise(given, ["ssn"], "research", name="second", **options)
    assert pruned == [0] and [run.table for run in vault.tables()] == ["first"]
    (started,) = entries(vault, "started")
    closed = [entry for entry in vault.register.entries() if entry.details.get("started") == started.number]
    assert [entry.act for entry in closed] == ["failed", "failed"] and closed[1].details["people"] == 2
    assert not (tmp_path / "out.csv").exists() and not vault.unfinished()
    vault.verify()


@pytest.mark.catalogue("PS3")
def test_erasing_somebody_else_meanwhile_stops_nothing(vault, meanwhile):
    vault.pseudonymise(pl.DataFrame({"ssn": ["789"]}), ["ssn"], "research")
    meanwhile(lambda: vault.erase(vault.find({"ssn": "789"}), reason="asked"))
    assert vault.pseudonymise(table(), WHO, "research").height == 4


@pytest.mark.catalogue("PS3")
def test_with_derived_links_the_list_of_erased_people_is_looked_at(make, file):
    only = {"fields": {"ssn": "digits"}, "identities": {"ssn": ["ssn"]}, "links": "derived"}
    with make(file, **only) as vault:
        mark, version = vault.mark(), vault.version("research")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
        found = vault.tags([b"1"])
        vault.record("pseudonymise", table="a", version=version, mark=mark, ids=found)
        gone = vault.find({"ssn": "1"})._tags
        for ids in (gone, None):
            with pytest.raises(VaultError, match="erased while the table was being made"):
                vault.record("pseudonymise", table="b", version=version, mark=mark, ids=ids)


BAD = [{"retention": "tomorrow"}, {"name": " x"}, {"who": "\n"}]


@pytest.mark.parametrize("bad", BAD, ids=lambda one: next(iter(one)))
@pytest.mark.parametrize("kind", ["frame", "file"])
def test_what_the_register_refuses_is_refused_before_anybody_is_taken_in(vault, tmp_path, kind, bad):
    table().write_csv(tmp_path / "in.csv")
    given, out = (table(), None) if kind == "frame" else (tmp_path / "in.csv", tmp_path / "out.csv")
    before = vault.anchor().count
    with pytest.raises(ValueError, match="must be"):
        vault.pseudonymise(given, WHO, "research", out=out, **bad)
    assert vault.people.links.count() == 0 and vault.anchor().count - before <= 1  # the keys of the purpose


SHARED = {"ssn": [None, "77", "78"], "name": ["Ann", "Q", "R"], "born": ["1980-01-01"] * 3}


def test_a_frame_that_is_refused_late_takes_nobody_in(vault, monkeypatch):
    """By the one identity of the first row several people are known: that shows only when it is looked up."""
    ann = pl.DataFrame({"ssn": ["1", "2"], "name": ["Ann"] * 2, "born": ["1980-01-01"] * 2})
    vault.pseudonymise(ann, WHO, "research")
    before = vault.people.links.count(), vault.anchor()
    with pytest.raises(MissingIdentifiers, match=r"^1 rows hold no whole identity"):
        vault.pseudonymise(pl.DataFrame(SHARED), WHO, "research")
    assert (vault.people.links.count(), vault.anchor()) == before
    monkeypatch.setattr(tables, "SLICE", 1)  # too many people for one step
    with pytest.raises(MissingIdentifiers):
        vault.pseudonymise(pl.DataFrame(SHARED), WHO, "research")
    (entry,) = entries(vault, "failed")
    assert entry.details["reason"] == "MissingIdentifiers" and vault.people.links.count() > before[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
def test_whatever_stops_a_file_is_noted(vault, tmp_path, monkeypatch, error):
    monkeypatch.setattr(lines, "BLOCK", 64)
    (tmp_path / "in.csv").write_text("ssn,a\n" + "".join(f"{i},x\n" for i in range(40)))
    write = encodings.Writer.write

    def stopped(self, data):
        if bytes(data[:1]) == b"1":  # a pseudonym: some rows were named
            raise error
        write(self, data)

    monkeypatch.setattr(encodings.Writer, "write", stopped)
    with pytest.raises(error):
        vault.pseudonymise(tmp_path / "in.csv", ["ssn"], "research", out=tmp_path / "out.csv")
    (entry,) = entries(vault, "failed")
    assert entry.details["reason"] == error.__name__ and 0 < entry.details["people"] <= vault.people.links.count()
    assert [one.name for one in tmp_path.glob("*.csv")] == ["in.csv"]


def test_what_stops_between_two_slices_of_a_frame_is_noted(vault, monkeypatch):
    monkeypatch.setattr(tables, "SLICE", 10)
    monkeypatch.setattr(slices, "SLICE", 10)
    resolve, calls = vault.resolve, []

    def stopped(found):
        calls.append(found)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return resolve(found)

    monkeypatch.setattr(vault, "resolve", stopped)
    with pytest.raises(KeyboardInterrupt):
        vault.pseudonymise(pl.DataFrame({"ssn": [str(i) for i in range(40)]}), ["ssn"], "research")
    (entry,) = entries(vault, "failed")
    assert entry.details["reason"] == "KeyboardInterrupt" and entry.details["people"] == 20
    assert vault.people.links.count() == 20


def test_a_file_whose_people_are_joined_again_and_again_is_noted_once(vault, tmp_path, monkeypatch):
    monkeypatch.setattr(vault.people, "merged", lambda ids: True)
    (tmp_path / "in.csv").write_text("ssn,cost\n1,2\n2,3\n")
    with pytest.raises(VaultError, match="again and again"):
        vault.pseudonymise(tmp_path / "in.csv", ["ssn"], "research", out=tmp_path / "out.csv")
    (entry,) = entries(vault, "failed")
    assert entry.details["people"] == 2 == vault.people.links.count()


@pytest.mark.parametrize("kind", ["frame", "file", "slices", "reseal"])
def test_a_warning_that_is_an_error_leaves_no_record(vault, tmp_path, monkeypatch, kind):
    """Nothing is handed over then, so nothing is recorded."""
    given, options = table(), {"missing": "skip"}
    if kind == "file":
        given.write_csv(tmp_path / "in.csv")
        given, options = tmp_path / "in.csv", {**options, "out": tmp_path / "out.csv"}
    if kind == "slices":
        monkeypatch.setattr(tables, "ROWS", 0)
    if kind == "reseal":
        given = vault.pseudonymise(pl.DataFrame({"ssn": ["1", "2"]}), ["ssn"], "research", name="first")
        vault.erase(vault.find({"ssn": "1"}), reason="asked")
    before = [run.table for run in vault.tables()]
    with warnings.catch_warnings(), pytest.raises(RowsWarning):
        warnings.simplefilter("error")
        if kind == "reseal":
            vault.reseal(given, "research")
        else:
            vault.pseudonymise(given, ["ssn"], "research", keep=["name", "born"], **options)
    assert [run.table for run in vault.tables()] == before and not (tmp_path / "out.csv").exists()
    assert len(entries(vault, "failed")) == (kind in ("file", "slices"))


@pytest.mark.parametrize("kind", ["frame", "file"])
def test_a_warning_names_the_line_that_asked(vault, tmp_path, kind):
    given, options = table(), {"missing": "skip"}
    if kind == "file":
        given.write_csv(tmp_path / "in.csv")
        given, options = tmp_path / "in.csv", {**options, "out": tmp_path / "out.csv"}
    with pytest.warns(RowsWarning) as told:
        vault.pseudonymise(given, ["ssn"], "research", keep=["name", "born"], **options)
    assert [one.filename for one in told] == [__file__]


# what is cut off


KILLED = """
import sys, time
from discreet.pseudonyms import lines
from discreet.pseudonyms.vault import Vault

lines.BLOCK = 64
vault = Vault.open(sys.argv[1], key_file=sys.argv[2])
resolve, pieces = vault.resolve, []

def stopped(found):
    answer = resolve(found)
    pieces.append(found)
    if len(pieces) == 3:
        print("three pieces", flush=True)
        time.sleep(600)
    return answer

vault.resolve = stopped
vault.share(sys.argv[3], ["ssn"], "university", "research", out=sys.argv[4], who="Bea", require_k=2)
"""


@pytest.fixture
def killed(vault, key, tmp_path):
    """A vault whose import was killed after three pieces; it has people, and their file never came."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("ssn,ward\n" + "".join(f"{number},north\n" for number in range(100)))
    command = [sys.executable, "-c", KILLED, vault.database.path, key.path, str(source), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"three pieces\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL and not out.exists()
    return vault


def test_a_run_that_was_killed_is_told(killed, key, tmp_path, people):
    assert killed.people.links.count() > 0 and not killed.tables()
    (entry,) = killed.unfinished()
    assert (entry.act, entry.who, entry.table, entry.purpose) == ("started", "Bea", "out", "research")
    assert (entry.partner, entry.recipients, entry.categories) == ("university", (), ("ssn", "ward"))
    assert entry.basis == "Article 9(2)(j)" and entry.retention and entry.details == {"act": "share"}
    assert str(killed.verify()).endswith(f"; started and not finished: entry {entry.number}")
    assert not killed.overdue("2999-01-01"), "there is no table to delete"
    people.table(killed, "small", ssn=["1"])
    assert [one.number for one in killed.unfinished()] == [entry.number], "others do not end it"
    assert killed.prune().people > 0 and not killed.unfinished() and killed.people.links.count() == 1
    (closed,) = entries(killed, "failed")
    assert closed.details == {"act": "share", "reason": "never finished", "started": entry.number}
    assert str(killed.verify()) == "consistent, completeness unproven"


def test_a_restored_vault_tells_of_a_run_that_was_killed(vault, key, tmp_path, request):
    vault.backup(tmp_path / "backup.vault")
    vault.add_purpose("another")  # the numbers of later entries are others' in the restored vault
    number = request.getfixturevalue("killed").unfinished()[0].number
    (tmp_path / "again.csv").write_text("ssn,ward\n1,north\n2,north\n")
    vault.pseudonymise(tmp_path / "again.csv", ["ssn"], "another", out=tmp_path / "made.csv")
    count = vault.people.links.count()
    vault.close()
    done = Vault.restore(
        tmp_path / "new.vault", tmp_path / "backup.vault", erasures_from=vault.database.path, key_file=key
    )
    assert done.people == count
    with Vault.open(tmp_path / "new.vault", key_file=key) as again:
        (entry,) = entries(again, "failed")
        assert (entry.table, entry.partner) == ("out", "university") and entry.details["reason"] == "never finished"
        (table,) = entries(again, "known again")
        assert "started" not in table.details and "started" not in entry.details and number
        assert not again.unfinished()
        again.verify()


@pytest.mark.parametrize("kind", ["file", "slices", "frame"])
def test_a_run_in_pieces_is_started_before_anybody_is_taken_in(vault, tmp_path, monkeypatch, kind):
    given, options = pl.DataFrame({"ssn": ["1", "2"]}), {}
    if kind == "file":
        given.write_csv(tmp_path / "in.csv")
        given, options = tmp_path / "in.csv", {"out": tmp_path / "out.csv"}
    if kind == "slices":
        monkeypatch.setattr(tables, "ROWS", 0)
    resolve, seen = vault.resolve, []

    def watched(found):
        seen.append((len(entries(vault, "started")), vault.people.links.count(), vault.database.inside))
        return resolve(found)

    monkeypatch.setattr(vault, "resolve", watched)
    vault.pseudonymise(given, ["ssn"], "research", **options)
    (made,) = entries(vault, "pseudonymise")
    if kind == "frame":
        assert seen == [(0, 0, True)] and "started" not in made.details, "in one step"
    else:
        (started,) = entries(vault, "started")
        assert seen == [(1, 0, False)] and made.details["started"] == started.number
        assert started.categories == made.categories and started.retention == made.retention
    assert not vault.unfinished() and not entries(vault, "failed")


def test_a_file_that_is_refused_before_anybody_is_looked_up_is_not_started(vault, tmp_path):
    (tmp_path / "in.csv").write_text("ssn,a\nno number,x\n")
    before = vault.anchor().count
    with pytest.raises(VaultError):
        vault.pseudonymise(tmp_path / "in.csv", ["ssn"], "research", out=tmp_path / "out.csv")
    assert not entries(vault, "started") and vault.anchor().count - before <= 1  # the keys of the purpose
