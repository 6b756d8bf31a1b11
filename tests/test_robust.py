"""Robust private linear regression (LR3), and the choice of split and thresholds on auxiliary data (LR4)."""

import math
import time

import numpy as np
import pytest

from discreet import Bounds, Budget, Ledger
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.engines.memory import Memory
from discreet.events import Laplace
from discreet.mechanisms.keystream import Keystream
from discreet.models.linear import auxiliary_data as auxiliary
from discreet.models.linear import robust as module
from discreet.models.linear.auxiliary_data import BudgetSplit, choose_split, choose_thresholds
from discreet.models.linear.robust import fit_robust

RELATIONS = ("add-remove", "replace-one")


def fitted(X, y, epsilon=2.0, n=None, intercept=True, seed=0, neighbours="add-remove", delta=0.0):
    budget = Budget(epsilon, delta, neighbours)
    curator = Curator(Memory(X, y), Ledger(budget), rng=Keystream.seeded(seed))
    bounds = Bounds(-1, 1, target=(-1, 1)).matched(X.shape[1])
    task = Task(curator, budget, bounds, n=n, intercept=intercept)
    curator.notes = task.notes
    fit = fit_robust(task)
    return fit, curator


def sample(n, d, seed, shift=0.2):
    """Features and target well within [-1, 1], so that public bounds are far wider than the data."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(shift, 0.2, (n, d)), -1, 1)
    signal = (X - shift) @ rng.normal(size=d)
    return X, np.clip(0.15 * signal / signal.std() + rng.normal(0.1, 0.075, n), -1, 1)


def score(theta, X, y):
    intercept, slopes = (theta[0], theta[1:]) if len(theta) > X.shape[1] else (0.0, theta)
    return 1 - np.mean((y - intercept - X @ slopes) ** 2) / y.var()


@pytest.mark.catalogue("LR3")
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("public", [False, True])
def test_it_comes_close_to_least_squares(neighbours, public):
    """n = 20,000, d = 5, ε = 2: R² within 0.02 of least squares (measured 0.001; seeds fixed)."""
    for seed in range(3):
        X, y = sample(20_000, 5, seed)
        fit, _ = fitted(X, y, n=len(y) if public else None, seed=seed, neighbours=neighbours)
        best = np.linalg.lstsq(np.c_[np.ones(len(y)), X], y, rcond=None)[0]
        assert score(best, X, y) - 0.02 < score(fit.theta, X, y) <= score(best, X, y)
        assert np.all(np.abs(fit.theta - best) < 6 * np.sqrt(np.diag(fit.covariance)))
        assert np.sqrt(np.diag(fit.covariance))[1:].max() < 0.2, "and the covariance says something"
        assert 0.5 * 0.075 < fit.residual < 2 * 0.075


@pytest.mark.catalogue("LR3")
def test_projection_is_what_makes_it_work(monkeypatch):
    """The same without thresholds, each coordinate bounded by the public range alone, is far worse (20 seeds)."""
    data = [sample(2000, 10, seed) for seed in range(20)]
    clipped = [score(fitted(X, y, n=2000, seed=i)[0].theta, X, y) for i, (X, y) in enumerate(data)]
    monkeypatch.setattr(module, "choose_split", lambda n, d, *rest: BudgetSplit(0.6, 0.35, 0.05, math.inf, math.inf))
    whole = [score(fitted(X, y, n=2000, seed=i)[0].theta, X, y) for i, (X, y) in enumerate(data)]
    assert np.median(clipped) > 0.6 and np.median(clipped) > np.median(whole) + 0.1


@pytest.mark.catalogue("LR3")
def test_without_an_intercept_nothing_is_centred():
    X, y = sample(20_000, 4, 0, shift=0.0)
    y = y - y.mean()
    fit, _ = fitted(X, y, intercept=False)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert fit.theta.shape == (4,) and fit.covariance.shape == (4, 4)
    assert score(fit.theta, X, y) > score(best, X, y) - 0.02


@pytest.mark.parametrize("n", [None, 100])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_events_and_shapes_are_the_same_whatever_the_data(n, neighbours):
    rng = np.random.default_rng(1)
    hostile = np.array([[np.nan, 1.0], [np.inf, 0.0], [1e308, -1e308], [0.0, 0.0]])
    cases = [
        (np.zeros((0, 2)), np.zeros(0)),
        (np.ones((1, 2)), np.ones(1)),
        (hostile, np.array([1.0, np.nan, 1e308, -np.inf])),
        (np.full((500, 2), 0.3), np.full(500, -1.0)),
        (rng.normal(size=(5000, 2)), rng.normal(size=5000)),
    ]
    seen = set()
    for X, y in cases:
        fit, curator = fitted(X, y, n=n, neighbours=neighbours)
        assert fit.theta.shape == (3,) and np.isfinite(fit.theta).all() and math.isfinite(fit.residual)
        assert np.isfinite(fit.covariance).all() and np.linalg.eigvalsh(fit.covariance).min() > 0
        seen.add((tuple(r.event for r in curator.releases), tuple(r.value.shape for r in curator.releases)))
    assert len(seen) == 1
    events = next(iter(seen))[0]
    assert all(isinstance(event, Laplace) for event in events)
    assert sum(1 / event.scale for event in events) == pytest.approx(2.0)


def test_wide_data_of_few_rows():
    rng = np.random.default_rng(2)
    fit, _ = fitted(rng.uniform(-1, 1, (5, 30)), rng.uniform(-1, 1, 5))
    assert np.isfinite(fit.theta).all() and np.abs(fit.theta[1:]).max() < 1


def test_bad_rows_count_for_nothing():
    X, y = sample(3000, 3, 4)
    bad = np.vstack([X, np.full((50, 3), np.nan)]), np.append(y, np.ones(50))
    assert np.array_equal(fitted(X, y)[0].theta, fitted(*bad)[0].theta)


def test_it_promises_pure_epsilon_only():
    X, y = sample(10, 2, 0)
    with pytest.raises(ValueError, match="Hint: delta=0"):
        fitted(X, y, delta=1e-6)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_noise_of_each_statistic_is_that_of_its_box(neighbours):
    """X'X: d(d + 1)/2·B² for both relations; X'y: d·B·C, twice that for an exchange; y'y: C²."""
    X, y = sample(5000, 3, 5)
    _, curator = fitted(X, y, n=5000, neighbours=neighbours)
    choice = choose_split(5000, 3, 2.0 * (1 - module.FOR_SCALES), neighbours)
    (xx, xy, yy), bx, by = curator.releases[1:], choice.omega_x, choice.omega_y
    twice = 1 if neighbours == "add-remove" else 2
    for release, width in ((xx, 6 * bx**2), (xy, 3 * twice * bx * by), (yy, by**2)):
        assert release.std == pytest.approx(math.sqrt(2) * release.event.scale * width, rel=1e-4)
    assert np.array_equal(xx.value, xx.value.T) and f"{bx:g} (features)" in curator.notes[-1]


@pytest.mark.catalogue("LR4")
def test_more_rows_or_epsilon_allow_larger_thresholds():
    for d in (2, 5, 10):
        found = [choose_split(n, d, 2.0) for n in (500, 4000, 30_000, 250_000, 2_000_000)]
        # where noise drowns nearly everything, at n = 500, the scale of the target's threshold matters little
        for omegas in ([choice.omega_x for choice in found], [choice.omega_y for choice in found[1:]]):
            assert omegas == sorted(omegas) and omegas[-1] > 1.3 * omegas[0]
    assert choose_split(10_000, 5, 8.0).omega_x > choose_split(10_000, 5, 0.2).omega_x
    assert choose_split(10_000, 20, 1.0).omega_x < choose_split(10_000, 2, 1.0).omega_x


@pytest.mark.catalogue("LR4")
def test_the_choice_is_a_split_and_repeats():
    auxiliary._search_grid.cache_clear()
    start = time.perf_counter()
    choice = choose_split(500, 10, 2.0)
    assert time.perf_counter() - start < 10  # a fraction of a second, on an idle machine
    auxiliary._search_grid.cache_clear()
    assert choice == choose_split(500, 10, 2.0) == choose_split(510, 10, 2.0)
    assert sum(choice[:3]) == pytest.approx(1) and min(choice[:3]) == choice.p3 == 0.05
    kept = choose_thresholds(500, 10, 2.0, choice.p1)
    assert kept == choice
    assert choose_split(500, 10, 2.0, "replace-one").p2 > choice.p2, "an exchange doubles the noise of X'y alone"


@pytest.mark.catalogue("LR4")
def test_the_moments_of_clipped_normals_are_right():
    """Closed forms against two million draws: six standard errors (below 1e-8)."""
    rng = np.random.default_rng(3)
    u, v = rng.normal(size=(2, 2_000_000))
    rho = 0.4
    y = rho * u + math.sqrt(1 - rho**2) * v
    for a, b in ((0.3, 0.5), (1.1, 2.0)):
        x, t = np.clip(u, -a, a), np.clip(y, -b, b)
        assert abs(np.mean(x**2) - auxiliary.clipped_second_moment(a)) < 6 * np.std(x**2) / math.sqrt(len(x))
        (one, three), (other, third) = auxiliary._hermite_coefficients(a), auxiliary._hermite_coefficients(b)
        series = rho * one * other + rho**3 * three * third / 6
        assert abs(np.mean(x * t) - series) < 6 * np.std(x * t) / math.sqrt(len(x)) + 0.01 * series


@pytest.mark.catalogue("LR4")
def test_the_predicted_risk_orders_thresholds_as_real_rows_do():
    """On rows drawn from the auxiliary model, the chosen thresholds beat ones far too small, and far too large."""
    n, d, epsilon = 2000, 5, 2.0
    choice = choose_split(n, d, epsilon)

    def risk(omega_x, omega_y):
        total = 0.0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X, beta = rng.normal(size=(n, d)), rng.normal(size=d)
            y = (X @ beta + rng.normal(size=n)) / math.sqrt(1 + beta @ beta)
            x, t = np.clip(X, -omega_x, omega_x), np.clip(y, -omega_y, omega_y)
            upper = np.triu(rng.laplace(size=(d, d)))
            wide = d * (d + 1) / 2 * omega_x**2 / choice.p1 / epsilon
            xx = x.T @ x + wide * (upper + np.triu(upper, 1).T)
            noise = d * omega_x * omega_y / choice.p2 / epsilon
            s, U = np.linalg.eigh(xx)
            s, b = np.maximum(s, 0), U.T @ (x.T @ t + noise * rng.laplace(size=d))
            theta = U @ (s * b / (s**2 + (d + 1) * (0.3 * s + 2 * noise**2 + 2 * wide**2)))
            total += np.sum((theta - beta / math.sqrt(1 + beta @ beta)) ** 2)
        return total

    best = risk(choice.omega_x, choice.omega_y)
    assert best < 0.9 * risk(4.0, 4.0) and best < 0.9 * risk(0.3, 2.0)
