"""Numerical composition against exact curves: never below, and close."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting
from discreet.accounting import compose, gauss
from discreet.accounting.pairs import _product, pairs
from discreet.accounting.tilt import Total, _transform_error, window
from discreet.events import Approximate, Choice, Composed, Gaussian, Laplace, Pure, Repeated, Sampled

DELTAS = [1e-5, 1e-8, 1e-12]
pytestmark = pytest.mark.catalogue("CO3")


def dpsgd(steps, rate=0.01, noise=1.0):
    return Repeated(Sampled(rate, Gaussian(noise)), steps)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("noise", "times"), [(1.0, 1), (10.0, 1), (10.0, 1000), (50.0, 10_000), (300.0, 10_000)])
def test_gaussians_forced_through_the_grid(noise, times, delta):
    mu = math.sqrt(times) / noise
    exact = gauss.epsilon_of(mu, delta)
    (found,) = compose._windows(((Gaussian(noise), times),), 1.05 * exact, delta, fixed="delta")
    assert exact <= found.epsilon(delta) <= 1.001 * exact
    assert gauss.delta_of(mu, exact) <= found.delta(exact) * (1 + 1e-9) <= 1.05 * delta


@pytest.mark.parametrize("tilt", [0.05, 0.5, 3.0, 40.0])
def test_any_tilt_is_valid(tilt):
    leaf, times, delta = Gaussian(10.0), 100, 1e-8
    total = Total([(pairs(leaf, 1e-3, 1e-20)[0], times)])
    assert window(total, tilt, tilt, delta).epsilon(delta) >= gauss.epsilon_of(1.0, delta)


@pytest.mark.parametrize("step", [0.3, 0.1, 0.01])
def test_any_grid_is_valid(step):
    total = Total([(pairs(Gaussian(10.0), step, 1e-20)[0], 100)])
    assert window(total, 5.0, 5.0, 1e-8).epsilon(1e-8) >= gauss.epsilon_of(1.0, 1e-8)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("each", "times"), [(0.5, 10), (0.1, 100), (0.01, 3000), (3.0, 7), (1.0, 1)])
def test_randomised_responses(oracles, each, times, delta):
    epsilon = accounting.epsilon(Repeated(Pure(each), times), delta)
    exact = oracles.responses(each, times, epsilon)
    assert exact <= delta
    assert oracles.responses(each, times, 0.999 * epsilon) > delta
    found = accounting.delta(Repeated(Pure(each), times), 0.9 * epsilon)
    truth = oracles.responses(each, times, 0.9 * epsilon)
    assert truth <= found <= 1.01 * truth


@pytest.mark.parametrize("each", [0.01, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.99])
def test_one_laplace(oracles, each, share):
    truth = oracles.laplace(1 / (1 / each), share * each)
    found = accounting.delta(Laplace(1 / each), share * each)
    assert truth * (1 - 1e-13) <= found <= 1.005 * truth


@pytest.mark.parametrize("each", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_two_laplaces(oracles, each, share):
    truth = oracles.two_laplaces(each, share * 2 * each)
    found = accounting.delta(Repeated(Laplace(1 / each), 2), share * 2 * each)
    assert truth * (1 - 1e-12) <= found <= 1.005 * truth


@pytest.mark.parametrize(("delta", "tilt"), [(1e-5, 3), (1e-8, 4), (1e-12, 5)])
def test_laplaces_and_a_gaussian(oracles, delta, tilt):
    epsilon = accounting.epsilon([Repeated(Laplace(20.0), 500), Gaussian(10.0)], delta)
    assert oracles.laplaces_and_gaussian(0.05, 500, 0.1, epsilon, tilt) <= delta
    assert oracles.laplaces_and_gaussian(0.05, 500, 0.1, 0.999 * epsilon, tilt) > delta


@pytest.mark.parametrize(("rate", "noise"), [(0.5, 1.0), (0.1, 1.0), (0.01, 0.5), (1e-3, 2.0)])
@pytest.mark.parametrize("delta", DELTAS)
def test_one_sampled_gaussian(oracles, rate, noise, delta):
    epsilon = accounting.epsilon(Sampled(rate, Gaussian(noise)), delta)
    assert oracles.sampled_gaussian(rate, 1 / noise, epsilon) <= delta
    assert oracles.sampled_gaussian(rate, 1 / noise, 0.999 * epsilon) > delta


def test_two_sampled_gaussians(oracles):
    epsilon = accounting.epsilon(dpsgd(2, rate=0.1), 1e-8)
    assert oracles.two_sampled_gaussians(0.1, 1.0, epsilon) <= 1e-8
    assert oracles.two_sampled_gaussians(0.1, 1.0, 0.999 * epsilon) > 1e-8


@pytest.mark.parametrize(
    ("event", "figure"),
    [
        (Repeated(Gaussian(10.0), 1000), 17.856587),
        (dpsgd(1_000), 1.8282),
        (dpsgd(10_000), 6.1877),
        (dpsgd(100_000), 25.573),
        (Composed((Repeated(Laplace(20.0), 500), Gaussian(10.0))), 4.9411),
    ],
)
def test_figures(event, figure):
    assert figure * (1 - 1e-5) <= accounting.epsilon(event, 1e-5) <= figure * 1.001


@pytest.mark.parametrize("delta", [1e-8, 1e-10, 1e-12])
def test_rare_large_losses(oracles, delta):
    """At a tiny rate δ is far below the rounding of an ordinary transform, and the far tail is long."""
    epsilon = accounting.epsilon(dpsgd(100, rate=1e-4, noise=0.8), delta)
    once = oracles.sampled_gaussian(1e-4, 1 / 0.8, epsilon)
    assert 0.5 * delta < 100 * once < 1.2 * delta  # nearly all of δ comes from a single one of the hundred


def test_tiny_rates():
    for rate in (1e-9, 1e-6):
        for inner in (Choice(1e-4), Pure(2.0), Gaussian(1e4), Composed((Pure(0.01), Gaussian(30.0)))):
            assert accounting.epsilon(Sampled(rate, inner), 1e-100) < 1.0


@pytest.mark.parametrize("power", [4, 10, 15, 18])
def test_the_transform_is_as_exact_as_the_proof_takes_it_to_be(power):
    """Against the same transform in extended precision, on masses like those of a loss."""
    from scipy import fft

    rng = np.random.default_rng(power)
    for masses in (rng.random(2**power), np.exp(-np.linspace(0, 60, 2**power)), np.eye(1, 2**power, 3)[0]):
        exact = fft.rfft(masses.astype(np.longdouble))
        error = np.abs(np.fft.rfft(masses) - exact).max()
        assert error <= _transform_error(2**power) * masses.sum() / 4
        rounded = exact.astype(np.complex128)
        back = np.fft.irfft(rounded, 2**power) - fft.irfft(rounded.astype(np.clongdouble), 2**power)
        assert np.abs(back).max() <= _transform_error(2**power) * np.abs(rounded).sum() / 2**power / 4


# Several events on one sample ----------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
def test_term_by_term_convolution(epsilon):
    part = pairs(Gaussian(2.0), 0.005, 1e-20)[0]
    both = _product([(part, 5)], 1e-20)
    over = both.losses > epsilon
    delta = both.above + float((both.masses[over] * -np.expm1(epsilon - both.losses[over])).sum())
    exact = gauss.delta_of(math.sqrt(5) / 2, epsilon)
    assert exact * (1 - 1e-10) <= delta <= 1.005 * exact


def test_a_mixed_event_on_a_sample_is_between_its_bounds():
    mixed = Sampled(0.01, Composed((Gaussian(1.5), Laplace(2.0))))
    alone = accounting.epsilon(Repeated(Sampled(0.01, Gaussian(1.5)), 1000), 1e-6)
    # Laplace(2) is ½-DP, hence covered by a Gaussian of the μ of ½
    covered = Gaussian(1 / math.hypot(1 / 1.5, accounting.curves.mu(Pure(0.5))))
    most = accounting.epsilon(Repeated(Sampled(0.01, covered), 1000), 1e-6)
    assert alone < accounting.epsilon(Repeated(mixed, 1000), 1e-6) < most * 1.001


def test_a_sample_of_a_sample_is_a_sample():
    twice = accounting.epsilon(Repeated(Sampled(0.1, Sampled(0.1, Gaussian(1.0))), 100), 1e-6)
    assert twice == pytest.approx(accounting.epsilon(Repeated(Sampled(0.01, Gaussian(1.0)), 100), 1e-6), rel=1e-6)


def test_rates_zero_and_one():
    assert accounting.epsilon(Sampled(0.0, Gaussian(1.0))) == 0.0
    assert accounting.epsilon(Sampled(1.0, Gaussian(1.0))) == accounting.epsilon(Gaussian(1.0))


# Properties ----------------------------------------------------------------------------------------

leaves = st.one_of(
    st.floats(0.7, 20).map(Gaussian),
    st.floats(0.3, 50).map(Laplace),
    st.floats(0.02, 2).map(Pure),
    st.floats(0.02, 2).map(Choice),
    st.floats(0.02, 2).map(lambda e: Approximate(e, 1e-8)),
)
events = st.one_of(leaves, st.tuples(st.floats(0.01, 0.9), leaves).map(lambda pair: Sampled(*pair)))
CLOSE = 1 + 5e-4


@given(event=events, times=st.integers(1, 20))
@settings(max_examples=25, deadline=None)
def test_k_composed_equal_one_repeated(event, times):
    apart = accounting.epsilon([event] * times, 1e-6)
    assert apart == pytest.approx(accounting.epsilon(Repeated(event, times), 1e-6), rel=1e-9)


@given(event=events, other=events, times=st.integers(1, 50))
@settings(max_examples=25, deadline=None)
def test_more_events_never_cost_less(event, other, times):
    less = accounting.epsilon(Repeated(event, times), 1e-6)
    assert less <= accounting.epsilon(Repeated(event, times + 1), 1e-6) * CLOSE
    assert less <= accounting.epsilon([Repeated(event, times), other], 1e-6) * CLOSE


@given(event=events, times=st.integers(1, 50), delta=st.floats(-12, -3).map(lambda x: 10.0**x))
@settings(max_examples=25, deadline=None)
def test_a_larger_delta_never_costs_more(event, times, delta):
    event = Repeated(event, times)
    epsilon = accounting.epsilon(event, delta)
    assert accounting.epsilon(event, 3 * delta) <= epsilon * CLOSE
    if 0 < epsilon < math.inf:
        # near the largest loss there is, δ falls steeply: what is close in ε need not be close in δ
        assert accounting.delta(event, 1.002 * epsilon) <= delta * 1.03
        assert accounting.delta(event, 1.1 * epsilon) <= accounting.delta(event, epsilon) * 1.001


@given(rate=st.floats(0.001, 0.5), noise=st.floats(0.6, 5), times=st.integers(1, 2000))
@settings(max_examples=25, deadline=None)
def test_less_noise_and_larger_samples_never_cost_less(rate, noise, times):
    epsilon = accounting.epsilon(dpsgd(times, rate, noise), 1e-6)
    assert epsilon <= accounting.epsilon(dpsgd(times, rate, 0.8 * noise), 1e-6) * CLOSE
    assert epsilon <= accounting.epsilon(dpsgd(times, 1.2 * rate, noise), 1e-6) * CLOSE


@given(each=st.floats(0.01, 3), times=st.integers(1, 100))
@settings(max_examples=15, deadline=None)
def test_bounded_range_costs_no_more_than_pure(each, times):
    plain = accounting.epsilon(Repeated(Pure(each), times), 1e-6)
    assert accounting.epsilon(Repeated(Choice(each, "permute-and-flip"), times), 1e-6) == pytest.approx(plain)
    assert accounting.epsilon(Repeated(Choice(each), times), 1e-6) <= plain * CLOSE


def test_the_bounded_range_pair_covers_every_choice():
    """At each ε the worst two-point mechanism with losses t and t − ε₀, over t, is what the pair gives."""
    size, t = 1.5, np.linspace(1e-9, 1.5 - 1e-9, 4001)
    for epsilon in (0.0, 0.4, 1.2):
        p = (math.exp(size) - np.exp(t)) / math.expm1(size)
        worst = np.max(p * np.maximum(0, -np.expm1(epsilon - t)))
        found = accounting.delta(Choice(size), epsilon)
        assert worst <= found <= worst * 1.005
