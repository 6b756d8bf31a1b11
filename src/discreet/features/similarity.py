"""Kernels between rows and fixed points, the same bits for a row whatever its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bounds import Bounds
from discreet.features.arithmetic import halvings
from discreet.query import Batch, halved
from discreet.query.images import Mixed, Scaled

Floats = NDArray[np.float64]
Kernel = Callable[[Floats, Floats], Any]

NAMED = ("gaussian", "laplacian", "polynomial")
ELSEWHERE = {"rbf": "gaussian", "poly": "polynomial"}  # what scikit-learn calls them


def refuse_kernel(kernel: Any, known: tuple[str, ...]) -> None:
    """Raise if it is none of those known; no class is named, as features are made for other estimators too.

    >>> refuse_kernel("rbf", NAMED)
    Traceback (most recent call last):
        ...
    ValueError: The `kernel` is one of 'gaussian', 'laplacian', 'polynomial'. Got 'rbf'. Hint: 'gaussian' is scikit-...
    """
    if isinstance(kernel, str) and kernel in known:
        return
    meant = ELSEWHERE.get(kernel, kernel) if isinstance(kernel, str) else None
    hint = f" Hint: {meant!r} is scikit-learn's {kernel!r}." if meant in known else ""
    if meant in NAMED and meant not in known:
        hint = f" Hint: LandmarkFeatures has {meant!r}."
    raise ValueError(f"The `kernel` is one of {', '.join(map(repr, known))}. Got {kernel!r}.{hint}")


@dataclass(frozen=True, eq=False)
class Similarity:
    """k(x, z_j) for scaled rows x and fixed points z_j, within [-1, 1].

    Parameters
    ----------
    kernel : "gaussian", "laplacian" or "polynomial", or a function: `kernel(x, Z)` of one row x and all points Z, for a
        number per point. It is asked for one row at a time, since a matrix product of many gives a row other bits than
        of one; a row for which it raises, or answers with anything but numbers, counts as missing.
    points : Z, scaled.
    gamma, degree : of the kernels that have them.
    """

    kernel: str | Kernel
    points: Floats
    gamma: float
    degree: int

    def __call__(self, x: Floats) -> Floats:
        """One number per row and point; NaN throughout for a row that is missing."""
        if callable(self.kernel):
            values = np.array([self._asked(row) for row in x]).reshape(len(x), len(self.points))
        else:
            values = getattr(self, f"_{self.kernel}")(x)
        np.clip(values, -1.0, 1.0, out=values)
        values[np.isnan(values).any(axis=1)] = np.nan
        return np.asarray(values)

    def _asked(self, row: Floats) -> Floats:
        if not np.isfinite(row).all():
            return np.full(len(self.points), np.nan)
        try:
            return self.ask(row)
        except Exception:  # it would tell of a row
            return np.full(len(self.points), np.nan)

    def ask(self, row: Floats) -> Floats:
        """What a kernel that is a function says of one row."""
        assert callable(self.kernel)
        values = np.asarray(self.kernel(np.array(row, np.float64), self.points.copy()), np.float64)
        if values.shape != (len(self.points),):
            raise ValueError("The `kernel` must give one number per landmark: kernel(x, Z) for a row x, landmarks Z.")
        return np.where(np.isfinite(values), values, np.nan)

    def _gaussian(self, x: Floats) -> Floats:
        squares = halved((x * x).T.copy())[:, None] + (self.points**2).sum(axis=1)
        return halvings(np.maximum(squares - 2.0 * self._dots(x), 0.0) * (self.gamma / math.log(2)))

    def _laplacian(self, x: Floats) -> Floats:
        away = np.zeros((len(x), len(self.points)))
        for column, point in zip(x.T, self.points.T, strict=True):
            away += np.abs(column[:, None] - point)
        return halvings(away * (self.gamma / math.log(2)))

    def _polynomial(self, x: Floats) -> Floats:
        base = 0.5 + self._dots(x) * (0.5 / x.shape[1])  # (1 + x·z/d)/2: at most 1 for x and z in the cube
        value: Floats = base.copy()
        for _ in range(self.degree - 1):
            value *= base
        return value

    def _dots(self, x: Floats) -> Floats:
        width = x.shape[1]
        cube = Scaled.from_bounds(Bounds(-1, 1).matched(width), False)
        return Mixed(cube, self.points.T)(Batch(x))
