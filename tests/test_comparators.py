"""Comparators of linear regression: the functional mechanism, output perturbation, propose-test-release, one posterior
sample; and the door through which they see exact sums."""

import math
import warnings
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from discreet import Bounds, Budget, BudgetExceeded, Ledger, NoiseWarning, NotPrivateWarning, NotSupported
from discreet.accounting import epsilon, noise_multiplier
from discreet.budget import approximate, choice, inside, radial
from discreet.checks.specimens import Spy
from discreet.curator import Curator, deal
from discreet.curator.procedures import Inside
from discreet.curator.task import Task
from discreet.engines.memory import Memory
from discreet.events import Approximate, Composed, Gaussian, Pure
from discreet.mechanisms import threshold as thresholds
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models import LinearRegression
from discreet.models.linear import one_posterior_sample as posteriors
from discreet.models.linear import propose_test_release as proposals
from discreet.models.linear.functional import fit_functional
from discreet.models.linear.one_posterior_sample import PosteriorDraw, fit_posterior_sample, solve_precision
from discreet.models.linear.output import ERROR, BallMinimiser, fit_output_perturbation, minimise_on_ball
from discreet.models.linear.propose_test_release import (
    GRID,
    PROPOSALS,
    bound_median_moves,
    enough_rows,
    fit_propose_test_release,
    least_deviations,
    propose_scales,
    required_distance,
)
from discreet.query import Batch, BoundedSum

from .lazy import pd
from .sabotage import acquit, catch, caught, stream

SLOPE = np.array([0.4, -0.3, 0.1])
# what each method may be asked, with how far its coefficients may be off on easy data at a generous ε
ASKED = [
    (fit_functional, Budget(40.0), 0.02),
    (fit_output_perturbation, Budget(40.0), 0.1),
    (fit_output_perturbation, Budget(40.0, 1e-6), 0.15),
    (fit_output_perturbation, Budget(40.0, 1e-6, "replace-one"), 0.15),
    (fit_propose_test_release, Budget(40.0, 1e-6), 0.1),
    (fit_propose_test_release, Budget(40.0, 1e-6, "replace-one"), 0.1),
    (fit_posterior_sample, Budget(40.0, 1e-6), 0.05),
    (fit_posterior_sample, Budget(40.0, 1e-6, "replace-one"), 0.05),
]
each = pytest.mark.parametrize(("method", "budget", "off"), ASKED, ids=lambda value: getattr(value, "__name__", None))


def easy(n=20_000):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ SLOPE + 0.1 + rng.normal(0, 0.05, n)


def solve(method, data, budget, *, intercept=True, rng=None, n=None):
    X, y = data
    curator = Curator(Memory(X, y), Ledger(budget), rng=rng)
    bounds = Bounds(-1, 1, target=(-1, 1)).matched(X.shape[1])
    task = Task(curator, budget, bounds, n=n, intercept=intercept)
    curator.notes = task.notes
    return method(task), curator


@pytest.fixture
def seeded(monkeypatch):
    """The same noise in every run of a test: what is caught once is caught always."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", stream(2029))


# All of them -----------------------------------------------------------------------------------------


@pytest.mark.catalogue("LR7")
@pytest.mark.catalogue("LR8")
@pytest.mark.catalogue("LR10")
@pytest.mark.catalogue("LR11")
@each
def test_easy_data_at_a_generous_budget(method, budget, off):
    fit, _ = solve(method, easy(), budget, rng=Keystream.seeded(5))
    np.testing.assert_allclose(fit.theta, [0.1, *SLOPE], atol=off)


@each
def test_the_charge_is_the_budget(method, budget, off):
    _, curator = solve(method, easy(300), budget)
    (entry,) = curator.ledger.entries
    assert 0.999 * budget.epsilon <= epsilon(entry.event, budget.delta) <= budget.epsilon
    if budget.delta:
        assert epsilon(entry.event, budget.delta / 2) > budget.epsilon, "no δ is left over"


@each
def test_nothing_but_values_depends_on_the_rows(method, budget, off):
    X, y = easy(60)
    bad = np.where(np.arange(60)[:, None] % 2 == 0, np.nan, X)
    some = [(X[:0], y[:0]), (X[:1], y[:1]), (X[:2], y[:2]), (X, y), (bad, y), (X, np.where(y > 0, np.inf, y))]
    some += [(X * 1e300, y), (np.full_like(X, 0.3), y), (np.tile(X[:, :1], 3), y)]
    seen = []
    for data in some:
        fit, curator = solve(method, data, budget)
        assert fit.theta.shape == (4,) and np.isfinite(fit.theta).all()
        parts = [(part.name, part.event, np.shape(part.value)) for part in curator.releases]
        seen.append((curator.ledger.entries[0].event, parts))
    assert all(one == seen[0] for one in seen)


@each
def test_without_an_intercept(method, budget, off):
    X, y = easy()
    fit, _ = solve(method, (X, y - 0.1), budget, intercept=False, rng=Keystream.seeded(5), n=len(X))
    np.testing.assert_allclose(fit.theta, SLOPE, atol=off)


@pytest.mark.parametrize(
    ("method", "budget", "says"),
    [
        (fit_functional, Budget(1.0, 1e-6), "pure"),
        (fit_propose_test_release, Budget(1.0), "needs delta > 0"),
        (fit_posterior_sample, Budget(1.0), "delta >= 1e-12"),
    ],
)
def test_budgets_of_the_wrong_kind_charge_nothing(method, budget, says):
    X, y = easy(10)
    curator = Curator(Memory(X, y), Ledger(budget))
    bounds = Bounds(-1, 1, target=(-1, 1)).matched(3)
    with pytest.raises(ValueError, match=says):
        method(Task(curator, budget, bounds))
    assert curator.ledger.entries == ()


@pytest.mark.audit
@pytest.mark.parametrize(
    ("method", "delta"),
    [
        (fit_functional, 0.0),
        (fit_output_perturbation, 0.0),
        (fit_output_perturbation, 1e-6),
        (fit_propose_test_release, 0.01),
        (fit_posterior_sample, 0.01),
    ],
)
def test_audit_of_whole_methods(method, delta, seeded):
    """No row, and one row in a corner. A sound method fails with probability below 1e-6; the seed is fixed."""
    budget = Budget.derive(2.0, delta)

    def run(data):
        return solve(method, data, budget, intercept=False)[1].summary("fit", budget)

    ones = np.ones((1, 1))
    acquit(run, (ones[:0], ones[:0, 0]), (ones, ones[0]), runs=300, delta=delta)


# The door --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peek(Inside):
    """A procedure without a proof."""

    name: str = "peek"
    proof = "output"
    pays = (Gaussian,)

    def run(self, rows, event, budget, rng):
        return rows.count_replace_one(), None


def test_only_proved_procedures_get_in():
    budget = Budget(1.0, 1e-6)
    curator = Curator(Memory(np.ones((3, 1))), Ledger(budget))
    namesake = type("BallMinimiser", (Peek,), {"__module__": "models.linear.output"})
    for unproved in (Peek(), namesake()):
        with pytest.raises(NotSupported, match="no proof"):
            curator.run(unproved, budget.split(inside(1.0))[0])
    query, _ = curator.expect(BoundedSum(lambda rows: rows.X))
    with pytest.raises(ValueError, match="Gaussian or Pure"):
        curator.run(BallMinimiser("theta", query, query, 1.0, 1.0), budget.whole("approximate"))
    assert curator.ledger.entries == () and curator.releases == []


def test_shares_known_as_epsilon_and_delta_only():
    budget = Budget(1.0, 1e-6)
    assert deal(budget.whole("approximate").plan) == (Approximate(1.0, 1e-6),)
    for parts in ((approximate(1), approximate(2)), (1, approximate(3)), (1, choice(1), approximate(2))):
        events = deal(budget.split(*parts)[0].plan)
        assert 0.99 < epsilon(Composed(events), 1e-6) <= 1.0
        Ledger(budget).charge("all", Composed(events))
    alone, noise = deal(budget.split(approximate(9), 1)[0].plan)
    assert alone.epsilon > 0.89 and alone.delta == pytest.approx(0.9e-6) and isinstance(noise, Gaussian)
    with pytest.raises(ValueError, match="delta > 0"):
        deal(Budget(1.0).whole("approximate").plan)
    with pytest.raises(ValueError, match="delta"):
        deal(budget.lots(3, 0.5, approximate(1))[0].plan)


@pytest.mark.parametrize("make", [lambda X: X, lambda X: pd.DataFrame(X), pl.DataFrame])
def test_blocks_hold_each_row_once(make):
    """Binomial(7000, 1/7): off by more than 6 deviations (176) has probability below 1e-7; the seed is fixed."""
    X = np.arange(7000.0)[:, None]
    blocks = list(Memory(make(X), X[:, 0]).split_into_blocks(7, Coins.draw_key(Keystream.seeded(1))))
    assert len(blocks) == 7 and all(abs(block.count_replace_one() - 1000) < 176 for block in blocks)
    assert np.array_equal(np.sort(np.concatenate([block.read_features()[:, 0] for block in blocks])), X[:, 0])


# Output perturbation ---------------------------------------------------------------------------------


def totals(X, y):
    return X.T @ X, X.T @ y


def balls(rng, n, d):
    X = rng.normal(size=(n, d))
    return X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None], rng.choice([-1.0, 1.0], n)


@pytest.mark.parametrize("radius", [0.05, 0.5, 3.0])
def test_one_row_moves_the_minimiser_no_further_than_stated(radius):
    """Random neighbours, many of them pressed against the ball; the worst of them comes near the bound."""
    rng, ridge, worst = np.random.default_rng(1), 2.0, {"add-remove": 0.0, "replace-one": 0.0}
    for _ in range(400):
        X, y = balls(rng, rng.integers(1, 12), 3)
        full, none = totals(X, y), totals(X[1:], y[1:])
        other = totals(np.r_[X[1:], -X[:1]], np.r_[y[1:], y[:1]])
        theta = minimise_on_ball(*full, ridge, radius)
        assert np.linalg.norm(theta) <= radius * (1 + 1e-12)
        worst["add-remove"] = max(worst["add-remove"], np.linalg.norm(theta - minimise_on_ball(*none, ridge, radius)))
        worst["replace-one"] = max(
            worst["replace-one"], np.linalg.norm(theta - minimise_on_ball(*other, ridge, radius))
        )
    inside = BallMinimiser("theta", None, None, ridge, radius)
    bounds = {"add-remove": (1, 1), "replace-one": (math.sqrt(2), 2)}
    for relation, (step_S, step_b) in bounds.items():
        stated = float(inside.sensitivity(Fraction(step_S), Fraction(step_b), 3))
        assert stated == pytest.approx((radius * step_S + step_b) / ridge, rel=1e-3)
        assert 0.1 * min(stated, 2 * radius) < worst[relation] <= stated


def test_the_minimiser_is_as_exact_as_the_proof_assumes():
    """Against 60 digits, on problems that are badly conditioned: the error is far below what is charged."""
    rng = np.random.default_rng(2)
    for size in (1.0, 1e4, 1e8):
        A = rng.normal(size=(6, 6)) * np.logspace(0, -5, 6)
        S, b = size * A.T @ A, size * rng.normal(size=6)
        for ridge, radius in ((1e-2, 1.0), (1.0, 1e-3), (1.0, 1e9)):
            theta = minimise_on_ball(S, b, ridge, radius)
            exact = oracle(S, b, ridge, radius)
            charged = float(ERROR) * 6 * (radius * (np.linalg.norm(S) + ridge) + np.linalg.norm(b)) / ridge
            assert np.linalg.norm(theta - exact) <= charged / 16


def oracle(S, b, ridge, radius):
    with mpmath.workdps(60):
        H, c = mpmath.matrix(S.tolist()) + ridge * mpmath.eye(len(b)), mpmath.matrix(b.tolist())

        def at(mu):
            return mpmath.lu_solve(H + mu * mpmath.eye(len(b)), c)

        low, high = mpmath.mpf(0), mpmath.norm(c) / radius
        if mpmath.norm(at(0)) > radius:
            for _ in range(150):
                middle = (low + high) / 2
                low, high = (middle, high) if mpmath.norm(at(middle)) > radius else (low, middle)
            low = high
        return np.array([float(value) for value in at(low)])


def nearly_tight(budget):
    """A ball that just holds the minimisers of no row and of one: the bound is attained up to some percent."""

    def run(X):
        curator = Curator(Memory(X, np.ones(len(X))), Ledger(budget))
        xx, _ = curator.expect(BoundedSum(row := lambda rows: rows.X, row))
        xy, _ = curator.expect(BoundedSum(row, lambda rows: rows.y))
        (share,) = budget.split(inside(radial(1.0)))
        return curator.run(BallMinimiser("theta", xx, xy, 40.0, 0.05), share)

    return run


@pytest.mark.audit
@pytest.mark.catalogue("LR8")
@pytest.mark.parametrize("budget", [Budget(2.0), Budget(8.0, 1e-6)])
def test_audit_of_output_perturbation(budget, monkeypatch):
    """Half the noise is caught; the sound mechanism fails with probability below 1e-6. The seed is fixed."""
    ones = np.ones((1, 1))
    caught(nearly_tight(budget), (ones[:0], ones), 2400, monkeypatch, 1 / 2)


# The functional mechanism ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.audit
@pytest.mark.catalogue("LR7")
def test_halved_noise_of_the_functional_mechanism_is_caught(monkeypatch):
    budget, ones = Budget(2.0), np.ones((1, 1))

    def run(data):
        return solve(fit_functional, data, budget, intercept=False)[1].summary("fit", budget)

    caught(run, ((ones[:0], ones[:0, 0]), (ones, ones[0])), 4800, monkeypatch, 1 / 2)


def test_the_noise_of_the_functional_mechanism_is_that_of_the_triangle():
    _, curator = solve(fit_functional, easy(10), Budget(2.0))
    assert np.max(curator.releases[0].std) == pytest.approx(math.sqrt(2) * 15 / 2.0, rel=1e-6)  # (1, x, y): 5 wide


# Propose-test-release --------------------------------------------------------------------------------


def distance(fits, scale):
    return int(np.searchsorted(bound_median_moves(np.sort(fits, axis=0), 100), scale, side="right"))


def test_distances_move_by_one_and_mean_what_they_say():
    rng = np.random.default_rng(3)
    moved = set()
    for _ in range(2000):
        k, d = 2 * rng.integers(1, 8) + 1, rng.integers(1, 4)
        fits = rng.integers(-20, 21, (k, d)) << int(rng.choice([0, GRID]) - 0)
        fits = np.clip(fits, -8 << GRID, 8 << GRID)
        other = fits.copy()
        other[rng.integers(k)] = rng.choice([-8 << GRID, 8 << GRID, *rng.integers(-20, 21, 3)], d)
        for scale in (1, 3, 10, 1 << GRID, 17 << GRID):
            here, there = distance(fits, scale), distance(other, scale)
            assert abs(here - there) <= 1
            moved.add(here - there)
            if here >= 1:
                assert np.abs(np.median(fits, axis=0) - np.median(other, axis=0)).max() <= scale
    assert moved == {-1, 0, 1}


def test_the_distance_is_exactly_how_many_blocks_must_change():
    """By trying every change of up to two of five blocks: values come from where the answer can change."""
    values = [-8 << GRID, 0, 1, 2, 3, 5, 8 << GRID]
    for start in ([0, 1, 2, 3, 5], [0, 0, 1, 1, 2], [2, 2, 2, 2, 2]):
        found = {0: 0, 1: 0}
        for a in values:
            once = [a, *start[1:]], [*start[:4], a], [*start[:2], a, *start[3:]], [start[0], a, *start[2:]]
            for one in (*once, [*start[:3], a, start[4]]):
                found[0] = max(found[0], abs(np.median(one) - np.median(start)))
                for b in values:
                    for place in range(5):
                        two = [*one[:place], b, *one[place + 1 :]]
                        found[1] = max(found[1], abs(np.median(two) - np.median(one)))
        assert bound_median_moves(np.array(start)[:, None], 2).tolist() == [found[0], found[1]]


@pytest.mark.parametrize("event", [Approximate(1.0, 1e-6), Approximate(8.0, 1e-9), Approximate(0.01, 1e-3)])
def test_the_threshold_has_the_stated_tail(event):
    """Against the two discrete Laplace laws summed term by term."""
    rho, nu = 5 / 13 * event.epsilon / 2, 4 / 13 * event.epsilon / 2
    x = np.arange(-math.ceil(60 / nu), math.ceil(60 / nu) + 1)
    laws = [np.exp(-rate * np.abs(x)) for rate in (rho, nu)]
    laws = [law / law.sum() for law in laws]
    above = np.append(np.cumsum(laws[1][::-1])[::-1], 0.0)  # P(ν >= x)

    def passing(t):
        return float(laws[0] @ above[np.clip(t - x - x[0], 0, len(x))])

    t = required_distance(event)
    assert PROPOSALS * passing(t) <= event.delta / 2 * (1 + 1e-6) < PROPOSALS * passing(t - 1) * (1 + 1e-5)


def test_blocks_that_disagree_give_the_mean():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (500, 3)), rng.choice([-1.0, 1.0], 500)
    fit, curator = solve(fit_propose_test_release, (X, y), Budget(0.5, 1e-6), rng=Keystream.seeded(1))
    assert "did not agree" in curator.notes[0] and np.array_equal(fit.theta[1:], np.zeros(3))
    assert curator.releases[-1].value.tolist() == [-1.0, 0.0, 0.0, 0.0]  # no scale, and no slopes
    fit, curator = solve(fit_propose_test_release, easy(), Budget(40.0, 1e-6), rng=Keystream.seeded(1))
    assert "agreed at scale" in curator.notes[0] and curator.releases[-1].value[0] >= 0


@pytest.mark.catalogue("LR10")
@pytest.mark.parametrize("wild", [0, 40])
def test_blocks_of_clean_data_agree_from_where_it_is_said_they_can(wild):
    """From `enough_rows` on where residuals are small; a few targets a billion away change nothing."""
    n = enough_rows(5, Approximate(0.75, 7.5e-7))
    assert n < 12_500
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(0, 0.1, n)
    y[:wild] = 1e9
    model = LinearRegression(1.0, 1e-6, method="ptr", bounds=Bounds(-4, 4, target=(-10, 10)), random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model.fit(X, y)
    assert any("agreed at scale" in note for note in model.release_.notes)
    assert model.score(X[wild:], y[wild:]) > 0.5


def test_too_few_rows_are_warned_of_before_anything_is_charged():
    ledger = Ledger(Budget(0.5, 1e-6))
    model = LinearRegression(1.0, 1e-6, method="ptr", bounds=Bounds(-1, 1, target=(-1, 1)), n=500, ledger=ledger)
    with pytest.warns(NoiseWarning, match=r"from about 7,236 rows on; there are 500"), pytest.raises(BudgetExceeded):
        model.fit(np.zeros((500, 2)), np.zeros(500))


def test_least_deviations_are_robust_and_defined_for_any_rows():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(30), rng.uniform(-1, 1, (30, 2))])
    y = x @ [0.1, 0.5, -0.3]
    y[:3] = 1.0
    np.testing.assert_allclose(least_deviations(x, y, 0.0), [0.1, 0.5, -0.3], atol=0.01)
    for rows in (0, 1, 2):
        assert np.isfinite(least_deviations(x[:rows], y[:rows], 0.2)).all()
    assert np.isfinite(least_deviations(np.full((4, 2), np.nan), np.full(4, np.nan), 0.0)).all()


def on_the_edge(k, zeros, scale):
    return np.array([[0]] * zeros + [[scale]] * (k - zeros))


@pytest.mark.catalogue("LR10")
@pytest.mark.audit
def test_the_release_is_audited(seeded, monkeypatch):
    """The median jumps by the scale itself while the test cannot tell the two apart: all the loss is the Gaussian's.

    Half of that noise is caught. A sound mechanism fails with probability below 1e-6; the seed is fixed.
    """
    event, scale = Approximate(8.0, 1e-3), 1 << 30
    declared = Gaussian(noise_multiplier(4.0, 0.5e-3))
    honest = proposals.noise_after_test
    rng = stream(7)

    def run(fits):
        chosen, median = propose_scales(fits, scale << (PROPOSALS - 1), event, rng)
        return [chosen, median[0]]

    pair = on_the_edge(201, 101, scale), on_the_edge(201, 100, scale)
    with monkeypatch.context() as patch:
        patch.setattr(proposals, "noise_after_test", lambda event: Gaussian(honest(event).noise_multiplier / 2))
        needed = catch(run, *pair, event=declared, runs=2400)
    acquit(run, *pair, event=declared, runs=needed)


@pytest.mark.audit
@pytest.mark.catalogue("LR10")
def test_the_test_is_audited(seeded, monkeypatch):
    """Noise of scale ε/2 where 2/ε belongs, as a known tool has it, is caught; ours is not broken.

    Neighbours at the threshold and one below it. A sound test fails with probability below 1e-6; the seed is fixed.
    """
    event, scale, rng = Approximate(1.0, 1e-3), 1 << 30, stream(8)
    honest = thresholds._noise

    def steady(gap):
        """Blocks that agree until `gap` of them have changed."""
        k = 4 * required_distance(event) + 1
        half = (k - 1) // 2
        return np.array([[0]] * (half + gap + 1) + [[1 << 42]] * (half - gap))

    here, there = steady(required_distance(event)), steady(required_distance(event) - 1)
    assert distance_of(here, event, scale) == required_distance(event) == distance_of(there, event, scale) + 1

    def run(fits):
        return propose_scales(fits, scale, event, rng)[0]

    with monkeypatch.context() as patch:
        patch.setattr(thresholds, "_noise", lambda scale, rng: honest(1 / scale, rng))
        needed = catch(run, here, there, event=Pure(0.5), runs=2400)
    acquit(run, here, there, event=Pure(0.5), runs=needed)


def distance_of(fits, event, scale):
    return int(
        np.searchsorted(bound_median_moves(np.sort(fits, axis=0), 2 * required_distance(event)), scale, side="right")
    )


# One posterior sample --------------------------------------------------------------------------------


def hockey_stick(m, p, m1, q, eps):
    """sup over sets of P - e^ε Q for P = N(m, 1/p) and Q = N(m1, 1/q), p ≠ q: the likelihood ratio is a parabola."""
    a, b, c = (q - p) / 2, p * m - q * m1, (q * m1**2 - p * m**2) / 2 + math.log(p / q) / 2 - eps
    if b * b <= 4 * a * c:
        return 0.0 if a < 0 else 1 - math.exp(eps)
    ends = sorted((-b + sign * math.sqrt(b * b - 4 * a * c)) / (2 * a) for sign in (-1, 1))
    between = [
        float(np.diff(norm.cdf(ends, m, p**-0.5))[0]),
        float(np.diff(norm.cdf(ends, m1, q**-0.5))[0]),
    ]
    first, second = between if a < 0 else (1 - between[0], 1 - between[1])
    return first - math.exp(eps) * second


@pytest.mark.parametrize(("eps", "delta"), [(0.5, 1e-4), (2.0, 1e-3), (4.0, 1e-2)])
def test_draws_of_neighbours_are_as_close_as_promised(eps, delta):
    """On the line, where the divergence can be integrated: over many data sets, rows and radii, both directions."""
    worst, broken = 0.0, 0.0
    for ridge in (6.0, 20.0, 200.0):
        for radius in (0.04, 0.3, 1.5):
            for level in (-0.9, 0.0, 0.9):
                for rows in (0, 3, 40):
                    S, b = np.array([[float(rows)]]), np.array([level * rows])
                    gamma = solve_precision(eps, delta, 1 / ridge, (1 + radius) / math.sqrt(ridge) / (1 + 0.5 / ridge))
                    if gamma <= 0:
                        continue
                    for x, y in ((1.0, 1.0), (1.0, -1.0), (0.5, 1.0)):
                        laws = [
                            (minimise_on_ball(T, c, ridge, radius)[0], T[0, 0] + ridge)
                            for T, c in ((S, b), (S + x * x, b + x * y))
                        ]
                        for sharp in (gamma, 4 * gamma):
                            (m, h), (m1, h1) = laws
                            ways = (m, sharp * h, m1, sharp * h1), (m1, sharp * h1, m, sharp * h)
                            found = max(hockey_stick(*way, eps) for way in ways)
                            worst, broken = (
                                (max(worst, found), broken) if sharp == gamma else (worst, max(broken, found))
                            )
    assert worst <= delta < broken, "the bound holds, and twice as sharp a draw would break it"


def test_the_divergence_bound_holds_in_any_dimension():
    """The closed form of the divergence of Gaussians, for minimisers on a ball, against the bound of the proof."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        d, ridge, radius = rng.integers(1, 5), rng.choice([1.5, 4.0, 30.0]), rng.choice([0.1, 0.7, 2.0])
        X, y = balls(rng, rng.integers(1, 30), d)
        few, more = totals(X[1:], y[1:]), totals(X, y)
        H, H1 = few[0] + ridge * np.eye(d), more[0] + ridge * np.eye(d)
        gap = minimise_on_ball(*few, ridge, radius) - minimise_on_ball(*more, ridge, radius)
        u, K, gamma = 1 / np.linalg.eigvalsh(H)[0], 1 + radius, rng.choice([0.1, 1.0, 10.0])
        for order in 1 + np.array([0.05, 0.3, 0.9]) / u:
            stretch = (1 + u) / (1 - (order - 1) * u)
            bound = order * gamma / 2 * K**2 * u / (1 + u / 2) ** 2 * stretch
            bound += -math.log1p(-(order - 1) * u) / (2 * (order - 1)) - math.log1p(u) / 2
            for first, second in ((H, H1), (H1, H)):
                assert renyi(gap, gamma * first, gamma * second, order) <= bound * (1 + 1e-9)


def renyi(gap, precision, other, order):
    """Of N(m, precision^-1) from N(m + gap, other^-1)."""
    P, Q = np.linalg.inv(precision), np.linalg.inv(other)
    mixed = order * Q + (1 - order) * P
    assert np.linalg.eigvalsh(mixed)[0] > 0
    logs = [np.linalg.slogdet(part)[1] for part in (mixed, P, Q)]
    quadratic = order / 2 * gap @ np.linalg.solve(mixed, gap)
    return quadratic - (logs[0] - (1 - order) * logs[1] - order * logs[2]) / (2 * (order - 1))


def test_the_draw_has_the_stated_law():
    """Mean, spread and correlation of 4000 draws within six standard errors: false alarms below 1e-7, seed fixed."""
    H, centre, rng = np.array([[4.0, 1.5], [1.5, 1.0]]), np.array([3.0, -2.0]), Keystream.seeded(3)
    with localcontext(Context(prec=60)):
        exact = np.array([[Decimal(value) for value in row] for row in H.tolist()], dtype=object)
        draws = np.array([posteriors.draw_rounded(centre, exact, -30, rng) for _ in range(4000)], np.float64) * 2.0**-30
    white = (draws - centre) @ np.linalg.cholesky(H)
    assert np.abs(white.mean(axis=0)).max() < 6 / math.sqrt(4000)
    assert np.abs(np.cov(white.T) - np.eye(2)).max() < 6 * math.sqrt(2 / 4000)


@pytest.mark.audit
@pytest.mark.catalogue("LR11")
def test_audit_of_the_draw(seeded, monkeypatch):
    """A ball that just holds the minimisers of no row and of one, which change the spread hardly and the centre most.

    The draws are then nearly those of a Gaussian mechanism, of the multiplier that γ was meant to buy, and are audited
    as such: an attack on (ε, δ) itself would need a hundred times as many. A sound mechanism fails with probability
    below 1e-6; the seed is fixed.
    """
    budget, ones, u = Budget(8.0, 1e-6), np.ones((1, 1)), 1 / 40
    honest = posteriors.solve_precision
    reach = 1.05 * math.sqrt(u) / (1 + u / 2)
    meant = Gaussian(1 / (reach * math.sqrt(honest(8.0, 0.5e-6, u, reach))))

    def run(X):
        curator = Curator(Memory(X, np.ones(len(X))), Ledger(budget))
        vv, _ = curator.expect(BoundedSum(v := lambda rows: np.column_stack([rows.X, rows.y]), v, box=True))
        return curator.run(PosteriorDraw("draw", vv, 3.0, 40.0, 40.0, 0.05), budget.whole("approximate"))

    with monkeypatch.context() as patch:
        patch.setattr(posteriors, "solve_precision", lambda *numbers: 4 * honest(*numbers))
        needed = catch(run, ones[:0], ones, event=meant, runs=1200)
    acquit(run, ones[:0], ones, event=meant, runs=needed)


def test_what_was_measured_misleads_with_the_stated_probability():
    """The eigenvalue taken is below the true one of the data without any one row, in all of 2000 runs at 1e-3 a run…

    …but for about one: more than 20 would have probability below 1e-12. The seed is fixed.
    """
    budget = Budget.derive(4.0, 1e-2)
    rng, X = Keystream.seeded(4), np.random.default_rng(0).uniform(-1, 1, (200, 2))
    true = min(np.linalg.eigvalsh(X.T @ X - np.outer(row, row))[0] for row in X)
    wrong = 0
    for _ in range(2000):
        curator = Curator(Memory(X), Ledger(budget), rng=rng)
        xx = BoundedSum(x := lambda rows: rows.X, x, box=True)
        smallest = curator.measure(xx, budget.split(inside(1.0))[0], then=posteriors.smallest_eigenvalue)
        wrong += posteriors.bound_eigenvalue_below(smallest, 1e-3) > true
    assert wrong <= 20


@pytest.mark.parametrize("eps", [1e-4, 1.0, 100.0])
def test_the_eigenvalue_and_the_draw_see_the_same_numbers(eps):
    for width in (1, 3, 7, 8, 127):
        X = np.full((3, width), 0.3)
        spy = Spy(Memory(X, X[:, 0]), lambda: None)
        budget = Budget(eps, 1e-6)
        curator, bounds = Curator(spy, Ledger(budget)), Bounds(-1, 1, target=(-1, 1)).matched(width)
        fit_posterior_sample(Task(curator, budget, bounds))
        xx, vv = (next(query for query in spy.queries if query.name == name) for name in ("X'X", "moments"))
        assert xx.choose_lattices(xx.fixed)[0] == vv.choose_lattices(vv.fixed)[0]
        d = width + 1
        batch = Batch(X, X[:, 0])
        assert np.array_equal(xx(batch), vv(batch)[:d, :d])
