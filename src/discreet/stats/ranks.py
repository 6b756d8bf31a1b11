"""Ranks: the rows around a rank, found by ever finer exact histograms, which any engine can add up.

Each pass is an exact count of rows in cells. The next pass cuts the cells that hold rows near a wanted rank. The number
of passes and of their cells is public. The result is exact and stays in the curator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.engines import Rows
from discreet.mechanisms.points import DecimalGrid
from discreet.query import Batch, BoundedSum, OneHot

Ints = NDArray[np.int64]

FIRST = 1 << 14  # cells of the first pass
CELLS = 1 << 17  # cells of each later pass, unless more cells are near the ranks
NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Ranked:
    """The points of a grid that rows near a rank take.

    Attributes
    ----------
    codes, counts : the points, rising, and the number of rows at each.
    below : the number of rows below each.
    n : the number of all rows.
    """

    codes: Ints
    counts: Ints
    below: Ints
    n: int

    def near(self, rank: Fraction, far: int) -> Ranked:
        """The points with a row fewer than `far` rows from the rank, or with rows on either side of it."""
        kept = _is_near(self.below, self.below + self.counts, self.n, (rank,), far)
        return Ranked(self.codes[kept], self.counts[kept], self.below[kept], self.n)

    def order(self, rank: Fraction, many: int, grid: DecimalGrid) -> Ints:
        """The row of the rank, ⌈qn⌉ or the first, in the middle of `many` rows on either side, sorted.

        The grid's first point stands before the first row, and its last point after the last row.
        """
        middle = max(1, -(-rank.numerator * self.n // rank.denominator))
        places = middle + np.arange(-many, many + 1)
        found = np.searchsorted(self.below + self.counts, np.clip(places, 1, max(self.n, 1)))
        inside = np.append(self.codes, grid.last)[np.minimum(found, len(self.codes))]
        return np.where(places < 1, grid.first, np.where(places > self.n, grid.last, inside))


def place_on_grid(grid: DecimalGrid) -> OneHot:
    """The query of the first pass over the first column, used to refuse bad columns beforehand."""
    return _cut_cells(grid, np.zeros(1, dtype=np.int64), FIRST, -(-grid.size // FIRST))


def rank_rows(
    rows: Rows, grid: DecimalGrid, ranks: tuple[Fraction, ...], far: int, about: float | None = None, column: int = 0
) -> Ranked:
    """All points with rows fewer than `far` rows from one of these ranks (shares of the rows).

    Rows are ranked by one column, or by its distance from a public number (`about`).
    """
    most = 2 * far + 4  # the most points near a rank
    starts, below, width, n, first = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), grid.size, 0, True
    counts: Ints = below
    for parts in _plan_passes(grid.size, most * len(ranks)):
        width = -(-width // parts)
        table = _cut_cells(grid, starts, parts, width, about, column)
        counts = np.asarray(rows.sum(BoundedSum(table, order=1, name="cells")), dtype=np.int64).reshape(-1, parts)
        counts = counts[: len(below)]
        n, first = (int(counts.sum()), False) if first else (n, False)
        lower = below[:, None] + np.cumsum(counts, axis=1) - counts
        kept = (counts > 0) & _is_near(lower, lower + counts, n, ranks, far)
        found = (starts[: len(below), None] + np.arange(parts) * width)[kept]
        counts, below = counts[kept], lower[kept]
        starts = np.append(found, np.full(max(most * len(ranks) - len(found), 0), NOWHERE))
    return Ranked(starts[: len(below)] + grid.first, counts, below, n)


def count_cells(
    rows: Rows, grid: DecimalGrid, cells: int, about: float | None = None, column: int = 0
) -> tuple[Ints, Ints]:
    """The starts of equal cells of the grid, and the number of rows in each."""
    width = -(-grid.size // cells)
    table = _cut_cells(grid, np.zeros(1, dtype=np.int64), cells, width, about, column)
    counts = np.asarray(rows.sum(BoundedSum(table, order=1, name="cells")), dtype=np.int64)
    return np.minimum(grid.first + width * np.arange(cells), grid.last + 1), counts


def _plan_passes(size: int, cells: int) -> list[int]:
    """The number of parts into which each pass cuts its cells, until cells are single points."""
    parts = 1 << max(1, (CELLS // cells).bit_length() - 1)
    wanted = [FIRST] + [parts] * math.ceil(math.log(max(2, size), parts) + 1)
    width, passes = size, list[int]()
    while width > 1:
        passes.append(min(wanted[min(len(passes), 1)], width))
        width = -(-width // passes[-1])
    return passes or [1]


def _cut_cells(
    grid: DecimalGrid, starts: Ints, parts: int, width: int, about: float | None = None, column: int = 0
) -> OneHot:
    """A query over cells that cut each of the intervals beginning at `starts` into parts of one width."""

    def find_cell(rows: Batch) -> Ints:
        if rows.X.dtype.kind not in "fiub":
            raise TypeError("The column is not of numbers.")
        values = rows.X[:, column] if about is None else np.abs(rows.X[:, column] - about)
        codes = grid.codes(values) - grid.first
        there = np.isfinite(values)
        place = np.where(there, codes, 0).astype(np.int64)
        i = np.searchsorted(starts, place, side="right") - 1
        part = (place - starts[np.maximum(i, 0)]) // width
        return np.where(there & (i >= 0) & (part < parts), i * parts + part, -1)

    return OneHot(find_cell, len(starts) * parts)


def _is_near(lower: Ints, upper: Ints, n: int, ranks: tuple[Fraction, ...], far: int) -> NDArray[np.bool_]:
    near = np.zeros(lower.shape, dtype=bool)
    for rank in ranks:
        a, b = rank.numerator, rank.denominator
        near |= (upper >= -(-(a * n - b * far) // b)) & (lower <= (a * n + b * far) // b)
    return near
