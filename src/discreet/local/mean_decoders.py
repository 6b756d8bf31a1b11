"""Decoders of means: how reports of numbers and vectors are counted, and their mean."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.cones import DIGITS, FARTHEST
from discreet.local.decoder import Decoder, Ints, RowDecoder, are_rising_pairs

Floats = NDArray[np.float64]


class LevelDecoder(Decoder):
    """A report is one of the design's outputs, each of which stands for a number; outputs are counted."""

    @property
    def cell_count(self) -> int:
        return int(self.design.report_count)

    @cached_property
    def outputs(self) -> Floats:
        """The number that each report stands for, on [-1, 1] or beyond."""
        return np.array([float(y) for y in self.design.outputs])

    def compute_moments(self, counts: Ints, n: int) -> tuple[Any, Any]:
        """The mean of the outputs, and the mean of their squares."""
        return counts @ self.outputs / n, counts @ self.outputs**2 / n

    def estimate(self, counts: Ints, n: int) -> Any:
        """The unbiased mean, in the units of the question."""
        return self.question.decode_mean(self.compute_moments(counts, n)[0])

    def estimate_std(self, counts: Ints, n: int) -> Any:
        mean, square = self.compute_moments(counts, n)
        spread = np.sqrt(np.clip(square - mean**2, 0, None) / max(1, n - 1))
        return self.question.decode_mean(spread) - self.question.decode_mean(0.0)

    @property
    def influence(self) -> float:
        return float(np.abs(self.outputs).max() * (self.question.decode_mean(1.0) - self.question.decode_mean(0.0)))


class SignDecoder(RowDecoder, LevelDecoder):
    """A report holds signs of some coordinates: counts of minus and of plus for each coordinate."""

    @property
    def cell_count(self) -> int:
        return 2 * int(self.design.size)

    @property
    def row_length(self) -> int:
        return int(self.design.asked)

    @cached_property
    def outputs(self) -> Floats:
        return np.array([float(self.design.scale)])

    def are_possible(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        return are_rising_pairs(rows, self.cell_count)

    def compute_moments(self, counts: Ints, n: int) -> tuple[Any, Any]:
        minus, plus = counts.reshape(-1, 2).T
        mean, square = self.outputs[0] * (plus - minus) / n, self.outputs[0] ** 2 * (plus + minus) / n
        return (mean[0], square[0]) if self.question.kind == "number" else (mean, square)


class DirectionDecoder(RowDecoder, LevelDecoder):
    """A report is a normal vector: sums and sums of squares of its numbers, or of those of its direction."""

    @property
    def cell_count(self) -> int:
        return 2 * int(self.design.size)

    @property
    def row_length(self) -> int:
        return int(self.design.size)

    @cached_property
    def outputs(self) -> Floats:
        longest = 1.0 if self.design.gamma == 0 else FARTHEST / (1 << DIGITS)
        return np.array([longest / self.design.slope])

    def are_possible(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray((np.abs(rows) <= FARTHEST).all(1))

    def count_reports(self, reports: NDArray[Any]) -> Ints:
        rows = reports.astype(np.int64)
        if self.design.gamma == 0:  # vectors of length 1, to 2^-20
            length = np.sqrt((rows.astype(np.float64) ** 2).sum(1, keepdims=True))
            rows = np.rint(rows / np.maximum(length, 1) * (1 << 20)).astype(np.int64)
        return np.concatenate([rows.sum(0), (rows**2).sum(0)])

    def accepts_counts(self, counts: Ints, n: int) -> bool:
        return bool((np.abs(counts[: self.design.size]) <= n * float(FARTHEST << 9)).all())

    def compute_moments(self, counts: Ints, n: int) -> tuple[Any, Any]:
        unit = self.design.slope * (1 << (20 if self.design.gamma == 0 else DIGITS))
        sums, squares = counts.reshape(2, -1)
        return sums / unit / n, squares / unit**2 / n
