"""Files that are there whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from discreet.documents.atomic_files import create_draft, create_file, publish_draft, replace_file, write_file


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(("mode", "found"), [(0o666, 0o644), (0o600, 0o600)])
def test_rights_are_those_asked_for_less_the_umask(tmp_path, umask, mode, found):
    for _ in range(2):  # anew, and in place of another
        write_file(tmp_path / "a", "ä", mode)
        assert (tmp_path / "a").read_bytes() == "ä".encode() and mode_of(tmp_path / "a") == found


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_was_there_stays_after_an_error(tmp_path, error):
    write_file(tmp_path / "a", "old")
    with pytest.raises(error), replace_file(tmp_path / "a") as draft:
        draft.write_text("ne")
        raise error
    assert (tmp_path / "a").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, name):
    write_file(tmp_path / "a", "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, name, full)
    with pytest.raises(OSError, match="No space"):
        write_file(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_killed_writer_leaves_what_was_there(tmp_path):
    write_file(tmp_path / "a", "old")
    code = (
        "import os, sys; from discreet.documents.atomic_files import replace_file\n"
        "with replace_file(sys.argv[1]) as draft: draft.write_text('ne'); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "a"]).returncode == -9
    assert (tmp_path / "a").read_text() == "old"


def test_the_disk_holds_the_content_before_the_name_and_the_name_before_it_is_done(tmp_path, monkeypatch):
    done, fsync, replace = [], os.fsync, os.replace

    def flushed(handle):
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def renamed(*names):
        done.append("name")
        replace(*names)

    with replace_file(tmp_path / "a") as draft:
        monkeypatch.setattr(os, "fsync", flushed)
        monkeypatch.setattr(os, "replace", renamed)
        draft.write_text("new")
    assert done == ["file", "name", "folder"]


@pytest.mark.parametrize("links", [True, False])
def test_what_is_published_never_replaces(tmp_path, monkeypatch, links):
    if not links:

        def none(*_):
            raise PermissionError

        monkeypatch.setattr(os, "link", none)
    for content in ("first", "second"):
        draft = create_draft(tmp_path / "a", 0o600)
        draft.write_text(content)
        if content == "first":
            publish_draft(draft, tmp_path / "a")
        else:
            with pytest.raises(FileExistsError):
                publish_draft(draft, tmp_path / "a")
    assert (tmp_path / "a").read_text() == "first" and mode_of(tmp_path / "a") == 0o600
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "a", 0o600)
