"""The ledger: a valid filter, one object, atomic, durable."""

import copy
import json
import math
import multiprocessing
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from scipy.stats import norm
from sklearn.base import clone

from discreet import Budget, BudgetExceeded, Ledger, LedgerError, NotPrivateWarning, VersionError
from discreet.accounting import best_order, curves, mu, noise_multiplier
from discreet.events import Approximate, Choice, Composed, Gaussian, Laplace, Pure, Repeated, Sampled


@pytest.mark.catalogue("CO6")
def test_refuses_an_overspend_and_changes_nothing():
    ledger = Ledger(Budget(1.0))
    ledger.charge("a", Laplace(2.0))
    with pytest.raises(BudgetExceeded, match=r"'b' would cost ε = 0.6.*ε = 0.5 is left of 1. Nothing was charged"):
        ledger.charge("b", Pure(0.6))
    assert [entry.name for entry in ledger.entries] == ["a"]
    ledger.charge("c", Choice(0.5))
    assert ledger.spent == 1.0 and ledger.remaining == 0.0


def test_currencies_by_default_and_by_name():
    assert Ledger(Budget(1.0)).currency.name == "pure"
    assert Ledger(Budget(1.0, 1e-6)).currency.name == "gdp"
    assert Ledger(Budget(1.0, 1e-6), "renyi").currency.order >= 2
    with pytest.raises(ValueError, match="needs delta > 0"):
        Ledger(Budget(1.0), "gdp")
    with pytest.raises(ValueError, match="currency"):
        Ledger(Budget(1.0), "euro")
    with pytest.raises(TypeError, match="Budget"):
        Ledger(1.0)


def test_gdp_adds_squares_and_admits_up_to_the_cap():
    ledger = Ledger(Budget(1.0, 1e-6))
    cap = mu(1.0, 1e-6)
    for _ in range(4):
        ledger.charge("quarter", Gaussian(2 / cap * (1 + 1e-9)))
    assert ledger.mu == pytest.approx(cap, rel=1e-8) and ledger.rho == pytest.approx(cap**2 / 2, rel=1e-8)
    assert ledger.spent == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(BudgetExceeded):
        ledger.charge("more", Gaussian(1e4))


def test_one_exactly_calibrated_fit_is_admitted():
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.charge("fit", Gaussian(noise_multiplier(1.0, 1e-6)))
    assert 0.999 < ledger.spent <= 1.0
    with pytest.raises(BudgetExceeded):
        ledger.charge("again", Gaussian(1e3))


def test_a_first_charge_that_fits_by_exact_accounting_closes_the_ledger():
    plan = Composed((Repeated(Sampled(0.01, Gaussian(1.0)), 200), Laplace(20.0)))
    ledger = Ledger(Budget(2.0, 1e-5))
    assert curves.mu(plan) > mu(2.0, 1e-5), "in μ alone it would not fit"
    ledger.charge("sgd", plan)
    assert ledger.remaining == 0.0 and 0 < ledger.spent <= 2.0
    with pytest.raises(BudgetExceeded):
        ledger.charge("tiny", Gaussian(1e4))
    second = Ledger(Budget(2.0, 1e-5))
    second.charge("first", Gaussian(1e4))
    with pytest.raises(BudgetExceeded, match="currency='renyi'"):
        second.charge("sgd", plan)


def test_pure_events_in_gdp_count_tightly():
    event = Laplace(1.0)
    from statistics import NormalDist

    assert curves.mu(event) == pytest.approx(2 * NormalDist().inv_cdf(math.e / (1 + math.e)), rel=1e-9)


def test_delta_of_its_own_needs_a_reserve():
    event = Approximate(0.02, 1e-8)
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.charge("x", Gaussian(100.0))
    with pytest.raises(BudgetExceeded, match="reserve"):
        ledger.charge("keys", event)
    reserved = Ledger(Budget(1.0, 1e-6), reserve=5e-8)
    for _ in range(4):
        reserved.charge("keys", event)
    with pytest.raises(BudgetExceeded):
        for _ in range(2):
            reserved.charge("keys", event)
    with pytest.raises(ValueError, match="reserve"):
        Ledger(Budget(1.0, 1e-6), reserve=1e-5)


def test_pure_currency_refuses_gaussians_with_a_hint():
    ledger = Ledger(Budget(1.0))
    with pytest.raises(BudgetExceeded, match="delta > 0"):
        ledger.charge("g", Gaussian(100.0))


def test_renyi_at_one_order_amplifies_sampling():
    step, charged = Repeated(Sampled(0.01, Gaussian(1.0)), 100), 0
    ledger = Ledger(Budget(2.0, 1e-5), "renyi", order=best_order(2.0, 1e-5, step))
    with pytest.raises(BudgetExceeded):
        while True:
            ledger.charge("epoch", step)
            charged += 1
    assert charged >= 5 and ledger.spent <= 2.0


def test_the_curve_reports_every_delta():
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.charge("x", Gaussian(10.0))
    low, high = ledger.curve([1e-3, 1e-9])
    assert low < high
    assert Ledger(Budget(1.0)).curve([0.0]) == [0.0]


def test_explain_speaks_of_odds_and_entries():
    ledger = Ledger(Budget(1.0), data="claims")
    assert "Nothing has been released" in ledger.explain()
    ledger.charge("count", Laplace(2.0))
    text = ledger.explain()
    assert "claims" in text and "count" in text and "odds" in text and "0.5" in text


def test_explain_of_next_to_nothing():
    ledger = Ledger(Budget(1.0))
    ledger.charge("x", Laplace(1e10))
    assert "odds" in ledger.explain()


def test_one_ledger_is_one_object():
    ledger = Ledger(Budget(1.0))
    assert copy.copy(ledger) is ledger and copy.deepcopy(ledger) is ledger and clone(ledger, safe=False) is ledger
    with pytest.raises(pickle.PicklingError, match="durable"):
        pickle.dumps(ledger)


def test_a_forked_process_cannot_spend_the_copy():
    ledger = Ledger(Budget(1.0))
    child = os.fork()
    if child == 0:
        try:
            ledger.charge("x", Pure(0.5))
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and ledger.entries == ()


def test_sampled_events_need_add_remove():
    ledger = Ledger(Budget(1.0, 1e-5, "replace-one"), "renyi")
    with pytest.raises(LedgerError, match="add-remove"):
        ledger.charge("x", Sampled(0.01, Gaussian(1.0)))


@pytest.mark.parametrize(
    "options", [{"currency": "renyi", "order": 1}, {"order": 7}, {"currency": "renyi", "order": 2.5}]
)
def test_orders_that_are_wrong(options):
    with pytest.raises(ValueError, match="order"):
        Ledger(Budget(1.0, 1e-5), **options)


def test_an_empty_charge_and_a_first_charge_with_a_delta():
    ledger = Ledger(Budget(1.0, 1e-6))
    ledger.charge("nothing", Composed(()))
    assert "Nothing has been released" not in ledger.explain()  # somebody looked, and paid nothing
    other = Ledger(Budget(1.0, 1e-6))
    other.charge("keys", Approximate(0.5, 1e-6))
    assert other.spent == pytest.approx(0.5) and other.curve([1e-6]) == pytest.approx([0.5])
    with pytest.raises(BudgetExceeded):
        other.charge("more", Gaussian(1e4))


def test_threads_never_overspend():
    ledger, done = Ledger(Budget(1.0)), []

    def spend():
        for _ in range(50):
            try:
                ledger.charge("x", Pure(0.01))
                done.append(1)
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 99 <= len(done) <= 100 and len(ledger.entries) == len(done)


def test_durable_ledgers_open_again(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path, Budget(1.0, 1e-6), data="claims")
    ledger.charge("x", Gaussian(50.0))
    assert os.stat(path).st_mode & 0o777 == 0o600
    again = Ledger.open(path)
    assert again.entries == ledger.entries and again.budget == Budget(1.0, 1e-6) and again.data == "claims"
    assert pickle.loads(pickle.dumps(again)).entries == ledger.entries
    with pytest.raises(LedgerError, match="opened with"):
        Ledger.open(path, Budget(2.0, 1e-6))
    with pytest.raises(LedgerError, match="opened with"):
        Ledger.open(path, Budget(1.0, 1e-6, "replace-one"))
    with pytest.raises(LedgerError, match="currency"):
        Ledger.open(path, Budget(1.0, 1e-6), "renyi")


def test_durable_ledgers_that_cannot_be(tmp_path):
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(tmp_path / "none.db")
    with pytest.raises(LedgerError, match="no folder"):
        Ledger.open(tmp_path / "no" / "folder.db", Budget(1.0))
    (tmp_path / "text.db").write_text("this is not a database, but quite a long text " * 30)
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.open(tmp_path / "text.db", Budget(1.0))
    path = tmp_path / "new.db"
    Ledger.open(path, Budget(1.0))
    with sqlite3.connect(path) as connection:
        connection.execute("update settings set document = '{\"version\": 9}'")
    with pytest.raises(VersionError, match="version"):
        Ledger.open(path)


def test_durable_entries_cannot_be_deleted(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger.open(path, Budget(1.0)).charge("x", Pure(0.5))
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.DatabaseError, match="append-only"):
        connection.execute("delete from entries")


def _race(path, results):
    ledger, done = Ledger.open(path), 0
    while True:
        try:
            ledger.charge("x", Pure(0.01))
            done += 1
        except BudgetExceeded:
            results.put(done)
            return


@pytest.mark.slow
def test_eight_processes_never_overspend(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path, Budget(1.0))
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    racers = [context.Process(target=_race, args=(str(path), results)) for _ in range(8)]
    for racer in racers:
        racer.start()
    done = [results.get(timeout=120) for _ in racers]
    for racer in racers:
        racer.join()
    assert sum(done) == len(ledger.entries)
    assert 99 <= sum(done) <= 100 and ledger.spent <= 1.0


SPENDER = """
import sys
from discreet import Ledger
from discreet.events import Pure
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
while True:
    ledger.charge("x", Pure(1e-6))
    print("charged", flush=True)
"""


@pytest.mark.slow
def test_twenty_kills_lose_no_charge(tmp_path):
    """Each charge that was reported is on the books after `kill -9` at a random moment."""
    path, coin = tmp_path / "ledger.db", random.Random(0)
    ledger, known = Ledger.open(path, Budget(1.0)), 0
    for _ in range(20):
        command = [sys.executable, "-c", SPENDER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            time.sleep(coin.uniform(0.01, 0.15))
            process.send_signal(signal.SIGKILL)
            reported = process.stdout.read().count("charged\n")
        entries = len(Ledger.open(path).entries)
        assert known + reported <= entries <= known + reported + 1
        known = entries
    assert known > 20
    ledger.charge("still works", Pure(1e-6))


# what no promise covers -------------------------------------------------------------------------------


@pytest.mark.parametrize("durable", [False, True])
def test_seeded_and_unpaid_entries_are_told_apart_whatever_their_names(durable, tmp_path):
    budget = Budget(9.0, 1e-6)
    ledger = Ledger.open(tmp_path / "a.ledger", budget) if durable else Ledger(budget)
    ledger.charge("UNPAID, seeded", Gaussian(4.0))
    ledger.charge("a mean", Gaussian(4.0), seeded=True)
    ledger.charge("a look", Composed(()))
    again = Ledger.open(tmp_path / "a.ledger") if durable else ledger
    assert [entry.outside for entry in again.entries] == ["", "seeded", "unpaid"]
    text = again.explain()
    assert "a mean [NOT PRIVATE: seeded]" in text and "a look [NOT PRIVATE: unpaid]" in text
    assert "NO PROMISE covers what these entries told: 2 (seeded), 3 (unpaid)." in text and "for the others" in text


def test_where_no_entry_is_covered_no_odds_are_told():
    ledger = Ledger(Budget(2.0, 1e-6))
    ledger.charge("a mean", Gaussian(4.0), seeded=True)
    text = ledger.explain()
    assert "NO PROMISE covers what this entry told: 1 (seeded)." in text
    assert "odds" not in text and "Nothing has been released" not in text


def test_a_seeded_run_is_marked_when_it_is_charged():
    from discreet.stats import mean

    ledger = Ledger(Budget(2.0, 1e-6))
    with pytest.warns(NotPrivateWarning):
        mean([0.1, 0.2], (0, 1), epsilon=0.5, delta=1e-6, ledger=ledger, random_state=1)
    mean([0.1, 0.2], (0, 1), epsilon=0.5, delta=1e-6, ledger=ledger)
    assert [entry.seeded for entry in ledger.entries] == [True, False]


def test_ledgers_of_before_seeds_were_told_are_read_and_go_on(tmp_path):
    path = tmp_path / "old.ledger"
    Ledger.open(path, Budget(9.0, 1e-6))
    with sqlite3.connect(path) as connection:
        connection.execute("drop table entries")
        connection.execute(
            "create table entries"
            " (number integer primary key, name text not null, event text not null, time text not null)"
        )
        event = json.dumps(Gaussian(4.0).to_dict())
        connection.execute("insert into entries (name, event, time) values ('old', ?, '2024-01-01T00:00:00')", (event,))
    connection.close()
    watching = Ledger.open(path)
    assert [entry.outside for entry in watching.entries] == [""]
    Ledger.open(path).charge("plain", Gaussian(4.0))
    Ledger.open(path).charge("seeded", Gaussian(4.0), seeded=True)
    Ledger.open(path).charge("plain", Gaussian(4.0))
    assert [entry.outside for entry in watching.entries] == ["", "", "seeded", ""]
    assert watching.entries == Ledger.open(path).entries


@pytest.mark.parametrize("sigma", [1.0, 4.0, 20.0])
def test_the_odds_exceed_e_to_the_epsilon_more_often_than_delta_and_no_more_than_is_said(sigma):
    """The loss of Gaussian noise is N(μ²/2, μ²): its tail beyond ε is known."""
    ledger = Ledger(Budget(9.0, 1e-6))
    ledger.charge("a", Gaussian(sigma))
    tail = norm.sf((ledger.spent - 0.5 / sigma**2) * sigma)
    assert 5e-6 < tail < ledger.beyond(ledger.spent) < 5 * tail
    assert "with a probability of at most" in ledger.explain().splitlines()[-1]
    pure = Ledger(Budget(1.0))
    pure.charge("a", Laplace(2.0))
    assert pure.beyond(0.5) == 0.0 and pure.beyond(0.4) == 1.0 and "By what was charged" not in pure.explain()
