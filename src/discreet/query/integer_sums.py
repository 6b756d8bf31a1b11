"""Totals: sums and products of whole numbers, exact however many there are.

`mechanisms/proofs/query.md` has the proofs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Exact = NDArray[Any]  # whole numbers: int64 where they fit, Python integers where not


class Total:
    """A running sum of integer arrays that cannot overflow: two words, carried exactly."""

    def __init__(self) -> None:
        self._high: Ints | None = None
        self._low: Ints | None = None

    def add(self, part: Ints) -> None:
        """Add one batch's total."""
        high, low = part >> 32, part & 0xFFFFFFFF
        self._high = high if self._high is None else self._high + high
        self._low = low if self._low is None else self._low + low

    def merge(self, other: Total) -> None:
        """Add another running sum."""
        if other._high is not None and other._low is not None:
            self._high = other._high if self._high is None else self._high + other._high
            self._low = other._low if self._low is None else self._low + other._low

    def value(self) -> Exact:
        """The sum so far: int64 where it fits, Python integers where not."""
        assert self._high is not None and self._low is not None
        if np.abs(self._high).max(initial=0) < 1 << 30 and self._low.max(initial=0) < 1 << 62:
            return np.asarray(self._high * (1 << 32) + self._low)
        return np.asarray(self._high.astype(object) * (1 << 32) + self._low.astype(object), dtype=object)


def multiply_exactly(left: Floats, right: Floats, rows: int) -> Ints:
    """The product left @ right.T in exact integers: `rows` columns at a time keep every sum below 2^53."""
    if len(left) * len(right) <= 16:  # narrow: integers directly
        return np.asarray(left.astype(np.int64) @ right.astype(np.int64).T)
    even = left.shape[1] // rows * rows
    a = left[:, :even].reshape(len(left), -1, rows).swapaxes(0, 1)
    b = a if right is left else right[:, :even].reshape(len(right), -1, rows).swapaxes(0, 1)
    total: Ints = (a @ b.swapaxes(1, 2)).astype(np.int64).sum(axis=0)
    total += (left[:, even:] @ right[:, even:].T).astype(np.int64)
    return total


def root_above(squared: int) -> Fraction:
    """The square root of a whole number: where it is none, the next multiple of 2^-32 above it, or the one after."""
    root = math.isqrt(squared)
    if root * root == squared:
        return Fraction(root)
    return Fraction(math.isqrt(squared << 64) + 1, 1 << 32)
