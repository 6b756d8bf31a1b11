"""The Gaussian mechanism on whole numbers (ME2): round(total + σ·Z), exactly.

Proof: `proofs/gaussian.md`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.events import Gaussian
from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.samplers import unwrapped


def add_gaussian(
    total: Any, sensitivity: Number, event: Gaussian, rng: Keystream | None = None, *, symmetric: bool = False
) -> NDArray[Any]:
    """The total plus Gaussian noise of standard deviation `event.noise_multiplier`·`sensitivity`, rounded.

    Parameters
    - total: whole numbers (grid units), any shape, Python ints of any size welcome.
    - sensitivity: a bound on the ℓ2 distance of two neighbours' totals, in grid units.
    - symmetric: the total is a symmetric matrix and `sensitivity` bounds the Frobenius distance; noise is
      then drawn once per pair, with σ/√2 off the diagonal.

    Guarantee: that of the continuous Gaussian mechanism of this multiplier, exactly: the result is a
    post-processing of it. Nothing is assumed of the neighbour relation but the bound.

    | edge | result |
    | --- | --- |
    | empty total | empty |
    | result beyond int64 | an array of Python ints |
    | symmetric total that is not | ValueError, which names no value |

    >>> noisy = add_gaussian([10**6, 0, 5], 1, Gaussian(2.0))
    >>> noisy.shape, noisy.dtype
    ((3,), dtype('int64'))
    """
    exact = whole("add_gaussian", "total", total)
    sigma = Fraction(event.noise_multiplier) * positive("add_gaussian", "sensitivity", sensitivity)
    if symmetric:
        return plus(exact, _symmetric_noise(exact, sigma, rng or default()))
    return plus(exact, unwrapped("rounded_normal", sigma, exact.size, rng).reshape(exact.shape))


def _symmetric_noise(total: NDArray[Any], sigma: Fraction, rng: Keystream) -> NDArray[Any]:
    if total.ndim != 2 or total.shape[0] != total.shape[1] or not np.array_equal(total, total.T):
        raise ValueError("The `total` of add_gaussian must be a symmetric matrix when symmetric=True.")
    d = len(total)
    off = unwrapped("rounded_normal", over_root_two(sigma), d * (d - 1) // 2, rng)
    diagonal = unwrapped("rounded_normal", sigma, d, rng)
    noise = np.zeros((d, d), dtype=np.promote_types(off.dtype, diagonal.dtype))
    rows, columns = np.triu_indices(d, 1)
    noise[rows, columns] = noise[columns, rows] = off
    np.fill_diagonal(noise, diagonal)
    return noise


def over_root_two(sigma: Fraction) -> Fraction:
    """A rational ≥ sigma/√2, above it by a relative 2^-60 at most.

    >>> 0 <= 2 * over_root_two(Fraction(3)) ** 2 - 9 < 2**-50
    True
    """
    # σ/√2 = √(2·n²)/(2·d); the root of a large integer, plus one
    top = 2 * (sigma.numerator << 62) ** 2
    return Fraction(math.isqrt(top) + 1, 2 * sigma.denominator << 62)


def plus(total: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
    """The exact sum: int64 if every entry fits, Python ints if not.

    >>> plus(np.array([2**63 - 1]), np.array([1]))
    array([9223372036854775808], dtype=object)
    """
    ints = total.dtype != object and noise.dtype != object
    if ints and abs(_extent(total)) + abs(_extent(noise)) < 1 << 63:
        return np.asarray(total + noise)
    return whole("sum", "total", np.asarray(total.astype(object) + noise.astype(object), dtype=object))


def _extent(values: NDArray[Any]) -> int:
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))
