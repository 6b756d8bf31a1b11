"""Noise in proportion to a smooth bound of the local sensitivity (ME5), exactly.

How far a value moves between one table and its neighbours differs from table to table. Noise in proportion to that
alone would tell the tables apart by its size. A bound S that is at least the local sensitivity, and that differs by a
factor of at most e^β between neighbours, may be used (Nissim, Raskhodnikova & Smith 2007): `Law` says with what noise.

| law | promise | condition |
| --- | --- | --- |
| Student's t with ν degrees of freedom | ε, pure | ν·(β + η) + α·(ν + 1)/(2√ν) ≤ ε |
| Laplace | ε, δ | (e^(β + η) - 1)·ln(1/δ) - (β + η) + α ≤ ε, δ ≤ 0.1 |

The value gets S/α times that noise; η pays for rounding S upward. Proof: `proofs/smooth.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.arguments import positive
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.reals import Reals, exponentials, normals

ROUNDING = Fraction(1, 1 << 38)  # η: by what share a smooth bound may be too large


@dataclass(frozen=True)
class Law:
    """Noise for a smooth bound: how fast the bound may change (β), and how many times α goes into the noise.

    degrees : of freedom of Student's t; 0 for Laplace noise.
    """

    degrees: int
    beta: float
    alpha: float

    @classmethod
    def student(cls, epsilon: float, degrees: int = 1, share: float = 0.5) -> Law:
        """Pure ε; a share of it for the bound's changes, the rest for the value's.

        >>> law = Law.student(1.0)
        >>> round(law.beta, 9), round(law.alpha, 9)
        (0.5, 0.5)
        """
        nu = _whole_degrees(degrees)
        beta = share * epsilon / nu - 2 * float(ROUNDING)
        alpha = (epsilon - nu * (beta + float(ROUNDING))) * 2 * math.sqrt(nu) / (nu + 1)
        return cls(nu, _positive(beta), _positive(alpha) * (1 - 2.0**-40))

    @classmethod
    def laplace(cls, epsilon: float, delta: float, share: float = 0.5) -> Law:
        """(ε, δ), with the tails of Laplace noise."""
        if not 0 < delta <= 0.1:
            raise ValueError(f"The `delta` of Laplace noise for a smooth bound must be within (0, 0.1]. Got {delta!r}.")
        beta = math.log1p(share * epsilon / math.log(1 / delta)) - 2 * float(ROUNDING)
        slope = beta + float(ROUNDING)
        alpha = epsilon - math.expm1(slope) * math.log(1 / delta)  # the - (β + η) of the condition is left to spare
        return cls(0, _positive(beta), _positive(alpha) * (1 - 2.0**-40))


def smooth_bound(reach: Sequence[int] | Any, beta: float, widest: int) -> Fraction:
    """The largest of all e^(-βk)·reach(k), rounded up by less than 2^-39 of it.

    Parameters
    ----------
    reach : whole numbers for k = 0, 1, …: reach(0) is at least the local sensitivity, and reach(k) of a table at most
        reach(k + 1) of each of its neighbours.
    widest : what no reach can exceed; it stands for all k that are not given.

    >>> float(smooth_bound([0, 0, 8], 0.5, 8))
    2.943...
    """
    far = np.append(np.asarray(reach, dtype=np.float64), float(widest))
    bounds = far * np.exp(-beta * np.arange(len(far)))
    return Fraction(float(bounds.max()) * (1 + 2.0**-41))


def add_smooth(value: int, bound: Fraction, law: Law, rng: Keystream | None = None) -> int:
    """The whole number nearest to value + bound/α·Z, exactly: Z of the law, which may be far away.

    Parameters
    ----------
    value : a whole number of grid steps, which local sensitivity is measured in.
    bound : of `smooth_bound`, greater than 0.

    Guarantee: that of the law (`proofs/smooth.md`); the same numbers are drawn whatever value and bound are.

    >>> add_smooth(1000, Fraction(1, 10**9), Law.student(1.0)) in range(900, 1100)
    True
    """
    scale = positive("add_smooth", "bound", bound) / Fraction(law.alpha)
    rng = rng or default()
    if not law.degrees:
        return value + _rounded_ratio(exponentials(1, rng), None, scale, normals(1, rng).signs[0])
    g, squares = normals(1, rng), normals(law.degrees, rng)
    return value + _rounded_ratio(g, squares, scale, g.signs[0])


def _rounded_ratio(top: Reals, squares: Reals | None, scale: Fraction, sign: int) -> int:
    """scale·top/√(mean of the squares), to the nearest whole number; refined while it is in doubt."""
    while True:
        low, high = _bounds(top, squares, scale)
        if low == high:
            return sign * low
        top.refine()
        if squares is not None:
            squares.refine()


def _bounds(top: Reals, squares: Reals | None, scale: Fraction) -> tuple[int, int]:
    """Bounds of ⌊scale·top/√(mean of the squares) + 1/2⌋, in integers throughout."""
    if squares is None:
        unit = Fraction(1, 1 << top.bits)
        return _nearest(scale * top.m[0] * unit), _nearest(scale * (top.m[0] + 1) * unit)
    nu = len(squares.m)
    # √ν·|G| / √(Z² + …): both sides in units of their own bits
    least, most = math.isqrt(sum(m * m for m in squares.m)), math.isqrt(sum((m + 1) ** 2 for m in squares.m)) + 1
    fine = squares.bits + 64
    root = math.isqrt(nu << 2 * fine)
    unit = scale * Fraction(1 << squares.bits, 1 << top.bits + fine)
    low = _nearest(unit * root * top.m[0] / most)
    # nothing is known where the squares are 0 to all bits
    high = _nearest(unit * (root + (root * root != nu << 2 * fine)) * (top.m[0] + 1) / least) if least else -1
    return low, high


def _nearest(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def _whole_degrees(degrees: int) -> int:
    if isinstance(degrees, bool) or not isinstance(degrees, int) or not 1 <= degrees <= 100:
        raise ValueError(f"The `degrees` of Student's t must be a whole number within 1 and 100. Got {degrees!r}.")
    return degrees


def _positive(value: float) -> float:
    if value <= 0:
        raise ValueError("This ε is too small for noise in proportion to a smooth bound.")
    return value
