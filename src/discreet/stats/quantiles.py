"""Quantiles by the exponential mechanism over public cells."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_whole
from discreet.budget import Budget, Share, choice, counts
from discreet.events import Choice
from discreet.lipschitz import Score, rank_score
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release
from discreet.stats.asking import Options, Question, Range, ask, present, retried
from discreet.stats.intervals import around_counts

CELLS = 1 << 14  # how finely the range is cut
MOST_CELLS = 1 << 20
FINEST = 10**6  # ranks are fractions with at most this denominator


@retried
def quantile(
    x: Any,
    q: Any = 0.5,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    cells: int = CELLS,
    **options: Unpack[Options],
) -> Release:
    """The value below which a share `q` of a column lies; for a list of `q`, one value each.

    The range is cut into `cells` even cells; a cell is chosen by how near it is, in rows, to holding the quantile.
    Ranks are robust: what the bounds cut off does not matter, and the error is in ranks, not in the units of the data.
    The interval is for the quantile of the population: it accounts for the choice and for the sampling. It takes half
    of the budget; with confidence=None there is none, and the value is sharper for it. The promise kept is the pure
    one; δ is not used.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 100, 10_000)
    >>> bool(abs(quantile(x, 0.9, bounds=(0, 100), epsilon=1.0).value - 90) < 5)
    True
    """
    return _quantile("quantile", x, q, bounds, (epsilon, delta), cells, options)


def _quantile(
    name: str, x: Any, q: Any, bounds: Range, promise: tuple[float, float], cells: int, options: Options
) -> Release:
    budget = Budget(*promise)  # checks both; the choices below keep the pure promise, which implies it
    ranks = [_rank(part) for part in np.atleast_1d(q).tolist()]
    if not ranks:
        raise ValueError("The `q` of quantile must be one or more ranks within [0, 1]. Got none.")
    cells = check_whole(name, "cells", cells, 2, MOST_CELLS)
    alone = options.get("confidence", 0.95) is None
    question = ask(name, x, budget.epsilon, 0.0, {**options, "confidence": 0.95} if alone else options)
    if question.curator.width != 1:
        raise ValueError(f"The {name} is of one column.")
    # for each rank the quantile itself and the two ends of its interval; these need a count, which may be public
    values, ends = [choice(2.5)] * len(ranks), [choice(1.0)] * (0 if alone else 2 * len(ranks))
    for_count = [counts(0.5 * len(ranks))] if ends and question.n is None else []
    found, shares = question.deal(bounds, *values, *ends, *for_count)
    low, step = float(found.lower[0]), float(found.upper[0] - found.lower[0]) / cells

    # BOUND + SUMMARISE: each row adds one to its cell
    def cell(rows: Batch) -> NDArray[np.int64]:
        code = np.floor((rows.X[:, 0] - low) / step)
        return np.where(np.isfinite(code), np.clip(code, 0, cells - 1), -1).astype(np.int64)

    table = BoundedSum(OneHot(cell, cells), order=1, name="cells")
    rows = BoundedSum(OneHot(present, 1), order=1, name="count")

    question.curator.expect(table)  # refuses what cannot work, before the count is paid for

    # PRIVATISE: the ranks of the ends depend on the noisy count; what each choice costs does not
    for_values, for_ends = shares[: len(ranks)], shares[len(ranks) : 3 * len(ranks)]
    least = _fewest(question, rows, shares[3 * len(ranks) :]) if ends else 0.0
    asked = [(share, rank_score(rank, name)) for share, rank in zip(for_values, ranks, strict=True)]
    here = np.array([question.curator.choose(table, *one).value for one in asked])
    first, last = _ends(question, table, ranks, for_ends, least, cells) if ends else (here, here)

    # SOLVE: the middle of the cell; the outer edges of the two others
    value = low + step * (here + 0.5)
    interval = low + step * np.minimum(first, here), low + step * (np.maximum(last, here) + 1)
    told: Any = (value, interval) if np.ndim(q) else (value.item(), (interval[0].item(), interval[1].item()))
    return question.answer(name, told[0], None, None if alone else told[1])


def _ends(
    question: Question, table: BoundedSum, ranks: list[Fraction], shares: tuple[Share, ...], n: float, cells: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The cells in which the intervals begin and end."""
    margins = [_margin(rank, n, cells, question, share) for rank, share in zip(ranks, shares[::2], strict=True)]
    beyond = np.array([(r <= m, r + m >= 1) for r, m in zip(ranks, margins, strict=True)]).T  # no row is that far out
    chosen = []
    for rank, margin, *two in zip(ranks, margins, shares[::2], shares[1::2], strict=True):
        wanted = _score(rank - margin, "low end"), _score(rank + margin, "high end")
        chosen += [question.curator.choose(table, *ask).value for ask in zip(two, wanted, strict=True)]
    first, last = np.array(chosen).reshape(-1, 2).T
    return np.where(beyond[0], 0, first), np.where(beyond[1], cells - 1, last)


@retried
def median(
    x: Any,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    cells: int = CELLS,
    **options: Unpack[Options],
) -> Release:
    """The middle value of a column: the quantile of rank 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(170, 10, 10_000)
    >>> bool(abs(median(x, bounds=(100, 250), epsilon=1.0).value - 170) < 5)
    True
    """
    return _quantile("median", x, 0.5, bounds, (epsilon, delta), cells, options)


def _rank(q: float) -> Fraction:
    if not 0 <= q <= 1:
        raise ValueError(f"The `q` of quantile must be within [0, 1]. Got {q!r}.")
    return Fraction(q).limit_denominator(FINEST)


def _score(rank: Fraction, name: str) -> Score:
    return rank_score(min(max(rank, Fraction(0)), Fraction(1)).limit_denominator(FINEST), name)


def _fewest(question: Question, rows: BoundedSum, shares: tuple[Share, ...]) -> float:
    """A number of rows that there are most probably (99%), or surely."""
    if question.n is not None:
        return max(float(question.n), 1.0)
    (low,), _ = around_counts(question.curator.measure(rows, shares[0]), 0.98)
    return max(float(low), 1.0)


def _margin(rank: Fraction, n: float, cells: int, question: Question, share: Share) -> Fraction:
    """How far from its rank an end of the interval is asked for.

    Half of the allowed error is the sampling's, with Bernstein's correction for ranks near 0 and 1; the rest is the
    choice's: the exponential mechanism misses by more than (2 Δ / ε) (ln cells + t) rows with probability at most e^-t
    (McSherry & Talwar 2007), and Δ is at most one row.
    """
    event = question.curator.buys(share)
    assert isinstance(event, Choice)
    q, wrong = float(rank), 1 - question.confidence
    missed = 2 / event.epsilon * (math.log(cells) + math.log(4 / wrong))
    z = NormalDist().inv_cdf(1 - wrong / 4)
    sampled = z * math.sqrt(n * q * (1 - q)) + z * z / 3 + 1
    return Fraction((missed + sampled) / n).limit_denominator(FINEST)
