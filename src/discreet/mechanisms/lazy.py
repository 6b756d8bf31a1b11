"""Comparisons that are never wrong: reals known to some bits, and certified bounds of the exponential.

A real is revealed bit by bit. To compare it with exp(-h), both are bracketed; where the brackets overlap,
more bits are drawn and the exponential is computed to more digits, until they part. Each round fails with
probability about 2^-64, so the loop ends, and the outcome is that of the infinite bit string: exact.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache

from discreet.mechanisms.keystream import Keystream


class Lazy:
    """A real in [m, m + 1]·2^-bits whose further bits are fair and not yet drawn.

    With no keystream it is the exact number m·2^-bits.
    """

    __slots__ = ("bits", "m", "rng")

    def __init__(self, m: int, bits: int, rng: Keystream | None = None) -> None:
        self.m, self.bits, self.rng = m, bits, rng

    def reveal(self) -> None:
        """Draw 64 more bits."""
        if self.rng is not None:
            self.m, self.bits = self.m << 64 | self.rng.word(), self.bits + 64

    def bounds(self) -> tuple[Fraction, Fraction]:
        """What is known of it."""
        step = 0 if self.rng is None else 1
        return Fraction(self.m, 1 << self.bits), Fraction(self.m + step, 1 << self.bits)


@cache
def _contexts(digits: int) -> tuple[Context, Context]:
    wide = {"prec": digits, "Emin": MIN_EMIN, "Emax": MAX_EMAX, "traps": []}
    return Context(rounding=ROUND_FLOOR, **wide), Context(rounding=ROUND_CEILING, **wide)  # type: ignore[arg-type]


def exp_bounds(h: Fraction, bits: int) -> tuple[int, int]:
    """Integers with low ≤ 2^bits·exp(-h) ≤ high, a few units apart, for h ≥ 0.

    `decimal` rounds its exp to the nearest number it can hold; one step beyond it on either side is a bound.

    >>> exp_bounds(Fraction(1), 40)
    (404487723187, 404487723188)
    """
    if h == 0:
        return 1 << bits, 1 << bits
    down, up = _contexts(bits * 302 // 1000 + 8)
    top, bottom, unit = Decimal(h.numerator), Decimal(h.denominator), Decimal(1 << bits)
    low = down.next_minus(down.exp(up.divide(top, bottom).copy_negate()))
    high = up.next_plus(up.exp(down.divide(top, bottom).copy_negate()))
    return max(0, int(down.multiply(low, unit))), int(up.multiply(high, unit)) + 1


def below_exp(r: Lazy, v: Lazy, exponent: Callable[[Fraction], Fraction]) -> bool:
    """Whether r < exp(-exponent(v)), exactly, for an increasing `exponent` ≥ 0."""
    while True:
        bits = r.bits + 16
        near, far = v.bounds()
        if (r.m + 1) << 16 <= exp_bounds(exponent(far), bits)[0]:
            return True
        if r.m << 16 >= exp_bounds(exponent(near), bits)[1]:
            return False
        r.reveal()
        v.reveal()
