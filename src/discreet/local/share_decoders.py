"""Decoders of shares: how reports of a choice or of text are counted, and the share of each value.

Counts are of reports (a value, a row or a point each), or of the values that are in reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bulk import find_points
from discreet.local.decoder import Decoder, Ints, RowDecoder, are_rising_pairs
from discreet.local.randomise import ReportNumbers

_CELLS = 1 << 22  # cells of a table that are computed at once


class RateDecoder(Decoder):
    """Decodes by the rates of its design: p of the value that was given, q of any other."""

    @property
    def influence(self) -> float:
        p, q = self.design.rates
        return float(max(1 - q, q) / (p - q))


class ShareDecoder(RateDecoder):
    """Reports that support values: the share of each value."""

    def count_support(self, counts: Ints, n: int) -> Ints:
        """The number of reports that support each value."""
        return counts

    def estimate(self, counts: Ints, n: int) -> Any:
        # share of a value = (share of supporting reports − q)/(p − q)
        p, q = self.design.rates
        return (self.count_support(counts, n) / n - q) / (p - q)

    def estimate_std(self, counts: Ints, n: int) -> Any:
        p, q = self.design.rates
        c = self.count_support(counts, n) / n
        return np.sqrt(np.clip(c * (1 - c), 0, None) / n) / (p - q)

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        """Wilson's interval for the share of supporting reports, as an interval of the share."""
        p, q = self.design.rates
        c = self.count_support(counts, n) / n
        middle = (c + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(c * (1 - c) / n + z**2 / (4 * n**2))
        return (middle - half - q) / (p - q), (middle + half - q) / (p - q)


class HadamardDecoder(ShareDecoder):
    """A report is a row of a Hadamard matrix; one fast Walsh-Hadamard transform computes the support of all values."""

    @property
    def cell_count(self) -> int:
        return int(self.design.order)

    def count_support(self, counts: Ints, n: int) -> Ints:
        sums = counts.copy()
        half = 1
        while half < len(sums):
            pairs = sums.reshape(-1, 2, half)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            half *= 2
        support: Ints = (n + sums[1 : self.design.size + 1]) // 2
        return support


class ProjectiveDecoder(ShareDecoder):
    """A report is a point of a projective space; one Fourier transform computes the support of all values.

    Let g(x) be the count of the point that x is a multiple of: Σ_x g(x)·ω^(x·v) = q·(reports on the plane of v) − n.
    """

    @property
    def cell_count(self) -> int:
        return int(self.design.points)

    def count_support(self, counts: Ints, n: int) -> Ints:
        q, t = self.design.q, self.design.t
        places = find_points(np.arange(self.cell_count), q, t)
        table = np.zeros(q**t)
        for factor in range(1, q):
            table[_join_digits(places * factor % q, q)] = counts
        planes = places[:, : self.design.size].copy()
        sums = np.fft.rfftn(table.reshape((q,) * t)).real
        # rfftn holds half of the frequencies of the last axis; as g is even, the transform is real and the same at -v
        upper = planes[-1] > q // 2
        planes[:, upper] = -planes[:, upper] % q
        found = sums[tuple(planes)]
        return np.asarray(np.rint((found + n) / q), np.int64)


def _join_digits(digits: Ints, q: int) -> Ints:
    whole = np.zeros(digits.shape[1], np.int64)
    for row in digits:
        whole = whole * q + row
    return whole


class SubsetDecoder(RowDecoder, ShareDecoder):
    """A report is a sorted set of values; each of them is counted."""

    @property
    def row_length(self) -> int:
        return int(self.design.chosen)

    def are_possible(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        inside = (rows[:, 0] >= 0) & (rows[:, -1] < self.design.size)
        return np.asarray(inside & (rows[:, 1:] > rows[:, :-1]).all(1))


class UnaryDecoder(ShareDecoder):
    """A report is a row of True and False, one for each value."""

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        rows = np.zeros((len(reports), self.cell_count), bool)
        for row, report in zip(rows, reports, strict=True):
            row[list(report)] = True
        return rows

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        fits = reports.ndim == 2 and reports.shape[1] == self.cell_count and reports.dtype.kind == "b"
        return np.full(len(reports), fits)

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        return np.asarray(reports.sum(0, dtype=np.int64))


class HashDecoder(RowDecoder, ShareDecoder):
    """A report is a hash and a bin; every value in that bin is counted."""

    @property
    def row_length(self) -> int:
        return 3

    def are_possible(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        limits = np.array([self.design.prime, self.design.prime, self.design.bins])
        return np.asarray((rows >= [1, 0, 0]).all(1) & (rows < limits).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        values, counts = np.arange(self.cell_count), np.zeros(self.cell_count, np.int64)
        step = max(1, _CELLS // self.cell_count)
        for start in range(0, len(reports), step):
            a, b, heard = reports[start : start + step].T[:, :, None]
            counts += ((a * values + b) % self.design.prime % self.design.bins == heard).sum(0)
        return counts


class BitFlipDecoder(RowDecoder, RateDecoder):
    """A report holds the bits of some buckets: counts of 0 and of 1 for each bucket."""

    @property
    def cell_count(self) -> int:
        return 2 * int(self.design.size)

    @property
    def row_length(self) -> int:
        return int(self.design.asked)

    def are_possible(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        return are_rising_pairs(rows, self.cell_count)

    def estimate(self, counts: Ints, n: int) -> Any:
        """The share of each bucket, among those who were asked about it."""
        p, q = self.design.rates
        low, high = counts.reshape(-1, 2).T
        return (high / np.maximum(low + high, 1) - q) / (p - q)

    def estimate_std(self, counts: Ints, n: int) -> Any:
        p, q = self.design.rates
        low, high = counts.reshape(-1, 2).T
        asked = np.maximum(low + high, 1)
        return np.sqrt(high / asked * (1 - high / asked) / asked) / (p - q)


class BloomDecoder(RateDecoder):
    """Bits of Bloom filters: for each cohort, counts of its people and of each bit that is set."""

    @property
    def cell_count(self) -> int:
        return int(self.design.cohorts * (1 + self.design.size))

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        rows = np.zeros((len(reports), self.design.cohorts + self.design.size), bool)
        for row, (cohort, *shown) in zip(rows, reports, strict=True):
            row[[cohort, *(self.design.cohorts + bit for bit in shown)]] = True
        return rows

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        width = self.design.cohorts + self.design.size
        if reports.ndim != 2 or reports.shape[1] != width or reports.dtype.kind != "b":
            return np.zeros(len(reports), bool)
        return np.asarray(reports[:, : self.design.cohorts].sum(1) == 1)

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        cohorts, shown = reports[:, : self.design.cohorts].astype(np.float32), reports[:, self.design.cohorts :]
        bits = np.rint(cohorts.T @ shown.astype(np.float32)) if len(reports) < 1 << 24 else cohorts.T @ shown
        return np.concatenate([cohorts.sum(0)[:, None], bits], axis=1).ravel().astype(np.int64)

    def estimate(self, counts: Ints, n: int) -> Any:
        """The share of each bit in each cohort; `Estimate.words` estimates shares of words from it."""
        p, q = self.design.rates
        people, bits = self.split_counts(counts)
        return (bits / np.maximum(people, 1)[:, None] - q) / (p - q)

    def estimate_std(self, counts: Ints, n: int) -> Any:
        p, q = self.design.rates
        people, bits = self.split_counts(counts)
        share = np.clip(bits / np.maximum(people, 1)[:, None], 1e-9, 1 - 1e-9)
        return np.sqrt(share * (1 - share) / np.maximum(people, 1)[:, None]) / (p - q)

    def split_counts(self, counts: Ints) -> tuple[Ints, Ints]:
        """The numbers of people, and of each bit that is set, in each cohort."""
        table = counts.reshape(self.design.cohorts, -1)
        return table[:, 0], table[:, 1:]
