"""Reports of numbers and vectors of many people at once: the laws of `lines`, `caps` and `cones`, drawn in vectors."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.caps import Cap
from discreet.local.coins import choose_mask, draw_below, draw_below_large, draw_weighted, throw_coins
from discreet.local.cones import DIGITS, FARTHEST, Cone
from discreet.local.lines import HybridDesign, LaplaceDesign, LevelDesign, TableDesign, WindowDesign
from discreet.local.normals import NORMAL
from discreet.local.odds import ONE
from discreet.local.questions import GRID
from discreet.local.rows import compute_residual
from discreet.mechanisms import samplers
from discreet.mechanisms.keystream import Keystream

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_BLOCK = 1 << 22  # normal numbers that are drawn at once


def encode_numbers(question: Any, values: Any) -> Ints:
    """Places on the grid, as `question.encode_answer` gives them; one row each for vectors.

    Computed in floats, so a place may differ by one from the exact one. That is another value, and the guarantee is the
    same.
    """
    low, high = map(float, question.ends)
    column = np.asarray(values, np.float64)
    places = np.floor((np.clip(column, low, high) - low) / (high - low) * (2 * GRID) + 0.5)
    places = np.where(np.isnan(column), GRID, places).astype(np.int64) - GRID
    if question.kind == "number":
        return np.asarray(places)
    if places.ndim != 2 or places.shape[1] != question.size:
        raise ValueError(f"The values of this survey must have {question.size} columns. Got shape {column.shape}.")
    if question.shape == "ball":
        longest = np.sqrt((places.astype(np.float64) ** 2).sum(1, keepdims=True)) * (1 + 1e-12) + 1
        places = np.where(longest > GRID, np.trunc(places * (GRID / np.maximum(longest, 1))), places).astype(np.int64)
    return np.asarray(places)


def encode_rows(question: Any, X: Any, y: Any) -> Ints:
    """Products or gradients of rows, as `question.encode_answer` gives them; in floats, as in `encode_numbers`."""
    low, high = (np.array([float(Fraction(end)) for end in ends]) for ends in (question.low, question.high))
    z = np.clip(np.nan_to_num(2 * (np.asarray(X, np.float64) - low) / (high - low) - 1, nan=0.0), -1, 1)
    t = encode_targets(question, np.asarray(y))
    if question.kind == "products":
        above = np.triu_indices(z.shape[1], 1)
        parts = [z, 2 * z**2 - 1, z[:, above[0]] * z[:, above[1]], z * t[:, None], t[:, None]]
        return np.asarray(np.rint(np.hstack(parts) * GRID), np.int64)
    unit = np.column_stack([np.ones(len(z)), z]) / np.sqrt(question.size)
    eta = unit @ np.array([float(weight) for weight in question.weights])
    rest = np.array([compute_residual(question.link, a, b) for a, b in zip(eta.tolist(), t.tolist(), strict=True)])
    return np.asarray(np.trunc(rest[:, None] * unit * (GRID - question.size)), np.int64)


def encode_targets(question: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Targets, scaled to [-1, 1]."""
    if question.classes:
        return np.asarray(np.where(y == question.target[1], 1.0, np.where(y == question.target[0], -1.0, 0.0)))
    low, high = (float(Fraction(end)) for end in question.target)
    return np.asarray(np.clip(np.nan_to_num(2 * (y.astype(np.float64) - low) / (high - low) - 1, nan=0.0), -1, 1))


# -- one number --------------------------------------------------------------------------------------------------------


def round_levels(rng: Keystream, values: Ints, size: int) -> Ints:
    """`lines.round_level` for many numbers."""
    level, rest = np.divmod((values + GRID) * (size - 1), 2 * GRID)
    return np.asarray(level + (draw_below(rng, len(values), 2 * GRID) < rest))


def _answer_line(design: LevelDesign, values: Ints, rng: Keystream) -> Ints:
    return np.asarray(LINES[type(design)](design, round_levels(rng, values, design.size), rng))


def _answer_window(design: WindowDesign, levels: Ints, rng: Keystream) -> Ints:
    n, size, width = len(levels), design.size, design.width
    inside = throw_coins(rng, n, width * design.odds, width * design.odds + (size - 1) * ONE)
    near, far = levels + draw_below(rng, n, width), draw_below(rng, n, size - 1)
    return np.where(inside, near, np.where(far < levels, far, far + width))


def _answer_table(design: TableDesign, levels: Ints, rng: Keystream) -> Ints:
    whole = sum(design.rows[0])
    ends = np.cumsum(np.array(design.rows, np.int64), axis=1) + np.arange(design.size)[:, None] * whole
    drawn = draw_below_large(rng, len(levels), whole) + levels * whole
    return np.asarray(np.searchsorted(ends.ravel(), drawn, side="right") - levels * design.report_count)


def _answer_hybrid(design: HybridDesign, levels: Ints, rng: Keystream) -> Ints:
    n = len(levels)
    windowed = throw_coins(rng, n, design.heads, ONE)
    up = draw_below(rng, n, design.size - 1) < levels
    bit = throw_coins(rng, n, design.odds, design.odds + ONE) == up
    return np.where(windowed, _answer_window(design.window, levels, rng), design.window.report_count + bit)


def _answer_laplace(design: LaplaceDesign, levels: Ints, rng: Keystream) -> Ints:
    n, farthest = len(levels), design.size + design.reach
    distance = np.minimum(1 + draw_distances(rng, n, design.odds, farthest), farthest)
    distance[throw_coins(rng, n, design.odds - ONE, design.odds + ONE)] = 0
    noise = np.where(throw_coins(rng, n, 1, 2), -distance, distance)
    return np.clip(levels + design.reach + noise, 0, design.report_count - 1)


def draw_distances(rng: Keystream, n: int, odds: int, farthest: int) -> Ints:
    """The number of heads before the first tail, of coins with odds 2^48 : odds − 2^48, at most `farthest`.

    The binary digits of such a number are independent: digit i is 1 with probability 1/(1 + w^(2^i)), w = odds/2^48.
    """
    distance, top, bottom = np.zeros(n, np.int64), ONE, odds
    for digit in range(farthest.bit_length()):
        distance += throw_coins(rng, n, top, top + bottom).astype(np.int64) << digit
        top, bottom = top * top, bottom * bottom
    beyond = throw_coins(rng, n, top, bottom)  # any higher digit
    return np.where(beyond, farthest, np.minimum(distance, farthest))


# -- vectors -----------------------------------------------------------------------------------------------------------


def _answer_cap(design: Cap, values: Ints, rng: Keystream) -> Ints:
    vectors = values.reshape(len(values), -1)
    step = max(1, _BLOCK // (design.size + design.asked))
    blocks = [_answer_caps(design, vectors[i : i + step], rng) for i in range(0, len(vectors), step)]
    return np.concatenate(blocks or [np.zeros((0, design.asked), np.int64)])


def _answer_caps(design: Cap, vectors: Ints, rng: Keystream) -> Ints:
    n, m = len(vectors), design.asked
    if m == 1:
        place = draw_below(rng, n, design.size)
        up = draw_below(rng, n, 2 * GRID) < vectors[np.arange(n), place] + GRID
        keep = throw_coins(rng, n, design.odds, design.odds + ONE)
        return np.asarray(2 * place + (keep == up))[:, None]
    places = np.nonzero(choose_mask(rng, n, design.size, m))[1].reshape(n, m)
    asked = np.take_along_axis(vectors, places, 1) + GRID
    plus = draw_below(rng, n * m, 2 * GRID).reshape(n, m) < asked
    inside, outside = map(sum, design.sides)
    near = throw_coins(rng, n, inside * design.odds, inside * design.odds + outside * ONE)
    agreements = np.zeros(n, np.int64)
    for rows, counts in ((near, design.sides[0]), (~near, design.sides[1])):
        agreements[rows] = draw_weighted(rng, int(rows.sum()), counts)
    agree = np.zeros((n, m), bool)
    for count in np.unique(agreements):
        alike = np.flatnonzero(agreements == count)
        agree[alike] = choose_mask(rng, len(alike), m, int(count))
    return np.asarray(2 * places + (plus == agree))


def _answer_cone(design: Cone, values: Ints, rng: Keystream) -> Ints:
    step = max(1, _BLOCK // (4 * design.size))
    blocks = [_answer_cones(design, values[i : i + step], rng) for i in range(0, len(values), step)]
    return np.concatenate(blocks or [np.zeros((0, design.size), np.int64)])


def _answer_cones(design: Cone, values: Ints, rng: Keystream) -> Ints:
    """Draw normal vectors until one is on the wanted side of its cone.

    Unlike a device, it does not wait for the other side: nobody else sees how long the draws take.
    """
    n, d = values.shape
    squares = [int(x) for x in (values**2).sum(1)]
    direction = values.copy()
    direction[np.array(squares) == 0, 0] = 1
    tops = np.array([(GRID << 20) + isqrt(square << 40) for square in squares], np.int64)
    direction[draw_below_large(rng, n, GRID << 21) >= tops] *= -1
    wanted = throw_coins(rng, n, *design.near_coin)
    # the smallest whole number that is >= γ‖v‖·2^30
    lengths = [design.gamma**2 * max(square, 1) << 2 * NORMAL - 40 for square in squares]
    least = np.array([1 + isqrt(length - 1) if length else 0 for length in lengths], np.int64)
    found, todo = np.empty((n, d), np.int64), np.arange(n)
    while len(todo):
        z = samplers.discrete_gaussian(1 << NORMAL, (len(todo), d), rng)
        along = np.einsum("ij,ij->i", z, direction[todo])
        inside = along >= least[todo]
        if design.gamma == 0:
            inside &= (along > 0) | throw_coins(rng, len(todo), 1, 2)
        done = inside == wanted[todo]
        found[todo[done]] = z[done]
        todo = todo[~done]
    shift = NORMAL - DIGITS
    return np.asarray(np.clip((found + (1 << shift - 1)) >> shift, -FARTHEST, FARTHEST))


LINES: dict[type, Any] = {
    WindowDesign: _answer_window,
    TableDesign: _answer_table,
    HybridDesign: _answer_hybrid,
    LaplaceDesign: _answer_laplace,
}
MAKERS: dict[type, Any] = {**dict.fromkeys(LINES, _answer_line), Cap: _answer_cap, Cone: _answer_cone}
"""The function that makes reports of each design."""
