"""Odds as whole numbers: e^ε rounded down, so that a coin never exceeds the stated ε.

ε is kept as the decimal that a person wrote. A device only uses W = ⌊2^48·e^ε⌋: a coin of odds W : 2^48 has
ln(W/2^48) ≤ ε, smaller by less than 4e-15. `client.js` has the same few lines in whole numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

SHIFT = 48
ONE = 1 << SHIFT
LARGEST = 16  # a larger ε is no protection that anybody should be asked to accept
_GUARD = 64  # extra bits in which the series is summed


def read_epsilon(value: Any) -> Fraction:
    """ε as an exact fraction of its decimal.

    >>> read_epsilon(0.1), read_epsilon("2.5"), read_epsilon(1)
    (Fraction(1, 10), Fraction(5, 2), Fraction(1, 1))
    """
    number = isinstance(value, (int, float, str, Fraction)) and not isinstance(value, bool)
    try:
        exact = value if isinstance(value, Fraction) else Fraction(str(value)) if number else Fraction(0)
    except ValueError:
        exact = Fraction(0)
    if not 0 < exact <= LARGEST:
        raise ValueError(f"The `epsilon` of a survey must be a number within (0, {LARGEST}]. Got {value!r}.")
    return exact


def write_epsilon(epsilon: Fraction) -> str:
    """ε as text that `read_epsilon` reads.

    >>> write_epsilon(Fraction(1, 10)), write_epsilon(Fraction(3)), write_epsilon(Fraction(1, 3))
    ('0.1', '3', '1/3')
    """
    short = repr(float(epsilon)).removesuffix(".0")
    return short if Fraction(short) == epsilon else str(epsilon)


def odds_of(epsilon: Fraction, shift: int = SHIFT) -> int:
    """⌊2^shift·e^ε⌋ or, very rarely, one less; never more.

    The partial sums of Σ εⁱ/i! are below e^ε, also when each term is rounded down.

    >>> odds_of(Fraction(1)), odds_of(Fraction(0)) == ONE
    (765128314358509, True)
    """
    term = total = 1 << (shift + _GUARD)
    i = 0
    while term:
        i += 1
        term = term * epsilon.numerator // (epsilon.denominator * i)
        total += term
    return total >> _GUARD
