"""The studies run in quick mode without any data at hand, and say what they used instead."""

import csv
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # studies are a folder of the repository, not of the package

from studies import common, sy4  # noqa: E402
from studies.__main__ import STUDIES, main  # noqa: E402

COLUMNS = {
    "sy4": ("panel", "rule", "p1", "p2", "p3", "method", "n", "epsilon", "repeat", "accuracy"),
    "sy5": ("panel", "method", "n", "d", "public", "epsilon", "correlation", "standard_error", "relative"),
    "sy6": ("set", "variant", "epsilon", "relative_mse", "standard_error", "folds"),
}
VALUES = {"sy4": "accuracy", "sy5": "correlation", "sy6": "relative_mse"}


def quick(name, folder, capsys):
    """A quick run with no data folder: its rows and its text."""
    assert main([name, "--quick", "--out", str(folder), "--data", str(folder / "none")]) == 0
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file)), capsys.readouterr().out


def check(name, folder, rows, text):
    assert (folder / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert (folder / f"{name}.png").stat().st_size > 20_000
    assert tuple(rows[0]) == COLUMNS[name]
    assert all(math.isfinite(float(row[VALUES[name]])) for row in rows)
    assert "ource" in text and str(folder / f"{name}.csv") in text


@pytest.mark.slow
@pytest.mark.catalogue("SY4")
def test_synthetic(tmp_path, capsys):
    rows, text = quick("sy4", tmp_path, capsys)
    check("sy4", tmp_path, rows, text)
    assert {row["panel"] for row in rows} == {"split", "against ε", "against n"}
    assert all(abs(float(row["accuracy"])) <= 1 for row in rows)
    best = max((row for row in rows if row["rule"] == sy4.AS_HERE), key=lambda row: float(row["accuracy"]))
    assert float(best["p3"]) == 0.05


@pytest.mark.slow
@pytest.mark.catalogue("SY5")
def test_drugs(tmp_path, capsys):
    rows, text = quick("sy5", tmp_path, capsys)
    check("sy5", tmp_path, rows, text)
    assert "NOT the study's data" in text
    assert {"d", "public", "epsilon", "methods, ε = 1", "methods, ε = 2"} < {row["panel"] for row in rows}
    # without private rows every method is what the public rows say, so all agree
    start = {row["correlation"] for row in rows if row["panel"] == "methods, ε = 2" and row["n"] == "0"}
    assert len(start) == 1


@pytest.mark.slow
@pytest.mark.catalogue("SY6")
def test_uci(tmp_path, capsys):
    rows, text = quick("sy6", tmp_path, capsys)
    check("sy6", tmp_path, rows, text)
    assert "NOT the study's data" in text
    errors = {(row["set"], row["variant"], row["epsilon"]): float(row["relative_mse"]) for row in rows}
    # the findings that hold on any data of this kind: SSP as solved can be absurd, the others cannot
    assert errors["diabetes", "SSP as solved", "0.5"] > 10 * errors["diabetes", "AdaSSP, row norm", "0.5"]
    assert errors["made up", "auto", "5"] < 1.2 * errors["made up", "not private", "5"]


@pytest.mark.parametrize(("name", "file"), [("sy5", "ccle_expression706.parquet"), ("sy6", "uci_airfoil.parquet")])
def test_missing_data_are_named(name, file, tmp_path, capsys):
    assert main([name, "--data", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / file) in error and "DISCREET_DATA" in error


def test_list(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(STUDIES)


def test_where_data_are_looked_for(monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", "/elsewhere")
    assert common.folder("/given") == Path("/given")
    assert common.folder() == Path("/elsewhere")
    monkeypatch.delenv("DISCREET_DATA")
    assert common.folder() == ROOT.parent / "shared" / "data"


def test_the_same_seed_gives_the_same_numbers():
    first, again = (sy4.accuracy(0, 100, 2.0) for _ in range(2))
    assert first == again != sy4.accuracy(1, 100, 2.0)


def test_rank_correlation():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (2, 50)).astype(float)
    assert common.rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert common.rank_correlation(np.ones(50), b) == 0


def test_public_rows_by_bayes_rule():
    """A model that says N(0, 1) of every slope and next to nothing of the intercept makes it ridge regression."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0] + 5 + rng.normal(size=30)
    covariance = np.diag([1e9, 1.0, 1.0, 1.0])
    model = SimpleNamespace(intercept_=0.0, coef_=np.zeros(3), covariance_=covariance, residual_std_=0.5)
    ridge = Ridge(alpha=0.25).fit(X, y)
    both = common.with_public(model, X, y)
    assert both == pytest.approx(np.append(ridge.intercept_, ridge.coef_), rel=1e-6)
    model.residual_std_ = None
    assert (common.with_public(model, X, y) == 0).all()
