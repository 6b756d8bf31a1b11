"""Lattice: the grid of a factor of a bounded sum, and vectors of whole numbers on it, of a norm that is not exceeded.

`mechanisms/proofs/query.md` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """The grid of one factor: unit 2^exponent, integer vectors of norm at most `limit`."""

    exponent: int
    limit: int

    @classmethod
    @lru_cache(maxsize=64)
    def for_norm(cls, norm: float, bits: int, width: int) -> Lattice:
        """Of vectors of this width and norm, in at most so many bits."""
        # squares of `width` coordinates of `bits` bits add up below 2^53
        bits = min(bits, (53 - (width - 1).bit_length()) // 2) if width > 1 else bits
        mantissa, power = math.frexp(norm)
        exponent = (
            power - bits - (mantissa == 0.5)
        )  # the smallest power of two that is at least the norm has `bits` bits
        return cls(exponent, math.floor(math.ldexp(norm, -exponent)))

    def quantise(
        self, values: NDArray[Any], order: int, box: bool = False, lost: NDArray[np.bool_] | bool = False
    ) -> tuple[Floats, Floats]:
        """Rows to columns of whole numbers, of norm (in a box: each) at most `limit`, and by what each was multiplied.

        Bad and `lost` rows become zero.
        """
        z = np.empty((read_width(values), len(values)))
        np.multiply(values.reshape(len(values), len(z)).T, math.ldexp(1.0, -self.exponent), out=z)
        np.rint(z, out=z)
        size = compute_norms(z, 1 if box else order)
        if box:
            np.clip(z, -self.limit, self.limit, out=z)
            np.copyto(z, 0.0, where=~np.isfinite(size) | lost)
            return z, np.ones(z.shape[1])
        factor, large, bad = np.ones(z.shape[1]), size > self.limit, ~np.isfinite(size) | lost
        if large.any():  # where none is, nothing would change
            np.divide(self._limit_before_rounding(len(z), order), size, out=factor, where=large)
            z *= factor
            np.rint(z, out=z)
        if bad.any():
            np.copyto(z, 0.0, where=bad)
        return z, factor

    def fits_limit(self, reach: Floats) -> bool:
        """Whether vectors of whole numbers up to `reach` in magnitude are never longer than `limit`."""
        return sum(int(most) ** 2 for most in reach) <= self.limit**2

    def compute_rounding_margin(self, width: int) -> float:
        """By what share vectors of the norm must be shorter so that none is too long once it is rounded: twice that."""
        return math.sqrt(width) / self.limit

    def quantise_coefficients(self, coefficients: ArrayLike) -> GridCoefficients:
        """Coefficients θ on a grid of their own, where products with vectors on this one are exact."""
        theta = np.asarray(coefficients, np.float64)
        # |θ·z| <= ‖θ‖·limit in grid units: below 2^52
        unit = math.frexp(max(float(np.sqrt((theta * theta).sum())), 2.0**-900))[1] - (50 - self.limit.bit_length())
        return GridCoefficients(np.rint(theta * math.ldexp(1.0, -unit)), math.ldexp(1.0, unit + self.exponent))

    def _limit_before_rounding(self, width: int, order: int) -> float:
        # rounding moves a vector by at most √width/2 (ℓ2) or width/2 (ℓ1); the last factor is for float error
        margin = math.sqrt(width) / 2 if order == 2 else width / 2
        return max(0.0, self.limit - margin) * (1 - 2.0**-40)


@dataclass(frozen=True)
class GridCoefficients:
    """Coefficients in whole numbers, one row of them for each θ there is, and the unit of their products."""

    whole: Floats
    unit: float

    def multiply_rows(self, z: Floats) -> Floats:
        """θ·x for each row x on the grid the slope is for."""
        return np.asarray((self.whole @ z) * self.unit)


def compute_norms(z: Floats, order: int) -> Floats:
    size = halved(z * z if order == 2 else np.abs(z))
    return np.sqrt(size, out=size) if order == 2 else size


def halved(terms: Floats) -> Floats:
    """The sum over the first axis: half of it to the other half, again and again. `terms` is used up.

    Unlike a library's sum it goes in an order that depends on the number of terms alone, so that the bits of a column's
    sum are the same whatever the layout and the neighbours.
    """
    left = len(terms)
    while left > 1:
        half = left // 2
        terms[:half] += terms[left - half : left]
        left -= half
    return terms[0] if len(terms) else np.zeros(terms.shape[1:])


def read_width(values: NDArray[Any]) -> int:
    if values.ndim not in (1, 2):
        raise ValueError(f"A factor of a bounded sum is one value or one vector per row. Got {values.ndim} dimensions.")
    return 1 if values.ndim == 1 else values.shape[1]
