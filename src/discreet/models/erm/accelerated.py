"""The minimum of a regularised sum of losses, to a tolerance that holds whatever the rows.

Accelerated projected gradients: their number follows from the number of rows, in three bits of it, and from public
numbers, and is enough for all data. `mechanisms/proofs/erm.md` has the proof, float error included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Rows
from discreet.models.erm.losses import Loss
from discreet.models.erm.problem import BITS, GRID, UNIT, Unit, coarse
from discreet.query import Batch, BoundedSum, Image, OneHot, Together

Floats = NDArray[np.float64]

ROWS = 2.0**26  # up to so many rows the tolerance is proved
FINEST = 2.0**-15  # no tolerance is smaller
ROUND = 2.0**-53


@dataclass(frozen=True, eq=False)
class Minimiser:
    """For each class k the θ of norm at most `radius` that minimises Σᵢ loss(±uᵢ·θ) + strength/2·‖θ‖² + b_k·θ.

    Parameters
    ----------
    image : makes u of a row.
    loss : of the margin; the sign is + for rows of class k (of two classes: of the second) and - for the others.
    columns : how many classes have coefficients.
    strength, radius : public.
    push : a bound on ‖b_k‖.
    blur : how far b_k may be from the vector that it stands for.
    """

    image: Unit
    loss: Loss
    columns: int
    strength: float
    radius: float
    push: float = 0.0
    blur: float = 0.0

    @property
    def tolerance(self) -> float:
        """How far from the exact minimum the coefficients of a class may be: public, and true of all data."""
        d, beta, R = self.image.width, self.loss.curvature, self.radius
        kappa = self._smoothness(ROWS) / self.strength
        drift = kappa * ((80 + d) * R + 12 / beta) + 2 * d * math.sqrt(kappa) * R + 12 * self.push / self.strength
        rows = ROWS * (2.0**-41 + ROUND * (16 + 2 * beta * (1 + R)))
        error = rows + 4 * ROUND * (self.strength * R + self.push) + self.blur
        return FINEST + 2 * (ROUND * drift + 4 * error / self.strength)

    def passes(self, n: int) -> int:
        """How many gradients bring the coefficients within the tolerance, for so many rows."""
        rate = -math.log1p(-self._momentum(n)) / 2
        height = coarse(n) * self.loss.start + self.push * self.radius + self.strength * self.radius**2
        start = math.sqrt(2 / self.strength * height)
        return math.ceil(math.log(max(2 * start / self.tolerance, 2.0)) / rate * (1 + 1e-9)) + 1

    def __call__(self, rows: Rows, b: Floats) -> Floats:
        """The coefficients, one line per class."""
        mapped: Any = rows.map(self.image)
        mapped = getattr(mapped, "held", lambda: mapped)()
        n = int(mapped.sum(BoundedSum(OneHot(_there, 1), name="count"))[0])
        a, x = self._momentum(n), np.zeros((self.columns, self.image.width))
        v = x
        for _ in range(self.passes(n)):
            y = x + a / (1 + a) * (v - x)
            slope = self._gradient(mapped, y) + (self.strength * y + b)
            v = self._within(v + a * (y - v) - a / self.strength * slope)
            x = x + a * (v - x)
        return self._within(x)

    def _smoothness(self, n: float) -> float:
        return self.loss.curvature * n + self.strength

    def _momentum(self, n: int) -> float:
        # rounded down: a smoothness that is too large does no harm
        return math.sqrt(self.strength / self._smoothness(coarse(n))) * (1 - 2.0**-40)

    def _within(self, theta: Floats) -> Floats:
        """Projected onto the ball."""
        lengths = np.sqrt((theta * theta).sum(axis=1, keepdims=True))
        return np.asarray(theta * np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300)))

    def _gradient(self, rows: Any, theta: Floats) -> Floats:
        """Σ slope·u over the rows, the sums exact."""
        slopes = Slopes(self, *words_of(theta))
        together = Together((self._sum(slopes.high), self._sum(slopes.low)), (theta.T.shape, theta.T.shape))
        high, low = (part.astype(np.float64) for part in together.apart(rows.sum(together)))
        return np.asarray((high + low * UNIT).T * UNIT**2)

    def _sum(self, word: Image) -> BoundedSum:
        limit = float(GRID.limit)
        return BoundedSum(self.direction, word, limit, left_norm=limit, bits=BITS, box=True, name="gradient")

    def direction(self, batch: Batch) -> Floats:
        """The u of each row."""
        self.quantised(batch)
        return batch.X

    def quantised(self, batch: Batch) -> Floats:
        """The same as `BoundedSum` puts it on its grid: it is there already, so it is left as it is."""

        def make() -> tuple[Floats, Floats]:
            z, lost = batch.X.T, batch.lost
            return np.where(lost, 0.0, z) if lost.any() else z, np.ones(len(batch))

        made: tuple[Floats, Floats] = batch.once((self.direction, GRID, 2, True), make)
        return made[0]


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slope of each row's loss, in two words of 20 bits: the first on the grid, what is left of it in the second.

    The score u·θ is made of two products of whole numbers, exact in any order, so the slope is a row's own.
    """

    problem: Minimiser
    words: tuple[Floats, ...]
    units: tuple[float, ...]

    def high(self, batch: Batch) -> Floats:
        """The first word."""
        return np.asarray(self._split(batch)[0].T)

    def low(self, batch: Batch) -> Floats:
        """The second, in units of the first one's grid."""
        return np.asarray(self._split(batch)[1].T)

    def _split(self, batch: Batch) -> tuple[Floats, Floats]:
        made: tuple[Floats, Floats] = batch.once(self, lambda: self._made(batch))
        return made

    def _made(self, batch: Batch) -> tuple[Floats, Floats]:
        z = self.problem.quantised(batch)
        first, second = (word @ z * unit for word, unit in zip(self.words, self.units, strict=True))
        score, sign = first + second, self._signs(batch)
        slope = sign * self.problem.loss.slope(sign * score)
        high = np.rint(slope / UNIT) * UNIT
        return high, (slope - high) / UNIT

    def _signs(self, batch: Batch) -> Floats:
        assert batch.y is not None
        k = self.problem.columns
        wanted = np.arange(k)[:, None] if k > 1 else np.ones((1, 1))
        return np.where(batch.y == wanted, 1.0, -1.0)


def words_of(theta: Floats) -> tuple[tuple[Floats, ...], tuple[float, ...]]:
    """θ as two matrices of whole numbers, times a unit each: the products with u are exact."""
    words, units = [], []
    for _ in range(2):
        top = max(float(np.sqrt((theta * theta).sum(axis=1).max())), 2.0**-900)
        unit = math.ldexp(1.0, math.frexp(top)[1] - (51 - BITS))  # |word·z| <= 2^51
        words.append(np.rint(theta / unit))
        theta = theta - words[-1] * unit
        units.append(unit * UNIT)
    return tuple(words), tuple(units)


def _there(batch: Batch) -> NDArray[np.int64]:
    """Rows whose u is not zero: those that count."""
    return np.where((batch.X != 0).any(axis=1), 0, -1)
