"""Ranges of columns nobody stated: estimated privately, with a paid share, from no prior knowledge at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Budget, Part, Share
from discreet.curator.curator import Curator
from discreet.events import Gaussian, flatten
from discreet.query import Batch, BoundedSum, Image, OneHot
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
OF_TARGET = 0.5  # of that for the target's, by itself
CLEAR = 5.0  # deviations of its noise that a window has to stand out by
VAGUE = (
    "the target's range hardly stands out of the noise: it may be far off, and predictions with it. "
    "Hint: public bounds, or more budget"
)
NOTE = f"bounds were estimated privately, with {FOR_BOUNDS:.0%} of the budget"


@dataclass(frozen=True)
class Ranges:
    """Low and high ends found for some columns, and which of them do not stand out of the noise."""

    lower: Floats
    upper: Floats
    vague: NDArray[np.bool_]


def estimate_bounds(
    curator: Curator, coarse: Sequence[Share], fine: Sequence[Share], target: bool
) -> tuple[Bounds, tuple[str, ...]]:
    """Bounds that hold nearly all rows of each column, and of the target if asked; and remarks.

    Two noisy histograms: of octaves (sign and power of two), then of even cells within the octaves found. Those of the
    target are by themselves, with shares of their own: a poor range of one feature among many costs little, of the
    target everything.
    """
    # BOUND: a row adds to one cell per column
    groups: list[tuple[Image, int]] = [(lambda rows: rows.X, curator.width)]
    if target:
        groups.append((_target, 1))

    # SUMMARISE + PRIVATISE: octaves
    asked = [
        (_histogram(OneHot(_coded(image, _octave), OCTAVES, width), share, "octaves"), share, None)
        for (image, width), share in zip(groups, coarse, strict=True)
    ]
    edges = _edges()
    octaves = [
        _octaves(noisy, width) for noisy, (_, width) in zip(curator.measure_together(*asked), groups, strict=True)
    ]
    ends = [(edges[first], edges[last + 1]) for first, last, _ in octaves]  # octave 0: between the smallest magnitudes

    # SUMMARISE + PRIVATISE: even cells between them
    asked = [
        (
            _histogram(
                OneHot(_coded(image, partial(_cell, low=low, step=(high - low) / CELLS)), CELLS, width), share, "ranges"
            ),
            share,
            None,
        )
        for (image, width), (low, high), share in zip(groups, ends, fine, strict=True)
    ]
    found = [
        _narrowed(noisy, low, high, vague)
        for noisy, (low, high), (_, _, vague) in zip(curator.measure_together(*asked), ends, octaves, strict=True)
    ]

    # SOLVE: the bounds of all
    if not target:
        return Bounds(found[0].lower, found[0].upper), ()
    ours = float(found[1].lower[0]), float(found[1].upper[0])
    return Bounds(found[0].lower, found[0].upper, target=ours), (VAGUE,) if found[1].vague.any() else ()


def with_bounds(
    curator: Curator, budget: Budget, parts: Iterable[float | Part], target: bool
) -> tuple[Bounds, tuple[Share, ...], tuple[str, ...]]:
    """Bounds that nobody stated, the shares of the rest of the plan, and remarks: for a fifth of the budget."""
    plain = [part if isinstance(part, Part) else Part(part) for part in parts]
    half = sum(part.weight for part in plain) / (1 - FOR_BOUNDS) * FOR_BOUNDS / 2
    each = [Part(half * weight) for weight in ((1 - OF_TARGET, OF_TARGET) if target else (1.0,))]
    shares = budget.split(*each, *each, *plain)
    k = len(each)
    bounds, remarks = estimate_bounds(curator, shares[:k], shares[k : 2 * k], target)
    return bounds, shares[2 * k :], remarks


def _target(rows: Batch) -> Floats:
    assert rows.y is not None
    return rows.y[:, None]


def _coded(image: Image, code: Callable[[Floats], NDArray[np.int64]]) -> Image:
    return lambda rows: code(image(rows))


def _histogram(table: OneHot, share: Share, name: str) -> BoundedSum:
    return BoundedSum(table, order=1 if share.budget.pure else 2, name=name)


def _narrowed(noisy: Release, low: Floats, high: Floats, vague: NDArray[np.bool_]) -> Ranges:
    """The cells found, and one more on either side for what the noise hid."""
    step = (high - low) / CELLS
    first, last = _cells(noisy, len(low))
    return Ranges(np.maximum(low, low + (first - 1) * step), np.minimum(high, low + (last + 2) * step), vague)


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


def _octaves(noisy: Release, width: int) -> tuple[Ends, Ends, NDArray[np.bool_]]:
    """First and last octave of each column, where its rows are as far as one sees; and whether they are mere noise.

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
    low, high, score = _window(plus, minus, std)
    sure = (plus > bar) | (minus > bar)
    low = np.where(sure.any(axis=1), np.minimum(low, sure.argmax(axis=1)), low)
    high = np.where(sure.any(axis=1), np.maximum(high, zero - 1 - sure[:, ::-1].argmax(axis=1)), high)
    for _ in range(4):
        high = np.where(_at(plus + minus, high + 1) > 1.5 * math.sqrt(2) * std, np.minimum(high + 1, zero - 1), high)
    nothing = counts[:, zero] > bar
    up, down = _signs(plus, minus, low, high, std)
    first = np.where(down, zero - 1 - high, np.where(nothing, zero, zero + 1 + np.maximum(low - 1, 0)))
    last = np.where(up, zero + 1 + high, np.where(nothing, zero, zero - 1 - np.maximum(low - 1, 0)))
    return first, last, (score < CLEAR) & ~sure.any(axis=1) & ~nothing


def _window(plus: Floats, minus: Floats, std: float) -> tuple[Ends, Ends, Floats]:
    """The window of neighbouring magnitudes whose rows stand out most, by how far; distant ones have to show more.

    Of one sign or of both: the other's noise is left out where its rows add nothing.
    """
    width, cells = plus.shape
    top = FAR * np.abs(np.arange(cells) + LOW)
    best, low, high = np.full(width, -np.inf), np.zeros(width, np.intp), np.zeros(width, np.intp)
    for counts, noise in ((plus, std), (minus, std), (plus + minus, math.sqrt(2) * std)):
        sums = np.cumsum(np.column_stack([np.zeros(width), counts]), axis=1)
        for length in range(1, WIDE + 1):
            score = (sums[:, length:] - sums[:, :-length]) / (noise * math.sqrt(length)) - top[length - 1 :]
            start = score.argmax(axis=1)
            better = score.max(axis=1) > best
            best = np.where(better, score.max(axis=1), best)
            low, high = np.where(better, start, low), np.where(better, start + length - 1, high)
    return low, high, best


def _signs(
    plus: Floats, minus: Floats, low: Ends, high: Ends, std: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether there are positive values, and negative ones: at least the likelier, and the other if it may be.

    Where the likelier itself is not clear, the other is left out only if there is nothing of it: half of the rows would
    be lost otherwise, and a range that is too wide costs less.
    """
    inside = (np.arange(plus.shape[1]) >= low[:, None]) & (np.arange(plus.shape[1]) <= high[:, None])
    up, down = (plus * inside).sum(axis=1), (minus * inside).sum(axis=1)
    noise = std * np.sqrt(inside.sum(axis=1))
    bar = np.where(np.maximum(up, down) < CLEAR * noise, 0.0, noise)
    return (up >= down) | (up > bar), (down > up) | (down > bar)


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
