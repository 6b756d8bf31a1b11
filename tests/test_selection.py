"""Private hyper-parameter search (CL13): the whole search costs its budget, whatever it tries."""

import itertools
import math
import pickle
import warnings
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from scipy import stats
from scipy.stats import chi2, norm
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as Ordinary
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from discreet import Bounds, Budget, BudgetExceeded, LeakWarning, Ledger, NoiseWarning, NotPrivateWarning, NotSupported
from discreet import checks as shipped
from discreet import models as private
from discreet.accounting import epsilon as epsilon_at
from discreet.accounting import mu
from discreet.audit import audit
from discreet.budget import radial
from discreet.checks.specimens import Spy
from discreet.curator.procedures import Inside
from discreet.engines.memory import Memory
from discreet.errors import ReadError
from discreet.events import Approximate, Composed, Gaussian, Laplace, Pure
from discreet.mechanisms import choose as choosing
from discreet.mechanisms.keystream import Keystream
from discreet.models import LinearRegression, Ridge
from discreet.models.erm.accelerated import Minimiser
from discreet.models.logistic.regression import Method
from discreet.models.selection import PrivateSearchCV, repeats, subsets
from discreet.models.selection import row_predictions as alone
from discreet.models.selection import trial_plan as plans
from discreet.models.selection.prediction_losses import Losses
from discreet.models.selection.renyi import Trial, affordable, divergence, epsilon_of
from discreet.models.selection.trial_plan import Planner
from discreet.models.selection.trials import NegativeBinomial, Poisson, law_of
from discreet.models.shared.classifier import LinearClassifier
from discreet.query import BoundedSum, OneHot

from .lazy import pd
from .sabotage import acquit, catch, stream

SURE = 1 - 1e-6
BOUNDS = Bounds([-1.0] * 3, [1.0] * 3, classes=("a", "b"))
RANGE = Bounds([-1.0] * 3, [1.0] * 3, target=(-4.0, 4.0))
SLOPE = np.array([1.0, -2.0, 0.5])
LOG: list = []  # what fits were asked for, by those tests that look


class Toward(LinearClassifier):
    """A direction: the noisy sum of ±x. With `sign` = -1 it is wrong about everything."""

    def __init__(
        self, epsilon=1.0, delta=1e-6, *, sign=1.0, neighbours="add-remove", unit=None, n=None, bounds=None,
        classes=None, ledger=None, random_state=None,
    ):  # fmt: skip
        self.epsilon, self.delta, self.sign, self.neighbours, self.unit = epsilon, delta, sign, neighbours, unit
        self.n, self.bounds, self.classes = n, bounds, classes
        self.ledger, self.random_state = ledger, random_state

    def _fit(self, task):
        if self.sign == 0:
            raise ValueError("The `sign` of Toward is not 0.")
        curator, (bounds, (share,)) = task.curator, task.deal(radial(1))
        d = curator.width

        def image(rows):
            return (2 * rows.y - 1)[:, None] * bounds.scale(rows.X) / math.sqrt(d)

        noisy = curator.measure(BoundedSum(image, norm=1, name="direction"), share)
        LOG.append((self.epsilon, self.delta, self.n, self.sign, curator._rows._rows))  # behind what watches them
        self.coef_ = (self.sign * noisy.value / bounds.half)[None]
        self.intercept_ = -self.coef_ @ bounds.centre


class Fixed(LinearClassifier):
    """No model of the data at all: always the same class. It pays, and learns nothing."""

    def __init__(
        self, epsilon=1.0, delta=1e-6, *, place=0, neighbours="add-remove", unit=None, n=None, bounds=None,
        classes=None, ledger=None, random_state=None,
    ):  # fmt: skip
        self.epsilon, self.delta, self.place, self.neighbours, self.unit = epsilon, delta, place, neighbours, unit
        self.n, self.bounds, self.classes = n, bounds, classes
        self.ledger, self.random_state = ledger, random_state

    def _fit(self, task):
        task.deal(1)
        self.coef_, self.intercept_ = np.zeros((1, task.curator.width)), np.array([2.0 * self.place - 1])


def labelled(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.where(X @ SLOPE + rng.normal(0, 0.3, n) > 0, "b", "a")


def measured(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ SLOPE + rng.normal(0, 0.1, n)


def search(strategy="subsets", budget=(1.0, 1e-6), grid=None, neighbours="add-remove", **options):
    model = Toward(bounds=BOUNDS, neighbours=neighbours)
    grid = grid or {"sign": [-1.0, 1.0, -2.0]}
    if strategy == "public":
        options = {"public": labelled(400, seed=9)} | options
    return PrivateSearchCV(model, grid, strategy=strategy, epsilon=budget[0], delta=budget[1], **options)


EACH = [(s, b) for s in ("subsets", "repeats", "public") for b in ((1.0, 1e-6), (1.0, 0.0))]
each = pytest.mark.parametrize(("strategy", "budget"), EACH)


# what it is for -------------------------------------------------------------------------------------


@pytest.mark.catalogue("CL13")
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@each
def test_it_finds_the_good_setting(strategy, budget, neighbours):
    """One of three settings is right about the classes and two are wrong about all: seeds are fixed."""
    X, y = labelled()
    ledger = Ledger(Budget(*budget, neighbours))
    with pytest.warns(NotPrivateWarning):
        found = search(strategy, budget, neighbours=neighbours, ledger=ledger, random_state=1, trials=20).fit(X, y)
    assert found.best_params_ == {"sign": 1.0} and found.best_index_ == 1
    assert found.score(X, y) > 0.9 and found.predict_proba(X).shape == (3000, 2)
    assert np.array_equal(found.predict(X), found.best_estimator_.predict(X))
    assert list(found.classes_) == ["a", "b"] and found.candidates_[1] == {"sign": 1.0}
    assert len(ledger.entries) == 1
    assert found.release_.epsilon == 1.0 and found.best_estimator_.release_.budget == found.release_.budget


@pytest.mark.catalogue("CL13")
@each
def test_it_tunes_regressions(strategy, budget):
    X, y = measured()
    model = Ridge(*budget, bounds=RANGE)
    options = {"public": measured(300, seed=5)} if strategy == "public" else {}
    with pytest.warns(NotPrivateWarning):
        found = PrivateSearchCV(model, {"alpha": [1.0, 1e7]}, strategy=strategy, random_state=3, **options).fit(X, y)
    assert found.best_params_ == {"alpha": 1.0} and found.score(X, y) > 0.8


@pytest.mark.catalogue("CL13")
def test_settings_drawn_from_distributions():
    X, y = labelled(500)
    model = Toward(epsilon=4.0, bounds=BOUNDS)
    found = PrivateSearchCV(model, param_distributions={"sign": stats.uniform(0.5, 1)}, n_iter=3).fit(X, y)
    assert len({setting["sign"] for setting in found.candidates_}) == 3
    assert all(0.5 <= setting["sign"] <= 1.5 for setting in found.candidates_)


# what it costs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strategy", "budget"), EACH[:4])
def test_the_whole_budget_is_charged_once(strategy, budget):
    ledger = Ledger(Budget(*budget))
    found = search(strategy, budget, ledger=ledger).fit(*labelled(200))
    (entry,) = ledger.entries
    assert entry.event == (Approximate(1.0, 1e-6) if budget[1] else Pure(1.0)) == found.release_.event
    assert epsilon_at(entry.event, budget[1]) == 1.0 and entry.name == "PrivateSearchCV"


def test_a_public_choice_costs_one_fit():
    ledger = Ledger(Budget(1.0, 1e-6))
    found = search("public", ledger=ledger).fit(*labelled(200))
    (entry,) = ledger.entries
    assert isinstance(entry.event, Gaussian) and entry.name == "Toward"
    assert 0.99 < epsilon_at(entry.event, 1e-6) <= 1.0 and found.release_.notes[-1] == "chosen on public rows"


@pytest.mark.parametrize("strategy", ["subsets", "repeats", "public"])
def test_a_refused_search_reads_nothing(strategy):
    ledger = Ledger(Budget(1.0, 1e-6))
    search(strategy, ledger=ledger).fit(*labelled(50))
    before, spy = ledger.entries, Spy(Memory(*labelled(50), labels=True), lambda: ledger.entries)
    with pytest.raises(BudgetExceeded):
        search(strategy, ledger=ledger).fit(spy)
    assert ledger.entries == before and not spy.queries and not spy.watched


@pytest.mark.parametrize("strategy", ["subsets", "repeats", "public"])
def test_rows_are_read_after_the_charge(strategy):
    ledger = Ledger(Budget(1.0, 1e-6))
    spy = Spy(Memory(*labelled(50), labels=True), lambda: len(ledger.entries))
    search(strategy, ledger=ledger, trials=20).fit(spy)
    assert spy.watched and set(spy.watched) == {1}


CHECKS = [
    shipped.check_spends_what_it_declares, shipped.check_blind_to_the_data, shipped.check_charges_before_reading,
    shipped.check_refusal_changes_nothing, shipped.check_hostile_rows, shipped.check_bad_rows_add_nothing,
    shipped.check_nothing_escapes, shipped.check_leaves_data_alone, shipped.check_contract, shipped.check_seeded,
]  # fmt: skip


@pytest.mark.parametrize("strategy", ["subsets", "repeats"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_checks_of_every_private_estimator(check, strategy):
    model = Ridge(bounds=Bounds([-1.0] * 3, [1.0] * 3, target=(-1.0, 1.0)))
    options = {"strategy": strategy, "trials": 3, "epsilon": 1.0, "delta": 0.0}
    check(PrivateSearchCV(model, {"alpha": [1.0, 10.0]}, **options))


def test_blocks_are_read_in_any_size():
    X, y = labelled(500)
    found = []
    for block in (None, 7):
        with pytest.warns(NotPrivateWarning):
            found.append(search(random_state=4).fit(Memory(X, y, labels=True, block=block)).release_)
    assert [part.value.tolist() for part in found[0].parts[1:]] == [part.value.tolist() for part in found[1].parts[1:]]


def test_each_candidate_sees_a_block_of_its_own():
    """Blocks are disjoint and hold all rows; each fit has the whole ε; the choice is made on rows that no fit saw."""
    X, y = labelled(600)
    LOG.clear()
    search().fit(X, y)
    fits = LOG[-3:]
    assert [entry[:4] for entry in fits] == [(1.0, 1e-6, None, sign) for sign in (-1.0, 1.0, -2.0)]
    seen = [{tuple(row) for row in entry[-1].read_features()} for entry in fits]
    assert all(80 < len(block) < 220 for block in seen)
    assert sum(map(len, seen)) == len(set().union(*seen)) < 520


def test_what_is_kept_for_a_last_fit_on_all_rows():
    X, y = labelled(600)
    LOG.clear()
    ledger = Ledger(Budget(1.0, 1e-6))
    found = search(refit=0.25, ledger=ledger).fit(X, y)
    first, last = LOG[-4:-1], LOG[-1]
    assert all(entry[0] == pytest.approx(0.75, rel=1e-9) and entry[0] < 0.75 for entry in first)
    assert (
        last[:2] == (0.25, 0.25e-6) and len(last[-1].read_features()) == 600 and last[3] == found.best_params_["sign"]
    )
    assert first[0][0] + last[0] <= 1.0 and first[0][1] + last[1] <= 1e-6 and len(ledger.entries) == 1
    assert "then fitted on all" in found.release_.notes[-1]


def test_a_public_number_of_rows_is_shared_among_blocks():
    LOG.clear()
    model = Toward(bounds=BOUNDS, n=400)
    PrivateSearchCV(model, {"sign": [1.0, -1.0, 2.0]}).fit(*labelled(400))
    assert [entry[2] for entry in LOG[-3:]] == [100] * 3


# what leaves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["subsets", "repeats"])
def test_nothing_but_the_choice_is_kept(strategy):
    found = search(strategy, trials=3).fit(*labelled(100))
    assert not [name for name in vars(found) if "score" in name and name != "score_share"]
    learnt = {name for name in vars(found) if name.endswith("_")}
    assert learnt == {"best_estimator_", "best_index_", "best_params_", "candidates_", "n_features_in_", "release_"}
    assert [part.name for part in found.release_.parts] == ["choice", "direction"]
    assert found.release_.parts[0].value == found.best_index_ and found.release_.parts[0].std is None
    again = pickle.loads(pickle.dumps(found))
    assert again.release_.to_json() == found.release_.to_json() and again.best_params_ == found.best_params_


def test_the_number_of_trials_is_not_told():
    """Runs with different numbers of trials release the same kind of thing; the number is in none of it."""
    X, y = labelled(50)
    counts, seen = set(), set()
    for seed in range(12):
        LOG.clear()
        with pytest.warns(NotPrivateWarning):
            found = search("repeats", trials=8, random_state=seed).fit(X, y)
        counts.add(len(LOG))
        seen.add((found.release_.notes, tuple(np.shape(part.value) for part in found.release_.parts), *vars(found)))
    assert len(counts) > 3 and len(seen) == 1


def test_padding_makes_the_same_number_of_fits():
    X, y = labelled(20)
    law, counts = law_of(2, None), set()
    for seed in range(5):
        LOG.clear()
        with pytest.warns(NotPrivateWarning):
            search("repeats", trials=2, pad=True, random_state=seed).fit(X, y)
        counts.add(len(LOG))
    assert counts == {law.enough + 1 + 3}  # trials, one on no rows, and a rehearsal of each setting
    assert 1 - stats.poisson(2).cdf(law.enough) <= 2.0**-40 < 1 - stats.poisson(2).cdf(law.enough - 1)


def test_a_fit_that_runs_what_was_not_planned_is_refused(monkeypatch):
    """The plan is for the events of the rehearsal: a fit that charges otherwise stops the search."""
    true = repeats.candidate
    monkeypatch.setattr(repeats, "candidate", lambda model, s, epsilon, *rest: true(model, s, 2 * epsilon, *rest))
    with pytest.raises(NotSupported, match="charges"):
        search("repeats").fit(*labelled(20))


def test_no_trial_at_all_is_said():
    """With K = 0 the model has seen no row; it says so, as the proof allows."""
    X, y = labelled(20)
    notes = set()
    for seed in range(12):
        with pytest.warns(NotPrivateWarning):
            found = search("repeats", trials=1.5, random_state=seed).fit(X, y)
        notes.add(found.release_.notes[-1][:8])
        assert np.isfinite(found.best_estimator_.coef_).all()
    assert notes == {"no trial", "the best"}


# audits ---------------------------------------------------------------------------------------------


def voters(place):
    model = Fixed(bounds=BOUNDS, place=place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(np.zeros((1, 3)), ["a"])


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_choice_is_as_private_as_it_says_and_no_more(neighbours):
    """The exact law of the choice on worst-case neighbours: the log-ratio reaches ε and does not pass it."""
    models, seen = (voters(0), voters(1)), []

    def record(scores, epsilon, sensitivity, rng, monotonic):
        rate = Fraction(epsilon) / sensitivity / (1 if monotonic else 2)
        weights = np.exp([float(rate * int(score)) for score in scores])
        seen.append(weights / weights.sum())
        return 0

    row = np.zeros((1, 3))
    before = (row, ["a"]) if neighbours == "replace-one" else (row[:0], [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subsets, "exponential", record)
        many = np.zeros((60, 3)), ["a"] * 60
        for X, y in (before, (row, ["b"]), many, (many[0][1:], many[1][1:])):
            losses = Losses(models, classes=("a", "b"))
            subsets.choose(losses, Memory(X, y, labels=True), 1.5, Budget(1.5, 0.0, neighbours), Keystream.seeded(0))
    ratios = [np.abs(np.log(a / b)).max() for a, b in (seen[:2], seen[2:])]
    assert max(ratios) <= 1.5 * (1 + 1e-12)
    # nearly no chance without the row: adding it multiplies that by e^ε; an exchange moves both scores
    reached = ratios[1] if neighbours == "add-remove" else ratios[0] * 2
    assert reached > 1.49


@pytest.mark.audit
def test_audit_of_the_choice(monkeypatch):
    """On neighbours that differ in one row of the last block; thrice the rate is caught.

    False alarm below 1e-6: the audit's own confidence.
    """
    true, sabotage = choosing.exponential, 3

    def bent(scores, epsilon, sensitivity, rng, monotonic):
        return true(scores, sabotage * epsilon, sensitivity, rng, monotonic=monotonic)

    losses, rng = Losses((voters(0), voters(1)), classes=("a", "b")), stream(5)
    sets = [Memory(np.zeros((len(y), 3)), y, labels=True) for y in ([], ["a"])]

    def run(rows):
        return subsets.choose(losses, rows, 1.0, Budget(1.0), rng)

    with monkeypatch.context() as patch:
        patch.setattr(subsets, "exponential", bent)
        needed = catch(run, *sets, event=Pure(1.0), runs=1200)
    acquit(run, *sets, event=Pure(1.0), runs=needed)


LIMITED = {
    "svc": private.LinearSVC(),
    "svc output": private.LinearSVC(method="output"),
    "kernels": private.KernelSVC(n_components=3),
    "points": private.KernelSVC(n_components=3, method="pointwise"),
    "kernels, logistic": private.KernelSVC(n_components=3, linear=private.LogisticRegression()),
    **{f"logistic {method}": private.LogisticRegression(method=method) for method in get_args(Method)},
}


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("strategy", ["subsets", "public"])
def test_no_block_has_more_rows_than_a_promise_is_for(name, strategy, monkeypatch):
    """Fits whose promise is for at most n rows: blocks are larger than their share of n about every second time."""
    limits, rows = [], labelled(60)
    true = Minimiser.__call__

    def counted(minimiser, block, b):
        limits.append(
            (int(block.sum(BoundedSum(OneHot(lambda batch: np.zeros(len(batch), np.int64), 1)))[0]), minimiser.rows)
        )
        return true(minimiser, block, b)

    monkeypatch.setattr(Minimiser, "__call__", counted)
    model = clone(LIMITED[name]).set_params(bounds=BOUNDS, n=60)
    pure = 0.0 if "pure" in name else 1e-6
    data = {"public": labelled(50, seed=9)} if strategy == "public" else {}
    for seed in range(4):
        found = PrivateSearchCV(model, [{}, {}], strategy=strategy, epsilon=1.0, delta=pure, random_state=seed, **data)
        with pytest.warns(NotPrivateWarning):
            found.fit(*rows)
    assert all(there <= most for there, most in limits)
    assert bool(limits) is model._n_is_limit
    sizes = [there for there, _ in limits]
    assert strategy == "public" or not limits or max(sizes) > 20, "blocks larger than n // 3 were among them"


@pytest.mark.parametrize("strategy", ["subsets", "repeats"])
def test_nobody_watches_candidates_inside_others(strategy, capsys):
    seen = []
    watched = private.SGDClassifier(epochs=1, callback=lambda *_: seen.append(1), progress=True)
    model = private.KernelSVC(n_components=3, linear=watched, bounds=BOUNDS, n=60)
    options = {"trials": 4} if strategy == "repeats" else {}
    found = PrivateSearchCV(model, {"gamma": [0.5, 1.0]}, strategy=strategy, epsilon=1.0, delta=1e-6, **options)
    found.fit(*labelled(60))
    assert not seen and not capsys.readouterr().err


@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
def test_what_parts_of_the_budget_are_too_small_for_is_refused_unpaid(share):
    """A penalty that all of ε would do for, and a part of it does not: on the blocks, or in the last fit."""
    ledger = Ledger(Budget(9.0, 1e-5), reserve=5e-6)
    model = private.LinearSVC(1.0, 1e-6, bounds=BOUNDS, n=300)
    with pytest.raises(ValueError, match="strength"):
        PrivateSearchCV(model, {"strength": [1.0, 50.0]}, refit=share, ledger=ledger).fit(*labelled(300))
    assert ledger.entries == ()


@pytest.mark.parametrize("strategy", ["subsets", "repeats", "public"])
def test_nobody_watches_candidates(strategy, capsys):
    """A callback or a bar would tell of those that were not chosen, and how many trials there were."""
    seen = []
    model = private.SGDClassifier(bounds=BOUNDS, n=60, epochs=1, callback=lambda *_: seen.append(1), progress=True)
    options = {"trials": 6} if strategy == "repeats" else {}
    options |= {"public": labelled(50, seed=9)} if strategy == "public" else {}
    found = PrivateSearchCV(model, {"clip": [0.5, 1.0]}, strategy=strategy, epsilon=1.0, delta=1e-6, **options)
    found.fit(*labelled(60))
    shown = capsys.readouterr().err
    if strategy == "public":  # one private fit, which is released
        steps = len(seen)
        assert steps > 0 and shown
        seen.clear()
        clone(found.best_estimator_).fit(*labelled(60))
        assert len(seen) == steps
    else:
        assert not seen and not shown


def test_estimators_in_a_grid_stay_as_they_are():
    """And the one private fit on public advice, which is released, is watched by what it was given."""
    seen = []
    inner = private.SGDClassifier(epochs=1, callback=lambda *_: seen.append(1))
    model = private.KernelSVC(n_components=3, bounds=BOUNDS, n=60)
    for strategy, options in (("subsets", {}), ("public", {"public": labelled(50, seed=9), "folds": 2})):
        PrivateSearchCV(model, {"linear": [inner]}, strategy=strategy, epsilon=1.0, **options).fit(*labelled(60))
        assert inner.callback is not None and bool(seen) is (strategy == "public")


def test_a_search_shows_no_bar_and_is_retried_unpaid():
    """Bars of its candidates are left out, so that nothing of a run was shown when its reading failed."""

    class Once(Memory):
        def split_into_blocks(self, *arguments):
            if self.left:
                self.left -= 1
                raise OSError
            return super().split_into_blocks(*arguments)

    rows, account = Once(*labelled(60), labels=True), Ledger(Budget(99.0, 1e-3), reserve=1e-4)
    rows.left = 1
    model = private.SGDClassifier(1.0, 1e-6, epochs=1, bounds=BOUNDS, n=60, progress=True)
    found = PrivateSearchCV(model, {"epochs": [1, 2]}, ledger=account.retrying("monday"))
    with pytest.raises(ReadError, match="not charged a second time"):
        found.fit(rows)
    found.fit(rows)
    assert len(account.entries) == 1


def test_what_all_rows_are_too_many_for_is_refused_unpaid():
    """Blocks and the last fit have different numbers of rows, public where one of them is replaced."""
    ledger = Ledger(Budget(99.0, 1e-3, "replace-one"), reserve=1e-4)
    model = private.LinearSVC(8.0, 1e-6, max_passes=200, bounds=BOUNDS, neighbours="replace-one")
    with pytest.raises(ValueError, match="strength"):
        PrivateSearchCV(model, {"strength": [20.0, 21.0]}, refit=0.5, ledger=ledger).fit(*labelled(3000))
    assert ledger.entries == ()


@pytest.mark.parametrize("strategy", ["subsets", "public"])
def test_a_search_warns_of_what_its_receipt_tells_and_is_fitted_by_then(strategy):
    """12 rows at ε = 0.001, where a noisy count is off by 2,000 and more: told by one of ten seeds at least."""
    options = {"public": labelled(50, seed=9), "folds": 2} if strategy == "public" else {}
    told = 0
    for seed in range(10):
        model = private.LogisticRegression(0.001, 1e-6, method="gradient", bounds=BOUNDS)
        found = PrivateSearchCV(model, {"rounds": [1, 2]}, strategy=strategy, random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", NoiseWarning)
            try:
                found.fit(*labelled(12))
                warned = False
            except NoiseWarning:
                warned = True
        assert warned is any("too few rows" in note for note in found.release_.notes)  # fitted, in either case
        told += warned
    assert told


def test_what_is_public_of_too_few_rows_is_told_before_the_charge():
    ledger = Ledger(Budget(99.0, 1e-3), reserve=1e-4)
    model = private.SGDClassifier(0.001, 1e-6, epochs=1, bounds=BOUNDS, n=12)
    found = PrivateSearchCV(model, {"epochs": [1]}, strategy="public", public=labelled(50), folds=2, ledger=ledger)
    with warnings.catch_warnings(), pytest.raises(NoiseWarning, match="has too few rows"):
        warnings.simplefilter("error", NoiseWarning)
        found.fit(*labelled(12))
    assert ledger.entries == ()


def test_public_rows_bring_their_number():
    """A method that needs an upper limit for δ = 0 gets it from the public rows."""
    model = private.LinearSVC(1.0, 0.0, bounds=BOUNDS, n=80)
    found = PrivateSearchCV(model, {"h": [0.2, 0.5]}, strategy="public", public=labelled(200, seed=9))
    assert found.fit(*labelled(80)).release_.budget == Budget(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["subsets", "repeats"])
@pytest.mark.parametrize("sabotage", [1, 600])
def test_audit_of_a_whole_search(strategy, sabotage, monkeypatch):
    """No row against one: no attack proves more than is declared; fits that take far more than their ε are caught.

    False alarm below 1e-6: the audit's own confidence. Seeds are fixed.
    """
    true, seeds = subsets.candidate, itertools.count()

    def bent(model, setting, epsilon, *rest):
        return true(model, setting, sabotage * epsilon, *rest)

    for module in (subsets, repeats, plans):
        monkeypatch.setattr(module, "candidate", bent)
    monkeypatch.setattr(repeats.Repeats, "check", Inside.check)  # which would refuse a plan that costs so much
    model = search(strategy, (0.1, 0.0), grid={"sign": [1.0]}, trials=2, eta=1.0)

    def run(data):
        with pytest.warns(NotPrivateWarning):
            return model.set_params(random_state=next(seeds)).fit(*data).release_

    row = np.ones((1, 3))
    found = audit(run, (row[:0], []), (row, ["b"]), runs=180, confidence=SURE)
    assert found.violated is (sabotage > 1), str(found)
    assert found.declared_epsilon == 0.1


# the bound of Papernot and Steinke --------------------------------------------------------------------


@pytest.mark.catalogue("CL13")
@pytest.mark.parametrize(("trials", "share"), [(5, 0.67), (20, 0.39)])
def test_published_shares(trials, share):
    """At ε = 1, δ = 1e-6 a Poisson number of trials leaves each so much of μ."""
    assert affordable(law_of(trials, None), 1.0, 1e-6) / mu(1.0, 1e-6) == pytest.approx(share, abs=0.006)


def generating(law):
    if isinstance(law, Poisson):
        return lambda x: np.exp(float(law.mean) * (x - 1))
    eta, gamma = float(law.eta), float(law.gamma)
    if eta == 0:
        return lambda x: np.log1p(-(1 - gamma) * x) / math.log(gamma)
    return lambda x: ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)


def best_of(law, pmf):
    """The exact law of the best of K, the last outcome being the best; the first entry is K = 0."""
    f, upto = generating(law), np.concatenate([[0.0], np.cumsum(pmf)])
    return np.concatenate([[f(0.0)], np.diff(f(np.minimum(upto, 1.0)))])


def hockey(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


LAWS = [law_of(5, None), law_of(20, None), law_of(5, 0.0), law_of(20, 1.0), law_of(8, -0.5)]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("noise", [8.0, 4.0, 1.0])
def test_the_stated_guarantee_holds_for_gaussian_trials(law, noise):
    """A trial in 4,000 cells of a normal law: the exact δ of the best of K is below the stated one, either way round.

    And the trial's own ε would not do: tuning is not free.
    """
    cuts = np.linspace(-9, 9 + 1 / noise, 4000)
    pair = [np.diff(np.concatenate([[0.0], norm.cdf(cuts - shift), [1.0]])) for shift in (0.0, 1 / noise)]
    for delta in (1e-2, 1e-4, 1e-6):
        stated = epsilon_of(Trial((Gaussian(noise),)), law, delta)
        alone_ = epsilon_at(Gaussian(noise), delta)
        worst = [0.0, 0.0]
        for order in (slice(None), slice(None, None, -1)):
            a, b = (best_of(law, pmf[order]) for pmf in pair)
            for i, at in enumerate((stated, alone_)):
                worst[i] = max(worst[i], hockey(a, b, at), hockey(b, a, at))
        assert worst[0] <= delta * (1 + 1e-6)
        assert worst[1] > delta or delta == 1e-2


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_stated_guarantee_holds_for_randomised_response(law):
    """The worst pure trial: no log-ratio passes the stated ε, and divergences stay below the stated ones."""
    for one in (0.1, 1.0, 3.0):
        p = np.array([math.exp(one), 1.0]) / (1 + math.exp(one))
        trial = Trial((Pure(one),))
        for a, b in ((p, p[::-1]), (p[::-1], p)):
            a, b = best_of(law, a), best_of(law, b)
            there = a > 0
            assert np.abs(np.log(a[there] / b[there])).max() <= epsilon_of(trial, law, 0.0)
            for order in (2, 3, 8, 32):
                exact = math.log((a[there] ** order * b[there] ** (1.0 - order)).sum()) / (order - 1)
                assert exact <= divergence(trial, law, order)


@pytest.mark.parametrize("law", [law_of(3, None), law_of(5, 0.0), law_of(5, 1.0), law_of(3, -0.5)], ids=str)
def test_the_law_of_the_number_of_trials(law):
    """Chi-square on 3,000 draws, seed fixed: accepted at 1e-6, and the law of another mean is not."""
    rng = Keystream.seeded(7)
    draws = np.array([law.draw(rng) for _ in range(3000)])
    pmf, total = np.zeros(13), float(law.total(20))
    for k, weight in law.weights():
        if k > 12:
            break
        pmf[k] = float(weight) / total
    counts = np.bincount(np.minimum(draws, 13), minlength=14)

    def statistic(pmf):
        expected = 3000 * np.append(pmf, 1 - pmf.sum())
        kept = expected > 5
        return ((counts - expected)[kept] ** 2 / expected[kept]).sum(), kept.sum() - 1

    found, degrees = statistic(pmf)
    assert found < chi2.ppf(1 - 1e-6, degrees)
    if isinstance(law, Poisson):
        np.testing.assert_allclose(pmf, stats.poisson(3).pmf(np.arange(13)), rtol=1e-12)
        found, degrees = statistic(stats.poisson(3.5).pmf(np.arange(13)))
        assert found > chi2.ppf(1 - 1e-6, degrees)
    elif law.eta == 1:
        np.testing.assert_allclose(pmf[1:], stats.geom(float(law.gamma)).pmf(np.arange(1, 13)), rtol=1e-12)
    elif law.eta == 0:
        np.testing.assert_allclose(pmf[1:], stats.logser(1 - float(law.gamma)).pmf(np.arange(1, 13)), rtol=1e-12)
    assert law.expected == pytest.approx(5 if isinstance(law, NegativeBinomial) and law.eta >= 0 else 3, rel=1e-4)
    slope = (generating(law)(1.0) - generating(law)(1 - 1e-7)) / 1e-7
    assert law.expected == pytest.approx(slope, rel=1e-4)


def test_settings_are_drawn_evenly():
    """Chi-square on 3,000 draws of three, accepted at 1e-6."""
    rng = Keystream.seeded(3)
    counts = np.bincount([repeats.below(3, rng) for _ in range(3000)])
    assert ((counts - 1000) ** 2 / 1000).sum() < chi2.ppf(1 - 1e-6, 2)


@pytest.mark.parametrize(
    ("budget", "method"),
    [
        (Budget(1.0, 1e-6), "auto"), (Budget(8.0, 1e-6), "auto"), (Budget(1.0, 0.0), "auto"),
        (Budget(1.0, 1e-6), "functional"), (Budget(1.0, 1e-6), "output"),
    ],
)  # fmt: skip
def test_a_plan_is_worth_its_budget(budget, method):
    """Whatever noise the fits use, what a trial spends adds up to the budget: not more, and not half of it."""
    law = law_of(5, None if budget.delta else 1.0)
    schema = repeats.Schema(3, None, None, False)
    settings = ({"method": method}, {"method": "auto"})
    rest = (None, budget, law, schema, 0.1)
    plan = Planner(LinearRegression(bounds=RANGE), settings, *rest).plan()
    for epsilon, event in zip(plan.epsilons, plan.fits, strict=True):
        assert epsilon_at(event, plan.delta) <= epsilon * (1 + 1e-9)
    if budget.pure:
        assert isinstance(plan.score, Laplace)
        assert plan.epsilons[0] + 1 / plan.score.scale == pytest.approx(1 / 3, rel=1e-6)
        return
    whole = Trial(tuple(Composed((event, plan.score)) for event in plan.fits))
    assert 0.95 * budget.epsilon < epsilon_of(whole, law, budget.delta) == plan.cost(law) <= budget.epsilon
    # a setting with dearer noise does not spoil the others
    assert plan.epsilons[1] > 0.9 * Planner(LinearRegression(bounds=RANGE), settings[1:], *rest).plan().epsilons[0]


def test_the_score_has_the_noise_of_its_plan():
    """The observed spread of noisy losses is the planned one, within 20% (400 draws: a deviation is known to 3.6%)."""
    X, y = labelled(60)
    model = search("repeats")
    law, schema = law_of(5, None), repeats.Schema(3, None, None, True)
    settings = ({"sign": 1.0},)
    plan = Planner(model.estimator, settings, None, Budget(1.0, 1e-6), law, schema, 0.1).plan()
    inside = repeats.Repeats("x", model.estimator, settings, {"classes": ("a", "b")}, None, law, plan, schema, False)
    rows, rng = Memory(X, y, labels=True), Keystream.seeded(1)
    fixed = voters(0)
    draws = np.array([inside._score(fixed, rows, rng) for _ in range(400)]) / 2.0**23
    assert draws.std() == pytest.approx(plan.score.noise_multiplier, rel=0.2)
    assert draws.mean() == pytest.approx(-np.mean(y != "a") * 60, abs=5 * plan.score.noise_multiplier / 20)


# scikit-learn's own search ---------------------------------------------------------------------------


@pytest.mark.catalogue("CL13")
def test_an_ordinary_search_pays_for_every_fit():
    """With a ledger each of candidates × folds + 1 fits is charged; without one each has its own."""
    X, y = labelled(300)
    ledger = Ledger(Budget(1.0, 1e-6))
    model = Toward(epsilon=0.2, bounds=BOUNDS, ledger=ledger)
    with pytest.warns(LeakWarning, match="its scores"):
        GridSearchCV(model, {"sign": [1.0, 2.0]}, cv=3).fit(X, y)
    assert len(ledger.entries) == 2 * 3 + 1 and ledger.spent > 0.5
    tight = Ledger(Budget(0.3, 1e-6))
    with pytest.warns(LeakWarning), pytest.raises((BudgetExceeded, ValueError)):
        GridSearchCV(model.set_params(ledger=tight), {"sign": [1.0, 2.0]}, cv=3, error_score="raise").fit(X, y)
    assert 1 <= len(tight.entries) < 7
    model.set_params(ledger=None)
    with pytest.warns(LeakWarning):
        found = GridSearchCV(model, {"sign": [1.0, 2.0]}, cv=3).fit(X, y)
    assert found.best_estimator_.release_.epsilon == 0.2  # though eight things have left


# contract --------------------------------------------------------------------------------------------

EXCUSES = {
    "check_estimators_empty_data_messages": "no rows get a private answer: an error would tell that there are none",
    "check_dtype_object": "objects are refused by type: whether all of them are numbers is a fact about the rows",
    "check_supervised_y_no_nan": "a bad target contributes zero: an error would tell that there is one",
}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["subsets", "repeats"])
def test_scikit_learns_own_checks(strategy):
    inner = LinearRegression(1e6, bounds=Bounds(-10, 10, target=(-300, 300)))
    model = PrivateSearchCV(inner, {"fit_intercept": [True]}, strategy=strategy, trials=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=EXCUSES, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed, failed


def test_clones_and_frames():
    X, y = labelled(200)
    model = search()
    assert clone(model).get_params()["estimator__sign"] == 1.0
    frame = pd.DataFrame(X, columns=list("pqr"))
    found = search().fit(frame, y)
    assert list(found.feature_names_in_) == list("pqr") and len(found.predict(frame)) == 200
    assert len(search("public").fit(Memory(X, y, labels=True)).predict(X)) == 200
    assert not hasattr(PrivateSearchCV(Ridge(bounds=RANGE), {"alpha": [1.0]}), "predict_proba")


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"strategy": "guess"}, ValueError, "strategy"),
        ({"refit": 1.0}, ValueError, "refit"),
        ({"score_share": 0.0}, ValueError, "score_share"),
        ({"strategy": "repeats", "trials": 1}, ValueError, "trials"),
        ({"strategy": "repeats", "eta": -1.0}, ValueError, "eta"),
        ({"strategy": "public", "public": None}, ValueError, "public"),
        ({"param_grid": None}, ValueError, "param_grid"),
        ({"param_grid": {"epsilon": [1.0, 2.0]}}, ValueError, "epsilon"),
        ({"param_grid": {"sign": [1.0, 0.0]}}, ValueError, "sign"),
        ({"param_grid": {"sign": [0.0]}, "strategy": "repeats"}, ValueError, "sign"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"estimator": Ordinary()}, TypeError, "private classifier"),
        ({"estimator": Toward()}, ValueError, "classes"),
        ({"estimator": Ridge()}, ValueError, "range of the target"),
        ({"estimator": Toward(bounds=BOUNDS, random_state=1)}, ValueError, "Seed the search"),
        ({"estimator": Toward(bounds=BOUNDS, ledger=Ledger(Budget(1.0)))}, ValueError, "ledger"),
        (
            {"estimator": LinearRegression(bounds=RANGE, method="ptr"), "param_grid": {"clip": ["auto"]},
             "strategy": "repeats"}, NotSupported, "subsets",
        ),
    ],
)  # fmt: skip
def test_refused_before_anything_is_charged(options, error, says):
    X, y = labelled(30)
    ledger = Ledger(Budget(1.0, 1e-6))
    model = search(ledger=ledger).set_params(**options)
    target = y if getattr(model.estimator, "has_labels", True) else np.zeros(30)
    with pytest.raises(error, match=says):
        model.fit(X, target)
    assert ledger.entries == ()


# a row alone -----------------------------------------------------------------------------------------


def test_what_is_said_of_a_row_does_not_depend_on_others():
    """To the bit, in any batch and layout; and it is what the model says."""
    X, y = labelled(257)
    model = Toward(epsilon=50.0, bounds=BOUNDS).fit(X, y)
    line = LinearRegression(50.0, bounds=RANGE).fit(*measured(257))
    assert np.mean(alone.codes(model, X, ("a", "b")) == (model.predict(X) == "b")) == 1
    np.testing.assert_allclose(alone.probabilities(model, X), model.predict_proba(X)[:, 1], rtol=1e-12)
    np.testing.assert_allclose(alone.numbers(line, X), line.predict(X), rtol=1e-12)
    for ask in (lambda X: alone.probabilities(model, X), lambda X: alone.numbers(line, X)):
        whole = ask(X)
        for part in (slice(3, 4), slice(5, 256), slice(None, None, -1)):
            assert np.array_equal(ask(np.asfortranarray(X)[part]), whole[part])


def test_many_classes_and_models_from_elsewhere():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.array(["u", "v", "w"])[rng.integers(3, size=90)]
    model = LogisticRegression().fit(X, y)
    said = alone.codes(model, np.vstack([X, [[np.nan, 0.0]]]), ("w", "u"))
    expected = [{"w": 0, "u": 1}.get(label, -1) for label in model.predict(X)]
    assert said.tolist() == [*expected, -1]


def test_a_model_that_chokes_on_a_row_tells_nothing():
    class Choking:
        classes_ = np.array([0, 1])

        def predict(self, X):
            if X[0, 0] > 0:
                raise ValueError(f"{X[0, 0]}")
            return np.array([1])

    assert alone.codes(Choking(), np.array([[1.0], [-1.0]]), (0, 1)).tolist() == [-1, 1]


def test_losses_stay_within_their_step():
    """A hostile target or prediction moves a total by at most the stated step."""
    line = LinearRegression(50.0, bounds=RANGE).fit(*measured(50))
    for target in (1e308, -1e308, np.inf, np.nan, 0.0):
        total, step = Losses((line,), target=(-4.0, 4.0)).add_up(Memory(np.ones((1, 3)), np.array([target])))
        assert 0 <= total[0] <= step
    total, step = Losses((line, line), target=(-4.0, 4.0)).add_up(Memory(*measured(500)))
    assert total.shape == (2,) and total[0] == total[1] <= 500 * step
