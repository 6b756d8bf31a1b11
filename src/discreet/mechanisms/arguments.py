"""What mechanisms accept: exact positive rationals, and whole numbers of any size."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_positive, is_whole

Number = int | float | Fraction


def positive(owner: str, name: str, value: Number) -> Fraction:
    """The value as an exact rational > 0.

    >>> positive("Laplace", "scale", 0.5)
    Fraction(1, 2)
    """
    if isinstance(value, np.generic):
        value = value.item()
    check_positive(owner, name, value)
    return Fraction(value)


def whole(owner: str, name: str, values: Any) -> NDArray[Any]:
    """An array of int64 if all values fit, of Python ints if not; never through a float.

    >>> whole("sum", "total", [1, 2**70]).dtype, whole("sum", "total", 3)
    (dtype('O'), array(3))
    """
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind not in "uO" or not all(is_whole(v) for v in array.flat):
        # no value is shown: it may be private
        raise TypeError(f"The `{name}` of {owner} must be whole numbers.")
    exact = np.array([int(v) for v in array.flat], dtype=object).reshape(array.shape)
    fits = all(-(1 << 63) <= v < 1 << 63 for v in exact.flat)
    return exact.astype(np.int64) if fits else exact
