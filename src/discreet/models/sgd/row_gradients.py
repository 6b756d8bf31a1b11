"""Design: what one row adds to a gradient, and how it is clipped."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.models.shared.losses import ScoreLoss
from discreet.query import Batch, BoundedSum, Image, Lattice, OneHot, halved
from discreet.query.images import Scaled, find_missing

Floats = NDArray[np.float64]

BITS = 20  # of a coordinate: whole numbers that float32 holds, on a grid that no noise asks to be coarser
UNIT = 2.0**-BITS
GRID = Lattice(0, 1 << BITS)
LONGEST = 1 << 22  # of a row's length: four times that of a row in the unit ball; float32 holds it
SMALLEST = 2.0**-500  # a row of zeros has no direction: it is divided by this


@dataclass(frozen=True, eq=False)
class PolarRows:
    """The image of a row (1, x): its direction and its length, in whole numbers of `UNIT`.

    Features are scaled into [-1, 1] by bounds, and all coordinates divided by the root of their number: the row is in
    the unit ball. (If features are centred as well, a row may be a little longer.)

    | a row with | becomes |
    | --- | --- |
    | NaN or infinity | direction 0, length NaN, so that it adds nothing to a sum |
    """

    rows: Scaled

    @property
    def width(self) -> int:
        """Of a direction."""
        return len(self.rows.scale) + self.rows.intercept

    def __call__(self, batch: Batch) -> Floats:
        """Direction and length of each row."""
        made = np.empty((self.width + 1, len(batch)))
        z = self.rows(batch).T
        length = np.sqrt(halved(z * z))
        z *= GRID.limit / np.maximum(length, SMALLEST)
        made[:-1] = GRID.quantise(z.T, 2)[0]
        made[-1] = np.minimum(np.rint(length * (GRID.limit / math.sqrt(self.width))), LONGEST)
        return made.T


@dataclass(frozen=True, eq=False)
class RowGradients:
    """What rows mapped by `Polar` add to the gradient of a loss.

    The gradient of a row x is x ⊗ slope, of norm ‖x‖·‖slope‖. It is clipped in closed form: the row's direction, of
    length 1, times the slope multiplied by ‖x‖ and cut to norm `clip`.

    Parameters
    ----------
    polar : the map.
    target : gives the target of a row: a place in the list of classes, or a number within [-1, 1].
    loss : of the score.
    """

    polar: PolarRows
    target: Image
    loss: ScoreLoss

    @classmethod
    def from_bounds(cls, bounds: Bounds, intercept: bool, target: Image, loss: ScoreLoss) -> RowGradients:
        """Features scaled by these bounds."""
        return cls(PolarRows(Scaled.from_bounds(bounds, intercept)), target, loss)

    def centre_at(self, mean: Floats) -> RowGradients:
        """The same with features centred there: a point of [-1, 1]^d, public or released."""
        rows = self.polar.rows
        return replace(self, polar=PolarRows(replace(rows, shift=rows.shift - mean)))

    def sum_features(self) -> BoundedSum:
        """The sum of the scaled features, of rows that are not mapped yet."""
        features = replace(self.polar.rows, intercept=False)
        return BoundedSum(features, norm=math.sqrt(len(features.scale)), name="means")

    def to_data_units(self, theta: Floats) -> tuple[Floats, Floats]:
        """Coefficients and intercepts in the units of the data, one line per column of θ."""
        scaled = theta.T / math.sqrt(len(theta))
        slopes = scaled[:, int(self.intercept) :]
        start = scaled[:, 0] if self.intercept else np.zeros(len(scaled))
        return slopes * self.polar.rows.scale, start + slopes @ self.polar.rows.shift

    @property
    def shape(self) -> tuple[int, int]:
        """Of the coefficients."""
        return self.polar.width, self.loss.columns

    @property
    def intercept(self) -> bool:
        """Whether the first coefficient is one."""
        return bool(self.polar.rows.intercept)

    def sum_gradients(self, theta: Floats, clip: float) -> BoundedSum:
        """The sum of the rows' gradients at these coefficients, each clipped to norm `clip`; in units of `UNIT`."""
        limit = float(GRID.limit)
        return BoundedSum(
            self.row_directions,
            ScaledSlope(self, theta),
            clip * limit,
            left_norm=limit,
            bits=BITS,
            name="gradient",
            fixed=self.shape,
        )

    def count_rows(self) -> BoundedSum:
        """How many rows there are with nothing missing, of rows that are not mapped yet."""
        return BoundedSum(OneHot(_code_whole_rows, 1), name="rows")

    def count_mapped_rows(self) -> BoundedSum:
        """The same of mapped rows: those that have a length."""
        return BoundedSum(OneHot(_code_mapped_rows, 1), name="rows", fixed=(1, 1))

    def count_norms(self, theta: Floats, clip: float, size: int) -> BoundedSum:
        """How many rows have a gradient of norm at most `clip`; and, if `size` is 2, how many a larger one."""
        slope = ScaledSlope(self, theta)

        def cell(batch: Batch) -> Floats:
            z = slope(batch).T
            return np.where(np.isnan(z[0]), -1.0, halved(z * z) > clip * clip)

        return BoundedSum(OneHot(cell, size), name="norms", fixed=(size, 1))

    def row_directions(self, batch: Batch) -> Floats:
        """The direction of each row."""
        self.grid_directions(batch)
        return batch.X[:, :-1]

    def grid_directions(self, batch: Batch) -> Floats:
        """Directions as `BoundedSum` puts them on its grid: they are on it already, so they are left as they are."""

        def make() -> tuple[Floats, Floats]:
            z, lost = batch.X[:, :-1].T, batch.missing_targets
            return np.where(lost, 0.0, z) if lost.any() else z, np.ones(len(batch))

        made: tuple[Floats, Floats] = batch.make_once((self.row_directions, GRID, 2, False), make)
        return made[0]


@dataclass(frozen=True, eq=False)
class ScaledSlope:
    """The slope of each row's loss times the length of the row: the row's gradient is this along its direction."""

    design: RowGradients
    theta: Floats

    def __call__(self, batch: Batch) -> Floats:
        """One number per row and column of coefficients."""
        made: Floats = batch.make_once((self.design, self.theta.tobytes()), lambda: self._compute_slopes(batch))
        return made

    @cached_property
    def _integer_theta(self) -> tuple[Floats, Floats]:
        """θ in whole numbers, one line per column, and the unit of each: products with directions are then exact."""
        size = np.sqrt((self.theta * self.theta).sum(axis=0))
        # ‖h‖·‖z‖ <= 2^30·2^20 for whole numbers h of so many bits: every partial sum of h·z is exact
        unit = np.ldexp(1.0, np.frexp(np.maximum(size, 2.0**-900))[1] - (49 - BITS))
        return np.rint(self.theta / unit).T, unit

    def _compute_slopes(self, batch: Batch) -> Floats:
        design, radius, (h, unit) = self.design, batch.X[:, -1] * UNIT, self._integer_theta
        score = (h @ design.grid_directions(batch)) * unit[:, None] * (radius * UNIT)
        return np.asarray((design.loss.slope(score, design.target(batch)) * radius).T)


def _code_mapped_rows(batch: Batch) -> Floats:
    return np.where(np.isnan(batch.X[:, -1]), -1.0, 0.0)


def _code_whole_rows(batch: Batch) -> Floats:
    return np.where(find_missing(batch), -1.0, 0.0)
