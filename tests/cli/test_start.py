"""The command as people start it: quick, in a process of its own, with exit codes."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = (
    "sklearn",
    "scipy",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "cryptography",
    "discreet.ledger",
    "discreet.models",
)


def discreet(*arguments, folder, **more):
    command = [sys.executable, "-m", "discreet.cli", *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100", **more}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_help_imports_little():
    code = (
        "import sys, typer.testing\nfrom discreet.cli import app\n"
        "result = typer.testing.CliRunner().invoke(app, ['--help'])\n"
        f"print(result.exit_code, [name for name in {HEAVY} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "0 []"


@pytest.mark.slow
def test_three_commands(table):
    folder = table.folder
    (folder / "privacy.toml").unlink()
    ranges = ["--number", "age=0:100", "--number", "cost=0:100", "--category", "ward=north,south,west", "--skip-rest"]
    made = discreet("init", "visits.csv", *ranges, "--unit", "row", "--epsilon", "2", folder=folder)
    assert made.returncode == 0, made.stderr
    described = discreet("describe", "visits.csv", "--epsilon", "0.5", "--json", folder=folder)
    assert json.loads(described.stdout)["receipt"]["ledger"]["spent"] == pytest.approx(0.5)
    fitted = discreet("fit", "visits.csv", "-t", "cost", "-e", "0.5", "-o", "model.json", folder=folder)
    assert fitted.returncode == 0 and "Receipt" in fitted.stdout, fitted.stderr


def test_a_terminal_without_greek(table):
    shown = discreet("describe", "visits.csv", "-e", "1", folder=table.folder, PYTHONIOENCODING="ascii")
    assert shown.returncode == 0 and "guarantee" in shown.stdout, shown.stderr


def test_errors_are_a_sentence_and_a_code(table):
    wrong = discreet("describe", "none.csv", "--epsilon", "1", folder=table.folder)
    assert (wrong.returncode, wrong.stderr) == (1, "Error: There is no file 'none.csv'.\n")
    assert discreet("describe", "visits.csv", "--epsilon", "x", folder=table.folder).returncode == 2
    (table.folder / "visits.csv").write_text("age,ward,cost,ill\n" + "Quagga,Quagga\n" * 3)
    damaged = discreet("describe", "visits.csv", "--epsilon", "1", folder=table.folder, DISCREET_DEBUG="1")
    assert damaged.returncode == 1 and "Quagga" not in damaged.stdout + damaged.stderr
    assert "Traceback" in damaged.stderr and damaged.stderr.splitlines()[-1].startswith("Error: ")


def test_a_reader_that_has_seen_enough(table):
    command = f"{sys.executable} -m discreet.cli describe visits.csv -e 1 | true"
    ended = subprocess.run(command, shell=True, cwd=table.folder, capture_output=True, text=True)
    assert ended.stderr == ""


def test_no_verb_is_a_request_for_help(run):
    assert run().exit_code == 0 and run().output == run("--help").output and "describe" in run().output
