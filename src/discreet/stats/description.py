"""Description: count, means, quartiles and histograms of all columns of a table, as one planned release.

The budget is split once, and rows are read once. Of each column of numbers two things are measured: its powers, for the
mean, and how many rows fall into each of `cells` even cells, for the histogram and, by adding the cells up, for the
quartiles. One measurement serves all ranks, which costs less than a choice for each.
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
from discreet.stats.described_columns import chosen, plain, refuse, refuse_missing, refuse_whole
from discreet.stats.intervals import around_counts, reach
from discreet.stats.moments import MEAN, Powers, mean_of
from discreet.stats.statistic import Options, Question, ask, forgetful

Floats = NDArray[np.float64]
Interval = tuple[float, float]
RANKS = (0.25, 0.5, 0.75)
DEALT = np.array(MEAN)


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers: mean and quartiles with intervals, and noisy counts in even cells of its range.

    If it is of `whole` numbers, so are its quartiles and their intervals, and edges lie halfway between two numbers.
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

    def bins(self, most: int = 16) -> tuple[Floats, Floats]:
        """Edges and counts of fewer, wider cells, to be looked at."""
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
    """All columns of a table, and the receipt; intervals hold with probability `confidence`, each by itself."""

    count: float
    count_interval: Interval
    columns: tuple[Numbers | Categories, ...]
    confidence: float
    release: Release
    count_std: float = 0.0  # of the noise in the count; 0 where it is public

    def _repr_html_(self) -> str:
        low, high = self.count_interval
        numbers = [one for one in self.columns if isinstance(one, Numbers)]
        lists = [one for one in self.columns if isinstance(one, Categories)]
        rows = [
            (one.name, f"{one.mean:.4g}", *(f"{q:.4g}" for q in one.quartiles), draw_bars(one.bins()[1]))
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


@forgetful
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
    """How many rows there are, and what each column looks like.

    Parameters
    ----------
    X : a table with names of columns, or rows behind an engine.
    bounds : public (low, high) of each column of numbers to describe.
    categories : the public list of values of each column of categories to describe.
    cells : how finely the range of a column of numbers is cut; quartiles are told to within a cell.
    whole : columns of whole numbers, with whole bounds. Each cell then holds equally many of them, at most `cells`
        cells in all, so that no cell looks emptier than its neighbours for holding fewer.

    With a public `n` nothing is spent on the count, which is then `n` itself.
    Intervals of counts are for these data, those of means and quartiles for the population the rows were drawn from. A
    row whose cell is missing, or not among the values, is left out of that column alone.

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
    refuse(bounds, lists, cells)
    refuse_whole(bounds, whole)
    grids = {name: _edges(name, pair, cells, name in whole) for name, pair in bounds.items()}
    rows = chosen(X, [*bounds, *lists], options.get("unit"))
    # what is not wanted may be of any type, and so may be what is: `_Codes` makes numbers of it
    question = ask("describe", rows, epsilon, delta, options, numeric=plain(rows, bounds, options.get("unit")))
    names = _named(question, [*bounds, *lists])
    question.curator.map(_Codes(tuple(names.index(name) for name in (*bounds, *lists)), len(bounds), lists))
    plan = _plan(bounds, lists, grids, question)

    shares = question.budget.split(*(part.share for part in plan))
    noisy = question.curator.measure_together(
        *((part.query, share, None) for part, share in zip(plan, shares, strict=True))
    )
    return _solved(question, noisy, bounds, lists, grids, whole)


@dataclass(frozen=True)
class _Codes:
    """The columns wanted as numbers: those that are as they are, a category as its place in its list, NaN for none."""

    places: tuple[int, ...]
    numbers: int
    lists: Mapping[str, tuple[Any, ...]]

    def __call__(self, batch: Batch) -> Floats:
        wanted = [batch.X[:, place] for place in self.places]
        parts = [_floats(cells) for cells in wanted[: self.numbers]]
        codes = [
            codes_of(cells, known) for cells, known in zip(wanted[self.numbers :], self.lists.values(), strict=True)
        ]
        parts += [np.where(code < 0, np.nan, code) for code in codes]
        return np.column_stack(parts)


@dataclass(frozen=True, eq=False)
class _Part:
    query: BoundedSum
    share: float | Part


def _plan(
    bounds: Mapping[str, Interval], lists: Mapping[str, Any], grids: Mapping[str, Floats], question: Question
) -> list[_Part]:
    """BOUND and SUMMARISE: a count; powers and cells of each column of numbers; cells of each category."""
    order = question.order
    parts = [_Part(BoundedSum(OneHot(_every, 1), order=order, name="count"), counts(1))] if question.n is None else []
    for place, (name, (low, high)) in enumerate(bounds.items()):
        norm = float(np.linalg.norm(DEALT, order))
        powers = BoundedSum(_powers(place, Bounds([low], [high])), norm=norm, order=order, name=f"{name}: mean")
        edges = grids[name]
        table = BoundedSum(OneHot(_cell(place, edges), len(edges) - 1), order=order, name=f"{name}: histogram")
        parts += [_Part(powers, 2.0), _Part(table, counts(2))]
    for place, (name, values) in enumerate(lists.items(), len(bounds)):
        size = len(values)
        cell = _cell(place, np.arange(size + 1.0) - 0.5)
        parts.append(_Part(BoundedSum(OneHot(cell, size), order=order, name=f"{name}: histogram"), counts(1)))
    return parts


def _every(rows: Batch) -> NDArray[np.int64]:
    return np.zeros(len(rows.X), np.int64)


def _powers(place: int, bounds: Bounds) -> Callable[[Batch], Floats]:
    def powers(rows: Batch) -> Floats:
        z = bounds.scale(rows.X[:, [place]])
        return np.asarray(np.hstack([np.ones_like(z), z, z * z]) * DEALT)

    return powers


def _edges(name: str, pair: Interval, cells: int, whole: bool) -> Floats:
    """Of even cells from low to high; of whole numbers, cells that hold equally many of them.

    >>> _edges("ward", (1, 6), 4, True).tolist()
    [0.5, 2.5, 4.5, 6.5]
    """
    if not whole:
        return np.linspace(*pair, cells + 1)
    if not all(float(end).is_integer() for end in pair):
        raise ValueError(f"The bounds of {name!r}, a column of whole numbers, must be whole. Got {pair!r}.")
    numbers = int(pair[1]) - int(pair[0]) + 1
    width = -(-numbers // cells)
    return np.asarray(int(pair[0]) - 0.5 + width * np.arange(-(-numbers // width) + 1), np.float64)


def _cell(place: int, edges: Floats) -> Callable[[Batch], NDArray[np.int64]]:
    inner = edges[1:-1]

    def cell(rows: Batch) -> NDArray[np.int64]:
        values = rows.X[:, place]
        return np.where(np.isfinite(values), np.searchsorted(inner, values, side="right"), -1)

    return cell


def _solved(
    question: Question,
    noisy: Sequence[Release],
    bounds: Mapping[str, Interval],
    lists: Mapping[str, Any],
    grids: Mapping[str, Floats],
    whole: Collection[str],
) -> Description:
    """SOLVE: columns from noisy sums."""
    count, std, rest = _count(question, noisy)
    columns: list[Numbers | Categories] = []
    for place, (name, pair) in enumerate(bounds.items()):
        found = _numbers(name, pair, rest[2 * place], rest[2 * place + 1], grids[name], question.confidence)
        columns.append(_rounded(found, pair) if name in whole else found)
    for (name, values), table in zip(lists.items(), rest[2 * len(bounds) :], strict=True):
        interval = around_counts(table, question.confidence)
        columns.append(Categories(name, values, table.value, interval, float(table.std)))
    release = question.curator.summary("describe", question.budget)
    return Description(*count, tuple(columns), question.confidence, release, std)


def _count(question: Question, noisy: Sequence[Release]) -> tuple[tuple[float, Interval], float, Sequence[Release]]:
    """How many rows there are, with an interval; the deviation of the noise in it; and the releases of the columns."""
    if question.n is not None:
        return (float(question.n), (float(question.n), float(question.n))), 0.0, noisy
    count, *rest = noisy
    (low,), (high,) = around_counts(count, question.confidence)
    return (float(count.value[0]), (float(low), float(high))), float(count.std), rest


def _rounded(found: Numbers, pair: Interval) -> Numbers:
    """The same of whole numbers."""
    low, high = pair
    ends = [(np.clip(np.ceil(a), low, high), np.clip(np.floor(b), low, high)) for a, b in found.quartile_intervals]
    values = np.clip(np.rint(found.quartiles), low, high)
    return replace(
        found,
        quartiles=tuple(map(float, values)),
        quartile_intervals=tuple((float(min(a, v)), float(max(b, v))) for (a, b), v in zip(ends, values, strict=True)),
        whole=True,
    )


def _numbers(name: str, pair: Interval, powers: Release, table: Release, edges: Floats, confidence: float) -> Numbers:
    scaled = Bounds([pair[0]], [pair[1]])
    values, std = powers.value / DEALT, powers.std / DEALT
    power = Powers(float(values[0]), values[1:], std, powers)
    mean, _, interval = mean_of(power, scaled, confidence)
    found = [_quantile(q, edges, table, confidence) for q in RANKS]
    quartiles, intervals = zip(*found, strict=True)
    return Numbers(name, mean, interval, quartiles, intervals, edges, table.value, float(table.std))


def _quantile(q: float, edges: Floats, table: Release, confidence: float) -> tuple[float, Interval]:
    """Where cells add up to a share q of their total, and between which edges that is, most probably.

    At edge k, with B cells of noise σ each, the sum below it less q times the total has noise of standard deviation
    σ √((1 - q)² k + q² (B - k)), beside the sampling's √(n q (1 - q)). An edge is below the quantile, most probably,
    where the difference is less than minus what both reach; the true quantile's own edges pass that test.
    """
    cells = len(table.value)
    below = np.append(0.0, np.cumsum(table.value))
    rows, k = max(float(below[-1]), 1.0), np.arange(cells + 1)
    value = float(np.interp(q * rows, np.maximum.accumulate(below), edges))
    noise = float(table.std) * np.sqrt((1 - q) ** 2 * k + q**2 * (cells - k))
    half = reach(confidence, np.sqrt(rows * q * (1 - q)), (noise,), table.event)
    low = np.flatnonzero(below[1:] - q * rows + half[1:] >= 0)
    high = np.flatnonzero(below[:-1] - q * rows - half[:-1] <= 0)
    ends = edges[low[0]] if low.size else edges[0], edges[high[-1] + 1] if high.size else edges[-1]
    return value, (float(min(ends[0], value)), float(max(ends[1], value)))


def _floats(cells: NDArray[Any]) -> Floats:
    return np.asarray(cells if cells.dtype.kind == "f" else np.frompyfunc(_number, 1, 1)(cells), np.float64)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except Exception:  # whatever a strange cell does: it is missing, and tells nothing of itself
        return np.nan


def _named(question: Question, wanted: Sequence[str]) -> list[str]:
    names = list(question.curator.columns or ())
    refuse_missing(names, wanted)
    return names
