"""--json: one document on stdout, whatever happens, and the sentence for people on stderr."""

import json

import pytest

from .test_start import discreet

ERRORS = {
    "describe": ["describe", "none.csv", "-e", "1"],
    "fit": ["fit", "visits.csv", "-t", "coost", "-e", "1", "-o", "m.json"],
    "predict": ["predict", "none.json", "visits.csv", "-o", "p.csv"],
    "init": ["init", "visits.csv"],
    "frontier": ["frontier", "visits.csv", "-t", "cost", "-o", "f.png"],
    "audit": ["audit", "lineal"],
    "study": ["study", "sy0"],
    "anonymise": ["anonymise", "visits.csv", "-q", "age", "-o", "x.txt"],
    "risk": ["risk", "visits.csv", "-q", "agee", "-o", "r.txt"],
    "ledger": ["ledger", "show", "none.ledger"],
    "vault": ["vault", "verify", "none.vault"],
}


@pytest.mark.parametrize("verb", ERRORS)
def test_errors_are_documents(table, verb):
    result = table(*ERRORS[verb], "--json")
    told = json.loads(result.stdout)
    assert told["code"] == result.exit_code == 1 and result.stderr == f"Error: {told['error']}\n", result.output
    assert table(*ERRORS[verb]).stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "visits.csv", "--json"],
        ["describe", "visits.csv", "-e", "one", "--json"],
        ["describe", "--json", "visits.csv", "-e", "1", "--nope"],
        ["nope", "--json"],
        ["--json", "describe"],
        ["ledger", "nope", "--json"],
        ["vault", "create", "postgresql://a:b@127.0.0.1/x", "--field", "a=text", "--identity", "a=a", "--json"],
    ],
)
def test_so_are_usage_errors(table, words):
    result = table(*words)
    told = json.loads(result.stdout)
    assert told["code"] == result.exit_code == 2 and told["error"] and result.stderr, result.output


def test_so_are_refusals(table):
    vault = ["--field", "ssn=digits:9", "--identity", "ssn=ssn", "--key-file", "k"]
    assert table("vault", "create", "c.vault", *vault).exit_code == 0
    (table.folder / "person.json").write_text('{"ssn": "1"}')
    erase = ["vault", "erase", "c.vault", "--reason", "asked", "--person", "person.json", "--key-file", "k"]
    result = table(*erase, "--json", input="n\n")
    told = json.loads(result.stdout.splitlines()[-1])  # before it, what was typed
    assert (result.exit_code, told) == (1, {"error": "Aborted.", "code": 1})


def test_there_is_one_document_where_an_answer_was_given_before_the_error(table, monkeypatch):
    from discreet.cli import pictures

    def broken(found):
        raise OSError(28, "full")

    monkeypatch.setattr(pictures, "png", broken)
    result = table("describe", "visits.csv", "-e", "1", "--columns", "age", "-o", "v.png", "--json")
    assert result.exit_code == 1 and "columns" in json.loads(result.stdout) and "No space left" in result.stderr


def test_no_document_of_one_command_is_left_for_the_next(table):
    assert json.loads(table(*ERRORS["describe"], "--json").stdout)
    assert table(*ERRORS["describe"]).stdout == ""
    assert json.loads(table(*ERRORS["fit"], "--json").stdout)


def test_in_a_process_of_its_own(table):
    wrong = discreet("describe", "visits.csv", "--json", folder=table.folder)
    assert wrong.returncode == 2 and json.loads(wrong.stdout)["code"] == 2 and "--epsilon" in wrong.stderr
