"""All designs by name: reading one from a document, and making one for a question."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.local import design as choices
from discreet.local.design import Design
from discreet.local.odds import ONE, odds_of

if TYPE_CHECKING:
    from discreet.local.lines import WindowDesign
    from discreet.local.several import OneOf

DESIGNS = {
    **dict.fromkeys(("direct", "coins", "subset", "projective", "hash", "oue", "sue", "hadamard"), "design"),
    **dict.fromkeys(("table", "window", "hybrid", "laplace"), "lines"),
    **dict.fromkeys(("loloha", "rappor", "bitflip"), "lasting"),
    "cap": "caps",
    "cone": "cones",
    "one": "several",
}
"""The module of each design: a device imports only those that it needs."""


def find_design(method: str) -> Any:
    """The class of the design with this method.

    >>> find_design("cap").__name__
    'Cap'
    """
    module = import_module(f"discreet.local.{DESIGNS[method]}")
    if method in ("oue", "sue"):
        return choices.Unary
    return next(one for one in vars(module).values() if getattr(one, "method", None) == method)


def read_design(document: dict[str, Any]) -> Design:
    """The design that a document describes."""
    numbers = dict(document)
    if "parts" in numbers:
        numbers["parts"] = tuple(read_design(part) for part in numbers["parts"])
    method, size, odds = numbers.pop("method"), numbers.pop("size"), int(numbers.pop("odds"))
    made: Design = find_design(method)(size, odds, **numbers)
    return made


def make_number_design(method: str, epsilon: Fraction) -> Design:
    """The design of a method for one number; "auto" is one bit below ε = 1, and else the table of least variance."""
    from discreet.local import tables
    from discreet.local.caps import best_cap

    makers: dict[str, Callable[[], Design]] = {
        "auto": lambda: tables.best_table(epsilon) if epsilon >= 1 else best_cap(1, odds_of(epsilon)),
        "bit": lambda: best_cap(1, odds_of(epsilon)),
        "table": lambda: tables.best_table(epsilon),
        "piecewise": lambda: tables.best_window(epsilon),
        "hybrid": lambda: tables.best_hybrid(epsilon),
        "laplace": lambda: tables.best_laplace(epsilon),
    }
    return _call_maker(makers, method, "a number")


def make_vector_design(method: str, size: int, shape: str, epsilon: Fraction) -> Design:
    """The design of a method for a vector; "auto" is the best cap of the cube, or the best cone of the ball."""
    from discreet.local.caps import Cap, best_cap, half_cube
    from discreet.local.cones import Cone, best_cone

    odds = odds_of(epsilon)
    if shape == "cube":
        makers: dict[str, Callable[[], Design]] = {
            "auto": lambda: best_cap(size, odds),
            "cap": lambda: best_cap(size, odds),
            "sparse": lambda: Cap(size, odds),
            "vertices": lambda: half_cube(size, odds),
        }
    else:
        makers = {
            "auto": lambda: best_cone(size, odds),
            "privunitg": lambda: best_cone(size, odds),
            "hemisphere": lambda: Cone(size, odds),
        }
    return _call_maker(makers, method, f"a vector of a {shape}")


def make_design_for(question: Any, epsilon: Fraction) -> Design:
    """The default design for a question."""
    if question.kind == "number":
        return make_number_design("auto", epsilon)
    if question.kind == "vector":
        return make_vector_design("auto", question.size, question.shape, epsilon)
    return choices.choose_design(question.size, epsilon)


def make_row_design(question: Any, epsilon: Fraction) -> Design:
    """The default design for products or gradients of a row."""
    return make_vector_design("auto", question.size, "ball" if question.kind == "gradient" else "cube", epsilon)


def make_one_of(question: Any, epsilon: Fraction) -> OneOf:
    """A design that answers one of the parts of a question, with the whole ε."""
    from discreet.local.several import OneOf

    parts = tuple(make_design_for(part, epsilon) for part in question.parts)
    return OneOf(len(parts), max(part.odds for part in parts), parts)


def make_square_wave(levels: int, epsilon: Fraction) -> WindowDesign:
    """The window that is best for estimating a distribution: Li et al. 2020."""
    from discreet.local.lines import WindowDesign

    odds, rate = odds_of(epsilon), float(epsilon)
    power = odds / ONE
    half = (rate * power - power + 1) / (2 * power * (power - 1 - rate))
    return WindowDesign(levels, odds, 2 * int(half * levels) + 1)


def _call_maker(makers: dict[str, Callable[[], Design]], method: str, what: str) -> Design:
    if method not in makers:
        raise ValueError(f"The `method` of {what} must be one of {', '.join(makers)}. Got {method!r}.")
    return makers[method]()
