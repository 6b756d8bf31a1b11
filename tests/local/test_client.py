"""The client in JavaScript gives the same report as the device for the same bits."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import discreet.local
from discreet.local import Survey

from . import vectors

CLIENT = Path(discreet.local.__file__).parent / "client.js"


def test_the_vectors_are_those_of_the_device():
    stored = json.loads(vectors.PATH.read_text("utf-8"))
    assert sum(len(one["reports"]) for one in stored) >= vectors.REPORTS
    for one in stored:
        survey = Survey.from_json(one["survey"])
        made = [
            vectors.answer(survey, one["values"][j % len(one["values"])], one["seed"] + j)
            for j in range(len(one["reports"]))
        ]
        assert made == one["reports"] and survey.digest == one["digest"], survey.name


def test_the_client_is_small_and_decides_in_whole_numbers():
    code = re.sub(r"//.*", "", CLIENT.read_text("utf-8"))
    assert not re.search(r"Math\.(?!ceil|abs)|\brequire\b|^import|Date|[^\w.]\d+\.\d", code, re.M)
    assert "getRandomValues" in code and len(code) < 36_000


def test_the_client_gives_the_same_reports(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node here: the client in JavaScript was not run")
    client = tmp_path / "client.mjs"
    client.write_text(CLIENT.read_text("utf-8"), encoding="utf-8")
    script = Path(__file__).parent / "client_check.mjs"
    run = subprocess.run([node, script, client, vectors.PATH], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["wrong"] == [] and found["same"] >= vectors.REPORTS
    assert found["first"] == found["again"] and set(found["first"]) == {"v", "survey", "r"}
    assert abs(found["left"]) < 1e-12
    refused = ["does not fit into the budget", "tells more than its ε", "is above 0", "not a survey"]
    assert all(part in error for part, error in zip(refused, found["errors"], strict=True)), found["errors"]
