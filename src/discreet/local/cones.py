"""A vector of the unit ball: the report is a normal vector, likely to point in a similar direction.

The vector is first replaced by a unit vector v in its direction or the opposite one, at random, so that the average is
the vector. Normal vectors Z are drawn independently of it. The first one in the cone Z·v >= γ is reported with odds e^ε
against the first one outside. Draws go on until both exist, so the number of draws reveals nothing.

| method | γ | n·(squared error)/d at d = 100, ε = 0.5, 1, 2, 4 |
| --- | --- | --- |
| "privunitg" | the γ of least error | 25.2, 6.33, 1.62, 0.435 |
| "hemisphere" | 0, and only the direction of a report is used | 26.1, 7.31, 2.69, 1.67 |

References: Bhowmick et al. 2018; Asi, Feldman & Talwar 2022 (PrivUnitG); Duchi, Jordan & Wainwright 2013 (hemisphere).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, ClassVar

from discreet.local.design import MeanDesign
from discreet.local.normals import NORMAL, draw_normal, tail_bounds
from discreet.local.odds import ONE
from discreet.local.questions import GRID
from discreet.local.randomise import Bits, ReportNumbers

_ANGLE = 20  # γ is in units of 2^-20
DIGITS = 12  # numbers of a report are in units of 2^-12
FARTHEST = 12 << DIGITS  # the largest absolute value of a number of a report
_WHOLE = 1 << 200  # `tail_bounds` gives probabilities in units of 2^-200


def stretch_vector(bits: Bits, value: tuple[int, ...]) -> tuple[int, ...]:
    """The vector or its opposite, so that its direction is the vector on average; a zero vector gets any direction."""
    square = sum(x * x for x in value)
    forwards = bits.flip_coin((GRID << 20) + isqrt(square << 40), GRID << 21)
    direction = value if square else (1,) + (0,) * (len(value) - 1)
    return direction if forwards else tuple(-x for x in direction)


def is_in_cone(bits: Bits, z: list[int], direction: tuple[int, ...], gamma: int) -> bool:
    """Whether Z·v >= γ‖v‖, in whole numbers; at γ = 0 a tie is decided by a fair coin."""
    along = sum(x * y for x, y in zip(z, direction, strict=True))
    if gamma == 0:
        return along > 0 or (along == 0 and bits.flip_coin(1, 2))
    least = gamma * gamma * sum(x * x for x in direction) << 2 * NORMAL
    return along > 0 and along * along << 2 * _ANGLE >= least


def answer_cone(bits: Bits, value: tuple[int, ...], gamma: int, near: tuple[int, int]) -> ReportNumbers:
    """The first normal vector inside the cone, or the first one outside; rounded to multiples of 2^-12."""
    direction = stretch_vector(bits, value)
    wanted = bits.flip_coin(*near)
    found: dict[bool, list[int]] = {}
    while len(found) < 2:
        z = [draw_normal(bits) for _ in value]
        found.setdefault(is_in_cone(bits, z, direction, gamma), z)
    return tuple(round_report(x) for x in found[wanted])


def round_report(x: int) -> int:
    """The nearest multiple of 2^-12, at most 12 away from zero."""
    shift = NORMAL - DIGITS
    return min(max((x + (1 << shift - 1)) >> shift, -FARTHEST), FARTHEST)


@dataclass(frozen=True)
class Cone(MeanDesign):
    """A normal vector, likely to be in the cone of `gamma`/2^20 around the direction."""

    gamma: int = 0
    method: ClassVar[str] = "cone"
    kind: ClassVar[str] = "vector"

    def _is_sound(self) -> bool:
        return 0 <= self.gamma <= 6 << _ANGLE

    def fits(self, question: Any) -> bool:
        ball = question.kind == "gradient" or (question.kind == "vector" and question.shape == "ball")
        return bool(ball and self.size == question.size)

    @property
    def ratio(self) -> Fraction:
        # normal numbers are on a grid, so the probabilities of two cones differ a little: proofs/local.md
        return Fraction(self.odds, ONE) * (1 + 2 * self.allowance)

    @property
    def allowance(self) -> Fraction:
        """An upper bound of the increase of ε because normal numbers are on a grid."""
        if self.gamma == 0:
            return Fraction(0)
        return Fraction((self.gamma + (2 << _ANGLE)) * (isqrt(self.size) + 1), 1 << NORMAL + _ANGLE)

    @cached_property
    def near_coin(self) -> tuple[int, int]:
        """The coin that decides for the inside of the cone, as (top, total)."""
        least = tail_bounds(self.gamma, 1 << _ANGLE)[0] if self.gamma else _WHOLE // 2
        top = least * self.odds
        return top, top + (_WHOLE - least) * ONE

    @cached_property
    def slope(self) -> float:
        """The average component of a report along the direction."""
        p = self.near_coin[0] / self.near_coin[1]
        if self.gamma == 0:
            d = self.size
            length = math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)
            return (2 * p - 1) * length
        g, q = self.gamma / (1 << _ANGLE), math.erfc(self.gamma / (1 << _ANGLE) / math.sqrt(2)) / 2
        peak = math.exp(-(g**2) / 2) / math.sqrt(2 * math.pi)
        return peak * (p / q - (1 - p) / (1 - q))

    def variance(self, share: float = 0.0) -> float:
        """The mean squared error of a mean of vectors of length 1, divided by d, times n."""
        if self.gamma == 0:
            return (1 / self.slope**2 - 1) / self.size
        p, g, d = self.near_coin[0] / self.near_coin[1], self.gamma / (1 << _ANGLE), self.size
        q, peak = math.erfc(g / math.sqrt(2)) / 2, math.exp(-(g**2) / 2) / math.sqrt(2 * math.pi)
        along = p * (1 + g * peak / q) + (1 - p) * (1 - g * peak / (1 - q))
        return ((d - 1 + along) / self.slope**2 - 1) / d

    @property
    def largest_variance(self) -> float:
        return self.variance() + 1 / self.size

    def answer(self, value: Any, bits: Bits) -> ReportNumbers:
        return answer_cone(bits, value, self.gamma, self.near_coin)

    def accepts(self, report: ReportNumbers) -> bool:
        return len(report) == self.size and all(abs(x) <= FARTHEST for x in report)


def best_cone(size: int, odds: int) -> Cone:
    """The cone of least variance."""

    def make_cone(step: int) -> Cone:
        gamma = step << _ANGLE - 6
        plain = Cone(size, odds, gamma)
        return Cone(size, (odds / (1 + 2 * plain.allowance)).__floor__(), gamma)

    return min((make_cone(step) for step in range(1, 5 << 6)), key=Cone.variance)
