"""The record of how long tests take, which is for their order alone."""

import json
from types import SimpleNamespace

from .durations import RECORD, longest_first


def test_no_file_is_listed_that_is_gone():
    listed = json.loads(RECORD.read_text(encoding="utf-8"))
    gone = [file for file in listed if not (RECORD.parent.parent / file).exists()]
    assert not gone, f"strike these out of {RECORD.name}, or run `make durations`"


def test_a_file_that_is_not_listed_goes_before_short_ones_and_after_long_ones(tmp_path, monkeypatch):
    record = tmp_path / "durations.json"
    record.write_text(json.dumps({"long.py": {"longest": 9.0}, "short.py": {"longest": 0.1}}), encoding="utf-8")
    monkeypatch.setattr("tests.durations.RECORD", record)
    names = ["short.py::a", "new.py::b", "long.py::c", "new.py::a@group"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    longest_first(items)
    assert [item.nodeid for item in items] == ["long.py::c", "new.py::b", "new.py::a@group", "short.py::a"]
    record.unlink()
    longest_first(items)
    assert [item.nodeid for item in items] == ["long.py::c", "new.py::b", "new.py::a@group", "short.py::a"]
