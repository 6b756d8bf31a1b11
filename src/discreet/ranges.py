"""Ranges of columns nobody stated: estimated privately, with a paid share, from no prior knowledge at all."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget, Part, Share
from discreet.curator import Curator
from discreet.events import Gaussian, flatten
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release

Floats = NDArray[np.float64]
Ends = NDArray[np.intp]

LOW, HIGH = -32, 64  # magnitudes told apart: 2^-32 to 2^64; beyond them a value counts as zero, or as the largest
OCTAVES = 2 * (HIGH - LOW) + 1
CELLS = 64
FALSE = 1e-5  # probability that an empty octave of some column is taken for full
FAR = 0.05  # deviations of the noise that each power of two away from 1 has to show more
TAIL = 0.002  # of the rows may lie beyond either end: heavy tails are cut there
FOR_BOUNDS = 0.2  # of the budget, where bounds are not given
NOTE = f"bounds were estimated privately, with {FOR_BOUNDS:.0%} of the budget"


def estimate_bounds(curator: Curator, coarse: Share, fine: Share, target: bool) -> Bounds:
    """Bounds that hold nearly all rows of each column, and of the target if asked.

    Two noisy histograms: of octaves (sign and power of two), then of even cells within the octaves found.
    """
    width = curator.width + target

    # BOUND: a row adds to one cell per column
    def columns(rows: Batch) -> Floats:
        return np.column_stack([rows.X, rows.y]) if target and rows.y is not None else rows.X

    # SUMMARISE + PRIVATISE: octaves
    octaves = OneHot(lambda rows: _octave(columns(rows)), OCTAVES, width)
    noisy = curator.measure(_histogram(octaves, curator, coarse, "octaves"), coarse)
    first, last = _octaves(noisy, width)
    edges = _edges()
    low, high = edges[first], edges[last + 1]

    # SUMMARISE + PRIVATISE: even cells between them
    step = (high - low) / CELLS
    cells = OneHot(lambda rows: _cell(columns(rows), low, step), CELLS, width)
    noisy = curator.measure(_histogram(cells, curator, fine, "ranges"), fine)
    first, last = _cells(noisy, width)

    # SOLVE: the cells found, and one more on either side for what the noise hid
    lower = np.maximum(low, low + (first - 1) * step)
    upper = np.minimum(high, low + (last + 2) * step)
    if not target:
        return Bounds(lower, upper)
    return Bounds(lower[:-1], upper[:-1], target=(float(lower[-1]), float(upper[-1])))


def with_bounds(
    curator: Curator, budget: Budget, parts: Iterable[float | Part], target: bool
) -> tuple[Bounds, tuple[Share, ...]]:
    """Bounds that nobody stated, and the shares of the rest of the plan: a fifth of the budget pays for the bounds."""
    plain = [part if isinstance(part, Part) else Part(part) for part in parts]
    half = Part(sum(part.weight for part in plain) / (1 - FOR_BOUNDS) * FOR_BOUNDS / 2)
    coarse, fine, *shares = budget.split(half, half, *plain)
    return estimate_bounds(curator, coarse, fine, target), tuple(shares)


def _histogram(table: OneHot, curator: Curator, share: Share, name: str) -> BoundedSum:
    return BoundedSum(table, order=1 if share.budget.pure else 2, name=name)


def _octave(values: Floats) -> NDArray[np.int64]:
    power = np.frexp(values)[1]  # |value| in [2^(power-1), 2^power)
    rank = np.clip(power - LOW, 0, HIGH - LOW) * np.sign(np.nan_to_num(values, nan=0.0)).astype(np.int64)
    return np.where(np.isfinite(values), rank + (HIGH - LOW), -1)


def _edges() -> Floats:
    positive = np.ldexp(1.0, np.arange(LOW, HIGH + 1))
    return np.concatenate([-positive[::-1], positive])


def _cell(values: Floats, low: Floats, step: Floats) -> NDArray[np.int64]:
    code = np.floor((values - low) / step)
    return np.where(np.isfinite(code), np.clip(code, 0, CELLS - 1), -1).astype(np.int64)


def _octaves(noisy: Release, width: int) -> tuple[Ends, Ends]:
    """First and last octave of each column: those that stand out of the noise, and their neighbours that may hold rows.

    There are many empty octaves, and one of them taken for full would stretch the range beyond use: no empty octave of
    any column stands out, except with probability below `FALSE` (Gaussian or Laplace tails alike).
    """
    counts = np.asarray(noisy.value).reshape(width, -1)
    rare = math.log(counts.size / FALSE)
    gaussian = all(isinstance(leaf, Gaussian) for leaf, _ in flatten(noisy.event))
    bar = noisy.std * (math.sqrt(2 * rare) if gaussian else rare / math.sqrt(2))
    power = np.abs(np.arange(OCTAVES) - (HIGH - LOW)) + LOW
    # too few rows to tell: the likeliest octave, where magnitudes far from 1 have to show more
    guess = (counts / noisy.std - FAR * np.abs(power)).argmax(axis=1)
    sure = (counts > bar) | (np.arange(OCTAVES) == guess[:, None])
    likely = sure | (counts > 1.5 * noisy.std)
    first, last = sure.argmax(axis=1), counts.shape[1] - 1 - sure[:, ::-1].argmax(axis=1)
    column = np.arange(width)
    for _ in range(8):
        first = np.where(likely[column, np.maximum(first - 1, 0)], np.maximum(first - 1, 0), first)
        last = np.where(likely[column, np.minimum(last + 1, OCTAVES - 1)], np.minimum(last + 1, OCTAVES - 1), last)
    return first, last


def _cells(noisy: Release, width: int) -> tuple[Ends, Ends]:
    """First and last cell of each column with more than a thin tail beyond them, as far as the noise lets one see.

    Rows are summed up from either end, since each cell by itself may hold too few to stand out. Where nothing does, the
    whole range is kept: too wide costs little, too narrow much.
    """
    counts = np.asarray(noisy.value).reshape(width, -1)
    noise = noisy.std * np.sqrt(np.arange(1, CELLS + 1))
    total = np.maximum(counts.sum(axis=1, keepdims=True), 0)
    from_left = np.cumsum(counts, axis=1) > TAIL * total + noise
    from_right = np.cumsum(counts[:, ::-1], axis=1) > TAIL * total + noise
    first = np.where(from_left.any(axis=1), from_left.argmax(axis=1), 0)
    last = np.where(from_right.any(axis=1), CELLS - 1 - from_right.argmax(axis=1), CELLS - 1)
    crossed = first > last
    return np.where(crossed, 0, first), np.where(crossed, CELLS - 1, last)
