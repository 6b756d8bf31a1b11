"""The closed form of the Gaussian against 400 digits."""

import math

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.accounting import gauss

mpmath.mp.dps = 30


def exact_delta(mu, epsilon):
    with mpmath.workdps(400):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        upper, lower = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        root = mpmath.sqrt(2)
        return (mpmath.erfc(upper / root) - mpmath.exp(epsilon) * mpmath.erfc(lower / root)) / 2


mus = st.floats(-6, math.log10(50)).map(lambda x: 10.0**x)
deltas = st.floats(-280, math.log10(0.5)).map(lambda x: 10.0**x)


@given(mu=mus, where=st.floats(-8, 37))
@settings(max_examples=300, deadline=None)
def test_delta_is_never_below_exact_and_close(mu, where):
    epsilon = max(0.0, (where + mu / 2) * mu)
    exact = exact_delta(mu, epsilon)
    assume(exact > 1e-300)
    ours = gauss.delta_of(mu, epsilon)
    assert ours >= exact or ours == 1.0
    assert ours <= exact * (1 + mpmath.mpf("2e-11"))


@given(mu=mus, delta=deltas)
@settings(max_examples=60, deadline=None)
def test_epsilon_is_never_below_exact_and_close(mu, delta):
    epsilon = gauss.epsilon_of(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert exact_delta(mu, epsilon * (1 - 1e-8)) > delta * (1 - 1e-10)


@given(epsilon=st.floats(-6, 2.5).map(lambda x: 10.0**x), delta=deltas)
@settings(max_examples=60, deadline=None)
def test_mu_is_never_above_exact_and_close(epsilon, delta):
    mu = gauss.mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-9), epsilon) > delta


@pytest.mark.parametrize(("mu", "delta"), [(0.0, 0.0), (math.inf, 1.0), (1e-300, gauss.FLOOR)])
def test_edges(mu, delta):
    assert gauss.delta_of(mu, 1.0) == delta


def test_deltas_too_small_to_resolve_give_no_guarantee():
    assert gauss.epsilon_of(1.0, 1e-310) == math.inf
    assert gauss.mu_of(1.0, 1e-310) == 0.0
    assert gauss.mu_of(1.0, 1.0) == math.inf
