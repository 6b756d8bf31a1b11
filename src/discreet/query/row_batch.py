"""Batch: some rows as a query sees them, and images: functions of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Batch:
    """Some rows.

    Parameters
    ----------
    X, y : features and targets.
    share : what each row is multiplied by in a sum, from 0 to 1: rows of a unit have shares that add up to 1 at most,
        so that together they add no more than one row may. None: each row is its own.
    """

    X: NDArray[Any]
    y: NDArray[Any] | None = None
    share: Floats | None = None
    _made: dict[Any, Any] = field(default_factory=dict, compare=False)

    def make_once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` makes of this batch: made once, however many sums ask for it."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def with_share(self, share: Floats) -> Batch:
        """The same rows, each counting for a share; what was made of them is theirs still."""
        return Batch(self.X, self.y, share, self._made)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def missing_targets(self) -> NDArray[np.bool_]:
        """Rows whose target is missing: they count for nothing, in sums of features too."""
        if self.y is None or self.y.dtype.kind != "f":
            return np.zeros(len(self), dtype=bool)
        return np.asarray(~np.isfinite(self.y))


Image = Callable[[Batch], NDArray[Any]]


class Boxed(ABC):
    """An image whose coordinates are bounded one by one by public numbers, and which can put itself on a grid."""

    @abstractmethod
    def __call__(self, batch: Batch) -> Floats:
        """One vector per row."""

    @abstractmethod
    def count_coordinates(self, batch: Batch) -> int:
        """Coordinates of a row's vector."""

    @abstractmethod
    def quantise_rows(self, batch: Batch, bits: int) -> Floats:
        """The vectors in units of 2^-bits, rounded; zero for rows with something missing, the target too."""

    @abstractmethod
    def bound_coordinates(self, bits: int) -> Floats:
        """Of each coordinate of `quantise_rows` the most it can be in magnitude, whatever the rows hold."""


def apply_image(image: Image, batch: Batch) -> NDArray[Any]:
    """What an image makes of each row."""
    values = np.asarray(image(batch))
    if values.ndim == 0 or len(values) != len(batch):
        raise ValueError("A factor of a bounded sum must give one value or one vector for each row.")
    return values
