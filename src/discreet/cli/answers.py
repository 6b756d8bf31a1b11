"""Answers: what was typed about a table, as privacy.toml takes it; or a sentence about why it cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from discreet.budget.budget import NO_GUARANTEE
from discreet.cli.columns import KINDS, Column
from discreet.cli.options import listed


def range_of(name: str, text: str) -> tuple[float, float]:
    """Two numbers, low and high."""
    ends = text.replace(":", " ").replace(",", " ").split()
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        raise ValueError(f"The range of {name!r} must be two numbers, such as 0:120. Got {text!r}.") from None
    return low, high


def values_of(name: str, text: str, sort: str) -> tuple[Any, ...]:
    """What commas separate, by what the schema says the column holds.

    Where it says nothing, numbers if all are, and have no zeros in front, which a code would have.
    """
    parts = tuple(listed(text))
    if sort == "truth":
        return _truths(name, parts)
    if sort == "text" or any(part.lstrip("-").startswith("0") and part not in ("0", "-0") for part in parts):
        return parts
    for read in (int, float):
        try:
            return tuple(read(part) for part in parts)
        except ValueError:
            continue
    return parts


def _truths(name: str, parts: tuple[str, ...]) -> tuple[bool, ...]:
    words = {"true": True, "false": False}
    if any(part.lower() not in words for part in parts):
        raise ValueError(f"The column {name!r} holds true and false. Hint: --category {name}=false,true.")
    return tuple(words[part.lower()] for part in parts)


def kind(text: str) -> str:
    """What a column is, by its first letters.

    >>> kind("n"), kind("category"), kind("S")
    ('number', 'category', 'skip')
    """
    found = [one for one in KINDS if text and one.startswith(text.lower())]
    if not found:
        raise ValueError(f"It must be one of {', '.join(KINDS)}. Got {text!r}.")
    return found[0]


def ranged(name: str, text: str) -> Column:
    """A column of numbers within a range, whole ones if it says so."""
    ends = text.removesuffix("whole")
    return Column(name, "number", *range_of(name, ends), whole=ends != text)


def valued(name: str, sort: str, text: str) -> Column:
    """A column of categories."""
    return Column(name, "category", values=values_of(name, text, sort))


def whole(text: str) -> int | None:
    """A whole number, or none."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"It must be a whole number >= 1, or empty. Got {text!r}.")
    return int(text)


def epsilon(text: str) -> float:
    """An ε."""
    return _number(text, "It must be a number > 0.", lambda epsilon: epsilon > 0)


def delta(text: str) -> float:
    """A δ that guarantees something."""
    return _number(text, "It must be 0, or a small number such as 1e-6.", lambda delta: 0 <= delta < NO_GUARANTEE)


def _number(text: str, rule: str, fine: Callable[[float], bool]) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and fine(number)):
        raise ValueError(f"{rule} Got {text!r}.")
    return number
