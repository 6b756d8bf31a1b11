"""Sentences and numbers as people need them: hints of the command line, what a failure cost, what is left."""

import re

import polars as pl
import pytest
from typer.testing import CliRunner

from discreet import Budget, Ledger
from discreet.cli import app
from discreet.cli.facts import read
from discreet.cli.hints import spoken

PYTHON = re.compile(r"Vault\.|vault\.\w+\(|Dialect|=\[|=\"|\{\"|\.\.\.\)|True|None")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            'No field. Hint: a mapping {"column": "field"} says of which field a column is.',
            "--identifiers COLUMN=FIELD",
        ),
        ('There is no purpose. Hint: vault.add_purpose("ads").', "discreet vault purpose VAULT NAME"),
        ('There is no partner. Hint: vault.add_partner("x").', "discreet vault partner VAULT NAME"),
        ("There is no vault. Hint: Vault.create(...).", "discreet vault create"),
        ('Derived. Hint: Vault.create(..., links="derived").', "discreet vault create --links derived"),
        ("It exists. Hint: overwrite=True, or another name.", "--force, or another name"),
        ('Encoding. Hint: say which it is, as in Dialect(encoding="latin-1").', "--encoding NAME"),
        ("Names. Hint: name them as identifiers, leave them out, or keep=['name'].", "--keep NAME"),
        ("Several tables. Hint: entry=...", "--entry NUMBER"),
        (
            'Two columns. Hint: rows of two people are {"patient": ["ssn"], "doctor": {"signed by": "ssn"}}.',
            "--identifiers ssn --column patient --identifiers doctor_ssn=ssn --column doctor",
        ),
        ("They stay. Hint: all are moved together, column=['patient', 'doctor'].", "--column NAME for each"),
        (
            "No pure ε. Hint: Gaussian noise has no pure ε; open the ledger with delta > 0.",
            "delta = 1e-6 under [budget]",
        ),
    ],
)
def test_hints_are_of_the_command_line(message, told):
    said = spoken(message)
    assert told in said and not PYTHON.search(said.partition("Hint")[2]), said
    assert said.startswith(message.partition(" Hint")[0])


@pytest.mark.catalogue("PS3")
def test_hints_of_a_vault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        return CliRunner().invoke(app, ["vault", *words, "--key-file", "k"])

    assert run("create", "c.vault", "--field", "ssn=digits:9", "--identity", "ssn=ssn").exit_code == 0
    pl.DataFrame({"pid": ["1"], "cost": [1]}).write_csv("v.csv")
    table = ["pseudonymise", "c.vault", "v.csv", "-o", "o.csv", "--purpose", "ads", "--identifiers"]
    assert "Hint: discreet vault purpose VAULT NAME" in run(*table, "pid=ssn").stderr
    run("purpose", "c.vault", "ads")
    assert "Hint: --identifiers COLUMN=FIELD" in run(*table, "pid").stderr
    said = run(*table, "pid=ssn,cost=ssn").stderr
    assert "Hint: --identifiers ssn --column patient" in said and "{" not in said
    assert "Hint: discreet vault create" in run("verify", "none.vault").stderr


@pytest.mark.parametrize("expected", ["0", "1", "1.5", "much"])
def test_a_guess_is_between_nothing_and_all(table, expected):
    words = ["frontier", "visits.csv", "-t", "cost", "--simulate", "--n", "100", "-o", "f.png", "--expected", expected]
    result = table(*words)
    said = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2 and "a number between 0 and 1, such as 0.6" in said and "`expected`" not in said


@pytest.mark.parametrize("row", [b"p1,5,Bj\xf6rn,1,no\n", b"p1,5\n", b"p1,5,north,1,no,1\n"])
@pytest.mark.parametrize("verb", [["describe"], ["fit", "-t", "cost", "-o", "m.json"]])
def test_a_file_that_cannot_be_read_is_told_in_two_sentences(table, row, verb):
    path = table.folder / "visits.csv"
    path.write_bytes(path.read_bytes() + row)
    result = table(verb[0], "visits.csv", "-e", "1", *verb[1:])
    said = result.stderr.removeprefix("Error: ").strip()
    assert result.exit_code == 1 and "rn" not in said.replace("header", ""), said
    first, second = re.split(r"(?<=\.) (?=ε)", said)
    assert "a row has more or fewer cells than the header, a value is no UTF-8 text" in first and "date" not in first
    assert second.startswith("ε = 1, δ = 1e-06 was charged before reading and stays charged: mend its encoding or the")
    assert second.endswith("then ask again, which costs again.") and second.count(". ") == 0
    assert len(read(table.folder / "privacy.toml").account().entries) == 1


def test_predictions_have_a_place_of_their_own(table):
    table("fit", "visits.csv", "-t", "cost", "-e", "3", "-o", "model.json")
    result = table("predict", "model.json", "visits.csv")
    assert result.exit_code == 0 and "Written: visits.predictions.csv" in result.stdout, result.output
    assert len((table.folder / "visits.predictions.csv").read_text().splitlines()) == 2001
    assert "is there already" in table("predict", "model.json", "visits.csv").stderr


def test_a_model_is_json(table):
    result = table("fit", "visits.csv", "-t", "cost", "-e", "3", "-o", "model.txt")
    assert result.exit_code == 1 and "The model ends in .json. Got 'model.txt'" in result.stderr
    assert not read(table.folder / "privacy.toml").account().entries


def test_standard_errors_are_written_out(table):
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("high = 100", "high = 90000000"))
    rows = pl.read_csv(table.folder / "visits.csv").with_columns(pl.col("cost") * 300_000)
    rows.write_csv(table.folder / "visits.csv")
    result = table("fit", "visits.csv", "-t", "cost", "-e", "1", "-o", "m.json")
    assert result.exit_code == 0 and "e+0" not in result.stdout, result.stdout


def test_why_more_is_left_than_the_difference(table):
    assert "less than their sum" not in table("describe", "visits.csv", "-e", "4", "--columns", "age").stdout
    ledger = Ledger.open(table.folder / "own.ledger", Budget(3.0, 1e-6), data="visits")
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("epsilon = 4.0", "epsilon = 3.0").replace("visits.ledger", "own.ledger"))
    said = table("describe", "visits.csv", "-e", "1.1", "--columns", "age").stdout
    left = float(re.search(r"may cost up to ε = ([\d.]+): answers together cost less than their sum", said)[1])
    assert left > 3.0 - ledger.spent + 0.1
    assert "answers together cost less than their sum." in table("ledger", "show", "visits.csv").stdout


def test_people_can_deny_and_rows_cannot():
    assert "as likely with them as without them." in Budget(1.0, unit="patient").explain()
    assert "as likely with their row as without it." in Budget(1.0).explain()


def test_the_account_of_a_file_that_is_not_there(run):
    result = run("ledger", "show", "no.csv")
    assert (result.exit_code, result.stderr) == (1, "Error: There is no file 'no.csv'.\n")


def test_ledgers_are_whole_in_a_narrow_terminal(table, monkeypatch):
    from discreet.events import Laplace

    monkeypatch.setenv("COLUMNS", "80")
    ledger = Ledger.open(table.folder / "own.ledger", Budget(30.0, 1e-6), data="visits")
    ledger.charge("a very long name of a release " * 4, Laplace(1.0))
    shown = table("ledger", "show", "own.ledger").stdout
    assert "…" not in shown and re.sub(r"\s+", "", shown).count("averylongnameofarelease") >= 1
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown)
