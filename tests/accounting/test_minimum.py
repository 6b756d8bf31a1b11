"""The minimum of a perturbed objective: its pair against quadrature, and against true minimisers on the line."""

import json
import math
from functools import lru_cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from discreet import accounting
from discreet.accounting import compose, curves, gauss, pairs
from discreet.accounting.calibrate import times_as_costly
from discreet.accounting.minimum import Shape, cover, shape
from discreet.budget import Budget, Part, approximate, choice, minimum
from discreet.curator import Curator, deal
from discreet.engines.memory import Memory
from discreet.errors import LedgerError
from discreet.events import Approximate, Choice, Composed, Event, Gaussian, Laplace, Minimum, Repeated, Sampled
from discreet.ledger import Ledger
from discreet.mechanisms.keystream import Keystream
from discreet.query import BoundedSum

pytestmark = pytest.mark.catalogue("CO3")
GRID = [(mu, kappa, two) for mu in (0.05, 0.3, 1.0, 4.0) for kappa in (0.01, 0.3, 2.0) for two in (False, True)]
CLOSE = 1 + 5e-4


# An oracle of its own ------------------------------------------------------------------------------------------------

NOISE = np.linspace(-10, 10, 8001)
WEIGHTS = stats.norm.pdf(NOISE) * (NOISE[1] - NOISE[0])


def bound(epsilon, mu, kappa, two_sided):
    """E[1 − e^(ε − L)]₊ for the largest loss that the noise allows, by summing over the noise."""
    free = mu * np.abs(NOISE) if two_sided else mu * NOISE
    losses = kappa + np.maximum(0, mu * mu / 2 + free)
    return float(WEIGHTS @ np.maximum(0, -np.expm1(np.minimum(0, epsilon - losses))))


def hull(mu, kappa, two_sided):
    """Points (γ, H) of the largest convex curve below the bounds on both orders: with the row against without."""
    edge = 6 * mu + mu * mu
    points = [(0.0, 1.0)]
    for log in np.union1d(np.linspace(-edge, kappa + edge, 400), [0.0]):
        with_it = bound(log, mu, kappa, two_sided)
        without = 1 - math.exp(log) * (1 - bound(-log, mu, 0.0, two_sided))
        point = math.exp(log), min(with_it, without)
        while len(points) > 1 and _above(points[-2], points[-1], point):
            points.pop()
        points.append(point)
    return np.array(points).T


def _above(a, b, c):
    """Whether b is not below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


@lru_cache
def touching(mu, kappa, two_sided):
    """Where the line in the middle touches the tails."""
    q, phi = math.exp(-kappa), special.ndtr
    if not two_sided:
        y = optimize.brentq(lambda y: phi(y) + q * phi(-y - mu) - 2 * phi(-mu / 2), -mu / 2, 30, xtol=1e-14)
        return -mu / 2, y

    def unmatched(ends):
        x, y = ends
        return 2 * phi(-x - mu) + 2 * phi(-y) - 1, 2 * phi(-x) + 2 * q * phi(-y - mu) - 1

    return tuple(optimize.fsolve(unmatched, (0.1, 0.5), xtol=1e-14))


def normal(epsilon, mu):
    return special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu)


def hockey(epsilon, mu, kappa, two_sided):
    """The same curve in closed form."""
    x, y = touching(mu, kappa, two_sided)
    low, high, s = -mu * (mu / 2 + x), kappa + mu * (mu / 2 + y), 1 + two_sided
    if epsilon >= high:
        return s * normal(epsilon - kappa, mu)
    if epsilon <= low:
        return 1 - math.exp(epsilon) * (1 - s * normal(-epsilon, mu))
    share = (math.exp(epsilon) - math.exp(low)) / (math.exp(high) - math.exp(low))
    return (1 - share) * hockey(low, mu, kappa, two_sided) + share * hockey(high, mu, kappa, two_sided)


def reverse(epsilon, *pair):
    """The curve of the other order."""
    mu, _, two_sided = pair
    if epsilon >= mu * (mu / 2 + touching(*pair)[0]):
        return (1 + two_sided) * normal(epsilon, mu)
    return 1 - math.exp(epsilon) * (1 - hockey(-epsilon, *pair))


def of_pair(pair, epsilon):
    over = pair.losses > epsilon
    return pair.above + float((pair.masses[over] * -np.expm1(epsilon - pair.losses[over])).sum())


@pytest.mark.parametrize("pair", [(0.3, 0.3, False), (1.0, 0.1, False), (0.3, 0.3, True), (1.0, 2.0, True)])
def test_the_curve_is_the_convex_hull_of_the_bounds(pair):
    mu, kappa, _ = pair
    gammas, values = hull(*pair)
    for epsilon in np.linspace(-3 * mu, kappa + 3 * mu, 41):
        assert hockey(epsilon, *pair) == pytest.approx(np.interp(math.exp(epsilon), gammas, values), abs=3e-4)


@pytest.mark.parametrize(("mu", "kappa", "two"), GRID)
def test_the_grid_pair_has_that_curve_in_both_orders(mu, kappa, two):
    remove, add = pairs.pairs(Minimum(1 / mu, kappa, two), 1e-3 * mu, 1e-20)
    for epsilon in np.linspace(-4 * mu, kappa + 4 * mu, 41):
        exact = hockey(epsilon, mu, kappa, two)
        assert exact * (1 - 1e-9) <= of_pair(remove, epsilon) <= exact * 1.001 + 1e-12
        other = reverse(epsilon, mu, kappa, two)
        assert other * (1 - 1e-9) - 1e-15 <= of_pair(add, epsilon) <= other * 1.001 + 1e-12
    for pair in (remove, add):
        assert pair.masses.sum() + pair.above == pytest.approx(1.0, abs=1e-10)
        assert pair.partner.sum() + pair.below == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("start", [(0.0, 0.0), (0.5, 0.1), (0.1, 2.0), (3.0, 3.0)])
def test_any_start_of_the_tails_is_valid(start):
    """Where the tails begin is a matter of tightness: atoms that make up for it dominate."""
    mu, kappa = 0.5, 0.2
    found = Shape(mu, kappa, 2, *start)
    z = (np.arange(400_000) + 0.5) * 3e-5
    weights = 2 * 3e-5 * stats.norm.pdf(np.array([found.y + z, found.x + z + mu]))
    losses = np.array([kappa + mu * mu / 2 + mu * (found.y + z), -(mu * mu / 2 + mu * (found.x + z))])
    for epsilon in np.linspace(-2, 2, 21):
        value = (weights * np.maximum(0, -np.expm1(np.minimum(0, epsilon - losses)))).sum()
        ends = zip(found.atoms, (found.left, found.right), strict=True)
        value += sum(mass * max(0.0, -math.expm1(epsilon - loss)) for mass, loss in ends)
        assert value >= hockey(epsilon, mu, kappa, True) - 1e-8


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize(("noise", "kappa"), [(0.5, 0.2), (2.0, 1e-3), (5.0, 0.2), (5.0, 3.0), (40.0, 0.05)])
def test_one_minimum_costs_its_noise_and_its_excess(noise, kappa, delta):
    one, two = Minimum(noise, kappa), Minimum(noise, kappa, two_sided=True)
    exact = kappa + gauss.epsilon_of(1 / noise, delta)
    double = kappa + max(0.5 / noise**2, gauss.epsilon_of(1 / noise, delta / 2))
    assert exact <= accounting.epsilon(one, delta) * (1 + 1e-15) <= exact * (1 + 1e-12)
    assert double * (1 - 1e-12) <= accounting.epsilon(two, delta) <= double * (1 + 1e-12)
    for event, truth in ((one, exact), (two, double)):
        found = max(w.epsilon(delta) for w in compose._windows(((event, 1),), 1.02 * truth, delta, fixed="delta"))
        assert truth * (1 - 1e-12) <= found <= 1.001 * truth
        assert delta * (1 - 1e-8) <= accounting.delta(event, truth) <= delta * (1 + 1e-8)


@pytest.mark.parametrize(("mu", "kappa", "two"), GRID)
def test_delta_is_that_of_the_curve_and_of_no_less(mu, kappa, two):
    for epsilon in (0.0, 0.5 * kappa, kappa, kappa + mu, kappa + 3 * mu):
        worst = max(hockey(epsilon, mu, kappa, two), reverse(epsilon, mu, kappa, two))
        assert worst * (1 - 1e-9) <= accounting.delta(Minimum(1 / mu, kappa, two), epsilon) <= worst * 1.005 + 1e-12


@pytest.mark.parametrize(("mu", "kappa"), [(0.05, 0.3), (0.3, 0.02), (1.0, 2.0), (4.0, 0.5)])
def test_the_excess_on_top_is_a_bound_at_every_epsilon(mu, kappa):
    """In both orders and below zero too, which is why it may be added up over a composition."""
    for epsilon in np.linspace(-2 * kappa - 4 * mu, 2 * kappa + 4 * mu, 201):
        most = normal(epsilon - kappa, mu) + 1e-12
        assert hockey(epsilon, mu, kappa, False) <= most and reverse(epsilon, mu, kappa, False) <= most


def test_without_excess_it_is_a_gaussian():
    for noise in (0.3, 2.0, 50.0):
        plain, event = Gaussian(noise), Minimum(noise, 0.0)
        assert (
            accounting.epsilon(plain, 1e-6) <= accounting.epsilon(event, 1e-6) <= accounting.epsilon(plain, 1e-6) + 1e-8
        )
        assert 1 / noise <= curves.mu(event) <= 1 / noise * (1 + 1e-5)


def test_total_variation_does_not_grow_with_the_excess():
    """Without the row there is no excess in the loss, so that noise hides any excess at ε = 0."""
    for kappa in (0.1, 1.0, 10.0):
        assert accounting.delta(Minimum(1e3, kappa), 0.0) == pytest.approx(gauss.delta_of(1e-3, 0.0), rel=0.01)


# True minimisers -----------------------------------------------------------------------------------------------------


def logistic(margin):
    p = special.expit(-margin)
    return -p, p * (1 - p)


def late(margin):
    """A logistic loss far from its minimum: nearly linear."""
    return logistic(margin - 10)


def logcosh(margin):
    return np.tanh(margin), 1 / np.cosh(margin) ** 2


def density(theta, rows, loss, ridge, sigma):
    """Of the minimum of Σ loss(x θ) + ridge θ²/2 + b θ with b ~ N(0, σ²): p(b(θ)) b'(θ)."""
    slope, curvature = ridge * theta, np.full_like(theta, ridge)
    for x in rows:
        first, second = loss(x * theta)
        slope, curvature = slope + x * first, curvature + x * x * second
    return stats.norm.pdf(slope / sigma) / sigma * curvature


TRUE = [
    (logistic, 0.25, False, (), 1.0, 1.0, 0.5),
    (logistic, 0.25, False, (), 1.0, 0.3, 2.0),
    (logistic, 0.25, False, (), 0.5, 0.2, 1.0),
    (logistic, 0.25, False, (1.0, -0.3, 0.8), -1.0, 0.5, 1.5),
    (logistic, 0.25, False, (-1.0,) * 60, 1.0, 4.0, 3.0),
    (logcosh, 1.0, True, (), 1.0, 0.5, 1.0),
    (logcosh, 1.0, True, (0.7, -0.2), 0.8, 1.0, 2.0),
]


def true_curve(case, gammas):
    loss, _, _, rows, x, ridge, sigma = case
    edge = (12 * sigma + len(rows) + 1) / ridge
    theta = np.linspace(-edge, edge, 400_001)
    step = theta[1] - theta[0]
    without, with_it = (density(theta, many, loss, ridge, sigma) for many in (rows, (*rows, x)))
    assert without.sum() * step == pytest.approx(1, abs=1e-6)
    return [
        [float(np.maximum(0, p - gamma * q).sum()) * step for gamma in gammas]
        for p, q in ((with_it, without), (without, with_it))
    ]


@pytest.mark.parametrize("case", TRUE)
def test_true_minimisers_are_below_the_event(case):
    _, curvature, two, _, _, ridge, sigma = case
    event, kappa = Minimum(sigma, math.log1p(curvature / ridge), two), math.log1p(curvature / ridge)
    epsilons = np.linspace(0, kappa + 4 / sigma, 15)
    claimed = np.array([accounting.delta(event, float(e)) for e in epsilons])
    for curve in true_curve(case, np.exp(epsilons)):
        assert np.all(np.array(curve) <= claimed + 1e-9)
    for order, below in enumerate(true_curve(case, np.exp(-epsilons))):
        exact = [hockey(-e, 1 / sigma, kappa, two) for e in epsilons]
        other = [reverse(-e, 1 / sigma, kappa, two) for e in epsilons]
        assert np.all(np.array(below) <= np.array((exact, other)[order]) + 1e-9)


def test_the_bound_is_nearly_attained():
    """A slope near its end and little excess: the true δ is most of the one accounted for."""
    case = (late, 0.25, False, (), 1.0, 50.0, 3.0)
    event = Minimum(3.0, math.log1p(0.25 / 50.0))
    ratios = [true_curve(case, [math.exp(e)])[0][0] / accounting.delta(event, e) for e in (0.1, 0.3, 0.6)]
    assert min(ratios) > 0.9 and max(ratios) <= 1


def test_less_excess_or_noise_than_there_is_would_be_caught():
    """With much noise a row's curvature alone sets the largest losses; with little ridge, its slope does."""
    kappa, epsilons = math.log1p(0.25 / 0.3), np.array([0.3, 0.5])
    curved = np.max(true_curve((logistic, 0.25, False, (), 1.0, 0.3, 50.0), np.exp(epsilons)), axis=0)
    assert np.all(curved <= [accounting.delta(Minimum(50.0, kappa), e) for e in epsilons])
    assert np.all(curved > [accounting.delta(Minimum(50.0, 0.3 * kappa), e) for e in epsilons])
    steep = true_curve((late, 0.25, False, (), 1.0, 50.0, 2.7), np.exp(epsilons))
    assert np.any(np.max(steep, axis=0) > [accounting.delta(Minimum(3.0, math.log1p(0.25 / 50)), e) for e in epsilons])


# Costs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "kappa", "two"), GRID)
def test_the_gaussian_cover_is_enough_and_hardly_more(mu, kappa, two):
    size = cover(mu, kappa, two)
    epsilons = np.linspace(-kappa - 5 * mu, kappa + 5 * mu, 801)
    exact = np.array([hockey(e, mu, kappa, two) for e in epsilons])
    assert np.all(exact <= [normal(e, size) + 1e-13 for e in epsilons])
    assert np.any(exact > [normal(e, 0.999 * size) for e in epsilons])
    assert curves.mu(Minimum(1 / mu, kappa, two)) == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("kappa", [1e-3, 0.3, 5.0])
@pytest.mark.parametrize("mu", [1e-3, 0.2, 3.0, 20.0])
def test_the_cover_is_rounded_up(mu, kappa):
    """Against the point at which the line touches the right tail, to 60 digits."""
    with mpmath.workdps(60):
        q, start = mpmath.exp(-kappa), shape(mu, kappa, False).y
        y = mpmath.findroot(
            lambda y: mpmath.ncdf(y) + q * mpmath.ncdf(-y - mu) - 2 * mpmath.ncdf(-mpmath.mpf(mu) / 2), start
        )
        power = q * mpmath.ncdf(-y - mu)
        needed = -y - mpmath.findroot(lambda t: mpmath.log(mpmath.ncdf(t) / power), -y - mu)
        assert needed <= cover(mu, kappa, False) <= needed * (1 + mpmath.mpf("1e-7"))


def test_extreme_minima_are_covered_by_finite_costs():
    for two in (False, True):
        for kappa in (0.0, 1e-9, 0.5, 50.0, 290.0, 310.0):
            values = [cover(mu, kappa, two) for mu in (1e-12, 1e-6, 1e-3, 0.1, 1.0, 10.0, 29.0, 31.0, 1e3)]
            assert values == sorted(values) and values[0] > 0 and math.isfinite(values[-1])
            assert values[-1] >= 1e3
        assert accounting.epsilon(Minimum(1e-3, 0.5, two), 1e-6) >= 5e5
        assert math.isfinite(curves.renyi(Minimum(1e-3, 0.5, two), 32))


def divergence(mu, kappa, two, order, curve):
    """By quadrature of a (a − 1) γ^(a−2) H(γ) over γ = e^ε."""

    def term(epsilon):
        return order * (order - 1) * math.exp((order - 1) * epsilon) * max(0.0, curve(epsilon, mu, kappa, two))

    x, y = touching(mu, kappa, two)
    low, high = mu * (mu / 2 + x), kappa + mu * (mu / 2 + y)
    breaks = sorted({-60.0, -high, -low, low, high, high + order * mu * mu, high + order * mu * mu + 14 * mu})
    total = sum(integrate.quad(term, a, b, limit=400, epsrel=1e-10)[0] for a, b in pairwise(breaks))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 8])
@pytest.mark.parametrize(
    ("mu", "kappa", "two"), [(0.3, 0.3, False), (1.0, 0.05, False), (0.3, 0.3, True), (0.8, 1.0, True)]
)
def test_renyi_is_that_of_the_pair(mu, kappa, two, order):
    exact = max(divergence(mu, kappa, two, order, curve) for curve in (hockey, reverse))
    event = Minimum(1 / mu, kappa, two)
    assert exact * (1 - 1e-6) <= curves.renyi(event, order) <= exact * (1 + 1e-6)
    assert curves.renyi(event, order) <= order * curves.mu(event) ** 2 / 2 * (1 + 1e-9)


def test_it_is_neither_pure_nor_gaussian_and_has_no_slack():
    event = Minimum(2.0, 0.1)
    assert math.isinf(curves.pure(event)) and math.isinf(accounting.epsilon(event, 0.0))
    assert curves.slack(event) == 0 and not curves.only_gaussian(event)
    assert curves.excess(Composed((event, Repeated(event, 3), Gaussian(1.0)))) == pytest.approx(0.4)


@given(
    noise=st.floats(-0.5, 2.5).map(lambda x: 10.0**x),
    kappa=st.floats(-3, 0.7).map(lambda x: 10.0**x),
    two=st.booleans(),
    delta=st.floats(-12, -2).map(lambda x: 10.0**x),
)
@settings(max_examples=40, deadline=None)
def test_monotone_in_every_parameter(noise, kappa, two, delta):
    costs = [lambda e: accounting.epsilon(e, delta), curves.mu, lambda e: curves.renyi(e, 5)]
    for cost in costs:
        here = cost(Minimum(noise, kappa, two))
        assert cost(Minimum(1.1 * noise, kappa, two)) <= here * CLOSE
        assert here <= cost(Minimum(noise, 1.1 * kappa, two)) * CLOSE
        assert here <= cost(Minimum(noise, kappa, True)) * CLOSE
    assert accounting.epsilon(Minimum(noise, kappa, two), 2 * delta) <= costs[0](Minimum(noise, kappa, two)) * CLOSE


# Compositions --------------------------------------------------------------------------------------------------------


def with_gaussian(epsilon, mu, kappa, two, noise):
    """The δ of a minimum and a Gaussian, both orders: the first's curve averaged over the loss of the second."""

    def term(z, curve):
        return stats.norm.pdf(z) * curve(epsilon - 0.5 / noise**2 - z / noise, mu, kappa, two)

    breaks = range(-9, 10, 3)
    return max(
        sum(integrate.quad(term, a, b, (curve,), epsabs=1e-15)[0] for a, b in pairwise(breaks))
        for curve in (hockey, reverse)
    )


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize(("mu", "kappa", "noise"), [(0.2, 0.3, 5.0), (0.1, 0.3, 3.0), (1.0, 0.1, 2.0)])
def test_with_a_gaussian_it_is_never_below_exact(mu, kappa, noise, two):
    events = [Minimum(1 / mu, kappa, two), Gaussian(noise)]
    for epsilon in (0.1, kappa + 0.3, kappa + 1.0):
        exact = with_gaussian(epsilon, mu, kappa, two, noise)
        assert exact * (1 - 1e-6) <= accounting.delta(events, epsilon) <= 1.01 * exact + 1e-12
    most = kappa + gauss.epsilon_of(math.hypot(mu, 1 / noise), 1e-6)
    assert two or accounting.epsilon(events, 1e-6) <= most * (1 + 1e-12)


@pytest.mark.parametrize("other", [Laplace(4.0), Choice(0.3), Approximate(0.2, 1e-9), Sampled(0.1, Gaussian(2.0))])
def test_with_other_events_it_costs_more_than_either_and_less_than_both(other):
    event = Minimum(4.0, 0.2)
    both = accounting.epsilon([event, other], 1e-6)
    apart = [accounting.epsilon(one, 5e-7) for one in (event, other)]
    assert max(accounting.epsilon(one, 1e-6) for one in (event, other)) < both < sum(apart)
    assert accounting.delta([event, other], both) <= 1e-6 * 1.03
    assert list(accounting.curve([event, other], [1e-8, 1e-6])) == [
        accounting.epsilon([event, other], d) for d in (1e-8, 1e-6)
    ]


def test_repeated_and_sampled():
    event = Minimum(20.0, 0.05)
    ten = accounting.epsilon(Repeated(event, 10), 1e-6)
    assert accounting.epsilon([event] * 10, 1e-6) == pytest.approx(ten, rel=1e-9)
    assert 0.5 < ten < 0.5 + gauss.epsilon_of(math.sqrt(10) / 20, 1e-6)
    assert ten <= accounting.epsilon(Gaussian(1 / (math.sqrt(10) * curves.mu(event))), 1e-6)
    some = accounting.epsilon(Sampled(0.1, event), 1e-6)
    assert accounting.epsilon(Sampled(0.1, Gaussian(20.0)), 1e-6) < some < accounting.epsilon(event, 1e-6)


def test_losses_to_look_at():
    event = Minimum(2.0, 0.25)
    losses = accounting.loss_distribution(event)
    assert losses.probabilities.sum() + losses.unbounded == pytest.approx(1.0, abs=1e-9)
    assert losses.beyond(1.25) == pytest.approx(special.ndtr((0.125 - 1.0) / 0.5), rel=0.01)
    assert accounting.privacy_loss(event, [0.0, 0.5, 3.0]) == pytest.approx([0.375, 0.25, 0.25])
    assert accounting.privacy_loss(Minimum(2.0, 0.25, True), [-1.0, 0.0, 1.0]) == pytest.approx([0.625, 0.375, 0.625])


# Events, plans and ledgers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [Minimum(2.0, 0.1), Minimum(3, 0.0, True), Repeated(Minimum(1.5, 0.5), 2)])
def test_json(event):
    assert Event.from_dict(json.loads(json.dumps(event.to_dict()))) == event


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Minimum(0.0, 0.1), ValueError, "noise_multiplier"),
        (lambda: Minimum(1.0, -0.1), ValueError, "excess"),
        (lambda: Minimum(1.0, math.inf), ValueError, "excess"),
        (lambda: Minimum(1.0, 0.1, 1), TypeError, "two_sided"),
        (lambda: minimum(1.0, 0.0), ValueError, "excess"),
        (lambda: Part(1.0, "minimum"), ValueError, "excess"),
        (lambda: Part(1.0, "noise", 0.1), ValueError, "only a minimum"),
        (lambda: deal(Budget(1.0).split(minimum(1.0, 0.1))[0].plan), ValueError, "delta > 0"),
        (lambda: deal(Budget(1.0, 1e-6, "replace-one").split(minimum(1, 0.1))[0].plan), ValueError, "approximate"),
        (lambda: deal(Budget(1.0, 1e-6).lots(5, 0.1, minimum(1, 0.1))[0].plan), ValueError, "lots"),
        (lambda: deal(Budget(1.0, 1e-6).lots(1, 1.0, minimum(1, 0.1))[0].plan), ValueError, "lots"),
        (lambda: deal(Budget(1.0, 1e-6).split(minimum(1, 1.0), 1)[0].plan), ValueError, "regulariser"),
        (lambda: accounting.scaled([Minimum(1.0, 0.6)] * 2, 1.0, 1e-6), ValueError, "excess of the minima, 1.2"),
    ],
)
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_scaling_leaves_the_excess():
    assert times_as_costly(Minimum(2.0, 0.3, True), 4.0) == Minimum(0.5, 0.3, True)
    (alone,) = accounting.scaled([Minimum(1.0, 0.3)], 1.0, 1e-6)
    assert alone.noise_multiplier == pytest.approx(1 / accounting.mu(0.7, 1e-6), rel=2e-4)


@pytest.mark.parametrize("others", [(), (Choice(0.3),), (Gaussian(2.0), Laplace(3.0))])
@pytest.mark.parametrize("over", [1 + 1e-12, 1 + 1e-6, 1.01])
def test_a_search_just_above_the_excess_ends(others, over):
    plan = (Minimum(1.0, 0.2), *others)
    try:
        fitted = accounting.scaled(plan, 0.2 * over, 1e-6)
    except ValueError as error:
        assert "no noise takes away" in str(error) and over < 1.001
    else:
        assert accounting.epsilon(fitted, 1e-6) <= 0.2 * over


PLANS = [
    (minimum(1.0, 0.2),),
    (minimum(0.8, 0.3), 0.2),
    (minimum(0.8, 0.3, two_sided=True), 0.1, 0.1),
    (minimum(0.5, 0.1), choice(0.2), 0.3),
    (minimum(0.5, 0.1), approximate(0.2), 0.3),
    (minimum(0.5, 0.1), minimum(0.5, 0.2)),
]


@pytest.mark.parametrize("parts", PLANS)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 1e-8)])
def test_plans_cost_their_budget(parts, epsilon, delta):
    plan = Budget(epsilon, delta).split(*parts)[0].plan
    events = deal(plan)
    assert 0.998 * epsilon < accounting.epsilon(events, delta) <= epsilon
    minima = [(event, part) for event, part in zip(events, parts, strict=True) if isinstance(event, Minimum)]
    assert minima and all((event.excess, event.two_sided) == (part.excess, part.two_sided) for event, part in minima)
    noises = [event.noise_multiplier for event in events if isinstance(event, Minimum | Gaussian)]
    weights = [w for event, w in zip(events, plan.weights, strict=True) if isinstance(event, Minimum | Gaussian)]
    assert np.ptp(np.array(noises) * np.sqrt(weights)) <= 1e-9 * max(noises)
    ledger = Ledger(Budget(epsilon, delta))
    ledger.charge("fit", Composed(events))
    assert ledger.spent <= epsilon


def test_its_share_buys_nothing_else():
    """Refused before anything is charged."""
    ledger = Ledger(Budget(1.0, 1e-6))
    curator = Curator(Memory(np.zeros((3, 1))), ledger, rng=Keystream.seeded(1))
    share, _ = Budget(1.0, 1e-6).split(minimum(1, 0.1), 1)
    with pytest.raises(ValueError, match="for a minimum does not buy a measurement"):
        curator.measure(BoundedSum(lambda rows: rows.X), share)
    assert not ledger.entries and isinstance(curator.buys(share), Minimum)


def test_ledgers_charge_it_in_their_currency():
    event = Minimum(10.0, 0.1)
    for currency, cost in (("gdp", curves.mu(event) ** 2), ("renyi", None)):
        ledger = Ledger(Budget(2.0, 1e-6), currency)
        ledger.charge("first", event)
        ledger.charge("second", event)
        cost = cost or curves.renyi(event, ledger.currency.order)
        assert ledger.currency.cost(event) == pytest.approx(cost, rel=1e-12)
        assert accounting.epsilon([event, event], 1e-6) < ledger.spent < 2.0
        assert ledger.rho == pytest.approx(curves.mu(event) ** 2)
    with pytest.raises(LedgerError, match="add-remove"):
        Ledger(Budget(2.0, 1e-6, "replace-one")).charge("fit", event)
