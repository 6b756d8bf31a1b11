"""Families of simple hypotheses, made of public bounds and classes: decision stumps and conjunctions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS = 16  # of a feature, for stumps
LITERALS = 2  # of a conjunction


@dataclass(frozen=True)
class Stump:
    """One class where a feature is at most a threshold, another where it is above."""

    feature: int
    threshold: float
    low: Any
    high: Any

    def places(self, X: Floats, classes: Sequence[Any]) -> Ints:
        """The place of each row's class: comparisons alone, so a row's depends on that row alone."""
        return np.where(X[:, self.feature] <= self.threshold, classes.index(self.low), classes.index(self.high))


@dataclass(frozen=True)
class Conjunction:
    """One class where every literal holds, another elsewhere.

    A literal (feature, threshold, above) holds where the feature is above its threshold, or not above it.
    """

    literals: tuple[tuple[int, float, bool], ...]
    inside: Any
    outside: Any

    def places(self, X: Floats, classes: Sequence[Any]) -> Ints:
        """The place of each row's class."""
        holds = np.ones(len(X), dtype=bool)
        for feature, threshold, above in self.literals:
            holds &= (X[:, feature] > threshold) == above
        return np.where(holds, classes.index(self.inside), classes.index(self.outside))


def stumps(bounds: Bounds, classes: Sequence[Any], thresholds: int = THRESHOLDS) -> tuple[Stump, ...]:
    """Stumps at even thresholds within public bounds, for every feature and pair of classes; and the constant ones.

    >>> len(stumps(Bounds([0, 0], [1, 1]), ("no", "yes")))
    66
    """
    low, high = np.atleast_1d(bounds.lower), np.atleast_1d(bounds.upper)
    constant = [Stump(0, float(high[0]), label, label) for label in classes]
    cuts = (np.arange(thresholds) + 1) / (thresholds + 1)
    return (
        *constant,
        *(
            Stump(j, float(low[j] + cut * (high[j] - low[j])), a, b)
            for j in range(len(low))
            for cut in cuts
            for a, b in permutations(classes, 2)
        ),
    )


def conjunctions(bounds: Bounds, classes: Sequence[Any], literals: int = LITERALS) -> tuple[Conjunction, ...]:
    """Conjunctions of up to so many features, each above or below the middle of its bounds; none is the constant one.

    >>> len(conjunctions(Bounds([0, 0], [1, 1]), ("no", "yes")))
    18
    """
    middle = np.atleast_1d(bounds.centre)
    return tuple(
        Conjunction(tuple((j, float(middle[j]), side) for j, side in zip(features, sides, strict=True)), a, b)
        for size in range(literals + 1)
        for features in combinations(range(len(middle)), size)
        for sides in product((True, False), repeat=size)
        for a, b in permutations(classes, 2)
    )


FAMILIES: dict[str, Callable[[Bounds, Sequence[Any]], tuple[Any, ...]]] = {
    "stumps": stumps,
    "conjunctions": conjunctions,
}
