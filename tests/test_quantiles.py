"""Quantiles: exact laws on a fine grid, errors in ranks whatever the range, intervals that cover."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet import NotPrivateWarning, stats
from discreet.checks import replay_audit
from discreet.engines.memory import Memory
from discreet.events import Choice
from discreet.mechanisms import points
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.points import DecimalGrid, draw_below, exponential_on_grid
from discreet.stats.quantile_exponential import score_pieces
from discreet.stats.ranks import rank_rows

from .sabotage import caught

pytestmark = pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")


def weights_of(grid):
    """One by one: the weight of each point."""
    tens = [10**j for j in range(17)]
    multiples = {ten: [p for p in range(grid.first, grid.last + 1) if p % ten == 0] for ten in tens}
    return [
        sum(max(1, points.MASS // len(multiples[ten])) for ten in tens if multiples[ten] and p % ten == 0)
        for p in range(grid.first, grid.last + 1)
    ]


@pytest.mark.parametrize(("first", "last"), [(0, 100), (-37, 212), (5, 5), (1, 9)])
def test_weights_of_points_are_those_of_the_mixture(first, last):
    grid = DecimalGrid(first, last, 0, first, last)
    weights, sums = weights_of(grid), np.cumsum([0, *weights_of(grid)])
    assert [grid.weight_below(p) for p in range(first, last + 2)] == sums.tolist()
    assert grid.weights_below(np.arange(first, last + 2)).tolist() == sums.tolist()
    for p, weight in zip(range(first, last + 1), weights, strict=True):
        below = grid.weight_below(p)
        assert grid.point_at(below) == grid.point_at(below + weight - 1) == p


@pytest.mark.parametrize("bounds", [(-1e6, 1e6), (0, 1e-12), (1e9, 1e9 + 1), (-1e300, 1e300), (1e-300, 2e-300), (0, 1)])
def test_a_grid_holds_its_bounds_and_counts_exactly(bounds):
    grid = DecimalGrid.between(*bounds)
    ends = grid.codes(np.array(bounds, dtype=float))
    assert ends[0] >= grid.first and ends[1] <= grid.last and 1 <= grid.size <= 2 * points.REACH + 3
    assert grid.weight_below(grid.last + 1) < 1 << 62
    values = grid.values(np.array([grid.first, grid.last]))
    assert bounds[0] <= values[0] <= values[1] <= bounds[1]


@pytest.mark.parametrize("scale", [1.0, 0.7, 1.3])
def test_the_law_is_that_of_the_exponential_mechanism(scale):
    """Chi-square of 6,000 draws at fixed seeds: 1e-6 for the true law; laws of other scales are rejected."""
    grid = DecimalGrid(0, 30, 0, 0, 30)
    pieces = np.array([[0, 4, 4, 11, 12, 25], [-9, 5, -3, -1, 0, -6]])
    score = np.repeat([-9, -3, -1, 0, -6], [4, 7, 1, 13, 6])  # the second piece is empty
    odds = np.array(weights_of(grid), dtype=float) * np.exp(score * 0.8 / 2)
    rng = Keystream.seeded(7)
    drawn = [exponential_on_grid(pieces, grid, 0.8 * scale, 1, rng) for _ in range(6000)]
    seen, wanted = np.bincount(drawn, minlength=31), 6000 * odds / odds.sum()
    far = float(((seen - wanted) ** 2 / wanted).sum())
    assert (far < chi2.isf(1e-6, 30)) == (scale == 1.0)


def test_a_draw_near_an_edge_is_settled_exactly(monkeypatch):
    """The exact path takes over where floats cannot tell; it agrees with them where they can."""
    masses, gaps, rate = np.array([3, 0, 10**9, 7]), np.array([0, 5, 40, 1]), Fraction(1, 2)
    floats = [points._draw_piece(masses, gaps, rate, Keystream.seeded(s)) for s in range(300)]
    monkeypatch.setattr(points.np, "searchsorted", lambda edges, *rest, **more: len(edges))
    assert [points._draw_piece(masses, gaps, rate, Keystream.seeded(s)) for s in range(300)] == floats
    assert set(floats) == {0, 2, 3}


def test_whole_numbers_below_are_uniform():
    rng = Keystream.seeded(3)
    seen = np.bincount([draw_below(7, rng) for _ in range(14_000)], minlength=7)
    assert ((seen - 2000) ** 2 / 2000).sum() < chi2.isf(1e-6, 6)
    assert draw_below(1, rng) == 0 and draw_below(1 << 200, rng) >> 190 > 0


@given(
    st.lists(st.integers(-300, 300) | st.just(7), max_size=60),
    st.fractions(0, 1, max_denominator=9),
    st.integers(1, 12),
    st.sampled_from([4, 1 << 10]),
)
def test_pieces_hold_the_score_of_every_point(values, rank, far, cells):
    """Against the definition, point by point; whatever the passes."""
    grid = DecimalGrid(-300, 300, 0, -300, 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.stats.ranks.FIRST", cells)
        patch.setattr("discreet.stats.ranks.CELLS", cells)
        near = rank_rows(Memory(np.array(values, dtype=float).reshape(-1, 1)), grid, (Fraction(1, 3), rank), far)
    starts, scores = score_pieces(near.near(rank, far), grid, rank, far)
    assert starts.shape == (4 * far + 12,) and (np.diff(starts) >= 0).all()
    a, b, n, x = rank.numerator, rank.denominator, len(values), np.sort(values)
    for p in range(-300, 301):
        below, upto = np.searchsorted(x, p), np.searchsorted(x, p, side="right")
        exact = -min(b * far, max(0, b * below - a * n, a * n - b * upto))
        assert scores[np.searchsorted(starts, p, side="right") - 1] == exact


@pytest.mark.catalogue("ST3")
def test_the_error_is_in_ranks_however_wide_the_range():
    """Median error of 15 medians of 10,000 Cauchy numbers in ±1e6, ε = 1: sampling alone has .011."""
    errors = []
    for seed in range(15):
        x = np.random.default_rng(seed).standard_cauchy(10_000) + 0.37114
        errors.append(abs(stats.median(x, (-1e6, 1e6), 1.0, random_state=seed).value - 0.37114))
    assert np.median(errors) <= 0.03


def test_rounded_values_are_found_exactly():
    """Whole numbers, and hundreds, on a grid of 10^-12: gaps between them are wider than they are by far."""
    x = np.random.default_rng(1).poisson(3, 1000)
    assert {stats.median(x, (0, 100), 1.0, random_state=s).value for s in range(20)} == {3.0}
    pay = np.round(np.random.default_rng(1).lognormal(10, 0.5, 30_000), -2)
    found = [stats.quantile(pay, [0.25, 0.75], (0, 1e7), 1.0, random_state=s).value for s in range(4)]
    assert (np.array(found) % 100 == 0).all()


def test_one_row_a_billion_away_moves_nothing():
    x = np.random.default_rng(0).normal(size=501)
    for seed in range(5):
        one, two = (stats.median(y, (-10, 10), 1.0, random_state=seed) for y in (x, np.append(x, 1e9)))
        assert abs(one.value - two.value) < 0.1
    assert replay_audit(lambda z: stats.median(z, (-10, 10), 1.0), x, np.append(x, 1e9)) <= 1.0 + 1e-9


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_replay_sees_what_a_row_may_tell(relation):
    """Of the median of an even number of rows, and of one at the end; a twin with twice the rate tells too much."""
    x = np.array([0.0, 0.25, 0.5, 1.0])
    other = np.append(x, 1.0) if relation == "add-remove" else np.append(x[1:], 1.0)

    def release(z):
        return stats.quantile(z, [0.5, 0.9], (0, 1), 1.0, neighbours=relation, random_state=2)

    loss = replay_audit(release, x, other)
    assert 0.5 < loss <= 1 + 1e-9
    with pytest.MonkeyPatch.context() as patch:
        rate = points.choose.rate_of
        patch.setattr(points.choose, "rate_of", lambda *numbers: 2 * rate(*numbers))
        assert replay_audit(release, x, other) > 1.3 * loss


@pytest.mark.audit
def test_half_the_noise_is_caught(monkeypatch):
    """The black-box audit, of scores that move as far as they may: one up, one down."""
    grid = DecimalGrid(1, 9, 0, 1, 9)

    def run(scores):
        return exponential_on_grid([[1, 5], scores], grid, 1.0, 1)

    caught(lambda scores: float(run(scores)), ([0, 0], [1, -1]), 4000, monkeypatch, 1 / 3, "choice", event=Choice(1.0))


def test_a_tiny_epsilon_takes_even_cells():
    x = np.random.default_rng(0).uniform(0, 100, 100_000)
    values = [stats.median(x, (0, 100), 1e-3, confidence=None, random_state=s).value for s in range(5)]
    assert np.median(np.abs(np.array(values) - 50)) < 5
    assert replay_audit(lambda z: stats.median(z, (0, 100), 1e-4), x[:50], x[:51]) <= 1e-4 * (1 + 1e-9)


def test_intervals_of_quantiles_are_narrow():
    """Against the width that sampling alone would have."""
    x = np.random.default_rng(5).normal(170, 10, 20_000)
    low, high = stats.median(x, (0, 400), 1.0, random_state=1).interval
    assert high - low < 2.2 * 2 * 1.96 * 10 * math.sqrt(math.pi / 2) / math.sqrt(20_000)
    with pytest.warns(NotPrivateWarning):
        low, high = stats.quantile(np.tile([1.0, 2.0], 500), 0.25, (0, 10), random_state=1).interval
    assert (low, high) == (pytest.approx(1, abs=1e-6), pytest.approx(1, abs=1e-6))
