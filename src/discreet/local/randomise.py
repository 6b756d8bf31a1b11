"""PRIVATISE on the device: one exact coin, then a uniform choice, in whole numbers only.

A randomiser takes fair bits and a value, a whole number, and returns a report, a few whole numbers. Most randomisers
share one scheme: each value has a set of s of the K reports; a coin of odds s·W : (K − s)·2^48 decides whether the
report comes from the set, and it is then uniform. They differ in the family of sets.

| function | the reports | the set of a value |
| --- | --- | --- |
| `answer_direct` | the values | the value alone |
| `answer_subset` | s-subsets of the values | those with the value in them |
| `answer_hadamard` | whole numbers below 2^t | those with an even number of ones in common with the value |
| `answer_projective` | points of a projective space | the points of a hyperplane |
| `answer_hash` | a hash and a bin | (per hash) the bin of the value |
| `answer_unary` | subsets of the values | one coin per value |

Proof: `mechanisms/proofs/local.md`. The only input besides the value is fair bits, so `client.js` has the same code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from discreet.local.odds import ONE

ReportNumbers = tuple[int, ...]

_CHUNK = 256  # bytes read at once; an object lives for one answer, so no two processes share a buffer


class Bits:
    """Fair bits for one answer, by default from the operating system.

    Parameters
    ----------
    read : a function that returns a given number of random bytes.

    >>> bits = Bits(lambda count: bytes(range(count)))
    >>> hex(bits.read_word()), bits.draw_below(1)
    ('0x1020304050607', 0)
    """

    def __init__(self, read: Callable[[int], bytes] = os.urandom) -> None:
        self._read, self._buffer, self._used = read, b"", 0

    def read_word(self) -> int:
        """64 bits."""
        if self._used == len(self._buffer):
            self._buffer, self._used = self._read(_CHUNK), 0
        self._used += 8
        return int.from_bytes(self._buffer[self._used - 8 : self._used], "big")

    def draw_below(self, n: int) -> int:
        """A whole number uniform on 0 .. n-1, by rejection."""
        length = (n - 1).bit_length()
        while True:
            value = 0
            for _ in range(-(-length // 64)):
                value = value << 64 | self.read_word()
            value >>= -length % 64
            if value < n:
                return value

    def flip_coin(self, top: int, total: int) -> bool:
        """True with probability top/total."""
        return self.draw_below(total) < top


def choose_places(bits: Bits, size: int, count: int) -> list[int]:
    """`count` different numbers below `size`, sorted; all such sets are equally likely (Floyd's algorithm)."""
    chosen: set[int] = set()
    for last in range(size - count, size):
        drawn = bits.draw_below(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    return sorted(chosen)


def answer_direct(bits: Bits, value: int, size: int, odds: int) -> ReportNumbers:
    """The value, or one of the others: Warner's randomised response, also for many values."""
    if bits.flip_coin(odds, odds + (size - 1) * ONE):
        return (value,)
    other = bits.draw_below(size - 1)
    return (other + (other >= value),)


def answer_coins(bits: Bits, value: int, odds: int) -> ReportNumbers:
    """Two coins: the first decides between the truth and the second coin, which is fair."""
    truth, second = bits.flip_coin(odds - ONE, odds + ONE), bits.draw_below(2)
    return (value if truth else second,)


def answer_subset(bits: Bits, value: int, size: int, chosen: int, odds: int) -> ReportNumbers:
    """A set of `chosen` values, sorted, so that the order reveals nothing."""
    inside = bits.flip_coin(chosen * odds, chosen * odds + (size - chosen) * ONE)
    others = [other + (other >= value) for other in choose_places(bits, size - 1, chosen - inside)]
    return tuple(sorted([value, *others] if inside else others))


def answer_unary(bits: Bits, value: int, size: int, own: tuple[int, int], other: tuple[int, int]) -> ReportNumbers:
    """The values whose coins show heads, with probability `own` for the value and `other` for the rest."""
    return tuple(v for v in range(size) if bits.flip_coin(*(own if v == value else other)))


def answer_hadamard(bits: Bits, value: int, order: int, odds: int) -> ReportNumbers:
    """A whole number below `order`, a power of two, that likely has an even number of ones in common with value + 1."""
    column = value + 1
    even = bits.flip_coin(odds, odds + ONE)
    row = bits.draw_below(order)
    if ((row & column).bit_count() % 2 == 0) != even:
        row ^= column & -column
    return (row,)


def answer_hash(bits: Bits, value: int, bins: int, prime: int, odds: int) -> ReportNumbers:
    """A hash of a public family, drawn independently of the value, and the value's bin by randomised response."""
    a, b = 1 + bits.draw_below(prime - 1), bits.draw_below(prime)
    (heard,) = answer_direct(bits, (a * value + b) % prime % bins, bins, odds)
    return (a, b, heard)


def answer_projective(bits: Bits, value: int, q: int, t: int, odds: int) -> ReportNumbers:
    """The number of a point, likely on the hyperplane of the value."""
    points, inside = count_points(q, t), count_points(q, t - 1)
    plane = find_point(value, q, t)
    lead = plane.index(1)
    if bits.flip_coin(inside * odds, inside * odds + (points - inside) * ONE):
        free, wanted = find_point(bits.draw_below(inside), q, t - 1), 0
    else:
        free, wanted = read_digits(bits.draw_below(points - inside), q, t - 1), 1
    point = [*free[:lead], 0, *free[lead:]]
    point[lead] = (wanted - sum(x * y for x, y in zip(plane, point, strict=True))) % q
    return (number_point(point, q),)


# -- points of the projective space of t coordinates over the whole numbers modulo a prime q ---------------------------


def count_points(q: int, t: int) -> int:
    """The number of points.

    >>> count_points(3, 3)
    13
    """
    return int((q**t - 1) // (q - 1))


def read_digits(number: int, q: int, count: int) -> list[int]:
    """The digits of a number to the base q, the highest first.

    >>> read_digits(5, 3, 3)
    [0, 1, 2]
    """
    return [number // q ** (count - 1 - i) % q for i in range(count)]


def find_point(number: int, q: int, t: int) -> list[int]:
    """The point with this number: zeros, then a one, then any digits.

    >>> [find_point(i, 2, 2) for i in range(3)]
    [[1, 0], [1, 1], [0, 1]]
    """
    for lead in range(t):
        rest = t - 1 - lead
        if number < q**rest:
            return [0] * lead + [1, *read_digits(number, q, rest)]
        number -= q**rest
    raise ValueError("There are not so many points.")


def number_point(point: Sequence[int], q: int) -> int:
    """The number of a point, given by any of its multiples.

    >>> number_point([0, 2, 1], 3), number_point([0, 1, 2], 3)
    (11, 11)
    """
    t = len(point)
    lead = next(i for i, x in enumerate(point) if x)
    inverse = pow(point[lead], -1, q)
    before = sum(q ** (t - 1 - i) for i in range(lead))
    return int(before + sum(x * inverse % q * q ** (t - 1 - i) for i, x in enumerate(point) if i > lead))
