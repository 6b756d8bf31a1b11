"""Regression and classification of rows that stay on their devices."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import discreet as dc
from discreet import BudgetExceeded
from discreet.local import Device, Estimate, GradientOracle, LinearRegression, LogisticRegression, Report, Survey
from discreet.local import bulk_numbers as bulk
from discreet.local.models import gradient_survey, read_moments
from discreet.local.questions import GRID
from discreet.local.randomise import Bits
from discreet.local.rows import GradientQuestion, ProductsQuestion

BOUNDS = dc.Bounds([0.0, 10.0], [2.0, 30.0], classes=["no", "yes"])


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.column_stack([rng.normal(0.8 + 0.5 * y, 0.3), rng.normal(18 + 4 * y, 3)])
    return X, np.where(y == 1, "yes", "no")


@pytest.mark.parametrize("method,least", [("moments", 0.78), ("sgd", 0.78)])
@pytest.mark.catalogue("LO5")
def test_classes_are_told(method, least):
    X, y = people(8000)
    model = clone(LogisticRegression(2, bounds=BOUNDS, method=method, random_state=1)).fit(X, y)
    assert model.score(*people(4000, 1)) > least
    chances = model.predict_proba(X)
    assert np.allclose(chances.sum(1), 1) and model.coef_.shape == (1, 2) and model.n_features_in_ == 2
    if method == "moments":  # the chances are about right, not only the classes
        sure = chances[:, 1] > 0.8
        assert (y[sure] == "yes").mean() == pytest.approx(chances[sure, 1].mean(), abs=0.1)


@pytest.mark.parametrize("link", ["identity", "log"])
def test_numbers_are_predicted(link):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (15_000, 2))
    mean = X @ [1.0, -0.5] if link == "identity" else 4 * np.exp(X @ [0.6, 0.3] - 1)
    y = mean + rng.normal(0, 0.1, len(X)) if link == "identity" else rng.poisson(mean)
    target = (-2, 2) if link == "identity" else (0, 4)
    bounds = dc.Bounds([-1, -1], [1, 1], target=target)
    for method in ("moments", "sgd") if link == "identity" else ("auto",):
        model = LinearRegression(4, bounds=bounds, method=method, link=link, random_state=1).fit(X, y)
        error = np.mean((model.predict(X) - mean) ** 2) / np.var(mean)
        assert error < 0.35, (method, error)


def test_a_device_and_a_simulation_send_the_same():
    X, y = people(50)
    low, high = (0, 10), (2, 30)
    for question in (
        ProductsQuestion(low, high, ("no", "yes"), 1),
        ProductsQuestion(low, high, (0, 9)),
        GradientQuestion(low, high, ("no", "yes"), 1, ("0.5", "-1", "2"), "logit"),
        GradientQuestion(low, high, (0, 9), 0, ("0.5", "-1", "2"), "identity"),
        GradientQuestion(low, high, (0, 9), 0, ("0.5", "-1", "2"), "log"),
    ):
        targets = y if question.classes else X[:, 1] / 3
        many = bulk.encode_rows(question, X, targets)
        ones = [question.encode_answer((x, t), Bits()) for x, t in zip(X, targets, strict=True)]
        assert np.abs(many - ones).max() <= 4 and np.abs(many).max() <= GRID
        for hostile in (None, 3, ([1], "no"), ([math.nan, 1e300], "?"), ("ab", 1), ([math.inf, -math.inf], None)):
            places = question.encode_answer(hostile, Bits())
            assert len(places) == question.size and max(map(abs, places)) <= GRID
            if question.kind == "gradient":
                assert sum(x * x for x in places) <= GRID**2
        survey = LogisticRegression(1, bounds=BOUNDS).survey
        assert Survey.from_json(survey.to_json()) == survey


def test_what_was_collected_is_learnt():
    X, y = people(300)
    model = LogisticRegression(4, bounds=BOUNDS)
    survey, tally = model.survey, None
    tally = Estimate(survey)
    for x, t in zip(X, y, strict=True):
        tally.add(Device(budget=4).answer(survey.to_json(), (x.tolist(), str(t))))
    tally.add(Report(survey.digest, (99,)))
    assert model.learn(tally).n_features_in_ == 2 and (tally.n, tally.refused) == (300, 1)
    with pytest.raises(ValueError, match="not of the survey"):
        LogisticRegression(3, bounds=BOUNDS).learn(tally)


def test_an_oracle_answers_a_survey_once():
    oracle = GradientOracle([1.0, 20.0], "yes", budget=1)
    first, second = (
        gradient_survey("step", weights, 1, ([0, 10], [2, 30]), classes=("no", "yes"))
        for weights in (np.zeros(3), np.ones(3))
    )
    assert oracle.answer(first) == oracle.answer(first)
    with pytest.raises(BudgetExceeded):
        oracle.answer(second)


def test_moments_are_read():
    rng = np.random.default_rng(0)
    z, t = rng.uniform(-1, 1, (500, 3)), rng.uniform(-1, 1, 500)
    question = ProductsQuestion((-1,) * 3, (1,) * 3, (-1, 1))
    means = bulk.encode_rows(question, z, t).mean(0) / GRID
    one = np.column_stack([np.ones(500), z])
    xx, xy = read_moments(means, 3)
    assert np.allclose(xx, one.T @ one / 500, atol=1e-5) and np.allclose(xy, one.T @ t / 500, atol=1e-5)


def test_bad_models():
    X, y = people(20)
    for wrong in (dc.Bounds(0, 1), None):
        with pytest.raises(ValueError, match="`bounds` of a local"):
            LogisticRegression(1, bounds=wrong).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        LogisticRegression(1, bounds=dc.Bounds([0, 1], [1, 2], classes=[1, 2, 3])).fit(X, y)
    with pytest.raises(ValueError, match="`method` of a local model"):
        LogisticRegression(1, bounds=BOUNDS, method="dance").fit(X, y)
    with pytest.raises(ValueError, match="must have 2 columns"):
        LogisticRegression(1, bounds=BOUNDS).fit(X[:, :1], y)
    for make in (
        lambda: ProductsQuestion((0,), (0,), (1, 2)),
        lambda: ProductsQuestion((), (), (1, 2)),
        lambda: ProductsQuestion((0,), (1,), (2, 1)),
        lambda: GradientQuestion((0,), (1,), (1, 2), 0, ("1",)),
        lambda: GradientQuestion((0,), (1,), (1, 2), 0, ("1", "1"), "logit"),
        lambda: GradientQuestion((0,), (1,), (1, 2), 1, ("1", "1"), "log"),
        lambda: gradient_survey("x", [0, 0], 1, ([0], [1])),
    ):
        with pytest.raises(ValueError, match=r"bounds of features|`target`|gradient needs|A row has"):
            make()
