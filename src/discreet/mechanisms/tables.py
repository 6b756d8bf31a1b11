"""Whole numbers K ≥ 0 with P(K = k) ∝ exp(-k^q / (q·s^q)), by inverting the distribution function exactly.

q = 1 is the geometric law, q = 2 half a discrete Gaussian. U is uniform on [0, 1), revealed lazily, and K
counts the k with F(k) ≤ U. Sixteen bits of U settle nearly all draws by one look-up, 64 bits all but some
2^-54 of them; the rest, and the endless tail, by bounds of F that grow tighter as more of U is revealed.
No mass is missing.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.keystream import Keystream
from discreet.mechanisms.lazy import Lazy, exp_bounds

_LAST = (1 << 64) - 1
_UNSETTLED = -1


class Table:
    """The law of K for one power q and scale s; `half` halves the weight of K = 0, which has two signs.

    >>> Table(2, Fraction(16)).top
    146
    """

    def __init__(self, power: int, scale: Fraction, half: bool = False) -> None:
        self.power, self.half = power, half
        self.rate: Fraction = 1 / (power * scale**power)
        self.cells = self._cells()  # floor(2^64 F(k)), up to the first that reaches 2^64 - 1
        self.top = len(self.cells) - 1
        self._words = np.array(self.cells, dtype=np.uint64)
        self.guide = _guide(self._words)  # k by the first 16 bits of U, where these settle it

    def _weights(self, bits: int) -> tuple[list[int], list[int]]:
        """Bounds of 2^bits·exp(-rate·k^q), until they vanish."""
        # w ← w·ratio, ratio ← ratio·exp(-2(q - 1)·rate)
        ratio, bend = exp_bounds(self.rate, bits), exp_bounds(2 * (self.power - 1) * self.rate, bits)
        weights = [(1 << bits, 1 << bits)]
        while weights[-1][0]:
            weights.append(_times(weights[-1], ratio, bits))
            ratio = _times(ratio, bend, bits)
        weights[0] = (1 << bits - self.half,) * 2
        lows, highs = zip(*weights, strict=True)
        return list(lows), list(highs)

    def cumulative(self, bits: int) -> tuple[list[int], list[int]]:
        """Bounds of 2^bits·F(k), for all k whose weight is well above 2^-bits."""
        lows, highs = self._weights(bits)
        k, last = len(lows) - 1, highs.pop()
        # from k on the weights fall at least geometrically: Σ ≤ w/(1 - e^-x) ≤ w·(1 + 1/x)
        x = self.rate * (k**self.power - (k - 1) ** self.power)
        lows, highs = list(accumulate(lows[:-1])), list(accumulate(highs))
        least, most = lows[-1], highs[-1] + int(last * (1 + 1 / x)) + 1
        return [(c << bits) // most for c in lows], [-(-(c << bits) // least) for c in highs]

    def _cells(self) -> list[int]:
        bits = 128
        while True:
            lows, highs = self.cumulative(bits)
            cells = [low >> (bits - 64) for low in lows]
            cells = cells[: cells.index(_LAST) + 1]
            # F < 1, so its floor never exceeds 2^64 - 1
            if all(min(high >> (bits - 64), _LAST) == cell for high, cell in zip(highs, cells, strict=False)):
                return cells
            bits += 64

    def find(self, first: int, rng: Keystream) -> int:
        """K, given the first 16 bits of U."""
        word = first << 48 | rng.word() >> 16
        k = bisect_left(self.cells, word)
        return k if self.cells[k] != word else self.settle(k, word, rng)

    def settle(self, k: int, word: int, rng: Keystream) -> int:
        """K, given the first 64 bits of U and that F(k - 1) ≤ U: the tie and the tail."""
        u = Lazy(word, 64, rng)
        while True:
            lows, highs = self.cumulative(u.bits + 64)
            while k < len(lows) and u.m << 64 >= highs[k]:
                k += 1
            if k < len(lows) and (u.m + 1) << 64 <= lows[k]:
                return k
            u.reveal()

    def draw(self, first: NDArray[np.uint16], rng: Keystream) -> NDArray[np.int64]:
        """K for each `first` 16 bits of U."""
        k: NDArray[np.int64] = self.guide.take(first).astype(np.int64)
        open_ = np.flatnonzero(k == _UNSETTLED)
        words = first[open_].astype(np.uint64) << np.uint64(48) | rng.u64(len(open_)) >> np.uint64(16)
        found = np.searchsorted(self._words, words)
        for i in np.flatnonzero(self._words[found] == words):
            found[i] = self.settle(int(found[i]), int(words[i]), rng)
        k[open_] = found
        return k


def _times(a: tuple[int, int], b: tuple[int, int], bits: int) -> tuple[int, int]:
    return a[0] * b[0] >> bits, -(-(a[1] * b[1]) >> bits)


def _guide(words: NDArray[np.uint64]) -> NDArray[np.int16]:
    starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    first = np.searchsorted(words, starts)
    beyond = np.searchsorted(words, starts + np.uint64((1 << 48) - 1), side="right")
    return np.where(first == beyond, first, _UNSETTLED).astype(np.int16)


@lru_cache(maxsize=256)
def table(power: int, scale: Fraction, half: bool = False) -> Table:
    """The table of that law, built once."""
    return Table(power, scale, half)


def proposal(s: Fraction) -> Fraction:
    """The least scale ≥ s that has four significant bits and is ≥ 1/8: an eighth larger at most, and few.

    >>> [str(proposal(Fraction(s))) for s in (0.01, 16, 16.5, 31)]
    ['1/8', '16', '18', '32']
    """
    s = max(s, Fraction(1, 8))
    unit = Fraction(2) ** (exponent(s) - 3)
    return -(-s // unit) * unit


def exponent(s: Fraction) -> int:
    """The e with 2^e ≤ s < 2^(e + 1).

    >>> exponent(Fraction(16)), exponent(Fraction(1, 3))
    (4, -2)
    """
    e = s.numerator.bit_length() - s.denominator.bit_length()
    return e if Fraction(2) ** e <= s else e - 1
