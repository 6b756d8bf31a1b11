"""What all verbs share: errors in a sentence, files whole or not at all, documents that are JSON."""

import json
import os
import sys
import warnings

import numpy as np
import pytest
import typer

from discreet import Budget, DeltaWarning, Ledger, Release
from discreet.cli import console
from discreet.events import Laplace


def sentence(raising, capsys):
    with pytest.raises(typer.Exit) as stopped, console.guarded():
        raising()
    assert stopped.value.exit_code == 1
    assert stopped.value.__suppress_context__ and not stopped.value.__context__.args
    return capsys.readouterr().err


def test_what_discreet_says_is_shown(capsys):
    assert sentence(lambda: Budget(-1), capsys).startswith("Error: The `epsilon` of a budget must be")


@pytest.mark.parametrize("raising", [lambda: float("CANARY"), lambda: np.array(["CANARY"]).astype(float)])
def test_what_others_say_is_not_shown(raising, capsys):
    told = sentence(raising, capsys)
    assert "CANARY" not in told and "ValueError" in told


def test_what_c_code_says_inside_discreet_is_not_shown(capsys):
    from discreet.labels import listed

    class Strange:
        def __iter__(self):
            return iter([float("CANARY")])

    told = sentence(lambda: listed(Strange()), capsys)
    assert "CANARY" not in told and "Something went wrong" in told


def test_a_missing_file_is_named(capsys):
    assert sentence(lambda: os.stat("nowhere.csv"), capsys) == "Error: No such file or directory ('nowhere.csv').\n"


def test_debugging_shows_places_and_no_messages(capsys, monkeypatch):
    monkeypatch.setenv("DISCREET_DEBUG", "1")
    secret = "CANARY"
    told = sentence(lambda: float(secret), capsys)
    assert "Traceback" in told and "test_console.py" in told and "CANARY" not in told


def test_warnings_of_discreet_are_notes_and_others_are_dropped(capsys):
    with console.guarded():
        warnings.warn("too large", DeltaWarning, stacklevel=1)
        warnings.warn("CANARY", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "Note: too large\n"


def test_documents_are_strict_json(capsys):
    console.answer({"a": np.array([1.0, np.nan]), "b": (np.int64(2), float("inf"))}, json=True)
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": [2, None]}
    console.answer({"a": 1}, json=False)
    console.say("for people", json=True)
    assert capsys.readouterr().out == ""


def test_receipts_with_and_without_an_account(capsys):
    release = Release("mean", 1.0, 0.1, Laplace(1.0), Budget(1.0))
    console.receipt(release)
    assert "nobody adds it up" in capsys.readouterr().out
    ledger = Ledger(Budget(2.0), data="visits")
    ledger.charge("mean", Laplace(1.0))
    console.receipt(release, ledger)
    assert "spent ε = 1 of 2" in capsys.readouterr().out
    assert console.spent(release, ledger)["ledger"]["remaining"] == 1.0


def test_outputs_are_checked_first(tmp_path, capsys):
    there = tmp_path / "there"
    there.write_text("old")
    refused = {
        tmp_path: "is a folder",
        tmp_path / "no" / "file": "There is no folder",
        there: "is there already",
    }
    for path, why in refused.items():
        with pytest.raises(typer.Exit):
            console.writing(path)
        assert why in capsys.readouterr().err
    with pytest.raises(typer.Exit):
        console.writing(there, force=True, inputs=[there])
    assert "files that are read" in capsys.readouterr().err
    assert there.read_text() == "old" and os.listdir(tmp_path) == ["there"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="special files of POSIX")
def test_special_files_are_not_replaced(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        with pytest.raises(typer.Exit):
            console.writing(path, force=True)
        assert "no ordinary file" in capsys.readouterr().err


def test_inputs_that_are_not_there_yet(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit):
        console.writing("new.ledger", inputs=[tmp_path / "." / "new.ledger"])
    assert "read or kept" in capsys.readouterr().err


def test_hints_are_for_the_command_line():
    assert console.spoken("It failed. Hint: encode with OneHotEncoder(categories=...).").startswith(
        "It failed. Hint: in privacy.toml"
    )
    assert console.spoken("It failed. Hint: --force.") == "It failed. Hint: --force."


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="rights do not stop this user")
def test_a_folder_without_rights(tmp_path, capsys):
    tmp_path.chmod(0o500)
    with pytest.raises(typer.Exit):
        console.writing(tmp_path / "file")
    tmp_path.chmod(0o700)
    assert "Nothing can be written" in capsys.readouterr().err


def test_outputs_are_whole_or_not_there(tmp_path):
    out = console.writing(tmp_path / "new.txt")
    with pytest.raises(RuntimeError), out.open() as file:
        file.write(b"half")
        raise RuntimeError
    assert os.listdir(tmp_path) == []
    out.write("whole")
    again = console.writing(tmp_path / "new.txt", force=True)
    with pytest.raises(RuntimeError), again.beside() as path:
        path.write_text("half")
        raise RuntimeError
    assert os.listdir(tmp_path) == ["new.txt"] and (tmp_path / "new.txt").read_text() == "whole"


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_secret_outputs_are_for_their_owner(tmp_path):
    console.writing(tmp_path / "key", secret=True).write(b"k")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
