"""The median of repeats, and the band that holds most of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Band(NamedTuple):
    """Median, mean, and the ends of the band."""

    median: float
    mean: float
    low: float
    high: float


def make_band(values: ArrayLike, quantiles: Sequence[float] = (0.1, 0.9)) -> Band:
    """The median, the mean and the quantiles of some values.

    >>> make_band([1.0, 2.0, 3.0, 4.0, 10.0], (0.0, 1.0))
    Band(median=3.0, mean=4.0, low=1.0, high=10.0)
    """
    here = np.asarray(values, np.float64)
    low, median, high = np.quantile(here, [quantiles[0], 0.5, quantiles[1]])
    return Band(float(median), float(here.mean()), float(low), float(high))
