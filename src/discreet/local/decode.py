"""SUMMARISE and SOLVE at the collector: what reports add up to, and what that says.

Counts are whole numbers, so they can be added in any order and anywhere: counts of reports (a value, a row or a point
each), or of the values that are in reports. They are also what a collector of secret shares (Prio, DAP) hands over.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bulk import find_points
from discreet.local.caps import Cap
from discreet.local.cones import DIGITS, FARTHEST, Cone
from discreet.local.design import Design, Direct, Hadamard, Hashed, Projective, Subset, TwoCoins, Unary
from discreet.local.lasting import BitFlip, Loloha, Rappor
from discreet.local.lines import HybridDesign, LaplaceDesign, TableDesign, WindowDesign
from discreet.local.randomise import ReportNumbers
from discreet.local.several import OneOf

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_CELLS = 1 << 22  # of a table at once


class Decoder:
    """Counts of reports of a design; each is a number below `cells`."""

    def __init__(self, design: Any, question: Any = None) -> None:
        self.design, self.question = design, question

    @property
    def cell_count(self) -> int:
        """How many counts there are."""
        return int(self.design.size)

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        """Reports as `add_many` takes them."""
        return np.array(reports, np.int64).reshape(len(reports), -1)[:, 0]

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows could have been made by this design."""
        if reports.ndim != 1 or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        return (reports >= 0) & (reports < self.cell_count)

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        """What sound reports add up to."""
        return np.bincount(reports, minlength=self.cell_count).astype(np.int64)

    def accepts_counts(self, counts: Ints, n: int) -> bool:
        """Whether these could be counts of so many reports."""
        return bool(counts.min() >= 0 and counts.max() <= n)

    # -- shares --------------------------------------------------------------------------------------------------------

    def count_support(self, counts: Ints, n: int) -> Ints:
        """How many reports support each value."""
        return counts

    def estimate(self, counts: Ints, n: int) -> Any:
        """The share of each value, unbiased."""
        p, q = self.design.rates
        return (self.count_support(counts, n) / n - q) / (p - q)

    def estimate_std(self, counts: Ints, n: int) -> Any:
        """Its standard deviation."""
        p, q = self.design.rates
        c = self.count_support(counts, n) / n
        return np.sqrt(np.clip(c * (1 - c), 0, None) / n) / (p - q)

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        """Its interval of z deviations: Wilson's, of the share of supporting reports."""
        p, q = self.design.rates
        c = self.count_support(counts, n) / n
        middle = (c + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(c * (1 - c) / n + z**2 / (4 * n**2))
        return (middle - half - q) / (p - q), (middle + half - q) / (p - q)

    @property
    def influence(self) -> float:
        """The most that one report can move the sum of what is estimated."""
        p, q = self.design.rates
        return float(max(1 - q, q) / (p - q))


class HadamardDecoder(Decoder):
    """Rows of a Hadamard matrix; all supports by one fast transform."""

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


class ProjectiveDecoder(Decoder):
    """Points of a projective space; all supports by one Fourier transform over its coordinates.

    Let g count every multiple of a point, c times. Then Σ_x g(x)·ω^(x·v) = q·(reports on the plane of v) − n.
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
        # the last axis holds half of the frequencies: a sum over all multiples is real, and the same at -v
        upper = planes[-1] > q // 2
        planes[:, upper] = -planes[:, upper] % q
        found = sums[tuple(planes)]
        return np.asarray(np.rint((found + n) / q), np.int64)


def _join_digits(digits: Ints, q: int) -> Ints:
    whole = np.zeros(digits.shape[1], np.int64)
    for row in digits:
        whole = whole * q + row
    return whole


class SubsetDecoder(Decoder):
    """Sets of values, each in order."""

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), -1)

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != self.design.chosen or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        inside = (reports[:, 0] >= 0) & (reports[:, -1] < self.design.size)
        return np.asarray(inside & (reports[:, 1:] > reports[:, :-1]).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        return np.bincount(reports.ravel(), minlength=self.cell_count).astype(np.int64)


class UnaryDecoder(Decoder):
    """A coin for each value: rows of True and False."""

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


class HashDecoder(Decoder):
    """A hash and a bin each: the values of that bin, counted one by one."""

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), 3)

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != 3 or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        limits = np.array([self.design.prime, self.design.prime, self.design.bins])
        return np.asarray((reports >= [1, 0, 0]).all(1) & (reports < limits).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        values, counts = np.arange(self.cell_count), np.zeros(self.cell_count, np.int64)
        step = max(1, _CELLS // self.cell_count)
        for start in range(0, len(reports), step):
            a, b, heard = reports[start : start + step].T[:, :, None]
            counts += ((a * values + b) % self.design.prime % self.design.bins == heard).sum(0)
        return counts


class BitFlipDecoder(Decoder):
    """Bits of some buckets each: counts of 0 and of 1 for each bucket."""

    @property
    def cell_count(self) -> int:
        return 2 * int(self.design.size)

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), -1)

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != self.design.asked or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        inside = (reports[:, 0] >= 0) & (reports[:, -1] < self.cell_count)
        return np.asarray(inside & (reports[:, 1:] >> 1 > reports[:, :-1] >> 1).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        return np.bincount(reports.ravel(), minlength=self.cell_count).astype(np.int64)

    def estimate(self, counts: Ints, n: int) -> Any:
        """The share of each bucket, among those who were asked about it."""
        p, q = self.design.rates
        low, high = counts.reshape(-1, 2).T
        return (high / np.maximum(low + high, 1) - q) / (p - q)

    def estimate_std(self, counts: Ints, n: int) -> Any:
        """Its standard deviation."""
        p, q = self.design.rates
        low, high = counts.reshape(-1, 2).T
        asked = np.maximum(low + high, 1)
        return np.sqrt(high / asked * (1 - high / asked) / asked) / (p - q)

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        """Its interval of z deviations."""
        value, std = self.estimate(counts, n), self.estimate_std(counts, n)
        return value - z * std, value + z * std


class BloomDecoder(Decoder):
    """Bits of Bloom filters: how many people each cohort has, and how often each bit is shown there."""

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
        """The share of each bit in each cohort; `Estimate.words` is what it says of words."""
        p, q = self.design.rates
        people, bits = self.split_counts(counts)
        return (bits / np.maximum(people, 1)[:, None] - q) / (p - q)

    def estimate_std(self, counts: Ints, n: int) -> Any:
        """Its standard deviation."""
        p, q = self.design.rates
        people, bits = self.split_counts(counts)
        share = np.clip(bits / np.maximum(people, 1)[:, None], 1e-9, 1 - 1e-9)
        return np.sqrt(share * (1 - share) / np.maximum(people, 1)[:, None]) / (p - q)

    def split_counts(self, counts: Ints) -> tuple[Ints, Ints]:
        """People and bits of each cohort."""
        table = counts.reshape(self.design.cohorts, -1)
        return table[:, 0], table[:, 1:]


# -- means -------------------------------------------------------------------------------------------------------------


class LevelDecoder(Decoder):
    """Reports of one number: counts of each, of which every one stands for a number."""

    @property
    def cell_count(self) -> int:
        return int(self.design.report_count)

    @cached_property
    def outputs(self) -> Floats:
        """What each report stands for, on [-1, 1] or beyond."""
        return np.array([float(y) for y in self.design.outputs])

    def compute_moments(self, counts: Ints, n: int) -> tuple[Any, Any]:
        """The mean of what reports stand for, and of its square."""
        return counts @ self.outputs / n, counts @ self.outputs**2 / n

    def estimate(self, counts: Ints, n: int) -> Any:
        """The mean, unbiased, within the bounds of the question."""
        return self.question.decode_mean(self.compute_moments(counts, n)[0])

    def estimate_std(self, counts: Ints, n: int) -> Any:
        """Its standard deviation."""
        mean, square = self.compute_moments(counts, n)
        spread = np.sqrt(np.clip(square - mean**2, 0, None) / max(1, n - 1))
        return self.question.decode_mean(spread) - self.question.decode_mean(0.0)

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        """Its interval of z deviations."""
        value, std = self.estimate(counts, n), self.estimate_std(counts, n)
        return value - z * std, value + z * std

    @property
    def influence(self) -> float:
        return float(np.abs(self.outputs).max() * (self.question.decode_mean(1.0) - self.question.decode_mean(0.0)))


class SignDecoder(LevelDecoder):
    """Places and signs: counts of minus and of plus for each coordinate."""

    @property
    def cell_count(self) -> int:
        return 2 * int(self.design.size)

    @cached_property
    def outputs(self) -> Floats:
        return np.array([float(self.design.scale)])

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), -1)

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != self.design.asked or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        inside = (reports[:, 0] >= 0) & (reports[:, -1] < self.cell_count)
        return np.asarray(inside & (reports[:, 1:] >> 1 > reports[:, :-1] >> 1).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        return np.bincount(reports.ravel(), minlength=self.cell_count).astype(np.int64)

    def compute_moments(self, counts: Ints, n: int) -> tuple[Any, Any]:
        minus, plus = counts.reshape(-1, 2).T
        mean, square = self.outputs[0] * (plus - minus) / n, self.outputs[0] ** 2 * (plus + minus) / n
        return (mean[0], square[0]) if self.question.kind == "number" else (mean, square)


class DirectionDecoder(LevelDecoder):
    """Normal vectors: sums of their numbers, or of those of their directions, and of the squares."""

    @property
    def cell_count(self) -> int:
        return 2 * int(self.design.size)

    @cached_property
    def outputs(self) -> Floats:
        longest = 1.0 if self.design.gamma == 0 else FARTHEST / (1 << DIGITS)
        return np.array([longest / self.design.slope])

    def stack_reports(self, reports: list[ReportNumbers]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), -1)

    def find_valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != self.design.size or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        return np.asarray((np.abs(reports) <= FARTHEST).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        rows = reports.astype(np.int64)
        if self.design.gamma == 0:  # only the direction counts: to 2^-20
            length = np.sqrt((rows.astype(np.float64) ** 2).sum(1, keepdims=True))
            rows = np.rint(rows / np.maximum(length, 1) * (1 << 20)).astype(np.int64)
        return np.concatenate([rows.sum(0), (rows**2).sum(0)])

    def accepts_counts(self, counts: Ints, n: int) -> bool:
        return bool((np.abs(counts[: self.design.size]) <= n * float(FARTHEST << 9)).all())

    def compute_moments(self, counts: Ints, n: int) -> tuple[Any, Any]:
        unit = self.design.slope * (1 << (20 if self.design.gamma == 0 else DIGITS))
        sums, squares = counts.reshape(2, -1)
        return sums / unit / n, squares / unit**2 / n


class OneOfDecoder(Decoder):
    """One of several: for each part, how many people answered it, and their counts."""

    @cached_property
    def parts(self) -> list[Decoder]:
        """The decoder of each part."""
        pairs = zip(self.design.parts, self.question.parts, strict=True)
        return [DECODERS[type(design)](design, question) for design, question in pairs]

    @property
    def cell_count(self) -> int:
        return sum(1 + part.cell_count for part in self.parts)

    def tally_parts(self, reports: dict[int, Any]) -> Ints:
        """What sound reports by part add up to."""
        found = []
        for i, part in enumerate(self.parts):
            rows = reports.get(i, ())
            found.append(np.array([len(rows)], np.int64))
            found.append(part.count_reports(np.asarray(rows)) if len(rows) else np.zeros(part.cell_count, np.int64))
        return np.concatenate(found)

    def stack_reports(self, reports: list[ReportNumbers]) -> Any:
        rows: dict[int, list[ReportNumbers]] = {}
        for which, *rest in reports:
            rows.setdefault(which, []).append(tuple(rest))
        return {i: self.parts[i].stack_reports(some) for i, some in rows.items()}

    def count_reports(self, reports: Any) -> Ints:
        return self.tally_parts(reports)

    def split_counts(self, counts: Ints) -> list[tuple[int, Ints]]:
        """How many answered each part, and their counts."""
        found, at = [], 0
        for part in self.parts:
            found.append((int(counts[at]), counts[at + 1 : at + 1 + part.cell_count]))
            at += 1 + part.cell_count
        return found

    def accepts_counts(self, counts: Ints, n: int) -> bool:
        parts = self.split_counts(counts)
        fit = all(part.accepts_counts(some, m) for part, (m, some) in zip(self.parts, parts, strict=True))
        return fit and sum(m for m, _ in parts) == n

    def estimate(self, counts: Ints, n: int) -> Any:
        """The estimates of all parts."""
        return [part.estimate(some, m) for part, (m, some) in zip(self.parts, self.split_counts(counts), strict=True)]

    def estimate_std(self, counts: Ints, n: int) -> Any:
        """Their standard deviations."""
        return [
            part.estimate_std(some, m) for part, (m, some) in zip(self.parts, self.split_counts(counts), strict=True)
        ]

    def estimate_interval(self, counts: Ints, n: int, z: float) -> tuple[Any, Any]:
        """Their intervals."""
        pairs = zip(self.parts, self.split_counts(counts), strict=True)
        low, high = zip(*(part.estimate_interval(some, m, z) for part, (m, some) in pairs), strict=True)
        return list(low), list(high)

    @property
    def influence(self) -> float:
        return float(self.design.size * max(part.influence for part in self.parts))


DECODERS: dict[type[Design], type[Decoder]] = {
    Loloha: HashDecoder,
    BitFlip: BitFlipDecoder,
    Rappor: BloomDecoder,
    OneOf: OneOfDecoder,
    Cap: SignDecoder,
    Cone: DirectionDecoder,
    TableDesign: LevelDecoder,
    WindowDesign: LevelDecoder,
    HybridDesign: LevelDecoder,
    LaplaceDesign: LevelDecoder,
    Direct: Decoder,
    TwoCoins: Decoder,
    Subset: SubsetDecoder,
    Hadamard: HadamardDecoder,
    Projective: ProjectiveDecoder,
    Hashed: HashDecoder,
    Unary: UnaryDecoder,
}
"""How reports of a design are counted."""
