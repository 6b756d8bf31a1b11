"""Means of tables (ST2): one vector of noise for all columns, with rows clipped to a small ball."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Part, Share, choice, counts, radial
from discreet.events import Choice
from discreet.mechanisms.points import DecimalGrid
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release
from discreet.stats.intervals import find_half_width
from discreet.stats.quantile_exponential import PointsAtRanks
from discreet.stats.statistic import Question, Range, mark_present

Floats = NDArray[np.float64]

FOR_COUNT, FOR_QUARTILES = 0.02, 0.4  # shares of the budget, where bounds are not given
ENOUGH = 3.0  # log-odds of a quartile against a point beyond the rows, chosen by `benchmarks/tuning/vectors.py`
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
NORMAL = 1.3489795  # interquartile range of the standard normal law
SQUARES = 0.15  # the weight of squares, which give the sampling error


def release_table_mean(question: Question, bounds: Range) -> Release:
    """The mean of each column, with an interval for each column separately."""
    d = question.curator.width
    if bounds is not None:
        found, (share,) = question.deal(bounds, radial(1))
        return _release_means(question, found, None, share)
    quartiles: list[Part] = [choice(FOR_QUARTILES / (2 * d))] * (2 * d)
    found, (for_count, *for_quartiles, share) = question.deal(
        None, counts(FOR_COUNT), *quartiles, radial(1 - FOR_COUNT - FOR_QUARTILES)
    )
    # BOUND + SUMMARISE: each row adds one
    rows = BoundedSum(OneHot(mark_present, 1), order=question.order, name="count")
    # PRIVATISE: a small share for the count, which decides whether quartiles are worth their cost
    n = float(question.curator.measure(rows, for_count).value[0])
    if not _are_enough(question, for_quartiles[0], n):
        question.task.note("too few rows for quartiles of so many columns: rows were clipped to the bounds alone")
        return _release_means(question, found, None, share)
    return _release_means(question, found, _find_middle(question, found, tuple(for_quartiles)), share)


def _are_enough(question: Question, share: Share, n: float) -> bool:
    """Whether the exponential mechanism likely chooses a quartile among the rows; from released and public numbers.

    There are n/4 rows from a quartile to the end of the rows, and each makes a point e^(ε/2·b/Δ) times less likely,
    with b/Δ = 4/3.
    """
    event = question.curator.buys(share)
    assert isinstance(event, Choice)
    return n / 4 * event.epsilon * 2 / 3 >= ENOUGH


def _find_middle(question: Question, found: Bounds, shares: tuple[Share, ...]) -> tuple[Floats, Floats]:
    """The centre and standard deviation of each column, from private quartiles, as of a normal law."""
    ends = []
    for column, (low, high) in enumerate(zip(found.lower, found.upper, strict=True)):
        grid = DecimalGrid.between(float(low), float(high))
        # BOUND + SUMMARISE + PRIVATISE: two points of a public grid, chosen inside the curator
        made = PointsAtRanks("quartiles", grid, QUARTILES, column=column, fine=False)
        ends.append(np.sort(question.curator.run(made, *shares[2 * column : 2 * column + 2]).value))
    # SOLVE: centre and deviation of a normal law with these quartiles
    first, last = np.array(ends).T
    least = (found.upper - found.lower) * 2.0**-20
    question.task.note("rows were clipped about middles that depended on earlier answers")
    return (first + last) / 2, np.maximum((last - first) / NORMAL, least)


def _release_means(question: Question, found: Bounds, middle: tuple[Floats, Floats] | None, share: Share) -> Release:
    d = len(found.lower)
    centre, scale = (found.centre, found.half) if middle is None else middle
    radius = math.sqrt(d) if middle is None else math.sqrt(d) + 0.5
    for_count = 0.0 if question.n is not None else 0.6 * d**0.25  # the weight of the count

    # BOUND: rows in a ball about the centre; (1, z, z²) with weights that share the norm
    def map_rows(rows: Batch) -> Floats:
        z = found.scale(rows.X) if middle is None else (rows.X - centre) / scale
        z = z * np.minimum(1.0, radius / np.maximum(_compute_norms(z), 1e-300))[:, None]
        parts = [z, z * z * (SQUARES / radius)]
        return np.column_stack([np.full(len(z), for_count), *parts] if for_count else parts)

    # SUMMARISE
    norm = math.sqrt(for_count**2 + radius**2 * (1 + SQUARES**2))
    query = BoundedSum(map_rows, norm=norm, name="count, sums and squares" if for_count else "sums and squares")
    # PRIVATISE: Gaussian noise, or under pure ε the ℓ2 mechanism (noise of gamma-distributed length)
    noisy = question.curator.measure(query, share)
    # SOLVE
    std, skipped = float(np.max(noisy.std)), int(for_count > 0)
    counted = std / for_count if for_count else 0.0
    n = max(float(noisy.value[0]) / for_count if for_count else float(question.n or 0), 1.0)
    fewest = max(n - 2 * counted, 1.0)
    mean = np.clip(noisy.value[skipped : skipped + d] / n, -radius, radius)
    of_squares = std * radius / SQUARES
    spread = noisy.value[skipped + d :] * radius / SQUARES / n - mean**2 + 2 * of_squares / fewest
    noises: tuple[Any, ...] = (np.full(d, std / fewest), np.abs(mean) * counted / fewest)
    half = find_half_width(question.confidence, np.sqrt(np.clip(spread, 0, radius**2) / fewest), noises, noisy.event)
    value, half = centre + mean * scale, half * scale
    low, high = value - half, value + half
    if middle is None:  # a mean of clipped rows lies within the bounds
        low, high = np.maximum(low, found.lower), np.minimum(high, found.upper)
    return question.answer("mean", value, np.hypot(*noises) * scale, (low, high))


def _compute_norms(z: Floats) -> Floats:
    """The length of each row, added up in a fixed order, so that a row's image depends on that row alone."""
    total = np.zeros(len(z))
    for column in range(z.shape[1]):
        total = total + z[:, column] ** 2
    return np.sqrt(total)
