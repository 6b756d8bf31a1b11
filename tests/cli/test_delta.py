"""A δ that is no promise is refused wherever it is written, also where nobody said how many units there are."""

import pytest

from discreet import datasets
from discreet.cli.facts import read


@pytest.fixture
def unknown(table):
    """The same table, with facts that do not tell n, and no ledger."""
    path = table.folder / "privacy.toml"
    path.write_text(path.read_text().replace("n = 2000\n", "").partition("[ledger]")[0])
    return table


@pytest.mark.parametrize("delta", ["0.9", "0.1"])
@pytest.mark.parametrize("verb", [["describe"], ["fit", "-t", "cost", "-o", "m.json"]])
def test_as_an_option(unknown, verb, delta):
    result = unknown(verb[0], "visits.csv", "-e", "0.1", "--delta", delta, *verb[1:])
    assert result.exit_code == 1 and result.stdout == "", result.output
    assert "The --delta must be below 0.1: with such a δ, one row in" in result.stderr
    assert "Hint: 1e-6, or 0" in result.stderr


def test_large_ones_are_noted(unknown):
    result = unknown("describe", "visits.csv", "-e", "1", "--delta", "0.002", "--columns", "age")
    assert result.exit_code == 0 and "0.002, is large: it is the probability that the guarantee fails" in result.stderr


def test_small_ones_are_fine(unknown):
    for delta in ("0.001", "1e-6", "0"):
        result = unknown("describe", "visits.csv", "-e", "1", "--delta", delta, "--columns", "age")
        assert result.exit_code == 0 and "guarantee" not in result.stderr


def test_in_the_facts(unknown):
    path = unknown.folder / "privacy.toml"
    path.write_text(path.read_text().replace("delta = 1e-6", "delta = 0.5"))
    result = unknown("describe", "visits.csv", "-e", "1")
    assert result.exit_code == 1 and "The `delta` of [budget] must be below 0.1" in result.stderr


INIT = ["init", "visits.csv", "--number", "age=0:120", "--skip-rest", "--unit", "row", "-e", "1", "-o", "new.toml"]


def test_in_init(table):
    result = table(*INIT, "--delta", "0.4")
    assert result.exit_code == 1 and "The --delta must be below 0.1" in result.stderr, result.output
    assert not (table.folder / "new.toml").exists()
    result = table(*INIT, "--delta", "1e-4", "--n", "2000")
    assert result.exit_code == 0 and "0.0001, is not far below 1/n for n = 2000" in result.stderr


def test_asked_for_again(table):
    answers = "row\nskip\nnumber\n0:120\nskip\nskip\nskip\n\n1\n0.4\n1e-5\nnone\n"
    result = table("init", "visits.csv", "-o", "new.toml", input=answers)
    assert result.exit_code == 0, result.output
    assert "or a small number such as 1e-6. Got '0.4'" in result.stderr
    assert read(table.folder / "new.toml").delta == 1e-5


def test_nobody_is_not_a_number_of_units(table):
    result = table(
        "init", "visits.csv", "--number", "age=0:120", "--skip-rest", "-o", "n.toml", input="row\n0\n\n1\n1e-5\nnone\n"
    )
    assert "must be a whole number >= 1, or empty. Got '0'" in result.stderr


def test_more_than_the_account_has(table):
    result = table("describe", "visits.csv", "-e", "0.5", "--delta", "2e-5")
    assert result.exit_code == 1 and "is more than the δ of the whole account, 1e-06" in result.stderr, result.output
    assert "Hint: leave --delta out" in result.stderr and "epsilon <=" not in result.stderr
    assert not read(table.folder / "privacy.toml").account().entries


def test_the_bundled_facts_tell_how_many_there_are(run):
    datasets.save(run.folder, n=300)
    assert read(run.folder / "privacy.toml").n == 300
    toml = run.folder / "privacy.toml"
    toml.write_text(toml.read_text().replace("delta = 1e-06", "delta = 1e-4").replace("delta = 1e-6", "delta = 1e-4"))
    result = run("describe", "hospital.csv", "-e", "0.5", "--columns", "age")
    assert result.exit_code == 0 and "not far below 1/n for n = 300" in result.stderr, result.output
