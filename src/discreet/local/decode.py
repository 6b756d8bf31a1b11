"""SUMMARISE at the collector: what reports add up to, and how many of them support each value.

Counts are whole numbers, so they can be added in any order and anywhere: counts of reports (a value, a row or a point
each), or of the values that are in reports. They are also what a collector of secret shares (Prio, DAP) hands over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bulk import find_points
from discreet.local.design import Coins, Design, Direct, Hadamard, Hashed, Projective, Subset, Unary
from discreet.local.randomise import Report

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_CELLS = 1 << 22  # of a table at once


class Decoder:
    """Counts of reports of a design; each is a number below `cells`."""

    def __init__(self, design: Any) -> None:
        self.design = design

    @property
    def cells(self) -> int:
        """How many counts there are."""
        return int(self.design.size)

    def stack(self, reports: list[Report]) -> NDArray[Any]:
        """Reports as `add_many` takes them."""
        return np.array(reports, np.int64).reshape(len(reports), -1)[:, 0]

    def sound(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows could have been made by this design."""
        if reports.ndim != 1 or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        return (reports >= 0) & (reports < self.cells)

    def tally(self, reports: NDArray[Any]) -> Ints:
        """What sound reports add up to."""
        return np.bincount(reports, minlength=self.cells).astype(np.int64)

    def support(self, counts: Ints, n: int) -> Ints:
        """How many reports support each value."""
        return counts


class Rows(Decoder):
    """Rows of a Hadamard matrix; all supports by one fast transform."""

    @property
    def cells(self) -> int:
        return int(self.design.order)

    def support(self, counts: Ints, n: int) -> Ints:
        sums = counts.copy()
        half = 1
        while half < len(sums):
            pairs = sums.reshape(-1, 2, half)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            half *= 2
        support: Ints = (n + sums[1 : self.design.size + 1]) // 2
        return support


class Points(Decoder):
    """Points of a projective space; all supports by one Fourier transform over its coordinates.

    Let g count every multiple of a point, c times. Then Σ_x g(x)·ω^(x·v) = q·(reports on the plane of v) − n.
    """

    @property
    def cells(self) -> int:
        return int(self.design.points)

    def support(self, counts: Ints, n: int) -> Ints:
        q, t = self.design.q, self.design.t
        places = find_points(np.arange(self.cells), q, t)
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


class Sets(Decoder):
    """Sets of values, each in order."""

    def stack(self, reports: list[Report]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), -1)

    def sound(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != self.design.chosen or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        inside = (reports[:, 0] >= 0) & (reports[:, -1] < self.design.size)
        return np.asarray(inside & (reports[:, 1:] > reports[:, :-1]).all(1))

    def tally(self, reports: NDArray[Any]) -> Ints:
        return np.bincount(reports.ravel(), minlength=self.cells).astype(np.int64)


class Coined(Decoder):
    """A coin for each value: rows of True and False."""

    def stack(self, reports: list[Report]) -> NDArray[Any]:
        rows = np.zeros((len(reports), self.cells), bool)
        for row, report in zip(rows, reports, strict=True):
            row[list(report)] = True
        return rows

    def sound(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        fits = reports.ndim == 2 and reports.shape[1] == self.cells and reports.dtype.kind == "b"
        return np.full(len(reports), fits)

    def tally(self, reports: NDArray[Any]) -> Ints:
        return np.asarray(reports.sum(0, dtype=np.int64))


class Bins(Decoder):
    """A hash and a bin each: the values of that bin, counted one by one."""

    def stack(self, reports: list[Report]) -> NDArray[Any]:
        return np.array(reports, np.int64).reshape(len(reports), 3)

    def sound(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        if reports.ndim != 2 or reports.shape[1] != 3 or reports.dtype.kind not in "iu":
            return np.zeros(len(reports), bool)
        limits = np.array([self.design.prime, self.design.prime, self.design.bins])
        return np.asarray((reports >= [1, 0, 0]).all(1) & (reports < limits).all(1))

    def tally(self, reports: NDArray[Any]) -> Ints:
        values, counts = np.arange(self.cells), np.zeros(self.cells, np.int64)
        step = max(1, _CELLS // self.cells)
        for start in range(0, len(reports), step):
            a, b, heard = reports[start : start + step].T[:, :, None]
            counts += ((a * values + b) % self.design.prime % self.design.bins == heard).sum(0)
        return counts


DECODERS: dict[type[Design], type[Decoder]] = {
    Direct: Decoder,
    Coins: Decoder,
    Subset: Sets,
    Hadamard: Rows,
    Projective: Points,
    Hashed: Bins,
    Unary: Coined,
}
"""How reports of a design are counted."""
