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

from numpy.typing import NDArray

from discreet.mechanisms.arguments import Number, positive, whole
from discreet.mechanisms.gaussian import plus
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.reals import Reals, exponentials, normals


def add_norm(total: Any, sensitivity: Number, epsilon: Number, rng: Keystream | None = None) -> NDArray[Any]:
    """The total plus noise of density ∝ exp(-ε·‖z‖₂/Δ), each coordinate rounded.

    Parameters
    - total: whole numbers (grid units), any shape, Python ints of any size welcome.
    - sensitivity: Δ, a bound on the ℓ2 distance of two neighbours' totals, in grid units.

    Guarantee: ε-DP, exactly: a post-processing of the continuous mechanism. Nothing is assumed of the
    neighbour relation but the bound. In one dimension it is the Laplace mechanism.

    | edge | result |
    | --- | --- |
    | empty total | empty |
    | result beyond int64 | an array of Python ints |

    >>> add_norm([[5, 6], [7, 8]], 1, 1000.0).tolist()
    [[5, 6], [7, 8]]
    """
    exact = whole("add_norm", "total", total)
    scale = positive("add_norm", "sensitivity", sensitivity) / positive("add_norm", "epsilon", epsilon)
    noise = whole("add_norm", "noise", norm_noise(exact.size, scale, rng or default()))
    return plus(exact, noise.reshape(exact.shape))


def norm_noise(d: int, scale: Fraction, rng: Keystream) -> list[int]:
    """round(scale·R·G/‖G‖): R of d exponentials, G of d normals, refined while a rounding is in doubt."""
    lengths, g = exponentials(d, rng), normals(d, rng)
    while True:
        low, high = _magnitudes(lengths, g, scale)
        if low == high:
            return [sign * m for sign, m in zip(g.signs, low, strict=True)]
        lengths.refine()
        g.refine()


def _magnitudes(lengths: Reals, g: Reals, scale: Fraction) -> tuple[list[int], list[int]]:
    """Bounds of floor(scale·R·|G_i|/‖G‖ + 1/2), in integers throughout."""
    d, radius = len(g.m), sum(lengths.m)
    norm_low = math.isqrt(sum(m * m for m in g.m))
    norm_high = math.isqrt(sum((m + 1) ** 2 for m in g.m)) + 1
    top, bottom = scale.numerator, scale.denominator << lengths.bits
    low = [_nearest(top * radius * m, bottom * norm_high) for m in g.m]
    # the norm is 0 to all bits known with probability below 2^-64 per coordinate: then nothing is known yet
    high = [_nearest(top * (radius + d) * (m + 1), bottom * norm_low) if norm_low else -1 for m in g.m]
    return low, high


def _nearest(top: int, bottom: int) -> int:
    return (2 * top + bottom) // (2 * bottom)
