"""What makes the laws exact: certified bounds, ties, tails, and floats that never decide what they cannot."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import rejection, samplers
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.lazy import Lazy, below_exp, exp_bounds
from discreet.mechanisms.reals import exponentials, normals
from discreet.mechanisms.rejection import Plan
from discreet.mechanisms.tables import Table, proposal, table

from .laws import ALARM, fit

pytestmark = pytest.mark.catalogue("ME10")


@settings(max_examples=100, deadline=None)
@given(h=st.fractions(min_value=0, max_value=300), bits=st.integers(8, 400))
def test_bounds_of_the_exponential(h, bits):
    low, high = exp_bounds(h, bits)
    with mpmath.workprec(bits + 500):
        true = mpmath.ldexp(mpmath.exp(-mpmath.mpf(h.numerator) / h.denominator), bits)
        assert low <= true <= high
    assert high - low <= 3


@pytest.mark.parametrize("h", [10**6, 10**20, 10**400])
def test_bounds_of_vanishing_exponentials(h):
    assert exp_bounds(Fraction(h), 64) == (0, 1)


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize(("power", "scale"), [(1, 0.125), (2, 0.125), (1, 3.5), (2, 3.5), (2, 32), (1, 18)])
def test_cells_of_a_table(power, scale, half):
    t = Table(power, Fraction(scale), half)
    with mpmath.workprec(400):
        terms = range(200 * int(scale + 1))  # the rest is below e^-200
        weights = [mpmath.exp(-(mpmath.mpf(k) ** power) / (power * mpmath.mpf(scale) ** power)) for k in terms]
        weights[0] = mpmath.mpf(1 if not half else 0.5)
        whole, running, cells = mpmath.fsum(weights), mpmath.mpf(0), []
        for weight in weights[: len(t.cells)]:
            running += weight
            cells.append(int(mpmath.floor(mpmath.ldexp(running / whole, 64))))
    assert t.cells == cells and cells[-1] == 2**64 - 1


def test_every_table_of_the_family_ends_in_time():
    # the error bound of the floats needs rate·top^q < 60, the guide top < 2^15
    scales = [Fraction(8 + i, 8) * Fraction(2) ** e for e in range(-3, 5) for i in range(8)] + [Fraction(32)]
    for t in (Table(q, s, half) for q in (1, 2) for s in scales for half in (False, True)):
        assert t.rate * t.top**t.power < 60 and t.top < 2**15


def test_the_guide_agrees_with_the_cells():
    t, rng = table(2, Fraction(20)), Keystream.seeded(1)
    for first in range(0, 1 << 16, 7):
        k = int(t.guide[first])
        below, above = t.cells[k - 1] if k > 0 else -1, t.cells[max(k, 0)]
        assert k == -1 or below < first << 48 <= (first << 48) + (1 << 48) - 1 < above
    assert {t.find(first, rng) for first in np.flatnonzero(t.guide < 0)[:50].tolist()} <= set(range(t.top + 50))


class Fixed(Keystream):
    """A keystream that first plays the given words."""

    def __init__(self, *words: int) -> None:
        self.secure = False
        self._key(bytes(32))
        self._words = list(reversed(words))


@pytest.mark.parametrize("power", [1, 2])
def test_a_tie_is_settled_by_further_bits(power):
    t = table(power, Fraction(16))
    k = 20
    lows, _ = t.cumulative(256)
    tie, next_word = lows[k] >> 192, lows[k] >> 128 & (2**64 - 1)
    assert tie == t.cells[k]
    assert t.settle(k, tie, Fixed(next_word - 1)) == k  # U just below F(k)
    assert t.settle(k, tie, Fixed(next_word + 1)) == k + 1
    assert t.settle(k, tie, Fixed(next_word, 0)) == k  # a second tie
    assert t.settle(k, tie, Fixed(next_word, 2**64 - 1)) == k + 1


@pytest.mark.parametrize("power", [1, 2])
def test_the_tail_is_settled_exactly(power):
    t = table(power, Fraction(16))
    for further in (0, 2**63, 2**64 - 1):
        k = t.settle(t.top, 2**64 - 1, Fixed(further, 12345, 678))
        u = ((2**64 - 1) << 128) + (further << 64) + 12345
        with mpmath.workprec(600):
            weights = [mpmath.exp(-(mpmath.mpf(i) ** power) / (power * 16**power)) for i in range(6000)]
            tail = [mpmath.fsum(weights[first:]) for first in (0, k, k + 1)]
            beyond = 1 - mpmath.mpf(u) / mpmath.mpf(2) ** 192
            assert tail[2] / tail[0] < beyond <= tail[1] / tail[0]  # F(k - 1) ≤ U < F(k)
    assert t.settle(t.top, 2**64 - 1, Fixed(2**64 - 1, 1)) > t.top


def test_draws_from_the_tail_cell():
    t = table(1, Fraction(16))
    first = np.full(3, 0xFFFF, dtype=np.uint16)
    rng = Keystream.seeded(1)
    rng.word()  # fills the buffer, from which the tail is settled
    rng.u64 = lambda n: np.full(n, 2**64 - 1, dtype=np.uint64)  # type: ignore[method-assign]
    assert (t.draw(first, rng) >= t.top).all()


@pytest.mark.parametrize("law", list(samplers._LAWS))
@pytest.mark.parametrize("scale", [0.3, 1.1, 17.3, 2**45 / 3])
def test_fast_and_exact_decisions_agree(law, scale, monkeypatch):
    plan, rng, n = samplers._plan(law, scale), Keystream.seeded(41), 3000
    k = plan.table.draw(rng.u16(n), rng)
    m = rng.u64(n) & np.uint64(plan.mask)
    r = rng.u64(n) >> np.uint64(17)
    # put half of the R within 2^-35 of the boundary, where the fast path is still sure
    near = np.exp([-float(plan.exponent(int(a), Fraction(int(b), 2**64))) for a, b in zip(k, m, strict=True)])
    offset = np.random.default_rng(1).choice([-(2.0**-35), 2.0**-35], n)
    r[: n // 2] = (np.clip(near + offset, 0, 1 - 2.0**-40)[: n // 2] * 2.0**47).astype(np.uint64)
    fast = rejection._decide(plan, k, m, r, rng)
    monkeypatch.setattr(rejection, "BRACKET", 2.0)
    slow = rejection._decide(plan, k, m, r, rng)
    assert (fast == slow).all()
    assert 0 < fast.sum() < n


@pytest.mark.parametrize("law", list(samplers._LAWS))
def test_the_law_survives_a_wide_bracket(law, monkeypatch):
    monkeypatch.setattr(rejection, "BRACKET", 2.0**-6)
    for scale in (0.7, 20.5):
        assert fit(getattr(samplers, law)(scale, 20_000, Keystream.seeded(42)), law, scale) > ALARM
        rng = Keystream.seeded(43)
        draws = np.array([getattr(samplers, law)(scale, rng=rng) for _ in range(5_000)])
        assert fit(draws, law, scale) > ALARM


@pytest.mark.parametrize("law", list(samplers._LAWS))
@pytest.mark.parametrize("scale", [2.0**-12, 0.3, 16, 31.999, 2**56])
def test_float_error_is_far_below_the_bracket(law, scale):
    plan, rng = samplers._plan(law, scale), Keystream.seeded(44)
    a, b = plan.rates
    for k in {0, 1, plan.table.top // 3, plan.table.top}:
        m = rng.word() & plan.mask
        with mpmath.workprec(300):
            h = plan.exponent(k, Fraction(m, 2**64))
            true = mpmath.exp(-mpmath.mpf(h.numerator) / h.denominator)
            x = (m >> 11) * 2.0**-53 + k
            q = plan.power
            assert abs(float(true - mpmath.mpf(float(np.exp(-(a * x**q - b * float(k) ** q)))))) < 2.0**-43


def test_numpy_exp_is_within_four_units():
    x = np.concatenate([np.linspace(0, 1, 2000), np.linspace(1, 60, 2000)])
    ours = np.exp(-x)
    with mpmath.workprec(200):
        pairs = zip(x.tolist(), ours.tolist(), strict=True)
        worst = max(abs(mpmath.mpf(y) / mpmath.exp(-mpmath.mpf(t)) - 1) for t, y in pairs)
    assert worst < 4 * 2.0**-52


@given(s=st.fractions(min_value=Fraction(1, 100), max_value=31))
def test_proposals_are_just_above(s):
    p = proposal(s)
    assert p >= s and (p <= s * Fraction(9, 8) or p == Fraction(1, 8))
    assert p.denominator & (p.denominator - 1) == 0


def test_exponents_are_never_negative():
    for plan in (Plan(q, Fraction(s), r) for q in (1, 2) for s in (0.2, 5, 16, 1000.7) for r in (False, True)):
        assert all(plan.exponent(k, Fraction(0)) >= 0 for k in range(plan.table.top))
        assert plan.s <= 32 and (plan.s >= 16 or not plan.rounded)


@pytest.mark.parametrize(("power", "scale"), [(2, 0.01), (2, 1), (1, 8), (2, 16), (1, 1000), (2, 2**56)])
def test_magnitudes_are_rounded_to_nearest(power, scale):
    plan, rng = Plan(power, Fraction(scale), rounded=True), Keystream.seeded(51)
    for _ in range(300):
        k, m = rng.bits(9), rng.word()
        exact = (k + Fraction(m, 2**64)) * Fraction(2) ** plan.j
        assert plan.magnitude(k, m >> plan.unread) == (exact + Fraction(1, 2)).__floor__()


def test_refined_reals_keep_what_was_known(monkeypatch):
    def thorough(plan, rng):  # as if every fifth draw had needed more bits of V
        k, v, negative = rejection.one(plan, rng)
        if v.m % 5 == 0:
            v.reveal()
        return k, v, negative

    monkeypatch.setattr("discreet.mechanisms.reals.one", thorough)
    for reals in (normals(200, Keystream.seeded(1)), exponentials(200, Keystream.seeded(1))):
        before, bits = list(reals.m), reals.bits
        assert bits == 64 + 4 + 64
        assert all(m >> bits < 50 for m in before)
        reals.refine()
        assert [m >> 64 for m in reals.m] == before and reals.bits == bits + 64


def test_reals_have_their_law():
    from scipy import stats

    z, e = normals(20_000, Keystream.seeded(2)), exponentials(20_000, Keystream.seeded(3))
    signed = [s * m / 2.0**z.bits for s, m in zip(z.signs, z.m, strict=True)]
    assert stats.kstest(signed, "norm").pvalue > ALARM
    assert stats.kstest([m / 2.0**e.bits for m in e.m], "expon").pvalue > ALARM


def test_a_boundary_is_resolved_by_refining():
    low, _ = exp_bounds(Fraction(1), 256)
    half = low >> 192
    assert below_exp(Lazy(half, 64, Fixed((low >> 128) % 2**64 - 1)), Lazy(0, 0), lambda _: Fraction(1))
    assert not below_exp(Lazy(half, 64, Fixed((low >> 128) % 2**64 + 1)), Lazy(0, 0), lambda _: Fraction(1))
