"""OrientationHistograms: which way the strokes of an image run, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_whole
from discreet.bounds import Bounds
from discreet.features.arithmetic import direction
from discreet.features.base import FixedFeatures, lost
from discreet.query import Batch, Image, halved

Floats = NDArray[np.float64]

FAINT = 0.5  # cells with less contrast than this stay faint


class OrientationHistograms(FixedFeatures):
    """Images as histograms of the directions of their gradients, one per cell, each divided by its length + 0.5.

    For images the right features help a private learner more than the right optimiser: they make classes separable
    by little, so that noise does little. These are fixed, so they are free.

    Parameters
    ----------
    shape : (height, width) of an image; a row holds its pixels line after line.
    cell : side of a cell in pixels; it divides height and width.
    orientations : cells of half a turn; a gradient is shared by the two nearest.
    bounds : public range of the pixels, scaled into [0, 1] first; [0, 1] if None. (0, 255) for bytes.

    References
    ----------
    N. Dalal & B. Triggs, "Histograms of oriented gradients for human detection", CVPR 2005 (without blocks of cells).

    Examples
    --------
    >>> images = np.zeros((1, 8, 8)); images[:, :, 4:] = 1  # a vertical edge: gradients run across
    >>> features = OrientationHistograms((8, 8), cell=8, orientations=4).fit_transform(images.reshape(1, -1))
    >>> features.round(2).tolist()
    [[0.97, 0.0, 0.0, 0.0]]
    """

    default = Bounds(0, 1)

    def __init__(
        self,
        shape: tuple[int, int] = (28, 28),
        *,
        cell: int = 4,
        orientations: int = 8,
        bounds: Bounds | None = None,
    ) -> None:
        self.shape = shape
        self.cell = cell
        self.orientations = orientations
        self.bounds = bounds

    def _check(self, width: int) -> None:
        name = type(self).__name__
        cell = check_whole(name, "cell", self.cell)
        check_whole(name, "orientations", self.orientations)
        if not isinstance(self.shape, (tuple, list)) or len(self.shape) != 2:
            raise ValueError(f"The `shape` of {name} must be (height, width). Got {self.shape!r}.")
        height, across = (check_whole(name, "shape", side) for side in self.shape)
        if height % cell or across % cell:
            raise ValueError(f"The `cell` of {name} must divide height and width of {self.shape!r}. Got {cell}.")
        if width != height * across:
            raise ValueError(f"The `shape` of {name} has {height * across} pixels, the data {width} columns.")

    def _image(self, bounds: Bounds) -> Image:
        height, width = self.shape
        return Histograms(bounds, (int(height), int(width)), int(self.cell), int(self.orientations))

    def _reach(self, width: int | None) -> tuple[float, float]:
        return 0.0, 1.0


@dataclass(frozen=True, eq=False)
class Histograms:
    """The image of an image: histograms of directions."""

    bounds: Bounds
    shape: tuple[int, int]
    cell: int
    orientations: int

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row: cell after cell, each with all its directions."""
        # pixels first, rows of the batch last: neighbours in memory are independent of each other
        pixels = np.ascontiguousarray((0.5 + 0.5 * self.bounds.scale(batch.X)).T).reshape(*self.shape, len(batch))
        across, down = np.zeros_like(pixels), np.zeros_like(pixels)
        np.subtract(pixels[:, 2:], pixels[:, :-2], out=across[:, 1:-1])
        np.subtract(pixels[2:], pixels[:-2], out=down[1:-1])
        strength = np.sqrt(across * across + down * down)
        bins = direction(across, down) * self.orientations
        cells = np.stack([self._cells(strength * self._near(bins, o)) for o in range(self.orientations)])
        cells /= np.sqrt(halved(cells * cells)) + FAINT
        z = cells.transpose(3, 1, 2, 0).reshape(len(batch), math.prod(cells.shape[:3]))
        return np.asarray(lost(z, batch))

    def _near(self, bins: Floats, orientation: int) -> Floats:
        """How much of a gradient belongs to an orientation: less the further it is away, nothing from the next on."""
        away = np.abs(bins - orientation)
        return np.asarray(np.maximum(0.0, 1.0 - np.minimum(away, self.orientations - away)))

    def _cells(self, values: Floats) -> Floats:
        """Sums over the pixels of each cell, in a fixed order."""
        c, (height, width) = self.cell, self.shape
        parts = values.reshape(height // c, c, width // c, c, values.shape[-1])
        return np.asarray(halved(np.stack([parts[:, i, :, j] for i in range(c) for j in range(c)])))
