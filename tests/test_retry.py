"""The retry rule: a charge of which nothing was seen is used again, with fresh noise; a release is returned as is."""

import contextlib
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import discreet
from discreet import Bounds, Budget, BudgetExceeded, Ledger, LedgerError, NotSupported, Release, stats
from discreet.checks import private_estimators, private_statistics
from discreet.checks.specimens import ordinary
from discreet.curator import Curator
from discreet.documents import values as documents
from discreet.engines.memory import Memory
from discreet.engines.stream.sources import open_stream, scan_parquet
from discreet.errors import DiscreetWarning, EngineError, NoiseWarning, ReadError
from discreet.events import Gaussian
from discreet.ledger.retrying import Retrying
from discreet.mechanisms.keystream import Keystream
from discreet.models import (
    KernelSVC,
    LinearRegression,
    LogisticRegression,
    OnlineClassifier,
    PrivateRegressor,
    PrivateSearchCV,
    Ridge,
    SGDClassifier,
)
from discreet.query import BoundedSum

from .lazy import pd

SECRET = 8_675_309.125
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 3))
Y = X @ [1.0, -0.5, 0.25]
LABELS = np.where(Y > 0, "yes", "no")
WIDE = Budget(8.0, 1e-6)


class Rows:
    """Rows behind an engine that fails at the k-th reading."""

    def __init__(self, rows, fails=0, error=None, hook=None):
        self._rows, self._hook, self._left = rows, hook, [fails]
        self._error = error or OSError(f"row 3 holds {SECRET!r}")
        self.width, self.columns = rows.width, rows.columns

    def make_empty_batch(self):
        return self._rows.make_empty_batch()

    def count_replace_one(self):
        return self._rows.count_replace_one()

    def sum(self, query):
        self._left[0] -= 1
        if self._left[0] == 0:
            raise self._error
        if self._hook:
            self._hook()
        return self._rows.sum(query)

    def __getattr__(self, name):
        if name.startswith("__") or name == "_rows":
            raise AttributeError(name)
        value = getattr(self._rows, name)
        return self._derived(value) if callable(value) else value

    def _derived(self, method):
        def call(*arguments, **options):
            found = method(*arguments, **options)
            if isinstance(found, Memory):
                found, rows = Rows(found, 0, self._error, self._hook), found
                found._rows, found._left = rows, self._left
            return found

        return call

    @property
    def reached(self):
        return self._left[0] <= 0


class Versioned(Rows):
    def read_version(self):
        return self.stamp

    def expect_types(self, **uses):
        return self


def regression(fails=0, **options):
    return Rows(Memory(X, Y), fails, **options)


def classification(fails=0, **options):
    return Rows(Memory(X, LABELS, labels=True), fails, **options)


def linear(**options):
    return LinearRegression(1.0, 1e-6, **({"bounds": Bounds(-1, 1, target=(-2, 2))} | options))


def logistic(**options):
    return LogisticRegression(1.0, 1e-6, **({"bounds": Bounds(-1, 1), "classes": ("no", "yes")} | options))


MODELS = {
    "linear": (linear, regression),
    "linear, bounds unknown": (lambda **options: linear(bounds=None, **options), regression),
    "logistic": (logistic, classification),
    "logistic, bounds unknown": (lambda **options: logistic(bounds=None, **options), classification),
}


@pytest.fixture
def drawn(monkeypatch):
    """All values that any curator releases inside, seen or not."""
    values, honest = [], Curator._release

    def record(self, *arguments):
        release = honest(self, *arguments)
        values.append(np.asarray(release.value, np.float64).tobytes())
        return release

    monkeypatch.setattr(Curator, "_release", record)
    return values


def bits(model):
    return documents.dump(model.release_), model.coef_.tobytes(), np.asarray(model.intercept_).tobytes()


@pytest.mark.catalogue("CO6")
@pytest.mark.parametrize("name", MODELS)
def test_failing_at_each_reading_then_once_more(name, drawn):
    """Whichever reading fails: one charge, nothing to be seen, fresh noise, and from then on the same to the bit."""
    make, rows = MODELS[name]
    k = 0
    while True:
        k += 1
        account = Ledger(WIDE)
        ledger, broken = account.retrying("monday"), rows(k)
        model = make(ledger=ledger)
        before = dict(vars(model))
        drawn.clear()
        try:
            model.fit(broken)
        except ReadError:
            assert vars(model) == before, "a failed fit can be seen"
        else:
            break
        unseen, (paid,), spent = set(drawn), account.entries, account.spent
        assert (len(unseen) > 0) <= (k > 1)
        model.fit(rows())
        assert account.entries == (paid,) and account.spent == spent
        assert not unseen & set(drawn[len(unseen) :]), "noise was used twice"
        again = make(ledger=ledger).fit(rows(1))  # reads nothing
        assert bits(again) == bits(model) and np.array_equal(again.predict(X), model.predict(X))
        assert account.entries == (paid,)
    assert k > 1


@pytest.mark.parametrize("bounds", [(-1, 1), None])
def test_statistics_too(bounds, drawn):
    k = 0
    while True:
        k += 1
        account = Ledger(Budget(1.0))
        ledger = account.retrying("monday")
        drawn.clear()
        try:
            stats.mean(Rows(Memory(X[:, :1]), k), bounds, 0.5, ledger=ledger)
        except ReadError as error:
            assert "nothing was released" in str(error) and "not charged a second time" in str(error)
        else:
            break
        unseen = set(drawn)
        answer = stats.mean(Memory(X[:, :1]), bounds, 0.5, ledger=ledger)
        assert account.spent == 0.5 and len(account.entries) == 1
        assert not unseen & set(drawn[len(unseen) :])
        again = stats.mean(Rows(Memory(X[:, :1]), 1), bounds, 0.5, ledger=ledger)
        assert documents.dump(again) == documents.dump(answer) and account.spent == 0.5
    assert k > 1


def test_without_opting_in_every_run_is_charged():
    ledger = Ledger(WIDE)
    with pytest.raises(ReadError, match=r"ε = 1, δ = 1e-06 .*stays charged.*A second run pays again.*retrying"):
        linear(ledger=ledger).fit(regression(1))
    assert len(ledger.entries) == 1
    one, two = (linear(ledger=ledger).fit(X, Y) for _ in range(2))
    assert len(ledger.entries) == 3 and bits(one) != bits(two)


def test_what_makes_another_key(monkeypatch):
    account = Ledger(Budget(20.0, 1e-6))
    monday = account.retrying("monday")

    def charged(model, rows):
        before = len(account.entries)
        model.fit(rows)
        return len(account.entries) - before

    named = Memory(X, Y)
    named.columns = ("a", "b", "c")
    old, new = Versioned(Memory(X, Y)), Versioned(Memory(X, Y))
    old.stamp, new.stamp = "size 10", "size 11"
    runs = [
        (linear(ledger=monday), regression()),
        (linear(ledger=account.retrying("tuesday")), regression()),
        (linear(ledger=monday, clip=None), regression()),
        (linear(ledger=monday, bounds=Bounds(-1, 1, target=(-2, 2.5))), regression()),
        (linear(ledger=monday).set_params(epsilon=0.9), regression()),
        (linear(ledger=monday), named),
        (linear(ledger=monday), old),
        (linear(ledger=monday), new),
        (Ridge(1.0, 1e-6, bounds=Bounds(-1, 1, target=(-2, 2)), ledger=monday), regression()),
    ]
    assert [charged(*run) for run in runs] == [1] * len(runs)
    assert [charged(*run) for run in runs] == [0] * len(runs)
    monkeypatch.setattr(discreet, "__version__", "0.0.1")
    assert charged(*runs[0]) == 1


def test_charges_that_differ_are_new_ones():
    account = Ledger(WIDE)
    ledger = account.retrying("monday")

    def attempt():
        return ledger.attempt(linear, {"a": 1}, Memory(X), WIDE)

    first, second, third = attempt(), attempt(), attempt()
    first.charge("x", Gaussian(20.0))
    first.charge("x", Gaussian(20.0))  # the same again is another charge
    assert len(account.entries) == 2
    second.charge("x", Gaussian(20.0))
    second.charge("x", Gaussian(30.0))
    assert len(account.entries) == 3
    third.charge("x", Gaussian(20.0))
    third.charge("x", Gaussian(20.0))
    assert len(account.entries) == 3
    with pytest.raises(BudgetExceeded):
        third.charge("x", Gaussian(0.01))
    assert len(account.entries) == 3


def test_what_is_charged_after_reading_is_seen_in_the_ledger():
    """Such a charge may tell of the rows: the run counts as shown, and another pays for all of it."""
    account = Ledger(WIDE)
    ledger = account.retrying("monday")
    for expected in (2, 4):
        attempt = ledger.attempt(linear, {}, Memory(X), WIDE)
        attempt.charge("x", Gaussian(20.0))
        attempt.reading.started = True
        attempt.charge("x", Gaussian(30.0))
        assert len(account.entries) == expected
    early, late = (ledger.attempt(linear, {"a": 1}, Memory(X), WIDE) for _ in range(2))
    for attempt in (early, late):
        attempt.charge("x", Gaussian(20.0))
        attempt.reading.started = attempt is late
        attempt.charge("x", Gaussian(30.0))
    assert len(account.entries) == expected + 3, "after reading, not even what was paid before is found paid"


def test_a_refused_refit_leaves_the_model_as_it_was():
    ledger = Ledger(Budget(1.0, 1e-6))
    model = linear(ledger=ledger).fit(X, Y)
    before, predicted = dict(vars(model)), model.predict(X)
    model.bounds = before["bounds"] = Bounds(-9, 9, target=(-99, 99))
    with pytest.raises(BudgetExceeded):
        model.fit(X[:, :2], Y)
    assert vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)
    assert np.array_equal(model.predict(X), predicted)
    with pytest.raises(ReadError):
        model.set_params(ledger=None).fit(regression(1))
    assert np.array_equal(model.predict(X), predicted) and model.n_features_in_ == 3


@pytest.mark.parametrize("ledger", [None, "retrying"])
def test_errors_tell_no_values(ledger):
    """Neither in the message, nor in what is chained to it, nor in the frames that a traceback keeps."""
    ledger = ledger and Ledger(WIDE).retrying("monday")
    for run in (
        lambda: linear(ledger=ledger, bounds=None).fit(regression(2)),
        lambda: stats.mean(Rows(Memory(X[:, :1]), 2), ledger=ledger),
    ):
        with pytest.raises(ReadError) as caught:
            run()
        error = caught.value
        assert "OSError" in str(error) and str(SECRET) not in str(error)
        assert error.__cause__ is None and error.__context__ is None
        held, step = [], error.__traceback__
        while step is not None:
            held += step.tb_frame.f_locals.values() if "/discreet/" in step.tb_frame.f_code.co_filename else []
            step = step.tb_next
        assert held and not any(isinstance(value, (Curator, Release)) for value in held)


def test_engines_may_say_what_is_safe():
    class Lost(Exception):
        tells_no_values = True

    for error in (EngineError("part-3.parquet is gone."), Lost("part-3.parquet is gone")):
        with pytest.raises(ReadError, match=r"failed: part-3.parquet is gone\. The plan of") as caught:
            linear().fit(regression(1, error=error))
        assert caught.value.__cause__ is error


def test_errors_before_the_charge_stay_as_they_are():
    ledger = Ledger(WIDE).retrying("monday")
    with pytest.raises(ValueError, match="bounds are of 2 features"):
        linear(bounds=Bounds([0, 0], 1, target=(0, 1)), ledger=ledger).fit(X, Y)
    with pytest.raises(ValueError, match="version"):
        Ledger(WIDE).retrying("")
    assert ledger.entries == ()


def test_interrupts_leave_nothing_to_be_seen():
    account = Ledger(WIDE)
    model = linear(ledger=account.retrying("monday"), bounds=None)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(regression(2, error=KeyboardInterrupt()))
    assert vars(model) == before and len(caught.traceback) <= 4
    model.fit(X, Y)
    assert len(account.entries) == 1


def sgd(callback, ledger):
    public = Bounds(-1, 1)
    return SGDClassifier(
        1.0, 1e-6, epochs=2, n=400, bounds=public, classes=("no", "yes"), callback=callback, ledger=ledger
    )


@pytest.mark.parametrize("options", [{}, {"noise": "pure", "rate": 1.0}], ids=["lots", "passes"])
def test_what_a_callback_was_shown_is_paid_for(options):
    """Marked before the first call: a run that fails after it is charged anew; one that fails before it is not."""
    account, seen = Ledger(Budget(99.0, 0.0 if options else 1e-6)), []
    ledger = account.retrying("monday")

    def watch(step, coef, intercept):
        marks = [mark.state for marks in account._store._marks.values() for mark in marks]
        seen.append(marks.count("shown"))

    last = classification(0)
    sgd(None, None).set_params(**options).fit(last)
    reads = -last._left[0]
    assert reads > 2
    with pytest.raises(ReadError, match="not charged a second time"):
        sgd(watch, ledger).set_params(**options).fit(classification(1))
    assert len(account.entries) == 1 and not seen
    with pytest.raises(ReadError, match="what was shown while it ran has left, so a second run pays again"):
        sgd(watch, ledger).set_params(**options).fit(classification(reads))
    assert len(account.entries) == 1 and seen and set(seen) == {1}
    model = sgd(watch, ledger).set_params(**options)
    model.fit(classification())
    assert len(account.entries) == 2 and set(seen) == {1, 2} and model.callback is watch
    calls = len(seen)
    for again in (watch, None):
        assert bits(sgd(again, ledger).set_params(**options).fit(classification(1))) == bits(model)
    assert len(seen) == calls


def test_a_progress_bar_shows_too(capsys):
    account = Ledger(Budget(99.0, 1e-6))
    with pytest.raises(ReadError, match="has left"):
        sgd(None, account.retrying("monday")).set_params(progress=True).fit(classification(1))
    sgd(None, account.retrying("monday")).fit(classification())
    assert len(account.entries) == 2
    nested = KernelSVC(1.0, n_components=3, linear=SGDClassifier(progress=True, epochs=1), bounds=Bounds(-1, 1), n=400)
    ledger = Ledger(Budget(99.0, 1e-6)).retrying("monday")
    nested.set_params(classes=("no", "yes"), ledger=ledger).fit(classification())
    (states,) = ([mark.state for mark in marks] for key, marks in ledger._store._marks.items() if key != "secret")
    assert states == ["shown", "charged", "released"]


def test_an_error_that_may_tell_something_is_paid_for():
    """That no class was found is an answer: asking once more costs once more."""
    account = Ledger(Budget(20.0, 1e-5), reserve=5e-6)
    for expected in (1, 2):
        with pytest.raises(ValueError, match="No class has rows enough"), warnings.catch_warnings():
            warnings.simplefilter("ignore", NoiseWarning)
            logistic(classes=None, ledger=account.retrying("monday")).fit(X[:3], LABELS[:3])
        assert len(account.entries) == expected


def test_what_cannot_be_retried_is_refused_unpaid():
    account = Ledger(WIDE)
    ledger = account.retrying("monday")
    with pytest.raises(ValueError, match="random_state"):
        linear(ledger=ledger, random_state=1).fit(X, Y)
    with pytest.raises(ValueError, match="random_state"):
        stats.mean(X[:, 0], (-1, 1), ledger=ledger, random_state=1)
    with pytest.raises(ValueError, match=r"LinearRegression with this `clip` cannot be retried: a function"):
        model = linear(ledger=ledger)
        ledger.attempt(type(model), model.get_params() | {"clip": lambda: 1}, Memory(X), WIDE)
    with pytest.raises(NotSupported, match="rounds"):
        OnlineClassifier(ledger=ledger, bounds=Bounds(-1, 1), classes=("no", "yes")).fit(X, LABELS)
    assert account.entries == ()


class Strange(PrivateRegressor):
    """An estimator of somebody else's that keeps a function."""

    def __init__(self, epsilon=1.0, delta=1e-6, *, kept=None, bounds=None, ledger=None, random_state=None):
        self.epsilon, self.delta, self.kept, self.bounds = epsilon, delta, kept, bounds
        self.ledger, self.random_state = ledger, random_state

    neighbours, unit, max_rows_per_unit, n = "add-remove", None, None, None

    def _fit(self, task):
        bounds, (share,) = task.deal(1)
        total = task.curator.measure(BoundedSum(lambda rows: bounds.scale(rows.X), norm=2.0), share)
        self.coef_, self.intercept_ = total.value, 0.0
        self.trick_ = (lambda: 0) if self.kept == "function" else "none"


def test_estimators_of_others():
    account = Ledger(WIDE)
    ledger, public = account.retrying("monday"), Bounds(-1, 1, target=(-2, 2))
    with pytest.raises(ValueError, match=r"Strange cannot be retried: a fit on no rows.*function"):
        Strange(kept="function", bounds=public, ledger=ledger).fit(X, Y)
    assert account.entries == ()
    one, two = (Strange(bounds=public, ledger=ledger).fit(X, Y) for _ in range(2))
    assert len(account.entries) == 1 and bits(one) == bits(two)


class Calling(Strange):
    """And another that calls back, by itself or as a task has it done."""

    def __init__(self, epsilon=1.0, delta=1e-6, *, callback=None, bounds=None, ledger=None, random_state=None):
        self.epsilon, self.delta, self.callback, self.bounds = epsilon, delta, callback, bounds
        self.ledger, self.random_state = ledger, random_state

    kept = None

    def _fit(self, task):
        super()._fit(task)
        callback = task.showing(self.callback) if self.calls_by_task else self.callback
        if callback is not None:
            callback(self.coef_)


@pytest.mark.parametrize("by_task", [True, False])
def test_a_callback_of_others_is_marked_before_it_is_called(by_task, monkeypatch):
    """One that the task does not know of counts as called from the start. The estimator keeps its own all the while."""
    monkeypatch.setattr(Calling, "calls_by_task", by_task)
    account, seen = Ledger(Budget(99.0, 1e-6)), []

    def watch(_):
        seen.append([mark.state for marks in account._store._marks.values() for mark in marks].count("shown"))
        assert model.callback is watch

    options = {"callback": watch, "bounds": Bounds(-1, 1, target=(-2, 2)), "ledger": account.retrying("monday")}
    model = Calling(**options)
    with pytest.raises(ReadError):
        model.fit(regression(1))
    model.fit(regression())
    assert len(seen) == 1 and len(account.entries) == seen[0] == (1 if by_task else 2)


def test_what_turns_out_to_have_no_form_is_shown_and_said():
    account = Ledger(WIDE)
    for expected in (1, 2):
        attempt = account.retrying("monday").attempt(linear, {}, Memory(X), WIDE)
        attempt.charge("x", Gaussian(20.0))
        with pytest.warns(DiscreetWarning, match="not stored: a function"):
            attempt.release({"f": linear})
        assert len(account.entries) == expected


ESTIMATORS = {name: model for name, model in private_estimators().items() if name != "OnlineClassifier"}
METHODS = ("ssp", "adassp", "robust", "functional", "output", "ptr", "posterior")


@pytest.mark.parametrize("name", [*ESTIMATORS, *METHODS])
def test_every_estimator_is_stored_to_the_bit(name):
    prepared = ESTIMATORS.get(name) or clone(ESTIMATORS["LinearRegression"]).set_params(method=name)
    if name == "BayesianLinearRegression":
        prepared = clone(prepared).set_params(draws=100, chains=2)  # a posterior is drawn to predict
    data = ordinary(prepared)
    account = Ledger(Budget(prepared.epsilon, prepared.delta))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        one, two = (clone(prepared).set_params(ledger=account.retrying("x")).fit(*data) for _ in range(2))
    assert len(account.entries) == 1
    assert documents.dump(one.release_) == documents.dump(two.release_)
    assert np.array_equal(one.predict(data[0]), two.predict(data[0]))
    assert vars(one).keys() == vars(two).keys() and one.ledger is not None
    assert bytes(np.float64(data[0][3, 0]).tobytes()) not in pickle.dumps(two)


@pytest.mark.parametrize("name", private_statistics())
def test_every_statistic_is_stored_to_the_bit(name):
    statistic, account = private_statistics()[name], Ledger(Budget(1.0))
    one, two = (statistic(X[:, 0], epsilon=0.3, ledger=account.retrying("x")) for _ in range(2))
    assert documents.dump(one) == documents.dump(two) and len(account.entries) == 1
    if name == "mean":
        statistic(X[:, 0], epsilon=0.3, bounds=(-1, 2), ledger=account.retrying("x"))
        assert len(account.entries) == 2


def test_a_search_is_stored():
    account = Ledger(Budget(9.0, 1e-6))
    model = Ridge(1.0, 1e-6, bounds=Bounds(-1, 1, target=(-2, 2)))
    one, two = (
        PrivateSearchCV(clone(model), {"alpha": [1.0, 10.0]}, ledger=account.retrying("x")).fit(X, Y) for _ in range(2)
    )
    assert len(account.entries) == 1 and np.array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("fails", [0, 2])
def test_a_search_on_public_rows(fails):
    """The choice is the same whenever it is made, and costs nothing; so the fit that it leads to is the same too."""
    account, (others, theirs) = Ledger(WIDE), (X[:100], Y[:100])
    model = Ridge(1.0, 1e-6, bounds=Bounds(-1, 1, target=(-2, 2)))
    search = PrivateSearchCV(
        model,
        {"alpha": [1.0, 1.1, 1.2, 1e3]},
        strategy="public",
        public=(others, theirs),
        ledger=account.retrying("x"),
    )
    before = dict(vars(search))
    with pytest.raises(ReadError) if fails else contextlib.nullcontext():
        search.fit(regression(fails))
    assert not fails or vars(search) == before
    paid = account.entries
    assert len(paid) == 1
    found = [clone(search).fit(regression()) for _ in range(3)]
    assert account.entries == paid and len({(one.best_index_, bits(one.best_estimator_)) for one in found}) == 1
    assert not found[0].release_.seeded and "chosen on public rows" in found[0].release_.notes


@pytest.mark.parametrize("kind", [np.array, lambda x: pd.Series(x), pl.Series, list])
def test_units_of_a_column_of_their_own(kind):
    """Whatever holds the units, what they are is part of the key."""
    account = Ledger(Budget(8.0, 1e-6, unit="unit"))
    names = [f"p{i // 2}" for i in range(len(X))]
    for units, charges in ((names, 1), (names, 1), ([*names[:-1], "q"], 2)):
        linear(ledger=account.retrying("monday"), unit=kind(units)).fit(X, Y)
        assert len(account.entries) == charges


def test_two_at_once_share_one_release():
    """Both run; the store decides whose result is the release, and the other's is thrown away."""
    account, both = Ledger(WIDE), threading.Barrier(2)
    ledger, found = account.retrying("monday"), []

    def run():
        found.append(linear(ledger=ledger).fit(regression(hook=lambda: both.wait(20))))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and bits(found[0]) == bits(found[1]) and len(account.entries) == 1


@pytest.mark.parametrize(
    "run",
    [
        lambda ledger: bits(linear(ledger=ledger).fit(regression())),
        lambda ledger: bits(linear(ledger=ledger, bounds=None).fit(regression())),
        lambda ledger: documents.dump(stats.mean(X[:, 0], (-1, 1), 1.0, 1e-6, ledger=ledger)),
        lambda ledger: bits(sgd(None, ledger).set_params(progress=True).fit(classification())),
        lambda ledger: bits(sgd(lambda *_: None, ledger).fit(classification())),
    ],
    ids=["fit", "bounds unknown", "statistic", "progress", "callback"],
)
def test_whoever_is_overtaken_returns_what_was_released(run, monkeypatch, capsys):
    """Another run of the same begins and ends after this one has begun, and before it is charged."""
    account, begin, first = Ledger(Budget(99.0, 1e-6)), Retrying.attempt, []
    ledger = account.retrying("monday")

    def overtaken(view, *arguments):
        attempt = begin(view, *arguments)
        monkeypatch.setattr(Retrying, "attempt", begin)
        first.append((run(ledger), len(account.entries)))
        return attempt

    monkeypatch.setattr(Retrying, "attempt", overtaken)
    assert [(run(ledger), len(account.entries))] == first and len(account.entries) > 0
    assert run(ledger) == first[0][0]


def test_a_stored_fit_warns_again_and_is_there(monkeypatch):
    """With warnings made errors, too: what was paid for can always be had. The noise is fixed."""
    monkeypatch.setattr("discreet.mechanisms.keystream._DEFAULT", Keystream.seeded(3))
    ledger = Ledger(WIDE).retrying("monday")
    model = logistic(method="gradient", ledger=ledger).set_params(epsilon=0.001)
    for _ in range(2):
        with warnings.catch_warnings(), pytest.raises(NoiseWarning, match="too few rows"):
            warnings.simplefilter("error", NoiseWarning)
            model.fit(X[:3], LABELS[:3])
        assert model.release_ and len(ledger.entries) == 1
        model = clone(model)


FAILING = """
import gc, sys, weakref
import numpy as np
from discreet import Bounds, Budget, Ledger
from discreet.models import LogisticRegression

gc.disable()
rows, labels = np.ones((3, 2)), np.array(["a", "b", "c"])
alive = weakref.ref(rows)
ledger = Ledger(Budget(20.0, 1e-5), reserve=5e-6).retrying("monday")
try:
    LogisticRegression(1.0, 1e-6, bounds=Bounds(-1, 1), ledger=ledger).fit(rows, labels)
except ValueError as error:
    print(error)
del rows
print("freed" if alive() is None else "alive")
"""


def test_a_failed_fit_keeps_no_rows_alive():
    """Not even until cycles are collected. By itself: pytest keeps frames of its own."""
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, check=True)
    assert "No class has rows enough" in done.stdout and done.stdout.endswith("freed\n")


def test_whoever_comes_second_shows_nothing():
    """What one run has used up, by a release or by showing something, another cannot show or release any more."""

    def fails():
        raise ValueError("what was learnt")

    for first_shows in (True, False):
        ledger = Ledger(WIDE).retrying("monday")
        one, two, three = (ledger.attempt(linear, {}, Memory(X), WIDE) for _ in range(3))
        for attempt in (one, two, three):
            attempt.charge("x", Gaussian(20.0))
            attempt.reading.started = True
        assert len(ledger.entries) == 1
        if first_shows:
            one.show()
            assert one.release("mine") == "mine"
        else:
            assert one.release("mine") == "mine"
        with pytest.raises(LedgerError, match="nothing left of this one"):
            two.show()
        with pytest.raises(LedgerError, match="nothing left of this one") as late:
            two.run(fails)
        assert late.value.__context__ is late.value.__cause__ is None
        frames = [frame.frame.f_locals for frame in late.traceback]
        assert not any(isinstance(value, ValueError) for found in frames for value in found.values())
        with pytest.raises(LedgerError, match="nothing left of this one"):
            two.charge("x", Gaussian(30.0))
        assert three.release("other") == "mine"
        assert ledger.attempt(linear, {}, Memory(X), WIDE).stored == "mine"


def test_a_run_that_shows_keeps_its_own_charge():
    """After a showing, the next run pays; both may then release, each what it paid for."""
    ledger = Ledger(WIDE).retrying("monday")
    one = ledger.attempt(linear, {}, Memory(X), WIDE)
    one.charge("x", Gaussian(20.0))
    one.show()
    two = ledger.attempt(linear, {}, Memory(X), WIDE)
    two.charge("x", Gaussian(20.0))
    assert len(ledger.entries) == 2
    one.charge("x", Gaussian(25.0))
    three = ledger.attempt(linear, {}, Memory(X), WIDE)
    three.charge("x", Gaussian(20.0))
    assert len(ledger.entries) == 3, "two and three share a charge; what one pays for is its own"
    assert two.release("two") == "two" and one.release("one") == "one" and three.release("three") == "two"
    assert ledger.attempt(linear, {}, Memory(X), WIDE).stored == "two"


RUN = """
import os, sys
import numpy as np
sys.path.insert(0, {top!r})
from tests.test_retry import regression, linear
from discreet import Ledger
import discreet.ledger.retrying

def stop():
    print("here", flush=True)
    sys.stdin.read()

rows = regression(hook=stop if sys.argv[2] == "reading" else None)
if sys.argv[2] == "released":
    honest = discreet.ledger.retrying.Attempt._first
    def first(self, document):
        honest(self, document)
        stop()
    discreet.ledger.retrying.Attempt._first = first
linear(ledger=Ledger.open(sys.argv[1]).retrying("monday")).fit(rows)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["reading", "released"])
def test_kill_then_retry(tmp_path, moment):
    """`kill -9` after the charge, or after the release was stored and before anybody saw it."""
    path = tmp_path / "ledger.db"
    account = Ledger.open(path, WIDE)
    code = RUN.format(top=str(Path(__file__).parents[1]))
    command = [sys.executable, "-c", code, str(path), moment]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)
    assert len(account.entries) == 1
    stored = [mark for mark in marks(path) if mark[1] == "released"]
    assert len(stored) == (moment == "released")
    model = linear(ledger=account.retrying("monday")).fit(regression(1 if stored else 0))
    assert len(account.entries) == 1
    if stored:
        assert np.array_equal(documents.load(stored[0][2])["coef_"], model.coef_)


def marks(path):
    connection = sqlite3.connect(path)
    found = connection.execute("select key, state, document from marks order by number").fetchall()
    connection.close()
    return found


def _fit(path, start, results):
    model = linear(ledger=Ledger.open(path).retrying("monday"))
    start.wait(60)
    results.put(pickle.dumps(bits(model.fit(regression()))))


@pytest.mark.slow
def test_processes_at_once_share_one_release(tmp_path):
    path = tmp_path / "ledger.db"
    account = Ledger.open(path, WIDE)
    context = multiprocessing.get_context("spawn")
    results, start = context.Queue(), context.Barrier(2)
    racers = [context.Process(target=_fit, args=(str(path), start, results)) for _ in range(2)]
    for racer in racers:
        racer.start()
    found = {results.get(timeout=120) for _ in racers}
    for racer in racers:
        racer.join()
    assert len(found) == 1 and len(account.entries) == 1


def test_durable_marks_cannot_be_changed(tmp_path):
    path = tmp_path / "ledger.db"
    account = Ledger.open(path, WIDE)
    assert stats.count(X, 0.1, 1e-6, ledger=account) and len(account.entries) == 1
    with sqlite3.connect(path) as connection:
        assert connection.execute("select count(*) from sqlite_master where name = 'marks'").fetchone() == (0,)
    ledger = pickle.loads(pickle.dumps(account.retrying("monday")))  # a file without marks, and a view sent elsewhere
    answer = stats.count(X, 0.1, 1e-6, ledger=ledger)
    found = [(key == "secret", state) for key, state, _ in marks(path)]
    assert found == [(True, "charged"), (False, "charged"), (False, "released")] and len(account.entries) == 2
    for statement in ("delete from marks", "update marks set state = 'charged'"):
        with sqlite3.connect(path) as connection, pytest.raises(sqlite3.DatabaseError, match="append-only"):
            connection.execute(statement)
    assert Ledger.open(path).retrying("monday").entries == account.entries
    assert stats.count(X, 0.1, 1e-6, ledger=ledger).value == answer.value
    with sqlite3.connect(path) as connection:
        connection.execute("drop trigger fix_marks")
        connection.execute("update marks set document = replace(document, '1', '2') where state = 'released'")
    with pytest.raises(LedgerError, match="damaged"):
        stats.count(X, 0.1, 1e-6, ledger=ledger)
    assert len(account.entries) == 2


def test_an_account_in_memory_is_not_sent_elsewhere():
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(Ledger(WIDE).retrying("monday"))


def test_documents_keep_every_bit():
    values = [
        *(None, True, 3, -0.0, 0.1, float("inf"), "text", b"\x00\xff", Fraction(1, 3), (1, [2, (3,)])),
        {1: "a", (2, "b"): {"c": None}},
        np.float32(0.1),
        np.asfortranarray(RNG.normal(size=(3, 2))),
        np.array(["a", "bc"]),
        np.array(["a", 1, None], dtype=object),
        np.zeros((0, 3)),
        Bounds({"a": (0, 1)}, target=(0, 2), classes=["x", 1]),
        Gaussian(0.1),
    ]
    for value in values:
        again = documents.load(documents.dump(value))
        assert type(again) is type(value) and documents.dump(again) == documents.dump(value)
        if isinstance(value, np.ndarray):
            assert again.dtype == value.dtype and again.flags.f_contiguous == value.flags.f_contiguous
            assert np.array_equal(again, value) and again.flags.writeable
        else:
            assert again == value
    assert np.isnan(documents.load(documents.dump(float("nan"))))
    assert not documents.load(documents.dump(Bounds(0, 1))).lower.flags.writeable
    assert documents.dump({"a": 1, "b": 2}) == documents.dump({"b": 2, "a": 1})


def test_documents_hold_values_alone():
    knot = []
    knot.append(knot)
    for value in (len, lambda: 0, iter([]), {1, 2}, Memory(X), Ledger(WIDE), np.random.default_rng(0), knot, object()):
        with pytest.raises(ValueError, match="no stable form"):
            documents.dump([value])
    for module, name in (
        ("os", "PathLike"),
        ("discreet.ledger.stores", "SqliteStore"),
        ("discreet.models.shared.estimator", "Curator"),
        ("discreet.models.shared.estimator", "copy.Error"),
        ("discreet.bounds", "_pair"),
    ):
        with pytest.raises((ValueError, AttributeError)):
            documents.load(json.dumps({"object": [module, name, {}]}))


def test_releases_say_what_they_said():
    """A release that is stored keeps its receipt, parts, interval and axes."""
    ledger = Ledger(Budget(1.0)).retrying("monday")
    one = stats.histogram(X[:, 0], 4, (-1, 1), 0.5, ledger=ledger)
    two = stats.histogram(X[:, 0], 4, (-1, 1), 0.5, ledger=ledger)
    assert str(one) == str(two) and one.to_json() == two.to_json() and one.axes == two.axes
    assert isinstance(two, Release) and replace(two, name="other").name == "other" and one is not two


def charges(account, run):
    """How many entries a run adds, and what it returns."""
    before = len(account.entries)
    found = run()
    return len(account.entries) - before, found


TABLES = {
    "array": lambda frame, folder: frame.to_numpy(),
    "list": lambda frame, folder: frame.to_numpy().tolist(),
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pytest.importorskip("polars").DataFrame(dict(frame)),
    "arrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "file": lambda frame, folder: scan_parquet(written(frame, folder)),
    "dataset": lambda frame, folder: pyarrow.dataset.dataset(written(frame, folder)),
    "lazy": lambda frame, folder: pytest.importorskip("polars").scan_parquet(written(frame, folder)),
}


def written(frame, folder):
    """One file for each content, which is not written twice."""
    path = folder / f"{frame.to_numpy().sum().hex()}.parquet"
    if not path.exists():
        pq.write_table(pa.Table.from_pandas(frame), path)
    return str(path)


@pytest.mark.catalogue("CO6")
@pytest.mark.parametrize("name", TABLES)
def test_other_rows_are_another_key(name, tmp_path):
    """Under one version of the caller's too: else the answer for one table would be returned for another."""
    make, account = TABLES[name], Ledger(WIDE)
    ledger, one = account.retrying("monday"), pd.DataFrame({"a": X[:, 0]})
    two = one.copy()
    two.iloc[77, 0] += 1e-9

    def mean(frame):
        return charges(account, lambda: stats.mean(make(frame, tmp_path), (-1, 1), 0.1, ledger=ledger).value)

    (first, a), (second, b), (third, c) = mean(one), mean(two), mean(one.copy())
    assert (first, second, third) == (1, 1, 0)
    assert np.array_equal(a, c) and not np.array_equal(a, b)


def test_other_targets_are_another_key(tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(cost=Y, neg=-Y)
    path, account = written(frame, tmp_path), Ledger(WIDE)
    ledger = account.retrying("monday")
    for data in (
        lambda y: (scan_parquet(path, target=y, columns=list("abc")),),
        lambda y: (frame[list("abc")], frame[y]),
        lambda y: (pa.Table.from_pandas(frame[["a", "b", "c", y]]), y),
    ):
        account = Ledger(WIDE)
        ledger = account.retrying("monday")
        (first, one), (second, two), (third, again) = (
            charges(account, lambda y=y, data=data, ledger=ledger: linear(ledger=ledger).fit(*data(y)))
            for y in ("cost", "neg", "cost")
        )
        assert (first, second, third) == (1, 1, 0)
        assert bits(one) == bits(again) and one.coef_ @ two.coef_ < 0


def test_versions_of_rows_in_memory():
    """Features, their names, targets, their type and units tell rows apart; the size of blocks does not."""
    frame, whose = pd.DataFrame(X, columns=list("abc")), np.arange(400) % 50
    text = np.array(["x", 1, None, (1,)] * 100, dtype=object)
    other = text.copy()
    other[4] = "y"
    rows = [
        *(Memory(X), Memory(X[:, :2]), Memory(X[:399]), Memory(frame), Memory(X, Y), Memory(X, -Y)),
        *(Memory(X, LABELS, labels=True), Memory(X, np.roll(LABELS, 1), labels=True)),
        *(Memory(X, unit=whose), Memory(X, unit=whose + 1), Memory(X, unit=np.roll(whose, 1))),
        *(Memory(text[:, None], numeric=False), Memory(other[:, None], numeric=False)),
    ]
    assert len({some.read_version() for some in rows}) == len(rows)
    assert (
        Memory(X, block=7).read_version()
        == Memory(np.asfortranarray(X)).read_version()
        == Memory(X.copy()).read_version()
    )
    assert Memory(text[:, None], numeric=False, block=3).read_version() == rows[-2].read_version()

    class Loud(str):
        def __repr__(self):
            raise RuntimeError(SECRET)

    loud = np.array([[Loud("a")], [10**5000]], dtype=object)
    assert Memory(loud, numeric=False).read_version() == Memory(loud.copy(), numeric=False).read_version()


def test_arrow_tables_are_told_by_what_they_hold():
    far = pa.array([2**62, None, 1]).cast(pa.timestamp("s"))  # no Python object holds the first
    table = pa.table({"a": [1.0, None, 3.0], "b": ["x", None, "z"], "c": [True, False, None], "d": far})
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    one, two = open_stream(table).read_version(), open_stream(parts).read_version()
    assert parts.column("a").num_chunks == 2 and one == two
    for name, values in (("a", [1.0, 2.0, 3.0]), ("b", ["x", "y", "z"]), ("c", [True, True, None]), ("d", far[::-1])):
        changed = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
        assert open_stream(changed).read_version() != one


def test_the_digest_is_kept_under_a_secret(tmp_path):
    """The same run has another key in another ledger, and the digest itself is nowhere in the file."""
    paths = [tmp_path / "one.db", tmp_path / "two.db"]
    for path in paths:
        for _ in range(2):
            stats.count(X, 0.1, 1e-6, ledger=Ledger.open(path, WIDE).retrying("monday"))
    one, two = ({key for key, _, _ in marks(path)} - {"secret"} for path in paths)
    assert len(one) == len(two) == 1 and one != two
    kept = [document for path in paths for key, _, document in marks(path) if key == "secret"]
    assert len(set(kept)) == len(kept) == 2 and all(len(bytes.fromhex(document)) == 32 for document in kept)
    assert all(Memory(X).read_version().encode() not in path.read_bytes() for path in paths)


def test_rows_that_cannot_be_told_apart_are_refused_unpaid():
    account = Ledger(WIDE)
    ledger, frame = account.retrying("monday"), pd.DataFrame({"a": X[:, 0]})
    table = pa.Table.from_pandas(frame)
    unknown = [pyarrow.dataset.dataset(table)]
    with contextlib.suppress(ImportError):
        import polars

        lazy = polars.from_arrow(table).lazy()
        unknown += [lazy, lazy.filter(polars.col("a") > 0)]
    with contextlib.suppress(ImportError):
        import duckdb

        unknown.append(duckdb.connect().from_arrow(table))
    for rows in unknown:
        with pytest.raises(NotSupported, match=r"cannot tell whether .* gives the same rows"):
            stats.mean(rows, (-1, 1), 0.1, ledger=ledger)
        assert stats.mean(rows, (-1, 1), 0.1).value is not None
    for rows in (Memory(X[:, :1]), open_stream(table)):
        with pytest.raises(NotSupported, match="mapped"):
            stats.mean(rows.map(lambda batch: batch.X * 2), (-1, 1), 0.1, ledger=ledger)
    assert account.entries == ()


def test_what_a_query_keeps_is_told_apart(tmp_path):
    """Of a long list of values too, in the middle of which a text that is shown would leave some out."""
    path = written(pd.DataFrame({"a": np.arange(200.0)}), tmp_path)
    some = [float(i) for i in range(100)]
    lists = [some, [*some[:50], 150.0, *some[51:]], some]
    versions = [
        [
            open_stream(pyarrow.dataset.dataset(path).filter(pc.field("a").isin(values))).read_version()
            for values in lists
        ],
    ]
    with contextlib.suppress(ImportError):
        import polars

        scan = polars.scan_parquet(path)
        versions.append([open_stream(scan.filter(polars.col("a").is_in(values))).read_version() for values in lists])
    for one, two, again in versions:
        assert one == again != two


def test_statistics_of_units(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "patient": np.arange(400) % 50})
    path = written(frame, tmp_path)
    for rows in (scan_parquet(path, unit="patient"), scan_parquet(path), frame):
        account = Ledger(Budget(1.0, unit="patient"))
        one, two = (
            stats.mean(rows, (-1, 1), 0.1, unit="patient", ledger=account.retrying("monday")).value for _ in range(2)
        )
        assert np.array_equal(one, two) and len(account.entries) == 1


def test_what_is_said_of_files_that_are_replaced(tmp_path):
    """A file that was replaced is another version, and pays; what failed on the same files does not."""
    account, frame = Ledger(WIDE), pd.DataFrame({"a": X[:, 0]})
    ledger, path = account.retrying("monday"), written(frame, tmp_path)
    rows = scan_parquet(path)
    moved = tmp_path / "away"
    source = rows._source

    def gone(*_):
        raise EngineError(f"The file {path!r} cannot be read: is it gone?")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(source), "iter_pieces", gone)
        with pytest.raises(ReadError, match=r"is it gone\? The plan of .* on the same data: .* replaced.* pay again\."):
            stats.mean(rows, (-1, 1), 0.1, ledger=ledger)
    assert charges(account, lambda: stats.mean(scan_parquet(path), (-1, 1), 0.1, ledger=ledger))[0] == 0
    moved.write_bytes(pathlib.Path(path).read_bytes())
    os.utime(moved, ns=(1, 1))
    moved.replace(path)
    assert charges(account, lambda: stats.mean(scan_parquet(path), (-1, 1), 0.1, ledger=ledger))[0] == 1
