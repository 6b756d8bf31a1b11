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
from discreet.query import EXACT, Batch, BoundedSum, Ints, OneHot, _product

Floats = NDArray[np.float64]

ROWS = 2.0**26  # up to so many rows the tolerance is proved
ROUND = 2.0**-53
CHUNK = EXACT // GRID.limit**2  # so many products of whole numbers add up exactly


@dataclass(frozen=True, eq=False)
class Minimiser:
    """For each class k the θ of norm at most `radius` that minimises Σᵢ loss(±uᵢ·θ) + strength/2·‖θ‖² + b_k·θ.

    Parameters
    ----------
    image : makes u of a row.
    loss : of the margin; the sign is + for rows of class k (of two classes: of the second) and - for the others.
    columns : how many classes have coefficients.
    strength, radius : public.
    finest : the tolerance that is wanted; it is larger where float error asks for that.
    push : a bound on ‖b_k‖.
    blur : how far b_k may be from the vector that it stands for.
    """

    image: Unit
    loss: Loss
    columns: int
    strength: float
    radius: float
    finest: float
    push: float = 0.0
    blur: float = 0.0

    @property
    def tolerance(self) -> float:
        """How far from the exact minimum the coefficients of a class may be: public, and true of all data."""
        d, beta, R = self.image.width, self.loss.curvature, self.radius
        steps = ROUND * R * (100 + 5 * d) * self._smoothness(ROWS)
        sums = ROWS * (2.0**-41 + ROUND * (20 + 2 * beta * (1 + R)))
        error = steps + sums + 8 * ROUND * (self.strength * R + self.push) + self.blur
        return self.finest + 8 * error / self.strength

    def passes(self, n: int) -> int:
        """How many gradients bring the coefficients within the tolerance, for so many rows."""
        rate = -math.log1p(-self._momentum(n)) / 2
        height = coarse(n) * self.loss.start + self.push * self.radius + self.strength * self.radius**2
        start = math.sqrt(2 / self.strength * height)
        return math.ceil(math.log(max(2 * start / self.tolerance, 2.0)) / rate * (1 + 1e-9)) + 1

    def __call__(self, rows: Rows, b: Floats) -> Floats:
        """The coefficients, one line per class."""
        mapped = _held(rows.map(self.image))
        n = int(mapped.sum(BoundedSum(OneHot(_there, 1), name="count"))[0])
        a = self._momentum(n)
        x = low = v = np.zeros((self.columns, self.image.width))  # `low` is what rounding left out of x
        for _ in range(self.passes(n)):
            y = x + (a / (1 + a) * (v - x) + low)
            slope = self._gradient(mapped, y) + (self.strength * y + b)
            v = self._within(v + a * (y - v) - a / self.strength * slope)
            step = a * (v - x) + low
            low, x = step - ((x + step) - x), x + step
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

    def _gradient(self, rows: Rows, theta: Floats) -> Floats:
        """Σ slope·u over the rows, the sums exact."""
        slopes, limit = Slopes(self.loss, self.columns, *words_of(theta)), float(GRID.limit)
        query = Gradient(_coordinates, slopes, limit, left_norm=limit, bits=BITS, box=True, name="gradient")
        total = rows.sum(query).astype(np.float64).T
        return np.asarray((total[: self.columns] + total[self.columns :] * UNIT) * UNIT**2)


class Gradient(BoundedSum):
    """The sum of u ⊗ (slopes in two words), as `BoundedSum` defines it; quicker, as both are on their grids already."""

    def __call__(self, batch: Batch) -> Ints:
        """The total of a batch, exact."""
        z = whole(batch)
        assert isinstance(self.right, Slopes)
        return np.concatenate([_product(z, line[None], CHUNK) for line in self.right.whole(batch)], axis=1)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slope of each row's loss in two words of 20 bits, per class: on the grid, and what is left, 2^20 times finer.

    The score u·θ is made of two products of whole numbers, exact in any order, so the slope is a row's own.
    """

    loss: Loss
    columns: int
    words: tuple[Floats, ...]
    units: tuple[float, ...]

    def __call__(self, batch: Batch) -> Floats:
        """First the first words of all classes, then the second."""
        return np.asarray(self.whole(batch).T * UNIT)

    def whole(self, batch: Batch) -> Floats:
        """The same in whole numbers, one line each."""
        z, sign = whole(batch), self._signs(batch)
        score = (self.words[0] @ z) * self.units[0] + (self.words[1] @ z) * self.units[1]
        slope = sign * self.loss.slope(sign * score) * GRID.limit
        high = np.rint(slope)
        return np.concatenate([high, np.rint((slope - high) * GRID.limit)])

    def _signs(self, batch: Batch) -> Floats:
        assert batch.y is not None
        wanted = np.arange(float(self.columns)) if self.columns > 1 else np.ones(1)
        made: Floats = batch.once(("signs", self.columns), lambda: _signs(batch.y, wanted))
        return made


def words_of(theta: Floats) -> tuple[tuple[Floats, ...], tuple[float, ...]]:
    """θ as two matrices of whole numbers, times a unit each: the products with u are exact."""
    words, units = [], []
    for _ in range(2):
        top = max(math.sqrt(float((theta * theta).sum(axis=1).max())), 2.0**-900)
        unit = math.ldexp(1.0, math.frexp(top)[1] - (51 - BITS))  # |word·z| < 2^52
        words.append(np.rint(theta / unit))
        theta = theta - words[-1] * unit
        units.append(unit * UNIT)
    return tuple(words), tuple(units)


def whole(batch: Batch) -> Floats:
    """The u of each row in whole numbers, one coordinate after the other; zero where the target is missing."""
    made: Floats = batch.once("whole", lambda: np.ascontiguousarray(np.where(batch.lost, 0.0, batch.X.T)))
    return made


def _coordinates(batch: Batch) -> Floats:
    return batch.X


def _signs(y: NDArray[Any] | None, wanted: Floats) -> Floats:
    return np.where(y == wanted[:, None], 1.0, -1.0)


def _there(batch: Batch) -> NDArray[np.int64]:
    """Rows whose u is not zero: those that count."""
    return np.where((batch.X != 0).any(axis=1), 0, -1)


def _held(rows: Any) -> Rows:
    """Rows that are read many times, held in memory where the engine offers it and they are not too many."""
    for offer in ("held", "keep"):
        rows = getattr(rows, offer, lambda rows=rows: rows)()
    held: Rows = rows
    return held
