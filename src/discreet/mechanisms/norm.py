"""The ℓ2 norm mechanism on whole numbers (ME4): pure ε, all coordinates at once.

The density of the noise z is ∝ exp(-ε·‖z‖₂/Δ): a direction uniform on the sphere times a radius of the
Gamma(d) law of scale Δ/ε. Its typical length is d·Δ/ε where independent Laplace noise, calibrated by the
ℓ1 norm, needs up to d^1.5·Δ/ε.

Proof: `proofs/norm.md`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.gaussian import over_root_two, plus
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.reals import Reals, exponentials, normals


def add_norm(
    total: Any, sensitivity: Number, epsilon: Number, rng: Keystream | None = None, *, symmetric: bool = False
) -> NDArray[Any]:
    """The total plus noise of density ∝ exp(-ε·‖z‖₂/Δ), each coordinate rounded.

    Parameters
    - total: whole numbers (grid units), any shape, Python ints of any size welcome.
    - sensitivity: Δ, a bound on the ℓ2 distance of two neighbours' totals, in grid units.
    - symmetric: the total is a symmetric matrix and `sensitivity` bounds the Frobenius distance; the noise is then a
      symmetric matrix of density ∝ exp(-ε·‖Z‖_F/Δ), of d(d + 1)/2 coordinates instead of d².

    Guarantee: ε-DP, exactly: a post-processing of the continuous mechanism. Nothing is assumed of the
    neighbour relation but the bound. In one dimension it is the Laplace mechanism.

    | edge | result |
    | --- | --- |
    | empty total | empty |
    | result beyond int64 | an array of Python ints |
    | symmetric total that is not | ValueError, which names no value |

    >>> add_norm([[5, 6], [7, 8]], 1, 1000.0).tolist()
    [[5, 6], [7, 8]]
    """
    exact = whole("add_norm", "total", total)
    scale = positive("add_norm", "sensitivity", sensitivity) / positive("add_norm", "epsilon", epsilon)
    if symmetric:
        return plus(exact, _symmetric_noise(exact, scale, rng or default()))
    noise = whole("add_norm", "noise", norm_noise(exact.size, scale, rng or default()))
    return plus(exact, noise.reshape(exact.shape))


def _symmetric_noise(total: NDArray[Any], scale: Fraction, rng: Keystream) -> NDArray[Any]:
    if total.ndim != 2 or total.shape[0] != total.shape[1] or not np.array_equal(total, total.T):
        raise ValueError("The `total` of add_norm must be a symmetric matrix when symmetric=True.")
    d = len(total)
    drawn = whole("add_norm", "noise", norm_noise(d * (d + 1) // 2, scale, rng, d))
    noise = np.zeros((d, d), dtype=drawn.dtype)
    rows, columns = np.triu_indices(d, 1)
    noise[rows, columns] = noise[columns, rows] = drawn[d:]
    np.fill_diagonal(noise, drawn[:d])
    return noise


def norm_noise(d: int, scale: Fraction, rng: Keystream, plain: int | None = None) -> list[int]:
    """round(scale·R·G/‖G‖): R of d exponentials, G of d normals, refined while a rounding is in doubt.

    All coordinates but the first `plain` are divided by √2 before they are rounded (by a rational a little less).
    """
    lengths, g = exponentials(d, rng), normals(d, rng)
    while True:
        low, high = _magnitudes(lengths, g, scale, plain)
        if low == high:
            return [sign * m for sign, m in zip(g.signs, low, strict=True)]
        lengths.refine()
        g.refine()


def _magnitudes(lengths: Reals, g: Reals, scale: Fraction, plain: int | None = None) -> tuple[list[int], list[int]]:
    """Bounds of floor(scale·R·|G_i|/‖G‖ + 1/2), beyond the first `plain` with scale/√2, in integers throughout."""
    d, radius = len(g.m), sum(lengths.m)
    norm_low = math.isqrt(sum(m * m for m in g.m))
    norm_high = math.isqrt(sum((m + 1) ** 2 for m in g.m)) + 1
    plain = d if plain is None else plain
    low: list[int] = []
    high: list[int] = []
    for c, part in ((scale, g.m[:plain]), (over_root_two(scale), g.m[plain:])):
        top, bottom = c.numerator, c.denominator << lengths.bits
        low += [_nearest(top * radius * m, bottom * norm_high) for m in part]
        # the norm is 0 to all bits known with probability below 2^-64 per coordinate: then nothing is known yet
        high += [_nearest(top * (radius + d) * (m + 1), bottom * norm_low) if norm_low else -1 for m in part]
    return low, high


def _nearest(top: int, bottom: int) -> int:
    return (2 * top + bottom) // (2 * bottom)
