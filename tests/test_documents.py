"""Documents: what is broken is refused by one kind of error."""

import pytest

from discreet.documents import dump, load, of_form

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
