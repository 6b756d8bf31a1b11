"""Cosine, power and angle in sums, products and quotients alone.

A library's cosine may give the middle of an array and its end to different routines, whose last bits differ: then a
row's features would depend on where in a block it stands. Sums, products, quotients, square roots and rounding are the
same bits everywhere, so what is made of them is, too. `mechanisms/proofs/features.md` uses that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SINE = tuple((-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(9))
POWER = tuple((-math.log(2)) ** k / math.factorial(k) for k in range(13))
ARC = (0.9998660, -0.3302995, 0.1801410, -0.0851330, 0.0208351)  # Abramowitz & Stegun 4.4.49: within 1e-5


def cosine(turns: Floats) -> Floats:
    """The cosine of 2π·`turns`, to about 1e-13, within [-1, 1]; `turns` is used up.

    >>> cosine(np.array([0.0, 0.25, 0.5, 1e6])).round(12).tolist()
    [1.0, 0.0, -1.0, 1.0]
    """
    turns -= np.rint(turns)  # exact
    np.abs(turns, out=turns)
    quarter = np.subtract(0.25, turns, out=turns)  # cos 2πu = sin 2π(¼ - |u|)
    value = polynomial(SINE, quarter * quarter)
    value *= quarter
    return np.clip(value, -1.0, 1.0, out=value)


def halvings(times: Floats) -> Floats:
    """2^-`times` for numbers >= 0, to about 1e-15, within [0, 1].

    >>> halvings(np.array([0.0, 1.0, 0.5, 5000.0])).round(6).tolist()
    [1.0, 0.5, 0.707107, 0.0]
    """
    times = np.minimum(times, 2000.0)
    whole = np.rint(times)
    value = np.ldexp(polynomial(POWER, times - whole), np.nan_to_num(-whole).astype(np.int32))
    return np.minimum(value, 1.0, out=value)


def direction(x: Floats, y: Floats) -> Floats:
    """The angle of the line through (x, y) and the origin, in half turns: from 0 to 1; 0 at the origin.

    >>> direction(np.array([1.0, 1.0, 0.0, -1.0]), np.array([0.0, 1.0, -3.0, 1.0])).round(4).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    across, along = np.abs(x), np.abs(y)
    steep = along > across
    ratio = np.minimum(across, along) / np.maximum(np.maximum(across, along), 1e-300)
    angle = polynomial(ARC, ratio * ratio)
    angle *= ratio / math.pi
    angle = np.where(steep, 0.5 - angle, angle)
    return np.where((x < 0) != (y < 0), np.where(angle > 0, 1.0 - angle, 0.0), angle)


def polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """Σ c_k x^k, by Horner's rule."""
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value
