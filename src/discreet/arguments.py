"""Arguments: what numbers handed to the library must be, and the one sentence that says so where they are not."""

from __future__ import annotations

import math
import numbers
from typing import Any, TypeGuard


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether a value is a whole number, of Python or of NumPy.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a real number, of Python or of NumPy; it may be infinite, or NaN.

    >>> is_number(0.5), is_number("0.5"), is_number(False)
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_whole(
    owner: str, name: str, value: Any, least: int = 1, most: int | None = None, *, optional: bool = False, why: str = ""
) -> int:
    """The value as a Python integer; raises unless it is a whole number within the limits.

    Parameters
    ----------
    owner, name : for the message: the `name` of whom; "" where a name says enough.
    least, most : the limits; no upper one if None.
    optional : whether the message says that None is possible; whoever calls sees to it.
    why : what the message says of the rule.

    Examples
    --------
    >>> check_whole("a plan", "rounds", 0)
    Traceback (most recent call last):
    ValueError: The `rounds` of a plan must be a whole number >= 1. Got 0.
    """
    if not is_whole(value) or value < least or (most is not None and value > most):
        limits = f">= {least}" if most is None else f"from {least} to {most}"
        none = ", or None" * optional
        raise ValueError(f"{_called(owner, name)} must be a whole number {limits}{none}{why}. Got {value!r}.")
    return int(value)


def check_positive(owner: str, name: str, value: Any, *, optional: bool = False) -> float:
    """The value as a float; raises unless it is a finite number above zero.

    >>> check_positive("KMeans", "radius", -1)
    Traceback (most recent call last):
    ValueError: The `radius` of KMeans must be a finite number > 0. Got -1.
    """
    if not is_number(value) or not 0 < value < math.inf:
        none = ", or None" * optional
        raise ValueError(f"{_called(owner, name)} must be a finite number > 0{none}. Got {value!r}.")
    return float(value)


def _called(owner: str, name: str) -> str:
    return f"The `{name}` of {owner}" if owner else f"The `{name}`"
