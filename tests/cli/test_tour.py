"""The tour of docs/cli.md works, line by line, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from discreet import datasets

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def commands():
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.mark.slow
def test_every_line_works(run):
    made, *rest = commands()
    assert made == "python -m discreet.datasets" and len(rest) > 10
    datasets.save(run.folder)
    for line in rest:
        name, *arguments = shlex.split(line)
        assert name == "discreet"
        result = run(*arguments)
        assert result.exit_code == 0, (line, result.output)


def test_every_verb_is_on_the_page(run):
    page, listed = PAGE.read_text(encoding="utf-8"), run("--help").output
    verbs = re.findall(r"^  ([a-z]+)  ", listed.split("Commands:")[1], re.MULTILINE)
    assert len(verbs) >= 10
    for verb in verbs:
        assert f"`{verb}" in page, verb
