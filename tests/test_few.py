"""Logistic regression of few rows: a class or a line is chosen, by nearly all of the budget."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from discreet import Bounds, Budget, Ledger, NoiseWarning, NotPrivateWarning
from discreet.accounting import epsilon
from discreet.accounting.curves import choice_within
from discreet.events import Choice, Gaussian, flatten
from discreet.models import LogisticRegression
from discreet.models.logistic import few
from discreet.models.logistic.counts import Counts, Number

from .sabotage import caught

pytestmark = pytest.mark.catalogue("CL4")
BOUNDS = Bounds(-1, 1, classes=("no", "yes")).matched(5)
EPSILON = 3.0


def table(rows, share=0.8, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, (rows, 5))
    return X, np.where(np.arange(rows) < share * rows, "no", "yes")


def fitted(data, *budget, seed=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        warnings.simplefilter("ignore", NoiseWarning)
        return LogisticRegression(*budget, **({"bounds": BOUNDS, "random_state": seed} | options)).fit(*data)


def leaves(model):
    return [leaf for leaf, _ in flatten(model.release_.event)]


@pytest.mark.parametrize(
    ("rows", "share", "delta", "public", "below"),
    [
        (100, 0.8, 1e-6, True, 0.04),
        (100, 0.8, 0.0, True, 0.11),
        (250, 0.7, 1e-6, True, 0.01),
        (100, 0.8, 1e-6, False, 0.07),
        (250, 0.7, 0.0, False, 0.05),
    ],
)
def test_few_rows_give_the_likelier_class(rows, share, delta, public, below):
    """At ε = 0.1, means over 100 fixed seeds: how far below the likelier class."""
    data = table(rows, share)
    n = rows if public else None
    hits = [fitted(data, 0.1, delta, n=n, seed=seed).score(*data) for seed in range(100)]
    assert np.mean(hits) > share - below


def test_which_way_was_gone_can_be_seen_and_costs_the_same():
    small, large = fitted(table(100), 0.1, 1e-6, seed=1), fitted(table(20_000), 0.1, 1e-6, seed=1)
    assert small.release_.event == large.release_.event
    assert 0.999 * 0.1 < epsilon(small.release_.event, 1e-6) <= 0.1
    assert [part.name for part in small.release_.parts] == ["classes", "rows", "verdict", "right less wrong"]
    assert [part.name for part in large.release_.parts[:3]] == ["classes", "means and squares", "means and squares"]
    assert few.ALONE in small.release_.notes and few.ALONE not in large.release_.notes


def test_chances_are_those_of_the_classes():
    """26 rows times ε, 4 to 1: P(no) is below 0.8, as its noise has it; means over 40 fixed seeds."""
    chances = [fitted(table(260), 0.1, 1e-6, n=259, seed=seed).predict_proba(table(1)[0])[0, 0] for seed in range(40)]
    assert 0.65 < np.mean(chances) < 0.8
    chances = [fitted(table(45_000), 0.001, 1e-6, n=44_999, seed=seed).predict_proba(table(1)[0]) for seed in range(5)]
    assert all(0.5 < chance[0, 0] < 0.995 for chance in chances)


def test_several_classes():
    X, _ = table(250)
    y = np.where(np.arange(250) < 150, 0, np.arange(250) % 3)
    model = fitted((X, y), 0.1, 1e-6, bounds=Bounds(-1, 1, classes=range(3)).matched(5), n=250, seed=0)
    assert model.coef_.shape == (3, 5) and (model.predict(X) == 0).all()


@pytest.mark.parametrize("rows", [80, 3_000])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n": 3_000},
        {"ledger": True},
        {"bounds": None, "classes": ("no", "yes")},
        {"fit_intercept": False},
        {"method": "gradient"},
        {"method": "quadratic"},
    ],
)
def test_all_of_a_plan_with_delta_is_gaussian(options, rows):
    options = dict(options)
    if options.get("ledger"):
        options["ledger"] = Ledger(Budget(0.3, 1e-6))
    model = fitted(table(rows), 0.3, 1e-6, seed=0, **options)
    kinds = Gaussian if model.bounds is not None else Gaussian | Choice  # bounds are chosen
    assert all(isinstance(leaf, kinds) for leaf in leaves(model))


@pytest.mark.parametrize("rows", [100, 300])
def test_on_a_shared_account_gaussian_shares_pay_for_the_choice(rows):
    """At ε = 0.3, means over 100 fixed seeds: how far below the likelier class; all events stay Gaussian."""
    data, hits = table(rows, 0.7), []
    for seed in range(100):
        ledger = Ledger(Budget(0.3, 1e-6))
        model = fitted(data, 0.3, 1e-6, ledger=ledger, seed=seed)
        hits.append(model.score(*data))
        assert all(isinstance(leaf, Gaussian) for leaf, _ in flatten(ledger.entries[0].event))
    assert np.mean(hits) > 0.7 - (0.03 if rows == 100 else 0.01)


@pytest.mark.parametrize(
    "options", [{"neighbours": "replace-one"}, {"unit": np.arange(400) // 2, "max_rows_per_unit": 2}]
)
def test_an_exchange_counts_twice_and_a_unit_for_all_its_rows(options):
    model = fitted(table(400), 0.1, 1e-6, seed=0, **options)
    (count,) = [part for part in model.release_.parts if part.name == "right less wrong"]
    assert float(np.max(count.std)) == pytest.approx(2 * count.event.noise_multiplier, rel=1e-6)


def test_rows_are_counted_again_only_where_they_may_be_few():
    def names(rows, seed):
        return [part.name for part in fitted(table(rows), 0.1, 1e-6, seed=seed).release_.parts]

    assert all("rows" in names(150, seed) for seed in range(5))
    assert not any("rows" in names(5_000, seed) for seed in range(5))


def test_numbers_are_averaged_by_their_precision():
    both = Number(100.0, 3.0).and_by(Number(200.0, 4.0))
    assert both.value == pytest.approx((100 / 9 + 200 / 16) / (1 / 9 + 1 / 16)) and both.std == pytest.approx(2.4)
    assert Number(-500.0, 10.0).safe >= 1 and Number(1e6, 10.0).safe == pytest.approx(1e6)
    assert Counts(np.array([3.0, 4.0]), 2.0).total == Number(7.0, 2 * 2**0.5)


@pytest.mark.slow
@pytest.mark.audit
@pytest.mark.parametrize(
    ("what", "way"), [("choice", "public"), ("choice", "shared"), ("choice", "pure"), ("norm", "pure")]
)
def test_the_choice_and_how_right_it_is_are_audited(what, way, monkeypatch):
    """One row against none. False alarms below 1e-6; with a third of the noise the audit must tell."""
    name = {"choice": "verdict", "norm": "right less wrong"}[what]
    monkeypatch.setattr("discreet.models.logistic.verdict.HEIGHTS", (0.0,))

    def told(data):
        options = {"public": {"n": 0}, "shared": {"ledger": Ledger(Budget(EPSILON, 1e-6))}, "pure": {"n": 0}}[way]
        budget = (1.0, 0.0) if (what, way) == ("choice", "pure") else (EPSILON, 0.0 if way == "pure" else 1e-6)
        model = LogisticRegression(*budget, bounds=BOUNDS, **options).fit(*data)
        (part,) = [part for part in model.release_.parts if part.name == name] or [None]
        value = np.ravel(part.value)[:1] if part is not None else np.zeros(1)
        paid = part.event if part is not None else model.release_.event
        return replace(model.release_, parts=(), value=value.astype(float), event=_as_choice(paid))

    X = np.zeros((1, 5))
    pair = (X[:0], np.array([], dtype="<U3")), (X, np.array(["yes"]))
    runs, first = (4_000, 4_000) if way == "pure" else (4_800, 300)  # there only all of them tell enough
    caught(told, pair, runs, monkeypatch, 1 / 3, what, first=first)


def _as_choice(event):
    """What a choice that was paid for by Gaussians costs by itself."""
    only = all(isinstance(leaf, Gaussian) for leaf, _ in flatten(event))
    return Choice(choice_within(event)) if only else event
