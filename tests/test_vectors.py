"""Means of tables: one vector of noise, and rows clipped no wider than they are."""

import numpy as np
import pytest

from discreet import Bounds, Budget, Ledger, stats
from discreet.accounting import epsilon
from discreet.checks import replay_audit

pytestmark = pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")

RNG = np.random.default_rng(8)
SCALE = 10.0 ** RNG.uniform(-1, 1, 20)
CENTRE = RNG.uniform(-3, 3, 20) * SCALE
X = CENTRE + RNG.normal(size=(8000, 20)) * SCALE


@pytest.mark.catalogue("ST2")
def test_without_bounds_the_error_is_near_that_without_privacy():
    """Twenty columns of unknown scales at ε = 1: within 1.5 times the error of the plain mean, at a fixed seed."""
    ledger = Ledger(Budget(1.0, 1e-6))
    answer = stats.mean(X, epsilon=1.0, delta=1e-6, ledger=ledger, random_state=1)
    plain = np.linalg.norm((X.mean(axis=0) - CENTRE) / SCALE)
    assert np.linalg.norm((answer.value - CENTRE) / SCALE) < 1.5 * plain
    low, high = answer.interval
    assert ((low <= CENTRE) & (high >= CENTRE)).sum() >= 17 and 0.99 < epsilon(answer.event, 1e-6) <= 1.0
    assert (high - low < 0.2 * SCALE).all()


def test_one_row_a_billion_away_moves_nothing():
    wild = np.vstack([X, np.full((5, 20), 1e9), np.full((1, 20), np.inf), np.full((1, 20), np.nan)])
    one, two = (stats.mean(rows, epsilon=1.0, delta=1e-6, random_state=2).value for rows in (X, wild))
    assert (np.abs(one - two) < 0.2 * SCALE).all()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n", [None, 8000])
def test_with_bounds_the_whole_budget_is_one_vector_of_noise(delta, n):
    bounds = Bounds(CENTRE - 5 * SCALE, CENTRE + 5 * SCALE)
    answer = stats.mean(X, bounds, 1.0, delta, n=n, random_state=3)
    assert (np.abs(answer.value - CENTRE) < 0.4 * SCALE).all() and len(answer.parts) == 1
    low, high = answer.interval
    assert ((low <= CENTRE) & (high >= CENTRE)).sum() >= 16
    assert 0.99 < epsilon(answer.event, delta) <= 1.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_row_in_a_corner_tells_what_is_declared(delta, relation):
    """ℓ1-calibrated or forgotten columns would show: at (1, …, 1) against (-1, …, -1) all of them move."""
    rows, corner = np.full((5, 4), -1.0), np.ones((1, 4))
    other = np.vstack([rows if relation == "add-remove" else rows[1:], corner])

    def release(table):
        return stats.mean(table, (-1, 1), 1.0, delta, neighbours=relation, random_state=1)

    loss = replay_audit(release, rows, other, delta=delta)
    assert 0.6 < loss <= 1 + 1e-6


@pytest.mark.parametrize("bounds", [None, (-1, 1)])
def test_tables_of_few_rows_have_an_answer(bounds):
    for n in (0, 1, 3):
        for delta in (0.0, 1e-6):
            answer = stats.mean(np.ones((n, 3)), bounds, 1.0, delta)
            assert np.isfinite(answer.value).all() and np.isfinite(answer.interval).all() and answer.value.shape == (3,)
    if bounds is None:
        assert any("too few rows for quartiles" in note for note in answer.notes)
