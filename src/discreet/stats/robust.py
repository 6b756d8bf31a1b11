"""Robust statistics: trimmed and winsorized means, interquartile range and median absolute deviation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack, get_args

import numpy as np

from discreet.arguments import is_number
from discreet.bounds import Bounds
from discreet.budget import Budget, Part, approximate, choice, counts, inside, radial
from discreet.release import Release
from discreet.stats.moments import MEAN, estimate_mean, measure_powers
from discreet.stats.quantiles import FOR_INTERVAL, Method, bound_quantiles, choose_values
from discreet.stats.statistic import Options, Question, Range, allow_retry, ask

FOR_ENDS = 0.35  # share of the budget of a trimmed mean
HALF = Fraction(1, 2)


@allow_retry
def trimmed_mean(
    x: Any,
    trim: float = 0.1,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    **options: Unpack[Options],
) -> Release:
    """The mean of a column without its lowest and its highest rows (a share `trim` of each).

    Two private quantiles give the ends; the rows between them are counted and added up. Bounds may be generous: bounds
    that are too wide cost precision in ranks, not in values. The interval is for the mean of the population between the
    same two values.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.append(np.random.default_rng(0).normal(50, 5, 10_000), [1e9] * 20)
    >>> bool(abs(trimmed_mean(x, bounds=(-1e6, 1e6), epsilon=1.0).value - 50) < 0.5)
    True
    """
    return _mean_between("trimmed mean", x, trim, bounds, (epsilon, delta), options, trimmed=True)


@allow_retry
def winsorized_mean(
    x: Any,
    trim: float = 0.05,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    **options: Unpack[Options],
) -> Release:
    """The mean of a column whose lowest and highest rows (a share `trim` of each) are clipped to the ends of the rest.

    As `trimmed_mean`, but rows beyond the two private quantiles are clipped to them instead of left out.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).lognormal(3, 1, 10_000)
    >>> clipped = x.clip(*np.quantile(x, [0.05, 0.95])).mean()
    >>> bool(abs(winsorized_mean(x, bounds=(0, 1e6), epsilon=1.0).value - clipped) < 2)
    True
    """
    return _mean_between("winsorized mean", x, trim, bounds, (epsilon, delta), options, trimmed=False)


def _mean_between(
    name: str, x: Any, trim: float, bounds: Range, guarantee: tuple[float, float], options: Options, trimmed: bool
) -> Release:
    if not is_number(trim) or not 0 < trim < 0.5:
        raise ValueError(f"The `trim` of a {name} must be a share within (0, 0.5). Got {trim!r}.")
    question = ask(name, x, *guarantee, options)
    _refuse_tables(question, name)
    found, (low, high, rest) = question.deal(bounds, choice(FOR_ENDS / 2), choice(FOR_ENDS / 2), 1 - FOR_ENDS)
    rank = Fraction(float(trim)).limit_denominator(10**6)
    ends = float(found.lower[0]), float(found.upper[0])

    # BOUND: private quantiles
    cuts = np.sort(choose_values("ends", question, (rank, 1 - rank), ends, "exponential", (low, high)))
    between = _widen_bounds(float(cuts[0]), float(cuts[1]), ends[1] - ends[0])
    question.task.note(f"rows between {cuts[0]:.6g} and {cuts[1]:.6g}, where to cut depended on earlier answers")
    # SUMMARISE + PRIVATISE: how many rows, their sum and that of their squares
    power = measure_powers(question, between, rest, MEAN, trimmed)
    # SOLVE
    return question.answer(name, *estimate_mean(power, between, question.confidence))


def _widen_bounds(low: float, high: float, reach: float) -> Bounds:
    """Bounds of a column between two values, widened where they are too close for floats to tell apart."""
    step = max(reach, abs(low)) * 2.0**-40
    return Bounds([low], [high]) if high - low > step else Bounds([low - step], [high + step])


@allow_retry
def iqr(
    x: Any,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    method: Method = "exponential",
    **options: Unpack[Options],
) -> Release:
    """The interquartile range of a column: the difference of its quartiles.

    The interval combines those of the two quantiles. The methods are those of `quantile` except "histogram".

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).uniform(0, 100, 10_000)
    >>> bool(abs(iqr(x, bounds=(0, 1000), epsilon=1.0).value - 50) < 3)
    True
    """
    question, (part, kept) = _open_spread("iqr", x, epsilon, delta, method, options)
    found, shares = question.deal(bounds, *[part(kept / 2)] * 2, *([counts(FOR_INTERVAL)] if kept < 1 else []))
    ends, ranks = (float(found.lower[0]), float(found.upper[0])), (Fraction(1, 4), Fraction(3, 4))
    low, high = np.sort(choose_values("quartiles", question, ranks, ends, method, shares[:2])).tolist()
    interval = None
    if kept < 1:
        both = (1 + question.confidence) / 2  # the confidence of each end, so that both hold together
        starts, stops = bound_quantiles(question, ranks, np.array([low, high]), ends, shares[2], both)
        interval = max(0.0, float(starts[1] - stops[0])), float(stops[1] - starts[0])
    return question.answer("iqr", high - low, None, interval)


@allow_retry
def mad(
    x: Any,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    method: Method = "exponential",
    **options: Unpack[Options],
) -> Release:
    """The median absolute deviation of a column: the median distance from its median.

    First the median is released, then the median of the distances from the released value. (Under a normal law it is
    0.6745 standard deviations.) The interval is for distances from that value. The methods are those of `quantile`
    except "histogram".

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(170, 10, 10_000)
    >>> bool(abs(mad(x, bounds=(0, 1000), epsilon=1.0).value - 6.745) < 0.5)
    True
    """
    question, (part, kept) = _open_spread("mad", x, epsilon, delta, method, options)
    found, shares = question.deal(bounds, *[part(kept / 2)] * 2, *([counts(FOR_INTERVAL)] if kept < 1 else []))
    ends = float(found.lower[0]), float(found.upper[0])
    middle = choose_values("median", question, (HALF,), ends, method, shares[:1]).item()
    question.task.note("distances are from a median that depended on earlier answers")
    far = 0.0, max(middle - ends[0], ends[1] - middle)
    value = choose_values("mad", question, (HALF,), far, method, shares[1:2], about=middle)
    interval = None
    if kept < 1:
        start, stop = bound_quantiles(question, (HALF,), value, far, shares[2], about=middle)
        interval = start.item(), stop.item()
    return question.answer("mad", value.item(), None, interval)


def _open_spread(
    name: str, x: Any, epsilon: float, delta: float, method: Method, options: Options
) -> tuple[Question, tuple[Any, float]]:
    """The question, the kind of part that pays for its method, and the share of the budget for values."""
    kinds = {"exponential": choice, "smooth": _make_inside_part, "ptr": approximate}
    if method not in kinds:
        allowed = ", ".join(kind for kind in get_args(Method) if kind in kinds)
        raise ValueError(f"The `method` of {name} is one of {allowed}. Got {method!r}.")
    budget = Budget(epsilon, delta)
    if method == "ptr" and budget.pure:
        raise ValueError(f'The {name} by method="ptr" needs delta > 0. Got delta = 0.')
    alone = options.get("confidence", 0.95) is None
    kept = delta if method == "ptr" else 0.0
    question = ask(name, x, epsilon, kept, {**options, "confidence": 0.95} if alone else options)
    _refuse_tables(question, name)
    return question, (kinds[method], 1.0 if alone else 1 - FOR_INTERVAL)


def _make_inside_part(weight: float) -> Part:
    return inside(radial(weight))


def _refuse_tables(question: Question, name: str) -> None:
    if question.curator.width != 1:
        raise ValueError(f"The {name} is of one column.")
