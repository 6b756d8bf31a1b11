"""Labels: one strange label changes nothing for the others, and is not told."""

import decimal
import pickle
import warnings
from collections import deque

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from discreet import Bounds, Budget, Ledger, NoiseWarning, NotPrivateWarning, stats
from discreet.engines.memory import Memory
from discreet.labels import canonical, codes_of
from discreet.models import (
    BayesianLinearRegression,
    LinearRegression,
    LogisticRegression,
    OnlineClassifier,
    PrivateSearchCV,
    Ridge,
    SGDClassifier,
)

from .lazy import pd

X = np.random.default_rng(0).uniform(-1, 1, (6000, 2))
SIDE = (X[:, 0] > 0).astype(int)


class Odd:
    """A label that does harm."""

    def __hash__(self):
        raise RuntimeError("secret 42")

    def __eq__(self, other):
        raise RuntimeError("secret 42")


def fitted(y, **options):
    options = {"epsilon": 50.0, "bounds": Bounds(-1, 1), "random_state": 1} | options
    with pytest.warns(NotPrivateWarning):
        return LogisticRegression(**options).fit(X, y)


@pytest.mark.parametrize("form", ["Int64", "polars", "category"])
def test_one_missing_label_leaves_the_others_as_they_are(form):
    """Large whole numbers, which floats would confuse."""
    large = SIDE + 2**53
    column = large.astype(object)
    column[17] = None
    series = {
        "Int64": lambda: pd.Series(column, dtype="Int64"),
        "polars": lambda: pl.Series(column.tolist(), dtype=pl.Int64),
        "category": lambda: pd.Series(pd.Categorical(column, categories=[2**53, 2**53 + 1])),
    }[form]()
    codes = Memory(X, series, labels=True).encode_targets([2**53, 2**53 + 1]).read_targets()
    assert np.isnan(codes[17]) and np.array_equal(np.delete(codes, 17), np.delete(SIDE, 17))
    found = Memory(X, series, labels=True).count_labels()
    assert set(found) == {2**53, 2**53 + 1} and all(type(label) is int for label in found)


def test_the_form_of_a_label_found_is_nobodys_own():
    whole = SIDE.astype(object)
    for first in (whole[0], float(whole[0]), np.int32(whole[0]), bool(whole[0])):
        other = whole.copy()
        other[0] = first
        labels = fitted(other).classes_
        assert labels.dtype == np.int64 and labels.tolist() == [0, 1]
    floats = SIDE.astype(float)
    assert floats[SIDE == 0][0] == 0
    signed = floats.copy()
    signed[np.flatnonzero(SIDE == 0)[0]] = -0.0
    assert np.array_equal(np.signbit(fitted(signed).classes_), np.signbit(fitted(floats).classes_))


STRANGE = {
    "NA": pd.NA,
    "None": None,
    "unhashable within": (1, [2]),
    "signalling": decimal.Decimal("sNaN"),
    "harmful": Odd(),
    "list": [1],
    "nan": np.nan,
}


@pytest.mark.parametrize("strange", STRANGE)
def test_a_strange_label_raises_nothing_and_is_not_told(strange):
    y = np.array(["left", "right"], dtype=object)[SIDE]
    y[5] = STRANGE[strange]
    for options in ({}, {"classes": ["left", "right"]}):
        model = fitted(y, **options)
        assert model.classes_.tolist() == ["left", "right"] and model.score(X[:5], y[:5]) > 0.5
    assert b"secret" not in pickle.dumps(model)


CELLS = {
    "one": [1],
    "many": [1, 2],
    "none": [],
    "nested": [[1]],
    "tuple": (1, 2),
    "array": np.zeros((2, 2)),
    "array of one": np.ones((1, 1)),
    "dict": {"a": [1]},
    "deque": deque([1]),
}


@pytest.mark.filterwarnings("ignore::discreet.NoiseWarning")
@pytest.mark.parametrize("kind", [list, tuple, deque])
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_that_is_a_list_raises_nothing_wherever_it_is(cell, kind):
    """In one row, in the first, or in all of them: no error and no warning, in data, labels, targets and units."""
    cell, plain, few = CELLS[cell], [0.1, "b", 0.3, "a"], np.linspace(0, 1, 4)[:, None]
    line, classes = Bounds([0], [1], target=(0, 1)), Bounds([0], [1], classes=("a", "b"))
    for cells in ([cell, *plain[1:]], [*plain[:2], cell, plain[3]], [cell] * 4):
        column, rows = kind(cells), kind([[one] for one in cells])
        for seen in (
            stats.mean(column, bounds=(0, 1)),
            stats.median(column, bounds=(0, 1)),
            stats.count(column),
            stats.histogram(column, categories=["a", "b"]),
            *(stats.mean(few, bounds=(0, 1), unit=column, max_rows_per_unit=limit) for limit in (None, 2)),
            LogisticRegression(bounds=classes).fit(few, column).release_,
            LinearRegression(bounds=line).fit(few, column).release_,
            LinearRegression(bounds=line).fit(rows, few[:, 0]).release_,
        ):
            assert seen.epsilon == 1.0


def test_tuples_as_classes_do_not_meet_arrays():
    assert codes_of(np.arange(4), [(0, 1), (2, 3)]).tolist() == [-1] * 4
    pairs = np.empty(3, dtype=object)
    pairs[:] = [(0, 1), (2, 3), 7]
    assert codes_of(pairs, [(0, 1), (2, 3)]).tolist() == [0, 1, -1]


def test_canonical_labels_are_equal_where_they_were():
    values = [0, 0.0, -0.0, False, np.float32(0), 1, True, 1.5, np.float64(1.5), "1", np.str_("1"), 2**60, float(2**60)]
    for a in values:
        for b in values:
            assert (canonical(a) == canonical(b)) == (a == b)
            assert a != b or type(canonical(a)) is type(canonical(b))


@pytest.mark.parametrize("method", ["auto", "quadratic", "gradient"])
def test_a_single_class_found_is_what_is_predicted(method):
    model = fitted(np.full(6000, "only"), method=method)
    assert np.isfinite(model.coef_).all() and set(model.predict(X)) == {"only"}
    assert model.predict_proba(X).tolist() == [[1.0]] * 6000


COLUMNS = {
    "numpy": lambda values: np.array(values),
    "pandas": lambda values: pd.Series(values, dtype="string" if isinstance(values[0], str) else "Int64"),
    "polars": lambda values: pl.Series(values),
}
NUMBERS, TEXT = [0, 1] * 30, ["0", "1"] * 30


@pytest.mark.parametrize("form", COLUMNS)
@pytest.mark.parametrize(("y", "classes"), [(NUMBERS, ["0", "1"]), (TEXT, [0, 1]), (TEXT, [False, 1.5])])
def test_labels_of_a_type_that_no_class_has_are_refused_before_anything_is_charged(form, y, classes):
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(TypeError, match="no row would be of any class"):
        LogisticRegression(classes=classes, ledger=ledger).fit(X[:60], COLUMNS[form](y))
    assert not ledger.entries
    with pytest.raises(TypeError, match="no row would be of any class"):
        SGDClassifier(bounds=Bounds(-1, 1, classes=classes), ledger=ledger).fit(X[:60], COLUMNS[form](y))
    search = PrivateSearchCV(LogisticRegression(bounds=Bounds(-1, 1), classes=classes), {"clip": [1.0, 2.0]})
    with pytest.raises(TypeError, match="no row would be of any class"):
        search.set_params(ledger=ledger).fit(X[:60], COLUMNS[form](y))
    assert not ledger.entries


def test_rows_behind_an_engine_are_refused_by_type_too():
    with pytest.raises(TypeError, match="The y of LogisticRegression is text, and all of its `classes` are numbers"):
        LogisticRegression(classes=[0, 1]).fit(Memory(X[:60], np.array(TEXT), labels=True))


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array(NUMBERS, dtype=object), ["0", "1"]),  # objects may be anything
        (NUMBERS, ["0", "1"]),  # and so may a list
        (np.array(NUMBERS, dtype=bool), [0, 1]),
        (np.array(NUMBERS), [0.0, 1.0]),
        (np.array(NUMBERS), ["0", 1]),
        (np.array(NUMBERS), [decimal.Decimal(0), decimal.Decimal(1)]),
        (np.array(NUMBERS), [(0, 1), (1, 0)]),
        (pd.Series(TEXT, dtype="category"), ["0", "1"]),
    ],
)
def test_other_labels_are_not_refused(y, classes):
    with pytest.warns((NoiseWarning, NotPrivateWarning)):
        model = LogisticRegression(bounds=Bounds(-1, 1), classes=classes, n=60, random_state=1).fit(X[:60], y)
    assert model.classes_.tolist() == sorted(classes, key=str)


@pytest.mark.parametrize("classes", ["ab", b"ab"])
def test_classes_are_a_list_and_no_text(classes):
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(TypeError, match="must be a list of labels"):
        Bounds(-1, 1, classes=classes)
    with pytest.raises(TypeError, match=r"must be a list of labels.*Hint"):
        LogisticRegression(classes=classes, ledger=ledger).fit(X[:60], np.array(TEXT))
    with pytest.raises(TypeError, match="must be a list of labels"):
        OnlineClassifier(bounds=Bounds(-1, 1), ledger=ledger).partial_fit(X[:60], np.array(TEXT), classes=classes)
    assert not ledger.entries


WIDE = np.zeros((3, 4096))
TOO_WIDE = {
    "auto": LogisticRegression(classes=[0, 1]),
    "sgd": LogisticRegression(classes=[0, 1], method="sgd"),
    "gradient": LogisticRegression(classes=[0, 1], method="gradient"),
    "quadratic": LogisticRegression(bounds=Bounds(-1, 1, classes=[0, 1]), method="quadratic"),
    "SGD": SGDClassifier(classes=[0, 1]),
    "online": OnlineClassifier(bounds=Bounds(-1, 1, classes=[0, 1])),
    "linear": LinearRegression(),
    "ridge": Ridge(bounds=Bounds(-1, 1, target=(-1, 1))),
    "search": PrivateSearchCV(LogisticRegression(bounds=Bounds(-1, 1), classes=[0, 1]), {"clip": [1.0, 2.0]}),
}


@pytest.mark.parametrize("name", TOO_WIDE)
def test_too_many_columns_are_refused_before_anything_is_charged(name):
    ledger = Ledger(Budget(1.0, 1e-6))
    with pytest.raises(ValueError, match=r"at most 4,095 columns. Got 4,096. Hint: .*RandomProjection"):
        clone(TOO_WIDE[name]).set_params(ledger=ledger).fit(WIDE, [0, 1, 0])
    assert not ledger.entries


def test_a_target_is_a_column_of_a_posterior():
    model = BayesianLinearRegression(bounds=Bounds(-1, 1, target=(-1, 1)))
    with pytest.raises(ValueError, match=r"at most 4,094 columns. Got 4,095"):
        model.fit(WIDE[:, 1:], [0.0, 1.0, 0.0])


def test_without_an_intercept_there_is_room_for_one_more_column():
    bounds = Bounds(-1, 1, classes=[0, 1])
    with pytest.raises(ValueError, match=r"at most 4,096 columns. Got 4,097"):
        SGDClassifier(bounds=bounds, fit_intercept=False).fit(np.zeros((3, 4097)), [0, 1, 0])
    model = SGDClassifier(bounds=bounds, fit_intercept=False, epochs=1, rate=0.5).fit(WIDE, [0, 1, 0])
    assert model.coef_.shape == (1, 4096) and np.isfinite(model.coef_).all()


def test_minima_take_any_number_of_columns():
    with pytest.raises(ValueError, match='method="objective"'):
        LogisticRegression(classes=[0, 1]).fit(np.zeros((3, 5000)), [0, 1, 0])
    for method in ("objective", "output"):
        model = LogisticRegression(bounds=Bounds(-1, 1, classes=[0, 1]), method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoiseWarning)
            model.fit(np.zeros((3, 5000)), [0, 1, 0])
        assert model.coef_.shape == (1, 5000) and np.isfinite(model.coef_).all()
