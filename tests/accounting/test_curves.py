"""What single events cost, against high precision."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import NotSupported
from discreet.accounting import delta
from discreet.accounting.curves import amplified, choice_within, mu, pure, renyi, slack
from discreet.events import Approximate, Choice, Composed, Either, Gaussian, Laplace, Pure, Repeated, Sampled

mpmath.mp.dps = 30
epsilons = st.floats(-5, 2).map(lambda x: 10.0**x)
orders = st.integers(2, 64)


@pytest.mark.catalogue("CO3")
def test_ten_randomised_responses_are_ten():
    ten = Repeated(Pure(0.25), 10)
    assert pure(ten) == 2.5
    assert mu(ten) == pytest.approx(math.sqrt(10) * mu(Pure(0.25)))
    assert renyi(ten, 5) == pytest.approx(10 * renyi(Pure(0.25), 5))
    assert slack(Repeated(Approximate(0.25, 1e-6), 10)) == pytest.approx(1e-5, rel=1e-4)


def test_sums_are_exact_and_round_up():
    assert pure(Repeated(Laplace(10.0), 10)) == 1.0
    assert pure(Repeated(Pure(0.1), 10)) >= 1.0  # the double 0.1 is above one tenth
    assert mu(Repeated(Gaussian(4.0), 16)) == 1.0
    assert pure(Composed(())) == 0.0


@given(epsilon=epsilons)
@settings(max_examples=100, deadline=None)
def test_mu_of_a_pure_event_covers_randomised_response_and_no_more(epsilon):
    with mpmath.workdps(100):
        cover = mpmath.mpf(mu(Pure(epsilon))) / 2 / mpmath.sqrt(2)
        wanted = mpmath.tanh(mpmath.mpf(epsilon) / 2)
        assert mpmath.erf(cover) >= wanted
        assert mpmath.erf(cover * (1 - mpmath.mpf("1e-11"))) < wanted


@given(epsilon=epsilons)
@settings(max_examples=60, deadline=None)
def test_mu_of_a_choice_covers_every_bounded_range_and_no_more(epsilon):
    """Two outcomes whose log odds differ by ε, wherever they are: the worst there is; in the middle it is μ itself."""

    def needs(centre):
        low, high = (1 / (1 + mpmath.exp(-(centre + side * mpmath.mpf(epsilon) / 2))) for side in (-1, 1))
        return mpmath.sqrt(2) * (mpmath.erfinv(2 * high - 1) - mpmath.erfinv(2 * low - 1))

    with mpmath.workdps(60):
        found = mpmath.mpf(mu(Choice(epsilon)))
        for centre in (0, epsilon / 4, -epsilon / 2, epsilon, 1.0, -3.0, 8.0, 20.0):
            if abs(centre) + epsilon / 2 < 60:
                assert needs(mpmath.mpf(centre)) <= found
        if epsilon < 60:
            assert needs(0) > found * (1 - mpmath.mpf("1e-11"))
    assert mu(Choice(epsilon)) <= mu(Choice(epsilon, "permute-and-flip"))


@pytest.mark.parametrize("multiplier", [300.0, 36.0, 4.0, 1.0, 0.3, 0.1, 0.02])
def test_a_choice_within_a_gaussian_is_nowhere_dearer(multiplier):
    event = Composed((Gaussian(multiplier * math.sqrt(2)), Gaussian(multiplier * math.sqrt(2))))
    choice = Choice(choice_within(event))
    assert 0.97 * mu(event) < mu(choice) <= mu(event)
    for share in (0.0, 0.1, 0.25, 0.5, 0.75, 0.95):
        assert delta(choice, share * choice.epsilon) <= delta(event, share * choice.epsilon) * (1 + 1e-9)
    for order in (2, 5, 30):
        assert renyi(choice, order) <= renyi(event, order) * 1.0001


def test_a_choice_within_what_is_pure_has_the_largest_epsilon_and_not_their_sum():
    """Ten events of ε = 0.1 cost less at δ = 1e-6 than one of ε = 1: they do not pay for it."""
    assert choice_within(Pure(0.25)) == choice_within(Composed((Pure(0.25), Laplace(8.0)))) == 0.25
    ten = Repeated(Pure(0.1), 10)
    assert choice_within(ten) == 0.1
    assert mu(Choice(choice_within(ten))) <= mu(ten) < mu(Choice(1.0))
    for events in (ten, Composed((Choice(0.3), Choice(0.2))), Composed((Laplace(2.0), Pure(0.1)))):
        choice = Choice(choice_within(events))
        for epsilon in (0.01, 0.1, 0.2, 0.4):
            assert delta(choice, epsilon) <= delta(events, epsilon) * (1 + 1e-9)
    either = Either((Composed((Pure(1.0), Pure(1.0))), Pure(0.5)))
    for mixed in (Composed((Pure(0.1), Gaussian(1.0))), Sampled(0.5, Gaussian(1.0)), Sampled(0.01, Pure(3.0)), either):
        with pytest.raises(NotSupported, match="Gaussians alone, or by pure events alone"):
            choice_within(mixed)


def test_mu_of_huge_epsilons_is_finite_and_grows():
    values = [mu(Pure(e)) for e in (100.0, 299.0, 301.0, 1000.0, 1e6)]
    assert values == sorted(values) and math.isfinite(values[-1])


def response(epsilon, order):
    p, q = 1 / (1 + mpmath.exp(-epsilon)), 1 / (1 + mpmath.exp(epsilon))
    return mpmath.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)


@given(epsilon=epsilons, order=orders)
@settings(max_examples=100, deadline=None)
def test_renyi_of_pure_and_laplace(epsilon, order):
    e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
    exact = response(e, a)
    assert exact <= renyi(Pure(epsilon), order) <= exact * (1 + mpmath.mpf("1e-11")) or order * epsilon > 300
    assert renyi(Pure(epsilon), order) >= exact
    b = 1 / mpmath.mpf(pure(Laplace(1 / epsilon)))
    moment = a / (2 * a - 1) * mpmath.exp((a - 1) / b) + (a - 1) / (2 * a - 1) * mpmath.exp(-a / b)
    laplace = mpmath.log(moment) / (a - 1)
    assert renyi(Laplace(1 / epsilon), order) >= laplace * (1 - mpmath.mpf("1e-15"))


@given(rate=st.floats(1e-4, 0.9), sigma=st.floats(0.3, 20), order=orders)
@settings(max_examples=60, deadline=None)
def test_renyi_of_the_sampled_gaussian(rate, sigma, order):
    q, s = mpmath.mpf(rate), mpmath.mpf(sigma)
    moment = sum(
        mpmath.binomial(order, k) * (1 - q) ** (order - k) * q**k * mpmath.exp(k * (k - 1) / (2 * s * s))
        for k in range(order + 1)
    )
    exact = mpmath.log(moment) / (order - 1)
    ours = renyi(Sampled(rate, Gaussian(sigma)), order)
    assert exact <= ours <= exact * (1 + mpmath.mpf("2e-11"))


def test_choice_by_rule():
    assert renyi(Choice(1.0), 4) == 0.5
    assert 1.0 < renyi(Choice(1.0, "permute-and-flip"), 4) / 0.5 <= 4.0
    assert renyi(Choice(40.0), 4) <= 40.0


@given(epsilon=epsilons, rate=st.floats(-12, 0).map(lambda x: 10.0**x))
@settings(max_examples=100, deadline=None)
def test_amplified_epsilon_is_never_below_exact(epsilon, rate):
    exact = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(epsilon)))
    assert exact <= pure(Sampled(rate, Pure(epsilon))) * (1 + mpmath.mpf(1e-25)) <= exact * (1 + mpmath.mpf("1e-11"))


def test_sampling():
    assert pure(Sampled(0.5, Pure(1.0))) == pytest.approx(math.log1p(0.5 * math.expm1(1.0)))
    assert amplified(1000.0, 0.5) == pytest.approx(1000 + math.log(0.5))
    assert mu(Sampled(0.5, Gaussian(2.0))) == 0.5
    assert [cost(Sampled(0.0, Pure(1.0))) for cost in (pure, slack, mu)] == [0, 0, 0]
    assert renyi(Sampled(1.0, Gaussian(2.0)), 3) == renyi(Gaussian(2.0), 3)
    assert renyi(Sampled(0.0, Gaussian(2.0)), 3) == 0
    assert renyi(Sampled(0.1, Laplace(1.0)), 3) < renyi(Laplace(1.0), 3)
    mixed = Composed((Laplace(1.0), Gaussian(1.0)))
    assert renyi(Sampled(0.1, mixed), 3) == renyi(mixed, 3)


def test_slack():
    assert slack(Approximate(1.0, 1e-5)) == 1e-5
    assert slack(Repeated(Approximate(1.0, 0.5), 3)) == pytest.approx(0.875)
    assert slack(Approximate(0.0, 1.0)) == 1.0
    assert slack(Gaussian(1.0)) == 0.0


@pytest.mark.parametrize("order", [1, 2.5, True])
def test_renyi_orders_are_whole_numbers(order):
    with pytest.raises(ValueError, match="whole number >= 2"):
        renyi(Gaussian(1.0), order)
