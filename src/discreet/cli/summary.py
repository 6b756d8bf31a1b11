"""Summary: a description in words and tables, the same on the terminal and in a page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.cli.numerals import measured

if TYPE_CHECKING:
    from discreet.stats.description import Categories, Description, Numbers

    Interval = tuple[float, float]

OTHERS = "(other or missing)"


@dataclass(frozen=True)
class Summary:
    """A description, and the most rows of a unit that were read for it, if there was a limit.

    | unit | limit | what is counted |
    | --- | --- | --- |
    | "row" | | rows |
    | a column | so many rows of each | rows, at most so many of each unit |
    | a column | none | units, each of which counts once, by the mean of its rows |
    """

    found: Description
    limit: int | None = None

    @property
    def counts_rows(self) -> bool:
        """Whether rows are counted, and not units."""
        return self.found.release.unit == "row" or self.limit is not None

    @property
    def counted(self) -> str:
        """What is counted, in words."""
        unit = self.found.release.unit
        if unit == "row":
            return "rows"
        return f"units ({unit})" if self.limit is None else f"rows (at most {self.limit:,} of each {unit})"

    @property
    def sentence(self) -> str:
        """How many there are."""
        low, high = self.found.count_interval
        return f"About {max(self.found.count, 0):,.0f} {self.counted} ({low:,.0f} to {high:,.0f})."

    @property
    def numbers(self) -> tuple[Numbers, ...]:
        """The columns of numbers."""
        from discreet.stats.description import Numbers

        return tuple(one for one in self.found.columns if isinstance(one, Numbers))

    @property
    def categories(self) -> tuple[Categories, ...]:
        """The columns of categories."""
        from discreet.stats.description import Categories

        return tuple(one for one in self.found.columns if isinstance(one, Categories))

    def cells(self, one: Categories) -> list[tuple[str, str, str]]:
        """Value, count and interval of each value of a category, and of all others together."""
        rows = [(str(value), *_count(n, low, high)) for value, n, low, high in _zipped(one)]
        value, (low, high) = self.others(one)
        return [*rows, (OTHERS, *_count(value, low, high))]

    def others(self, one: Categories) -> tuple[float, Interval]:
        """About how many have none of the values: what is left of the count, which costs nothing more.

        Its noise is that of the count and of each cell, independent of each other.
        """
        from discreet.events import Pure, flatten
        from discreet.stats.intervals import find_half_width

        left, event = float(self.found.count - sum(one.counts)), self.found.release.event
        half = find_half_width(self.found.confidence, 0.0, (self.found.count_std, *(one.std,) * len(one.values)), event)
        if left % 1 == 0 and any(isinstance(leaf, Pure) for leaf, _ in flatten(event)):
            half = math.ceil(half)  # whole noise reaches whole numbers
        return max(left, 0.0), (max(left - half, 0.0), max(left + half, 0.0))

    def document(self) -> dict[str, Any]:
        """All of it, for scripts."""
        unit = self.found.release.unit
        count = {"value": self.found.count, "interval": self.found.count_interval}
        count |= {"of": "rows" if self.counts_rows else "units", "unit": unit, "max_rows_per_unit": self.limit}
        columns = {one.name: self._numbers(one) for one in self.numbers}
        columns |= {one.name: self._categories(one) for one in self.categories}
        ordered = {one.name: columns[one.name] for one in self.found.columns}
        return {"count": count, "confidence": self.found.confidence, "columns": ordered}

    def _categories(self, one: Categories) -> dict[str, Any]:
        value, ends = self.others(one)
        document = {"kind": "category", "values": one.values, "counts": one.counts, "interval": one.interval}
        return document | {"other": {"value": value, "interval": ends}}

    def _numbers(self, one: Numbers) -> dict[str, Any]:
        pairs = zip(one.quartiles, one.quartile_intervals, strict=True)
        return {
            "kind": "number",
            "mean": {"value": one.mean, "interval": one.mean_interval},
            "quartiles": [{"value": value, "interval": ends} for value, ends in pairs],
            "histogram": {"edges": one.edges, "counts": one.counts, "std": one.std},
        }


def told(one: Numbers) -> list[tuple[str, str]]:
    """Mean and quartiles of a column, each with its interval."""
    pairs = [(one.mean, one.mean_interval), *zip(one.quartiles, one.quartile_intervals, strict=True)]
    return [measured(value, *ends) for value, ends in pairs]


def _count(n: float, low: float, high: float) -> tuple[str, str]:
    return f"{max(n, 0):,.0f}", f"{low:,.0f} to {high:,.0f}"


def _zipped(one: Categories) -> Any:
    return zip(one.values, one.counts, *one.interval, strict=True)
