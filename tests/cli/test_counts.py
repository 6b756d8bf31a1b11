"""How many rows and people a table has is in the register's export, and nowhere on the terminal."""

import json
import re

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli import app

pytestmark = pytest.mark.catalogue("PS3")
KEY = ["--key-file", "k"]
WHO = ["--identifiers", "ssn", "--purpose", "research"]
MANY = 4137


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A vault, and a table of MANY people, of whom 517 have no identity."""
    monkeypatch.chdir(tmp_path)

    def called(*words, code=0, columns="200"):
        result = CliRunner().invoke(app, ["vault", *words, *KEY], env={"COLUMNS": columns})
        assert result.exit_code == code, result.output
        return result

    called("create", "c.vault", "--field", "ssn=digits:9", "--identity", "ssn=ssn")
    called("purpose", "c.vault", "research", "--retention", "2031-12-31")
    called("partner", "c.vault", "university")
    ssn = [str(100_000_000 + i) for i in range(MANY)]
    pl.DataFrame({"ssn": ssn, "cost": [i % 7 for i in range(MANY)]}).write_csv("whole.csv")
    holes = [None if i < 517 else one for i, one in enumerate(ssn)]
    pl.DataFrame({"ssn": holes, "cost": [1] * MANY}).write_csv("holes.csv")
    return called


def numbers(result):
    """All numbers of three digits or more in what was printed, but for times and keys."""
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]?|\d\d:\d\d:\d\d\S*|[0-9a-f]{8,}", "", result.output)
    return {int(one.replace(",", "")) for one in re.findall(r"\d[\d,]{2,}", text)}


def test_no_verb_that_makes_a_table_prints_a_count(run):
    for flags in [], ["--json"]:
        more = ["--force", *flags]
        made = run("pseudonymise", "c.vault", "whole.csv", "-o", "own.csv", *WHO, *more)
        shared = run("share", "c.vault", "whole.csv", "-o", "for.csv", *WHO, "--partner", "university", *more)
        theirs = ["--purpose", "research", "--partner", "university"]
        back = run("unshare", "c.vault", "for.csv", "-o", "back.csv", *theirs, *more)
        sealed = run("reseal", "c.vault", "own.csv", "-o", "new.csv", "--purpose", "research", *more)
        left = run("pseudonymise", "c.vault", "holes.csv", "-o", "left.csv", *WHO, "--missing", "skip", *more)
        assert "Note: rows were left out" in left.stderr
        for result in (made, shared, back, sealed, left):
            assert not numbers(result) & {MANY, 517, MANY - 517}, result.output
            if flags:
                told = json.loads(result.stdout)
                assert "rows" not in told and not any(" " in name for name in told["details"])
            else:
                assert re.search(r"Entry \d+ of the register holds the counts\.", result.stdout)


def test_refusals_print_none_either(run):
    missing = run("pseudonymise", "c.vault", "holes.csv", "-o", "x.csv", *WHO, code=1)
    assert "Some rows hold no whole identity" in missing.stderr and "Hint: --missing skip" in missing.stderr
    pl.read_csv("whole.csv").with_columns(ssn=pl.lit("x-1")).write_csv("bad.csv")
    unread = run("pseudonymise", "c.vault", "bad.csv", "-o", "x.csv", *WHO, code=1)
    assert "do not parse as declared, in 'ssn'" in unread.stderr
    pl.read_csv("whole.csv").with_columns(cost=pl.int_range(pl.len())).write_csv("lone.csv")
    to = ["--partner", "university", "--require-k", "5"]
    lone = run("share", "c.vault", "lone.csv", "-o", "x.csv", *WHO, *to, code=1)
    assert "Somebody looks like fewer people than --require-k" in lone.stderr
    for result in (missing, unread, lone):
        assert not numbers(result) & {MANY, 517}, result.output


def test_the_register_tells_it_to_a_file_alone(run):
    run("pseudonymise", "c.vault", "holes.csv", "-o", "out.csv", *WHO, "--missing", "skip")
    shown, document = run("register", "c.vault"), run("register", "c.vault", "--json")
    for result in (shown, document):
        assert not numbers(result) & {MANY, 517, MANY - 517}, result.output
    run("register", "c.vault", "-o", "r.json")
    with open("r.json", encoding="utf-8") as file:
        last = json.load(file)[-1]
    assert last["rows"] == MANY - 517 and last["details"]["rows left out"] == 517


def test_the_register_is_whole_in_a_narrow_terminal(run):
    run("pseudonymise", "c.vault", "whole.csv", "-o", "a-long-name-of-a-table.csv", *WHO, "--who", "somebody.or.other")
    shown = run("register", "c.vault", columns="80").stdout
    assert "…" not in shown and "2031-12-31" in shown and re.search(r"\d{4}-\d\d-\d\d ", shown)
    assert max(map(len, shown.splitlines())) <= 80
    assert "pseudonymise" in shown and "research" in shown and "university" in shown
