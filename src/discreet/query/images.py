"""Images of rows that many queries share: scaled by bounds, and mixed by a matrix.

A float matrix product may differ in its last bits with memory layout and neighbouring rows, and then a row's image
would not be its own. So the row and the matrix are put on grids first, and the product is one of whole numbers that
float64 holds exactly. `mechanisms/proofs/images.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.query.grid import halved
from discreet.query.row_batch import Batch, Boxed, Image

Floats = NDArray[np.float64]

EXACT_BITS = 52  # sums of products stay below 2^52


@dataclass(frozen=True, eq=False)
class Scaled(Boxed):
    """The image (1, a·x + b) of rows x, clipped to bounds first; without the 1 if there is no intercept.

    Where `one` is another number, it stands for the 1.

    | a row with | becomes |
    | --- | --- |
    | NaN or infinity | NaN throughout, so that it adds nothing to a sum |
    """

    bounds: Bounds
    intercept: bool
    scale: Floats
    shift: Floats
    one: float = 1.0

    @classmethod
    def from_bounds(cls, bounds: Bounds, intercept: bool) -> Scaled:
        """Features into [-1, 1]."""
        return cls(bounds, intercept, 1 / bounds.half, -bounds.centre / bounds.half)

    def multiply(self, factor: float) -> Scaled:
        """The image times a number."""
        return replace(self, scale=self.scale * factor, shift=self.shift * factor, one=self.one * factor)

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row."""
        z = self._scale_rows(batch, self.scale, self.shift, self.one)
        np.copyto(z.T, np.nan, where=find_missing(batch))
        return z

    def quantise_features(self, batch: Batch, bits: int, bad: NDArray[np.bool_] | None = None) -> Floats:
        """The same in whole numbers, in units of 2^-bits; zero for `bad` rows (those with something missing)."""
        unit = 2.0**bits
        z = self._scale_rows(batch, self.scale * unit, self.shift * unit, self.one * unit)
        np.rint(z, out=z)
        bad = find_missing(batch) if bad is None else bad
        if bad.any():
            np.copyto(z.T, 0.0, where=bad)
        return z

    def count_coordinates(self, batch: Batch) -> int:
        """Coordinates of a row's vector."""
        return int(self.intercept) + int(batch.X.shape[1])

    def quantise_rows(self, batch: Batch, bits: int) -> Floats:
        """`grid`, with rows zero where the target is missing, too."""
        return self.quantise_features(batch, bits, find_missing(batch) | batch.missing_targets)

    @lru_cache(maxsize=64)  # noqa: B019 - few images, each asked by every batch
    def bound_coordinates(self, bits: int) -> Floats:
        """The largest magnitude of each coordinate; each step is monotone, so it is reached at one of the bounds."""
        ends = Batch(np.stack([self.bounds.lower, self.bounds.upper]))
        return np.asarray(np.abs(self.quantise_features(ends, bits)).max(axis=0))

    def _scale_rows(self, batch: Batch, scale: Floats, shift: Floats, one: float) -> Floats:
        # elementwise throughout, so that a row's image depends on that row alone, bit for bit; one coordinate after the
        # other in memory, as sums want them
        z = np.empty((self.intercept + batch.X.shape[1], len(batch)))
        z[: self.intercept] = one
        x = z[self.intercept :]
        np.multiply(batch.make_once(_Identity(self.bounds), lambda: self._clip_rows(batch)), scale[:, None], out=x)
        x += shift[:, None]
        return z.T

    def _clip_rows(self, batch: Batch) -> Floats:
        rows, x = batch.X.T, np.empty(batch.X.shape[::-1])
        if not rows.flags.c_contiguous:
            np.copyto(x, rows)  # one coordinate after the other first: to clip across rows is slow
            rows = x
        np.clip(rows, self.bounds.lower[:, None], self.bounds.upper[:, None], out=x)
        return x


@dataclass(frozen=True, eq=False)
class _Identity:
    """A key that stands for one object, and keeps it alive."""

    thing: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


def find_missing(batch: Batch) -> NDArray[np.bool_]:
    """Which rows have a feature that is not finite."""
    found: NDArray[np.bool_] = batch.make_once("missing", lambda: _compute_missing(batch))
    return found


def _compute_missing(batch: Batch) -> NDArray[np.bool_]:
    # what is not finite makes a sum that is not; so may numbers that are finite and large: those rows are looked at
    with np.errstate(all="ignore"):  # a warning would tell of a value
        found = ~np.isfinite(batch.X @ np.ones(batch.X.shape[1]))
    if found.any():
        found[found] = ~np.isfinite(batch.X[found]).all(axis=1)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class LinearForm:
    """The number θ·z for each row's vector z, added up in a fixed order."""

    image: Image
    theta: tuple[float, ...]

    def __call__(self, batch: Batch) -> Floats:
        """One number per row."""
        z = batch.make_once(self.image, lambda: self.image(batch)).T
        return halved(z * np.array(self.theta)[:, None])


@dataclass(frozen=True, eq=False)
class Mixed:
    """The image x → M'x of scaled rows x with coordinates in [-1, 1].

    Parameters
    ----------
    image : gives x, on a grid.
    matrix : M, finite; rounded to a grid (each column to its own), and `matrix` is then what it was rounded to.

    | a row with | becomes |
    | --- | --- |
    | NaN or infinity | NaN in its first coordinate, so that it adds nothing to a sum |
    """

    image: Scaled
    matrix: Floats
    unit: Floats = field(init=False)

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix, np.float64)
        # the grid of each column: 2^-bits of the power of two that holds its largest entry
        top = np.frexp(np.abs(matrix).max(axis=0, initial=2.0**-900))[1]
        unit = np.ldexp(1.0, top - self.bits)
        object.__setattr__(self, "matrix", np.rint(matrix / unit) * unit)
        object.__setattr__(self, "unit", unit)

    @property
    def bits(self) -> int:
        """Of an entry of x, and of one of M: their products, added up over the row, stay exact."""
        return (EXACT_BITS - (len(self.matrix) - 1).bit_length()) // 2

    def __call__(self, batch: Batch) -> Floats:
        """One mixed row per row."""
        x: Floats = batch.make_once((self.image, self.bits), lambda: self.image.quantise_features(batch, self.bits))
        product: Floats = x @ (self.matrix / self.unit)
        product *= self.unit * 2.0**-self.bits
        np.copyto(product[:, 0], np.nan, where=find_missing(batch))
        return product
