"""The public functions: conversions, calibration, errors, agreement with another accountant."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting, events
from discreet.accounting import bounds, curves
from discreet.accounting.calibrate import times_as_costly
from discreet.errors import NotSupported
from discreet.events import Approximate, Choice, Composed, Gaussian, Laplace, Pure, Repeated, Sampled

# Calibration ---------------------------------------------------------------------------------------


@pytest.mark.catalogue("CO3")
def test_noise_of_one_gaussian():
    assert accounting.noise_multiplier(1.0, 1e-5) == pytest.approx(3.73063163, abs=5e-9)
    assert accounting.noise_multiplier(1.0, 1e-5, rounds=100) == pytest.approx(37.3063163, abs=5e-8)


@pytest.mark.parametrize(("rate", "rounds"), [(0.01, 1000), (0.2, 10), (0.001, 20_000)])
def test_noise_with_sampling_is_enough_and_hardly_more(rate, rounds):
    noise = accounting.noise_multiplier(2.0, 1e-6, rate=rate, rounds=rounds)
    assert accounting.epsilon(Repeated(Sampled(rate, Gaussian(noise)), rounds), 1e-6) <= 2.0
    assert accounting.epsilon(Repeated(Sampled(rate, Gaussian(noise * (1 - 3e-4))), rounds), 1e-6) > 2.0


PLANS = [
    [Gaussian(1.0), Gaussian(3.0)],
    [Laplace(1.0), Gaussian(1.0), Choice(0.5)],
    [Repeated(Pure(1.0), 30)],
    [Sampled(0.1, Composed((Laplace(1.0), Gaussian(2.0)))), Approximate(0.1, 1e-8)],
]


@pytest.mark.parametrize("plan", PLANS)
def test_scaled_plans_fit_and_use_the_budget(plan):
    scaled = accounting.scaled(plan, 1.0, 1e-6)
    assert 0.998 < accounting.epsilon(scaled, 1e-6) <= 1.0
    more = [times_as_costly(event, 1 + 5e-4) for event in scaled]
    assert accounting.epsilon(more, 1e-6) > 1.0


@given(shares=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6), epsilon=st.floats(0.01, 20))
@settings(max_examples=50, deadline=None)
def test_scaled_costs_never_exceed_the_budget_by_rounding(shares, epsilon):
    pure = accounting.scaled([Pure(share) for share in shares], epsilon, 0.0)
    assert epsilon * (1 - 1e-13) <= curves.pure(Composed(pure)) <= epsilon
    normal = accounting.scaled([Gaussian(share) for share in shares], epsilon, 1e-6)
    limit = accounting.mu(epsilon, 1e-6)
    assert limit * (1 - 1e-13) <= curves.mu(Composed(normal)) <= limit
    assert accounting.epsilon(normal, 1e-6) <= epsilon


# Conversions ---------------------------------------------------------------------------------------


@pytest.mark.catalogue("CO2")
def test_groups():
    epsilon, delta = accounting.group(0.5, 1e-6, 3)
    assert epsilon == 1.5
    assert 3 * math.exp(1.0) * 1e-6 <= delta <= 3 * math.exp(1.0) * 1e-6 * (1 + 1e-9)
    assert accounting.group(50.0, 1e-6, 3) == (150.0, 1.0)
    assert accounting.group(1.0, 1e-6, 1) == (1.0, 1e-6)


@pytest.mark.catalogue("CO2")
def test_a_group_of_a_gaussian_is_within_its_bound():
    delta = accounting.delta(Gaussian(4.0), 0.5)
    epsilon, most = accounting.group(0.5, delta, 3)
    assert accounting.delta(Gaussian(4.0 / 3), epsilon) <= most  # three units shift the mean three times as far


@pytest.mark.catalogue("CO1")
def test_relations():
    assert accounting.to_replace_one(0.5, 0.0) == (1.0, 0.0)
    with pytest.raises(NotSupported, match="never be converted"):
        accounting.to_add_remove(1.0, 0.0)


@pytest.mark.catalogue("CO3")
@given(epsilon=st.floats(0.01, 1), times=st.integers(1, 500))
@settings(max_examples=25, deadline=None)
def test_never_worse_than_the_theorems(epsilon, times):
    ours = accounting.epsilon(Repeated(Pure(epsilon), times), 1e-6)
    assert ours <= accounting.basic(epsilon, 0.0, times)[0] * (1 + 1e-12)
    assert ours <= accounting.advanced(epsilon, 0.0, times, 1e-6)[0] * (1 + 1e-12)


@given(epsilon=st.floats(0.05, 20), delta=st.floats(-12, -2).map(lambda x: 10.0**x), order=st.integers(2, 200))
@settings(max_examples=100, deadline=None)
def test_renyi_caps_convert_back(epsilon, delta, order):
    cap = accounting.renyi_cap(epsilon, delta, order)
    if cap > 0:
        assert bounds.from_renyi(order, cap, delta) == pytest.approx(epsilon, rel=1e-9)
    best = accounting.best_order(epsilon, delta)
    assert accounting.renyi_cap(epsilon, delta, best) / best >= cap / order


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.1, 1e-8), (10.0, 1e-6)])
def test_the_best_order_is_valid_for_a_gaussian(epsilon, delta):
    order = accounting.best_order(epsilon, delta)
    mu = math.sqrt(2 * accounting.renyi_cap(epsilon, delta, order) / order)
    assert 0.8 * accounting.mu(epsilon, delta) < mu <= accounting.mu(epsilon, delta)


def test_curves_fall():
    values = accounting.curve(Repeated(Laplace(5.0), 10), [1e-9, 1e-6, 1e-3])
    assert values.shape == (3,) and np.all(np.diff(values) < 0)


# Edges and errors ----------------------------------------------------------------------------------


def test_edges():
    assert accounting.epsilon([]) == 0.0 and accounting.delta([]) == 0.0
    assert accounting.epsilon(Gaussian(1.0), 0.0) == math.inf
    assert accounting.epsilon(Approximate(1.0, 1e-9), 0.0) == math.inf
    assert accounting.epsilon([Pure(0.25), Laplace(4.0)], 0.0) == 0.5
    assert accounting.epsilon(Approximate(1.0, 1e-5), 1e-5) == 1.0
    assert accounting.epsilon(Approximate(1.0, 1e-4), 1e-5) == math.inf
    assert accounting.epsilon(Repeated(Approximate(0.1, 1e-6), 10), 1e-5) <= 1.0
    assert accounting.delta(Approximate(1.0, 1e-6), 1.0) == 1e-6
    assert accounting.epsilon(Gaussian(1e-3), 1e-5) < math.inf
    assert accounting.epsilon([Laplace(1e-3), Gaussian(1.0)], 1e-5) < math.inf
    assert accounting.delta(Laplace(1e-3), 1.0) <= 1.0
    assert accounting.epsilon([Pure(1e-9), Gaussian(1e6)], 1e-5) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accounting.epsilon(Pure(1.0), -1), r"The `delta` must be within \[0, 1\). Got -1."),
        (lambda: accounting.epsilon(Pure(1.0), math.nan), "The `delta` must be within"),
        (lambda: accounting.delta(Pure(1.0), -1), "The `epsilon` must be >= 0. Got -1."),
        (lambda: accounting.mu(-1, 1e-5), "The `epsilon` must be > 0. Got -1."),
        (lambda: accounting.mu(math.inf, 1e-5), "The `epsilon` must be > 0 and finite. Got inf."),
        (lambda: accounting.mu(1.0, 0.0), r"The `delta` must be within \(0, 1\). Got 0.0."),
        (lambda: accounting.noise_multiplier(1.0, 1e-5, rate=0.0), r"The `rate` must be within \(0, 1\]"),
        (lambda: accounting.noise_multiplier(1.0, 1e-5, rounds=0), "The `rounds` must be a whole number >= 1"),
        (lambda: accounting.group(1.0, 0.0, 1.5), "The `k` must be a whole number >= 1. Got 1.5."),
        (lambda: accounting.scale(Gaussian(1.0), 1.0, 0.0), "The `delta` must be > 0"),
        (lambda: accounting.scale([], 1.0, 1e-5), "nothing to scale"),
        (lambda: accounting.scale(Approximate(1.0, 1e-3), 1.0, 1e-5), "bring with them, 0.001. Got 1e-05"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("function", [curves.pure, lambda event: times_as_costly(event, 2.0)])
def test_strangers_are_refused(function):
    with pytest.raises(TypeError, match=r"must be an Event of discreet.events. Got str."):
        function("gaussian")


# Another accountant --------------------------------------------------------------------------------


@pytest.mark.catalogue("CO3")
@pytest.mark.parametrize("name", ["dpsgd", "laplace", "mixed"])
def test_agreement_with_dp_accounting(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dp = pytest.importorskip("dp_accounting")
        pld = pytest.importorskip("dp_accounting.pld")
    ours, theirs = {
        "dpsgd": (
            Repeated(Sampled(0.02, Gaussian(1.2)), 500),
            dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.02, dp.GaussianDpEvent(1.2)), 500),
        ),
        "laplace": (Repeated(Laplace(10.0), 60), dp.SelfComposedDpEvent(dp.LaplaceDpEvent(10.0), 60)),
        "mixed": (
            Composed((Repeated(Laplace(10.0), 60), Gaussian(3.0))),
            dp.ComposedDpEvent([dp.SelfComposedDpEvent(dp.LaplaceDpEvent(10.0), 60), dp.GaussianDpEvent(3.0)]),
        ),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = pld.PLDAccountant(value_discretization_interval=1e-4).compose(theirs).get_epsilon(1e-5)
    assert accounting.epsilon(ours, 1e-5) == pytest.approx(peer, rel=2e-3)


@pytest.mark.catalogue("CO8")
def test_disjoint_groups_cost_what_one_or_two_of_them_cost():
    event = events.Composed((events.Gaussian(3.0), events.Laplace(5.0)))
    for groups in (1, 2, 50):
        assert accounting.epsilon(events.Parallel(event, groups), 1e-6) == accounting.epsilon(event, 1e-6)
    both = events.Parallel(event, 50, touched=2)
    assert accounting.epsilon(both, 1e-6) == accounting.epsilon(events.Repeated(event, 2), 1e-6)
    assert curves.mu(both) == curves.mu(events.Repeated(event, 2))
    assert accounting.epsilon(events.Parallel(event, 1, touched=2), 1e-6) == accounting.epsilon(event, 1e-6)
    assert events.Event.from_dict(both.to_dict()) == both
    for wrong in ({"groups": 0}, {"groups": 2, "touched": 3}):
        with pytest.raises(ValueError, match="Parallel"):
            events.Parallel(event, **wrong)
