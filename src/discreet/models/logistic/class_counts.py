"""How many rows there are, and of each class."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from discreet.budget import Share
from discreet.curator import Curator
from discreet.curator.task import Task
from discreet.models.shared.classifier import TOO_FEW
from discreet.query import Batch, BoundedSum, OneHot
from discreet.query.images import find_missing

Floats = NDArray[np.float64]

SHARE_VARIANCE = 0.3  # variance of the mean of labels ±1 between data sets
FEW_NOTE = "too few rows for this budget and so many columns: what was learnt is mostly noise"


@dataclass(frozen=True)
class NoisyNumber:
    """How many rows there are, as far as noise lets one see: a value and the deviation of its noise."""

    value: float
    std: float

    @property
    def safe_value(self) -> float:
        """A number that is never too small for its noise, to be divided by."""
        return max((self.value + math.sqrt(self.value**2 + 4 * self.std**2)) / 2, 1.0)


@dataclass(frozen=True)
class ClassCounts:
    """Noisy numbers of rows of each class, and the deviation of their noise."""

    value: Floats
    std: float

    @property
    def total(self) -> NoisyNumber:
        """The number of rows of all classes."""
        return NoisyNumber(float(self.value.sum()), self.std * math.sqrt(len(self.value)))


def count_classes(curator: Curator, share: Share, classes: int) -> ClassCounts:
    """The noisy number of whole rows of each class."""
    found = curator.measure(BoundedSum(OneHot(_class_codes, classes), name="classes"), share)
    return ClassCounts(np.asarray(found.value, np.float64), float(np.max(found.std)))


def _class_codes(rows: Batch) -> NDArray[np.int64]:
    assert rows.y is not None
    return np.where(find_missing(rows) | ~np.isfinite(rows.y), -1, np.nan_to_num(rows.y)).astype(np.int64)


def estimate_rows(rows: NoisyNumber, public: int | None) -> float:
    """The number of rows: public, or a noisy one that is never too small for its noise."""
    return rows.safe_value if public is None else max(float(public), 1.0)


def has_too_few_rows(counts: ClassCounts, task: Task) -> bool:
    """Whether rows are so few that even a count of them is mostly noise; by what is known of their number."""
    rows = float(counts.value.sum()) if task.n is None else task.n
    return rows < TOO_FEW * task.noise(1)


def shrink_class_shares(counts: ClassCounts) -> Floats:
    """The share of each class, shrunk towards equal ones as its noise has it."""
    k, std = len(counts.value), counts.std
    total = max(float(counts.value.sum()), std)
    even = counts.value / total - 1 / k
    found = 1 / k + even * SHARE_VARIANCE / (SHARE_VARIANCE + 4 * (std / total) ** 2)
    found = np.clip(found, 0.005 / k, None)
    return np.asarray(found / found.sum())


def estimate_class_shares(counts: ClassCounts, n: float) -> Floats:
    """The share of each class, none of them zero: what is to be expected of numbers that are not negative.

    With one deviation of the noise spread evenly over the classes besides.

    >>> estimate_class_shares(ClassCounts(np.array([900.0, 100.0]), 1e-3), 1000.0).round(3)
    array([0.9, 0.1])
    >>> estimate_class_shares(ClassCounts(np.array([900.0, -50.0]), 100.0), 850.0).round(2)
    array([0.89, 0.11])
    """
    z = counts.value / counts.std
    # the mean of a normal number, given that it is positive
    rows = np.maximum(counts.value + counts.std * np.exp(-0.5 * z**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(z)), 0)
    shares = (rows * n / max(float(rows.sum()), 1e-300) + counts.std / len(rows)) / (n + counts.std)
    shares = np.maximum(shares, 1 / (n + 2))
    return np.asarray(shares / shares.sum())
