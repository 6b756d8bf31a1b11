"""A vault that is opened, checked or read again in one process, beside another process: no lock is lost."""

import os
import subprocess
import sys

import pytest

from discreet.pseudonyms import handles
from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.handles import Handle
from discreet.pseudonyms.sqlite import check_file
from discreet.pseudonyms.vault import Vault

pytestmark = pytest.mark.catalogue("PS3")
OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
print(sum(connection.execute(f"select count(*) from {name}").fetchone()[0] for name in tables))
connection.close()
"""


@pytest.fixture
def before():
    """What is open: vaults of other tests, maybe."""
    return dict(handles._open)


def elsewhere(file):
    """How many rows another process sees; it closes the vault, and removes the log if it takes itself for the last."""
    return int(subprocess.run([sys.executable, "-c", OTHER, str(file)], capture_output=True, check=True).stdout)


def here(vault):
    tables = vault.database.read("select name from sqlite_master where type = 'table'")
    return sum(vault.database.read(f"select count(*) from {name}")[0][0] for (name,) in tables)


def again(file, key):
    """The same cell of a notebook, run again."""
    return Vault.open(file, key_file=key)


def briefly(file, key):
    Vault.open(file, key_file=key).close()


def checked(file, key):
    check_file(str(file))


def source(file, key):
    """A restore that the living vault tells of erasures."""
    copy = file.with_name("copy.vault")
    Vault.restore(file.with_name("new.vault"), copy, erasures_from=file, key_file=key)


def copied(file, key):
    """The living vault, mistaken for a backup: it is refused, if only for its log."""
    with pytest.raises(VaultError, match="in use"):
        Vault.restore(file.with_name("new.vault"), file, erasures_from=file, key_file=key)


@pytest.mark.parametrize("act", [again, briefly, checked, source, copied])
def test_what_was_acknowledged_stays_beside_another_process(make, file, key, people, act, before):
    with make(file) as vault:
        vault.backup(file.with_name("copy.vault"))
        people.table(vault, "first", ssn=["1"])
        second = act(file, key)
        elsewhere(file)
        assert os.path.exists(f"{file}-wal"), "another process took itself for the last one"
        people.table(vault, "second", ssn=["2"])
        assert elsewhere(file) == here(vault)
        if second is not None:
            second.close()
            elsewhere(file)
            assert os.path.exists(f"{file}-wal")
    assert handles._open == before


def test_an_erasure_elsewhere_is_not_undone_by_who_opened_twice(make, file, key, people):
    with make(file) as vault:
        people.table(vault, "first", ssn=["1", "2"])
        Vault.open(file, key_file=key).close()
        elsewhere(file)
        people.table(vault, "second", ssn=["3"])
        code = (
            "import sys; from discreet.pseudonyms import Vault\n"
            "with Vault.open(sys.argv[1], key_file=sys.argv[2]) as vault:\n"
            "    vault.erase(vault.find({'ssn': '2'}), reason='asked')\n"
        )
        subprocess.run([sys.executable, "-c", code, str(file), str(key.path)], check=True)
        assert not vault.find({"ssn": "2"}).known
        people.table(vault, "third", ssn=["4"])
    with Vault.open(file, key_file=key) as vault:
        assert not vault.find({"ssn": "2"}).known
        assert [entry.act for entry in vault.register.entries()][-2:] == ["erase", "pseudonymise"]


def test_one_descriptor_for_each_file(tmp_path, before):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode() * 10)
    os.link(tmp_path / "a", tmp_path / "linked")
    with Handle(tmp_path / "a") as first, Handle(tmp_path / "linked") as second:
        assert (
            len(handles._open) == len(before) + 1
            and first.same(tmp_path / "linked")
            and not first.same(tmp_path / "none")
        )
        os.replace(tmp_path / "b", tmp_path / "a")
        assert not first.same(tmp_path / "a") and second.read(2, at=3) == b"aa"
        with Handle(tmp_path / "a") as third:
            assert len(handles._open) == len(before) + 2 and b"".join(third.pieces()) == b"b" * 10
        first.release()
        first.release()
        assert second.read(100) == b"a" * 10
    assert handles._open == before


def test_a_vault_that_is_replaced_while_it_is_opened(make, file, tmp_path, key, monkeypatch, before):
    make(file).close()
    make(tmp_path / "other.vault").close()
    from discreet.pseudonyms import sqlite

    connect = sqlite._connect

    def late(path):
        os.replace(tmp_path / "other.vault", file)
        return connect(path)

    monkeypatch.setattr(sqlite, "_connect", late)
    with pytest.raises(VaultError, match="was replaced while it was being opened"):
        Vault.open(file, key_file=key)
    assert handles._open == before
