"""Counts, histograms and contingency tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import is_whole
from discreet.budget import counts
from discreet.labels import codes_of
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release
from discreet.stats.intervals import bound_counts
from discreet.stats.statistic import Options, Question, Range, allow_retry, ask, l1_factor_of_cells, mark_present

MOST_CELLS = 1 << 24


@allow_retry
def count(x: Any, epsilon: float = 1.0, delta: float = 0.0, **options: Unpack[Options]) -> Release:
    """The number of rows (rows with a missing value are not counted).

    The interval is for the number of rows in these data, so it has no sampling error. Noise is a whole number, and the
    smallest that pure ε allows; with a δ and a shared ledger it is Gaussian. (Where the rows of a unit share the weight
    of one row, fractions of rows are counted, with Laplace noise.)

    Examples
    --------
    >>> import numpy as np
    >>> answer = count(np.ones(1000), epsilon=1.0)
    >>> answer.interval[0] < answer.value < answer.interval[1]
    True
    """
    question = ask("count", x, epsilon, delta, options, numeric=False, wider=1.0)
    # BOUND + SUMMARISE: each row adds one
    query = BoundedSum(OneHot(mark_present, 1), order=question.order, name="count")
    # PRIVATISE
    noisy = question.curator.measure(query, question.budget.whole("counts"))
    # SOLVE
    (low,), (high,) = bound_counts(noisy, question.confidence)
    return question.answer("count", float(noisy.value[0]), noisy.std, (float(low), float(high)))


@allow_retry
def histogram(
    x: Any,
    bins: Any = 10,
    bounds: Range = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    categories: Any = None,
    **options: Unpack[Options],
) -> Release:
    """The number of rows in each cell; for several columns, a contingency table.

    Parameters
    ----------
    x : a column, or a table for a contingency table.
    bins : the number of equal cells between the bounds, or the edges; for a table, one of these per column.
    bounds : (low, high); values outside are counted in the cells at the ends. Estimated privately if None.
    categories : the public list of labels, or one list per column; labels not in it are not counted.

    The release's `axes` are the edges or categories. Its interval holds for each cell separately, for these data.
    Counts are unbiased, so small ones may be below zero. Noise and δ are as in `count`.

    Examples
    --------
    >>> answer = histogram(["a", "b", "a"] * 500, categories=["a", "b", "c"], epsilon=2.0)
    >>> answer.axes, answer.value.shape
    ((('a', 'b', 'c'),), (3,))
    """

    def bound_l1_factor(width: int) -> float:
        given = categories is not None or bounds is not None or _are_edges(_per_column(bins, width))
        return l1_factor_of_cells(options) if given else math.inf

    question = ask("histogram", x, epsilon, delta, options, numeric=categories is None, wider=bound_l1_factor)
    width = question.curator.width
    if categories is not None:
        labels = _read_categories(categories, width)
        cells, shape, axes = _make_label_finder(labels), tuple(map(len, labels)), tuple(map(tuple, labels))
        share = question.budget.whole("counts")
    else:
        edges, share = _read_edges(question, bins, bounds)
        cells, shape, axes = (
            _make_edge_finder(edges),
            tuple(len(e) - 1 for e in edges),
            tuple(tuple(e.tolist()) for e in edges),
        )

    # BOUND + SUMMARISE: each row adds one to its cell
    query = BoundedSum(
        OneHot(lambda rows: _ravel_codes(cells(rows), shape), math.prod(shape)), order=question.order, name="histogram"
    )
    # PRIVATISE
    noisy = question.curator.measure(query, share)
    # SOLVE
    value = noisy.value.reshape(shape)
    low, high = bound_counts(noisy, question.confidence)
    interval = low.reshape(shape), high.reshape(shape)
    return question.answer("histogram", value, noisy.std, interval, axes=axes)


def _read_categories(categories: Any, width: int) -> list[list[Any]]:
    nested = all(isinstance(part, (list, tuple, np.ndarray)) for part in categories)
    lists = [list(part) for part in categories] if nested else [list(categories)]
    if len(lists) != width:
        raise ValueError(f"`categories` must be one list per column: the data have {width}. Got {len(lists)}.")
    lists = [[label.item() if isinstance(label, np.generic) else label for label in part] for part in lists]
    if any(len(part) == 0 or len(set(part)) != len(part) for part in lists):
        raise ValueError("Each list of `categories` must hold one or more distinct labels.")
    return lists


def _read_edges(question: Question, bins: Any, bounds: Range) -> tuple[list[NDArray[Any]], Any]:
    per_column = _per_column(bins, question.curator.width)
    if _are_edges(per_column):
        share = question.budget.whole("counts")
        return [_check_edges(np.asarray(part, np.float64)) for part in per_column], share
    numbers = [_read_cell_count(part) for part in per_column]
    if math.prod(numbers) > MOST_CELLS:
        raise ValueError(f"A histogram has at most {MOST_CELLS} cells. Got {math.prod(numbers)}.")
    found, (share,) = question.deal(bounds, counts(1))
    edges = [np.linspace(low, high, k + 1) for low, high, k in zip(found.lower, found.upper, numbers, strict=True)]
    return edges, share


def _per_column(bins: Any, width: int) -> list[Any]:
    if width == 1:
        return [bins]
    per_column = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * width
    if len(per_column) != width:
        raise ValueError(f"`bins` must be one entry per column: the data have {width}. Got {len(per_column)}.")
    return per_column


def _are_edges(per_column: list[Any]) -> bool:
    return all(isinstance(part, (list, tuple)) or np.ndim(part) == 1 for part in per_column)


def _read_cell_count(bins: Any) -> int:
    if not is_whole(bins) or bins < 1:
        raise ValueError(f"`bins` must be whole numbers >= 1, or rising edges for all columns. Got {bins!r}.")
    return int(bins)


def _check_edges(edges: NDArray[Any]) -> NDArray[Any]:
    if len(edges) < 2 or not np.isfinite(edges).all() or not (np.diff(edges) > 0).all():
        raise ValueError("The edges in `bins` must be two or more finite, rising numbers.")
    return edges


def _make_edge_finder(edges: Sequence[NDArray[Any]]) -> Any:
    def find_cells(rows: Batch) -> NDArray[np.int64]:
        columns = []
        for values, inner in zip(rows.X.T, edges, strict=True):
            code = np.searchsorted(inner[1:-1], values, side="right")
            columns.append(np.where(np.isfinite(values), code, -1))
        return np.column_stack(columns)

    return find_cells


def _make_label_finder(labels: Sequence[list[Any]]) -> Any:
    def find_cells(rows: Batch) -> NDArray[np.int64]:
        return np.column_stack([codes_of(values, known) for values, known in zip(rows.X.T, labels, strict=True)])

    return find_cells


def _ravel_codes(codes: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    flat = np.zeros(len(codes), dtype=np.int64)
    for code, size in zip(codes.T, shape, strict=True):
        flat = flat * size + code
    return np.where((codes < 0).any(axis=1), -1, flat)
