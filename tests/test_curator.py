"""The curator: charges first, measures exactly, samples honestly."""

import math
import os
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from discreet import Budget, BudgetExceeded, Ledger, LedgerError
from discreet.accounting import epsilon
from discreet.budget import Lot, choice, inside, radial
from discreet.curator import Curator, deal
from discreet.curator.total_noise import finer
from discreet.engines.memory import Memory
from discreet.events import Choice, Composed, Gaussian, Laplace, Pure, Repeated, Sampled
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.query import BoundedSum, OneHot, Together
from discreet.query.lipschitz import rank_score, smallest_eigenvalue

from .lazy import pd

BUDGET = Budget(1.0, 1e-6)


def x(rows):
    return rows.X


def curator(X=None, budget=BUDGET, **options):
    rows = Memory(np.full((100, 2), 0.5) if X is None else X)
    return Curator(rows, Ledger(budget), rng=Keystream.seeded(1), **options)


def test_a_plan_is_charged_once_and_whole():
    one = curator()
    a, b = BUDGET.split(1, 3)
    one.measure(BoundedSum(x, x), a)
    assert len(one.ledger.entries) == 1
    assert epsilon(one.ledger.entries[0].event, 1e-6) == pytest.approx(1.0, rel=1e-6)
    one.measure(BoundedSum(x), b)
    assert len(one.ledger.entries) == 1
    with pytest.raises(LedgerError, match="used already"):
        one.measure(BoundedSum(x), b)
    with pytest.raises(BudgetExceeded):
        one.measure(BoundedSum(x), BUDGET.whole())


def test_weights_are_shares_of_mu_squared():
    first, second = deal(BUDGET.split(1, 3)[0].plan)
    assert (first.noise_multiplier / second.noise_multiplier) ** 2 == pytest.approx(3)


def test_pure_plans_split_epsilon():
    plan = Budget(1.0).split(1, choice(2), radial(1))[0].plan
    assert deal(plan) == (Laplace(4.0), Choice(0.5), Pure(0.25))


def test_mixed_plans_are_solved_as_one():
    plan = BUDGET.split(1, choice(1))[0].plan
    noise, pick = deal(plan)
    assert isinstance(noise, Gaussian) and isinstance(pick, Choice)
    assert 0.999 < epsilon(Composed((noise, pick)), 1e-6) <= 1.0


def test_the_value_is_the_sum_plus_noise_of_the_stated_size():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (2000, 2))
    release = curator(X).measure(BoundedSum(x, x), BUDGET.whole())
    sigma = deal(BUDGET.split(1)[0].plan)[0].noise_multiplier
    assert release.std[0, 0] == pytest.approx(sigma) and release.std[0, 1] == pytest.approx(sigma / math.sqrt(2))
    assert np.abs(release.value - X.T @ X).max() < 6 * sigma
    assert np.array_equal(release.value, release.value.T)


def test_released_values_lie_on_a_public_grid():
    for X in (np.zeros((0, 2)), np.full((3, 2), 0.3)):
        value = curator(X).measure(BoundedSum(x), BUDGET.whole()).value
        steps = value * 2.0**60
        assert np.array_equal(steps, np.round(steps))
        assert (np.abs(value) * 2.0**23 % 1 != 0).any(), "finer than the data's own grid"


def test_large_noise_uses_a_coarser_grid():
    budget = Budget(1e-4, 1e-9)
    release = Curator(Memory(np.ones((5, 2))), Ledger(budget)).measure(BoundedSum(x, x), budget.whole())
    assert np.isfinite(release.value).all() and release.std[0, 0] > 1e4


def test_the_smallest_eigenvalue_has_the_sensitivity_of_one_row():
    X = np.random.default_rng(0).uniform(-0.7, 0.7, (5000, 2))
    one = curator(X)
    release = one.measure(BoundedSum(x, x), BUDGET.split(inside(1.0))[0], then=smallest_eigenvalue)
    sigma = deal(BUDGET.split(1)[0].plan)[0].noise_multiplier
    assert release.std == pytest.approx(sigma, rel=1e-3) and release.std >= sigma
    assert release.value == pytest.approx(np.linalg.eigvalsh(X.T @ X)[0], abs=6 * sigma)
    with pytest.raises(ValueError, match="x x'"):
        curator(X).measure(BoundedSum(x), BUDGET.split(inside(1.0))[0], then=smallest_eigenvalue)


def test_choosing():
    cells = BoundedSum(OneHot(lambda rows: rows.X[:, 0] * 10, 10))
    X = np.random.default_rng(0).uniform(0, 1, (5000, 1))
    release = curator(X, Budget(1.0)).choose(cells, Budget(1.0).whole("choice"), rank_score(math_half()))
    assert release.value in (4, 5) and release.std is None


def math_half():
    from fractions import Fraction

    return Fraction(1, 2)


def test_laplace_noise_needs_an_l1_bound():
    one = curator(budget=Budget(1.0))
    with pytest.raises(ValueError, match="order=1"):
        one.measure(BoundedSum(x), Budget(1.0).whole())
    with pytest.raises(ValueError, match="does not buy a measurement"):
        one.measure(BoundedSum(x, order=1), Budget(1.0).whole("choice"))
    with pytest.raises(ValueError, match="does not buy a choice"):
        one.choose(BoundedSum(OneHot(lambda rows: rows.X[:, 0], 4)), Budget(1.0).whole(), rank_score(math_half()))
    with pytest.raises(ValueError, match="one table"):
        one.choose(BoundedSum(OneHot(x, 4, 2)), Budget(1.0).whole("choice"), rank_score(math_half()))
    assert one.ledger.entries == ()


def test_promises_of_different_kinds_do_not_mix():
    for other in (Budget(1.0, 1e-6, "replace-one"), Budget(1.0, 1e-6, unit="person")):
        with pytest.raises(LedgerError, match="do not add up"):
            curator().measure(BoundedSum(x), other.whole())


def test_a_query_of_the_wrong_shape_charges_nothing():
    one = curator()
    with pytest.raises(ValueError, match="dimensions"):
        one.measure(BoundedSum(lambda rows: rows.X[:, :, None]), BUDGET.whole())
    assert one.ledger.entries == ()


def test_lots_are_one_sampled_event_each_charged_at_once():
    one = curator(np.full((10_000, 2), 0.5))
    lots = BUDGET.lots(10, 0.1, 1, 1)
    sizes = []
    for lot in lots:
        on_lot = one.sample(lot)
        assert len(one.ledger.entries) == 1
        for share in lot.shares:
            sizes.append(on_lot.measure(BoundedSum(lambda rows: np.ones(len(rows))), share))
    (entry,) = one.ledger.entries
    assert isinstance(entry.event, Repeated) and entry.event.times == 10
    assert isinstance(entry.event.event, Sampled) and len(entry.event.event.event.events) == 2
    assert 0.99 < epsilon(entry.event, 1e-6) <= 1.0
    summary = one.summary("lots", BUDGET)
    assert summary.event == entry.event and len(summary.parts) == 20
    # binomial(10_000, 0.1) has deviation 30; ten lots measured twice, noise of a few
    values = np.array([float(size.value) for size in sizes])
    assert np.abs(values - 1000).max() < 200 + 6 * sizes[0].std


def test_lots_cannot_be_drawn_twice_or_mixed_up():
    one = curator()
    first, second = BUDGET.lots(2, 0.5, 1)
    on_first = one.sample(first)
    with pytest.raises(LedgerError, match="drawn already"):
        one.sample(first)
    with pytest.raises(LedgerError, match="that lot"):
        on_first.measure(BoundedSum(x), second.shares[0])
    with pytest.raises(LedgerError, match="that lot"):
        one.measure(BoundedSum(x), first.shares[0])
    with pytest.raises(ValueError, match="rate"):
        BUDGET.lots(2, 0.0, 1)
    with pytest.raises(ValueError, match="rounds"):
        BUDGET.lots(0, 0.5, 1)
    with pytest.raises(ValueError, match="delta > 0"):
        Budget(1.0).lots(1, 0.5, 1)


@pytest.mark.parametrize("make", [lambda X: X, lambda X: pd.DataFrame(X), pl.DataFrame])
def test_samples_hold_each_row_with_the_stated_probability(make):
    """Binomial(100_000, 0.2): more than 6 deviations (760) off has probability below 1e-8, and the seed is fixed."""
    rows = Memory(make(np.ones((100_000, 2))), np.ones(100_000))
    lot = rows.sample(0.2, Coins.draw_key(Keystream.seeded(3)))
    assert abs(lot.count_replace_one() - 20_000) < 760
    assert rows.sample(1.0, Coins.draw_key(Keystream.seeded(3))).count_replace_one() == 100_000


def test_shares_and_lots_cannot_be_forged():
    one = curator()
    (share,) = BUDGET.split(1)
    one.measure(BoundedSum(x), share)
    tries = ({"round": 1}, {"round": 0.5}, {"index": -1}, {"index": 0.0}, {"round": False})
    for forged in [lambda t=t: replace(share, **t) for t in tries] + [lambda: Lot(share.plan, 1)]:
        with pytest.raises(ValueError):
            forged()
    lot = BUDGET.lots(2, 0.5, 1)[0]
    with pytest.raises(LedgerError, match="sample of a sample"):
        curator().sample(lot).sample(lot)


def test_a_forked_curator_cannot_use_the_other_shares():
    one, (first, second) = curator(), BUDGET.split(1, 1)
    one.measure(BoundedSum(x), first)
    child = os.fork()
    if child == 0:
        try:
            one.measure(BoundedSum(x), second)
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_factor_has_one_width():
    def shifty(rows):
        return np.zeros((0, 300)) if len(rows) == 0 else np.ones((len(rows), 1))

    with pytest.raises(ValueError, match="same width"):
        curator().measure(BoundedSum(shifty), BUDGET.whole())


@pytest.mark.parametrize("power", [0, 1, 31, 61, 62, 63, 100])
def test_totals_are_put_on_a_finer_grid_exactly(power):
    ends = [0, 1, -1, 2**31, 2**61 - 1, 2**61, 2**62 + 1, 2**63 - 1, -(2**62), -(2**63)]
    for total in [np.array([end, 3]) for end in ends] + [np.array(5), np.zeros((0, 2), int)]:
        for exact in (total, total.astype(object)):
            assert np.array_equal(finer(exact, power), total.astype(object) * 2**power)


def test_widths_that_are_fixed_beforehand_are_held_to():
    seen = []

    def noted(rows):
        seen.append(len(rows))
        return rows.X

    right = curator().measure(BoundedSum(noted, fixed=(2, 1)), BUDGET.whole())
    assert seen == [100] and np.array_equal(right.value, curator().measure(BoundedSum(x), BUDGET.whole()).value)
    with pytest.raises(ValueError, match="same width"):
        curator().measure(BoundedSum(x, fixed=(1, 1)), BUDGET.whole())

    def wide(rows):
        return np.ones((len(rows), 5000))

    pure = Budget(1.0)
    table = BoundedSum(OneHot(lambda rows: np.zeros((len(rows), 2)), 4, 2), fixed=(1, 1))
    one, other = curator(), curator(budget=pure)
    with pytest.raises(ValueError, match="at most 4096 columns"):
        one.measure(BoundedSum(wide, fixed=(5000, 1)), BUDGET.whole())
    with pytest.raises(ValueError, match="ℓ1"):  # what a table says of its widths is not taken for true
        other.measure(table, pure.whole())
    assert one.ledger.entries == other.ledger.entries == ()


def test_sums_together_are_the_sums_apart():
    X = np.random.default_rng(0).uniform(-1, 1, (700, 3))
    cells = OneHot(lambda rows: np.where(rows.X > 0, 1.0, 0.0), 2, 3)
    queries = [BoundedSum(lambda rows: rows.X[:, 0]), BoundedSum(x, x), BoundedSum(cells), BoundedSum(x, lambda r: r.y)]
    for rows in (Memory(X, X[:, 0], block=64), Memory(X[:0], X[:0, 0])):
        together = Together(tuple(queries))
        for query, total in zip(queries, together.split_total(rows.sum(together)), strict=True):
            assert total.shape == query(rows.make_empty_batch()).shape and np.array_equal(total, rows.sum(query))


def test_one_lot_of_everything():
    (lot,) = BUDGET.lots(1, 1.0, 1)
    one = curator()
    one.sample(lot).measure(BoundedSum(x), lot.shares[0])
    assert isinstance(one.ledger.entries[0].event, Gaussian)


def test_images_that_are_not_one_per_row_are_refused_before_the_charge():
    one = curator()
    for wrong in (lambda rows: np.ones(3), lambda rows: np.float64(1), lambda rows: np.ones((len(rows), 5000))):
        with pytest.raises(ValueError):
            one.measure(BoundedSum(wrong), BUDGET.whole())
    with pytest.raises(ValueError, match="codes"):
        one.measure(BoundedSum(OneHot(x, 4, 3)), BUDGET.whole())
    assert one.ledger.entries == ()
    with pytest.raises(ValueError, match="each row"):
        one.measure(BoundedSum(lambda rows: np.repeat(rows.X, 2, axis=0)), BUDGET.whole())


def test_a_symmetric_sum_bounded_in_l1_states_its_noise_truly():
    releases = [curator().measure(BoundedSum(x, x, order=1), BUDGET.whole()) for _ in range(2)]
    assert np.ndim(releases[0].std) == 0


def test_rows_do_not_travel():
    import pickle

    rows = Memory(np.ones((12_345, 2)))
    with pytest.raises(TypeError, match="stay where they are"):
        pickle.dumps(rows)
    assert "12345" not in repr(rows) and "12,345" not in repr(rows)
