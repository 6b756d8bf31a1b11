"""Private bins: cells of a column that hold about as many rows each, found from noisy counts that are paid for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Share
from discreet.curator import Curator
from discreet.query import Batch, BoundedSum, OneHot

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FINE = 64  # even cells between the bounds, of which bins are made


def find_edges(curator: Curator, share: Share, bounds: Bounds, columns: Sequence[int], bins: int) -> list[Floats]:
    """The inner edges of at most so many bins of each of these columns, which hold about as many rows each.

    One release: a row adds to one of `FINE` even cells of each column, so its norm is the root of the number of columns
    (under pure ε, their number). A value that many rows hold gets a bin of its own, and bins are fewer.

    Parameters
    ----------
    share : of `budget.counts`.
    bounds : of all columns.
    """
    low, step = bounds.lower[list(columns)], 2 * bounds.half[list(columns)] / FINE

    # BOUND: a cell of each column; a row with something missing counts for nothing
    def cells(rows: Batch) -> Codes:
        code = np.floor((rows.X[:, list(columns)] - low) / step)
        whole = np.isfinite(code).all(axis=1, keepdims=True)
        return np.where(whole, np.clip(code, 0, FINE - 1), -1).astype(np.int64)

    # SUMMARISE
    query = BoundedSum(OneHot(cells, FINE, len(columns)), order=1 if share.budget.pure else 2, name="bins")

    # PRIVATISE
    noisy = np.asarray(curator.measure(query, share).value).reshape(len(columns), FINE)

    # SOLVE
    return [start + width * _place_cuts(column, bins) for column, start, width in zip(noisy, low, step, strict=True)]


def _place_cuts(counts: Floats, bins: int) -> Floats:
    """Where bins of about as many rows each end, in cells; what a full cell has too many, the others do not lack."""
    rows = np.diff(np.maximum.accumulate(np.maximum(np.cumsum(counts), 0.0)), prepend=0.0)
    if rows.sum() <= 0:
        return np.arange(1.0, bins) * FINE / bins
    ends: list[int] = []
    held, left = 0.0, float(rows.sum())
    for cell, here in enumerate(rows):
        share = left / (bins - len(ends))  # of the rows that are left, for each bin that is
        overfull = held >= share / 2 and held + here - share > share - held  # nearer to it without this cell
        if overfull and len(ends) < bins - 1:
            ends.append(cell)
            left, held = left - held, 0.0
        held += here
        if held >= left / (bins - len(ends)) and len(ends) < bins - 1:
            ends.append(cell + 1)
            left, held = left - held, 0.0
    return np.array([end for end in ends if 0 < end < FINE], np.float64)


def codes_between(values: Any, edges: Sequence[float] | Floats) -> Codes:
    """The cell of each value between these edges, and one more for what is missing.

    >>> codes_between(np.array([-5.0, 0.5, 9.0, np.nan]), [0.0, 1.0]).tolist()
    [0, 1, 2, 3]
    """
    cell = np.searchsorted(np.asarray(edges, np.float64), values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, cell).astype(np.int64)
