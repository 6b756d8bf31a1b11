"""One of several events, decided by what ran before: never cheaper than the dearest, and hardly dearer."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import accounting, currency
from discreet.accounting import compose, curves, envelope
from discreet.errors import NotSupported
from discreet.events import (
    Approximate,
    Choice,
    Composed,
    Either,
    Event,
    Gaussian,
    Laplace,
    Minimum,
    Pure,
    Repeated,
    Sampled,
    one_of,
)

pytestmark = pytest.mark.catalogue("CO3")
WAYS = [(4.0, 2.0), (36.0, 15.0), (0.6, 0.2), (10.0, 100.0)]  # noise of a Gaussian, scale of a Laplace


@pytest.mark.parametrize(("noise", "scale"), WAYS)
def test_the_larger_of_two_curves(oracles, noise, scale):
    either = Either((Gaussian(noise), Laplace(scale)))
    for delta in (1e-2, 1e-5, 1e-8, 1e-12):
        epsilon = accounting.epsilon(either, delta)
        exact = max(oracles.gaussian(1 / noise, epsilon), oracles.laplace(1 / scale, epsilon))
        assert exact <= delta
        assert max(oracles.gaussian(1 / noise, 0.99 * epsilon), oracles.laplace(1 / scale, 0.99 * epsilon)) > delta


@pytest.mark.parametrize(("noise", "scale"), WAYS)
@pytest.mark.parametrize("first", [0.3, 1.0, 5.0])
def test_a_fork_after_noise_is_what_the_best_adversary_sees(oracles, noise, scale, first):
    """The exact δ of an adversary who picks the worse way after each outcome: an integral over the first loss."""
    mu = mpmath.mpf(1) / (first * noise)

    def curve(loss, way, size):  # also left of zero: H(1/t) = 1 - (1 - H(t))/t
        return way(size, loss) if loss >= 0 else 1 - mpmath.exp(loss) * (1 - way(size, -loss))

    def worse(loss):
        return max(
            curve(loss, oracles.gaussian, 1 / mpmath.mpf(noise)), curve(loss, oracles.laplace, 1 / mpmath.mpf(scale))
        )

    def exact(epsilon):
        # under P the first loss is N(μ²/2, μ²); beyond ten deviations is less than 1e-23
        def density(z):
            return mpmath.exp(-z * z / 2) / mpmath.sqrt(2 * mpmath.pi)

        nodes = mpmath.linspace(-10, 10, 41)
        with mpmath.workdps(20):
            return mpmath.quad(lambda z: density(z) * worse(epsilon - (mu * mu / 2 + mu * z)), nodes, maxdegree=4)

    event = Composed((Gaussian(first * noise), Either((Gaussian(noise), Laplace(scale)))))
    epsilon = accounting.epsilon(event, 1e-6)
    assert exact(epsilon) <= 1e-6 * (1 + 1e-6)
    assert exact(0.998 * epsilon) > 1e-6
    alone = max(accounting.epsilon(Composed((Gaussian(first * noise), way)), 1e-6) for way in event.events[1].events)
    assert epsilon >= alone * (1 - compose.TOLERANCE)


def masses():
    return st.lists(st.floats(0, 1), min_size=1, max_size=12).map(lambda values: np.array(values) / (2.1 * len(values)))


@given(masses(), masses(), st.floats(1e-3, 1.0))
@settings(max_examples=200, deadline=None)
def test_an_envelope_is_above_both_curves_and_no_higher_than_it_must(one, other, step):
    found = envelope.envelope([one, other], step, 1.0)
    middle = len(found) // 2
    losses = step * np.arange(-middle, middle + 1)
    assert (found >= 0).all()

    def curve(right, epsilon):
        there = step * np.arange(1, len(right) + 1)
        return float((right * np.maximum(0, -np.expm1(epsilon - there))).sum())

    for epsilon in np.linspace(0, losses[-1], 41):
        assert curve(found[middle + 1 :], epsilon) >= max(curve(one, epsilon), curve(other, epsilon)) - 1e-12
    for k in range(middle + 1):  # exact at the grid points
        larger = max(curve(one, k * step), curve(other, k * step))
        assert curve(found[middle + 1 :], k * step) == pytest.approx(larger, abs=1e-10)
    np.testing.assert_allclose(found[:middle][::-1], found[middle + 1 :] * np.exp(-losses[middle + 1 :]))


def test_each_currency_asks_for_the_dearest():
    ways = Composed((Gaussian(2.0), Gaussian(2.0))), Laplace(4.0), Composed((Pure(0.1), Choice(0.1)))
    either = Either(ways)
    assert curves.pure(either) == math.inf and curves.pure(Either(ways[1:])) == 0.25
    assert curves.mu(either) == max(map(curves.mu, ways))
    assert curves.renyi(either, 8) == max(curves.renyi(way, 8) for way in ways)
    assert currency.rho(either) == pytest.approx(0.25)
    assert curves.slack(either) == 0
    assert accounting.epsilon(Either(ways[1:]), 0.0) == 0.25


def test_scaling_finds_the_whole_budget():
    plan = (Gaussian(3.0), Either((Laplace(0.4), Composed((Gaussian(1.0), Gaussian(2.0))))))
    scaled = accounting.scaled(plan, 0.5, 1e-6)
    assert 0.999 * 0.5 < accounting.epsilon(scaled, 1e-6) <= 0.5
    assert scaled[1].events[1].events[1].noise_multiplier == pytest.approx(
        2 * scaled[1].events[1].events[0].noise_multiplier
    )


def test_repeated_and_on_a_sample_it_is_never_below_one_of_its_ways():
    either = Either((Gaussian(20.0), Laplace(30.0)))
    for wrapped in (lambda event: Repeated(event, 40), lambda event: Sampled(0.3, event)):
        found = accounting.epsilon(wrapped(either), 1e-6)
        each = [accounting.epsilon(wrapped(way), 1e-6) for way in either.events]
        assert max(each) * (1 - compose.TOLERANCE) <= found < 1.5 * max(each)  # upper bounds, each so close


def test_what_it_is_made_of():
    either = Either((Laplace(2.0), Composed((Gaussian(1.0), Repeated(Gaussian(3.0), 2)))))
    assert Event.from_dict(either.to_dict()) == either
    assert (
        str(either)
        == "either Laplace(scale=2.0), or Gaussian(noise_multiplier=1.0) and Gaussian(noise_multiplier=3.0) × 2"
    )
    few = one_of(either, 2)
    assert few.events[0] == Laplace(math.nextafter(4.0, math.inf)) and few.events[1].events[0].noise_multiplier >= 2
    for ways in [
        (Gaussian(1.0),),
        (Gaussian(1.0), Approximate(1.0, 1e-6)),
        (Gaussian(1.0), Sampled(0.1, Gaussian(1.0))),
        (Gaussian(1.0), Minimum(1.0, 0.1)),
        (Gaussian(1.0), Composed((Gaussian(1.0), Laplace(1.0)))),
        (Gaussian(1.0), Composed(())),
    ]:
        with pytest.raises(NotSupported, match="Either is of two events or more"):
            Either(ways)
