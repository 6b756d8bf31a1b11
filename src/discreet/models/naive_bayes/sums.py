"""Sums over the rows of each class, as they were released: what naive Bayes is solved from, and what sites add up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.release import Release

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Noisy sums over the rows of each class, and the public facts that they are sums of.

    Sums of other people's rows are added by `+`: of another day (`partial_fit`), or of another site. Nothing is charged
    for that, and each person is in one of the sums, so each has the guarantee of that one release.

    Attributes
    ----------
    bounds : the ranges of the features, and the classes.
    layout : what else the sums are sums of: for each column the edges of its cells, or the list of its values.
    totals : each of shape (classes, …).
    stds : the standard deviation of the noise in each number of these totals.
    releases : what was released, one for each sum that was added.
    """

    bounds: Bounds
    layout: tuple[Any, ...]
    totals: tuple[Floats, ...]
    stds: tuple[float, ...]
    releases: tuple[Release, ...] = ()

    def __add__(self, other: object) -> ClassSums:
        if not isinstance(other, ClassSums):
            return NotImplemented
        if (self.bounds, self.layout) != (other.bounds, other.layout):
            raise ValueError(
                "Sums of classes are added for the same model: the same bounds, classes, categories and edges. Hint: "
                "agree on public ones first."
            )
        totals = tuple(one + two for one, two in zip(self.totals, other.totals, strict=True))
        stds = tuple(math.hypot(one, two) for one, two in zip(self.stds, other.stds, strict=True))
        return replace(self, totals=totals, stds=stds, releases=self.releases + other.releases)
