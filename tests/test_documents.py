"""Documents: what is broken is refused by one kind of error."""

import inspect
import json

import pytest

from discreet import Bounds, models, stats
from discreet.documents import dump, load, of_form
from discreet.documents.registered_names import PLACES, find, name_of

BROKEN = [
    {"float": "one"},
    {"fraction": [1, 0]},
    {"fraction": ["a", "b"]},
    {"fraction": 3},
    {"tuple": None},
    {"dict": [[1]]},
    {"dict": [[["a list"], 1]]},
    {"bytes": 7},
    {"scalar": ["<f8", ""]},
    {"scalar": ["no type", "AAAA"]},
    {"array": []},
    {"array": ["<f8", "shape", "C", True, ""]},
    {"objects": [[2], None]},
    {"object": ["discreet.budget", "Budget", None]},
    {"object": ["discreet.budget", "Nobody", {}]},
    {"object": ["discreet.models.nowhere", "Budget", {}]},
    {"object": [3, "Budget", {}]},
    {"object": ["discreet.budget", 3, {}]},
    {"unknown": 1},
]


@pytest.mark.parametrize("form", BROKEN, ids=str)
def test_a_broken_form_is_a_value_error(form):
    for whole in (form, [form], {"tuple": [form]}):
        with pytest.raises(ValueError, match=r"\w"):
            of_form(whole)


def test_what_is_whole_comes_back():
    value = {"a": (1, 0.5, float("inf")), "b": b"x"}
    assert load(dump(value)) == value


def test_every_registered_name_is_where_it_is_said_to_be():
    for name in PLACES:
        assert name_of(find(name)) == name


def test_all_that_is_public_has_a_name():
    """What is saved, and what the keys of retried runs are made of: all that is no base of others and keeps nothing."""
    for name in models.__all__:
        public = getattr(models, name)
        if isinstance(public, type) and not inspect.isabstract(public):
            assert name_of(public) == f"models.{name}"
    for name in stats.__all__:
        assert name_of(getattr(stats, name)) == f"stats.{name}"


def test_documents_of_before_names_were_registered_are_read():
    bounds = Bounds(0, 1)
    former = dump(bounds, former=True)
    assert json.loads(former)["object"][:2] == ["discreet.bounds", "Bounds"]
    assert json.loads(dump(bounds))["object"][0] == "bounds.Bounds"
    assert load(former) == load(dump(bounds)) == bounds
