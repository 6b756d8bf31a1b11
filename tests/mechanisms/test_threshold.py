"""Sparse vector and unknown keys, against exact probabilities."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import NotSupported
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.threshold import AboveThreshold, key_threshold, select_keys

from .laws import ALARM, pmf

pytestmark = pytest.mark.catalogue("ME3")
REACH = np.arange(-400, 401)


def chance_of_first_true(queries, threshold, epsilon, monotonic):
    """P(the last query is the first True), by summing over the noise of the threshold."""
    share, width = (0.5, 1) if monotonic else (5 / 13, 2)
    rho = pmf("discrete_laplace", 1 / (share * epsilon), REACH)
    nu = pmf("discrete_laplace", width / ((1 - share) * epsilon), REACH)
    above = np.array([[nu[threshold + r - q <= REACH].sum() for r in REACH] for q in queries])
    return float(rho @ (np.prod(1 - above[:-1], axis=0) * above[-1]))


@pytest.mark.parametrize("monotonic", [False, True])
def test_the_law_of_the_first_true(monotonic):
    queries, rng, n = [0, 3, 5], Keystream.seeded(1), 6000
    seen = np.zeros(4, dtype=int)
    for _ in range(n):
        gate = AboveThreshold(4, 1.0, 1, rng, monotonic=monotonic)
        seen[next((i for i, q in enumerate(queries) if gate.ask(q)), 3)] += 1
    for i in range(3):
        chance = chance_of_first_true(queries[: i + 1], 4, 1.0, monotonic)
        assert stats.binomtest(int(seen[i]), n, chance).pvalue > ALARM


@pytest.mark.parametrize("monotonic", [False, True])
def test_sparse_vector_is_private(monotonic):
    # the exact probabilities of "first True at the third query" on the worst neighbours
    moves = [(1, 1, 1), (0, 0, 1), (1, 0, 1)] if monotonic else [(1, 1, -1), (-1, -1, 1), (1, -1, 1)]
    base = chance_of_first_true([0, 2, 5], 4, 0.7, monotonic)
    for move in moves:
        other = chance_of_first_true([q + m for q, m in zip((0, 2, 5), move, strict=True)], 4, 0.7, monotonic)
        assert abs(np.log(base / other)) <= 0.7 + 1e-9


def test_it_is_spent_after_true():
    gate = AboveThreshold(0, 1.0, 1)
    assert gate.ask(10**9)
    with pytest.raises(NotSupported, match="spent"):
        gate.ask(0)


def test_bad_thresholds():
    with pytest.raises(ValueError, match="The `sensitivity` of AboveThreshold must be >= 1"):
        AboveThreshold(0, 1.0, Fraction(1, 2))
    with pytest.raises(ValueError, match="The `epsilon` of AboveThreshold"):
        AboveThreshold(0, 0, 1)
    with pytest.raises(TypeError, match="whole"):
        AboveThreshold(0.5, 1.0, 1)
    with pytest.raises(TypeError, match="whole"):
        AboveThreshold(0, 1.0, 1).ask(1.5)


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.01, 20), delta=st.floats(1e-15, 0.3), m=st.integers(1, 50))
def test_the_threshold_is_exact_and_least(epsilon, delta, m):
    t = key_threshold(epsilon, delta, m)
    with mpmath.workprec(300):
        q = mpmath.exp(-mpmath.mpf(epsilon) / m)
        shown = lambda t: m * q ** (t - 1) / (1 + q)  # noqa: E731
        assert shown(t) <= delta
        assert t == 2 or shown(t - 1) > mpmath.mpf(delta) * (1 - mpmath.mpf(2) ** -60)


def test_a_lone_key_shows_as_rarely_as_promised():
    rng, n, delta = Keystream.seeded(2), 400, 0.05
    shown = sum(len(select_keys({i: 1 for i in range(100)}, 1.0, delta, rng)) for _ in range(n))
    t = key_threshold(1.0, delta)
    chance = np.exp(-(t - 1)) / (1 + np.exp(-1))
    assert chance <= delta and stats.binomtest(shown, 100 * n, chance).pvalue > ALARM


def test_the_noise_of_kept_counts():
    rng = Keystream.seeded(3)
    noisy = np.array(list(select_keys({i: 10**6 for i in range(20_000)}, 0.5, 1e-6, rng, max_keys_per_unit=3).values()))
    from .laws import fit

    assert len(noisy) == 20_000 and fit(noisy - 10**6, "discrete_laplace", 6.0) > ALARM


def test_order_and_absent_keys_do_not_show():
    counts = {"b": 10**6, "a": 10**6, "none": 0, "less": -(10**9)}
    again = dict(reversed(counts.items()))
    assert list(select_keys(counts, 1.0, 1e-9)) == list(select_keys(again, 1.0, 1e-9)) == ["a", "b"]
    assert select_keys({}, 1.0, 1e-9) == {}
    assert select_keys({"k": 2**100}, 1.0, 1e-9)["k"] > 2**99


@pytest.mark.parametrize(("epsilon", "delta", "m"), [(0, 0.1, 1), (1, 0, 1), (1, 1.0, 1), (1, 0.1, 0), (1, 0.1, 1.5)])
def test_bad_keys(epsilon, delta, m):
    with pytest.raises(ValueError, match=r"epsilon|delta|max_keys_per_unit"):
        select_keys({"k": 1}, epsilon, delta, max_keys_per_unit=m)
