"""The studies run in quick mode without any data at hand, and say what they used instead."""

import csv
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from discreet.studies import STUDIES, common, people, run, sy2, sy3, sy3local, sy4, sy8, sy9
from discreet.studies.__main__ import main

COLUMNS = {
    "sy1": ("method", "epsilon", "n", "shift", "repeat", "squared_error"),
    "sy2": ("method", "n", "repeat", "error"),
    "sy3local": ("method", "alpha", "repeat", "accuracy", "auc"),
    "sy3": ("method", "epsilon", "n", "repeat", "accuracy", "coefficient_error", "auc", "roc"),
    "sy4": ("panel", "rule", "p1", "p2", "p3", "method", "n", "epsilon", "repeat", "accuracy"),
    "sy5": ("panel", "method", "n", "d", "public", "epsilon", "correlation", "standard_error", "relative"),
    "sy6": ("set", "variant", "epsilon", "relative_mse", "standard_error", "folds"),
    "sy8": ("method", "measure", "n", "epsilon", "repeat", "value"),
    "sy9": ("axis", "n", "d", "batch", "epochs", "method", "epsilon", "repeat", "error"),
    "people": ("way", "epsilon", "repeat", "measure", "value"),
}
VALUES = {
    "sy1": "squared_error",
    "sy2": "error",
    "sy3local": "accuracy",
    "sy3": "auc",
    "sy4": "accuracy",
    "sy5": "correlation",
    "sy6": "relative_mse",
    "sy8": "value",
    "sy9": "error",
    "people": "value",
}


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


def test_outcomes_are_saved_whole_or_not_at_all(tmp_path):
    def draw(figure):
        raise RuntimeError

    (tmp_path / "x.png").write_bytes(b"old")
    with pytest.raises(RuntimeError):
        common.save_outcome(common.Outcome([{"a": 1.0}], draw, (2, 2), ""), "x", tmp_path)
    assert (tmp_path / "x.png").read_bytes() == b"old" and sorted(p.name for p in tmp_path.iterdir()) == [
        "x.csv",
        "x.png",
    ]
    odd = common.Outcome([{"a": 1.0}, {"b": 1.0}], draw, (2, 2), "")
    with pytest.raises(ValueError):
        common.save_outcome(odd, "x", tmp_path)
    assert (tmp_path / "x.csv").read_text().splitlines() == ["a", "1"] and len(list(tmp_path.iterdir())) == 2


@pytest.mark.catalogue("SY1")
def test_a_mean_of_everybodys_own_noise(tmp_path, capsys):
    rows, text = quick("sy1", tmp_path, capsys)
    check("sy1", tmp_path, rows, text)
    assert "NOT PRIVATE" in text and {row["shift"] for row in rows} == {"0", "1.5"}


@pytest.mark.catalogue("SY2")
def test_proportions_of_everybodys_own_noise(tmp_path, capsys):
    rows, text = quick("sy2", tmp_path, capsys)
    check("sy2", tmp_path, rows, text)
    assert "not at hand" in text and "α = 1" in text
    # an audit that fails: a report must be the vector on average
    assert abs(sy2.measure_slope(False) - 0.573) < 0.02 and abs(sy2.measure_slope(True) - 1.146) < 0.03


def test_classes_of_everybodys_own_noise(tmp_path, capsys):
    rows, text = quick("sy3local", tmp_path, capsys)
    check("sy3local", tmp_path, rows, text)
    assert "nothing is learnt" in text and abs(sy3local.compute_tied_epsilon(0.1) - 0.9986) < 1e-4


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


@pytest.mark.slow
@pytest.mark.catalogue("SY3")
def test_people(tmp_path, capsys):
    rows, text = quick("sy3", tmp_path, capsys)
    check("sy3", tmp_path, rows, text)
    assert "NOT the study's data" in text
    found = {(row["method"], row["epsilon"], row["n"]): row for row in rows}
    best = float(found["not private", "1", "7000"]["accuracy"])
    assert best > 0.85
    # with 7,000 rows and ε = 1 nothing is lost; the fit to all training rows is the one that errors are measured from
    assert float(found["auto, δ = 1e-6", "1", "7000"]["accuracy"]) > best - 0.02
    assert float(found["not private", "1", "7000"]["coefficient_error"]) == 0
    for row in rows:
        curve = [float(value) for value in row["roc"].split()]
        assert len(curve) == 101 and curve == sorted(curve) and curve[-1] == 1


@pytest.mark.slow
@pytest.mark.catalogue("SY8")
def test_logistic_regression_of_digits(tmp_path, capsys):
    rows, text = quick("sy8", tmp_path, capsys)
    check("sy8", tmp_path, rows, text)
    assert "NOT the study's data" in text and "not private" in text
    assert all(0 <= float(row["value"]) <= 1 for row in rows if row["measure"] == "error")
    errors = {
        (row["method"], row["n"], row["epsilon"]): float(row["value"]) for row in rows if row["measure"] == "error"
    }
    n = max(int(row["n"]) for row in rows)
    # the source as run at ε = 0.1 is as good as no noise, the right noise is as good as a coin
    assert errors[sy8.AS_RUN, str(n), "0.1"] < 0.1 < 0.4 < errors[sy8.RIGHT, str(n), "0.1"]


@pytest.mark.slow
@pytest.mark.catalogue("SY9")
def test_descent_on_digits(tmp_path, capsys):
    rows, text = quick("sy9", tmp_path, capsys)
    check("sy9", tmp_path, rows, text)
    assert "NOT the study's data" in text
    assert {row["axis"] for row in rows} == {"n", "batch", "epochs", "d"}
    mean = {e: np.mean([float(r["error"]) for r in rows if r["epsilon"] == e]) for e in ("0.1", "10")}
    assert mean["10"] < mean["0.1"] - 0.1


@pytest.mark.slow
@pytest.mark.catalogue("DI7")
def test_people_and_rows(tmp_path, capsys):
    rows, text = quick("people", tmp_path, capsys)
    check("people", tmp_path, rows, text)
    assert "not the study's data" in text
    found = {(r["measure"], r["way"], r["epsilon"], r["repeat"]): float(r["value"]) for r in rows}
    mean = {key: np.mean([found[(*key, repeat)] for repeat in "01"]) for key in {key[:3] for key in found}}
    for way in (*people.WAYS, people.PLAIN, people.PLAIN_PEOPLE):
        assert mean["R2", way, "3"] > 0.7 and mean["AUC", way, "3"] > 0.65
    # noise for five rows is five times as large as noise for one, and shares have that
    assert mean["R2", "people, 5", "0.1"] < mean["R2", people.SHARES, "0.1"] < mean["R2", people.PLAIN, "0.1"]


@pytest.mark.catalogue("DI7")
def test_what_is_estimated_of_people():
    """Two patients: one stays 2 days, the other 4, 4, 4, and 12."""
    days, patient = np.array([2.0, 4.0, 4.0, 4.0, 12.0]), np.array([7, 8, 8, 8, 8])
    visits = people.Visits(np.zeros((5, 7)), days, days > 3, patient)
    assert people.compute_exact(visits, "rows") == (5.2, 5)
    assert people.compute_exact(visits, "people, 1 visit") == people.compute_exact(visits, people.SHARES) == (4, 2)
    assert people.compute_exact(visits, "people, 2") == (pytest.approx((2 + 2 * 6) / 3), 3)
    assert people.compute_exact(visits, "people, 5") == (5.2, 5)


@pytest.mark.catalogue("DI7")
def test_what_a_promise_for_rows_is_worth_to_a_person():
    assert people.describe_group(0.1, 40) == "ε = 4, δ = 0.002"
    assert people.describe_group(1.0, 40) == "nothing"
    # where all noise is Gaussian more is known, and it is still no promise to speak of
    assert 40 < people.find_gaussian_epsilon(1.0, 40) < 200
    assert people.find_gaussian_epsilon(1.0, 1) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.catalogue("SY8")
def test_the_source_s_noise_is_not_private():
    """Both ways to read the source lose more than they declare, by exact calculation; what is certified bounds it."""
    found = sy8.measure_losses(common.load_fours_and_nines(True, "nowhere"), 200, 0.1)
    for name in ("as stated", "as run"):
        for pair in ("black images and a white one", "one label changed"):
            assert 0.1 < found[f"{name}, {pair}"] < found[f"{name}, certified"]
    assert found["as stated, certified"] == pytest.approx(0.1 * 8)  # 64 pixels
    assert found["as run, one label changed"] > 5 and found["as run, audited"] > 1


@pytest.mark.catalogue("SY8")
def test_weights_tell_which_penalty_they_are_of():
    """No minimum of a mean of losses and λ/2·‖w‖² is longer than √(2 log 2/λ); the sum's is, as are the source's."""
    images = common.load_fours_and_nines(True, "nowhere")
    U, signs = common.normalise_rows(images.X), np.where(images.y == 9, 1.0, -1.0)
    bound = math.sqrt(2 * math.log(2) / sy8.LAMBDA)
    stated, ran = (
        np.linalg.norm(sy8.fit_weights(U, signs, sy8.find_penalty(v, len(U)))) for v in (sy8.AS_STATED, sy8.AS_RUN)
    )
    assert stated < bound < ran
    assert 1 / 64 < sy8.LAMBDA < 1 / 2  # within the source's grid


@pytest.mark.catalogue("SY3")
def test_what_the_source_s_descent_would_spend():
    """Its formula, with 10,000 steps, gives the ε it states; an accountant gives a hundred times as much."""
    for sigma, delta, stated in sy3.SOURCE.values():
        q, steps = sy3.RATE, sy3.STEPS
        formula = (q**2 * steps + q * math.sqrt(steps * math.log(1 / delta)) / sigma) / 2
        assert formula == pytest.approx(stated, abs=0.01)
        assert sy3.compute_true_epsilon(sigma, delta) > 100 * stated


@pytest.mark.catalogue("SY9")
def test_descent_is_as_stated_for_rows_of_unit_length():
    """The library divides rows in [-1, 1] by √d: what is d times as large as stated and 1/√d are steps and clips."""
    cell = {"n": 100, "d": 49, "batch": 10, "epochs": 2, "epsilon": 1.0}
    source, pure, gaussian = (sy9.make_classifier({**cell, "method": method}, 0) for method in sy9.METHODS)
    assert (source.eta0, source.clip, source.lot, source.learning_rate) == (49.0, pytest.approx(1 / 7), 5, "sqrt")
    assert (pure.eta0, pure.lot, pure.epochs, pure.noise) == (64.0 * 49, 10, 2, "pure")
    assert (gaussian.eta0, gaussian.clip, gaussian.noise) == (32.0 * 49, pytest.approx(0.5 / 7), "gaussian")


def test_projected_rows_have_unit_length():
    images = common.load_fours_and_nines(True, "nowhere")
    assert images.made_up and images.shape == (8, 8) and set(images.y) == {4, 9}
    X, test = sy9.project_images(images, np.arange(20), 5, repeat=0)
    assert X.shape == (20, 5) and test.shape == (100, 5)
    assert np.linalg.norm(X, axis=1) == pytest.approx(np.ones(20))
    assert (common.normalise_rows(np.zeros((1, 3))) == 0).all()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sy3", "height_weight.parquet"),
        ("sy5", "ccle_expression706.parquet"),
        ("sy6", "uci_airfoil.parquet"),
        ("sy8", "mnist.npz"),
        ("sy9", "mnist.npz"),
        ("people", "diabetes_130_hospitals.parquet"),
    ],
)
def test_missing_data_are_named(name, file, tmp_path, capsys):
    assert main([name, "--data", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / file) in error and "DISCREET_DATA" in error


def test_list(capsys):
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(STUDIES)


def test_where_data_are_looked_for(monkeypatch):
    monkeypatch.setenv("DISCREET_DATA", "/elsewhere")
    assert common.find_folder("/given") == Path("/given")
    assert common.find_folder() == Path("/elsewhere")
    monkeypatch.delenv("DISCREET_DATA")
    assert common.find_folder() == Path("data")


def test_names_in_either_case(tmp_path, monkeypatch):
    outcome = common.Outcome([{"value": 1.0}], lambda figure: None, (1, 1), "words")
    monkeypatch.setattr(sy4, "run_study", lambda quick, data, workers: outcome)
    monkeypatch.chdir(tmp_path)
    text, picture, numbers = run("SY4", quick=True)
    assert text == "words" and main(["SY4"]) == 0
    assert picture == Path("output", "studies", "sy4.png") and picture.is_file()
    assert numbers.read_text(encoding="utf-8").split() == ["value", "1"]


def test_the_same_seed_gives_the_same_numbers():
    first, again = (sy4.measure_accuracy(0, 100, 2.0) for _ in range(2))
    assert first == again != sy4.measure_accuracy(1, 100, 2.0)


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
    both = common.add_public_rows(model, X, y)
    assert both == pytest.approx(np.append(ridge.intercept_, ridge.coef_), rel=1e-6)
    model.residual_std_ = None
    assert (common.add_public_rows(model, X, y) == 0).all()
