"""Choice among the points of a fine public grid: the exponential mechanism where scores are constant on few pieces.

A grid has up to 2^50 points, far too many to score one by one. But the score of a quantile changes only where there are
rows, so it is given piece by piece; a piece is drawn by its total weight, then a point of it. The law is that of
`choose.exponential` over all points, exactly.

Points that are round numbers weigh more. A public prior mixes, in equal parts, the multiples of each power of ten:
where rows are whole numbers, or rounded to hundreds, the values that they take stand out of the gaps between them, and
where they are not, a mixture costs a logarithm of the number of its parts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import choose
from discreet.mechanisms.arguments import Number
from discreet.mechanisms.keystream import Keystream, default
from discreet.mechanisms.lazy import Lazy, exp_bounds
from discreet.mechanisms.samplers import floats

Ints = NDArray[np.int64]

REACH = 1 << 49  # points are at most so many steps from zero, so that floats hold their numbers exactly
MASS = 1 << 56  # the weight of each part of the mixture, nearly: the whole stays below 2^62
SMALLEST, LARGEST = -290, 305  # powers of ten that floats hold


@dataclass(frozen=True)
class DecimalGrid:
    """The multiples of 10^power between two public bounds, numbered first to last.

    >>> grid = DecimalGrid.between(0, 100)
    >>> grid.power, grid.values(grid.codes(np.array([18.0, 250.0])))
    (-12, array([ 18., 100.]))
    """

    low: float
    high: float
    power: int
    first: int
    last: int

    @classmethod
    def between(cls, low: float, high: float) -> DecimalGrid:
        """The finest grid whose numbers floats hold exactly."""
        widest = max(abs(low), abs(high), high - low)
        power = min(max(math.ceil(math.log10(widest / REACH)), SMALLEST), LARGEST)
        return cls(low, high, power, math.floor(_scaled(low, power)), math.ceil(_scaled(high, power)))

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.last - self.first + 1

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The number of the point nearest to each value, within the bounds; NaN stays NaN."""
        with np.errstate(all="ignore"):  # a warning would tell of a value
            return np.asarray(np.clip(np.rint(_scaled(values, self.power)), self.first, self.last))

    def values(self, codes: Any) -> NDArray[np.float64]:
        """The points of these numbers, within the bounds."""
        return np.asarray(np.clip(_scaled(np.asarray(codes, dtype=np.float64), -self.power), self.low, self.high))

    @cached_property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """Each part of the prior: a power of ten, and the weight of each of its multiples."""
        tens = [10**j for j in range(17) if j == 0 or self.last // 10**j > (self.first - 1) // 10**j]
        return tuple((ten, max(1, MASS // (self.last // ten - (self.first - 1) // ten))) for ten in tens)

    def weight_below(self, code: int) -> int:
        """The weight of all points below this one."""
        return sum(((code - 1) // ten - (self.first - 1) // ten) * weight for ten, weight in self.levels)

    def weights_below(self, codes: Ints) -> Ints:
        """The weight of all points below each of these."""
        total = np.zeros(len(codes), dtype=np.int64)
        for ten, weight in self.levels:
            total += ((codes - 1) // ten - (self.first - 1) // ten) * weight
        return total

    def point_at(self, weight: int) -> int:
        """The last point with at most so much weight below it."""
        low, high = self.first, self.last
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.weight_below(middle) <= weight else (low, middle - 1)
        return low


def exponential_on_grid(
    pieces: Any, grid: DecimalGrid, epsilon: Number, sensitivity: Number, rng: Keystream | None = None
) -> int:
    """A point of the grid, drawn with probability ∝ weight·exp(c·score), c = ε/(2Δ).

    Parameters
    ----------
    pieces : two rows of whole numbers: where each piece starts, never decreasing from the grid's first point on, and
        its score. A piece ends where the next one starts, the last one with the grid; pieces may be empty.
    grid : the public points and their weights.
    sensitivity : Δ, a bound on the change of the score of any one point between neighbours.

    Guarantee: ε-DP, exactly, and ε-bounded-range: that of `choose.exponential` (`proofs/points.md`).

    >>> exponential_on_grid([[0, 40, 60], [-1000, 0, -1000]], DecimalGrid(0, 100, 0, 0, 100), 1.0, 1) in range(40, 60)
    True
    """
    rng = rng or default()
    starts, scores = np.asarray(pieces)
    rate = choose.rate_of(epsilon, sensitivity, False)
    below = grid.weights_below(np.append(starts.astype(np.int64), grid.last + 1))
    masses = np.diff(below)
    best = max(int(score) for score, mass in zip(scores, masses, strict=True) if mass > 0)
    gaps = np.asarray(np.maximum(best - scores, 0), dtype=np.int64)
    i = _draw_piece(masses, gaps, rate, rng)
    return grid.point_at(int(below[i]) + draw_below(int(masses[i]), rng))


def _draw_piece(masses: Ints, gaps: Ints, rate: Fraction, rng: Keystream) -> int:
    """A piece, with probability ∝ mass·exp(-rate·gap): as in `choose.exponential`."""
    edges = np.cumsum(masses * np.exp(-floats(gaps, rate)))
    u = Lazy(rng.word() >> 11, 53, rng)
    spot, slack = u.m * 2.0**-53 * edges[-1], (len(gaps) + 8) * float(edges[-1]) * 2.0**-48
    i = int(np.searchsorted(edges, spot, side="right"))
    sure = i < len(gaps) and spot + slack < edges[i] and (i == 0 or edges[i - 1] <= spot - slack)
    return i if sure else _settle_piece(masses, gaps, rate, u)


def _settle_piece(masses: Ints, gaps: Ints, rate: Fraction, u: Lazy) -> int:
    """The same draw from bounds of the weights that grow tighter."""
    while True:
        weights = [exp_bounds(rate * int(gap), u.bits + 64) for gap in gaps]
        lows = list(accumulate(int(mass) * low for mass, (low, _) in zip(masses, weights, strict=True)))
        highs = list(accumulate(int(mass) * high for mass, (_, high) in zip(masses, weights, strict=True)))
        i = next((i for i, high in enumerate(highs) if u.m * lows[-1] < high << u.bits), len(highs) - 1)
        if (u.m + 1) * highs[-1] <= lows[i] << u.bits:
            return i
        u.reveal()


def draw_below(top: int, rng: Keystream) -> int:
    """A whole number below `top`, each as likely: the whole part of a uniform real times `top`, exactly.

    >>> {draw_below(3, default()) for _ in range(200)}
    {0, 1, 2}
    """
    u = Lazy(rng.word() << 64 | rng.word(), 128, rng)
    while (u.m * top) >> u.bits != ((u.m + 1) * top - 1) >> u.bits:
        u.reveal()
    return (u.m * top) >> u.bits


def _scaled(values: Any, power: int) -> Any:
    """Values in units of 10^power; by a power of ten that floats hold exactly, where there is one."""
    return values / 10.0**power if power >= 0 else values * 10.0**-power
