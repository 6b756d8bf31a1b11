"""Rows as a direction and a length, so that a gradient is clipped as a whole and summed by one matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.models.shared.losses import slope_of_log, slope_of_softmax
from discreet.query import BITS, Batch, BoundedSum, Image, Lattice, halved
from discreet.query.grid import GridCoefficients

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowDirections:
    """The image z/‖z‖ of rows with the vectors z that `image` gives; of width `width`.

    A little shorter than 1, that is, so that none is too long once it is rounded to its grid; `length` makes up for it.
    """

    image: Image
    width: int

    def __call__(self, batch: Batch) -> Floats:
        """One vector of length 1, or nearly so, per row."""
        return self._split_rows(batch)[0].T

    def measure_lengths(self, batch: Batch) -> Floats:
        """The length of each row's vector: what its direction is to be multiplied by."""
        return self._split_rows(batch)[1]

    def _split_rows(self, batch: Batch) -> tuple[Floats, Floats]:
        made: tuple[Floats, Floats] = batch.make_once((self, "made"), lambda: self._compute_split(batch))
        return made

    def _compute_split(self, batch: Batch) -> tuple[Floats, Floats]:
        z = np.ascontiguousarray(np.asarray(self.image(Batch(batch.X, batch.y)), np.float64).T)
        length = np.sqrt(halved(z * z)) * (1 + self.grid.compute_rounding_margin(self.width))
        z /= np.maximum(length, 1e-300)
        return z, length

    @property
    def grid(self) -> Lattice:
        """The grid that directions are put on."""
        return Lattice.for_norm(1.0, BITS, self.width)

    def compute_margins(self, batch: Batch, slope: GridCoefficients) -> Floats:
        """θ·z of each row, for each θ of a slope on `grid`: an exact product, so that it is the row's own."""
        grid = self.grid
        z, _ = batch.make_once(
            (self, grid, 2, False), lambda: grid.quantise(self(batch), 2, False, batch.missing_targets)
        )
        return np.asarray(slope.multiply_rows(z) * self.measure_lengths(batch))


def sum_gradients(directions: RowDirections, theta: Floats, clip: float, residuals: Residuals, name: str) -> BoundedSum:
    """Σ z ⊗ r over rows, with r the residuals at theta, each row's product clipped to norm `clip`."""
    slope = directions.grid.quantise_coefficients(theta)

    def right(batch: Batch) -> Floats:
        assert batch.y is not None
        r = residuals(directions.compute_margins(batch, slope), batch.y)
        size = np.abs(r) if r.ndim == 1 else np.sqrt(halved(r.T * r.T))
        scale = np.minimum(directions.measure_lengths(batch), clip / np.maximum(size, 1e-300))
        return r * (scale if r.ndim == 1 else scale[:, None])

    return BoundedSum(directions, right, norm=clip, left_norm=1.0, name=name)


Residuals = Callable[[Floats, Floats], Floats]


def binary_residuals(margins: Floats, y: Floats) -> Floats:
    """Of two classes: the second's indicator less its probability."""
    return -slope_of_log(margins[0], y)


def multiclass_residuals(margins: Floats, y: Floats) -> Floats:
    """Of several classes: their indicators less their probabilities, one column each."""
    return -slope_of_softmax(margins, y).T + np.where(np.isfinite(y), 0.0, np.nan)[:, None]


def sum_level_and_scale(
    directions: RowDirections, theta: Floats, levels: int, length: float, clip: float
) -> BoundedSum:
    """Σ (r, s·r/length) over rows, with r the residuals at theta and s the scores without their level.

    Of several classes r has one entry each, and s·r is added up over them; without levels s·r/length alone. Each row's
    vector is clipped to norm `clip`.
    """
    slope = directions.grid.quantise_coefficients(theta)
    level = theta[:, 0] if levels else np.zeros(len(theta))
    residuals = binary_residuals if len(theta) == 1 else multiclass_residuals

    def image(batch: Batch) -> Floats:
        assert batch.y is not None
        margins = directions.compute_margins(batch, slope)
        r = np.atleast_2d(residuals(margins, batch.y).T)
        scale = halved(r * (margins - level[:, None])) / length
        return np.asarray(np.vstack([r, scale[None]]) if levels else scale[None]).T

    return BoundedSum(image, norm=clip, name="level and scale")
