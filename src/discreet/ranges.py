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
FAR = 0.15  # deviations of the noise that each power of two away from 1 has to show more
WIDE = 12  # magnitudes that a window may hold
HIDDEN = 0.05  # of the rows may be cut unseen
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
    low, high = edges[first], edges[last + 1]  # octave 0 is between the smallest magnitudes

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
    """First and last octave of each column: where its rows are, as far as the noise lets one see.

    Values spread over several octaves, of either sign: single cells may hold too few rows to stand out, but
    neighbouring magnitudes together do. So the best window of magnitudes is found first, by its sum over the noise of
    that sum; then octaves that stand out by themselves are added (no empty one of any column does, except with
    probability below `FALSE`, for Gaussian and Laplace tails alike), and neighbours that may hold rows.
    """
    counts = np.asarray(noisy.value).reshape(width, -1)
    std = float(noisy.std)
    rare = math.log(counts.size / FALSE)
    gaussian = all(isinstance(leaf, Gaussian) for leaf, _ in flatten(noisy.event))
    bar = std * (math.sqrt(2 * rare) if gaussian else rare / math.sqrt(2))
    zero = HIGH - LOW
    plus, minus = counts[:, zero + 1 :], counts[:, zero - 1 :: -1]  # by magnitude, smallest first
    low, high = _window(plus + minus, math.sqrt(2) * std)
    sure = (plus > bar) | (minus > bar)
    low = np.where(sure.any(axis=1), np.minimum(low, sure.argmax(axis=1)), low)
    high = np.where(sure.any(axis=1), np.maximum(high, zero - 1 - sure[:, ::-1].argmax(axis=1)), high)
    for _ in range(4):
        high = np.where(_at(plus + minus, high + 1) > 1.5 * math.sqrt(2) * std, np.minimum(high + 1, zero - 1), high)
    nothing = counts[:, zero] > bar
    up, down = _signs(plus, minus, low, high, std)
    first = np.where(down, zero - 1 - high, np.where(nothing, zero, zero + 1 + np.maximum(low - 1, 0)))
    last = np.where(up, zero + 1 + high, np.where(nothing, zero, zero - 1 - np.maximum(low - 1, 0)))
    return first, last


def _window(counts: Floats, std: float) -> tuple[Ends, Ends]:
    """The window of neighbouring magnitudes whose rows stand out most; magnitudes far from 1 have to show more."""
    width, cells = counts.shape
    sums = np.cumsum(np.column_stack([np.zeros(width), counts]), axis=1)
    top = FAR * np.abs(np.arange(cells) + LOW)
    best, low, high = np.full(width, -np.inf), np.zeros(width, np.intp), np.zeros(width, np.intp)
    for length in range(1, WIDE + 1):
        score = (sums[:, length:] - sums[:, :-length]) / (std * math.sqrt(length)) - top[length - 1 :]
        start = score.argmax(axis=1)
        better = score.max(axis=1) > best
        best = np.where(better, score.max(axis=1), best)
        low, high = np.where(better, start, low), np.where(better, start + length - 1, high)
    return low, high


def _signs(
    plus: Floats, minus: Floats, low: Ends, high: Ends, std: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether there are positive values, and negative ones: at least the likelier, and the other if it may be."""
    inside = (np.arange(plus.shape[1]) >= low[:, None]) & (np.arange(plus.shape[1]) <= high[:, None])
    up, down = (plus * inside).sum(axis=1), (minus * inside).sum(axis=1)
    noise = std * np.sqrt(inside.sum(axis=1))
    return (up >= down) | (up > noise), (down > up) | (down > noise)


def _at(counts: Floats, cell: Ends) -> Floats:
    """The entry of each row's cell; nothing beyond the last."""
    rows = np.arange(len(counts))
    return np.where(cell < counts.shape[1], counts[rows, np.minimum(cell, counts.shape[1] - 1)], 0.0)


def _cells(noisy: Release, width: int) -> tuple[Ends, Ends]:
    """First and last cell of each column with more than a thin tail beyond them, as far as the noise lets one see.

    Rows are summed up from either end, since each cell by itself may hold too few to stand out. Where the noise could
    hide more than `HIDDEN` of the rows the whole range is kept: too wide costs little, too narrow much.
    """
    counts = np.asarray(noisy.value).reshape(width, -1)
    noise = noisy.std * np.sqrt(np.arange(1, CELLS + 1))
    total = np.maximum(counts.sum(axis=1, keepdims=True), 0)
    clear = noise < HIDDEN * total
    from_left = (np.cumsum(counts, axis=1) > TAIL * total + noise) | ~clear
    from_right = (np.cumsum(counts[:, ::-1], axis=1) > TAIL * total + noise) | ~clear
    first = np.where(from_left.any(axis=1), from_left.argmax(axis=1), 0)
    last = np.where(from_right.any(axis=1), CELLS - 1 - from_right.argmax(axis=1), CELLS - 1)
    crossed = first > last
    return np.where(crossed, 0, first), np.where(crossed, CELLS - 1, last)
