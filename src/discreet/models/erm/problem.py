"""What empirical risk minimisation minimises, and the rows it sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import check_whole, is_number
from discreet.bounds import Bounds
from discreet.budget import Budget
from discreet.models.shared.losses import MarginLoss
from discreet.query import Batch, Lattice, halved
from discreet.query.images import Scaled

Floats = NDArray[np.float64]

BITS = 20  # of a coordinate
UNIT = 2.0**-BITS
GRID = Lattice(0, 1 << BITS)
RADIUS = 32.0  # of the ball of coefficients, unless given
MOST = 1 << 50  # rows
WEAKEST = 0.1  # the smallest Λ that a rule gives: a weaker penalty asks for many passes, and more tolerance
PASSES = 20_000  # over the rows, at most, unless given
FEWEST = 100  # of those that may be given: Λ would have to grow with the number of rows


@dataclass(frozen=True)
class Objective:
    """What is minimised, over a ball of coefficients: a sum of losses with a penalty.

    Attributes
    ----------
    loss : of a margin.
    strength : Λ of the penalty Λ/2·‖θ‖², or None for the method's own public rule.
    radius : of the ball that holds the coefficients.
    passes : how many readings of the rows there may be.
    """

    loss: MarginLoss
    strength: float | None = None
    radius: float = RADIUS
    passes: int = PASSES

    def __post_init__(self) -> None:
        check_whole("", "max_passes", self.passes, FEWEST)
        for name in ("strength", "radius"):
            value = getattr(self, name)
            if not (is_number(value) and 2.0**-20 <= value <= 2.0**40) and not (name == "strength" and value is None):
                raise ValueError(f"The `{name}` must be a number within 2^-20 and 2^40. Got {value!r}.")


def count_changed_rows(budget: Budget) -> int:
    """How many rows' gradients neighbours differ by: one is added or removed; or one removed and one added."""
    return 2 if budget.neighbours == "replace-one" else 1


def count_columns(classes: int) -> int:
    """How many sets of coefficients: one for two classes, else one of each class against the rest."""
    return classes if classes > 2 else 1


@dataclass(frozen=True, eq=False)
class UnitVectors:
    """The image u = (z, 1)/‖(z, 1)‖ of a row, in whole numbers of 2^-20: a vector of length at most 1.

    Each z is a feature scaled into [-1, 1] by its bounds; one of bounds 0 and 1 stays as it is, so that indicators
    that are off are zero.

    | a row with | becomes |
    | --- | --- |
    | NaN or infinity | zero throughout, so that it adds nothing to a sum |
    """

    rows: Scaled

    @classmethod
    def from_bounds(cls, bounds: Bounds) -> UnitVectors:
        """Features scaled by these bounds."""
        asis = (bounds.lower == 0) & (bounds.upper == 1)
        scale, shift = np.where(asis, 1.0, 1 / bounds.half), np.where(asis, 0.0, -bounds.centre / bounds.half)
        return cls(Scaled(bounds, False, scale, shift))

    @property
    def width(self) -> int:
        """Of an image."""
        return len(self.rows.scale) + 1

    def __call__(self, batch: Batch) -> Floats:
        """One vector per row."""
        z = self._row_vectors(batch)
        z *= GRID.limit / self._vector_lengths(z)
        return GRID.quantise(z.T, 2)[0].T

    def row_lengths(self, X: Floats) -> Floats:
        """‖(z, 1)‖ of each row."""
        return self._vector_lengths(self._row_vectors(Batch(X)))

    def to_data_units(self, theta: Floats) -> tuple[Any, Any]:
        """Coefficients and intercepts in the units of the data: of θ·(z, 1), which is ‖(z, 1)‖ times θ·u."""
        coef = theta[:, :-1] * self.rows.scale
        return coef, theta[:, -1] + theta[:, :-1] @ self.rows.shift

    def _row_vectors(self, batch: Batch) -> Floats:
        z = np.empty((self.width, len(batch)))
        z[:-1], z[-1] = self.rows(batch).T, 1.0
        return z

    @staticmethod
    def _vector_lengths(z: Floats) -> Floats:
        return np.sqrt(halved(z * z))  # in a fixed order: a row's image is its own, bit for bit
