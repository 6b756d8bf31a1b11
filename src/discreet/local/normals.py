"""Discrete normal noise for a device, in whole numbers: exact coins of probability e^-γ, and the normal law.

`draw_normal` has P(z) ∝ exp(−z²/(2·4^NORMAL)), exactly; `tail_bounds` brackets the tail of the normal law by an
alternating series of fractions. No float, no e^x.

References: von Neumann 1951 (coins); Karney 2016; Canonne, Kamath & Steinke 2020.
"""

from __future__ import annotations

from discreet.local.randomise import Bits

NORMAL = 30  # a standard deviation is 2^30 steps
_DIGITS = 200  # the number of bits of fractions
# 2^_DIGITS / √(2π), rounded down; √(2π) = 2.506628274631000502415765284811…
_PEAK = (10**60 << _DIGITS) // 2506628274631000502415765284811045253006986740609938316629924


def flip_exp(bits: Bits, top: int, bottom: int) -> bool:
    """Heads with probability exp(−top/bottom), for 0 <= top <= bottom: von Neumann's alternating coins."""
    k = 1
    while bits.flip_coin(top, bottom * k):
        k += 1
    return k % 2 == 1


def draw_normal(bits: Bits) -> int:
    """A whole number of P(z) ∝ exp(−z²/(2·4^NORMAL)).

    The whole part k has weight e^(−k²/2): k heads of probability e^(−1/2) in a row, kept with e^(−k(k−1)/2). The
    fraction x, a multiple of 2^-NORMAL, is uniform and kept with e^(−x(2k + x)/2).
    """
    one = 1 << NORMAL
    while True:
        k = 0
        while flip_exp(bits, 1, 2):
            k += 1
        if not all(flip_exp(bits, 1, 2) for _ in range(k * (k - 1))):
            continue
        x = bits.draw_below(one)
        # e^(−x(2k + x)/2) as k + 1 coins with exponents below 1: k times x, and x²/2
        if not all(flip_exp(bits, x, one) for _ in range(k)) or not flip_exp(bits, x * x, 2 * one * one):
            continue
        negative = bits.flip_coin(1, 2)
        if negative and k == 0 and x == 0:  # otherwise zero would be drawn twice as often
            continue
        z = (k << NORMAL) + x
        return -z if negative else z


def tail_bounds(top: int, bottom: int) -> tuple[int, int]:
    """2^200 times bounds of the probability that a normal variable is above top/bottom, for 0 <= top/bottom <= 6.

    1/2 − (1/√2π)·Σ (−1)^k γ^(2k+1)/(k!·2^k·(2k + 1)): each term is rounded, and what is left out is below the last one.

    >>> low, high = tail_bounds(1, 1)
    >>> round(low / 2**200, 12), 0 < high - low < 2**60
    (0.158655253931, True)
    """
    term = (top << _DIGITS) // bottom  # γ^(2k+1)/(k!·2^k)
    total, k = 0, 0
    while term > 0:
        part = term // (2 * k + 1)
        total += part if k % 2 == 0 else -part
        k += 1
        term = term * top * top // (bottom * bottom * 2 * k)
    # the rounding error of one term grows by a factor of at most e^(γ²/2) < 2^26 in later terms
    slack = k << 40
    low, high = (((total - slack) * (_PEAK - 1)) >> _DIGITS) - 1, (((total + slack) * (_PEAK + 2)) >> _DIGITS) + 1
    half = 1 << (_DIGITS - 1)
    return half - high, half - low
