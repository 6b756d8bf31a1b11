"""A person's device: it pays first, says the same thing twice, and tells nothing by refusing."""

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys

import pytest

from discreet import Budget, BudgetExceeded, LedgerError, VersionError
from discreet.local import Device, Report, Survey
from discreet.local import device as module

COLOURS = Survey.choice("colour", ["red", "blue", "green"], 1)


def surveys(count, epsilon=1):
    return [Survey.choice(f"question {i}", ["a", "b"], epsilon) for i in range(count)]


def test_the_same_survey_is_answered_the_same(tmp_path):
    device = Device(tmp_path / "me", budget=1)
    first = device.answer(COLOURS, "red")
    again = Device(tmp_path / "me", budget=Budget(1.0))
    said = {device.answer(COLOURS, value) for value in ("red", "blue", "nothing", None)}
    said |= {again.answer(COLOURS.to_json(), value) for value in ("red", "green")}
    assert said == {first} and device.spent == 1 and device.left == 0
    assert again.answer(COLOURS.to_dict(), 3) == first
    assert json.loads(first.to_json()) == {"v": 1, "survey": COLOURS.digest, "r": list(first.numbers)}


def test_budgets_add_up_exactly():
    """Ten times 0.1 is 1; the eleventh is refused, and nothing is charged."""
    device = Device(budget=1)
    for survey in surveys(10, 0.1):
        device.answer(survey, "a")
    assert device.spent == 1
    for value in ("a", "b", "none of them"):
        with pytest.raises(BudgetExceeded, match="costs ε = 1, and of the budget of 1 only 0 is left"):
            device.answer(COLOURS, value)
    assert device.spent == 1 and device.left == 0
    assert device.answer(surveys(1, 0.1)[0], "b").survey == surveys(1, 0.1)[0].digest  # free, as before


def test_the_charge_comes_first(monkeypatch):
    """When the value is looked at, the charge is written; if answering fails, neither is there."""
    device, seen = Device(budget=2), []
    bits = module.Bits

    def watched():
        seen.append(device._memory.execute("select count(*) from charges").fetchone()[0])
        return bits()

    monkeypatch.setattr(module, "Bits", watched)
    device.answer(COLOURS, "red")
    assert seen == [1]
    monkeypatch.setattr(module, "Bits", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        device.answer(surveys(1)[0], "a")
    assert device.spent == 1


def test_what_was_spent_stays_spent(tmp_path):
    device = Device(tmp_path / "me", budget=1)
    device.answer(COLOURS, "red")
    with sqlite3.connect(tmp_path / "me") as connection:
        for statement in ("delete from charges", "update charges set total = '0'", "delete from memos"):
            with pytest.raises(sqlite3.Error, match="append-only"):
                connection.execute(statement)
    with pytest.raises(LedgerError, match="cannot be raised"):
        Device(tmp_path / "me", budget=2)
    with sqlite3.connect(tmp_path / "me") as connection:
        connection.execute("update settings set version = 2")
    with pytest.raises(VersionError):
        Device(tmp_path / "me", budget=1)


def test_bad_devices(tmp_path):
    for budget in (0, -1, float("inf"), float("nan"), "1", True, None):
        with pytest.raises(ValueError, match="`budget` of a device"):
            Device(budget=budget)
    with pytest.raises(ValueError, match="no delta"):
        Device(budget=Budget(1.0, 1e-6))
    with pytest.raises(LedgerError, match="no folder"):
        Device(tmp_path / "none" / "me", budget=1)
    (tmp_path / "junk").write_bytes(b"x" * 5000)
    with pytest.raises(LedgerError, match="cannot be used"):
        Device(tmp_path / "junk", budget=1)
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(Device(budget=1))
    assert "red" not in repr(Device(budget=1)) and oct((tmp_path / "junk").stat().st_mode)
    with pytest.raises(ValueError, match="A survey is a Survey"):
        Device(budget=1).answer(7, "a")
    Device(tmp_path / "secret", budget=1)
    assert (tmp_path / "secret").stat().st_mode & 0o077 == 0


def test_a_fork_does_not_spend_twice():
    device = Device(budget=1)
    child = os.fork()
    if child == 0:
        try:
            device.answer(COLOURS, "red")
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


WORK = """
import sys
from discreet.local import Device, Survey
device = Device(sys.argv[1], budget=40)
for i in range(40):
    report = device.answer(Survey.choice(f"question {i}", ["a", "b"], 1), "a")
    print(report.to_json(), flush=True)
"""


def start(path):
    return subprocess.Popen([sys.executable, "-c", WORK, str(path)], stdout=subprocess.PIPE, text=True)


def test_two_processes_and_kill_9(tmp_path):
    """What left before a process was killed is what is said after; two processes charge once and say the same."""
    path = tmp_path / "me"
    with start(path) as killed:
        left = [killed.stdout.readline() for _ in range(3)]
        killed.send_signal(signal.SIGKILL)
        left += [line for line in killed.stdout if line.endswith("\n")]
    with start(path) as one, start(path) as other:
        said = [process.communicate()[0].splitlines(keepends=True) for process in (one, other)]
    assert said[0] == said[1] and len(said[0]) == 40
    assert left == said[0][: len(left)]
    assert Device(path, budget=40).spent == 40


def test_reports_do_not_depend_on_when():
    """Two people who answer alike differ by their coins alone; a report is a plain value."""
    reports = {Device(budget=1).answer(COLOURS, "red") for _ in range(60)}
    assert len(reports) == 3
    assert Report("x", (1,)) == Report("x", (1,))
