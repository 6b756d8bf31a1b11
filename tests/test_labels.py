"""Labels: one strange label changes nothing for the others, and is not told."""

import decimal
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet import Bounds, NotPrivateWarning
from discreet.engines.memory import Memory
from discreet.labels import canonical, codes_of
from discreet.models import LogisticRegression

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
    codes = Memory(X, series, labels=True).coded([2**53, 2**53 + 1]).targets()
    assert np.isnan(codes[17]) and np.array_equal(np.delete(codes, 17), np.delete(SIDE, 17))
    found = Memory(X, series, labels=True).tally()
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
