"""Decoder: what reports of a design add up to, and what the sums say; SUMMARISE and SOLVE at the collector.

Counts are whole numbers, so they can be added in any order and anywhere. They are also what a collector of secret
shares (Prio, DAP) hands over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.randomise import ReportNumbers

Ints = NDArray[np.int64]


class Decoder(ABC):
    """Counts reports of a design, and estimates from the counts. By default a report is one number."""

    def __init__(self, design: Any, question: Any = None) -> None:
        self.design, self.question = design, question

    # -- SUMMARISE -----------------------------------------------------------------------------------------------------

    @property
    def cell_count(self) -> int:
        """The number of counts."""
        return int(self.design.size)

    def stack_reports(self, reports: list[ReportNumbers]) -> Any:
        """Reports as `Estimate.add_many` takes them."""
        return np.array(reports, np.int64).reshape(len(reports), -1)[:, 0]

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows could have been made by this design."""
        if reports.ndim != 1 or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        return (reports >= 0) & (reports < self.cell_count)

    def count_reports(self, reports: Any) -> Ints:
        """The counts of valid reports."""
        return np.bincount(reports, minlength=self.cell_count).astype(np.int64)

    def accepts_counts(self, counts: Ints, n: int) -> bool:
        """Whether these could be the counts of n reports."""
        return bool(counts.min() >= 0 and counts.max() <= n)

    # -- SOLVE ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def estimate(self, counts: Ints, n: int) -> Any:
        """The unbiased estimate."""

    @abstractmethod
    def estimate_std(self, counts: Ints, n: int) -> Any:
        """The standard deviation of the estimate."""

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        """The interval of z standard deviations around the estimate."""
        value, std = self.estimate(counts, n), self.estimate_std(counts, n)
        return value - z * std, value + z * std

    @property
    @abstractmethod
    def influence(self) -> float:
        """The most that one report can move the sum of what is estimated."""


class RowDecoder(Decoder):
    """Reports are rows of whole numbers, all of one length."""

    @property
    @abstractmethod
    def row_length(self) -> int:
        """The number of whole numbers in a report."""

    def stack_reports(self, reports: list[ReportNumbers]) -> Any:
        return np.array(reports, np.int64).reshape(len(reports), -1)

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != self.row_length or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        return self.are_possible(reports)

    @abstractmethod
    def are_possible(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows of the right length could have been made by this design."""

    def count_reports(self, reports: Any) -> Ints:
        return np.bincount(reports.ravel(), minlength=self.cell_count).astype(np.int64)


def are_rising_pairs(rows: NDArray[Any], cell_count: int) -> NDArray[np.bool_]:
    """Which rows hold 2·place or 2·place + 1 for rising places, below `cell_count`."""
    inside = (rows[:, 0] >= 0) & (rows[:, -1] < cell_count)
    return np.asarray(inside & (rows[:, 1:] >> 1 > rows[:, :-1] >> 1).all(1))
