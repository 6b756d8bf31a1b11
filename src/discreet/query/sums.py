"""BoundedSum: a sum over rows of a bounded image, in exact integers on a public grid.

The image of a row is an outer product a ⊗ b, so the sum over rows is one matrix product. Both factors are quantised
elementwise *first*; norms and products are then whole numbers that float64 holds exactly, so a row's image depends on
that row alone, bit for bit, and sums agree in any order of addition. `mechanisms/proofs/query.md` has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_positive
from discreet.budget import Neighbours
from discreet.query.grid import Lattice, compute_norms, read_width
from discreet.query.integer_sums import Exact, Floats, Ints, multiply_exactly, root_above
from discreet.query.row_batch import Batch, Boxed, Image, apply_image

BITS = 23  # of a factor of up to 128 columns: 2 * 23 + log2(128) = 53
EXACT = 1 << 53  # whole numbers up to here are exact in float64
WIDEST = 1 << 12  # columns of a factor
LARGEST = 1 << 24  # entries of a total
ROWS = 1 << 14  # at most so many rows in a batch: totals stay below 2^63


@dataclass(frozen=True)
class OneHot:
    """A left factor with a single 1: the row adds to one of `size` cells.

    `codes(batch)` gives the cell of each row, or one cell per column where `columns` > 1 (the row then adds to one cell
    of each of `columns` tables). A code outside 0..size-1 adds nothing: an unknown category contributes zero.
    """

    codes: Image
    size: int
    columns: int = 1

    def read_codes(self, batch: Batch) -> NDArray[Any]:
        """The codes of a batch, one column per table."""
        codes = apply_image(self.codes, batch)
        if codes.shape[1:] != (self.columns,) and not (self.columns == 1 and codes.ndim == 1):
            raise ValueError(f"The codes of OneHot must be {self.columns} a row.")
        return codes.reshape(len(batch), self.columns)


@dataclass(frozen=True)
class BoundedSum:
    """What to add up: the sum over rows of left(row) ⊗ right(row), each row's image of norm at most `norm`.

    Parameters
    ----------
    left, right : functions of a `Batch`: one value or one vector per row, made by elementwise arithmetic. `left` may be
        `OneHot`; without `right` the image is `left` alone; `right is left` makes the symmetric matrix x x'.
    norm : the bound on the image, ‖left‖·‖right‖. Clipping is part of the query: a wrong norm costs accuracy, never
        privacy. (A `OneHot` without `right` needs none.)
    order : 1 or 2, the norm it is.
    left_norm : how much of the norm is the left factor's; the square root of it unless given.
    joint : shrink the row as a whole: where its left factor is shrunk onto its norm, so is the right one, as in a
        weighted least squares. (It is clipped to its own norm afterwards.)
    about : coefficients θ, one per coordinate of the left factor: the right one is then the residual y - θ·x, with the
        product made of the row on its grid, exactly. Implies `joint`.
    box : clip every coordinate of a factor by itself; `norm` then bounds each entry of the image, and `left_norm` each
        coordinate of the left factor. The sensitivity grows with the number of entries; of a symmetric image bounded
        in ℓ1 it is that of the upper triangle, d(d + 1)/2·norm, for either relation.
    bits : the grid of a factor is 2^-bits of its norm, rounded to a power of two.
    fixed : the widths of the factors; once fixed, a batch of other widths is refused.
    whole : where rows share what their unit may add, let the unit's *sum* be clipped to the norm, instead of counting
        the mean of its rows. For a left factor alone.

    | a row with | adds |
    | --- | --- |
    | NaN or infinity in a factor, or in the target | zero |
    | a code outside the table | zero |
    | too large a norm | its image shrunk onto the norm; beyond about 1e150 zero |
    | too large a coordinate, in a box | that coordinate clipped; beyond about 1e300 zero |
    """

    left: Image | OneHot
    right: Image | None = None
    norm: float = 1.0
    order: Literal[1, 2] = 2
    left_norm: float | None = None
    bits: int = BITS
    name: str = field(default="sum", compare=False)  # two questions of one sum read the rows once
    fixed: tuple[int, int] | None = None
    box: bool = False
    joint: bool = False
    about: tuple[float, ...] | None = None
    whole: bool = False

    def __post_init__(self) -> None:
        for name in ("norm", "left_norm"):
            if getattr(self, name) is not None:
                check_positive("a bounded sum", name, getattr(self, name))
        if not 1 <= self.bits <= BITS + 1:  # ROWS images of two such factors add up below 2^63
            raise ValueError(f"The `bits` of a bounded sum must be within 1 and {BITS + 1}. Got {self.bits!r}.")
        if self.order not in (1, 2):
            raise ValueError(f"The `order` of a bounded sum is 1 or 2. Got {self.order!r}.")
        if self.about is not None and not (self.joint and self.order == 2 and self.right and not self.box):
            raise ValueError("`about` of a bounded sum goes with joint=True, order=2 and a right factor, in no box.")
        if self.whole and (self.right is not None or isinstance(self.left, OneHot) or self.box):
            raise ValueError("A bounded sum is clipped as a `whole` where it has a left factor alone, in no box.")
        if self.box and isinstance(self.left, OneHot):
            raise ValueError("A bounded sum with a OneHot has no `box`: its cells are bounded already.")

    @property
    def is_symmetric(self) -> bool:
        """Whether the image is x x'."""
        return self.right is self.left

    @property
    def is_triangle(self) -> bool:
        """Whether `sensitivity` is that of the upper triangle with its diagonal, of a symmetric image."""
        return self.is_symmetric and self.order == 1

    def read_widths(self, empty: Batch) -> tuple[int, int]:
        """The number of columns of each factor, learnt from a batch without rows."""
        with np.errstate(all="ignore"):
            if isinstance(self.left, OneHot):
                self.left.read_codes(empty)
                left = self.left.columns * self.left.size
            else:
                left = read_width(apply_image(self.left, empty))
            right = 1 if self.right is None else read_width(apply_image(self.right, empty))
        if right > WIDEST or (left > WIDEST and not isinstance(self.left, OneHot)) or left * right > LARGEST:
            raise ValueError(f"A bounded sum has at most {WIDEST} columns in a factor and {LARGEST} entries in all.")
        return left, right

    def choose_lattices(self, widths: tuple[int, int]) -> tuple[Lattice, Lattice]:
        """The grids of the two factors."""
        left, right = self._split_norm()
        one = Lattice(0, 1)
        return (
            one if isinstance(self.left, OneHot) else Lattice.for_norm(left, self.bits, widths[0]),
            one if self.right is None else Lattice.for_norm(right, self.bits, widths[1]),
        )

    def _split_norm(self) -> tuple[float, float]:
        if isinstance(self.left, OneHot):
            return 1.0, self.norm / self.left.columns ** (1 / self.order)
        left = self.norm if self.right is None else math.sqrt(self.norm)
        left = left if self.left_norm is None or self.is_symmetric else self.left_norm
        return left, self.norm / left

    def exponent(self, widths: tuple[int, int]) -> int:
        """The unit of the integer totals is 2^exponent."""
        left, right = self.choose_lattices(widths)
        return left.exponent + right.exponent

    def sensitivity(self, widths: tuple[int, int], neighbours: Neighbours) -> Fraction:
        """How far the integer total can move between neighbours, in the norm of `order`, rounded up."""
        left, right = self.choose_lattices(widths)
        if self.box and self.is_triangle:  # either relation: equality at x = (1, …, 1) against z = 0
            return Fraction(widths[0] * (widths[0] + 1) // 2 * left.limit**2)
        squared = left.limit**2 * right.limit**2
        if self.box:
            squared *= (widths[0] * widths[1]) ** (2 if self.order == 1 else 1)
        if isinstance(self.left, OneHot):
            squared *= self.left.columns**2 if self.order == 1 else self.left.columns
        if neighbours == "replace-one" and not self._is_single_count:
            squared *= 2 if self.order == 2 and self._has_acute_images else 4
        return root_above(squared)

    @property
    def is_count(self) -> bool:
        """Whether the total is one of whole rows, or units: each adds ones."""
        return isinstance(self.left, OneHot) and self.right is None

    @property
    def _is_single_count(self) -> bool:
        # a count: a row adds 0 or 1, and so does the one that takes its place
        return isinstance(self.left, OneHot) and self.right is None and self.left.size == self.left.columns == 1

    @property
    def _has_acute_images(self) -> bool:
        # images whose inner products are never negative: ‖u - v‖² <= ‖u‖² + ‖v‖²
        return self.is_symmetric or self.is_count

    def __call__(self, batch: Batch) -> Ints:
        """The total of a batch of at most `ROWS` rows, exact, in units of 2^exponent."""
        if len(batch) > ROWS:
            raise ValueError(f"A batch has at most {ROWS} rows.")
        with np.errstate(all="ignore"):
            if isinstance(self.left, OneHot):
                return self._tabulate_codes(self.left, batch)
            shape = self._find_left_shape(batch)
            b = None if self.right is None or self.is_symmetric else apply_image(self.right, batch)
            other = shape if self.is_symmetric else () if b is None else b.shape[1:]
            grid_a, grid_b = self.choose_lattices(self._check_widths((math.prod(shape), math.prod(other))))
            left, shrunk = self._quantise_left(grid_a, batch)
            if self.joint and b is not None:
                b = b * (shrunk if b.ndim == 1 else shrunk[:, None])
            if self.about is not None and b is not None:
                b = b - grid_a.quantise_coefficients(self.about).multiply_rows(left)
            right = left if self.is_symmetric else self._quantise_right(b, grid_b, len(batch))
            if batch.share is not None:
                left, right = _apply_shares(left, right, batch.share)
            total = multiply_exactly(left, right, min(ROWS, EXACT // (grid_a.limit * grid_b.limit)))
        return total.reshape(shape + other)

    def compute_row_norms(self, batch: Batch) -> Floats:
        """Of each row of a `whole` sum its norm on the grid, rounded up: what adds up over the rows of a unit."""
        with np.errstate(all="ignore"):
            grid, _ = self.choose_lattices(self._check_widths((math.prod(self._find_left_shape(batch)), 1)))
            size = compute_norms(self._quantise_left(grid, batch)[0], self.order)
        return np.asarray(np.ceil(size * (1 + 2.0**-40)))

    def make_divisible(self) -> BoundedSum:
        """The same sum on a grid where a row can be shared out: the 1 of a count becomes a factor of its own."""
        if isinstance(self.left, OneHot) and self.right is None:
            return replace(self, right=_make_ones, norm=self.left.columns ** (1 / self.order))
        return self

    def _find_left_shape(self, batch: Batch) -> tuple[int, ...]:
        """What the left factor is for one row: a value, or a vector of so many."""
        if isinstance(self.left, Boxed):
            return (self.left.count_coordinates(batch),)
        values = self._read_left(batch)
        read_width(values)
        return values.shape[1:]

    def _read_left(self, batch: Batch) -> NDArray[Any]:
        image = self.left
        assert not isinstance(image, OneHot)
        values: NDArray[Any] = batch.make_once(image, lambda: apply_image(image, batch))
        return values

    def _quantise_left(self, grid: Lattice, batch: Batch) -> tuple[Floats, Floats]:
        """The left factor on its grid, and by what each row was multiplied to fit."""

        def make() -> tuple[Floats, Floats]:
            image, bits = self.left, -grid.exponent
            if (
                isinstance(image, Boxed)
                and self.order == 2
                and not self.box
                and grid.fits_limit(image.bound_coordinates(bits))
            ):
                return image.quantise_rows(batch, bits).T, np.ones(len(batch))  # no row can be too long
            return grid.quantise(self._read_left(batch), self.order, self.box, batch.missing_targets)

        made: tuple[Floats, Floats] = batch.make_once((self.left, grid, self.order, self.box), make)
        return made

    def _quantise_right(self, values: NDArray[Any] | None, grid: Lattice, rows: int) -> Floats:
        return np.ones((1, rows)) if values is None else grid.quantise(values, self.order, self.box)[0]

    def _check_widths(self, widths: tuple[int, int]) -> tuple[int, int]:
        if self.fixed not in (None, widths):
            raise ValueError("A factor of a bounded sum must have the same width for every batch.")
        return widths

    def _tabulate_codes(self, table: OneHot, batch: Batch) -> Ints:
        codes = table.read_codes(batch)
        there = (codes >= 0) & (codes < table.size) & ~batch.missing_targets[:, None]
        cells = np.where(there, codes, table.size).astype(np.intp)
        if self.right is None:
            if batch.share is not None:
                raise ValueError("A count cannot be shared among the rows of a unit: call `make_divisible` first.")
            weights: list[Floats | None] = [None]
            tail: tuple[int, ...] = ()
        else:
            b = apply_image(self.right, batch)
            self._check_widths((table.columns * table.size, read_width(b)))
            right = self.choose_lattices((1, read_width(b)))[1].quantise(b, self.order)[0]
            weights = list(right if batch.share is None else np.trunc(right * batch.share))
            tail = b.shape[1:]
        counts = [
            [np.bincount(cells[:, column], weight, table.size + 1)[: table.size] for weight in weights]
            for column in range(table.columns)
        ]
        total = np.asarray(counts).astype(np.int64).swapaxes(1, 2)
        return total.reshape(((table.columns,) if table.columns > 1 else ()) + (table.size, *tail))

    def coarsen_grid(self, noise: float, widths: tuple[int, int]) -> BoundedSum:
        """The same sum on a grid whose unit is at least 2^-50 of noise of `noise` sensitivities: all samplers need."""
        query = self
        while query.bits > 8 and float(query.sensitivity(widths, "add-remove")) * noise > 2.0**50:
            query = replace(query, bits=query.bits - 1)
        return query


@dataclass(frozen=True)
class Together:
    """Several sums in one reading of the rows: what they share of a row is made once. Its total is theirs, joined."""

    queries: tuple[BoundedSum, ...]
    _shapes: list[tuple[int, ...]] = field(default_factory=list, compare=False)  # of the totals: as of any batch

    def __call__(self, batch: Batch) -> Ints:
        """The totals of a batch, one after the other."""
        totals = [query(batch) for query in self.queries]
        self._shapes[:] = [total.shape for total in totals]
        return np.concatenate([total.ravel() for total in totals])

    def split_total(self, total: Exact) -> list[Exact]:
        """Each query's own total, out of the one of all."""
        sizes = [math.prod(shape) for shape in self._shapes]
        parts = [total[end - size : end] for end, size in zip(accumulate(sizes), sizes, strict=True)]
        return [part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)]


def _make_ones(batch: Batch) -> Floats:
    return np.ones(len(batch))


def _apply_shares(left: Floats, right: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Factors of rows that count for a share each; towards zero, so that no coordinate grows by rounding."""
    if right is left:
        root = np.where(share >= 1, 1.0, np.sqrt(share) * (1 - 2.0**-40))
        both = np.trunc(left * root)
        return both, both
    return np.trunc(left * share), right
