"""The minimum of a regularised sum of losses, to a tolerance that holds whatever the rows.

Accelerated projected gradients: their number follows from public numbers, a limit on the number of rows among them, and
is enough for all data within that limit. `mechanisms/proofs/erm.md` has the proof, float error included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Rows
from discreet.models.erm.problem import BITS, GRID, UNIT, UnitVectors
from discreet.models.shared.losses import MarginLoss
from discreet.query import EXACT, Batch, BoundedSum, Ints, OneHot

Floats = NDArray[np.float64]

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
    rows : a public limit on the number of rows. Of more, the coefficients are finite, and no tolerance is promised.
    push : a bound on ‖b_k‖.
    blur : how far b_k may be from the vector that it stands for.
    """

    image: UnitVectors
    loss: MarginLoss
    columns: int
    strength: float
    radius: float
    finest: float
    rows: float
    push: float = 0.0
    blur: float = 0.0

    @property
    def tolerance(self) -> float:
        """How far from the exact minimum the coefficients of a class may be: public, and true of all data."""
        d, beta, R = self.image.width, self.loss.curvature, self.radius
        steps = ROUND * R * (100 + 5 * d) * self._gradient_smoothness
        sums = self.rows * (2.0**-41 + ROUND * (20 + 2 * beta * (1 + R)))
        error = steps + sums + 8 * ROUND * (self.strength * R + self.push) + self.blur
        return self.finest + 8 * error / self.strength

    @property
    def passes(self) -> int:
        """How many gradients bring the coefficients within the tolerance, whatever the rows: public."""
        rate = -math.log1p(-self._momentum_weight) / 2
        height = self.rows * self.loss.at_zero + self.push * self.radius + self.strength * self.radius**2
        start = math.sqrt(2 / self.strength * height)
        return math.ceil(math.log(max(2 * start / self.tolerance, 2.0)) / rate * (1 + 1e-9)) + 1

    def __call__(self, rows: Rows, b: Floats) -> Floats:
        """The coefficients, one line per class."""
        mapped, a = rows.map(self.image).hold_in_memory().cache_images(), self._momentum_weight  # many sums are to come
        within = float(mapped.sum(BoundedSum(OneHot(_code_counted_rows, 1), name="rows"))[0]) <= self.rows
        x = low = v = np.zeros((self.columns, self.image.width))  # `low` is what rounding left out of x
        for _ in range(self.passes):
            y = x + (a / (1 + a) * (v - x) + low)
            slope = self._sum_gradient(mapped, y) + (self.strength * y + b)
            v = self._project_on_ball(v + a * (y - v) - a / self.strength * slope)
            step = a * (v - x) + low
            low, x = step - ((x + step) - x), x + step
        return self._project_on_ball(x) if within else np.zeros_like(x)  # more rows than there may be: a fixed vector

    @property
    def _gradient_smoothness(self) -> float:
        return self.loss.curvature * self.rows + self.strength

    @property
    def _momentum_weight(self) -> float:
        # rounded down: a smoothness that is too large does no harm
        return math.sqrt(self.strength / self._gradient_smoothness) * (1 - 2.0**-40)

    def _project_on_ball(self, theta: Floats) -> Floats:
        """Projected onto the ball."""
        lengths = np.sqrt((theta * theta).sum(axis=1, keepdims=True))
        return np.asarray(theta * np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300)))

    def _sum_gradient(self, rows: Rows, theta: Floats) -> Floats:
        """Σ slope·u over the rows, the sums exact."""
        slopes, limit = SlopeWords(self.loss, self.columns, *split_words(theta)), float(GRID.limit)
        query = GradientSum(_row_vectors, slopes, limit, left_norm=limit, bits=BITS, box=True, name="gradient")
        total = rows.sum(query).astype(np.float64).T
        return np.asarray((total[: self.columns] + total[self.columns :] * UNIT) * UNIT**2)


class GradientSum(BoundedSum):
    """The sum of u ⊗ (slopes in two words), as `BoundedSum` defines it; quicker, as both are on their grids already."""

    def __call__(self, batch: Batch) -> Ints:
        """The total of a batch, exact."""
        assert isinstance(self.right, SlopeWords) and batch.share is None
        z, lines = integer_rows(batch), self.right.integer_slopes(batch)
        total = np.zeros((len(z), len(lines)), dtype=np.int64)
        for start in range(0, len(batch), CHUNK):
            some = slice(start, start + CHUNK)
            total += _multiply_lines(z[:, some], lines[:, some]).astype(np.int64)
        return total


@dataclass(frozen=True, eq=False)
class SlopeWords:
    """The slope of each row's loss in two words of 20 bits, per class: on the grid, and what is left, 2^20 times finer.

    The score u·θ is made of two products of whole numbers, exact in any order, so the slope is a row's own.
    """

    loss: MarginLoss
    columns: int
    words: tuple[Floats, ...]
    units: tuple[float, ...]

    def __call__(self, batch: Batch) -> Floats:
        """First the first words of all classes, then the second."""
        return np.asarray(self.integer_slopes(batch).T * UNIT)

    def integer_slopes(self, batch: Batch) -> Floats:
        """The same in whole numbers, one line each."""
        score, sign = self._compute_scores(integer_rows(batch)), self._class_signs(batch)
        score *= sign
        slope = self.loss.slope(score)
        slope *= sign
        slope *= GRID.limit
        made = np.empty((2 * self.columns, len(batch)))
        high, low = made[: self.columns], made[self.columns :]
        np.rint(slope, out=high)
        slope -= high
        slope *= GRID.limit
        np.rint(slope, out=low)
        return made

    def _compute_scores(self, z: Floats) -> Floats:
        if self.columns > 1:  # all products in one reading of the rows
            both = np.concatenate(self.words) @ z
            high, low = both[: self.columns], both[self.columns :]
        else:
            high, low = (word @ z for word in self.words)
        high *= self.units[0]
        low *= self.units[1]
        high += low
        return np.asarray(high)

    def _class_signs(self, batch: Batch) -> Floats:
        assert batch.y is not None
        wanted = np.arange(float(self.columns)) if self.columns > 1 else np.ones(1)
        made: Floats = batch.make_once(("signs", self.columns), lambda: _match_signs(batch.y, wanted))
        return made


def _multiply_lines(z: Floats, lines: Floats) -> Floats:
    """Of every coordinate with every line; for two lines a vector at a time is quicker."""
    if len(lines) > 2:
        return np.asarray((lines @ z.T).T)
    return np.stack([z @ line for line in lines], axis=1)


def split_words(theta: Floats) -> tuple[tuple[Floats, ...], tuple[float, ...]]:
    """θ as two matrices of whole numbers, times a unit each: the products with u are exact."""
    words, units = [], []
    for _ in range(2):
        top = max(math.sqrt(float((theta * theta).sum(axis=1).max())), 2.0**-900)
        unit = math.ldexp(1.0, math.frexp(top)[1] - (51 - BITS))  # |word·z| < 2^52
        words.append(np.rint(theta / unit))
        theta = theta - words[-1] * unit
        units.append(unit * UNIT)
    return tuple(words), tuple(units)


def integer_rows(batch: Batch) -> Floats:
    """The u of each row in whole numbers, one coordinate after the other; zero where the target is missing."""
    made: Floats = batch.make_once(
        "whole", lambda: np.ascontiguousarray(np.where(batch.missing_targets, 0.0, batch.X.T))
    )
    return made


def _code_counted_rows(batch: Batch) -> NDArray[np.int64]:
    """Rows whose u is not zero: those that count."""
    return np.where((batch.X != 0).any(axis=1), 0, -1)


def _row_vectors(batch: Batch) -> Floats:
    return batch.X


def _match_signs(y: NDArray[Any] | None, wanted: Floats) -> Floats:
    return np.where(y == wanted[:, None], 1.0, -1.0)
