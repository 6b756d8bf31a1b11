"""The four laws, against exact probabilities, an independent library, and their wrong neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import rejection, samplers
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.rejection import Plan
from discreet.mechanisms.samplers import bernoulli_exp

from .laws import ALARM, chi_square, fit

pytestmark = pytest.mark.catalogue("ME10")

LAWS = list(samplers._LAWS)
SMALL = [0.1, 0.3, 0.5, 1, 2.7, 16, Fraction(7, 3), 50]
LARGE = [2**20 * 1.3, 2**40, 2**50, Fraction(2**58, 5)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", SMALL)
def test_small_scales_have_the_exact_law(law, scale):
    draws = getattr(samplers, law)(scale, 200_000, Keystream.seeded(11))
    assert fit(draws, law, float(scale)) > ALARM


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.5, 2.7, 50])
@pytest.mark.parametrize("wrong", [0.7, 1.3])
def test_the_test_rejects_wrong_scales(law, scale, wrong):
    draws = getattr(samplers, law)(scale * wrong, 200_000, Keystream.seeded(12))
    assert fit(draws, law, scale) < ALARM


@pytest.mark.parametrize("law", LAWS)
def test_scalars_have_the_exact_law(law):
    rng, draw = Keystream.seeded(13), getattr(samplers, law)
    for scale in (0.4, 3.0, 40.0):
        draws = np.array([draw(scale, rng=rng) for _ in range(20_000)])
        assert fit(draws, law, scale) > ALARM
        assert fit(draws, law, scale * 1.3) < ALARM


@pytest.mark.parametrize("law", LAWS)
def test_tiny_scales(law):
    assert not getattr(samplers, law)(0.01, 10_000, Keystream.seeded(1)).any()  # false alarm e^-49
    assert not getattr(samplers, law)(2.0**-40, 100, Keystream.seeded(1)).any()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", LARGE)
def test_large_scales_have_the_law_to_every_bit(law, scale):
    draws = getattr(samplers, law)(scale, 200_000, Keystream.seeded(14))
    shape = stats.laplace if "laplace" in law else stats.norm
    relative = draws / float(scale)
    assert stats.kstest(relative, shape.cdf).pvalue > ALARM
    assert stats.kstest(relative * 1.3, shape.cdf).pvalue < ALARM
    assert stats.kstest(relative * 0.7, shape.cdf).pvalue < ALARM
    assert stats.chisquare(np.bincount(draws & 0xFF, minlength=256)).pvalue > ALARM  # the low bits are fair


@pytest.mark.parametrize("law", LAWS)
def test_moments(law):
    x = getattr(samplers, law)(1000.0, 400_000, Keystream.seeded(15)) / 1000.0
    variance, fourth = (2, 24) if "laplace" in law else (1, 3)
    assert abs(x.mean()) < 6 * np.sqrt(variance / len(x))  # six standard errors: false alarm 2e-9
    assert abs((x**2).mean() - variance) < 6 * np.sqrt((fourth - variance**2) / len(x))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.8, 2.5, 70.0])
def test_opendp_agrees(law, scale):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    make = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    metric = dp.l1_distance(T=int) if law == "laplace" else dp.l2_distance(T=float)
    theirs = np.array(make(dp.vector_domain(dp.atom_domain(T=int)), metric, scale)([0] * 20_000))
    ours = getattr(samplers, f"discrete_{law}")(scale, 20_000, Keystream.seeded(16))
    edges = np.quantile(ours, np.linspace(0.02, 0.98, 25))
    seen = [np.bincount(np.searchsorted(np.unique(edges), x), minlength=1) for x in (ours, theirs)]
    assert stats.chi2_contingency(np.array(seen)).pvalue > ALARM
    assert fit(theirs, f"discrete_{law}", scale) > ALARM


@pytest.mark.parametrize("law", LAWS)
def test_sizes_and_types(law):
    draw = getattr(samplers, law)
    assert isinstance(draw(3), int)
    assert draw(3, 0).shape == (0,) and draw(3, (2, 0)).shape == (2, 0) and draw(3, ()).shape == ()
    assert draw(3, 5).dtype == draw(3, 100).dtype == np.int64
    assert draw(3, (20, 30)).shape == (20, 30)
    assert draw(np.float64(3.0), 2).shape == (2,)


@pytest.mark.parametrize("law", LAWS)
def test_seeded_draws_repeat(law):
    draw = getattr(samplers, law)
    assert draw(9, 1000, Keystream.seeded(5)).tolist() == draw(9, 1000, Keystream.seeded(5)).tolist()
    assert draw(2**50, rng=Keystream.seeded(5)) == draw(2**50, rng=Keystream.seeded(5))
    assert draw(2**50) != draw(2**50)  # false alarm 2^-50


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "1", None, True, 1j])
def test_bad_scales(scale):
    with pytest.raises(ValueError, match=r"The `scale` of discrete_laplace must be a finite number > 0\. Got"):
        samplers.discrete_laplace(scale)


@pytest.mark.parametrize("scale", [2.0**57, 2.0**-41])
def test_scales_out_of_range(scale):
    with pytest.raises(ValueError, match="within"):
        samplers.rounded_normal(scale, 3)


@pytest.mark.parametrize("size", [-1, (2, -1)])
def test_sizes_are_not_negative(size):
    with pytest.raises(ValueError, match="must not be negative"):
        samplers.discrete_laplace(1.0, size)


def test_equal_scales_of_any_type_draw_alike():
    draws = [samplers.discrete_gaussian(s, 50, Keystream.seeded(2)).tolist() for s in (20, 20.0, Fraction(20))]
    assert draws[0] == draws[1] == draws[2]


def test_batches_join_without_a_seam(monkeypatch):
    monkeypatch.setattr(rejection, "CHUNK", 64)
    assert fit(samplers.discrete_laplace(2.0, 50_000, Keystream.seeded(3)), "discrete_laplace", 2.0) > ALARM


def test_values_beyond_int64_are_exact_and_wrap():
    plan = Plan(1, Fraction(2**56), rounded=True)
    k, m = np.array([5, 5000]), np.array([0, 1 << 63], dtype=np.uint64)
    assert rejection._values(plan, k, m).tolist() == [5 << 52, (5000 << 52) + (1 << 51)]
    assert samplers._wrap(2**63) == -(2**63) and samplers._wrap(-5) == -5


def test_a_coin_has_its_probability():
    tops = np.arange(8).repeat(100_000)
    heads = bernoulli_exp((tops, 3), Keystream.seeded(21)).reshape(8, -1).sum(axis=1)
    for top, count in enumerate(heads):
        assert stats.binomtest(int(count), 100_000, np.exp(-top / 3)).pvalue > ALARM


def test_single_coins_have_their_probability():
    rng = Keystream.seeded(22)
    heads = sum(bernoulli_exp(Fraction(2, 7), rng) for _ in range(20_000))
    assert stats.binomtest(heads, 20_000, np.exp(-2 / 7)).pvalue > ALARM


def test_sure_and_hopeless_coins():
    assert bernoulli_exp((np.zeros(10_000, dtype=int), 1), Keystream.seeded(1)).all()
    assert not bernoulli_exp(([10**30, 2**63], 7)).any()
    assert bernoulli_exp((np.zeros((2, 3), dtype=int), 1)).shape == (2, 3)


@pytest.mark.parametrize("gamma", [-1, Fraction(-1, 2), ([1, -1], 2), ([1], -2)])
def test_negative_exponents(gamma):
    with pytest.raises(ValueError, match=">= 0"):
        bernoulli_exp(gamma)


@pytest.mark.parametrize("law", LAWS)
def test_no_precision_attack(law):
    # The attack on float noise looks for outputs that one of two neighbours cannot produce. On the grid the
    # reachable outputs are all whole numbers, whatever the total: parity and low bits tell nothing.
    draws = getattr(samplers, law)(2.0**30, 100_000, Keystream.seeded(31))
    for total in (0, 1, 2**30 + 1):
        assert chi_square(np.bincount((total + draws) & 15, minlength=16), np.full(16, 1 / 16)) > ALARM
    reach = {int(x) for x in getattr(samplers, law)(3.0, 50_000, Keystream.seeded(32))}
    assert set(range(-6, 7)) <= reach
