"""Bounds, budgets, events, releases."""

import copy
import json
import pickle
import re

import numpy as np
import pytest

from discreet import Bounds, Budget, Ledger, Release, VersionError
from discreet.arguments import check_positive, check_whole
from discreet.budget import choice
from discreet.curator import Bound
from discreet.events import (
    Approximate,
    Choice,
    Composed,
    Event,
    Gaussian,
    Laplace,
    Pure,
    Repeated,
    Sampled,
    flatten,
)

from .lazy import pd

EVENTS = [
    Gaussian(1.5),
    Laplace(2.0),
    Pure(0.3),
    Choice(0.2),
    Choice(0.2, "permute-and-flip"),
    Approximate(0.1, 1e-9),
    Sampled(0.01, Gaussian(1.0)),
    Composed((Gaussian(1.0), Repeated(Sampled(0.5, Composed((Laplace(1.0), Gaussian(2.0)))), 3))),
]


@pytest.mark.parametrize(
    ("lower", "upper", "says"),
    [
        (1, 0, "lower < upper"),
        (0, np.inf, "finite"),
        (np.nan, 1, "finite"),
        ([0, 5], [1, 5], "feature 1"),
        ("a", 1, "numbers"),
        ([[0]], [[1]], "flat"),
        ({"age": (3, 2)}, None, "'age'"),
        ({"age": 3}, None, "pair"),
        (0, None, "upper"),
    ],
)
def test_bounds_that_are_wrong(lower, upper, says):
    with pytest.raises(ValueError, match=says):
        Bounds(lower, upper)


def test_bounds_match_columns_by_name():
    bounds = Bounds({"b": (0, 2), "a": (-1, 1)}, target=(0, 9))
    matched = bounds.matched(2, ("a", "b"))
    assert matched.lower.tolist() == [-1, 0] and matched.target == (0, 9)
    with pytest.raises(ValueError, match=r"no bounds for \['c'\]"):
        bounds.matched(3, ("a", "b", "c"))
    with pytest.raises(ValueError, match=r"not in the data: \['b'\]"):
        bounds.matched(1, ("a",))
    with pytest.raises(ValueError, match="2 features, the data have 3"):
        bounds.matched(3)


def test_bounds_are_values():
    bounds = Bounds([0, 1], [2, 3], target=(0, 1), classes=(0, 1))
    for same in (copy.deepcopy(bounds), pickle.loads(pickle.dumps(bounds)), eval(repr(bounds))):
        assert same == bounds and hash(same) == hash(bounds)
    named = Bounds({"a": (0, 1)})
    assert pickle.loads(pickle.dumps(named)).columns == ("a",)
    with pytest.raises(AttributeError, match="public facts"):
        bounds.target = (0, 2)
    with pytest.raises(ValueError, match="read-only"):
        bounds.lower[0] = 5
    with pytest.raises(ValueError, match="distinct"):
        Bounds(0, 1, classes=("a", "a"))


def test_scaling_clips_and_drops_what_is_not_finite():
    bounds = Bounds(0, 10, target=(0, 1))
    scaled = bounds.scale(np.array([[-5.0, 0, 5, 20, 1e308, np.inf, -np.inf, np.nan]]))[0]
    assert scaled[:5].tolist() == [-1, -1, 0, 1, 1] and np.isnan(scaled[5:]).all()
    with pytest.raises(ValueError, match="target"):
        Bounds(0, 1).scale_target(np.zeros(1))


@pytest.mark.catalogue("CO1")
@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"epsilon": 0}, ValueError, "epsilon.*> 0. Got 0.0"),
        ({"epsilon": -1}, ValueError, "Got -1.0"),
        ({"epsilon": float("inf")}, ValueError, "finite"),
        ({"epsilon": "1"}, TypeError, "number"),
        ({"epsilon": 1, "delta": 1}, ValueError, "delta"),
        ({"epsilon": 1, "delta": -1e-9}, ValueError, "delta"),
        ({"epsilon": 1, "neighbours": "both"}, ValueError, "neighbours"),
        ({"epsilon": 1, "unit": ""}, ValueError, "unit"),
    ],
)
def test_budgets_that_are_wrong(options, error, says):
    with pytest.raises(error, match=says):
        Budget(**options)


@pytest.mark.catalogue("CO2")
def test_group_privacy_and_relations():
    group = Budget(0.5, 1e-9).group(3)
    assert group.epsilon == 1.5 and group.delta == pytest.approx(3 * np.exp(1.0) * 1e-9)
    other = Budget(0.5, 1e-9).as_replace_one()
    assert (other.epsilon, other.neighbours) == (1.0, "replace-one")
    assert other.as_replace_one() == other
    with pytest.raises(ValueError, match="Nothing is promised"):
        Budget(5.0, 1e-3).group(4)
    with pytest.raises(ValueError, match="whole number"):
        Budget(1.0).group(0)


def test_shares():
    a, b = Budget(1.0).split(1, choice(3))
    assert (a.kind, b.kind) == ("noise", "choice") and a.plan is b.plan and a.plan.weights == (0.25, 0.75)
    for wrong in ((), (0,), (-1,), (float("nan"),)):
        with pytest.raises(ValueError):
            Budget(1.0).split(*wrong)
    with pytest.raises(TypeError):
        Budget(1.0).split("1")


@pytest.mark.catalogue("CO7")
def test_explain_gives_the_odds():
    text = Budget(1.0, 1e-6).explain()
    assert "73.1%" in text and "26.9%" in text and "2.7%" in text and "δ = 1e-06" in text
    assert "value and not another" in Budget(1.0, neighbours="replace-one").explain()


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_events_survive_json(event):
    assert Event.from_dict(json.loads(json.dumps(event.to_dict()))) == event
    assert hash(event) == hash(copy.deepcopy(event))


def test_events_of_another_version_are_refused():
    for document in ({"version": 2, "kind": "gaussian"}, {"version": 1, "kind": "magic"}, {}):
        with pytest.raises(VersionError, match="version"):
            Event.from_dict(document)


def test_events_that_are_wrong():
    for make in (
        lambda: Gaussian(0),
        lambda: Gaussian(float("inf")),
        lambda: Laplace(-1),
        lambda: Sampled(1.5, Gaussian(1)),
        lambda: Choice(1, "best"),
        lambda: Approximate(1, 2),
        lambda: Repeated(Gaussian(1), -1),
    ):
        with pytest.raises(ValueError):
            make()


def test_repetition_is_multiplied_out_once():
    event = Repeated(Composed((Laplace(1.0), Repeated(Laplace(2.0), 5))), 2)
    assert list(flatten(event)) == [(Laplace(1.0), 2), (Laplace(2.0), 10)]
    assert list(flatten(Repeated(Laplace(1.0), 0))) == []


def release(**changes):
    part = Release("sum", np.arange(4.0).reshape(2, 2), 0.5, Gaussian(2.0), Budget(1, 1e-6))
    fields = {
        "name": "mean",
        "value": 1.5,
        "std": 0.25,
        "event": Composed((Gaussian(2.0),)),
        "budget": Budget(1, 1e-6),
        "interval": (1.0, 2.0),
        "confidence": 0.95,
        "data": "claims",
        "parts": (part,),
        "notes": ("a remark",),
        "axes": (("a", "b"),),
    }
    return Release(**(fields | changes))


def test_releases_survive_json_and_print():
    one = release()
    again = Release.from_json(one.to_json())
    assert again.to_json() == one.to_json() and again.budget == one.budget and again.axes == one.axes
    assert float(again) == 1.5 and np.asarray(again.parts[0]).shape == (2, 2)
    text = str(one)
    for word in ("mean = 1.5", "95% interval", "ε = 1", "claims", "add-remove one row", "a remark"):
        assert word in text
    assert "NOT PRIVATE" in str(release(seeded=True)) and "NOT PRIVATE" in repr(release(seeded=True))


def test_releases_of_another_version_are_refused():
    document = json.loads(release().to_json())
    for wrong in (json.dumps(document | {"version": 99}), json.dumps({"a": 1}), "[]", "not json"):
        with pytest.raises(VersionError):
            Release.from_json(wrong)


def test_a_series_of_pandas_can_be_asked_for():
    assert float(pd.Series([1.5]).iloc[0]) == float(release())


# Arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, 2.0, "2", None, 0, np.int64(-1), np.bool_(True)])
def test_what_is_no_whole_number_above_zero(value):
    with pytest.raises(
        ValueError, match=rf"^The `k` of X must be a whole number >= 1\. Got {re.escape(repr(value))}\.$"
    ):
        check_whole("X", "k", value)


@pytest.mark.parametrize("value", [True, "2", None, 0, -1.0, np.nan, np.inf, 1j])
def test_what_is_no_finite_number_above_zero(value):
    with pytest.raises(ValueError, match=rf"^The `k` must be a finite number > 0\. Got {re.escape(repr(value))}\.$"):
        check_positive("", "k", value)


def test_numbers_of_numpy_become_those_of_python():
    for found in (
        check_whole("X", "k", np.uint8(3)),
        Repeated(Gaussian(1.0), np.int32(3)).times,
        Bound(np.int64(3)).limit,
        Ledger(Budget(1.0, 1e-6), currency="renyi", order=np.int64(3)).currency.order,
    ):
        assert type(found) is int and found == 3
    assert check_positive("X", "k", np.float32(0.5)) == 0.5
    with pytest.raises(ValueError, match="must be a whole number from 1 to 9, or None"):
        check_whole("X", "k", 10, 1, 9, optional=True)
