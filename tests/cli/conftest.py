"""A small table with its facts, and a way to run verbs in its folder."""

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli import app

FACTS = """
[data]
path = "visits.csv"
n = 2000

[columns.patient]
kind = "skip"

[columns.age]
kind = "number"
low = 0
high = 100

[columns.ward]
kind = "category"
values = ["north", "south", "west"]

[columns.cost]
kind = "number"
low = 0
high = 100

[columns.ill]
kind = "category"
values = ["no", "yes"]

[budget]
epsilon = 4.0
delta = 1e-6

[ledger]
path = "visits.ledger"
data = "visits"
"""


def visits(n: int = 2000) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    ward, age = rng.choice(["north", "south", "west"], n), rng.uniform(0, 100, n)
    cost = np.clip(0.5 * age + 20 * (ward == "south") + rng.normal(0, 3, n), 0, 100)
    ill = np.where(cost > 35, "yes", "no")
    patient = [f"p{i}" for i in rng.integers(0, n // 2, n)]
    return pl.DataFrame({"patient": patient, "age": age, "ward": ward, "cost": cost, "ill": ill})


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a verb in an empty folder; what it returns has `exit_code`, `output` (all), `stdout` and `stderr`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)

    def call(*arguments, input=None):
        return CliRunner().invoke(app, [str(one) for one in arguments], input=input)

    call.folder = tmp_path
    return call


@pytest.fixture
def table(run):
    """The same, with visits.csv and its privacy.toml in the folder."""
    visits().write_csv(run.folder / "visits.csv")
    (run.folder / "privacy.toml").write_text(FACTS)
    return run
