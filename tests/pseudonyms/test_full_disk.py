"""Disks that are full at the wrong moment: what was done is said to be done, and nothing half-made stays."""

import contextlib
import os

import pytest

from discreet.pseudonyms.errors import VaultError
from discreet.pseudonyms.register import Register
from discreet.pseudonyms.sqlite import Sqlite
from discreet.pseudonyms.vault import Vault

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.catalogue("PS3")


@contextlib.contextmanager
def limited(size):
    """No file grows beyond a size; Python ignores the signal, so writes fail as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def crowded(make, file, people):
    """A vault whose log holds pages that the file has no room for, and the size of the file."""
    numbers = [str(number) for number in range(6000)]
    vault = make(file)
    ids = people.resolve(vault, ssn=numbers).ids
    vault.tidy()
    version = vault.version("research")
    vault.record("pseudonymise", table="visits", version=version, mark=0, ids=ids, rows=len(ids))
    yield vault, os.path.getsize(file)
    vault.close()


def test_an_erasure_that_was_committed_is_told(crowded, file, key):
    vault, size = crowded
    with limited(size):
        done = vault.erase(vault.find({"ssn": "1"}), reason="asked")
        assert not done.cleaned and [one.table for one in done.locators] == ["visits"]
        assert any("disk is full" in line for line in done.remains)
        assert not vault.find({"ssn": "1"}).known
        with Vault.open(file, key_file=key) as other:
            assert not other.find({"ssn": "1"}).known and other.find({"ssn": "2"}).known
            other.verify()
    assert vault.tidy()


def test_other_acts_that_tidy_up(crowded, key):
    vault, size = crowded
    with limited(size):
        assert vault.rewrap(key_file=key) is False
        assert not vault.retire("visits").cleaned
    vault.verify()


def test_what_a_purge_left_in_the_log_is_told(make, file, monkeypatch):
    import datetime

    from discreet.pseudonyms import purging

    with make(file) as vault:
        vault.erase(vault.find({"ssn": "1"}), reason="asked", keep=1)
        monkeypatch.setattr(purging, "today", lambda: datetime.date(2999, 1, 1))
        monkeypatch.setattr(Sqlite, "tidy", lambda self, wait=5.0: False)
        assert vault.purge() == purging.Purged(1, False)
        assert vault.purge() == purging.Purged(0, True)


def test_a_server_that_cannot_vacuum(make, place, monkeypatch):
    if not place.startswith("postgresql"):
        pytest.skip("of a server")
    from discreet.pseudonyms import postgres

    with make(place) as vault:
        monkeypatch.setattr(postgres, "TABLES", ("nothing",))
        assert vault.tidy() is False
        vault.add_purpose("another")


def left(folder):
    return {name for name in os.listdir(folder) if not name.startswith(("people.vault", "key"))}


def test_a_worker_file_is_whole_or_not_there(make, file, tmp_path):
    with make(file, links="derived") as vault:
        before = vault.anchor()
        with limited(50), pytest.raises(VaultError, match="cannot be made: File too large"):
            vault.worker_file(tmp_path / "worker", "research")
        assert left(tmp_path) == set() and vault.anchor() == before
        vault.worker_file(tmp_path / "worker", "research")


def test_a_file_of_erasures_is_whole_or_not_there(make, file, tmp_path):
    with make(file) as vault, limited(50), pytest.raises(VaultError, match="cannot be made: File too large"):
        vault.erasures(tmp_path / "erasures")
    assert left(tmp_path) == set()


def test_a_restore_is_whole_or_not_there(make, file, key, tmp_path):
    with make(file) as vault:
        anchor = vault.backup(tmp_path / "copy.vault")
    with limited(20_000), pytest.raises(VaultError, match="cannot be made: File too large"):
        Vault.restore(tmp_path / "new.vault", tmp_path / "copy.vault", erasures_from=anchor, key_file=key)
    assert left(tmp_path) == {"copy.vault"}


def test_a_backup_that_is_not_registered_does_not_stay(make, file, tmp_path, monkeypatch):
    def full(self, act, **content):
        raise VaultError("The disk is full.")

    with make(file) as vault:
        with monkeypatch.context() as patch, pytest.raises(VaultError, match="disk is full"):
            patch.setattr(Register, "append", full)
            vault.backup(tmp_path / "copy.vault")
        assert left(tmp_path) == set()
        with limited(20_000), pytest.raises(VaultError, match=r"copy\.vault"):
            vault.backup(tmp_path / "copy.vault")
        assert left(tmp_path) == set()
        vault.verify()
