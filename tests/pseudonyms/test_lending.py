"""The worker file of a Spark on this machine: known to the register, and not left behind."""

import os
import stat
import subprocess
import sys

import pytest

from discreet.pseudonyms import lending
from discreet.pseudonyms.lending import lent
from discreet.pseudonyms.workers import Worker

pytestmark = pytest.mark.catalogue("PS4")
LENT = """
import os, signal, sys
from discreet.pseudonyms import Vault
from discreet.pseudonyms import lending
from discreet.pseudonyms.lending import lent
from discreet.pseudonyms.workers import Worker
with Vault.open(sys.argv[1], key_file=sys.argv[2]) as vault:
    version = vault.version("research")
    print(lent(vault, version, Worker.of(vault, version)), flush=True)
    if sys.argv[3] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def vault(make, file):
    """An open vault with derived links."""
    with make(file, links="derived") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where worker files of this machine lie."""
    (tmp_path / "run").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path / "run"


@pytest.fixture
def lend(vault):
    version = vault.version("research")
    return lambda: lent(vault, version, Worker.of(vault, version))


@pytest.fixture
def elsewhere(file, tmp_path):
    """Lends a file in another process, which is killed, or ends."""

    def run(how):
        command = [sys.executable, "-c", LENT, str(file), str(tmp_path / "key"), how]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    return run


def test_a_file_that_was_left_behind_is_removed_by_the_next(vault, folder, lend, elsewhere):
    left = elsewhere("killed")
    assert os.path.exists(left) and left.startswith(str(folder)) and stat.S_IMODE(os.stat(left).st_mode) == 0o600
    mine = lend()
    assert not os.path.exists(left) and os.path.exists(mine)
    assert not os.path.exists(elsewhere("ends")) and os.path.exists(mine)
    entries = [entry for entry in vault.register.entries() if entry.act == "worker file"]
    assert len(entries) == 3 and {entry.details["for"] for entry in entries} == {"Spark on this machine"}


def test_the_same_file_is_lent_until_somebody_is_erased(vault, folder, lend):
    first = lend()
    assert lend() == first
    vault.erase(vault.find({"ssn": "1"}), reason="asked")
    second = lend()
    assert second != first and os.path.exists(first)  # plans from before still need it
    os.unlink(second)
    assert lend() not in (first, second)


def test_folders_of_others_are_not_touched(folder, lend):
    for name in ("discreet-other", "elsewhere"):
        (folder / name).mkdir()
        (folder / name / "worker").touch()
    lend()
    assert (folder / "discreet-other" / "worker").exists() and (folder / "elsewhere" / "worker").exists()


def test_without_memory_of_its_own_it_lies_among_temporary_files(tmp_path, monkeypatch, lend):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert lend().startswith(str(tmp_path / "discreet-"))


def test_a_sweep_while_the_lock_is_being_made_leaves_the_folder(folder, lend, monkeypatch):
    """Another process sweeps before the lock is held, and just after."""
    hold = lending.hold

    def swept(handle):
        lending._sweep(str(folder))
        held = hold(handle)
        lending._sweep(str(folder))
        return held

    monkeypatch.setattr(lending, "hold", swept)
    path = lend()
    lending._sweep(str(folder))
    assert os.path.exists(path)


def test_without_locks_no_folder_is_taken_for_left_over(folder, lend, monkeypatch):
    monkeypatch.setattr(lending, "hold", lambda handle: False)
    path = lend()
    lending._sweep(str(folder))
    assert os.path.exists(path)


@pytest.mark.parametrize("where", ["temporary", "memory"])
def test_what_was_left_by_a_process_with_another_environment_is_removed(folder, lend, tmp_path, monkeypatch, where):
    base = tmp_path / "temporary" if where == "temporary" else tmp_path / "memory" / str(os.geteuid())
    left = base / "discreet-left"
    left.mkdir(parents=True)
    for name in ("worker", "worker.lock"):
        (left / name).touch()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(lending, "RUNTIME", str(tmp_path / "memory"))
    assert lend().startswith(str(folder)) and not left.exists()
