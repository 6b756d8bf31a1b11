"""Trimmed and winsorized means, interquartile range and median deviation."""

import numpy as np
import pytest

from discreet import Budget, Ledger, stats
from discreet.accounting import epsilon
from discreet.checks import replay_audit

from .sabotage import weaken

pytestmark = pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")

X = np.random.default_rng(4).normal(50, 5, 20_000)
WILD = np.append(X, [1e9] * 40)


def truth(name, x):
    low, high = np.quantile(x, [0.1, 0.9])
    return {
        "trimmed_mean": x[(x >= low) & (x <= high)].mean(),
        "winsorized_mean": x.clip(*np.quantile(x, [0.05, 0.95])).mean(),
        "iqr": np.subtract(*np.quantile(x, [0.75, 0.25])),
        "mad": np.median(np.abs(x - np.median(x))),
    }[name]


NAMES = ["trimmed_mean", "winsorized_mean", "iqr", "mad"]


@pytest.mark.catalogue("ST3")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("x", [X, WILD], ids=["clean", "outliers"])
def test_outliers_and_generous_bounds_move_nothing(name, x):
    answer = getattr(stats, name)(x, bounds=(-1e6, 1e6), epsilon=1.0, random_state=1)
    assert answer.value == pytest.approx(truth(name, X), abs=0.4)
    low, high = answer.interval
    assert low <= truth(name, X) <= high and high - low < 2.0
    assert 0.999 < epsilon(answer.event, 0.0) <= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_one_row_tells_no_more_than_is_declared(name):
    x = np.linspace(0, 1, 30)
    for other in (np.append(x, 1e9), np.append(x, 0.5), x[:-1]):
        assert replay_audit(lambda z: getattr(stats, name)(z, bounds=(0, 1), epsilon=0.5), x, other) <= 0.5 + 1e-9


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", NAMES)
def test_halved_noise_is_seen(name, delta, monkeypatch):
    """By a row just within the cuts, or beyond them; whichever tells more."""
    x, losses = np.linspace(0, 1, 31), []
    for factor in (1.0, 0.5):
        with monkeypatch.context() as patch:
            weaken(patch, factor)
            losses.append(
                max(
                    replay_audit(
                        lambda z: getattr(stats, name)(z, bounds=(0, 1), epsilon=0.5, delta=delta, random_state=3),
                        x,
                        np.append(x, more),
                        delta=delta,
                    )
                    for more in np.linspace(0.03, 0.97, 15)
                )
            )
    assert losses[0] <= 0.5 + 1e-9 and losses[1] > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_columns_that_are_constant_or_empty_have_an_answer(name):
    for x in (np.full(2000, 3.0), np.zeros(0), np.full(5, np.nan)):
        answer = getattr(stats, name)(x, bounds=(0, 10), epsilon=1.0, random_state=2)
        assert np.isfinite(answer.value) and np.isfinite(answer.interval).all()
    constant = getattr(stats, name)(np.full(2000, 3.0), bounds=(0, 10), epsilon=1.0, random_state=2).value
    assert constant == pytest.approx(3.0 if "mean" in name else 0.0, abs=1e-6)


@pytest.mark.parametrize("name", ["trimmed_mean", "winsorized_mean"])
def test_gaussian_means_between_quantiles(name):
    ledger = Ledger(Budget(1.0, 1e-6))
    answer = getattr(stats, name)(X, bounds=(-1e6, 1e6), epsilon=1.0, delta=1e-6, ledger=ledger)
    assert answer.value == pytest.approx(50, abs=0.4) and 0.99 < epsilon(answer.event, 1e-6) <= 1.0
    for trim in (0.0, 0.5, True, "much"):
        with pytest.raises(ValueError, match="`trim`"):
            getattr(stats, name)(X, trim, bounds=(0, 1))


@pytest.mark.parametrize("name", ["iqr", "mad"])
def test_spreads_by_other_methods(name):
    for method, near in (("exponential", 0.3), ("smooth", 0.3), ("ptr", 9.0)):
        answer = getattr(stats, name)(X, (0, 100), 2.0, 1e-6, method=method, random_state=3)
        assert answer.value == pytest.approx(truth(name, X), abs=near)
    assert getattr(stats, name)(X, (0, 100), confidence=None).interval is None
    with pytest.raises(ValueError, match="delta > 0"):
        getattr(stats, name)(X, (0, 100), method="ptr")
    with pytest.raises(ValueError, match="`method`"):
        getattr(stats, name)(X, (0, 100), method="histogram")
    with pytest.raises(ValueError, match="one column"):
        getattr(stats, name)(np.ones((3, 2)), (0, 100))


def test_heavy_tails_are_met_better_than_by_the_mean():
    """Lognormal rows in generous bounds, ε = 1: the mean's noise is that of the bounds."""
    x = np.random.default_rng(0).lognormal(10, 1, 10_000)
    seeds, wanted = range(5), x.clip(*np.quantile(x, [0.05, 0.95])).mean()
    near = [stats.winsorized_mean(x, bounds=(0, 1e7), random_state=s).value - wanted for s in seeds]
    far = [stats.mean(x, (0, 1e7), random_state=s).value - x.mean() for s in seeds]
    assert np.median(np.abs(near)) < 0.3 * np.median(np.abs(far))
