"""Estimators on a noisy histogram: the weighted fit on its cells, and consistent counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KernelDensity, KNeighborsClassifier

from discreet import Bounds, Budget, Ledger, NotPrivateWarning
from discreet.checks import replay_audit
from discreet.engines.memory import Memory
from discreet.stats import MEstimator
from discreet.stats.m_estimator import find_nearest_counts

RNG = np.random.default_rng(3)
X = RNG.uniform(0, 1, (4000, 2))
Y = X @ [2.0, -1.0] + RNG.normal(0, 0.2, 4000)
LINE = MEstimator(LinearRegression(), Bounds(0, 1, target=(-2, 3)), cells=8)


@pytest.mark.catalogue("ST5")
def test_without_noise_it_is_the_weighted_fit_on_the_grid():
    model = LINE.fit(X, Y, epsilon=1e6)
    edges = [np.linspace(0, 1, 9), np.linspace(0, 1, 9), np.linspace(-2, 3, 9)]
    middles = [
        (np.clip(np.digitize(column, e) - 1, 0, 7) + 0.5) * (e[1] - e[0]) + e[0]
        for column, e in zip([*X.T, Y], edges, strict=True)
    ]
    exact = LinearRegression().fit(np.column_stack(middles[:2]), middles[2])
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-9)


def test_classes_and_no_target():
    labels = np.where(X[:, 0] > 0.5, "yes", "no")
    labels[0] = "unheard of"
    model = MEstimator(LogisticRegression(), Bounds(0, 1, classes=("no", "yes")), 8).fit(X, labels, epsilon=2.0)
    assert model.predict([[0.9, 0.5], [0.1, 0.5]]).tolist() == ["yes", "no"]
    density = MEstimator(KernelDensity(bandwidth=0.1), Bounds(0, 1), 8).fit(X, epsilon=2.0)
    assert density.score_samples([[0.5, 0.5]])[0] == pytest.approx(0, abs=0.5)


def test_one_column_and_rows_behind_an_engine():
    """A density of one column; of rows behind an engine it is the same, to the bit."""
    known = MEstimator(KernelDensity(bandwidth=0.1), Bounds(0, 1), 8)
    with pytest.warns(NotPrivateWarning):
        one, two = (known.fit(x, random_state=1) for x in (X[:, 0], Memory(X[:, :1])))
    assert one.score_samples([[0.5]]) == two.score_samples([[0.5]]) == pytest.approx(0, abs=0.2)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_row_tells_what_is_declared(relation):
    """Counts noised for one cell where an exchange moves two would show as 2ε."""
    rows = np.column_stack([X[:20], Y[:20]])
    other = np.vstack([rows if relation == "add-remove" else rows[1:], [[0.99, 0.01, 2.9]]])

    def release(table):
        return LINE.fit(table[:, :2], table[:, 2], epsilon=0.5, neighbours=relation).release_

    assert replay_audit(release, rows, other) == pytest.approx(0.5, abs=1e-9)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30), st.none() | st.integers(0, 100))
def test_counts_are_consistent_and_nearest(noisy, n):
    noisy = np.array(noisy)
    found, total = find_nearest_counts(noisy, n), max(noisy.sum() if n is None else n, 1.0)
    assert (found >= 0).all() and found.sum() == pytest.approx(total)
    kept = found > 0
    shift = (noisy - found)[kept]
    assert np.allclose(shift, shift[0]) and (noisy[~kept] <= shift[0] + 1e-9).all()  # the conditions of the projection


def test_what_cannot_work_is_refused_before_the_charge():
    ledger = Ledger(Budget(1.0))
    for call, error, says in (
        (lambda: MEstimator(KNeighborsClassifier(), Bounds(0, 1)).fit(X, ledger=ledger), TypeError, "sample_weight"),
        (lambda: MEstimator(LinearRegression(), Bounds(0, 1)).fit(X, Y, ledger=ledger), ValueError, "`target`"),
        (lambda: LINE.fit(Memory(X), ledger=ledger), TypeError, "learns a target from arrays"),
        (lambda: LINE.fit(Memory(X), Y, ledger=ledger), TypeError, "learns a target from arrays"),
        (lambda: MEstimator(LinearRegression(), Bounds(0, 1), 1).fit(X, ledger=ledger), ValueError, "`cells`"),
        (lambda: MEstimator(LinearRegression(), Bounds(0, 1), 1025).fit(X, ledger=ledger), ValueError, "columns"),
    ):
        with pytest.raises(error, match=says):
            call()
    assert not ledger.entries
