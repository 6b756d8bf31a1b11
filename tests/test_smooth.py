"""Noise by smooth sensitivity, and by scales that passed a test: reach is smooth, laws are exact, twins are caught."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, laplace, t

from discreet import Budget, Ledger, stats
from discreet.accounting import epsilon
from discreet.audit import audit
from discreet.engines.memory import Memory
from discreet.events import Approximate, Pure
from discreet.mechanisms import keystream, smooth
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.points import DecimalGrid
from discreet.mechanisms.smooth import Law, add_smooth, smooth_bound
from discreet.stats.quantile_stable import SmoothRank, StableRank, find_ranges_near
from discreet.stats.ranks import rank_rows

from .sabotage import SURE

pytestmark = pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")

GRID = DecimalGrid(0, 40, 0, 0, 40)


def reach_of(values, rank, many=6):
    near = rank_rows(Memory(np.array(values, dtype=float).reshape(-1, 1)), GRID, (rank,), many + 3)
    order = near.order(rank, many + 1, GRID)
    return int(order[many + 1]), find_ranges_near(order, many)


@pytest.mark.catalogue("ME5")
@given(
    st.lists(st.integers(0, 40), max_size=14),
    st.integers(0, 40),
    st.integers(0, 20),
    st.fractions(0, 1, max_denominator=7),
)
def test_the_reach_of_a_quantile_is_smooth(values, new, place, rank):
    """Of all neighbours, by adding and by exchanging: it covers the move, and grows by one step at most."""
    others = [[*values, new]]
    if values:
        others.append([*values[: place % len(values)], *values[place % len(values) + 1 :], new])
    value, reach = reach_of(values, rank)
    for other in others:
        moved, again = reach_of(other, rank)
        assert abs(value - moved) <= min(reach[0], again[0])
        assert (reach[:-1] <= again[1:]).all() and (again[:-1] <= reach[1:]).all()
        assert (np.diff(reach) >= 0).all()


def test_the_property_test_sees_an_upper_bound_that_is_not_smooth():
    """The local sensitivity at distance 0 alone: 0 on one side, the whole range on the other, one exchange away."""
    (_, one), (_, two) = reach_of([0] * 5 + [40] * 4, Fraction(1, 2)), reach_of([0] * 6 + [40] * 3, Fraction(1, 2))
    assert (one[0], two[0]) == (40, 0) and two[1] == 40


@pytest.mark.parametrize("nu", [1, 2, 3, 4, 8])
def test_student_noise_keeps_its_promise_on_a_grid_of_shifts_and_dilations(nu):
    law, z = Law.student(0.7, nu), np.concatenate([-np.logspace(6, -6, 4001), [0], np.logspace(-6, 6, 4001)])
    eta = float(smooth.ROUNDING)
    assert nu * (law.beta + eta) + law.alpha * (nu + 1) / (2 * math.sqrt(nu)) <= 0.7
    for s in (-law.beta, 0.0, law.beta):
        for a in (-law.alpha, law.alpha):
            loss = t.logpdf(z, nu) - (s + t.logpdf(z * math.exp(s) + a, nu))
            assert np.abs(loss).max() <= 0.7 + 1e-9
    wide = t.logpdf(z, nu) - (2 * law.beta + t.logpdf(z * math.exp(2 * law.beta) + 2 * law.alpha, nu))
    assert np.abs(wide).max() > 0.8  # the same test sees twice the reach


def test_laplace_noise_keeps_its_promise():
    """The hockey-stick divergence by quadrature, with the largest dilation and the largest shift together."""
    e, delta = 1.0, 1e-6
    law = Law.laplace(e, delta)
    z = np.linspace(-60, 60, 2_000_001)
    for s, a, broken in ((1, 1, False), (-1, 1, False), (1, -1, False), (3, 1, True)):
        other = math.exp(s * law.beta) * laplace.pdf(z * math.exp(s * law.beta) + a * law.alpha)
        excess = np.maximum(laplace.pdf(z) - math.exp(e) * other, 0).sum() * (z[1] - z[0])
        assert (excess > delta) == broken


@pytest.mark.parametrize("degrees", [0, 1, 3])
@pytest.mark.parametrize("scale", [1.0, 0.7, 1.3])
def test_draws_follow_the_law(degrees, scale):
    """Kolmogorov-Smirnov on 4,000 seeded draws at 1e-6; other scales are rejected."""
    law = Law(degrees, 0.5, 1.0)
    rng = Keystream.seeded(11)
    drawn = np.array([add_smooth(5, Fraction(scale) * 10**9, law, rng) - 5 for _ in range(4000)]) / 1e9
    p = kstest(drawn, "laplace" if degrees == 0 else t(degrees).cdf).pvalue
    assert (p > 1e-6) == (scale == 1.0)


def test_smooth_bounds_are_rounded_up_by_hardly_anything():
    exact = max(Fraction(7), 90 * Fraction(math.exp(-0.3 * 5)))
    found = smooth_bound([7, 7, 8, 9, 9, 90], 0.3, 90)
    assert 1 <= found / exact < 1 + smooth.ROUNDING
    assert smooth_bound([], 0.3, 90) >= 90


@pytest.mark.parametrize("bad", [0, 101, 1.0, True])
def test_degrees_are_whole(bad):
    with pytest.raises(ValueError, match="degrees"):
        Law.student(1.0, bad)
    with pytest.raises(ValueError, match="delta"):
        Law.laplace(1.0, 0.5)
    with pytest.raises(ValueError, match="too small"):
        Law.student(1e-12)


PAIR = [0.0] * 5 + [1.0] * 4, [0.0] * 4 + [1.0] * 5  # the median falls from one end of the range to the other


PURE = Pure(1.0)


def ask(x, kind=SmoothRank, event=PURE):
    grid = DecimalGrid(0, 1000, -3, 0, 1000)
    rows = Memory(np.array(x)[:, None])
    value, _ = kind("median", grid, Fraction(1, 2)).run(rows, event, Budget(1.0, 0.0), keystream.default())
    return np.atleast_1d(value)


@pytest.mark.audit
@pytest.mark.parametrize("twin", [None, "local", "tenth"])
def test_a_median_by_smooth_sensitivity_is_audited(twin, monkeypatch):
    """Noise in proportion to the local sensitivity alone, or a tenth of the noise, is caught; false alarms: 1e-6."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", Keystream.seeded(5))
    pair = PAIR
    if twin == "local":  # no noise at all where the neighbours of the median are its equals
        monkeypatch.setattr(
            "discreet.stats.quantile_stable.smooth_bound", lambda reach, *rest: Fraction(max(int(reach[0]), 1))
        )
        pair = [0.0] * 6 + [1.0] * 3, PAIR[0]
    if twin == "tenth":
        monkeypatch.setattr(
            "discreet.stats.quantile_stable.add_smooth", lambda f, s, law, rng: add_smooth(f, s / 10, law, rng)
        )
    result = audit(ask, *pair, event=Pure(1.0), runs=1000, confidence=SURE)
    assert result.violated == (twin is not None), str(result)


@pytest.mark.audit
@pytest.mark.parametrize("twin", [False, True])
def test_a_median_by_a_test_of_stability_is_audited(twin, monkeypatch):
    """A test without noise says for certain that the rows are stable, or that they are not."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", Keystream.seeded(6))
    pair = [0.0] * 9, [0.0] * 8 + [1.0]
    if twin:
        first = lambda distances, *rest: next((i for i, d in enumerate(distances) if d > 3), -1)  # noqa: E731
        monkeypatch.setattr("discreet.stats.quantile_stable.first_stable", first)
    promise = Approximate(1.0, 1e-2)
    seen = audit(lambda x: ask(x, StableRank, promise), *pair, event=promise, runs=400, delta=1e-2, confidence=SURE)
    assert seen.violated == twin, str(seen)


@pytest.mark.catalogue("ME7")
@pytest.mark.parametrize("method", ["smooth", "ptr", "histogram"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.filterwarnings("ignore:The `delta` of a budget, 1e-06, is not far below 1/n:discreet.DeltaWarning")
def test_each_method_is_near_the_truth_and_spends_its_budget(method, relation):
    x = np.random.default_rng(0).normal(31.7, 2, 20_000)
    ledger = Ledger(Budget(1.0, 1e-6, relation))
    answer = stats.quantile(
        x, [0.25, 0.5], (0, 100), 1.0, 1e-6, method=method, neighbours=relation, ledger=ledger, random_state=3
    )
    wanted = np.quantile(x, [0.25, 0.5])
    np.testing.assert_allclose(answer.value, wanted, atol=5.0 if method == "ptr" else 0.15)
    assert (answer.interval[0] <= wanted).all() and (wanted <= answer.interval[1]).all()
    assert 0.99 < epsilon(answer.event, answer.budget.delta) <= 1 and len(ledger.entries) == 1


def test_discrete_values_come_out_exactly_by_smooth_sensitivity():
    x = np.random.default_rng(1).poisson(3, 10_000)
    assert {round(stats.median(x, (0, 100), 1.0, method="smooth", random_state=s).value, 9) for s in range(9)} == {3.0}


def test_where_nothing_is_stable_the_middle_is_the_answer():
    answer = stats.median(np.array([1.0, 9.0]), (0, 10), 0.5, 1e-6, method="ptr", random_state=1)
    assert answer.value == pytest.approx(5) and any("no scale" in note for note in answer.notes)
    with pytest.raises(ValueError, match="delta > 0"):
        stats.median(np.array([1.0]), (0, 10), method="ptr")
    with pytest.raises(ValueError, match="`method`"):
        stats.median(np.array([1.0]), (0, 10), method="guess")


def test_a_smooth_rank_names_no_deviation():
    assert SmoothRank("median", GRID, Fraction(1, 2)).proof == "smooth"
    assert stats.median(np.arange(9.0), (0, 10), method="smooth").parts[0].std is None


@pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")
def test_histogram_intervals_cover_and_are_sums_only():
    """30 seeded runs of a 95% interval: fewer than 20 cover with probability below 1e-6."""
    hits = 0
    for seed in range(30):
        x = np.random.default_rng(seed).gamma(3, 1, 2000)
        low, high = stats.median(x, (0, 20), 1.0, 1e-6, method="histogram", random_state=seed).interval
        hits += low <= 2.674060313754639 <= high
        assert high - low < 2
    assert hits >= 20
