"""Rows and targets as methods of linear regression see them: scaled into [-1, 1] by their bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.query import Batch
from discreet.query.images import Scaled

Floats = NDArray[np.float64]


def features(bounds: Bounds, intercept: bool) -> Scaled:
    """The rows as vectors (1, x), features scaled into [-1, 1]: of length at most the root of their width."""
    return Scaled.from_bounds(bounds, intercept)


def target(bounds: Bounds) -> Callable[[Batch], Floats]:
    """The targets, scaled into [-1, 1]."""

    def y(rows: Batch) -> Floats:
        assert rows.y is not None
        return bounds.scale_target(rows.y)

    return y
