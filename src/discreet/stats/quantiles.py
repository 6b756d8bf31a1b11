"""Quantiles: values of a rank, whatever the tails."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, Share, choice, counts
from discreet.mechanisms.points import DecimalGrid
from discreet.query import Batch, BoundedSum, OneHot
from discreet.ranks import column_on
from discreet.release import Release
from discreet.stats.asking import Options, Question, Range, ask, retried
from discreet.stats.exponential import PointsAtRanks

Floats = NDArray[np.float64]

FINEST = 10**6  # ranks are fractions with at most this denominator
FOR_INTERVAL = 0.25  # of the budget
OCTAVES = 36  # how much finer the smallest cell beside a quantile is than the range, in powers of two


@retried
def quantile(
    x: Any, q: Any = 0.5, bounds: Range = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]
) -> Release:
    """The value below which a share `q` of a column lies; for a list of `q`, one value each.

    A point of a fine public grid is chosen by how near it is, in rows, to having the rank: the exponential mechanism.
    Ranks are robust: what the bounds cut off does not matter, and the error is in ranks, not in the units of the data.
    Round numbers are likelier than others, as far as rows allow both: values that were rounded are found exactly.

    The interval is for the quantile of the population: it accounts for noise and sampling. It takes a quarter of the
    budget; with confidence=None there is none, and the value is sharper for it. The promise kept is the pure one; δ is
    not used.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 100, 10_000)
    >>> bool(abs(quantile(x, 0.9, bounds=(0, 100), epsilon=1.0).value - 90) < 5)
    True
    """
    return _quantile("quantile", x, q, bounds, (epsilon, delta), options)


@retried
def median(
    x: Any, bounds: Range = None, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]
) -> Release:
    """The middle value of a column: the quantile of rank 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(170, 10, 10_000)
    >>> bool(abs(median(x, bounds=(100, 250), epsilon=1.0).value - 170) < 5)
    True
    """
    return _quantile("median", x, 0.5, bounds, (epsilon, delta), options)


def _quantile(name: str, x: Any, q: Any, bounds: Range, promise: tuple[float, float], options: Options) -> Release:
    budget = Budget(*promise)  # checks both; the choices below keep the pure promise, which implies it
    ranks = tuple(_rank(part) for part in np.atleast_1d(q).tolist())
    if not ranks:
        raise ValueError("The `q` of quantile must be one or more ranks within [0, 1]. Got none.")
    alone = options.get("confidence", 0.95) is None
    question = ask(name, x, budget.epsilon, 0.0, {**options, "confidence": 0.95} if alone else options)
    if question.curator.width != 1:
        raise ValueError(f"The {name} is of one column.")
    for_values = [choice((1 - FOR_INTERVAL) / len(ranks))] * len(ranks)
    found, shares = question.deal(bounds, *for_values, *([] if alone else [counts(FOR_INTERVAL)]))

    # BOUND: rows on a public grid between the bounds
    grid = DecimalGrid.between(float(found.lower[0]), float(found.upper[0]))
    question.curator.expect(BoundedSum(column_on(grid), order=1))  # refuses what cannot work, before it is charged
    # SUMMARISE + PRIVATISE: a point for each rank, then how many rows there are around each
    value: Floats = question.curator.run(PointsAtRanks(name, grid, ranks), *shares[: len(ranks)]).value
    interval = None if alone else _interval(question, ranks, value, found.lower[0], found.upper[0], shares[-1])
    # SOLVE
    if np.ndim(q) or interval is None:
        return question.answer(name, value if np.ndim(q) else value.item(), None, interval)
    return question.answer(name, value.item(), None, (interval[0].item(), interval[1].item()))


def _interval(
    question: Question, ranks: tuple[Fraction, ...], values: Floats, low: float, high: float, share: Share
) -> tuple[Floats, Floats]:
    """Between which values each quantile of the population is, from a noisy count of rows around those released.

    The population's quantile θ is above an edge e, unless there are fewer rows below e than were to be expected at θ:
    their number below θ is binomial, whatever the edges, and the noise is drawn after the edges were chosen. So the
    first edge at which too few rows are missing, from either side, ends the interval.
    """
    edges = edges_around(values, low, high)
    noisy = question.curator.measure(_cells_between(edges), share)
    question.task.note("the cells around depended on earlier answers")
    wide = np.diff(edges, prepend=-np.inf, append=np.inf) > 0
    cells = np.where(wide, noisy.value, 0.0)  # others hold no row
    below, above = np.cumsum(cells)[:-1], np.cumsum(cells[::-1])[::-1][1:]
    ends = []
    for rank, value in zip(ranks, values, strict=True):
        q = float(rank)
        excess = (1 - q) * below - q * above  # rows below each edge, beyond those of a share of q
        margin = _margins(q, float(cells.sum()), np.cumsum(wide), float(noisy.std), question)
        first = np.argmax(np.append(excess > -margin, True))
        last = np.argmax(np.append(excess[::-1] < margin[::-1], True))
        start, end = np.append(low, edges)[first], np.append(high, edges[::-1])[last]
        ends.append((min(start, value), max(end, value)))
    return np.array(ends)[:, 0], np.array(ends)[:, 1]


def edges_around(values: Floats, low: float, high: float) -> Floats:
    """Edges ever closer to each of some values, two per power of two of the distance; and the values themselves."""
    steps = (high - low) * 2.0 ** (-np.arange(2 * OCTAVES + 1) / 2)
    edges = np.concatenate([values, *(value + sign * steps for value in values for sign in (-1, 1))])
    return np.asarray(np.sort(np.clip(edges, low, high)))


def _cells_between(edges: Floats) -> BoundedSum:
    def cell(rows: Batch) -> NDArray[np.int64]:
        values = rows.X[:, 0]
        return np.where(np.isfinite(values), np.searchsorted(edges, values, side="right"), -1)

    return BoundedSum(OneHot(cell, len(edges) + 1), order=1, name="rows around")


def _margins(q: float, count: float, noises: NDArray[np.int64], std: float, question: Question) -> Floats:
    """By how many rows the excess at each edge may be wrong, to either side, with the confidence wanted.

    The sampling's part has Bernstein's correction for ranks near 0 and 1; the noise is that of all cells, and reaches
    at least as far as that of a single one. `noises` is how many of them there are up to each edge, and in all.
    """
    wrong = (1 - question.confidence) / 2
    z = NormalDist().inv_cdf(1 - wrong)
    n = max(count if question.n is None else float(question.n), 1.0)
    noise = std * np.sqrt((1 - q) ** 2 * noises[:-1] + q**2 * (noises[-1] - noises[:-1]))
    largest = max(q, 1 - q) * std / math.sqrt(2) * math.log(1 / (2 * wrong))
    sampling = z * math.sqrt(n * q * (1 - q))
    return np.asarray(np.hypot(sampling, np.maximum(z * noise, largest)) + z * z / 3 + 1)


def _rank(q: float) -> Fraction:
    if not 0 <= q <= 1:
        raise ValueError(f"The `q` of quantile must be within [0, 1]. Got {q!r}.")
    return Fraction(q).limit_denominator(FINEST)
