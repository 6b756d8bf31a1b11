"""Quantiles: values of given ranks, robust to heavy tails."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Budget, Share, approximate, choice, counts, inside, radial
from discreet.mechanisms.points import DecimalGrid
from discreet.query import BoundedSum
from discreet.release import Release
from discreet.stats.quantile_balance import Balance, count_between
from discreet.stats.quantile_exponential import PointsAtRanks
from discreet.stats.quantile_histogram import descend_cells
from discreet.stats.quantile_stable import SmoothRank, StableRank
from discreet.stats.ranks import place_on_grid
from discreet.stats.statistic import Options, Question, Range, allow_retry, ask

Floats = NDArray[np.float64]

FINEST = 10**6  # ranks are fractions with at most this denominator
FOR_INTERVAL = 0.25  # share of the budget
OCTAVES = 36  # the smallest cell beside a quantile is 2^-36 of the range


Method = Literal["exponential", "smooth", "ptr", "histogram"]


@allow_retry
def quantile(
    x: Any,
    q: Any = 0.5,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    method: Method = "exponential",
    **options: Unpack[Options],
) -> Release:
    """The value below which a share `q` of a column lies; for a list of `q`, one value for each.

    | method | how | guarantee |
    | --- | --- | --- |
    | "exponential" | exponential mechanism over a fine public grid, by distance from the rank in rows | pure |
    | "smooth" | the row of the rank, with Cauchy noise scaled to its smooth sensitivity | pure |
    | "ptr" | propose-test-release: the row of the rank, with noise of the smallest scale that passes | (ε, δ) |
    | "histogram" | noisy counts of ever finer cells: sums only | as asked |

    Quantiles are robust: values outside the bounds hardly matter, and the error is in ranks, not in the units of the
    data. "exponential" prefers round numbers among points that fit the rows equally well, so values that were rounded
    are found exactly. "ptr" returns the middle of the bounds, and adds a note, where no scale passes.

    The interval is for the quantile of the population: it accounts for noise and sampling. It costs a quarter of the
    budget; with confidence=None there is no interval, and the value is more precise. (With "histogram" the interval is
    free.) Where the guarantee is pure, δ is not used.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 100, 10_000)
    >>> bool(abs(quantile(x, 0.9, bounds=(0, 100), epsilon=1.0).value - 90) < 5)
    True
    """
    return _release_quantiles("quantile", x, q, bounds, (epsilon, delta), method, options)


@allow_retry
def median(
    x: Any,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    method: Method = "exponential",
    **options: Unpack[Options],
) -> Release:
    """The middle value of a column: the quantile of rank 1/2, by the same methods.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(170, 10, 10_000)
    >>> bool(abs(median(x, bounds=(100, 250), epsilon=1.0).value - 170) < 5)
    True
    """
    return _release_quantiles("median", x, 0.5, bounds, (epsilon, delta), method, options)


def _release_quantiles(
    name: str, x: Any, q: Any, bounds: Range, guarantee: tuple[float, float], method: Method, options: Options
) -> Release:
    if method not in get_args(Method):
        raise ValueError(f"The `method` of {name} is one of {', '.join(get_args(Method))}. Got {method!r}.")
    budget = Budget(*guarantee)  # checks both; choices give the pure guarantee, which implies (ε, δ)
    ranks = tuple(_read_rank(part) for part in np.atleast_1d(q).tolist())
    if not ranks:
        raise ValueError("The `q` of quantile must be one or more ranks within [0, 1]. Got none.")
    if method == "ptr" and budget.pure:
        raise ValueError(f'A {name} by method="ptr" needs delta > 0. Got delta = 0.')
    alone = options.get("confidence", 0.95) is None
    delta = budget.delta if method in ("ptr", "histogram") else 0.0
    question = ask(name, x, budget.epsilon, delta, {**options, "confidence": 0.95} if alone else options)
    if question.curator.width != 1:
        raise ValueError(f"The {name} is of one column.")
    interval: tuple[Floats, Floats] | None
    if method == "histogram":
        value, interval = descend_cells(question, ranks, bounds)
    else:
        value, interval = _choose_with_intervals(name, question, ranks, bounds, method, not alone)
    interval = None if alone else interval
    if np.ndim(q) or interval is None:
        return question.answer(name, value if np.ndim(q) else value.item(), None, interval)
    return question.answer(name, value.item(), None, (interval[0].item(), interval[1].item()))


def _choose_with_intervals(
    name: str, question: Question, ranks: tuple[Fraction, ...], bounds: Range, method: Method, around: bool
) -> tuple[Floats, tuple[Floats, Floats] | None]:
    """A value for each rank, chosen inside the curator, and its interval."""
    weight = (1 - FOR_INTERVAL) / len(ranks)
    part = {"exponential": choice(weight), "smooth": inside(radial(weight)), "ptr": approximate(weight)}[method]
    found, shares = question.deal(bounds, *[part] * len(ranks), *([counts(FOR_INTERVAL)] if around else []))

    low, high = float(found.lower[0]), float(found.upper[0])
    values = choose_values(name, question, ranks, (low, high), method, shares[: len(ranks)])
    return values, bound_quantiles(question, ranks, values, (low, high), shares[-1]) if around else None


def choose_values(
    name: str,
    question: Question,
    ranks: tuple[Fraction, ...],
    ends: tuple[float, float],
    method: Method,
    shares: tuple[Share, ...],
    about: float | None = None,
) -> Floats:
    """A value for each rank of the column, or of its distances from a released number (`about`)."""
    # BOUND: rows on a public grid between the bounds
    grid = DecimalGrid.between(*ends)
    question.curator.expect(BoundedSum(place_on_grid(grid), order=1))  # refuses a bad column before anything is charged
    # SUMMARISE + PRIVATISE: the rows around each rank, and a chosen point or a noisy row for it
    if method == "exponential":
        return np.asarray(question.curator.run(PointsAtRanks(name, grid, ranks, about), *shares).value)
    kind = SmoothRank if method == "smooth" else StableRank
    asked = zip(ranks, shares, strict=True)
    rows = [question.curator.run(kind(name, grid, rank, about), share).value for rank, share in asked]
    if method == "ptr" and any(row[0] < 0 for row in rows):
        question.task.note("no scale passed the test: where that is so the answer is the middle of the bounds")
    # SOLVE: after propose-test-release, the number of the scale comes first
    return np.array([np.ravel(row)[-1] for row in rows])


def bound_quantiles(
    question: Question,
    ranks: tuple[Fraction, ...],
    values: Floats,
    ends: tuple[float, float],
    share: Share,
    confidence: float | None = None,
    about: float | None = None,
) -> tuple[Floats, Floats]:
    """The interval of each quantile of the population, from a noisy count of rows around the released values.

    The population's quantile θ is above an edge e, unless fewer rows are below e than are to be expected at θ: the
    number of rows below θ is binomial, whatever the edges are, and the noise is drawn after the edges were chosen. So,
    from either side, the first edge at which too few rows are missing ends the interval.
    """
    # BOUND + SUMMARISE: each row adds one to its cell
    edges = place_edges(values, *ends)
    # PRIVATISE
    noisy = question.curator.measure(count_between(edges, about=about), share)
    question.task.note("the cells around depended on earlier answers")
    # SOLVE
    around = []
    for rank, value in zip(ranks, values, strict=True):
        balance = Balance.from_release(noisy, edges, float(rank))
        start, end = balance.bracket_quantile(confidence or question.confidence, question.n, ends)
        around.append((min(start, value), max(end, value)))
    return np.array(around)[:, 0], np.array(around)[:, 1]


def place_edges(values: Floats, low: float, high: float) -> Floats:
    """Edges ever closer to each of the values, two per power of two of the distance, and the values themselves."""
    steps = (high - low) * 2.0 ** (-np.arange(2 * OCTAVES + 1) / 2)
    edges = np.concatenate([values, *(value + sign * steps for value in values for sign in (-1, 1))])
    return np.asarray(np.sort(np.clip(edges, low, high)))


def _read_rank(q: float) -> Fraction:
    if not 0 <= q <= 1:
        raise ValueError(f"The `q` of quantile must be within [0, 1]. Got {q!r}.")
    return Fraction(q).limit_denominator(FINEST)
