"""Quantiles from noisy counts of ever finer cells: sums only, so that a federation can compute them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Share, counts
from discreet.stats.quantile_balance import Balance, count_between
from discreet.stats.statistic import Question, Range

Floats = NDArray[np.float64]

WEIGHTS = (1.0, 1.0, 1.0, 1.5)  # the weights of the rounds in the budget; the last round gives the value
CELLS = 64  # cells per round: four rounds resolve 2^-24 of the range
SURE = 0.998  # the confidence that a round's bracket holds the quantile of the rows


def descend_cells(
    question: Question, ranks: tuple[Fraction, ...], bounds: Range
) -> tuple[Floats, tuple[Floats, Floats]]:
    """A value for each rank, with its interval; the number of rounds and their costs are public."""
    found, shares = question.deal(bounds, *[counts(weight) for _ in ranks for weight in WEIGHTS])
    ends = float(found.lower[0]), float(found.upper[0])
    question.task.note("cells after the first round depended on earlier answers")
    rounds = len(WEIGHTS)
    lines = [
        _descend_one_rank(question, rank, shares[rounds * place : rounds * (place + 1)], ends)
        for place, rank in enumerate(ranks)
    ]
    value, start, stop = np.array(lines).T
    return value, (start, stop)


def _descend_one_rank(
    question: Question, rank: Fraction, shares: tuple[Share, ...], ends: tuple[float, float]
) -> tuple[float, float, float]:
    """The value of one rank, and the interval for the quantile of the population."""
    (low, high), (start, stop) = ends, ends
    value = (low + high) / 2
    for share in shares:
        # BOUND + SUMMARISE: each row adds one to its cell, inside the remaining range or beside it
        edges = np.linspace(low, high, CELLS + 1)
        # PRIVATISE
        noisy = question.curator.measure(count_between(edges, question.order), share)
        # SOLVE: the range that remains is the bracket of the rows' quantile
        balance, here = Balance.from_release(noisy, edges, float(rank)), (low, high)
        value = balance.find_crossing(here)
        first, last = balance.bracket_quantile(question.confidence, question.n, here)
        start, stop = first if first > low else start, last if last < high else stop
        low, high = balance.bracket_quantile(SURE, question.n, here, sampled=False)
        low, high = (low, high) if low < high else here
    return value, min(start, value), max(stop, value)
