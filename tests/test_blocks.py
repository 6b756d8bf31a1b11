"""Sample and aggregate: whatever a function does in its block, one row changes one answer, and nothing escapes."""

import os
import sys
import time

import numpy as np
import polars as pl
import pytest

from discreet import Budget, BudgetExceeded, Ledger, NotSupported, stats
from discreet.accounting import epsilon
from discreet.audit import audit
from discreet.checks import SURE, replay_audit
from discreet.engines.memory import Memory
from discreet.events import Approximate
from discreet.mechanisms import keystream
from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.points import DecimalGrid
from discreet.stats import PointEstimator, SampleAndAggregate
from discreet.stats.blocks import MeanOfBlocks, StableBlocks
from discreet.stats.isolation import Runner

from .sabotage import caught

pytestmark = pytest.mark.filterwarnings("ignore::discreet.NotPrivateWarning")

ASKED = []


def count_calls(x):
    ASKED.append(1)
    return float(len(ASKED))


def misbehave(x):
    """By the first number of the block: raises, prints and leaves, says nonsense, sleeps, works, or takes memory."""
    kind = int(x[0])
    print("a row is", x[0], file=sys.stderr)
    if kind == 0:
        raise ValueError(f"a row is {x[0]}")
    if kind == 1:
        sys.exit(str(x[0]))
    if kind == 2:
        return "no number"
    if kind == 3:
        return [1.0, 2.0]
    if kind == 4:
        time.sleep(60)
    if kind == 5:
        os._exit(3)
    if kind == 6:
        return float(np.ones(1 << 33)[0])
    while kind == 7:
        pass
    return np.nan if kind == 8 else 7.0


def marked(x):
    return 1e9 if (x > 99).any() else -1e9


@pytest.mark.catalogue("ME6")
def test_no_block_changes_another():
    """A function that keeps a counter: in processes of their own all blocks answer 1; in this one they count up."""
    blocks = [np.arange(3.0)] * 4
    apart, here = Runner(count_calls, 1), Runner(count_calls, 1, isolated=False)
    assert [apart(block)[0] for block in blocks] == [1.0] * 4
    assert [here(block)[0] for block in blocks] == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.slow
def test_whatever_a_block_does_there_is_no_answer_and_no_word_of_it(capfd, monkeypatch):
    monkeypatch.setattr("discreet.stats.isolation.SLACK", 0.5)
    for kind in range(9):
        runner = Runner(misbehave, 1, seconds=1, memory=1 << 32)
        assert runner(np.array([float(kind), 5.0])) is None
    assert Runner(misbehave, 1)(np.array([9.0])).tolist() == [7.0]
    for kind in (0, 1, 2, 3, 8):
        assert Runner(misbehave, 1, isolated=False)(np.array([float(kind)])) is None
    assert capfd.readouterr() == ("", "")


def test_a_function_that_cannot_be_sent_is_refused_before_the_charge():
    ledger = Ledger(Budget(1.0))
    with pytest.raises(TypeError, match="pickle"):
        SampleAndAggregate(lambda x: 0.0, 5, (0, 1))(np.arange(9.0), ledger=ledger)
    assert not ledger.entries


@pytest.mark.audit
def test_a_block_that_tells_of_one_row_is_audited(monkeypatch):
    """A billion where a marked row is: the answer is clipped, and noise is for one block's range."""
    ask = SampleAndAggregate(marked, 3, (-1, 1), "mean", isolated=False)
    pair = np.zeros(3), np.array([0.0, 0.0, 0.0, 100.0])
    caught(lambda x: ask(x, epsilon=1.0), pair, 1500, monkeypatch, 1 / 2, "laplace")


@pytest.mark.audit
@pytest.mark.parametrize("twin", [False, True])
def test_blocks_that_must_be_stable_are_audited(twin, monkeypatch):
    """A test without noise says for certain whether all blocks agree; false alarms: 1e-6."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", Keystream.seeded(6))
    if twin:
        first = lambda distances, *rest: next((i for i, d in enumerate(distances) if d > 3), -1)  # noqa: E731
        monkeypatch.setattr("discreet.stats.blocks.first_stable", first)
    promise, grid = Approximate(1.0, 1e-2), DecimalGrid(-1, 1, -3, -1000, 1000)

    def ask(x):
        asked = StableBlocks("blocks", Runner(marked, 1, False), 9, (grid,), (0,), True)
        return asked.run(Memory(x[:, None]), promise, Budget.derive(1.0, 1e-2), keystream.default())[0]

    pair = np.zeros(9), np.append(np.zeros(9), 100.0)
    seen = audit(ask, *pair, event=promise, runs=400, delta=1e-2, confidence=SURE)
    assert seen.violated == twin, str(seen)


@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_replay_sees_no_more_than_is_declared(aggregate, relation):
    ask = SampleAndAggregate(marked, 4, (-1, 1), aggregate, isolated=False)
    x = np.zeros(9)
    other = np.append(x, 100.0) if relation == "add-remove" else np.append(x[1:], 100.0)
    loss = replay_audit(lambda z: ask(z, epsilon=1.0, neighbours=relation, random_state=4), x, other)
    assert 0.2 < loss <= 1 + 1e-9
    gaussian = replay_audit(
        lambda z: ask(z, epsilon=1.0, delta=1e-5, neighbours=relation, random_state=4), x, other, delta=1e-5
    )
    assert gaussian <= 1 + 1e-6


def test_a_person_with_many_rows_changes_one_answer():
    """All rows of a unit are in one block, however many they are."""
    ask = SampleAndAggregate(marked, 7, (-1, 1), "mean", isolated=False)
    many = pl.DataFrame({"x": [0.0] * 40 + [100.0] * 400, "person": [*range(40), *[99] * 400]})
    loss = replay_audit(lambda frame: ask(frame, epsilon=1.0, unit="person", random_state=1), many[:40], many)
    assert loss == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("aggregate", ["mean", "median", "stable"])
def test_each_aggregate_is_near_the_truth_and_spends_its_budget(aggregate):
    x = np.random.default_rng(0).normal([3.0, -40.0], [1.0, 5.0], (40_000, 2))
    ask = SampleAndAggregate(column_means, 400, [(-10, 10), (-100, 100)], aggregate, isolated=False)
    ledger = Ledger(Budget(2.0, 1e-6))
    answer = ask(x, epsilon=2.0, delta=1e-6, ledger=ledger, random_state=2)
    np.testing.assert_allclose(answer.value, [3, -40], atol=4 if aggregate != "stable" else 20)
    assert 0.99 < epsilon(answer.event, 1e-6) <= 2.0 and len(ledger.entries) == 1
    with pytest.raises(BudgetExceeded):
        ask(x, epsilon=1.0, delta=1e-6, ledger=ledger)


def column_means(x):
    return x.mean(axis=0)


def test_blocks_that_do_not_agree_give_the_middle():
    ask = SampleAndAggregate(np.mean, 9, (0, 10), "stable", isolated=False)
    answer = ask(np.arange(90.0), epsilon=0.5, delta=1e-6)
    assert answer.value == pytest.approx(5) and any("did not agree" in note for note in answer.notes)
    with pytest.raises(ValueError, match="delta > 0"):
        ask(np.arange(9.0))


def test_empty_blocks_and_no_rows_give_the_default():
    for x in (np.zeros(0), np.zeros(1)):
        ask = SampleAndAggregate(np.max, 20, (0, 10), "median", default=7, isolated=False)
        assert ask(x, epsilon=50.0, random_state=1).value == pytest.approx(7, abs=1e-9)


@pytest.mark.catalogue("ST4")
def test_intervals_of_point_estimates_cover():
    """50 seeded 90 % intervals of a slope: fewer than 30 cover with probability below 1e-6; the seeds are fixed."""
    hits, widths = 0, []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(20_000, 1))
        y = 1.5071 * x[:, 0] + rng.normal(size=20_000)
        ask = PointEstimator(slope, 100, (-50, 50), isolated=False)
        low, high = ask(x, y, epsilon=1.0, confidence=0.9, random_state=seed).interval
        hits, widths = hits + (low <= 1.5071 <= high), [*widths, high - low]
    assert hits >= 38 and np.median(widths) < 0.1


def slope(x, y):
    return float(x @ y / (x @ x))


def test_a_refused_charge_reads_no_row():
    ledger = Ledger(Budget(0.5))
    with pytest.raises(BudgetExceeded):
        PointEstimator(fail, 5, (0, 1), isolated=False)(np.ones(5), epsilon=1.0, ledger=ledger)


def fail(x):
    raise AssertionError("rows were read")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"blocks": 0}, "`blocks`"),
        ({"blocks": 1.5}, "`blocks`"),
        ({"bounds": (1, 0)}, "`bounds`"),
        ({"bounds": (0, np.inf)}, "`bounds`"),
        ({"aggregate": "mode"}, "`aggregate`"),
        ({"default": (1, 2)}, "`default`"),
    ],
)
def test_bad_arguments_say_so(options, says):
    with pytest.raises(ValueError, match=says):
        SampleAndAggregate(np.mean, **({"blocks": 5, "bounds": (0, 1)} | options))


def test_rows_that_are_read_piece_by_piece_are_refused(tmp_path):
    pl.DataFrame({"a": [1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    lazy = pl.scan_parquet(tmp_path / "a.parquet")
    with pytest.raises(NotSupported, match="in memory"):
        SampleAndAggregate(np.mean, 2, (0, 1), isolated=False)(lazy)
    assert stats.median(lazy, (0, 10), epsilon=100.0).value <= 2


def test_answers_are_rounded_alike_whatever_their_type():
    grid = DecimalGrid.between(0, 1)
    made = MeanOfBlocks("blocks", Runner(np.mean, 1, isolated=False), 2, (grid,), (grid.first,))
    assert made.by_units and made.proof == "blocks"
