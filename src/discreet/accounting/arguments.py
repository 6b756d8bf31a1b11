"""Checks of the numbers handed to accounting."""

from __future__ import annotations

import math

from discreet.arguments import check_whole


def positive(name: str, value: float) -> float:
    """The value as a float, if it is finite and > 0.

    >>> positive("epsilon", -1)
    Traceback (most recent call last):
    ValueError: The `epsilon` must be > 0. Got -1.
    """
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"The `{name}` must be > 0{'' if value <= 0 else ' and finite'}. Got {value!r}.")
    return float(value)


def non_negative(name: str, value: float) -> float:
    """The value as a float, if it is finite and ≥ 0."""
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(f"The `{name}` must be >= 0{'' if value < 0 else ' and finite'}. Got {value!r}.")
    return float(value)


def probability(name: str, value: float, *, zero: bool = True) -> float:
    """The value as a float, if it is in [0, 1), or in (0, 1) where `zero` is not allowed."""
    if not (0 <= value < 1) or (value == 0 and not zero):
        raise ValueError(f"The `{name}` must be within {'[' if zero else '('}0, 1). Got {value!r}.")
    return float(value)


def whole(name: str, value: float, least: int) -> int:
    """The value, if it is a whole number not below `least`; it may be a float."""
    return check_whole("", name, int(value) if isinstance(value, float) and value.is_integer() else value, least)
