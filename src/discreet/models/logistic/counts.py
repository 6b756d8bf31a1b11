"""How many rows there are of each class: counted, and counted once more in the shape of another question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Share
from discreet.curator import Curator
from discreet.images import missing
from discreet.models.classifier import TOO_FEW
from discreet.models.logistic.problem import Problem
from discreet.query import Batch, BoundedSum, OneHot
from discreet.release import Release

Floats = NDArray[np.float64]

PRIOR = 0.3  # variance of the mean of labels ±1 between data sets
FEW = "too few rows for this budget and so many columns: what was learnt is mostly noise"


@dataclass(frozen=True)
class Number:
    """How many rows there are, as far as noise lets one see: a value and the deviation of its noise."""

    value: float
    std: float

    def and_by(self, other: Number) -> Number:
        """Both, averaged by their precision."""
        return Number(*_average((self.value, self.std), (other.value, other.std)))

    @property
    def safe(self) -> float:
        """A number that is never too small for its noise, to be divided by."""
        return max((self.value + math.sqrt(self.value**2 + 4 * self.std**2)) / 2, 1.0)


@dataclass(frozen=True)
class Counts:
    """Noisy numbers of rows of each class, the deviation of their noise, and of that in the difference of two."""

    value: Floats
    std: float
    apart: float | None = None

    @classmethod
    def on_diagonal(cls, found: Release, classes: int) -> Counts:
        """What `all_again` found."""
        return cls(np.diag(found.value)[:classes], float(found.std[0, 0]))

    @property
    def doubt(self) -> float:
        """The deviation of the noise in the difference of two counts."""
        return self.apart or math.sqrt(2) * self.std

    @property
    def total(self) -> Number:
        """The number of rows of all classes."""
        return Number(float(self.value.sum()), self.std * math.sqrt(len(self.value)))

    def and_by(self, other: Counts) -> Counts:
        """Both, averaged by their precision."""
        return Counts(*_average((self.value, self.std), (other.value, other.std)))


def _average(one: tuple[Any, float], other: tuple[Any, float]) -> tuple[Any, float]:
    """Two noisy values of the same, averaged by their precision, and the deviation of the result."""
    (a, a_std), (b, b_std) = one, other
    total = a_std**-2 + b_std**-2
    return (a * a_std**-2 + b * b_std**-2) / total, total**-0.5


def class_counts(curator: Curator, share: Share, classes: int) -> Counts:
    """The noisy number of whole rows of each class."""
    found = curator.measure(BoundedSum(OneHot(_codes, classes), name="classes"), share)
    return Counts(np.asarray(found.value, np.float64), float(np.max(found.std)))


def row_count(curator: Curator, share: Share, classes: int) -> Number:
    """The noisy number of whole rows of any class."""

    def known(rows: Batch) -> NDArray[np.int64]:
        codes = _codes(rows)
        return np.where((codes >= 0) & (codes < classes), 0, -1)

    found = curator.measure(BoundedSum(OneHot(known, 1), name="rows"), share)
    return Number(float(found.value[0]), float(np.max(found.std)))


def _codes(rows: Batch) -> NDArray[np.int64]:
    assert rows.y is not None
    return np.where(missing(rows) | ~np.isfinite(rows.y), -1, np.nan_to_num(rows.y)).astype(np.int64)


def all_again(width: int, classes: int, name: str) -> BoundedSum:
    """Classes counted once more on the diagonal of a matrix, in the shape of X'X."""

    def label(rows: Batch) -> Floats:
        wide = np.zeros((len(rows), width))
        wide[:, :classes] = np.where(missing(rows)[:, None], np.nan, _indicators(rows, classes))
        return wide

    return BoundedSum(label, label, norm=1, name=name)


def difference(curator: Curator, share: Share, classes: int, rows: Number) -> Counts:
    """Classes counted with noise bounded in ℓ1: of two their difference, which a row changes by one."""
    if classes > 2:
        found = curator.measure(BoundedSum(OneHot(_codes, classes), order=1, name="likeliest class"), share)
        return Counts(np.asarray(found.value, np.float64), float(np.max(found.std)))

    def sign(rows: Batch) -> Floats:
        assert rows.y is not None
        return np.where(missing(rows), np.nan, 2 * rows.y - 1)

    found = curator.measure(BoundedSum(sign, norm=1, order=1, name="likelier class"), share)
    apart, total = float(np.ravel(found.value)[0]), rows.safe
    apart = float(np.clip(apart, -total, total))
    return Counts(np.array([total - apart, total + apart]) / 2, rows.std, float(np.max(found.std)))


def _indicators(rows: Batch, classes: int) -> Floats:
    assert rows.y is not None
    there = np.where(np.isfinite(rows.y), 0.0, np.nan)[:, None]
    return np.asarray((rows.y[:, None] == np.arange(classes)) + there)


def total_rows(rows: Number, public: int | None) -> float:
    """The number of rows: public, or a noisy one that is never too small for its noise."""
    return rows.safe if public is None else max(float(public), 1.0)


def too_few(counts: Counts, problem: Problem) -> bool:
    """Whether rows are so few that even a count of them is mostly noise; by what is known of their number."""
    rows = float(counts.value.sum()) if problem.n is None else problem.n
    return rows < TOO_FEW * problem.noise(1)


def shares_of(counts: Counts) -> Floats:
    """The share of each class, shrunk towards equal ones as its noise has it."""
    k, std = len(counts.value), counts.doubt / math.sqrt(2)
    total = max(float(counts.value.sum()), std)
    even = counts.value / total - 1 / k
    found = 1 / k + even * PRIOR / (PRIOR + 4 * (std / total) ** 2)
    found = np.clip(found, 0.005 / k, None)
    return np.asarray(found / found.sum())
