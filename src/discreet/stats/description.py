"""Description: the count, and means, quartiles and histograms of all columns of a table, as one planned release.

The budget is split once, and rows are read once. Two things are measured for each column of numbers: its power sums,
for the mean, and the number of rows in each of `cells` equal cells, for the histogram and, by cumulative sums, for the
quartiles. One measurement serves all ranks, which costs less than an exponential mechanism for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.budget import Part, counts
from discreet.documents import html
from discreet.errors import NotSupported
from discreet.labels import codes_of
from discreet.ledger.retrying import Retrying
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release
from discreet.stats.described_columns import (
    has_only_numbers,
    refuse_bad_columns,
    refuse_missing_columns,
    refuse_unbounded_whole,
    select_columns,
)
from discreet.stats.intervals import bound_counts, find_half_width
from discreet.stats.moments import MEAN, NoisyPowers, estimate_mean
from discreet.stats.statistic import Options, Question, ask, forget_on_failure

Floats = NDArray[np.float64]
Interval = tuple[float, float]
RANKS = (0.25, 0.5, 0.75)
WEIGHTS = np.array(MEAN)


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers: mean and quartiles with intervals, and noisy counts in equal cells of its range.

    In a column of `whole` numbers the quartiles and their intervals are whole too, and edges lie halfway between two
    numbers.
    """

    name: str
    mean: float
    mean_interval: Interval
    quartiles: tuple[float, ...]
    quartile_intervals: tuple[Interval, ...]
    edges: Floats
    counts: Floats
    std: float
    whole: bool = False

    def merge_cells(self, most: int = 16) -> tuple[Floats, Floats]:
        """Edges and counts of fewer, wider cells, for display."""
        step = max(1, len(self.counts) // most)
        starts = np.arange(0, len(self.counts), step)
        return np.append(self.edges[starts], self.edges[-1]), np.add.reduceat(self.counts, starts)


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of categories: noisy counts of each of its public values, with intervals."""

    name: str
    values: tuple[Any, ...]
    counts: Floats
    interval: tuple[Floats, Floats]
    std: float


@dataclass(frozen=True, eq=False)
class Description:
    """All columns of a table, and the receipt; each interval holds by itself with probability `confidence`."""

    count: float
    count_interval: Interval
    columns: tuple[Numbers | Categories, ...]
    confidence: float
    release: Release
    count_std: float = 0.0  # standard deviation of the noise in the count; 0 where the count is public

    def _repr_html_(self) -> str:
        low, high = self.count_interval
        numbers = [one for one in self.columns if isinstance(one, Numbers)]
        lists = [one for one in self.columns if isinstance(one, Categories)]
        rows = [
            (one.name, f"{one.mean:.4g}", *(f"{q:.4g}" for q in one.quartiles), draw_bars(one.merge_cells()[1]))
            for one in numbers
        ]
        counted = [
            ("" if place else one.name, value, f"{count:,.0f}", f"{a:,.0f} to {b:,.0f}")
            for one in lists
            for place, (value, count, a, b) in enumerate(zip(one.values, one.counts, *one.interval, strict=True))
        ]
        header = f"{100 * self.confidence:g}% interval"
        return (
            html.write_paragraphs(f"About {max(self.count, 0):,.0f} ({low:,.0f} to {high:,.0f}).")
            + (html.write_table(rows, ("number", "mean", "25%", "median", "75%", "shape")) if rows else "")
            + (html.write_table(counted, ("category", "value", "count", header)) if counted else "")
            + self.release._repr_html_()
        )


def draw_bars(counts: Any) -> str:
    """A row of small bars, as high as the counts.

    >>> draw_bars([0, 5, 10, -2])
    ' ▄█ '
    """
    most = max(max(counts), 1e-9)
    return "".join(" ▁▂▃▄▅▆▇█"[round(8 * max(count, 0) / most)] for count in counts)


@forget_on_failure
def describe(
    X: Any,
    bounds: Mapping[str, Interval],
    categories: Mapping[str, Sequence[Any]] | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    *,
    cells: int = 64,
    whole: Collection[str] = (),
    **options: Unpack[Options],
) -> Description:
    """The number of rows, and a summary of each column.

    Parameters
    ----------
    X : a table with column names, or rows behind an engine.
    bounds : public (low, high) of each column of numbers to describe.
    categories : the public list of values of each column of categories to describe.
    cells : the number of cells of a column of numbers; quartiles are precise to within a cell.
    whole : the columns of whole numbers, with whole bounds. Each of their cells then covers equally many numbers, with
        at most `cells` cells in all, so that no cell looks emptier than its neighbours because it covers fewer.

    With a public `n` nothing is spent on the count, which is then `n` itself. Intervals of counts are for these data;
    those of means and quartiles are for the population the rows were drawn from. A row with a missing value, or a value
    that is not in the list, is left out of that column only.

    Examples
    --------
    >>> import polars, discreet as dc
    >>> rng = np.random.default_rng(0)
    >>> table = polars.DataFrame({"age": rng.uniform(0, 100, 20_000), "ward": ["north", "south"] * 10_000})
    >>> found = describe(table, {"age": (0, 100)}, {"ward": ["north", "south"]}, epsilon=1.0, delta=1e-6)
    >>> age, ward = found.columns
    >>> bool(abs(age.mean - 50) < 2), bool(abs(age.quartiles[1] - 50) < 4), bool(abs(ward.counts[0] - 10_000) < 200)
    (True, True, True)
    """
    if isinstance(options.get("ledger"), Retrying):
        raise NotSupported("A description cannot be retried yet. Hint: give it the ledger itself.")
    lists = {name: tuple(values) for name, values in (categories or {}).items()}
    refuse_bad_columns(bounds, lists, cells)
    refuse_unbounded_whole(bounds, whole)
    grids = {name: _make_edges(name, pair, cells, name in whole) for name, pair in bounds.items()}
    rows = select_columns(X, [*bounds, *lists], options.get("unit"))
    # columns may be of any type: `_Codes` turns those that are wanted into numbers
    question = ask(
        "describe", rows, epsilon, delta, options, numeric=has_only_numbers(rows, bounds, options.get("unit"))
    )
    names = _read_names(question, [*bounds, *lists])

    # BOUND: categories become places in their public lists; the queries clip numbers to their bounds
    question.curator.map(_Codes(tuple(names.index(name) for name in (*bounds, *lists)), len(bounds), lists))
    # SUMMARISE: the count; power sums and cell counts of numbers; counts of categories
    plan = _plan_queries(bounds, lists, grids, question)
    # PRIVATISE: one split of the budget, and all queries in one reading of the rows
    shares = question.budget.split(*(part.share for part in plan))
    noisy = question.curator.measure_together(
        *((part.query, share, None) for part, share in zip(plan, shares, strict=True))
    )
    # SOLVE: means, quartiles and histograms, with intervals
    return _solve_columns(question, noisy, bounds, lists, grids, whole)


@dataclass(frozen=True)
class _Codes:
    """The wanted columns as numbers: a category as its place in its list, and NaN for a missing value."""

    places: tuple[int, ...]
    numbers: int
    lists: Mapping[str, tuple[Any, ...]]

    def __call__(self, batch: Batch) -> Floats:
        wanted = [batch.X[:, place] for place in self.places]
        parts = [_to_floats(cells) for cells in wanted[: self.numbers]]
        codes = [
            codes_of(cells, known) for cells, known in zip(wanted[self.numbers :], self.lists.values(), strict=True)
        ]
        parts += [np.where(code < 0, np.nan, code) for code in codes]
        return np.column_stack(parts)


@dataclass(frozen=True, eq=False)
class _PlannedQuery:
    query: BoundedSum
    share: float | Part


def _plan_queries(
    bounds: Mapping[str, Interval], lists: Mapping[str, Any], grids: Mapping[str, Floats], question: Question
) -> list[_PlannedQuery]:
    """The queries and their parts of the budget: a count, powers and cells of each number, cells of each category."""
    order = question.order
    parts = (
        [_PlannedQuery(BoundedSum(OneHot(_put_in_one_cell, 1), order=order, name="count"), counts(1))]
        if question.n is None
        else []
    )
    for place, (name, (low, high)) in enumerate(bounds.items()):
        norm = float(np.linalg.norm(WEIGHTS, order))
        powers = BoundedSum(_make_powers(place, Bounds([low], [high])), norm=norm, order=order, name=f"{name}: mean")
        edges = grids[name]
        table = BoundedSum(
            OneHot(_make_cell_finder(place, edges), len(edges) - 1), order=order, name=f"{name}: histogram"
        )
        parts += [_PlannedQuery(powers, 2.0), _PlannedQuery(table, counts(2))]
    for place, (name, values) in enumerate(lists.items(), len(bounds)):
        size = len(values)
        cell = _make_cell_finder(place, np.arange(size + 1.0) - 0.5)
        parts.append(_PlannedQuery(BoundedSum(OneHot(cell, size), order=order, name=f"{name}: histogram"), counts(1)))
    return parts


def _put_in_one_cell(rows: Batch) -> NDArray[np.int64]:
    return np.zeros(len(rows.X), np.int64)


def _make_powers(place: int, bounds: Bounds) -> Callable[[Batch], Floats]:
    def compute_powers(rows: Batch) -> Floats:
        z = bounds.scale(rows.X[:, [place]])
        return np.asarray(np.hstack([np.ones_like(z), z, z * z]) * WEIGHTS)

    return compute_powers


def _make_edges(name: str, pair: Interval, cells: int, whole: bool) -> Floats:
    """Edges of equal cells from low to high; for whole numbers, of cells that cover equally many of them.

    >>> _make_edges("ward", (1, 6), 4, True).tolist()
    [0.5, 2.5, 4.5, 6.5]
    """
    if not whole:
        return np.linspace(*pair, cells + 1)
    if not all(float(end).is_integer() for end in pair):
        raise ValueError(f"The bounds of {name!r}, a column of whole numbers, must be whole. Got {pair!r}.")
    numbers = int(pair[1]) - int(pair[0]) + 1
    width = -(-numbers // cells)
    return np.asarray(int(pair[0]) - 0.5 + width * np.arange(-(-numbers // width) + 1), np.float64)


def _make_cell_finder(place: int, edges: Floats) -> Callable[[Batch], NDArray[np.int64]]:
    inner = edges[1:-1]

    def find_cell(rows: Batch) -> NDArray[np.int64]:
        values = rows.X[:, place]
        return np.where(np.isfinite(values), np.searchsorted(inner, values, side="right"), -1)

    return find_cell


def _solve_columns(
    question: Question,
    noisy: Sequence[Release],
    bounds: Mapping[str, Interval],
    lists: Mapping[str, Any],
    grids: Mapping[str, Floats],
    whole: Collection[str],
) -> Description:
    """The description of all columns, from the noisy sums."""
    count, std, rest = _read_count(question, noisy)
    columns: list[Numbers | Categories] = []
    for place, (name, pair) in enumerate(bounds.items()):
        found = _solve_numbers(name, pair, rest[2 * place], rest[2 * place + 1], grids[name], question.confidence)
        columns.append(_round_quartiles(found, pair) if name in whole else found)
    for (name, values), table in zip(lists.items(), rest[2 * len(bounds) :], strict=True):
        interval = bound_counts(table, question.confidence)
        columns.append(Categories(name, values, table.value, interval, float(table.std)))
    release = question.curator.summary("describe", question.budget)
    return Description(*count, tuple(columns), question.confidence, release, std)


def _read_count(
    question: Question, noisy: Sequence[Release]
) -> tuple[tuple[float, Interval], float, Sequence[Release]]:
    """The number of rows with its interval, the standard deviation of its noise, and the releases of the columns."""
    if question.n is not None:
        return (float(question.n), (float(question.n), float(question.n))), 0.0, noisy
    count, *rest = noisy
    (low,), (high,) = bound_counts(count, question.confidence)
    return (float(count.value[0]), (float(low), float(high))), float(count.std), rest


def _round_quartiles(found: Numbers, pair: Interval) -> Numbers:
    """The same column with whole quartiles and whole ends of their intervals."""
    low, high = pair
    ends = [(np.clip(np.ceil(a), low, high), np.clip(np.floor(b), low, high)) for a, b in found.quartile_intervals]
    values = np.clip(np.rint(found.quartiles), low, high)
    return replace(
        found,
        quartiles=tuple(map(float, values)),
        quartile_intervals=tuple((float(min(a, v)), float(max(b, v))) for (a, b), v in zip(ends, values, strict=True)),
        whole=True,
    )


def _solve_numbers(
    name: str, pair: Interval, powers: Release, table: Release, edges: Floats, confidence: float
) -> Numbers:
    scaled = Bounds([pair[0]], [pair[1]])
    values, std = powers.value / WEIGHTS, powers.std / WEIGHTS
    power = NoisyPowers(float(values[0]), values[1:], std, powers)
    mean, _, interval = estimate_mean(power, scaled, confidence)
    found = [_read_quantile(q, edges, table, confidence) for q in RANKS]
    quartiles, intervals = zip(*found, strict=True)
    return Numbers(name, mean, interval, quartiles, intervals, edges, table.value, float(table.std))


def _read_quantile(q: float, edges: Floats, table: Release, confidence: float) -> tuple[float, Interval]:
    """The quantile of rank q from the cumulative counts of cells, and the two edges that bracket it.

    At edge k, with B cells of noise σ each, the sum below the edge minus q times the total has noise of standard
    deviation σ √((1 - q)² k + q² (B - k)), and sampling error √(n q (1 - q)). An edge is taken to be below the quantile
    if this difference is negative beyond both errors together. The edges next to the true quantile pass the test with
    the stated confidence.
    """
    cells = len(table.value)
    below = np.append(0.0, np.cumsum(table.value))
    rows, k = max(float(below[-1]), 1.0), np.arange(cells + 1)
    value = float(np.interp(q * rows, np.maximum.accumulate(below), edges))
    noise = float(table.std) * np.sqrt((1 - q) ** 2 * k + q**2 * (cells - k))
    half = find_half_width(confidence, np.sqrt(rows * q * (1 - q)), (noise,), table.event)
    low = np.flatnonzero(below[1:] - q * rows + half[1:] >= 0)
    high = np.flatnonzero(below[:-1] - q * rows - half[:-1] <= 0)
    ends = edges[low[0]] if low.size else edges[0], edges[high[-1] + 1] if high.size else edges[-1]
    return value, (float(min(ends[0], value)), float(max(ends[1], value)))


def _to_floats(cells: NDArray[Any]) -> Floats:
    return np.asarray(cells if cells.dtype.kind == "f" else np.frompyfunc(_to_float, 1, 1)(cells), np.float64)


def _to_float(cell: Any) -> float:
    try:
        return float(cell)
    except Exception:  # a value that cannot be converted counts as missing, and its error reveals nothing
        return np.nan


def _read_names(question: Question, wanted: Sequence[str]) -> list[str]:
    names = list(question.curator.columns or ())
    refuse_missing_columns(names, wanted)
    return names
