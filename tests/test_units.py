"""Privacy for people, not rows: what a unit with many rows may do to an answer."""

import pickle
import warnings
from datetime import date
from decimal import Decimal
from uuid import UUID

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from discreet import Bounds, Budget, Ledger, LedgerError, NotSupported, accounting, events
from discreet.audit import audit
from discreet.checks import Asked, check_units, private_statistics
from discreet.curator import Bound, Curator
from discreet.engines.memory import Memory
from discreet.engines.units import clip_unit_sums, compute_unit_shares, mark_rows, number_units, select_first_rows
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.keystream import Keystream
from discreet.models import KernelRidge, LinearRegression, LogisticRegression, OnlineClassifier, PrivateSearchCV
from discreet.models.linear import one_posterior_sample as posterior
from discreet.query import Batch, BoundedSum, OneHot
from discreet.query.images import Scaled
from discreet.query.moment_sums import MomentSums
from discreet.release import Release
from discreet.stats import count, mean, sum

from .lazy import pd
from .variants import gaussian


def coins(seed=1):
    return Coins.draw_key(Keystream.seeded(seed))


# Who is who -------------------------------------------------------------------------------------------


def test_equal_units_are_one_whatever_their_type():
    for values in ([7, 7.0, True, 1, "7", None, np.nan], np.array([7, 7, 1, 1, -3, 2**60, 2**60 + 1])):
        codes, names = number_units(values)
        assert codes[0] == codes[1] and codes[2] == codes[3] and codes[0] != codes[2] != codes[4]
        assert len(names) == len(np.unique(codes[codes >= 0]))
    assert number_units([7, None, "7", np.nan])[0].tolist() == [0, -1, 1, -1]


@pytest.mark.parametrize(
    "make",
    [
        lambda values: np.array(values),
        lambda values: pd.Series(values),
        lambda values: pd.Series(values, dtype="Int64"),
        lambda values: pd.Series(values, dtype="category"),
        lambda values: polars.Series(values),
        lambda values: np.array(values, float),
        list,
    ],
)
def test_a_unit_has_one_name_whatever_holds_it(make):
    codes, names = number_units(make([5, 3, 5, 8]))
    expected = {5: number_units([5])[1][0], 3: number_units([3])[1][0], 8: number_units([8])[1][0]}
    for value, code in zip([5, 3, 5, 8], codes, strict=True):
        assert np.array_equal(names[code], expected[value])


def test_text_and_numbers_have_different_names():
    strange = (b"1", date(2026, 1, 1), UUID(int=1), Decimal(1))
    names = {bytes(number_units([value])[1][0]) for value in (1, "1", 0.5, "0.5", -1, 2**200, "é", *strange)}
    assert len(names) == 11
    assert number_units(np.array([b"a", b"b", b"a"]))[0].tolist() == [0, 1, 0]
    with pytest.raises(TypeError, match="datetime64"):
        number_units(np.array(["2026-01-01"], "datetime64[D]"))


def test_rows_have_one_mark_whatever_holds_them():
    x = np.array([1.0, -0.0, np.nan, 0.5, 1e300])
    as_objects = np.array([1, 0, None, 0.5, 1e300], object)
    nobody = np.zeros(5, np.uint64)
    assert np.array_equal(mark_rows([x, x], coins(), nobody), mark_rows([as_objects, x], coins(), nobody))
    assert len(set(mark_rows([x], coins(), nobody).tolist())) == 5
    assert len(mark_rows([np.array(["a", 2**2000, None], object)], coins(), nobody[:3])) == 3


# At most so many rows of each -------------------------------------------------------------------------


def rows_of(seed=0, n=600, people=90):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, 3)), rng.uniform(-1, 1, n), rng.integers(0, people, n)


def everything(rows):
    """What a few sums say of rows: to the bit."""
    features = BoundedSum(lambda batch: batch.X, lambda batch: batch.X, norm=3.0)
    return rows.sum(features).tolist(), rows.count_replace_one()


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_at_most_the_limit_is_kept_and_all_of_those_with_less(limit):
    X, y, people = rows_of()
    kept = Memory(X, y, unit=people).limit_rows_per_unit(limit, coins())
    assert kept.count_replace_one() == np.minimum(np.bincount(people), limit).sum()


def test_what_is_kept_of_a_unit_depends_on_its_own_rows_alone():
    X, y, people = rows_of()
    some = people % 2 == 0
    key = coins()
    words = key.look_up_unit_words(number_units(np.arange(90))[1])
    mark = mark_rows([*X.T, y], key, words[people])
    among_all = select_first_rows(people.astype(np.int64), mark, 2)
    alone = mark_rows([*X[some].T, y[some]], key, words[people[some]])
    by_themselves = select_first_rows(people[some].astype(np.int64), alone, 2)
    assert np.array_equal(among_all[some], by_themselves)
    order = np.random.default_rng(3).permutation(len(X))
    one, other = Memory(X, y, unit=people), Memory(X[order], y[order], unit=people[order])
    assert everything(one.limit_rows_per_unit(2, key)) == everything(other.limit_rows_per_unit(2, key))


def test_equal_rows_of_a_unit_are_not_kept_all_at_once():
    X = np.ones((50, 2))
    assert Memory(X, X[:, 0], unit=np.zeros(50, int)).limit_rows_per_unit(3, coins()).count_replace_one() == 3


def test_each_row_of_a_unit_is_as_likely_to_be_kept():
    """One of 4 rows, for 4,000 units: |z| > 6 for one of the four places has probability below 1e-8.

    All units hold the same four rows: what is kept of one says nothing of another.
    """
    X, people = np.tile([[0.25, 1.0], [0.25, 0.5], [0.0, 0.5], [1.0, 0.5]], (4000, 1)), np.repeat(np.arange(4000), 4)
    kept = Memory(X, X[:, 0] + X[:, 1], unit=people).limit_rows_per_unit(1, coins()).read_targets()
    shares_of = [np.mean(kept == total) for total in (1.25, 0.75, 0.5, 1.5)]
    assert np.abs(np.array(shares_of) - 0.25).max() < 6 * np.sqrt(0.25 * 0.75 / 4000)


def test_rows_of_nobody_count_for_nothing():
    X, y, people = rows_of()
    nobody = np.arange(len(X)) % 7 == 0
    with_none = [None if none else int(person) for person, none in zip(people, nobody, strict=True)]
    left = Memory(X[~nobody], y[~nobody], unit=people[~nobody])
    for make in (
        lambda rows: rows.limit_rows_per_unit(2, coins()),
        lambda rows: rows.share_within_units(),
        lambda rows: rows,
    ):
        assert everything(make(Memory(X, y, unit=with_none))) == everything(make(left))


# All rows, sharing ------------------------------------------------------------------------------------


QUERIES = {
    "x x'": BoundedSum(lambda batch: batch.X, lambda batch: batch.X, norm=1.0),
    "one x x'": None,
    "x y": BoundedSum(lambda batch: batch.X, lambda batch: batch.y, norm=1.0),
    "ℓ1": BoundedSum(lambda batch: batch.X, norm=1.0, order=1),
    "box": BoundedSum(lambda batch: batch.X, norm=1.0, box=True),
    "coarse": BoundedSum(lambda batch: batch.X, norm=1.0, bits=8),
    "cells": BoundedSum(OneHot(lambda batch: np.where(batch.X[:, 0] > 0, 1, 0), 2)).make_divisible(),
    "tables": BoundedSum(OneHot(lambda batch: np.where(batch.X > 0, 1, 0), 2, 3)).make_divisible(),
    "target by cell": BoundedSum(OneHot(lambda batch: np.where(batch.X[:, 0] > 0, 1, 0), 2), lambda batch: batch.y),
    "powers": MomentSums(Scaled.from_bounds(Bounds([-1.0] * 3, [1.0] * 3), False), lambda batch: batch.y),
    "whole": BoundedSum(lambda batch: batch.X, norm=1.0, whole=True),
}
same = lambda batch: batch.X  # noqa: E731
QUERIES["one x x'"] = BoundedSum(same, same, norm=1.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.integers(0, 2**32), st.sampled_from(sorted(QUERIES)), st.sampled_from([1.0, 1e-3, 50.0]))
def test_the_rows_of_a_unit_add_no_more_than_one_row_may(rows, seed, name, scale):
    """Rows at random, at their bounds and far beyond."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0, 0.3, -0.1], (rows, 3)) * scale
    y = rng.choice([-1.0, 1.0], rows) * scale
    query = QUERIES[name]
    unit = Memory(X, y, unit=np.zeros(rows, int), block=16).share_within_units()
    total = np.asarray(unit.sum(query))
    limit = query.sensitivity(query.read_widths(unit.make_empty_batch()), "add-remove")
    assert np.sum(np.abs(total.astype(object)) ** query.order) <= limit**query.order
    if query.is_symmetric:
        assert np.array_equal(total, total.T)


def test_shares_of_a_unit_add_up_to_one_hardly_less():
    codes = np.repeat(np.arange(200), np.arange(200))
    total = np.bincount(codes, compute_unit_shares(codes))[1:]
    assert np.all(total <= 1) and np.all(total >= 1 - 1e-9)
    assert compute_unit_shares(np.array([0, -1])).tolist() == [1.0, 0.0]
    assert clip_unit_sums(np.array([0, 0]), np.array([1.0, 2.0]), 4).tolist() == [1.0, 1.0]


def test_a_unit_counts_once_by_its_mean_and_a_sum_by_its_sum():
    x = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.2, 0.3])
    people = ["a"] * 4 + ["b"] + ["c"] * 2
    options = {"epsilon": 1e6, "random_state": 1, "unit": people}
    with pytest.warns(UserWarning):
        assert count(x, **options).value == pytest.approx(3, abs=1e-3)
        assert mean(x, bounds=(0, 1), **options).value == pytest.approx((1 + 0 + 0.25) / 3, abs=1e-3)
        assert sum(x, bounds=(0, 1), **options).value == pytest.approx(1 + 0 + 0.5, abs=1e-3)  # 4 is clipped to 1


def test_rows_and_promise_are_of_the_same_unit():
    """Rows told of one unit serve no promise for another, nor one for rows: samples would go by the wrong ones."""
    table, y = frame(people=60)
    table["visit"] = np.arange(len(table))
    rows = Memory(table[["age", "dose", "visit"]], y, unit="visit")
    for unit in ("person", None):
        with pytest.raises(ValueError, match="'visit'"):
            LinearRegression(1.0, 1e-6, bounds=BOUNDS, unit=unit).fit(rows)
        with pytest.raises(ValueError, match="'visit'"):
            count(rows, unit=unit)
    assert LinearRegression(1.0, 1e-6, bounds=BOUNDS, unit="visit").fit(rows).release_.unit == "visit"


@pytest.mark.parametrize("kind", [lambda table: table, polars.from_pandas])
def test_units_beyond_what_floats_hold_are_told_apart(kind):
    table = pd.DataFrame({"x": [1.0, 0.5, 0.25], "person": [2**60, 2**60 + 1, 2**60]})
    for rows in (Memory(kind(table), unit="person"), Memory(kind(table)).assign_units("person")):
        assert len(rows._units.names) == 2 and rows.columns == ("x",)
    array = Memory(np.array([[1, 2**60], [2, 2**60 + 1]]))
    array.columns = array._table.columns = ("x", "person")
    assert len(array.assign_units("person")._units.names) == 2


# The promise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [events.Gaussian(2.0), events.Laplace(3.0), events.Pure(0.7), events.Choice(0.4)])
@pytest.mark.parametrize("size", [2, 3, 10])
def test_noise_for_many_rows_is_as_many_times_as_large(event, size):
    one = events.one_of(event, size)
    assert type(one) is type(event)
    scale = {"noise_multiplier": size, "scale": size, "epsilon": 1 / size}
    for name, factor in scale.items():
        if hasattr(event, name):
            assert getattr(one, name) == pytest.approx(getattr(event, name) * factor, rel=1e-14)
            # never in favour of less noise
            assert (getattr(one, name) - getattr(event, name) * factor) * (factor - 1) > 0


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 3.0, 300.0])
@pytest.mark.parametrize("size", [2, 7])
def test_of_epsilon_and_delta_remains_what_group_privacy_takes(epsilon, size):
    one = events.one_of(events.Approximate(epsilon, 1e-6), size)
    assert one.epsilon * size <= epsilon
    group = one.delta * np.sum(np.exp(np.arange(size, dtype=np.longdouble) * one.epsilon))
    assert 0.99e-6 < group <= 1e-6


def test_what_is_not_known_of_several_rows_is_refused():
    with pytest.raises(NotSupported, match="minimum"):
        events.one_of(events.Minimum(5.0, 0.2), 2)
    assert events.one_of(events.Minimum(5.0, 0.2), 1) == events.Minimum(5.0, 0.2)


def one(batch: Batch):
    return np.zeros(len(batch), int)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("limit", [None, 1, 4])
def test_the_ledger_is_charged_for_the_unit_and_the_noise_is_for_its_rows(limit, delta):
    X, y, people = rows_of()
    budget = Budget(1.0, delta, unit="person")
    curator = Curator(Memory(X, y, unit=people), Ledger(budget), bound=Bound(limit))
    share = budget.whole()
    found = curator.measure(BoundedSum(OneHot(one, 1), order=1 if delta == 0 else 2), share)
    alone = Curator(Memory(X, y), Ledger(Budget(1.0, delta)))
    row = alone.measure(BoundedSum(OneHot(one, 1), order=1 if delta == 0 else 2), Budget(1.0, delta).whole())
    assert found.std == pytest.approx((limit or 1) * row.std, rel=1e-6)
    assert found.event == row.event and accounting.epsilon(found.event, delta) <= 1.0
    assert found.budget.unit == "person" and "person" in str(found.budget)
    (entry,) = curator.ledger.entries
    assert entry.event == found.event


ROWS = 25  # of the unit that comes or goes


def counted(bound):
    """A count of rows, some of them of one person."""

    def run(people):
        budget = Budget(2.0, 1e-6)
        curator = Curator(Memory(np.ones((len(people), 1)), unit=people), Ledger(budget), bound=bound)
        return curator.measure(BoundedSum(OneHot(one, 1)), budget.whole())

    return run


FEW, MORE = np.arange(5), np.r_[np.arange(5), np.full(ROWS, 99)]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 1, 5])
def test_audit_of_a_unit_with_many_rows(limit):
    """False alarms: below 1e-6."""
    assert not audit(counted(Bound(limit)), FEW, MORE, runs=1000, confidence=1 - 1e-6).violated


def test_audit_finds_rows_that_are_not_bounded():
    """The same count, with noise for one row: the unit of many rows is seen at once."""
    assert audit(counted(None), FEW, MORE, runs=200, confidence=1 - 1e-6).violated


@pytest.mark.slow
@pytest.mark.parametrize("limit", [None, 3])
def test_audit_of_a_model_for_units(limit):
    """Nobody, against a person with many rows in a corner. False alarms: below 1e-6."""

    def run(rows):
        X = np.full((rows, 2), 1.0)
        model = LinearRegression(4.0, 1e-6, bounds=BOUNDS, unit=np.zeros(rows, int), max_rows_per_unit=limit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return model.fit(X, X[:, 0]).release_

    assert not audit(run, 0, ROWS, runs=400, delta=1e-6, confidence=1 - 1e-6).violated


def test_samples_and_blocks_go_by_units():
    X, y, people = rows_of()
    rows = Memory(X, y, unit=people).limit_rows_per_unit(100, coins())
    lot = rows.sample(0.3, coins(2))
    drawn = set(lot._units.codes)
    assert lot.count_replace_one() == np.isin(people, list(drawn)).sum()
    blocks = list(rows.split_into_blocks(4, coins(3)))
    held = [set(block._units.codes) for block in blocks]
    assert len(set.union(*held)) == np.sum([len(some) for some in held]) == len(np.unique(people))


# Estimators and statistics ----------------------------------------------------------------------------


def frame(seed=0, people=4000):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rng.geometric(0.4, people))
    table = pd.DataFrame(rng.uniform(-1, 1, (len(person), 2)), columns=["age", "dose"])
    table["person"] = person
    return table, 0.5 * table.age - 0.3 * table.dose + rng.normal(0, 0.05, len(table))


BOUNDS = Bounds([-1.0, -1.0], [1.0, 1.0], target=(-1.0, 1.0))


@pytest.mark.catalogue("DI7")
@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("kind", [lambda table: table, polars.from_pandas])
def test_a_unit_named_by_a_column(limit, kind):
    table, y = frame()
    model = LinearRegression(2.0, 1e-6, bounds=BOUNDS, unit="person", max_rows_per_unit=limit)
    fitted = clone(model).fit(kind(table), y.to_numpy())
    assert fitted.feature_names_in_.tolist() == ["age", "dose"]
    assert np.abs(fitted.coef_ - [0.5, -0.3]).max() < 0.05
    assert fitted.release_.unit == "person" and "add-remove one person" in str(fitted.release_.budget)
    with_and_without = fitted.predict(kind(table)), fitted.predict(kind(table[["age", "dose"]]))
    assert np.array_equal(*with_and_without)


def test_a_unit_named_by_an_array_gives_the_same():
    table, y = frame()
    for limit in (None, 2):
        options = {"bounds": BOUNDS, "max_rows_per_unit": limit, "random_state": 3}
        with pytest.warns(UserWarning):
            one = LinearRegression(2.0, 1e-6, unit="person", **options).fit(table, y)
            other = LinearRegression(2.0, 1e-6, unit=table.person.to_numpy(), **options).fit(table[["age", "dose"]], y)
        assert np.array_equal(one.coef_, other.coef_)


def test_an_account_for_people_takes_no_rows_and_the_reverse():
    table, y = frame(people=200)
    ledger = Ledger(Budget(3.0, 1e-5, unit="person"))
    LinearRegression(1.0, 1e-6, bounds=BOUNDS, unit="person", ledger=ledger).fit(table, y)
    with pytest.raises(LedgerError, match="person"):
        LinearRegression(1.0, 1e-6, bounds=BOUNDS, ledger=ledger).fit(table[["age", "dose"]], y)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("name", sorted(private_statistics()))
def test_statistics_keep_the_promise_for_units(name):
    check_units(Asked(private_statistics()[name]))


@pytest.mark.parametrize("name", sorted(set(private_statistics()) - {"iqr", "mad", "median", "quantile"}))
def test_statistics_with_gaussian_noise_keep_the_promise_for_units(name, monkeypatch):
    """The others choose among points; the same check catches noise that forgets how many rows a unit has."""
    statistic = private_statistics()[name]
    check_units(gaussian(statistic, 1.0))
    release = gaussian(statistic, 1.0).fit(np.zeros((20, 1))).release_
    assert any(isinstance(one, events.Gaussian) for one, _ in events.flatten(release.event))
    monkeypatch.setattr(Curator, "buys", Curator.costs)
    with pytest.raises(AssertionError, match="a unit with up to 6 of its rows"):
        check_units(gaussian(statistic, 1.0))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"unit": "nobody"}, ValueError, "no column 'nobody'"),
        ({"unit": "person", "neighbours": "replace-one"}, ValueError, "add-remove"),
        ({"unit": "person", "max_rows_per_unit": 0}, ValueError, "max_rows_per_unit"),
        ({"unit": "person", "max_rows_per_unit": 2.5}, ValueError, "max_rows_per_unit"),
        ({"unit": "person", "max_rows_per_unit": 2, "n": 100}, ValueError, "cannot be public"),
        ({"max_rows_per_unit": 2}, ValueError, "needs a `unit`"),
        ({"unit": np.zeros(3)}, ValueError, "unit for each row"),
        ({"unit": "row"}, ValueError, "rename"),
    ],
)
def test_bad_units_are_refused_and_nothing_is_charged(options, error, text):
    table, y = frame(people=50)
    ledger = Ledger(Budget(1.0, 1e-6, options.get("neighbours", "add-remove"), "person"))
    for ask in (
        lambda: LinearRegression(1.0, 1e-6, bounds=BOUNDS, ledger=ledger, **options).fit(table, y),
        lambda: mean(table[["age", "person"]], bounds=(-1, 1), ledger=ledger, **options),
    ):
        with pytest.raises(error, match=text):
            ask()
    assert ledger.entries == ()


def test_a_search_promises_to_its_unit():
    table, y = frame(people=400)
    model = LinearRegression(2.0, 1e-6, bounds=BOUNDS, unit="person", max_rows_per_unit=2)
    search = PrivateSearchCV(model, {"clip": [2.0, 3.0]}, ledger=Ledger(Budget(2.0, 1e-6, unit="person")))
    assert search.fit(table, y).release_.unit == "person"
    with pytest.raises(LedgerError, match="person"):
        clone(search).set_params(ledger=Ledger(Budget(2.0, 1e-6))).fit(table, y)


def test_models_do_not_show_who_they_learnt_from():
    table, y = frame(people=30)
    secret = np.array([f"patient {i}" for i in table.person], object)
    model = LinearRegression(1.0, 1e-6, bounds=BOUNDS, unit=secret)
    assert "patient" not in repr(model) and "unit='unit'" in repr(model)
    model.fit(table[["age", "dose"]], y)
    assert b"patient" not in pickle.dumps(model) and "patient" not in repr(pickle.loads(pickle.dumps(model)))
    with pytest.raises(TypeError, match="in memory"):
        model.predict(polars.from_pandas(table[["age", "dose"]]).lazy())


@pytest.mark.parametrize("kind", [np.array, lambda x: pd.Series(x), list])
@pytest.mark.filterwarnings("ignore:Unknown section")
def test_notebooks_and_pipelines_do_not_show_units(kind):
    """scikit-learn prints the values of parameters; within its own meta-estimators too."""
    model = LinearRegression(bounds=BOUNDS, unit=kind([f"patient {i}" for i in range(30)]))
    held = [model, make_pipeline(model), PrivateSearchCV(model, {"clip": [2.0]}), KernelRidge(unit=model.unit)]
    for one in held:
        shown = repr(one) + one._repr_html_() + str(one._repr_mimebundle_())
        assert "unit" in shown and "patient" not in shown
    assert model.get_params()["unit"] is model.unit and clone(model).get_params()["unit"][3] == "patient 3"


def test_a_stream_of_rounds_takes_no_unit():
    with pytest.raises(NotSupported, match="Rounds of a stream"):
        OnlineClassifier(1.0, 1e-6, unit=np.zeros(5)).partial_fit(np.zeros((5, 2)), np.zeros(5), classes=[0, 1])


def test_many_rows_of_one_person_do_not_carry_a_model_away():
    """A person with half of all rows, all wrong, moves a model that protects persons by little."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (4000, 2))
    y = (X[:, 0] > 0).astype(int)
    X, y = np.vstack([X, X]), np.r_[y, 1 - y]
    people = np.r_[np.arange(4000), np.full(4000, 9999)]
    bounds = Bounds([-1.0, -1.0], [1.0, 1.0], classes=[0, 1])
    model = LogisticRegression(1.0, 1e-6, bounds=bounds, unit=people).fit(X, y)
    assert model.score(X[:4000], y[:4000]) > 0.95


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
def test_models_inside_others_do_not_keep_whose_rows_they_learnt_from():
    X, y, people = rows_of()
    bounds = Bounds([-1] * 3, [1] * 3, target=(-1, 1))
    kernel = KernelRidge(n_components=3, bounds=bounds, unit=people).fit(X, y)
    public = PrivateSearchCV(
        LinearRegression(bounds=bounds, unit=people), {"method": ["ssp"]}, strategy="public", public=(X[:50], y[:50])
    ).fit(X, y)
    assert kernel.linear_.unit == public.best_estimator_.unit == "unit"
    assert kernel.unit is people  # as the caller gave it


def test_a_posterior_draw_expects_as_many_rows_more_as_a_unit_has():
    """`above` bounds the rows of neighbours, from noisy counts: a neighbour has a unit more, with all of its rows."""
    X, y, people = rows_of()
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "bound_rows_above", lambda *arguments: found.append(arguments[-1]) or 1e4)
        for limit in (1, 6):
            LinearRegression(
                method="posterior",
                bounds=Bounds([-1] * 3, [1] * 3, target=(-1, 1)),
                unit=people,
                max_rows_per_unit=limit,
            ).fit(X, y)
    assert found == [1, 6]
    count = Release("count", np.array([100.0]), 0.0, events.Gaussian(1.0), Budget(1.0, 1e-6))
    assert [posterior.bound_rows_above(count, 0.1, group) for group in (1, 6)] == [101.0, 106.0]
