"""All designs by name: reading them from a document, and making them for a question."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.local import design as choices
from discreet.local.caps import Cap, best_cap, half_cube
from discreet.local.cones import Cone, best_cone
from discreet.local.design import Design
from discreet.local.lasting import BitFlip, Loloha, Rappor
from discreet.local.lines import Hybrid, Laplace, Table, Window
from discreet.local.odds import ONE, odds_of
from discreet.local.several import OneOf

DESIGNS: dict[str, Any] = {
    "direct": choices.Direct,
    "coins": choices.Coins,
    "subset": choices.Subset,
    "projective": choices.Projective,
    "hash": choices.Hashed,
    "oue": choices.Unary,
    "sue": choices.Unary,
    "hadamard": choices.Hadamard,
    "cap": Cap,
    "table": Table,
    "window": Window,
    "hybrid": Hybrid,
    "laplace": Laplace,
    "cone": Cone,
    "one": OneOf,
    "loloha": Loloha,
    "rappor": Rappor,
    "bitflip": BitFlip,
}
"""The class of each design."""


def read_design(document: dict[str, Any]) -> Design:
    """The design of a document."""
    numbers = dict(document)
    if "parts" in numbers:
        numbers["parts"] = tuple(read_design(part) for part in numbers["parts"])
    method, size, odds = numbers.pop("method"), numbers.pop("size"), int(numbers.pop("odds"))
    made: Design = DESIGNS[method](size, odds, **numbers)
    return made


def make_number_design(method: str, epsilon: Fraction) -> Design:
    """The design of a method for one number; one bit below ε = 1, the table of least variance from there on."""
    from discreet.local import tables

    makers: dict[str, Callable[[], Design]] = {
        "auto": lambda: tables.best_table(epsilon) if epsilon >= 1 else best_cap(1, odds_of(epsilon)),
        "bit": lambda: best_cap(1, odds_of(epsilon)),
        "table": lambda: tables.best_table(epsilon),
        "piecewise": lambda: tables.best_window(epsilon),
        "hybrid": lambda: tables.best_hybrid(epsilon),
        "laplace": lambda: tables.best_laplace(epsilon),
    }
    return _pick(makers, method, "a number")


def make_vector_design(method: str, size: int, shape: str, epsilon: Fraction) -> Design:
    """The design of a method for several numbers: the best cap of the cube, or the best cone of the ball."""
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
    return _pick(makers, method, f"a vector of a {shape}")


def make_design_for(question: Any, epsilon: Fraction) -> Design:
    """The design that `auto` takes for a question."""
    if question.kind == "number":
        return make_number_design("auto", epsilon)
    if question.kind == "vector":
        return make_vector_design("auto", question.size, question.shape, epsilon)
    return choices.choose_design(question.size, epsilon)


def make_row_design(question: Any, epsilon: Fraction) -> Design:
    """The design for products or gradients of a row."""
    return make_vector_design("auto", question.size, "ball" if question.kind == "gradient" else "cube", epsilon)


def make_one_of(question: Any, epsilon: Fraction) -> OneOf:
    """One of the parts of a question, with the whole ε."""
    parts = tuple(make_design_for(part, epsilon) for part in question.parts)
    return OneOf(len(parts), max(part.odds for part in parts), parts)


def make_square_wave(levels: int, epsilon: Fraction) -> Window:
    """The window by which most is told of a distribution: Li et al. 2020."""
    odds, rate = odds_of(epsilon), float(epsilon)
    power = odds / ONE
    half = (rate * power - power + 1) / (2 * power * (power - 1 - rate))
    return Window(levels, odds, 2 * int(half * levels) + 1)


def _pick(makers: dict[str, Callable[[], Design]], method: str, what: str) -> Design:
    if method not in makers:
        raise ValueError(f"The `method` of {what} must be one of {', '.join(makers)}. Got {method!r}.")
    return makers[method]()
